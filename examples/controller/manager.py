"""Keeps one pipeline of one edge in its desired state.

Each has a thread, so that an edge that is slow or gone delays no other. It compares the rules with
the desired ones when these change, when the agent reports a change, and after every lost
connection; and sends the difference as one request, on condition that the rules have not changed
since (`if_revision`) and with an idempotency key, so that it is carried out once at most.
"""

from __future__ import annotations

import hashlib
import logging
import queue
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from helioc.lang.contract.request.request import request_text
from helioc.lang.text.diagnostics import Refused
from helioc.lang.text.exit_status import diagnosed
from helioc.lang.text.render import render
from helioc.runtime.client import Client, Rejected
from helioc.runtime.client.desired_state import Difference
from helioc.runtime.rpc import control_pb2 as pb

from .board import Board, Fares, State
from .desired_state import Rules

_log = logging.getLogger("controller")
#: No answer: the edge is gone, or too slow. See `helioctl explain`.
_UNREACHABLE = ("H0763", "H0764")
_MOVED_ON = "H0760"
_SHOWN = 20  # lines about one pipeline


@dataclass(frozen=True)
class Settings:
    """Seconds: `timeout` of a call; `probe`: how often a silent edge is asked; `least`, `most`:
    pauses before the next attempt, doubled each time. `report_only`: change nothing."""

    report_only: bool = False
    timeout: float = 5.0
    probe: float = 10.0
    least: float = 0.2
    most: float = 10.0


class Task(NamedTuple):
    address: str
    rules: Rules


class _Lost(NamedTuple):
    """The watch broke."""

    error: Refused | None


_Message = pb.Event | _Lost | None


