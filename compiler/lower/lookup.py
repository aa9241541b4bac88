"""`find`, `choose … from` and references: keys, cells, records, counting."""

from __future__ import annotations

from collections.abc import Callable

from ..headers.fields import pieces
from ..headers.groups import part_pointer
from ..headers.stores import Store, placed
from ..ir.builder import Builder
from ..ir.expr import (
    ZERO,
    Cast,
    Event,
    Expr,
    Member,
    Name,
    NotNull,
    RecordOf,
    State,
    TableCall,
    as_bytes,
    element,
    load,
    named,
    not_,
)
from ..ir.expr_builders import choose as choice
from ..ir.expr_builders import to_network
from ..ir.nodes import CountRule, Do
from ..ir.types import U8, U16, U32, U64, Array, Pointer, raw
from ..model import Arrival, Choose, Find, IfGives
from ..model import Expr as Expr_
from ..model.walk import walk
from ..tables.layout import Container, Key, Table, span_of
from . import trace
from .context import Binding, LoweringContext
from .name_keys import is_name, name_key, present
from .values import value

#: Words of a key that a look-up function takes as arguments; a longer key goes through the scratch
#: record. A BPF function has five arguments, and one is the epoch.
ARGUMENTS_MOST = 4

Fill = Callable[[LoweringContext], None]


def find(site: LoweringContext, statement: Find, miss: Fill) -> None:
    """Look the kind up with the packet's own fields; `miss` lowers what happens otherwise."""
    w, table = site.writer, site.tables[statement.rule]
    name, missed = table.manifest.prefix, site.events("miss", statement.rule)
    if site.card:
        words = _key(site, table, None, statement.given)
        type_ = Pointer(f"struct {name}_entry")
        entry = w.local(type_, "entry", TableCall(name, "find", (words,), type_))
        record = site.rule_record(statement.rule)
        w.set(record, Cast(record.type, entry))
        cell: Expr = Member(entry, "cell")
        whether_found(site, missed, statement.rule, cell, miss)
        return
    with w.block(f"find_{name}"):  # the same wherever such a packet is looked up
        slot, cell = _look_up(site, table, None, statement.given)
        found_at(site, statement.rule, slot)
        whether_found(site, missed, statement.rule, cell)
    with w.unless(site.rule_record(statement.rule)):
        miss(site)


def whether_found(
    site: LoweringContext, missed: Event, rule: str, cell: Expr, miss: Fill | None = None
) -> None:
    """`missed`: what a miss is counted as."""
    w, record = site.writer, site.rule_record(rule)
    with w.unless(record):
        w.count(missed)
        if miss is not None:
            miss(site)
    with w.otherwise():
        bind(site, rule, record, cell)


def found_at(site: LoweringContext, rule: str, slot: Name) -> None:
    """From here on, and in later stages, the slot's record is that of the kind."""
    w, prefix, record = site.writer, site.tables[rule].manifest.prefix, site.rule_record(rule)
    w.set(site.state(f"{prefix}_slot"), slot)
    w.set(record, choice(slot, RecordOf(prefix, slot), ZERO))


def bind(
    site: LoweringContext, rule: str, record: Expr, cell: Expr, name: str | None = None
) -> None:
    """From here on the rule is bound (under its kind's name or another); it is counted once."""
    site.bindings[name or rule] = Binding(record, rule, cell)
    trace.rule(site, rule, name or rule, cell)
    table = site.tables[rule]
    _fetch_given(site, table, record, cell)
    if counts := table.rule.counts:
        length, sized = site.state("length"), "sizes" in counts
        site.writer.put(CountRule(table.manifest.prefix, cell, length, sized))


def _look_up(
    site: LoweringContext,
    table: Table,
    group: Expr | None,
    given: tuple[tuple[str, Expr_], ...] = (),
) -> tuple[Name, Expr]:
    """The record slot (0: none) and the cell of the best matching rule."""
    w, key = site.writer, table.key
    assert key is not None
    words = _key(site, table, group, given)
    trace.look(site, table, words)
    each = tuple(element(words, i) for i in range(key.words))
    if key.words > ARGUMENTS_MOST:
        kept = State("key", Array(U64, key.words), scratch=True)
        for i, word in enumerate(each):
            w.set(element(kept, i), word)
        each = ()
    prefix, epoch = table.manifest.prefix, site.state("epoch")
    found = w.local(U64, "found", TableCall(prefix, "find", (epoch, *each), U64))
    cell = w.local(U32, "cell", found >> 32)
    return w.local(U32, "slot", Cast(U32, found)), cell


