"""A private copy of a build, with the rules and states of a loaded pipeline: frames that were
sampled run through it. Nothing of it is pinned or attached."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import NamedTuple, Self

from ...lang.contract.manifest.manifest import Manifest
from ...lang.contract.rules.rules import Rule
from ...lang.contract.trace.steps import Trace
from ..kernel.handles import Map
from ..kernel.maps import BPF_F_LOCK
from ..loading.bundle import Bundle
from ..ports.ports import write_neighbours
from ..rules.left_out import LeftOut
from ..rules.moments import fix_time
from ..rules.plans import Changes
from ..states.storage import SEED
from ..testrun.private_run import PrivateRun
from .in_force import Host

_LEAVES = ("pass", "tx", "redirect")


class Met(NamedTuple):
    """What a copy did with a frame, and the frame as it left; None where it did not."""

    trace: Trace
    frame: bytes | None


class Copy:
    """Of the build in force, or of the one that is to come. Close it."""

    def __init__(self, bundle: Bundle, roles: Mapping[int, int], default: str | None) -> None:
        """`roles`: by those of the build in force. Raises `Refused` where the kernel does not take
        it."""
        self.manifest: Manifest = bundle.manifest
        self._roles, self._default = roles, default
        self._run = PrivateRun(bundle, traced=True)
        self._rules: dict[int, Rule] = {}
        self._host: Host | None = None

    # ---- following the pipeline in force ----------------------------------------------------

    def follow(self, host: Host, rules: Iterable[Rule], left_out: LeftOut) -> bool:
        """From now on these rules, on this host, of which spreads leave members out. Whether these
        are others. Raises `Refused`."""
        desired = {rule.sequence: rule for rule in rules}
        moved = host != self._host or left_out != self._run.writer.left_out
        if moved:
            self._run.writer.left_out = left_out
            ports = [replace(port, role=self._roles[port.role]) for port in host.ports]
            self._run.set_host(ports, host.local, self._default, host.next_hops)
            write_neighbours(self._run.maps, ports, host.neighbours)
            self._change(self._rules.values(), ())  # their records may be others
            self._rules, self._host = {}, host
        gone = [rule for n, rule in self._rules.items() if desired.get(n) != rule]
        new = [rule for n, rule in desired.items() if self._rules.get(n) != rule]
        self._change(gone, new)
        self._rules = desired
        return bool(moved or gone or new)

    def _change(self, gone: Iterable[Rule], new: Iterable[Rule]) -> None:
        # one after the other: a transaction takes a sequence for one rule
        for changes in Changes(removed=tuple(gone)), Changes(created=tuple(new)):
            if changes.removed or changes.created:
                self._run.apply(changes)

    def take_states(self, live: Callable[[str], Map], states: Mapping[str, str], seed: int) -> None:
        """The entries that packets left in tables of the pipeline in force. `states`: the names of
        those in this build, and in that one. Raises BpfError."""
        self._run.writer.control[SEED] = seed
        for state in self.manifest.states:
            if (was := states.get(state.name)) is None:
                continue
            into = self._run.maps[f"{state.prefix}_state"]
            flags = BPF_F_LOCK if state.in_place else 0
            for keys, entries in live(f"{was.lower()}_state").read_parts(flags):
                into.update_batch(keys, entries)

    # ---- packets ----------------------------------------------------------------------------

    def run(self, frame: bytes, port: int, now: int, live: memoryview[int]) -> Met:
        """A frame that arrives by port number `port`, `now` (ns of CLOCK_MONOTONIC), by the clock
        of the pipeline in force. Raises BpfError."""
        run = self._run
        fix_time(run.writer.control, live, now, now & 0xFFFFFFFF)
        if run.emitted is not None:
            run.emitted.begin()
        result = run.send(frame, port)
        assert run.tracer is not None
        (recorded,) = run.tracer.recorded()
        if run.emitted is not None:
            run.emitted.read()  # room for those of the next
        left = result.data if recorded.trace.verdict in _LEAVES else None
        return Met(recorded.trace, left)

    def close(self) -> None:
        """May be called again."""
        self._run.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
