"""A manifest must agree with itself: sizes and places fit, names name something."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from ..base.lists import LONGEST_RUN, bytes_of
from .manifest import (
    EVENT_FORMAT,
    EVENT_HEAD,
    EVENT_MOST,
    IDENTITY,
    MOST_BUCKETS,
    NEXT_HOP_SIZE,
    SOURCES,
    SPREAD_SLOTS,
    VECTOR_KEYS,
)

if TYPE_CHECKING:
    from .manifest import Element, EventKind, Manifest, Match, Member, RaisedField, RuleKind

#: u32, as the kernel counts a map's entries and as ids are.
_U32 = (1 << 32) - 1
#: Bytes of a map's key and of a record: beyond these the kernel has no room on its stack, and the
#: programs none to look at.
_KEY, _RECORD = 512, 1 << 16
_PORTS = 1 << 16
#: Values of an element that holds several.
MOST_LISTED = 8
#: Members of a spread: a rule's image counts them in a byte.
MOST_MEMBERS = 255
_SIZES = {"present": 1, "tag": 1, "reference": 4, "next_hop": NEXT_HOP_SIZE}
_WIDTHS = {"ip4": (32,), "ip6": (128,), "mac": (48,), "uint": range(1, 129),
           "bytes": range(8, 8 * LONGEST_RUN + 1, 8),
           "name": range(64, 8 * LONGEST_RUN + 1, 64)}  # fmt: skip


def inconsistencies(manifest: Manifest) -> Iterator[str]:
    """Everything that is wrong, in the user's terms."""
    yield from _elements(manifest)
    yield from _programs(manifest)
    yield from _anatomy(manifest)
    yield from _events(manifest)
    if manifest.at and len(manifest.at) != len(manifest.roles):
        yield f"{len(manifest.at)} attach points of {len(manifest.roles)} roles"
    if not all(manifest.has_programs(at) for at in manifest.at):
        yield "a role is where no object has programs"
    if manifest.tc and (manifest.hook == "tc" or not manifest.at):
        yield "a second object for tc, which no role needs"
    for role in manifest.bare:
        if role not in manifest.roles:
            yield f"packets without a link header on no role, `{role}`"
        elif manifest.attach_point(manifest.roles.index(role)) != "tc.ingress":
            yield f"packets without a link header are not at tc.ingress, on `{role}`"
    kinds = [rule.name for rule in manifest.rules]
    yield from _distinct("rule kind", kinds)
    yield from _distinct("rule kind's number", [rule.number for rule in manifest.rules])
    yield from _counters(manifest)
    for state in manifest.states:
        for slot in (*state.match, *state.gives):
            keeps = slot.rule in kinds and slot.size == IDENTITY
            if (slot.type == "rule") != keeps or (slot.rule and not keeps):
                yield f"{state.name}: `{slot.name}` keeps a rule of no kind"
    known = {element.name for element in manifest.elements}
    for rule in manifest.rules:
        for wrong in (*_counts(rule), *_names(rule, kinds, known)):
            yield f"{rule.name}: {wrong}"
    if not next(_elements(manifest), "") and {e for r in manifest.rules for e in _used(r)} <= known:
        for rule in manifest.rules:
            for wrong in (*_key(manifest, rule), *_record(manifest, rule), *_roles(manifest, rule)):
                yield f"{rule.name}: {wrong}"
        for rule in manifest.rules:
            for wrong in _raises(manifest, rule):
                yield f"{rule.name}: {wrong}"


