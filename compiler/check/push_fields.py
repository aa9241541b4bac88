"""What a push writes of a header: which fields it gives."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from ...lang import tree
from ...lang.contract.base.lists import bytes_of
from ...lang.text.diagnostics import Diagnostic, error, listed
from ...lang.text.source import Span
from .. import model
from ..model.checksums import FRAGMENTED, is_checksum, zero_checksum
from ..model.parse_graph import writable
from ..model.walk import walk
from . import errors
from .flow import Scope, State
from .packets import PacketNames
from .push_complete import check_complete, groups_written
from .ranges import narrowed
from .stage_lists import SaidItems
from .stage_names import StageNames
from .stage_program import Program
from .values import KINDS, Value, fits, of_width
from .written import Written, asked_for


def element_of(
    program: Program,
    element: tree.PushElement,
    node: model.Node,
    target: model.Node | None,
    outer: list[model.Node],
    state: State,
    scope: Scope,
    sources: Sequence[str],
    next_fields: Mapping[str, model.Expr] | None = None,
) -> Written:
    """What is written of one header, in front of `target` (None: of nothing) and behind `outer`;
    by one of `sources` the parser comes to it. `next_fields`: values of fields of which the push
    says nothing."""
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
    unsaid: dict[str, model.Expr] = dict(next_fields or {})
    unsaid |= {n: model.Const(v, node.header.field(n).width) for n, v in asked.items()}
    for name, expr in unsaid.items():
        field = node.header.field(name)
        same = isinstance(expr, model.Const) and expr.value == field.default
        if name not in given and name not in writes and field.part_of not in given and not same:
            span = element.node.span
            values[name] = of_width(expr, field.width, field.kind, span, f"`{name}`", None)
            given[name] = span
    exprs = {name: value.expr for name, value in values.items()}
    if _arrays_known(program, element, node) and (edges or target is None):
        there = groups_written(node.header, exprs, set(given), writes)
        check_complete(program, element, node, set(given) | writes.keys(), there)
    if not computed and zero_checksum(node.header, [n.header for n in outer]):
        exprs["checksum"] = model.Const(0, 16)
    made_of = model.PushElement(node.name, tuple(exprs.items()), tuple(computed), tuple(lists))
    return Written(made_of, node.header, element.node.span, values, spans, writes, asked)


_READ_ONLY = "push a header without one: names are what packets come with, for rules to match"


def _arrays_known(program: Program, element: tree.PushElement, node: model.Node) -> bool:
    """Whether of a header with an array all values are known, by the one that it has; not of a
    domain name."""
    arrays = [field for field in node.header.fields if node.header.array(field)]
    if any(field.kind in model.NAME_KINDS for field in arrays):
        span = element.node.span
        program.report(errors.unsupported(span, "writing a header with a domain name", _READ_ONLY))
        return False
    if len(arrays) > 1:
        second = arrays[1].span, "a second one"
        program.report(_unwritten_array(element.node.span, node.name, "it has two arrays", second))
    elif arrays and arrays[0].name.startswith("_"):
        where = arrays[0].span, "nothing can be said of it"
        program.report(
            _unwritten_array(element.node.span, node.name, "its array has no name", where)
        )
    return True


def _note(program: Program, name: tree.Name, given: dict[str, Span]) -> None:
    """A field is given: each at most once."""
    first = given.setdefault(name.text, name.span)
    if first is not name.span:
        program.report(errors.declared_twice("the value of", name, first))


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
        expected = f"{KINDS[field.kind]} of {field.width} bits"
        program.report(errors.wrong_kind(said.span, each, expected, field.span))
        return False
    if bytes_of(field.width) * 8 != field.width:
        what = f"pushing an array of {field.width} bits an element"
        program.report(errors.unsupported(said.span, what))
        return False
    most = said.items.most - said.items.skip
    if most > array.most:
        program.report(_too_many(said.span, most, field.name, array.most, field.span))
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
    option = node.header.option(assign.target.parts[0].text)
    if option is not None:
        program.report(_no_options_pushed(assign.target.span, node, option.name))
        return None
    if len(assign.target.parts) != 1:
        program.report(
            errors.wrong_kind(
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
        help = "declare what is pushed as numbers: `u64` is eight bytes"
        program.report(errors.unsupported(name.span, "writing a run of bytes", help))
        return None
    if not fits(value, field.width, field.kind, f"`{field.name}`", field.span, program.found):
        return None
    low, high = narrowed(scope.tested, value.expr, value.low, value.high)
    if node.header.protocol in FRAGMENTED and field.name in _OF_FRAGMENTS and low > 0:
        program.report(_part_of_a_packet(name.span, node.name, field.name))
    return field.name, replace(value, low=low, high=high)


def _kept_right(program: Program, name: tree.Name, node: model.Node, field: model.Field) -> bool:
    header = node.header
    parts = [part for part in header.fields if part.part_of == field.name]
    if flags := [part.name for part in parts if part.name in header.flags]:
        sayable = [part.name for part in parts if _is_sayable(header, part)]
        program.report(_by_its_parts(name, node.name, flags, sayable, field.span))
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
    fix = "leave it out"
    if is_checksum(field) and (field.group or header.protocol == "udp"):
        fix += f", or write `{field.name} = computed` where it would be 0 or absent"
    program.report(_follows_by_itself(name, node.name, why, field.span, fix))
    return True


def _is_sayable(header: model.Header, part: model.Field) -> bool:
    """Whether a push may give this part of a divided field."""
    return part.name[0] != "_" and header.group_of_flag(part.name) is None


def own_fields(part: object) -> set[str]:
    """The header's fields that one of its clauses reads."""
    return {p.field for p in walk(part) if isinstance(p, model.Own)}


