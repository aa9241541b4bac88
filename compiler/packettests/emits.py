"""Events that a packet test expects: `emits: [{SCAN: {src: 10.0.0.1, port: 53}}]`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import cast

import yaml

from ...lang.contract.manifest.manifest import EventField, EventKind
from ...lang.contract.rules.rulebook import RuleBook
from ...lang.contract.rules.yaml_text import Yaml, unknown_name
from ...lang.contract.world.emitted import as_text, split_identity
from ...lang.contract.world.environment import Emitted, Environment
from ...lang.text.literals import AddressKind
from ..model import Pipeline
from ..tables.event_records import event_ring


@dataclass(frozen=True)
class ExpectedEvent:
    """`values` of some fields; of a rule its id."""

    event: str
    values: Mapping[str, int]

    def fits(self, emitted: Emitted, kind: EventKind) -> bool:
        if emitted.event != self.event:
            return False
        found = zip(kind.fields, emitted.values, strict=True)
        got = {f.name: split_identity(v)[1] if f.type == "rule" else v for f, v in found}
        return all(got[name] == value for name, value in self.values.items())

    def __str__(self) -> str:
        return f"{self.event} {{{', '.join(f'{name}: {v}' for name, v in self.values.items())}}}"


def kinds_of(pipeline: Pipeline) -> dict[str, EventKind]:
    ring = event_ring(pipeline)
    return {kind.name: kind for kind in ring.kinds} if ring else {}


@dataclass(frozen=True)
class EventReader:
    """Reads them under the rules of a book (None: it was refused)."""

    text: Yaml
    kinds: Mapping[str, EventKind]
    environment: Environment
    book: RuleBook | None

    def read(self, node: yaml.Node) -> tuple[ExpectedEvent, ...]:
        return tuple(self._events(node))

    def _events(self, node: yaml.Node) -> Iterator[ExpectedEvent]:
        for item in self.text.flat(node):
            for name, entry in self.text.mapping(item, "an event").items():
                if name not in self.kinds:
                    self.text.found.add(
                        unknown_name(self.text.span(entry.key), name, "event", self.kinds)
                    )
                    continue
                fields = {field.name: field for field in self.kinds[name].fields}
                said = self.text.mapping(entry.value, f"`{name}`", fields)
                values = {key: self._value(fields[key], each.value) for key, each in said.items()}
                known = {key: value for key, value in values.items() if value is not None}
                yield ExpectedEvent(name, known)

    def _value(self, field: EventField, node: yaml.Node) -> int | None:
        if field.type == "port":
            ports = self.environment.ports
            name = self.text.one_of(node, [port.name for port in ports], "port")
            return next((port.number for port in ports if port.name == name), None)
        if field.type == "rule":
            return self._rule(field.rule, node)
        if field.type in ("ip4", "ip6", "mac"):
            return self.text.address(node, cast(AddressKind, field.type))
        return self.text.number(node, (1 << int(field.type[1:])) - 1)

    def _rule(self, kind: str, node: yaml.Node) -> int | None:
        """By its id or name."""
        text = self.text.text(node)
        if text is None or self.book is None:
            return None
        ids = {name: r.id for r in self.book.rules(kind) for name in (str(r.id), r.name) if name}
        if text not in ids:
            self.text.found.add(unknown_name(self.text.span(node), text, kind, ids))
        return ids.get(text)


def differences(
    pipeline: Pipeline, expected: Sequence[ExpectedEvent], got: Sequence[Emitted]
) -> list[str]:
    """A line where the events are not these, in this order."""
    kinds = kinds_of(pipeline)
    fit = (e.fits(g, kinds[g.event]) for e, g in zip(expected, got, strict=False))
    if len(expected) == len(got) and all(fit):
        return []
    want = ", ".join(map(str, expected)) or "none"
    return [f"emits: expected {want}, got {shown(pipeline, got)}"]


def shown(pipeline: Pipeline, emitted: Sequence[Emitted]) -> str:
    kinds = kinds_of(pipeline)
    return ", ".join(as_text(kinds[each.event], each.values) for each in emitted) or "none"
