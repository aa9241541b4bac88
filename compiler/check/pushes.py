"""`push`: where it goes, what it writes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import zip_longest

from ...lang import tree
from ...lang.contract.base.lists import octets_of
from ...lang.text.source import Span
from .. import model
from ..lower.reads import walk
from ..model.parse_graph import tells, writable
from ..model.sizes import worked_out
from ..model.sums import FRAGMENTED, is_checksum, zero_checksum
from . import faults_files, faults_headers
from . import faults_stages as faults
from .changes import Changed, announced, appended_before
from .contents import Contents
from .faults_changes import part_of_a_packet
from .flow import Scope, State, World, roles_of
from .packets import PacketNames
from .push_places import Place, place_of
from .ranges import narrowed
from .read_back import ReadBack
from .stage_names import Program, SaidItems, StageNames
from .taken_over import taken_over
from .values import KINDS, Value, fits, of_width
from .written import Written, asked_for, came


def push(program: Program, statement: tree.Push, state: State, scope: Scope) -> Changed:
    packets = PacketNames(program.checked, program.found)
    nodes = [packets.node(e.node) for e in statement.path]
    path = [n for n in nodes if n is not None]
    if len(path) < len(nodes):
        program.unsure = True
        return Changed(None, state)
    span = statement.span
    if appended_before(program, span, "a `push`", state) or not can_be_pushed(
        program, statement.path, path, state
    ):
        return Changed(None, state)
    place = place_of(program, statement, path, state, scope)
    if place is None:
        return Changed(None, state)
    before, behind = place
    if behind is not None:
        needs_edge(program, behind.name, path[0].name, statement.path[0].node.span)
    following = [*path[1:], *([before] if before else [])]
    for source, target, element in zip(path, following, statement.path, strict=False):
        needs_edge(program, source.name, target.name, element.node.span)
    told = _told(program, behind) if behind else {}
    sources = _in_front(program, place, state)
    fronts = [sources, *([node.name] for node in path)]
    written = [
        element_of(
            program, e, path[i], after, path[:i], state, scope, fronts[i], {} if after else told
        )
        for i, (e, after) in enumerate(zip_longest(statement.path, following))
    ]
    read_back(program, written, sources, before, scope, span)
    if behind is not None:
        after = {w.chain[place.of(program, w) :][:1] for w in state}
        every = [program.checked.graph.nodes[at[0]] if at else None for at in sorted(after)]
        taken_over(program, written[-1], behind, told, every, scope)
    elements = tuple(w.element for w in written)
    worlds = frozenset(_pushed(program, path, place, w, span) for w in state)
    for each in path:
        program.pushes[each.name] = span
    names = (node.name if node else "" for node in place)
    return Changed(model.Push(elements, next(names), span, next(names)), worlds)


def _in_front(program: Program, place: Place, state: State) -> list[str]:
    """Link headers that may stand in front of a push: those of the packet, and the Ethernet header
    that it is forwarded with."""
    nodes = program.checked.graph.nodes
    found = {world.chain[at - 1] for world in state if (at := place.of(program, world))}
    found |= {i for i, n in enumerate(nodes) if n.header.protocol == "ethernet"}
    return [nodes[i].name for i in sorted(found)]


def read_back(
    program: Program,
    written: Sequence[Written],
    sources: Sequence[str],
    target: model.Node | None,
    scope: Scope,
    span: Span,
    ends: bool = False,
) -> None:
    """The parser reads what was written back, in front of `target` (of nothing if it `ends` there)
    and behind one of `sources`. Not asked of a statement (at `span`) that is wrong anyway."""
    wrong = (d.span for d in program.found.errors if d.span and d.span.source == span.source)
    if any(span.start <= each.start < span.end for each in wrong):
        return
    if program.unsure or not program.checked.sound:
        return
    behind: tuple[Contents, ...] = ()
    if target is not None:
        behind = tuple(program.pushed.get(target.name, ())) or (came(program, target, scope),)
    name = target.name if target else ""
    path = tuple(written)
    reader = ReadBack(program, path, tuple(sources), name, behind, scope.tested, ends)
    for way in reader.check():
        for w, contents in zip(written, way, strict=True):
            program.pushed.setdefault(w.element.node, []).append(contents)


def _told(program: Program, front: model.Node) -> dict[str, model.Expr]:
    """What a header says of what follows it, by its fields."""
    fields = [front.header.field(name) for name in tells(program.checked.graph, front.name)]
    return {f.name: model.Packet(front.name, f.name, f.width, f.kind) for f in fields}


def can_be_pushed(
    program: Program, said: Sequence[tree.PushElement], path: list[model.Node], state: State
) -> bool:
    for i, (element, node) in enumerate(zip(said, path, strict=True)):
        bit = program.bit(node.name)
        having = [w for w in state if w.present & bit]
        if node in path[:i]:
            program.report(
                faults_files.declared_twice(
                    "node",
                    element.node,
                    said[path.index(node)].node.span,
                    "push each node once",
                )
            )
        elif having and not program.unsure:
            program.report(
                faults.present_already(
                    element.node.span,
                    node.name,
                    len(having) == len(state),
                    roles_of(having),
                    node.span,
                )
            )
        else:
            continue
        return False
    return True


def needs_edge(program: Program, source: str, target: str, span: Span) -> None:
    graph = program.checked.graph
    edges = writable(graph, source, target)
    if len(edges) > 1:
        program.report(
            faults.two_edges(span, source, target, [(e.span, "this one?") for e in edges])
        )
    elif not edges and program.checked.sound:
        wide = [
            (e.span, "does not say what to write")
            for e in graph.leaving(source)
            if e.target == target
        ]
        program.report(
            faults.no_edge(span, source, target, wide, f"would stand in front of `{target}`")
        )


def _pushed(
    program: Program, path: list[model.Node], place: Place, world: World, span: Span
) -> World:
    bits = sum(program.bit(n.name) for n in path)
    at = place.of(program, world)
    behind = f" (behind {place.behind.name})" if place.behind else ""
    after = world._replace(
        present=world.present | bits,
        pushed=world.pushed | bits,
        chain=(
            *world.chain[:at],
            *(program.position(n.name) for n in path),
            *world.chain[at:],
        ),
        changes=(*world.changes, "push " + " / ".join(n.name for n in path) + behind),
    )
    if not at or place.before is None:
        return after
    previous = program.checked.graph.nodes[world.chain[at - 1]].name
    after = after._replace(owed=frozenset(d for d in after.owed if d.target != place.before.name))
    return announced(program, after, previous, path[0].name, span, popped=False)


# ---- what a push writes -----------------------------------------------------------------------


def element_of(
    program: Program,
    element: tree.PushElement,
    node: model.Node,
    target: model.Node | None,
    outer: list[model.Node],
    state: State,
    scope: Scope,
    sources: Sequence[str],
    told: Mapping[str, model.Expr] | None = None,
) -> Written:
    """What is written of one header, in front of `target` (None: of nothing) and behind `outer`;
    by one of `sources` the parser comes to it. `told`: values of fields of which the push says
    nothing."""
    values: dict[str, Value] = {}
    lists: list[tuple[str, model.Items]] = []
    given: dict[str, Span] = {}
    computed: list[str] = []
    for assign in element.fields:
        if _is_computed(assign, node):
            _note(program, assign.target.parts[0], given)
            computed.append(assign.target.text)
            continue
        array = _array(assign, node)
        if array is not None:
            _note(program, assign.target.parts[0], given)
            items = StageNames(program, state, scope).items(assign.value)
            if items is not None and _fits_array(program, items, array, node):
                lists.append((array.name, items.items))
            continue
        made = _assign(program, assign, node, given, state, scope)
        if made is not None:
            values[made[0]] = made[1]
    graph, spans = program.checked.graph, dict(given)
    edges = writable(graph, node.name, target.name) if target else []
    writes = dict(edges[0].writes or ()) if edges else {}
    asked = asked_for(graph, sources, node)
    unsaid: dict[str, model.Expr] = dict(told or {})
    unsaid |= {n: model.Const(v, node.header.field(n).width) for n, v in asked.items()}
    for name, expr in unsaid.items():
        field = node.header.field(name)
        same = isinstance(expr, model.Const) and expr.value == field.default
        if name not in given and name not in writes and field.part_of not in given and not same:
            span = element.node.span
            values[name] = of_width(expr, field.width, field.kind, span, f"`{name}`", None)
            given[name] = span
    exprs = {name: value.expr for name, value in values.items()}
    if edges or target is None:
        there = _groups_written(node.header, exprs, set(given), writes)
        _check_complete(program, element, node, set(given) | writes.keys(), there)
    if not computed and zero_checksum(node.header, [n.header for n in outer]):
        exprs["checksum"] = model.Const(0, 16)
    made_of = model.PushElement(node.name, tuple(exprs.items()), tuple(computed), tuple(lists))
    return Written(made_of, node.header, element.node.span, values, spans, writes, asked)


def _note(program: Program, name: tree.Name, given: dict[str, Span]) -> None:
    """A field is given: each at most once."""
    first = given.setdefault(name.text, name.span)
    if first is not name.span:
        program.report(faults_files.declared_twice("the value of", name, first))


def _array(assign: tree.Assign, node: model.Node) -> model.Field | None:
    """The array that is given, if it is one."""
    if len(assign.target.parts) != 1:
        return None
    fields = (f for f in node.header.fields if f.name == assign.target.parts[0].text)
    field = next(fields, None)
    return field if field is not None and node.header.array(field) else None


def _fits_array(program: Program, said: SaidItems, field: model.Field, node: model.Node) -> bool:
    """Whether an array takes the values of an element; says why not."""
    source, array = said.items.source, node.header.array(field)
    assert array is not None
    if (source.kind, source.width) != (field.kind, field.width):
        each = f"{KINDS[source.kind]} of {source.width} bits"
        wanted = f"{KINDS[field.kind]} of {field.width} bits"
        program.report(faults_headers.wrong_kind(said.span, each, wanted, field.span))
        return False
    if octets_of(field.width) * 8 != field.width:
        what = f"pushing an array of {field.width} bits an element"
        program.report(faults_files.unsupported(said.span, what))
        return False
    most = said.items.most - said.items.skip
    if most > array.most:
        program.report(faults_headers.too_many(said.span, most, field.name, array.most, field.span))
        return False
    return True


def _is_computed(assign: tree.Assign, node: model.Node) -> bool:
    """`checksum = computed`: the one thing that may be said of a checksum."""
    said = isinstance(assign.value, tree.Path) and assign.value.text == "computed"
    return said and any(f.name == assign.target.text and is_checksum(f) for f in node.header.fields)


#: What is 0 in a whole packet.
_OF_FRAGMENTS = ("more_fragments", "fragment_offset")


def _assign(
    program: Program,
    assign: tree.Assign,
    node: model.Node,
    given: dict[str, Span],
    state: State,
    scope: Scope,
) -> tuple[str, Value] | None:
    if len(assign.target.parts) != 1:
        program.report(
            faults_headers.wrong_kind(
                assign.target.span,
                "a longer path",
                f"a field of `{node.name}`",
                help="give fields by their plain names",
            )
        )
        return None
    name = assign.target.parts[0]
    field = PacketNames(program.checked, program.found).field_of(node, name)
    _note(program, name, given)
    bare = isinstance(assign.value, tree.Path)
    use = StageNames(program, state, scope, "group" if bare and field and field.group else "value")
    value = use.expressions.value(assign.value)
    if field is None or _kept_right(program, name, node, field) or value is None:
        return None
    if field.kind == "bytes":
        program.report(faults_files.unsupported(name.span, "writing a run of octets"))
        return None
    if not fits(value, field.width, field.kind, f"`{field.name}`", field.span, program.found):
        return None
    low, high = narrowed(scope.tested, value.expr, value.low, value.high)
    if node.header.protocol in FRAGMENTED and field.name in _OF_FRAGMENTS and low > 0:
        program.report(part_of_a_packet(name.span, node.name, field.name))
    return field.name, replace(value, low=low, high=high)


def _kept_right(program: Program, name: tree.Name, node: model.Node, field: model.Field) -> bool:
    header = node.header
    parts = [part for part in header.fields if part.part_of == field.name]
    if flags := [part.name for part in parts if part.name in header.flags]:
        sayable = [part.name for part in parts if _is_sayable(header, part)]
        program.report(faults.by_its_parts(name, node.name, flags, sayable, field.span))
        return True
    if isinstance(field.default, model.Derived):
        why = f"derived: `{field.default.what}(…)`"
    elif header.group_of_flag(field.name):
        why = "set when a field of its group is given"
    elif header.size is not None and field.name in own_fields(header.size):
        why = "follows from the size of the header"
    elif any(g.count and field.name in own_fields(g.count) for g in header.groups):
        why = "follows from how many elements an array has"
    else:
        return False
    mend = "leave it out"
    if is_checksum(field) and (field.group or header.protocol == "udp"):
        mend += f", or write `{field.name} = computed` where it would be 0 or absent"
    program.report(faults.kept_right(name, node.name, why, field.span, mend))
    return True


def _is_sayable(header: model.Header, part: model.Field) -> bool:
    """Whether a push may give this part of a divided field."""
    return part.name[0] != "_" and header.group_of_flag(part.name) is None


def own_fields(part: object) -> set[str]:
    """The header's fields that one of its clauses reads."""
    return {p.field for p in walk(part) if isinstance(p, model.Own)}