def _counters(manifest: Manifest) -> Iterator[str]:
    """What kinds have of a row of the map `counts` lies in it, and no two have the same of it."""
    end = 0
    placed = [rule for rule in manifest.rules if rule.counts_at is not None]
    for rule in sorted(placed, key=lambda rule: rule.counts_at or 0):
        if not rule.counts or rule.counts_at is None or rule.counts_at < end:
            yield f"{rule.name}: `counts_at` is {rule.counts_at}, which is not its own"
        end = (rule.counts_at or 0) + rule.counts_each * rule.places
    if not end <= manifest.counts <= _U32:
        yield f"`counts` is {manifest.counts}, not {end} to {_U32}"
    end = 0
    for rule in manifest.rules:
        if bool(rule.meters) != (rule.meters_at is not None) or (rule.meters_at or end) != end:
            yield f"{rule.name}: `meters_at` is {rule.meters_at}, which is not its own"
        end += rule.places if rule.meters else 0
    if manifest.meters != end or end > _U32:
        yield f"`meters` is {manifest.meters}, not {end}"
    if manifest.flows not in range(0, _RECORD + 1, 32):
        yield f"`flows` is {manifest.flows}, not a multiple of 32 up to {_RECORD}"


def _elements(manifest: Manifest) -> Iterator[str]:
    kinds = {"port", *(rule.name for rule in manifest.rules)}
    yield from _distinct("element", [element.name for element in manifest.elements])
    for element in manifest.elements:
        name = f"the element `{element.name}`"
        if element.kind not in _WIDTHS:
            yield f"{name} is of the kind `{element.kind}`, which this release does not know"
        elif element.width not in _WIDTHS[element.kind]:
            yield f"{name} cannot have {element.width} bits"
        elif not 0 <= element.most <= MOST_LISTED:
            yield f"{name} cannot hold {element.most} values"
        elif any(value >> element.width for value in _values(element)):
            yield f"a value of {name} does not fit its {element.width} bits"
        if not element.name or not set(element.references) <= kinds:
            yield f"{name} refers to what the pipeline does not have"


def _values(element: Element) -> list[int]:
    return [*element.symbols.values(), *(each.value for each in element.reserved)]


def _programs(manifest: Manifest) -> Iterator[str]:
    yield from _distinct("role", manifest.roles)
    if not manifest.roles:
        yield "there is no role"
    for name, role in ((program.name, program.role) for program in manifest.programs):
        if role not in manifest.roles:
            yield f"the program `{name}` is of the role `{role}`, which is not there"
    for role in manifest.roles:
        entries = [p for p in manifest.programs if p.role == role and p.slot is None]
        if len(entries) != 1:
            yield f"the role `{role}` has {len(entries)} entry programs, not one"
    if not 1 < manifest.max_ports <= _PORTS:
        yield f"`max_ports` is {manifest.max_ports}, not 2 to {_PORTS}"
    if manifest.scratch.egress > _U32 or any(c.index > _U32 for c in manifest.counters):
        yield "a counter's index, or a place in the scratch record, is too large"
    if any(p.slot is not None and p.slot > _U32 for p in manifest.programs):
        yield "a program's slot is too large"


def _anatomy(manifest: Manifest) -> Iterator[str]:
    anatomy = manifest.anatomy
    if anatomy is None:
        return
    layers = [layer.name for layer in anatomy.layers]
    yield from _distinct("layer", layers)
    named = {*anatomy.entries, *(name for s in anatomy.steps for name in (s.source, s.target))}
    named |= {node for reading in anatomy.readings for node, _ in reading.fields} - {"l4"}
    matched = {(rule.name, match.element) for rule in manifest.rules for match in rule.match}
    if not named <= set(layers) or not {(r.rule, r.element) for r in anatomy.readings} <= matched:
        yield "`anatomy` names what is not there"
    yield from _distinct("stage", [stage.name for stage in anatomy.stages])
    tables = {rule.name for rule in manifest.rules} | {state.name for state in manifest.states}
    if not {name for stage in anatomy.stages for name in stage.looks_up} <= tables:
        yield "a stage of `anatomy` looks up what is not there"


