"""A card's programs on the host's kernel, packet by packet: `PrivateRun` for what was compiled with
`on_host`. So what a card will do is held against the interpreter where there is no card."""

from __future__ import annotations

from contextlib import ExitStack

from helioc.lang.contract.rules.rules import Rule
from helioc.lang.contract.world.environment import Environment, Outcome
from helioc.lang.contract.world.moment import Moment
from helioc.lang.text.diagnostics import Refused
from helioc.runtime.base import errors
from helioc.runtime.kernel.handles import BpfError, Object
from helioc.runtime.loading.bundle import Bundle
from helioc.runtime.loading.card_images import Images
from helioc.runtime.loading.card_writer import CardWriter
from helioc.runtime.ports.ports import DEFAULT_VERDICTS, sync_map
from helioc.runtime.rules.plans import Changes, Plan
from helioc.runtime.testrun.private_run import Rules, fate_of

_LOOPBACK = 1


class CardRun:
    """A bundle's programs and maps, of this process alone. One frame at a time. Close it."""

    def __init__(self, bundle: Bundle) -> None:
        """Raises `Refused`."""
        self.manifest = bundle.manifest
        self._owned = ExitStack()
        try:
            loaded = Object.open(bundle.object, name=bundle.manifest.pipeline)
            self._owned.enter_context(loaded)
            loaded.load()
        except BpfError as error:
            self.close()
            raise errors.refused(errors.of_kernel(error, "run packets in the kernel")) from error
        self.maps, programs = loaded.maps(), loaded.programs()
        self._entries = {r: programs[self.manifest.entry(r).name] for r in self.manifest.roles}
        self.writer = CardWriter(self.manifest, self.maps, Images.in_memory(self.manifest))
        self.writer.fill()
        self._roles: dict[int, str] = {}
        self._rules: list[Rule] = []

    def close(self) -> None:
        """May be called again."""
        self._owned.close()

    def __enter__(self) -> CardRun:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # ---- surroundings -----------------------------------------------------------------------

    def look(self) -> None:
        """A card's rules raise no events."""

    def set_moment(self, moment: Moment) -> None:
        """Nothing of a card asks when it is."""

    def set_environment(self, environment: Environment) -> None:
        """Ports' roles, local addresses, default verdict."""
        self._roles = {port.number: port.role for port in environment.ports}
        for name, addresses, size in (("local", environment.local, 4),
                                      ("local6", environment.local6, 16)):  # fmt: skip
            if name in self.maps:
                sync_map(self.maps[name], {a.to_bytes(size, "big"): b"\1" for a in addresses})
        self.writer.set_default(DEFAULT_VERDICTS[environment.default or self.manifest.default])

    def set_rules(self, rules: Rules) -> None:
        """Exactly these rules. Of those with one match the oldest is there, as it is the one that
        packets find."""
        if self._rules:
            self.writer.apply(Changes(removed=tuple(self._rules)))
        self._rules = []
        expected = [rule for kind in self.manifest.rules for rule in rules.rules(kind.name)]
        referred = {k.name for k in self.manifest.rules if k.offload and k.offload.referred}
        for rule in sorted(expected, key=lambda r: (r.kind not in referred, r.sequence)):
            try:
                self.writer.apply(Changes(created=(rule,)))
            except Refused:
                continue
            self._rules.append(rule)

    def apply(self, plan: Plan) -> None:
        """A rule book's plan. Raises `Refused`."""
        self.writer.apply(plan)
        gone = {r.sequence for r in plan.removed} | {old.sequence for old, _ in plan.changed}
        self._rules = [r for r in self._rules if r.sequence not in gone]
        self._rules += [*plan.created, *(new for _, new in plan.changed)]

    def forget(self) -> None:
        """A card has no tables that packets write."""

    # ---- packets ----------------------------------------------------------------------------

    def run(self, frame: bytes, port: int) -> Outcome:
        """What becomes of a frame that arrives by port number `port`. Raises BpfError."""
        events, counts = self._events(), self._counts()
        if "chosen_queue" in self.maps:
            self.maps["chosen_queue"].update(bytes(4), bytes(4))
        result = self._entries[self._roles[port]].test_run(frame, ingress_ifindex=_LOOPBACK)
        verdict = fate_of(result.retval)
        counted_events = []
        for counter, before, after in zip(
            self.manifest.counters, events, self._events(), strict=True
        ):
            counted_events += [(counter.group, counter.reason)] * (after - before)
        counted = []
        for which, (packets, size) in self._counts().items():
            more = packets - counts[which][0]
            counted += [which] * more
            if size - counts[which][1] != more * len(frame):
                counted_events.append(("bytes", which[0]))
        return Outcome(
            verdict,
            result.data if verdict in ("pass", "tx") else None,
            port if verdict == "tx" else None,
            tuple(counted_events),
            tuple(counted),
            queue=self._queue() if verdict == "pass" else None,
        )

    def _events(self) -> list[int]:
        _, values = self.maps["events"].read_all()
        return [int.from_bytes(values[at : at + 8], "little") for at in range(0, len(values), 8)]

    def _counts(self) -> dict[tuple[str, int], tuple[int, int]]:
        """By kind and sequence."""
        return {
            (name, sequence): table.counted(cell)
            for name, table in self.writer.tables.items()
            if table.counts is not None
            for sequence, cell in table.cells.items()
        }

    def _queue(self) -> int | None:
        events = self.maps["chosen_queue"].lookup(bytes(4)) if "chosen_queue" in self.maps else None
        number = int.from_bytes(events, "little") if events is not None else 0
        return number - 1 if number else None
