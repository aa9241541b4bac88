"""Loads a bundle privately and runs packets through it by BPF_PROG_TEST_RUN.

Nothing is pinned or attached, no interface but loopback is needed, and nothing of the host's
addresses, routes or neighbours is seen: all that comes from the given environment.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from contextlib import ExitStack
from typing import Any, Protocol, cast

import numpy as np
import numpy.typing as npt

from ...lang.contract.manifest.manifest import Manifest
from ...lang.contract.rules.rules import Rule
from ...lang.contract.trace.steps import Step
from ...lang.contract.world.bare_packets import framed, unframed
from ...lang.contract.world.environment import Environment, Fate, Outcome
from ...lang.contract.world.moment import Moment
from ..base import errors
from ..kernel.handles import BpfError, Map, Object, Program, RunResult
from ..loading.bundle import Bundle
from ..loading.install import join_stages, prepare_object
from ..loading.table_memory import load_object
from ..ports.ports import (
    DEFAULT_VERDICTS,
    Port,
    next_hop_bytes,
    write_icmp_limit,
    write_local,
    write_neighbours,
    write_ports,
    write_queues,
)
from ..rules.counters import read_sums
from ..rules.moments import fix_moment
from ..rules.plans import Changes, Plan
from ..rules.recovery import recover
from ..rules.transaction import NextHops, Writer
from ..states.storage import remove_entries
from ..tracing.control import TraceFilter
from ..tracing.tracer import Tracer
from .copied import Copied
from .emitted_events import EmittedEvents
from .rule_events import RuleEvents

_LOOPBACK = 1
_NO_INTERFACE = 0x7FFF0000  # plus the port's number: the FIB knows no such interface
_FATES = {0: "aborted", 1: "drop", 2: "pass", 3: "tx", 4: "redirect"}  # enum xdp_action


def fate_of(verdict: int) -> Fate:
    """A program's return value. One that XDP does not know, which nothing expects, as a number."""
    return cast("Fate", _FATES.get(verdict, f"verdict {verdict}"))


class Rules(Protocol):
    """A source of rules, as a rule book."""

    def rules(self, kind: str) -> Iterable[Rule]: ...


