"""States of all pipelines of a fleet: a file for `status`, and tables."""

from __future__ import annotations

import json
import logging
import threading
import time
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Literal

from helioc.runtime.enrolment.edge_registry import EnrolledEdge

_log = logging.getLogger("controller")
Fares = Literal["not asked yet", "in step", "drifted", "refused", "unreachable"]


@dataclass(frozen=True)
class State:
    """`since`: seconds of the Unix epoch. `notes`: how the rules differ, or what was refused and
    where. `repaired`: how often the rules were repaired after changes by others, `drift`: how they
    differed the last time."""

    edge: str
    pipeline: str
    address: str = ""
    fares: Fares = "not asked yet"
    since: float = 0.0
    revision: int = 0
    digest: str = ""
    notes: tuple[str, ...] = ()
    repaired: int = 0
    drift: tuple[str, ...] = ()


class Board:
    """States by edge and pipeline, in a file that is whole at any moment. Any thread may `put`."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._states: dict[tuple[str, str], State] = {}
        self._lock, self._changed, self._stopping = threading.Lock(), threading.Event(), False
        self._thread = threading.Thread(target=self._write_always, name="board", daemon=True)
        self._thread.start()

    def add(self, edge: str, pipeline: str) -> None:
        with self._lock:
            self._states[edge, pipeline] = State(edge, pipeline, since=time.time())
        self._changed.set()

    def put(self, state: State) -> None:
        """`since` stays where it fares as before. What was dropped, or never added, stays away."""
        key = state.edge, state.pipeline
        with self._lock:
            if (before := self._states.get(key)) is None:
                return
            since = before.since if before.fares == state.fares else time.time()
            self._states[key] = replace(state, since=since)
        self._changed.set()

    def drop(self, edge: str, pipeline: str) -> None:
        with self._lock:
            self._states.pop((edge, pipeline), None)
        self._changed.set()

    def states(self) -> list[State]:
        with self._lock:
            return [state for _, state in sorted(self._states.items())]

    def close(self) -> None:
        self._stopping = True
        self._changed.set()
        self._thread.join()

    def _write_always(self) -> None:
        while not self._stopping:
            self._changed.wait()
            self._changed.clear()
            try:
                self._write()
            except OSError as error:
                _log.error("cannot write %s: %s", self.path, error.strerror)

    def _write(self) -> None:
        new = self.path.with_suffix(".new")
        new.write_text(json.dumps([asdict(state) for state in self.states()]))
        new.rename(self.path)


def read(path: Path) -> list[State]:
    """What a controller wrote, perhaps one that has ended."""
    if not path.exists():
        return []
    found = json.loads(path.read_text())
    tuples = ("notes", "drift")
    return [State(**(each | {name: tuple(each[name]) for name in tuples})) for each in found]


def table(states: Iterable[State], now: float) -> str:
    """A line a pipeline, and under it what is to be said."""
    rows = [("edge", "pipeline", "revision", "state", "since", "repaired")]
    notes: list[tuple[str, ...]] = [()]
    for state in states:
        rows.append((state.edge, state.pipeline, str(state.revision or "-"), state.fares,
                     _ago(now - state.since), str(state.repaired or "-")))  # fmt: skip
        notes.append(state.notes)
    if len(rows) == 1:
        return "the desired state has no pipelines"
    return _columns(rows, notes)


def edges(known: Iterable[EnrolledEdge], now: float) -> str:
    """A line an edge, and under it a line for each of its pipelines."""
    rows: list[tuple[str, ...]] = [("edge", "agent", "heard")]
    notes: list[tuple[str, ...]] = [()]
    for edge in known:
        heard = f"{_ago(now - edge.heard)} ago" if edge.heard is not None else "never"
        rows.append((edge.name, edge.address or "-", heard))
        notes.append(tuple(map(_pipeline, (edge.announced or {}).get("pipelines", ()))))
    return _columns(rows, notes) if len(rows) > 1 else "no edge has enrolled"


def _pipeline(said: Any) -> str:
    ports = (f"{p['name']} ({p['role']}: {p['interface']})" for p in said["ports"])
    return f"{said['name']} {said['digest'][:12]}: {', '.join(ports)}"


def _columns(rows: Sequence[Sequence[str]], notes: Iterable[Iterable[str]]) -> str:
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    lines = []
    for row, said in zip(rows, notes, strict=True):
        lines.append("  ".join(c.ljust(w) for c, w in zip(row, widths, strict=True)).rstrip())
        lines += [f"    {line}" for note in said for line in note.splitlines()]
    return "\n".join(lines)


def _ago(seconds: float) -> str:
    for unit, size in (("d", 86_400), ("h", 3600), ("min", 60)):
        if seconds >= size:
            return f"{seconds / size:.0f} {unit}"
    return f"{max(seconds, 0):.0f} s"
