"""`find`, `choose … from` and references as C: keys, cells, records, counting."""

from __future__ import annotations

from collections.abc import Callable

from ..model import Arrival, Choose, Expr, Find, IfGives
from . import trace
from .fields import pieces
from .groups import group_pointer
from .layout import Container, Key, Table, span_of
from .lowered import ARGUMENTS_MOST
from .shape import Unsupported
from .site import Binding, Site
from .stores import Store, placed
from .values import value

Fill = Callable[[Site], None]


def find(site: Site, statement: Find, miss: Fill) -> None:
    """Look the kind up with the packet's own fields; `miss` lowers what happens otherwise."""
    w, table = site.writer, site.tables[statement.rule]
    name = table.manifest.prefix
    if site.card:
        words, entry = w.fresh("key"), w.fresh("entry")
        _put_key(site, table, words, None, statement.given)
        w.put(f"struct {name}_entry *{entry} = {name}_find({words});")
        w.put(f"st->{name}_rule = (struct {name}_record *){entry};")
        cell = f"{entry}->cell"
    else:
        slot, cell = _look_up(site, table, None, statement.given)
        _found(site, name, slot)
    _whether_found(site, statement.rule, statement.rule, cell, miss)


def _whether_found(site: Site, asked: str, rule: str, cell: str, miss: Fill) -> None:
    """A miss is counted by the kind that was asked."""
    w, record = site.writer, f"st->{site.tables[rule].manifest.prefix}_rule"
    with w.nest(f"if (!{record}) {{"):
        w.put(f"count_event({site.events('miss', asked)});")
        miss(site)
    with w.nest("else {"):
        bind(site, rule, record, cell)
    site.known.add(record)


def _found(site: Site, name: str, slot: str) -> None:
    """From here on, and in later stages, the slot's record is that of the kind."""
    w = site.writer
    site.loaded.add(f"st->{name}_rule")
    w.put(f"{site.state(f'{name}_slot')} = {slot};")
    w.put(f"st->{name}_rule = {slot} ? bpf_map_lookup_elem(&{name}_records, &{slot}) : 0;")


def bind(site: Site, rule: str, record: str, cell: str, name: str | None = None) -> None:
    """From here on the rule is bound (under its kind's name or another); it is counted once."""
    site.bindings[name or rule] = Binding(record, rule)
    trace.rule(site, rule, name or rule, cell)
    if counts := site.tables[rule].rule.counts:
        by = "sized" if "sizes" in counts else "rule"
        site.writer.put(
            f"count_{by}(&{site.tables[rule].manifest.prefix}_counts, {cell}, "
            f"{site.state('length')});"
        )


def _look_up(
    site: Site, table: Table, group: str | None, given: tuple[tuple[str, Expr], ...] = ()
) -> tuple[str, str]:
    """C names of the record slot (0: none) and the cell of the best matching rule."""
    w = site.writer
    name, key = table.manifest.prefix, table.key
    assert key is not None
    words, found, slot = w.fresh("key"), w.fresh("found"), w.fresh("slot")
    _put_key(site, table, words, group, given)
    trace.look(site, table, words)
    arguments = ""
    if key.words <= ARGUMENTS_MOST:
        arguments = "".join(f", {words}[{i}]" for i in range(key.words))
    else:
        w.put(*(f"st->scratch->key[{i}] = {words}[{i}];" for i in range(key.words)))
    w.put(f"u64 {found} = {name}_find({site.state('epoch')}{arguments});", f"u32 {slot} = {found};")
    return slot, f"{found} >> 32"


def _put_key(
    site: Site,
    table: Table,
    words: str,
    group: str | None,
    given: tuple[tuple[str, Expr], ...],
) -> None:
    """Make the packet's key, an array of words of that C name."""
    w, key = site.writer, table.key
    assert key is not None
    w.put(f"u64 {words}[{key.words}] = {{}};")
    if group is not None:
        w.put(f"{words}[0] = bpf_htonl({group});")
    _fill(site, key, words, _given(site, table, words, given))


# ---- keys -----------------------------------------------------------------------------------


