"""What the headers of a push hold, as far as `check` can tell, and which edges read them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from ...lang.text.source import Span
from .. import model
from ..model.arithmetic import Interval
from ..model.checksums import NETWORK
from ..model.header_sizes import first_field, solved, worked_out
from ..model.parse_graph import writable
from .contents import (
    Contents,
    number,
    reckoned,
    unknown,
)
from .flow import Scope
from .ranges import Facts, excluded, narrowed
from .stage_program import Program
from .values import Value

#: Fields that say what ECN is: where a push gives none, it comes from the packet (RFC 6040).
_ECN = {"tos", "traffic_class", "dscp", "ecn"}
Counts = dict[model.Expr, int]  # how many values elements hold, by `count(…)`


class Written(NamedTuple):
    """A header that a push writes: `values` are what the push gives, `spans` where it says so,
    `writes` what the edge to the next header does, `asked` what one in front looks ahead at."""

    element: model.PushElement
    header: model.Header
    span: Span
    values: dict[str, Value]
    spans: dict[str, Span]
    writes: dict[str, int]
    asked: dict[str, int]

    def unsaid(self, field: str) -> int | None:
        """What the push writes into a field if it says nothing of it."""
        default = self.header.field(field).default
        default = default if isinstance(default, int) else None
        return self.writes.get(field, self.asked.get(field, default))


# ---- edges ------------------------------------------------------------------------------------


def read_edges(graph: model.Graph, source: str, target: str) -> list[model.Edge]:
    """The edges that may lead the parser from one to the other where a push wrote both; empty where
    they are written only."""
    chosen = writable(graph, source, target)[:1]
    return [
        e
        for e in graph.leaving(source)
        if chosen and e.roles and e.target == chosen[0].target and e.writes == chosen[0].writes
    ]


def asked_for(graph: model.Graph, sources: Sequence[str], node: model.Node) -> dict[str, int]:
    """Fields of a header that edges which look ahead at it determine."""
    found: dict[str, int] | None = None
    for edge in (e for source in sources for e in read_edges(graph, source, node.name)):
        asked = {n: v for t in edge.tests if t.ahead for n, v in _asked(t, node.header)}
        found = asked if found is None else dict(found.items() & asked.items())
    return found or {}


def _asked(test: model.Test, header: model.Header) -> Iterator[tuple[str, int]]:
    if len(test.ranges) != 1 or test.ranges[0][0] != test.ranges[0][1]:
        return
    known = (1 << test.ahead) - 1 if test.mask is None else test.mask
    bits = unknown(test.ahead)._replace(known=known, value=test.ranges[0][0])
    wholes = {f.part_of for f in header.fields}
    for field in header.fields:
        end = field.offset + field.width
        if field.group is not None or field.name in wholes or not 0 < end <= test.ahead:
            continue
        part = bits.part(field.offset, field.width)
        if part.known == (1 << field.width) - 1 and _is_free(header, field):
            yield field.name, part.value


def _is_free(header: model.Header, field: model.Field) -> bool:
    """Whether a push may say what the field is."""
    kept = header.flags | worked_out(header)
    return field.name[0] != "_" and field.name not in kept and not is_derived(field)


def is_derived(field: model.Field) -> bool:
    return isinstance(field.default, model.Derived)


# ---- what the headers hold --------------------------------------------------------------------


def contents_of(written: Written, counts: Counts, tested: Facts) -> Contents:
    header, said = written.header, dict[str, Interval]()
    for name, value in written.writes.items():
        if not is_derived(header.field(name)):
            said[name] = (value, value)
    for name, given in written.values.items():
        said[name] = _said(given, counts)
    for group in header.groups:
        named = [n for n in written.values if header.field(n).group == group.name]
        computed = any(header.field(n).group == group.name for n in written.element.computed)
        if len(group.flags) == 1 and (named or computed):
            (flag,) = group.flags
            otherwise = Contents(header, said).of(flag)[0]
            said[flag] = (1 if computed or not _perhaps(written, named) else otherwise, 1)
    if header.protocol in NETWORK and not _ECN & written.values.keys():
        said["ecn"] = (0, 3)
    said |= _counted(written, Contents(header, said), counts)
    never = {name: excluded(tested, value.expr) for name, value in written.values.items()}
    return Contents(header, said, never=never)


def _perhaps(written: Written, given: list[str]) -> bool:
    """Whether a rule may leave out all these fields, and with them their group."""
    exprs = [written.values[name].expr for name in given]
    return all(isinstance(e, model.Attribute) and e.optional for e in exprs)


def _said(value: Value, counts: Counts) -> Interval:
    if isinstance(value.expr, model.Attribute) and value.expr.optional:
        return 0, (1 << value.width) - 1
    low, high = _within(value.expr, counts) or (value.low, value.high)
    return max(low, value.low), min(high, value.high)


def _within(expr: model.Expr, counts: Counts) -> Interval | None:
    """What an expression is where elements hold so many values; None if it is about more."""
    if expr in counts:
        return counts[expr], counts[expr]
    match expr:
        case model.Const(number):
            return number, number
        case model.Arithmetic(width=width) if width > 64:
            return 0, (1 << width) - 1
        case model.Arithmetic(operator, left, right):
            a, b = _within(left, counts), _within(right, counts)
            return reckoned(operator, a, b) if a and b else None
    return None


def _counted(written: Written, so_far: Contents, counts: Counts) -> dict[str, Interval]:
    """The fields that the header's size, or the number of an array's elements, follows from."""
    header = written.header
    found = {name: (0, (1 << header.field(name).width) - 1) for name in worked_out(header)}
    for group in header.groups:
        there = None if group.count is None else number_of_elements(written, group, counts)
        if group.count is not None and there is not None:
            found |= _solved(header, group.count, there, there)
    size = _parts(written, so_far, counts)
    if header.size is not None and size is not None:
        found |= _solved(header, header.size, size, 1 << 17)
    return found


def _parts(written: Written, contents: Contents, counts: Counts) -> int | None:
    """How many bytes the fields of a header have; None if that is not sure."""
    size = written.header.fixed // 8
    for group in written.header.groups:
        if group.count is not None:
            there = number_of_elements(written, group, counts)
        else:
            there = _sure(contents, group)
        if there is None:
            return None
        size += group.width // 8 * there
    return size


def bytes_of(written: Written, contents: Contents, counts: Counts) -> int | None:
    """How many bytes a header has; None if that is not sure."""
    if written.header.size is None:
        return _parts(written, contents, counts)
    low, high = number(written.header.size, contents)
    return low if low == high else None


def _solved(header: model.Header, expr: model.Expr, low: int, high: int) -> dict[str, Interval]:
    """The field for which the expression is one of these numbers; 0 where it cannot be."""
    name, least, _ = solved(header, expr, lambda number: low <= number <= high)
    name = name or first_field(expr)
    return {name: (least, least)} if name else {}


def number_of_elements(written: Written, group: model.Group, counts: Counts) -> int | None:
    """How many the push gives an array."""
    for name, items in written.element.lists:
        if written.header.field(name).group == group.name:
            count = counts.get(model.Count(items.source, items.most))
            return None if count is None else max(0, count - items.skip)
    return None


def _sure(contents: Contents, group: model.Group) -> int | None:
    """1 if the group is surely there, 0 if it surely is not."""
    if not group.flags:
        return 1
    flags = [contents.of(flag) for flag in group.flags]
    if (1, 1) in flags:
        return 1
    return 0 if all(flag == (0, 0) for flag in flags) else None


def came(program: Program, node: model.Node, scope: Scope) -> Contents:
    """What is known of a header that came: what it was accepted for, and what was tested here."""
    said: dict[str, Interval] = {}
    for clause in (*node.header.accept, *node.header.require):
        for part in clause.operands if isinstance(clause, model.And) else (clause,):
            match part:
                case model.Compare("=", model.Own(name), model.Const(number)):
                    said[name] = (number, number)
    for field in node.header.fields:
        expr = model.Packet(node.name, field.name, field.width, field.kind)
        if field.width and field.name not in said:
            low, high = narrowed(scope.tested, expr, 0, (1 << field.width) - 1)
            if (low, high) != (0, (1 << field.width) - 1):
                said[field.name] = (low, high)
    return Contents(node.header, said, written=False)
