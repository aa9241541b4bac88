"""Where everything lies: lookup keys, records, capacities. Model in, manifest pieces out.

A key is the raw bytes of the packet's fields, so that neither plane swaps bytes: each operand's
*container* (the whole bytes that hold its bits) is copied as it stands in the packet, and a mask
chooses the bits. Operands in the same container (`tos` and `dscp`) share it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import replace
from math import prod

from ...lang.contract.base.lists import bytes_of
from ...lang.contract.manifest import manifest as m
from ...lang.text.frozen import Frozen
from ..model import (
    Arrival,
    Given,
    Layer4,
    Match,
    Packet,
    Pipeline,
    Registers,
    RuleKind,
    Slot,
    State,
)
from .fixed import fixed_masks

MAX_PORTS = 64
VERSIONS = 8  # tuple directories in rotation, the zeroth too
SEQUENCE_BITS = 48
SPARE = 128  # slots of each parity: for rules that change again while others read the first ones
PAGE, HALF_LINE = 4096, 32
FLOW_HEAD = 16  # of a line of the flow cache: see helio.bpf.h
#: Pairs of words of bit vectors at most, and so many loads of pairs: with more, masks are as fast.
VECTOR_PAIRS, VECTOR_LOADS = 4, 64
LARGEST = 1 << 22  # bytes of an array's element, to Linux 5.10


#: What a member of a record or an entry cannot be called: words of C, macros, and what such a
#: struct has besides.
_TAKEN = re.compile(
    r"(auto|break|case|char|const|continue|default|do|double|else|enum|extern|float|for|goto|if"
    r"|inline|int|long|register|restrict|return|short|signed|sizeof|static|struct|switch|typedef"
    r"|typeof|union|unsigned|void|volatile|while|asm|seen|slots|target|next_hop(_\d+)?|pad(_\d+)?"
    r"|has_\w*|\w*_tag|[A-Z][A-Z0-9_]*|__\w*)_*"
)


def member_name(name: str) -> str:
    """The C name of the member for an element or a slot: that name, where C can have it."""
    return f"{name}_" if _TAKEN.fullmatch(name) else name


class Container(Frozen):
    """Whole bytes of the packet that stand in the key: `size` bytes at `offset` of `node` (or of
    the optional group `group`, counted from its start), at byte `at` of the key. Node "l4" is the
    pair of ports that the parser leaves in the state, "port" the number of the port of arrival, in
    network order; "given …" a value that the `find` says."""

    node: str
    offset: int
    size: int
    at: int
    group: str | None = None

    @property
    def place(self) -> tuple[str, str | None, int, int]:
        return self.node, self.group, self.offset, self.size


class Key(Frozen):
    """`size` bytes: containers, presence bytes, padding, and the tuple's number in the last
    two. `group_at` is the byte of the u32 id (host order is network order's) of a grouped kind."""

    containers: tuple[Container, ...]
    presence: tuple[tuple[str, str | None, int], ...]  # node, group, bit from the key's lowest
    group_at: int | None
    size: int

    @property
    def words(self) -> int:
        return (self.size + 7) // 8


class Table(Frozen):
    """A rule kind with its layout."""

    rule: RuleKind
    manifest: m.RuleKind
    key: Key | None


def tables(pipeline: Pipeline, reads: Reads) -> tuple[Table, ...]:
    """Lay out every rule kind; `reads` says what the stages take from records."""
    made, at, meters_at = [], 0, 0
    kept = {slot.rule for state in pipeline.states for slot in state.gives}
    for number, rule in enumerate(pipeline.rules, start=1):
        table = _table(pipeline, rule, number, reads, rule.name in kept)
        kind = table.manifest
        if kind.counts:
            table = replace(table, manifest=replace(kind, counts_at=at))
            at += kind.counts_each * kind.places
        if kind.meters:
            table = replace(table, manifest=replace(table.manifest, meters_at=meters_at))
            meters_at += kind.places
        made.append(table)
    return tuple(made)


def row_of_counts(kinds: Iterable[m.RuleKind]) -> int:
    """Elements of a row of the map `counts`: whole pages, so that no two CPUs share one."""
    most = max(
        (k.counts_at + k.counts_each * k.places for k in kinds if k.counts_at is not None),
        default=0,
    )
    return -(-most * m.COUNTS_SIZE // PAGE) * PAGE // m.COUNTS_SIZE


def meters_of(kinds: Iterable[m.RuleKind]) -> int:
    """Elements of the map `meters`."""
    return sum(kind.places for kind in kinds if kind.meters_at is not None)


def flow_size(kinds: Iterable[m.RuleKind]) -> int:
    """Bytes of a line of the flow cache: halves of cache lines, with the longest key of those that
    use it; 0 if none does."""
    most = max((k.key_size for k in kinds if k.cached), default=0)
    return -(-(FLOW_HEAD + most) // HALF_LINE) * HALF_LINE if most else 0


# ---- what the data path reads ---------------------------------------------------------------


class Reads(Frozen):
    """What the stages read of each rule kind: elements, references, next hops."""

    elements: frozenset[tuple[str, str]]  # (kind, element): its value
    presence: frozenset[tuple[str, str]]  # (kind, element): whether the rule has it
    references: frozenset[tuple[str, str]]  # (kind, element): what it refers to
    next_hops: frozenset[tuple[str, str, str]]  # (kind, port element, address element)


# ---- keys -----------------------------------------------------------------------------------


def span_of(pipeline: Pipeline, matched: Match) -> tuple[str, str | None, int, int]:
    """(node, group, first byte, bytes) of the container of a match operand."""
    match operand := matched.operand:
        case Layer4(which):
            return "l4", None, 0 if which == "src" else 2, 2
        case Arrival():
            return "port", None, 0, 4
        case Given(width):
            return f"given {matched.element.name}", None, 0, (width + 7) // 8
    header = pipeline.graph.node(operand.node).header
    field = header.field(operand.field)
    if matched.element.kind == "name":
        return operand.node, field.group, field.offset // 8, matched.element.width // 8
    first, last = field.offset // 8, (field.offset + field.width - 1) // 8
    return operand.node, field.group, first, last - first + 1


def key_of(pipeline: Pipeline, rule: RuleKind) -> Key:
    """The key by which rules of a kind are looked up."""
    spans = {span_of(pipeline, match) for match in rule.match}
    order = sorted(spans, key=lambda s: (-_alignment(s[3]), s[0], s[1] or "", s[2]))
    at = 4 if rule.grouped else 0
    containers = []
    for node, group, offset, size in order:
        align = _alignment(size)
        at = (at + align - 1) // align * align
        containers.append(Container(node, offset, size, at, group))
        at += size
    absent = sorted(
        {span_of(pipeline, match)[:2] for match in rule.match if match.maybe_absent},
        key=lambda s: (s[0], s[1] or ""),
    )
    width = (len(absent) + 7) // 8
    size = (at + width + 2 + 3) // 4 * 4
    lowest = (size - at - width) * 8
    presence = tuple((node, group, lowest + i) for i, (node, group) in enumerate(absent))
    return Key(tuple(containers), presence, 0 if rule.grouped else None, size)


def _alignment(size: int) -> int:
    """The largest power of two, at most 8, that divides the size."""
    return next(a for a in (8, 4, 2, 1) if size % a == 0)


def _match(pipeline: Pipeline, key: Key, match: Match) -> m.Match:
    node, group, offset, size = place = span_of(pipeline, match)
    container = next(c for c in key.containers if c.place == place)
    low = (key.size - container.at - container.size) * 8
    if not isinstance(match.operand, Packet):
        shift, width = 0, match.operand.width
    else:
        field = pipeline.graph.node(node).header.field(match.operand.field)
        if match.element.kind == "name":
            field = replace(field, width=match.element.width)
        shift, width = (offset + size) * 8 - (field.offset + field.width), field.width
    presence = None
    if match.maybe_absent:
        presence = next(bit for n, g, bit in key.presence if (n, g) == (node, group))
    position = low + shift
    return m.Match(match.element.name, match.kind, width, position, presence, match.roles)


# ---- records --------------------------------------------------------------------------------


class _Record:
    """Members in order of falling alignment, offsets given at the end."""

    def __init__(self) -> None:
        self.members: list[tuple[int, m.Member]] = []

    def add(
        self,
        name: str,
        kind: m.MemberKind,
        element: str,
        size: int,
        align: int,
        choices: tuple[str, ...] = (),
    ) -> None:
        member = m.Member(name, kind, element, 0, size, choices)
        self.members.append((align, member))

    def laid_out(self) -> tuple[tuple[m.Member, ...], int]:
        at, placed = 0, []
        for align, member in sorted(self.members, key=lambda pair: -pair[0]):
            at = (at + align - 1) // align * align
            placed.append(replace(member, offset=at))
            at += member.size
        return tuple(placed), max(8, (at + 7) // 8 * 8)


def _record(rule: RuleKind, reads: Reads) -> tuple[tuple[m.Member, ...], int]:
    record = _Record()
    ways = [f"{port} via {to}" for kind, port, to in sorted(reads.next_hops) if kind == rule.name]
    for i, way in enumerate(ways):
        record.add(f"next_hop_{i}" if i else "next_hop", "next_hop", way, m.NEXT_HOP_SIZE, 8)
    carried = {match.element.name: match.element for match in rule.match}
    carried |= {element.name: element for element in rule.gives}
    for name, element in carried.items():
        if (rule.name, name) in reads.elements:
            size = bytes_of(element.width, element.most)
            record.add(member_name(name), "value", name, size, _alignment(size))
        if (rule.name, name) in reads.presence:
            record.add(f"has_{name}", "present", name, 1, 1)
        if (rule.name, name) in reads.references:
            record.add(member_name(name), "reference", name, 4, 4)
            record.add(f"{name}_tag", "tag", name, 1, 1, element.references)
    if rule.alternatives:
        record.add("target", "reference", "", 4, 4)
        record.add("target_tag", "tag", "", 1, 1, rule.alternatives)
    if rule.spread:
        count = rule.spread.most if rule.spread.hash is None else m.SPREAD_SLOTS
        record.add("slots", "slots", "", 4 * count, 8)
    return record.laid_out()


# ---- states ---------------------------------------------------------------------------------


def states(pipeline: Pipeline) -> tuple[m.State, ...]:
    """Lay out every state table: slots in the order declared, each on its natural boundary."""
    return tuple(_state(state) for state in pipeline.states)


def _state(state: State) -> m.State:
    match, key_size = _slots(state.match, 0, lambda slot: (slot.width + 7) // 8)
    gives, entry_size = _slots(state.gives, m.SEEN, lambda slot: bytes_of(slot.width))
    return m.State(
        state.name, state.capacity, key_size, entry_size, match, gives, state.ages, state.doc,
        state.lifetime, state.idle, state.in_place, state.counts,
        tuple(slot.name for slot in state.meters), state.packet_meter,
    )  # fmt: skip


def registers(pipeline: Pipeline) -> tuple[m.State, ...]:
    """Arrays of registers, with the slots by which they are shown."""
    return tuple(_registers(each) for each in pipeline.registers)


def _registers(each: Registers) -> m.State:
    indexes = tuple(Slot(name, 32, "uint") for name in ("row", "cell")[-len(each.shape) :])
    match, key_size = _slots(indexes, 0, lambda _: 4)
    gives, entry_size = _slots((Slot("value", each.width, "uint"),), m.SEEN, lambda _: 8)
    return m.State(
        each.name, prod(each.shape), key_size, entry_size, match, gives, doc=each.doc,
        shape=each.shape,
    )  # fmt: skip


def _slots(
    slots: tuple[Slot, ...], at: int, size_of: Callable[[Slot], int]
) -> tuple[tuple[m.Slot, ...], int]:
    """The slots from byte `at` on, and the bytes of all, in whole words."""
    placed = []
    for slot in slots:
        size = size_of(slot)
        align = _alignment(size)
        at = (at + align - 1) // align * align
        type_ = slot.kind if slot.kind != "uint" else f"u{slot.width}"
        type_ = "rule" if slot.rule else "port" if slot.port else type_
        placed.append(m.Slot(slot.name, type_, at, size, slot.rule))
        at += size
    return tuple(placed), (at + 7) // 8 * 8


# ---- images and capacities ------------------------------------------------------------------

IMAGE_HEAD = 32  # sequence, owner, id, priority, flags
IMAGE_NAME = 64


def _image_size(rule: RuleKind) -> int:
    """Bytes of the control plane's copy of a rule: `runtime/rules/images.py`."""
    size = IMAGE_HEAD + (IMAGE_NAME if rule.named else 0)
    size += sum(1 + 2 * bytes_of(match.element.width) for match in rule.match)
    size += sum(1 + max(5, bytes_of(e.width, e.most)) for e in rule.gives)
    size += 5 if rule.alternatives else 0
    size += 1 + 8 * rule.spread.most if rule.spread else 0
    return (size + 7) // 8 * 8


def _tuples(rule: RuleKind) -> int:
    """How many tuples (masks, times equal matches) a directory holds."""
    if any(match.kind == "range" for match in rule.match):
        return 256
    if any(match.kind in ("lpm", "ternary") for match in rule.match):
        return 64
    optional = sum(match.kind == "optional" for match in rule.match)
    return min(64, 4 << optional)


def _more_keys(rule: RuleKind) -> int:
    """Keys that rules have beyond their first: a range takes several."""
    if not any(match.kind == "range" for match in rule.match):
        return 0
    return max(64, rule.capacity * (4 if rule.capacity <= 1 << 12 else 2))


def _buckets(keys: int) -> int:
    """Of an index of so many keys: at most two thirds full, which MOST_BUCKETS bears."""
    return 1 << max(1, (-(-keys // 4) - 1).bit_length())


def _small_indexes(buckets: int) -> int:
    """Indexes besides the largest, none smaller than twice the buckets that a key may be in."""
    return max(0, (buckets // m.MOST_BUCKETS).bit_length() - 2) // m.INDEX_STEP


def _filter(keys: int) -> int:
    """Bits of the existence filter: with so many keys one miss of four passes."""
    return 1 << max(9, (4 * keys - 1).bit_length())


def _with_vectors(kind: m.RuleKind) -> m.RuleKind:
    """Bit vectors for as many keys as there may be, if these are few."""
    if not kind.cached:
        return kind
    loads = max(1, len(kind.asked_bytes))
    pairs = min(VECTOR_PAIRS, VECTOR_LOADS // loads, -(-kind.most_keys // m.VECTOR_KEYS))
    made = replace(kind, vectors=pairs * m.VECTOR_KEYS)
    return made if made.filter_size <= LARGEST else kind


def _table(pipeline: Pipeline, rule: RuleKind, number: int, reads: Reads, kept: bool) -> Table:
    """`kept`: slots of states keep its rules."""
    key = key_of(pipeline, rule) if rule.match or rule.grouped else None
    record, record_size = _record(rule, reads)
    matches = tuple(_match(pipeline, key, match) for match in rule.match) if key else ()
    group = (key.size - 4) * 8 if key and key.group_at is not None else None
    fixed = fixed_masks(matches, group, key.size) if key and not rule.priority else ()
    more = _more_keys(rule)
    keys = 2 * rule.capacity + more if key else 0
    two_cells = kept and rule.priority is not None
    cells = (1 + two_cells) * (2 * rule.capacity + 1)
    manifest = m.RuleKind(
        name=rule.name,
        number=number,
        capacity=rule.capacity,
        named=rule.named,
        grouped=rule.grouped,
        match=matches,
        gives=tuple(element.name for element in rule.gives),
        alternatives=rule.alternatives,
        spread=_spread(rule),
        counts=rule.counts,
        meters=tuple(element.name for element in rule.meters),
        packet_meter=rule.packet_meter,
        raises=rule.raises,
        priority=(rule.priority[0], rule.priority[1].name) if rule.priority else None,
        requires=tuple(m.Requirement(r.element, r.when, r.references) for r in rule.requires),
        key_size=key.size if key else 0,
        group_position=group,
        record=record,
        record_size=record_size,
        image_size=_image_size(rule),
        cells=cells,
        records=2 * (rule.capacity + min(rule.capacity, SPARE)) + 1,
        tuples=_tuples(rule) if key else 0,
        versions=VERSIONS if key else 0,
        entries=cells + more if key else 0,
        buckets=_buckets(keys) if key else 0,
        small_indexes=_small_indexes(_buckets(keys)) if key else 0,
        spare_buckets=m.MOST_BUCKETS if key else 0,
        fixed=fixed,
        by_cell=True,
        halves=True,
        two_cells=two_cells,
        index_step=m.INDEX_STEP,
        cached=key is not None and not fixed,
        filter=_filter(more or keys) if key and not fixed else 0,
        doc=rule.doc,
    )
    return Table(rule, _with_vectors(manifest), key)


def _spread(rule: RuleKind) -> m.Spread | None:
    s = rule.spread
    return m.Spread(s.kind, s.least, s.most, s.weight, s.hash is None) if s else None