class Manager:
    """`start` it, `give` it the desired rules, `stop` it."""

    def __init__(
        self, edge: str, pipeline: str, board: Board, connect: Callable[[str, str, str], Client],
        settings: Settings, trusted: Callable[[str], object] = lambda edge: None,
    ) -> None:  # fmt: skip
        """`connect`: from an edge's name, its address and a pipeline to a client. `trusted`: the
        authority of the edge; raises `Refused` where the edge was removed."""
        self.connect, self.board, self.settings = connect, board, settings
        self.trusted = trusted
        self._name = f"{edge}/{pipeline}"
        self._state = State(edge, pipeline)
        self._task: Task | None = None
        #: What came in: events, a watch that broke, and None for a new task or the end.
        self._inbox: queue.SimpleQueue[_Message] = queue.SimpleQueue()
        self._stopping = False
        self._agreed: Rules | None = None  # what was in force when we last looked
        self._repaired_at, self._fights = 0.0, 0  # when it repaired last, and how often in a row
        self._thread = threading.Thread(target=self._run, name=self._name, daemon=True)

    def start(self) -> None:
        self._thread.start()

    def give(self, task: Task) -> None:
        if task != self._task:
            self._task = task
            self._inbox.put(None)

    def stop(self) -> None:
        """Returns at once; `join` waits."""
        self._stopping = True
        self._inbox.put(None)

    def join(self) -> None:
        self._thread.join()

    @property
    def running(self) -> bool:
        return self._thread.is_alive()

    # ---- the edge, there or not ---------------------------------------------------------------

    def _run(self) -> None:
        pause = self.settings.least
        while True:
            self._drain()
            if self._stopping:  # the message about it may have been drained
                return
            task = self._task
            if task is None or not task.address:
                self._put(fares="unreachable", notes=("the address of its agent is not known",))
                self._inbox.get()
                continue
            try:
                with self.connect(self._state.edge, task.address, self._state.pipeline) as client:
                    self._with(client, task.address)
                pause = self.settings.least
            except Exception as error:
                pause = self.settings.least if self._state.fares == "in step" else pause
                self._fail(error)
                self._wait(pause)
                pause = min(2 * pause, self.settings.most)

    def _with(self, client: Client, address: str) -> None:
        """As long as it answers, and is at that address. Raises `Refused` when it does not."""
        self._put(address=address)
        trusted = self.trusted(self._state.edge)
        begun = threading.Event()
        watcher = threading.Thread(target=self._watch, args=(client, begun), daemon=True)
        watcher.start()
        try:
            while not begun.wait(self.settings.timeout):
                client.status()
            self._look(client)
            while not self._stopping and self._task and self._task.address == address:
                self._attend(client)
                if self.trusted(self._state.edge) != trusted:
                    return
        finally:
            client.close()  # ends the watch, too
            watcher.join()

    def _watch(self, client: Client, begun: threading.Event) -> None:
        try:
            with client.watch() as watch:
                begun.set()
                for event in watch:
                    self._inbox.put(event)
                raise ValueError
        except (Refused, ValueError) as error:  # ValueError: the channel is closed
            self._inbox.put(_Lost(error if isinstance(error, Refused) else None))
        finally:
            begun.set()

    def _attend(self, client: Client) -> None:
        """Wait for messages, and compare if one of them matters."""
        try:
            came = [self._inbox.get(timeout=self.settings.probe), *self._drain()]
        except queue.Empty:
            if self._revision(client) != self._state.revision:
                self._look(client)
            return
        for each in came:
            if isinstance(each, _Lost):
                if each.error is not None:
                    raise each.error
                client.status()  # says what is wrong, if something is
                raise Refused([])
        events = [each for each in came if isinstance(each, pb.Event)]
        if any(event.WhichOneof("what") in ("port", "changed") for event in events):
            client.schema(again=True)
        ours = all(0 < event.revision <= self._state.revision for event in events)
        if events != came or not ours:
            self._look(client)

    def _revision(self, client: Client) -> int:
        """Of the pipeline, cheaply: whether the edge is there, and the watch missed nothing."""
        found = (p.revision for p in client.status().pipelines if p.pipeline == client.pipeline)
        return next(found, 0)

    def _drain(self) -> list[_Message]:
        came = []
        while not self._inbox.empty():
            came.append(self._inbox.get())
        return came

    def _wait(self, seconds: float) -> None:
        """Wait for `seconds`, or for a new task. Messages of the agent in between are kept."""
        until, came = time.monotonic() + seconds, list[_Message]()
        while (left := until - time.monotonic()) > 0:
            try:
                came.append(self._inbox.get(timeout=left))
            except queue.Empty:
                break
            if came[-1] is None:
                break
        for each in came:
            if each is not None:
                self._inbox.put(each)

    # ---- the rules ----------------------------------------------------------------------------

    def _look(self, client: Client) -> None:
        """Compare, and send the difference. A refusal stays in the state until a change."""
        try:
            while not self._stopping and not self._settled(client):
                pass
        except Refused as error:
            if _unreachable(error):
                raise
            self._fail(error)

    def _settled(self, client: Client) -> bool:
        """One comparison and, if need be, one request. False: look again."""
        assert self._task is not None
        rules = self._task.rules
        found = client.difference(rules.request, rules.kinds)
        if found.request is None:
            self._in_step(client, rules, found.revision)
            return True
        drifted = rules == self._agreed
        if drifted or self.settings.report_only:
            if drifted and found.lines != self._state.notes:
                self._log_lines(logging.WARNING, "its rules were changed:", found.lines)
            self._put(fares="drifted", notes=found.lines, revision=found.revision)
        if self.settings.report_only:
            return True
        if drifted and self._too_soon():
            return False
        try:
            done = client.apply(found.request, if_revision=found.revision, key=self._key(found))
        except Rejected as rejected:
            if rejected.diagnostics[0].code != _MOVED_ON:
                raise
            return False
        self._log_lines(logging.INFO, f"revision {done.revision}:", found.lines)
        if drifted:
            self._repaired_at = time.monotonic()
            self._put(repaired=self._state.repaired + 1, drift=found.lines)
        self._in_step(client, rules, done.revision)
        return True

    def _in_step(self, client: Client, rules: Rules, revision: int) -> None:
        if self._state.fares != "in step":
            _log.info("%s: in step at revision %d", self._name, revision)
        self._agreed = rules
        digest = client.schema().manifest.digest
        self._put(fares="in step", notes=(), revision=revision, digest=digest)

    def _too_soon(self) -> bool:
        """Rules that others change again and again are repaired after a pause that grows each time.
        True: it waited, and the rules may have changed."""
        now = time.monotonic()
        if now - self._repaired_at > 2 * self.settings.most:
            self._fights = 0
        pause = min(self.settings.least * 2.0**self._fights, self.settings.most)
        if not self._fights or now >= self._repaired_at + pause:
            self._fights += 1
            return False
        self._wait(self._repaired_at + pause - now)
        return True

    def _key(self, found: Difference) -> str:
        """The same request on the same rules has the same key, also from another controller."""
        assert found.request is not None
        meant = f"{self._name} {found.revision} {request_text(found.request)}"
        return hashlib.sha256(meant.encode()).hexdigest()[:32]

    # ---- reports ------------------------------------------------------------------------------

    def _fail(self, error: Exception) -> None:
        if isinstance(error, Refused) and (not error.diagnostics or _unreachable(error)):
            notes = tuple(found.title for found in error.diagnostics[:1])
            fares: Fares = "unreachable"
        else:
            place = self._task.rules.placed if self._task is not None else lambda found: found
            found = diagnosed(error, "controller")
            notes, fares = tuple(render(place(each)) for each in found), "refused"
        if (fares, notes) != (self._state.fares, self._state.notes):
            self._log_lines(logging.ERROR, f"{fares}:", notes)
        self._put(fares=fares, notes=notes)

    def _log_lines(self, level: int, what: str, lines: Sequence[str]) -> None:
        """The first lines, and how many more there are."""
        shown = list(lines[:_SHOWN])
        if len(lines) > _SHOWN:
            shown.append(f"and {len(lines) - _SHOWN:,} more")
        _log.log(level, "%s: %s %s", self._name, what, "\n  ".join(["", *shown]).lstrip(" "))

    def _put(self, **changes: Any) -> None:
        if "notes" in changes:
            changes["notes"] = changes["notes"][:_SHOWN]
        self._state = replace(self._state, **changes)
        self.board.put(self._state)


def _unreachable(error: Refused) -> bool:
    return any(found.code in _UNREACHABLE for found in error.diagnostics)