def _given(
    site: Site, table: Table, words: str, given: tuple[tuple[str, Expr], ...]
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
        w.put(*(s.into(words) for s in placed(v, c.at, c.size, shift)))
        if laid.presence is not None:
            w.put(_present(key, words, laid.presence))
    said = {name for name, _ in given}
    for names in filled.values():
        if said.intersection(names) and not said.issuperset(names):
            told = " and ".join(f"`{n}`" for n in names)
            raise Unsupported(f"{told} share octets of the packet: give both", w.span)
    return frozenset(c for c, names in filled.items() if said.intersection(names))


def _fill(site: Site, key: Key, words: str, filled: frozenset[Container]) -> None:
    """Copy each container into the key; a node that may be absent under a test of its own."""
    w = site.writer
    absent = {(node, group): bit for node, group, bit in key.presence}
    wanted = [c for c in key.containers if c not in filled]
    owners = dict.fromkeys((c.node, c.group) for c in wanted)
    for node, group in owners:
        containers = [c for c in wanted if (c.node, c.group) == (node, group)]
        if node == "l4":
            _copy(w.put, words, f"{site.state('l4')}", containers, state=True)
        elif node == "port":
            number = w.fresh("port")
            w.put(f"u32 {number} = {value(site, Arrival()).network()};")
            _copy(w.put, words, number, containers, state=True)
        elif not site.may_have(node):
            continue
        elif group is not None:
            _group(site, key, words, node, group, containers, absent.get((node, group)))
        elif (node, None) in absent:
            with w.nest(f"if (there({site.pointer(node)})) {{"):
                _copy(w.put, words, site.pointer(node), containers)
                w.put(_present(key, words, absent[node, None]))
        else:
            _copy(w.put, words, site.node(node), containers)


def _present(key: Key, words: str, bit: int) -> str:
    """Set a presence bit: `bit` counts from the key's least significant (last) octet."""
    octet = key.size - 1 - bit // 8
    return f"{words}[{octet // 8}] |= {1 << (octet % 8 * 8 + bit % 8):#x}ULL;"


def _copy(
    put: Callable[..., None],
    words: str,
    source: str,
    containers: list[Container],
    state: bool = False,
) -> None:
    """Raw octets into the key's words, neighbouring ones together."""
    for at, offset, size in _moves(containers):
        if state:  # the 32-bit pair of ports, already in a register
            text = source if size == 4 else f"(u16)({source} >> {offset * 8})"
        else:
            text = f"RAW{size * 8}({source}, {offset})"
        put(Store(at, size, text).into(words))


def _moves(containers: list[Container]) -> list[tuple[int, int, int]]:
    """(octet of the key, octet of the header, size) with size a power of two, none across a word;
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
    site: Site,
    key: Key,
    words: str,
    node: str,
    group: str,
    containers: list[Container],
    bit: int | None,
) -> None:
    """Containers in a group of fields. `bit` says of one that may be absent whether it is there."""
    w = site.writer
    with w.nest(f"if (there({site.pointer(node)})) {{"):
        pointer = group_pointer(site, site.header(node), group, site.pointer(node))
        with w.nest(f"if ({pointer}) {{"):
            _copy(w.put, words, pointer, containers)
            if bit is not None:
                w.put(_present(key, words, bit))


# ---- references -----------------------------------------------------------------------------


def dereference(site: Site, rule: str, cell: str) -> str:
    """C name of the record that a cell of the kind holds for this packet's epoch."""
    w, name = site.writer, site.tables[rule].manifest.prefix
    record = w.fresh(name)
    w.put(f"struct {name}_record *{record} = {name}_at({cell}, {site.state('epoch')});")
    w.never(f"!{record}")
    return record


def gives_test(site: Site, statement: IfGives) -> str:
    record = site.record(statement.binding)
    table = site.tables[statement.rule]
    tag = 1 + table.rule.alternatives.index(statement.given)
    return f"{record}->target_tag == {tag}"


def bind_given(site: Site, statement: IfGives) -> None:
    """Bind the rule that `PDR gives FAR` found, inside its branch."""
    if site.tables[statement.given].rule.grouped:
        return  # a group is not one rule: `choose` picks in it
    record, cell = site.record(statement.binding), site.writer.fresh("cell")
    site.writer.put(f"u32 {cell} = {record}->target;")
    found = dereference(site, statement.given, cell)
    bind(site, statement.given, found, cell)


def choose(site: Site, statement: Choose, otherwise: Fill) -> None:
    """The group's best match, its spread, the member in the hash's slot."""
    w = site.writer
    group, member = site.tables[statement.group], site.tables[statement.rule]
    origin = site.record(statement.binding)
    tag = 1 + site.tables[statement.binding_rule].rule.alternatives.index(statement.group)
    name, chosen = member.manifest.prefix, w.fresh("chosen")
    w.put(f"u32 {chosen} = 0;", f"st->{name}_rule = 0;", f"{site.state(f'{name}_slot')} = 0;")
    with w.nest(f"if ({origin}->target_tag == {tag}) {{"):
        _choose_member(site.branch(), group, f"{origin}->target", chosen)
    with w.nest(f"if ({chosen}) {{"):
        slot = w.fresh("slot")
        w.put(f"u32 {slot} = {name}_slot_of({chosen}, {site.state('epoch')});")
        _found(site, name, slot)
    _whether_found(site, statement.group, statement.rule, chosen, otherwise)


def _choose_member(site: Site, group: Table, id_: str, chosen: str) -> None:
    w, name = site.writer, group.manifest.prefix
    assert group.rule.spread is not None
    slot, cell = _look_up(site, group, id_)
    record = w.fresh(name)
    w.put(
        f"struct {name}_record *{record} =",
        f"\t{slot} ? bpf_map_lookup_elem(&{name}_records, &{slot}) : 0;",
    )
    hashed = value(site, group.rule.spread.hash)
    with w.nest(f"if ({record}) {{"):
        trace.rule(site, group.rule.name, group.rule.name, cell)
        trace.slot(site, group.rule.name, f"{hashed.text} >> 24")
        w.put(f"{chosen} = {record}->slots[{hashed.text} >> 24];")