def _groups_written(
    header: model.Header, values: dict[str, model.Expr], given: set[str], writes: dict[str, int]
) -> set[str]:
    """Groups that the pushed header may have: those of flags that may be set."""
    told = {f.group for f in header.fields if f.name in given}

    def is_set(flag: str) -> bool:
        if flag in given and header.group_of_flag(flag) is None:
            return values.get(flag) != model.Const(0, 1)
        by_default = writes.get(flag, header.field(flag).default)
        return header.group_of_flag(flag) in told - {None} or bool(by_default)

    return {g.name for g in header.groups if not g.flags or any(map(is_set, g.flags))}


def _check_complete(
    program: Program,
    element: tree.PushElement,
    node: model.Node,
    given: set[str],
    groups: set[str],
) -> None:
    """Every field that is written (groups: those of `groups`) has a value: given, written by the
    edge, derived, or by default; and no value is given in vain."""
    fields = node.header.fields
    for assign in element.fields:
        field = next((f for f in fields if f.name == assign.target.text), None)
        if field is not None and field.group and field.group not in groups:
            needed = node.header.group(field.group).flags
            program.report(
                faults_headers.not_there(assign.target.span, node.name, field.name, needed)
            )
    flags = node.header.flags
    parts: dict[str, list[str]] = {}
    for field in fields:
        if field.part_of:
            parts.setdefault(field.part_of, []).append(field.name)
    valued = given | flags | {f.name for f in fields if f.default is not None or f.name[0] == "_"}
    valued |= worked_out(node.header)
    missing = [
        f
        for f in fields
        if f.name not in valued
        and not f.part_of
        and f.width
        and (f.group is None or f.group in groups)
        and not (f.name in parts and all(p in valued for p in parts[f.name]))
    ]
    for whole, pieces in parts.items():
        both = [p for p in pieces if p in given]
        if whole in given and both:
            name = next(a.target.parts[0] for a in element.fields if a.target.text == both[0])
            other = next(a.target.span for a in element.fields if a.target.text == whole)
            program.report(
                faults_files.declared_twice(
                    "the value of",
                    name,
                    other,
                    f"`{both[0]}` is a part of `{whole}`: give one of them",
                )
            )
    names = [name for f in missing for name in _to_say(f, parts.get(f.name, []), valued, flags)]
    if missing and not program.checked.headers[node.name].broken and not _misspelt(element, fields):
        program.report(
            faults.value_missing(
                element.node.span,
                node.name,
                names,
                missing[0].span,
            )
        )


def _to_say(
    field: model.Field, parts: list[str], valued: set[str] | frozenset[str], flags: frozenset[str]
) -> list[str]:
    """What a push must name for a field without a value: of one that has flags in it, its parts."""
    return [p for p in parts if p not in valued] if flags.intersection(parts) else [field.name]


def _misspelt(element: tree.PushElement, fields: tuple[model.Field, ...]) -> bool:
    """A field was named wrongly: what seems missing is likely it."""
    names = {f.name for f in fields}
    return any(a.target.text not in names for a in element.fields)