class PrivateRun:
    """A bundle's programs and maps, of this process alone. One frame at a time; not for several
    threads. Close it."""

    shortest = 14  # bytes; the kernel test-runs nothing shorter than an Ethernet header

    def __init__(self, bundle: Bundle, traced: bool = False) -> None:
        """`traced`: the traced build, which the bundle must have. Raises `Refused`."""
        self.manifest, self.traced = bundle.manifest, traced
        self._owned = ExitStack()
        try:
            build = bundle.traced.object if traced and bundle.traced else bundle.object
            self._object = self._owned.enter_context(_loaded(bundle.manifest, build))
            self.maps = self._object.maps()
            programs = self._object.programs()
            self.programs = list(programs.values())
            join_stages(self.manifest, self.maps, programs)
            self._entries = {r: programs[self.manifest.entry(r).name] for r in self.manifest.roles}
            # No packet is ever on its way while rules change here: there is nothing to wait for.
            self.writer = Writer(
                self.manifest,
                self.maps,
                _EnvironmentNextHops((), Environment(())),
                grace=lambda: None,
            )
            self._owned.callback(self.writer.close)
            recover(self.writer)
            write_queues(self.maps)
            self._events = _Sums(self.maps["events"], len(self.manifest.counters))
            self.tracer = self._traced(bundle) if traced else None
            self.emitted = self._emitted()
            self.copied = Copied(self.maps["copies"]) if "copies" in self.maps else None
            self._of_rules = RuleEvents(self.manifest, self.writer)
        except BpfError as error:
            self.close()
            raise errors.refused(errors.of_kernel(error, "run packets in the kernel")) from error
        except BaseException:
            self.close()
            raise
        self._roles: dict[int, str] = {}
        self._arrival = 0
        self._moment: Moment | None = None
        self._scratch = self.maps["scratch"]
        self._slots = self.maps["port_slots"].mmap().cast("Q")
        self._owned.callback(self._slots.release)

    def close(self) -> None:
        """May be called again."""
        self._owned.close()

    def __enter__(self) -> PrivateRun:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # ---- the setup --------------------------------------------------------------------------

    def set_environment(self, environment: Environment) -> None:
        """Ports, local addresses, neighbours, default verdict. Rules with next hops keep those of
        before: set the rules afterwards."""
        roles = self.manifest.roles
        ports = [
            Port(
                p.number, p.name, roles.index(p.role), "", _NO_INTERFACE + p.number, p.mtu, p.mac,
                p.address, p.address6, p.vlan, 0, bare=p.role in self.manifest.bare,
            )
            for p in environment.ports
        ]  # fmt: skip
        local4 = {a.to_bytes(4, "big") for a in environment.local}
        local = local4 | {a.to_bytes(16, "big") for a in environment.local6}
        self.set_host(ports, local, environment.default, _EnvironmentNextHops(ports, environment))
        self.set_neighbours(environment)
        write_icmp_limit(self.maps, environment.icmp)
        if self.emitted is not None:
            self.emitted.limited = environment.limits_events

    def set_host(
        self, ports: Sequence[Port], local: Collection[bytes], default: str | None,
        next_hops: NextHops,
    ) -> None:  # fmt: skip
        """Ports, local addresses, default verdict (None: the pipeline's), and what next hops rules
        get from now on. Neighbours stay."""
        self._known_ports = ports
        self._roles = {port.number: self.manifest.roles[port.role] for port in ports}
        # Loopback takes no redirected frame, but the devmap has to have something.
        write_ports(self.maps, ports, egress=_LOOPBACK)
        write_local(self.maps, local)
        self.writer.control[1] = DEFAULT_VERDICTS[default or self.manifest.default]
        self.writer.next_hops = next_hops
        self._arrival = 0

    def set_moment(self, moment: Moment) -> None:
        """Packets come then, until another call. Else they come when the kernel's clock says."""
        if moment == self._moment:
            return
        fix_moment(self.writer.control, moment)
        self._spoil_scratch()
        self._moment = moment

    def _spoil_scratch(self) -> None:
        """Leave nothing of the last packet in the scratch record, such as what the clock said at
        the kernel's last tick. A program that reads what it has not written reads all ones."""
        stride = self._scratch.spec.stride
        spoilt = bytearray(b"\xff" * stride)
        for at in (self.manifest.scratch.egress, self.manifest.scratch.steered):
            if at is not None:
                spoilt[at : at + 4] = bytes(4)
        self._scratch.update(bytes(4), bytes(spoilt) * (self._scratch.element_size // stride))

    def set_neighbours(self, environment: Environment) -> None:
        """The neighbours that programs look up. Rules keep their next hops."""
        write_neighbours(self.maps, self._known_ports, _neighbour_bytes(environment))

    def set_rules(self, rules: Rules) -> None:
        """Exactly these rules. Raises `Refused`. Those of before go first: another rule book counts
        from 1 again, and a transaction takes a sequence for one rule."""
        desired = [rule for kind in self.manifest.rules for rule in rules.rules(kind.name)]
        if there := tuple(self.writer.rules()):
            self.apply(Changes(removed=there))
        self.apply(Changes(created=tuple(desired)))

    def forget(self) -> None:
        """Empty the state tables that packets write, fill the buckets of meters, and let rules
        count from 0."""
        for state in self.manifest.states:
            remove_entries(self.maps[f"{state.prefix}_state"], state)
        for table in self.writer.tables.values():
            places = np.arange(table.free_cells.top)
            if table.meters is not None:
                table.meters.clear(places)
            if table.counters is not None:
                table.counters.clear(places)
        self._of_rules.begin()

    def look(self) -> None:
        """Raise the events of rules that are due, where the clock is set, also before and behind
        each packet: what is raised is of the next packet's outcome."""
        if self._moment is None:
            return
        if self.emitted is not None and not self.emitted.limited:
            self._of_rules.fill()
        self._of_rules.look(self._moment.now)

    def apply(self, plan: Plan) -> None:
        """A rule book's plan. Raises `Refused`."""
        self.writer.try_apply(plan)
        self.writer.settle()

    # ---- packets ----------------------------------------------------------------------------

    def run(self, frame: bytes, port: int, metadata: bytes = b"") -> Outcome:
        """What becomes of a frame (14 bytes at least), or of a packet where the port has no link
        headers, that arrives by port number `port`.
        `metadata` in front of it (up to 32 bytes, a multiple of 4) takes of its headroom.
        `counted` is in order of rule kinds and cells, `events` of the manifest; `parsed` and
        `trace` only of a traced build. A counter of bytes that is not the packets' shows as an
        event ("bytes", KIND). Raises BpfError."""
        before = self._counts()
        if self.emitted is not None:
            self.emitted.begin()
        if self.copied is not None:
            self.copied.begin()
        self.look()
        result = self.send(framed(frame) if self._is_bare(port) else frame, port, metadata)
        verdict = fate_of(result.retval)
        egress, queue = self._read_scratch(verdict)
        if verdict == "redirect" and queue is not None:  # to the CPU of that queue
            verdict = "pass"
        counted, events = self._counted(before, self._counts(), len(frame))
        outcome = Outcome(
            verdict,
            result.data if verdict in ("pass", "tx", "redirect") else None,
            egress if verdict == "redirect" else port if verdict == "tx" else None,
            tuple(self._counted_events() + events),
            tuple(counted),
            *self._trace(),
            queue=queue,
            emitted=self.emitted.read() if self.emitted is not None else (),
            copies=self.copied.read() if self.copied is not None else (),
        )
        if self.manifest.bare:
            outcome = unframed(outcome, port, self._is_bare)
        if self._moment is None:
            return outcome
        return self._of_rules.with_events(outcome, self._moment.now)

    def send(self, frame: bytes, port: int, metadata: bytes = b"") -> RunResult:
        """As `run`, without counters and scratch."""
        return self.entry(port).test_run(frame, ingress_ifindex=_LOOPBACK, metadata=metadata)

    def _is_bare(self, number: int) -> bool:
        return self._roles.get(number) in self.manifest.bare

    def _traced(self, bundle: Bundle) -> Tracer:
        assert bundle.traced is not None, "it was compiled without a traced build"
        tracer = self._owned.enter_context(Tracer(bundle.traced.schema, self.manifest, self.maps))
        tracer.ask(TraceFilter())
        return tracer

    def _emitted(self) -> EmittedEvents | None:
        ring = self.manifest.events
        if ring is None or "event_ring" not in self.maps:
            return None
        return self._owned.enter_context(EmittedEvents(ring, self.maps))

    def _trace(self) -> tuple[tuple[tuple[str, int], ...], tuple[Step, ...]]:
        """Path and steps of the packet that just ran."""
        if self.tracer is None:
            return (), ()
        (recorded,) = self.tracer.recorded()
        return recorded.trace.path, recorded.trace.steps

    def entry(self, port: int) -> Program:
        """Have frames arrive by port number `port` from now on; the program that they meet. Raises
        BpfError."""
        if port != self._arrival:
            number = port.to_bytes(4, "little")
            self.maps["port_numbers"].update(_LOOPBACK.to_bytes(4, "little"), number)
            self._slots[_LOOPBACK] = _LOOPBACK | port << 32
            self._arrival = port
        return self._entries[self._roles[port]]

    def _read_scratch(self, verdict: str) -> tuple[int, int | None]:
        """Egress port and receive queue, out of the scratch record of whichever CPU it was; all are
        zero between packets."""
        scratch = self.manifest.scratch
        if verdict != "redirect" and scratch.steered is None:
            return 0, None
        records = self._scratch.lookup_per_cpu(bytes(4)) or []
        self._scratch.update(bytes(4), bytes(self._scratch.element_size))

        def number(at: int) -> int:
            return max(int.from_bytes(record[at : at + 4], "little") for record in records)

        steered = number(scratch.steered) if scratch.steered is not None else 0
        return number(scratch.egress), steered - 1 if steered else None

    def _counted_events(self) -> list[tuple[str, str]]:
        more = self._events.more()[:, 0]
        found = []
        for index in np.flatnonzero(more).tolist():
            counter = self.manifest.counters[index]
            found += [(counter.group, counter.reason)] * int(more[index])
        return found

    def _counts(self) -> dict[str, npt.NDArray[np.uint64]]:
        return {
            name: table.counters.sums(np.arange(table.free_cells.top))[:, :2]
            for name, table in self.writer.tables.items()
            if table.counters is not None and table.sequences
        }

    def _counted(
        self, before: dict[str, Any], after: dict[str, Any], length: int
    ) -> tuple[list[tuple[str, int]], list[tuple[str, str]]]:
        counted: list[tuple[str, int]] = []
        wrong: list[tuple[str, str]] = []
        for name, sums in after.items():
            more = sums - before[name]
            places = np.flatnonzero(more.any(axis=1)).tolist()
            if not places:
                continue
            table = self.writer.tables[name]
            sequences = {c % table.places: sequence for sequence, c in table.sequences.items()}
            for place in places:
                packets, byte_count = more[place].tolist()
                counted += [(name, sequences.get(place, 0))] * packets
                if byte_count != packets * length:
                    wrong.append(("bytes", name))
        return counted, wrong


def _neighbour_bytes(environment: Environment) -> dict[tuple[int, bytes], bytes]:
    """Neighbours of both families, addresses as in packets."""
    found = {(n, a.to_bytes(4, "big")): mac for (n, a), mac in environment.neighbours.items()}
    wide = {(n, a.to_bytes(16, "big")): mac for (n, a), mac in environment.neighbours6.items()}
    return found | wide


class _EnvironmentNextHops:
    """Next hops by an environment's neighbours."""

    def __init__(self, ports: Iterable[Port], environment: Environment) -> None:
        self._ports = {port.number: port for port in ports}
        self._environment = environment

    def next_hop(self, port: int, address: bytes) -> bytes:
        found = self._ports.get(port)
        if found is None:
            return bytes(24)
        if found.bare:
            return next_hop_bytes(found, bytes(6))
        kind = "ip4" if len(address) == 4 else "ip6"
        mac = self._environment.neighbour(port, int.from_bytes(address, "big"), kind)
        return next_hop_bytes(found, mac)


class _Sums:
    """How much a per-CPU array's first elements, summed over CPUs, grew since the last call."""

    def __init__(self, counters: Map, count: int) -> None:
        self._map, self._count = counters, count
        self._last = read_sums(counters, count)

    def more(self) -> npt.NDArray[np.uint64]:
        now = read_sums(self._map, self._count)
        more, self._last = now - self._last, now
        return more


def _loaded(manifest: Manifest, build: bytes) -> Object:
    loaded = Object.open(build, name=manifest.pipeline)
    try:
        prepare_object(manifest, loaded)
        load_object(manifest, loaded)
    except BaseException:
        loaded.close()
        raise
    return loaded