def _key(
    site: LoweringContext, table: Table, group: Expr | None, given: tuple[tuple[str, Expr_], ...]
) -> Name:
    """The packet's key, an array of words."""
    w, key = site.writer, table.key
    assert key is not None
    words = w.array(Array(U64, key.words), "key")
    if group is not None:
        w.set(element(words, 0), as_bytes(to_network(group, 32)))
    _fill(site, key, words, _given(site, table, words, given))
    return words


# ---- keys -----------------------------------------------------------------------------------


def _given(
    site: LoweringContext, table: Table, words: Name, given: tuple[tuple[str, Expr_], ...]
) -> frozenset[Container]:
    """Put values into the key that the look-up says itself; the containers they fill."""
    w, key = site.writer, table.key
    assert key is not None
    filled: dict[Container, list[str]] = {}
    for match, laid in zip(table.rule.match, table.manifest.match, strict=True):
        name = match.element.name
        c = next(c for c in key.containers if c.place == span_of(site.pipeline, match))
        filled.setdefault(c, []).append(name)
        expr = dict(given).get(name)
        if expr is None:
            continue
        v = value(site, expr)
        shift = laid.position - (key.size - c.at - c.size) * 8
        for store in placed(v, c.at, c.size, shift):
            store.into(w, words)
        if laid.presence is not None:
            present(w, key, words, laid.presence)
    said = {name for name, _ in given}
    found = frozenset(c for c, names in filled.items() if said.intersection(names))
    assert all(said.issuperset(filled[c]) for c in found), "H0319"
    return found


def _fill(site: LoweringContext, key: Key, words: Name, filled: frozenset[Container]) -> None:
    """Copy each container into the key; a node that may be absent under a test of its own."""
    w = site.writer
    absent = {(node, group): bit for node, group, bit in key.presence}
    needed = [c for c in key.containers if c not in filled]
    owners = dict.fromkeys((c.node, c.group) for c in needed)
    for node, group in owners:
        containers = [c for c in needed if (c.node, c.group) == (node, group)]
        if node == "l4":
            _copy_number(w, words, site.state("l4"), containers)
        elif node == "port":
            port = w.local(raw(32), "port", value(site, Arrival()).network())
            _copy_number(w, words, port, containers)
        elif not site.may_have(node):
            continue
        elif group is not None:
            names = [c for c in containers if is_name(site, c)]
            for c in names:
                name_key(site, key, words, c, absent.get((node, group)))
            others = [c for c in containers if c not in names]
            if others:
                _group(site, key, words, node, group, others, absent.get((node, group)))
        elif (node, None) in absent:
            with w.when(NotNull(site.pointer(node))):
                _copy(w, words, site.pointer(node), containers)
                present(w, key, words, absent[node, None])
        else:
            _copy(w, words, site.node(node), containers)


def _copy(w: Builder, words: Name, source: Expr, containers: list[Container]) -> None:
    """Raw bytes behind a pointer into the key's words, neighbouring ones together."""
    for at, offset, size in _moves(containers):
        Store(at, size, load(source, offset, size * 8)).into(w, words)


def _copy_number(w: Builder, words: Name, source: Expr, containers: list[Container]) -> None:
    """The same of 32 bits in network order, already in a register."""
    for at, offset, size in _moves(containers):
        part = source if size == 4 else Cast(U16, as_bytes(source) >> offset * 8)
        Store(at, size, part).into(w, words)


def _moves(containers: list[Container]) -> list[tuple[int, int, int]]:
    """(byte of the key, byte of the header, size) with size a power of two, none across a word;
    containers that are neighbours in both are read at once."""
    runs: list[list[int]] = []
    for c in sorted(containers, key=lambda c: c.at):
        if runs and runs[-1][0] + runs[-1][2] == c.at and runs[-1][1] + runs[-1][2] == c.offset:
            runs[-1][2] += c.size
        else:
            runs.append([c.at, c.offset, c.size])
    found = []
    for at, offset, size in runs:
        found += [(at + done, offset + done, n) for done, n in pieces(size, at)]
    return found


def _group(
    site: LoweringContext,
    key: Key,
    words: Name,
    node: str,
    group: str,
    containers: list[Container],
    bit: int | None,
) -> None:
    """Containers in a group of fields. `bit` says of one that may be absent whether it is there."""
    w = site.writer
    with w.when(NotNull(site.pointer(node))):
        pointer = part_pointer(site, node, group, site.pointer(node))
        with w.when(pointer):
            _copy(w, words, pointer, containers)
            if bit is not None:
                present(w, key, words, bit)