def _events(manifest: Manifest) -> Iterator[str]:
    ring = manifest.events
    if ring is None:
        return
    if ring.format != EVENT_FORMAT:
        yield f"the format {ring.format} of `events` is not {EVENT_FORMAT}"
    if ring.size not in (1 << n for n in range(12, 31)):
        yield f"`events.size` is {ring.size}, not a power of two from 4,096 on"
    buckets = len(ring.kinds) + SOURCES * sum(bool(kind.each) for kind in ring.kinds)
    if ring.buckets != buckets:
        yield f"`events.buckets` is {ring.buckets}, not {buckets}"
    yield from _distinct("event", [kind.name for kind in ring.kinds])
    yield from _distinct("event's tag", [kind.tag for kind in ring.kinds])
    rules = {rule.name for rule in manifest.rules}
    for kind in ring.kinds:
        for wrong in _event(kind, rules):
            yield f"{kind.name}: {wrong}"


def _event(kind: EventKind, rules: set[str]) -> Iterator[str]:
    end = EVENT_HEAD
    if kind.size not in range(EVENT_HEAD, EVENT_MOST + 1, 8):
        yield f"a record has {kind.size} bytes, not {EVENT_HEAD} to {EVENT_MOST}"
    if not kind.rate or kind.each > kind.rate or not kind.name.isidentifier():
        yield "its limits, or its name, cannot be"
    yield from _distinct("field", [field.name for field in kind.fields])
    if not set(kind.by) <= {field.name for field in kind.fields}:
        yield "it tells sources apart by a field that it does not have"
    for field in sorted(kind.fields, key=lambda field: field.offset):
        size = _field_size(field.type)
        if size is None or (field.type == "rule") != (field.rule in rules):
            yield f"`{field.name}` is of the type `{field.type[:40]}`, which is not known"
        elif field.size != size or field.offset < end or field.offset + size > kind.size:
            yield f"`{field.name}` does not lie in the record"
        end = max(end, field.offset + field.size)


def _raises(manifest: Manifest, rule: RuleKind) -> Iterator[str]:
    """The events of its rules: what they need is counted, and what they say fits."""
    events = {kind.name: kind for kind in manifest.events.kinds} if manifest.events else {}
    matched = {match.element for match in rule.match}
    for raised in rule.raises:
        event = events.get(raised.event)
        if event is None or len(raised.fields) != len(event.fields):
            yield f"it raises `{raised.event[:40]}`, which is not there or has other fields"
            continue
        counted = set(rule.counts) & (
            {"packets", "bytes"} if raised.what == "idle" else {raised.what}
        )
        if not counted or (raised.what == "idle" and raised.again) or raised.amount < 0:
            yield f"when it raises `{event.name}` is not known"
        if raised.element and raised.element not in rule.gives:
            yield f"`{raised.element[:40]}` says when it raises `{event.name}`, and is not given"
        for held, field in zip(raised.fields, event.fields, strict=True):
            if held.what == "element" and held.element not in (matched | set(rule.gives)):
                yield f"it holds `{held.element[:40]}`, which it does not have"
            elif (held.what == "rule") != (field.rule == rule.name):
                yield f"`{field.name}` of `{event.name}` does not say which of its rules it is"
            elif _raised_size(manifest, held) > field.size:
                yield f"`{field.name}` of `{event.name}` has no room for what it holds"


def _raised_size(manifest: Manifest, held: RaisedField) -> int:
    """Bytes."""
    if held.what == "number":
        return bytes_of(max(1, held.number.bit_length()))
    if held.what == "element":
        element = manifest.element(held.element)
        return bytes_of(element.width, element.most)
    return {"rule": IDENTITY, "id": 4}.get(held.what, 8)


def _field_size(type_: str) -> int | None:
    """Bytes of a field of an event."""
    if found := re.fullmatch(r"u([1-9][0-9]?)", type_):
        return (int(found[1]) + 7) // 8 if int(found[1]) <= 64 else None
    return {"ip4": 4, "ip6": 16, "mac": 6, "port": 4, "rule": IDENTITY}.get(type_)


def _distinct(what: str, found: Iterable[str | int]) -> Iterator[str]:
    seen: set[str | int] = set()
    for each in found:
        if each in seen:
            yield f"there are two of the {what} `{each}`"
        seen.add(each)