# ---- errors ---------------------------------------------------------------------------------


def _no_options_pushed(span: Span, node: model.Node, option: str) -> Diagnostic:
    return error(
        "H0399",
        f"a push writes no options: `{node.name}.{option}` cannot be given",
        (span, "an option"),
        help="leave it out; an option that a packet came with is changed in place, as in "
        f"`if {node.name}.{option} {{ {node.name}.{option}.FIELD = 5 }}`",
    )


def _part_of_a_packet(span: Span, node: str, field: str) -> Diagnostic:
    return error(
        "H0333",
        f"`{node}` is pushed as a fragment, and nobody sends the rest",
        (span, f"of a whole packet `{field}` is 0"),
        help=f"leave `{field}` out: what is pushed carries all that stands behind it",
        severity="warning",
    )


def _too_many(span: Span, most: int, array: str, bound: int, where: Span) -> Diagnostic:
    return error(
        "H0249",
        f"there may be more values than `{array}` takes",
        (span, f"up to {most}"),
        (where, f"`{array}` has at most {bound} elements"),
        help="declare the element with fewer: `ip6[4]`",
    )


def _unwritten_array(span: Span, node: str, why: str, where: tuple[Span, str]) -> Diagnostic:
    return error(
        "H0317",
        f"`{node}` cannot be pushed: {why}",
        (span, "what the array holds is not known"),
        where,
        help="declare a header of one array, with a name, for what is pushed",
    )


def _follows_by_itself(
    name: tree.Name, node: str, why: str, where: Span, fix: str = "leave it out"
) -> Diagnostic:
    return error(
        "H0291",
        f"`{node}.{name.text}` is kept right by the compiler",
        (name.span, "cannot be given"),
        (where, why),
        help=fix,
    )


def _by_its_parts(
    name: tree.Name, node: str, flags: Sequence[str], parts: Sequence[str], where: Span
) -> Diagnostic:
    """A push gives a divided field as a whole that holds flags of optional groups."""
    say = ", ".join(f"{part} = …" for part in parts)
    return error(
        "H0291",
        f"`{node}.{name.text}` is given by its parts",
        (name.span, "not as a whole"),
        (where, f"{listed(flags, 'and')} in it: which optional fields are there"),
        help=f"write `{node} {{ {say} }}`" if parts else "leave it out",
    )