# ---- references -----------------------------------------------------------------------------


def _fetch_given(site: LoweringContext, table: Table, record: Expr, cell: Expr) -> None:
    """Fetch the one rule that this one may give beside it, where both have one number."""
    given = [site.tables[name] for name in table.rule.alternatives]
    if len(given) == 1 and not given[0].rule.grouped and not site.card:
        target = Member(record, "target")
        site.writer.put(Do(TableCall(given[0].manifest.prefix, "fetch", (target, cell), U32)))


def dereference(site: LoweringContext, rule: str, cell: Expr) -> Name:
    """The record that a cell of the kind holds for this packet's epoch."""
    w, name = site.writer, site.tables[rule].manifest.prefix
    type_ = Pointer(f"struct {name}_record")
    record = w.local(type_, name, TableCall(name, "at", (cell, site.state("epoch")), type_))
    w.assume_not(not_(record))
    return record


def tag_of(kinds: tuple[str, ...], kind: str) -> int:
    """What a record's tag is where it refers to this kind."""
    return 1 + kinds.index(kind)


def gives_test(site: LoweringContext, statement: IfGives) -> Expr:
    record = site.record(statement.binding)
    tag = tag_of(site.tables[statement.rule].rule.alternatives, statement.given)
    return Member(record, "target_tag", U8).is_(named(tag, "TAG", statement.rule, statement.given))


def bind_given(site: LoweringContext, statement: IfGives) -> bool:
    """Bind the rule that `PDR gives FAR` found, inside its branch. Whether it is kept where a rule
    is that was found: where the branch may find another one."""
    w, given = site.writer, statement.given
    if site.tables[given].rule.grouped:
        return False  # a group is not one rule: `choose` picks in it
    cell = w.local(U32, "cell", Member(site.record(statement.binding), "target"))
    again = (part for part in walk(statement.then) if isinstance(part, Find | Choose))
    if site.card or all(part.rule != given for part in again):
        bind(site, given, dereference(site, given, cell), cell)
        return False
    prefix = site.tables[given].manifest.prefix
    slot = w.local(U32, "slot", TableCall(prefix, "slot_of", (cell, site.state("epoch")), U32))
    found_at(site, given, slot)
    w.assume_not(not_(site.rule_record(given)))
    bind(site, given, site.rule_record(given), cell)
    return True


def unbind(site: LoweringContext, rule: str) -> None:
    """No rule of the kind is bound from here on."""
    site.writer.set(site.state(f"{site.tables[rule].manifest.prefix}_slot"), 0)


def choose(site: LoweringContext, statement: Choose, otherwise: Fill) -> None:
    """The group's best match, its spread, the member in the hash's slot."""
    w = site.writer
    member = site.tables[statement.rule]
    origin = site.record(statement.binding)
    tag = tag_of(site.tables[statement.binding_rule].rule.alternatives, statement.group)
    name = member.manifest.prefix
    chosen = w.local(U32, "chosen", 0)
    given = named(tag, "TAG", statement.binding_rule, statement.group)
    with w.when(Member(origin, "target_tag", U8).is_(given)):
        _choose_member(site.branch(), statement, Member(origin, "target"), chosen)
    w.set(site.rule_record(statement.rule), 0)  # a key may be of the one before
    w.set(site.state(f"{name}_slot"), 0)
    with w.when(chosen):
        slot = w.local(U32, "slot", TableCall(name, "slot_of", (chosen, site.state("epoch")), U32))
        found_at(site, statement.rule, slot)
    missed = site.events("miss", statement.group)
    whether_found(site, missed, statement.rule, chosen, otherwise)


def _choose_member(site: LoweringContext, statement: Choose, id_: Expr, chosen: Name) -> None:
    w, group = site.writer, site.tables[statement.group]
    name = group.manifest.prefix
    assert group.rule.spread is not None
    slot, cell = _look_up(site, group, id_, statement.given)
    type_ = Pointer(f"struct {name}_record")
    record = w.local(type_, name, choice(slot, RecordOf(name, slot), ZERO))
    over = statement.over or group.rule.spread.hash
    assert over is not None, "H0535"
    hashed = value(site, over).expr
    with w.when(record):
        trace.rule(site, group.rule.name, group.rule.name, cell)
        trace.slot(site, group.rule.name, hashed >> 24)
        w.set(chosen, element(Member(record, "slots", Array(U32, 0)), hashed >> 24))