def _counts(rule: RuleKind) -> Iterator[str]:
    """Numbers of things."""
    looked_up = rule.key_size > 0
    used = ["number", "capacity", "cells", "records", "record_size", "image_size"]
    used += ["tuples", "versions", "entries"] if looked_up else []
    for name in used:
        most = _RECORD if name in ("record_size", "image_size") else _U32
        if not 0 < getattr(rule, name) <= most:
            yield f"`{name}` is {getattr(rule, name)}, not 1 to {most}"
    if rule.two_cells and (rule.cells % 2 or not (rule.halves and rule.priority)):
        yield "`two_cells` are not two for each place of a kind with priorities"
    for name, count in (("cells", rule.places), ("records", rule.records)):
        if rule.capacity >= count:
            yield f"`{name}` is {count}, too few for a capacity of {rule.capacity}"
    if (rule.match or rule.grouped) and rule.key_size not in range(4, _KEY + 1, 4):
        yield f"`key_size` is {rule.key_size}, not a multiple of 4, up to {_KEY}"
    if rule.filter and not (looked_up and rule.filter in (1 << n for n in range(7, 33))):
        yield f"`filter` is {rule.filter}, not a power of two that a kind looked up may have"
    if rule.buckets and not (looked_up and rule.buckets in (1 << n for n in range(1, 28))):
        yield f"`buckets` is {rule.buckets}, not a power of two that a kind looked up may have"
    if rule.spare_buckets not in (0, MOST_BUCKETS):
        yield f"`spare_buckets` is {rule.spare_buckets}, not 0 or {MOST_BUCKETS}"
    # Each lies behind the next smaller one and its spare buckets.
    least = (
        rule.buckets >> rule.index_step * min(rule.small_indexes, 32)
        if rule.small_indexes > 0
        else 0
    )
    smallest = MOST_BUCKETS if rule.index_step == 4 else 2 * MOST_BUCKETS
    if rule.index_step not in (2, 4):
        yield f"`index_step` is {rule.index_step}, not 2 or 4"
    elif rule.small_indexes and not (rule.spare_buckets and least >= smallest):
        yield f"`small_indexes` is {rule.small_indexes}, too many for {rule.buckets} buckets"
    if rule.vectors and (rule.vectors % VECTOR_KEYS or not (rule.filter and rule.buckets)):
        yield f"`vectors` is {rule.vectors}, not a multiple of {VECTOR_KEYS}, or has no filter"
    if rule.buckets and rule.entries < rule.cells:
        yield f"`entries` is {rule.entries}, too few for {rule.cells} cells"
    masks = {m for m in rule.fixed if len(m) == 2 * rule.key_size and re.fullmatch("[0-9a-f]+", m)}
    if len(masks) != len(rule.fixed) or len(masks) > rule.tuples:
        yield f"`fixed` are not different masks of {rule.key_size} bytes, {rule.tuples} at most"
    if rule.grouped != (rule.group_position is not None):
        yield "`group_position` must be there exactly where `grouped` is true"
    spread = rule.spread
    if spread is not None and not 0 < spread.least <= spread.most <= MOST_MEMBERS:
        verb = "lists" if spread.listed else "spreads over"
        yield f"it {verb} {spread.least} to {spread.most}, not within 1 to {MOST_MEMBERS}"


def _used(rule: RuleKind) -> Iterator[str]:
    """Elements that it names."""
    yield from (match.element for match in rule.match)
    yield from rule.gives
    if rule.priority is not None:
        yield rule.priority[1]
    if rule.spread is not None and rule.spread.weight is not None:
        yield rule.spread.weight
    for requirement in rule.requires:
        yield requirement.element
    for member in rule.record:
        yield from (x for x in member.element.split(" via ") if x)


def _names(rule: RuleKind, kinds: list[str], known: set[str]) -> Iterator[str]:
    if not rule.name.isidentifier():
        yield "its name is none"
    for element in dict.fromkeys(_used(rule)):
        if element not in known:
            yield f"it uses the element `{element[:40]}`, which is not there"
    yield from _distinct("match element", [match.element for match in rule.match])
    yield from _distinct("given element", rule.gives)
    named = {*rule.alternatives, *([rule.spread.kind] if rule.spread else [])}
    for member in rule.record:
        named |= {choice for choice in member.choices if choice != "port"}
    for requirement in rule.requires:
        named |= {kind for kind in requirement.references if kind != "port"}
        for name, _ in requirement.when:
            if name not in rule.gives:
                yield f"a requirement asks for `{name[:40]}`, which it does not give"
    for kind in sorted(named - set(kinds)):
        yield f"it refers to the kind `{kind[:40]}`, which is not there"
    if len(rule.meters) not in (0, 2, 3, 4) or not set(rule.meters) <= set(rule.gives):
        yield "its meter is not of two to four elements that it gives"
    if not set(rule.counts) <= {"packets", "bytes", "sizes"}:
        yield "it counts something else than packets, bytes and sizes"


def _key(manifest: Manifest, rule: RuleKind) -> Iterator[str]:
    """Every piece lies in the key, above the tuple's number in the last two bytes."""
    bits = rule.key_size * 8
    for match in rule.match:
        if match.width != manifest.element(match.element).width:
            yield f"`{match.element}` is matched by {match.width} bits, which it does not have"
        if manifest.element(match.element).most:
            yield f"`{match.element}` is matched, and holds several values"
        if not _within(match, bits):
            yield f"`{match.element}` lies outside of the key of {rule.key_size} bytes"
    at = rule.group_position
    if at is not None and not 16 <= at <= bits - 32:
        yield f"the group's id lies outside of the key of {rule.key_size} bytes"


def _roles(manifest: Manifest, rule: RuleKind) -> Iterator[str]:
    if not {role for match in rule.match for role in match.roles} <= {*manifest.roles}:
        yield "it is looked up for packets of a role that there is not"


def _within(match: Match, bits: int) -> bool:
    fits = match.position >= 16 and match.position + match.width <= bits
    return fits and (match.presence is None or 16 <= match.presence < bits)


def _record(manifest: Manifest, rule: RuleKind) -> Iterator[str]:
    end = 0
    for member in sorted(rule.record, key=lambda member: member.offset):
        name = f"`{member.name}` of its record"
        size = _size(manifest, rule, member)
        if member.size != size:
            yield f"{name} has {member.size} bytes, not {size}"
        elif member.offset < end:
            yield f"{name} lies over what stands before it"
        elif member.offset + size > rule.record_size:
            yield f"{name} reaches beyond the record's {rule.record_size} bytes"
        end = member.offset + size
        if member.kind == "next_hop" and member.element.count(" via ") != 1:
            yield f"{name} is not of the form PORT via ADDRESS"
        if member.kind in ("value", "present") and not member.element:
            yield f"{name} is of no element"
        yield from _choices(manifest, rule, member)


def _choices(manifest: Manifest, rule: RuleKind, member: Member) -> Iterator[str]:
    """A tag has a value for each kind that the reference may be to."""
    if member.kind == "tag":
        of = manifest.element(member.element).references if member.element else rule.alternatives
        if member.choices != of:
            yield f"`{member.name}` of its record does not distinguish its choices"
    if member.kind == "slots" and rule.spread is None:
        yield f"`{member.name}` of its record is for kinds that spread"


def _size(manifest: Manifest, rule: RuleKind, member: Member) -> int:
    if member.kind == "slots":
        listed = rule.spread is not None and rule.spread.listed
        return 4 * (rule.spread.most if listed and rule.spread else SPREAD_SLOTS)
    if member.kind != "value" or not member.element:
        return _SIZES.get(member.kind, 0)
    element = manifest.element(member.element)
    return bytes_of(element.width, element.most)
