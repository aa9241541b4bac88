"""Values for the fields of a drawn header: those that its clauses and the next edge ask for."""

from __future__ import annotations

from collections.abc import Mapping

from hypothesis import strategies as st

from ...lang.contract.base import domain_names
from ...lang.text.frozen import kept
from ..interpret.evaluate import evaluate, holds
from ..interpret.header_view import Value, put
from ..model import (
    Among,
    Condition,
    Const,
    Derived,
    Edge,
    Expr,
    Field,
    Group,
    Header,
    Options,
    Own,
    Test,
)
from ..model.walk import walk
from .options import filled, kinds, least, option, says_size
from .world import NAMES, World

#: Of which a walk finds the last one, and more than it needs.
_OPTIONS = {"ipv4": (b"\x01" * 40,), "tcp": (b"\x01" * 36 + b"\x02\x04\x05\xb4",)}

#: Bytes of an option beyond those of its fields, if a size is wanted.
_MORE = 30


@st.composite
def header_values(
    draw: st.DrawFn, header: Header, edge: Edge | None, world: World
) -> dict[str, Value]:
    """Values by field: what has no default always, of the rest a few; then what the edge and the
    header's clauses ask for."""
    tests = [test for test in edge.tests if not test.ahead] if edge else []
    tested = {test.field for test in tests}
    kept = _read_by_clauses(header) if draw(st.integers(0, 11)) else frozenset[str]()
    derived = _derived(header)
    flags = draw(_flags(header, tested))
    there = {g.name for g in header.groups if not g.flags or flags & set(g.flags)}
    free = [
        f for f in header.fields
        if not f.name.startswith("_") and f.name not in kept | tested | derived | _all_flags(header)
        and not isinstance(f.default, Derived) and (f.group is None or f.group in there)
    ]  # fmt: skip
    plain = [f.name for f in free if f.default is not None or f.part_of or not f.width]
    chosen = set(draw(st.lists(st.sampled_from(plain), max_size=3))) if plain else set()
    values: dict[str, Value] = {
        f.name: draw(field_value(header, f, world))
        for f in free
        if f.name in chosen or f.name not in plain
    }
    values |= dict.fromkeys(sorted(flags), 1)
    for test in tests:
        values = _without_parts(header, test.field, values)
        values[test.field] = draw(_passing(test, header.field(test.field)))
    _mend(header, values, bool(edge), kept | tested)
    return values


@st.composite
def _flags(draw: st.DrawFn, header: Header, tested: set[str]) -> frozenset[str]:
    """Flags that are set: of half of the groups, and of those whose fields the edge asks for."""
    asked = {header.field(name).group for name in tested}
    found: set[str] = set()
    for group in header.groups:
        free = [flag for flag in group.flags if flag not in tested]
        if free and (group.name in asked or draw(st.booleans())):
            found |= set(draw(st.lists(st.sampled_from(free), min_size=1, unique=True)))
    return frozenset(found)


def _all_flags(header: Header) -> set[str]:
    return {flag for group in header.groups for flag in group.flags}


@kept
def _derived(header: Header) -> frozenset[str]:
    sizes = header.size, header.extent, header.reach, *(g.count for g in header.groups)
    return frozenset(part.field for part in walk(sizes) if isinstance(part, Own))


@kept
def _read_by_clauses(header: Header) -> frozenset[str]:
    clauses = (header.accept, header.require, header.payload)
    return frozenset(part.field for part in walk(clauses) if isinstance(part, Own))


def _without_parts(header: Header, name: str, values: dict[str, Value]) -> dict[str, Value]:
    """A part is written over the whole that it belongs to: the tested one must have the word."""
    parts = {f.name for f in header.fields if f.part_of == name}
    return {field: value for field, value in values.items() if field not in parts}


def field_value(header: Header, field: Field, world: World) -> st.SearchStrategy[Value]:
    key = header.name, field.name
    if key not in world.strategies:
        world.strategies[key] = _field_value(header, field, world)
    found: st.SearchStrategy[Value] = world.strategies[key]
    return found


def _field_value(header: Header, field: Field, world: World) -> st.SearchStrategy[Value]:
    if field.kind == "name":
        return _names()
    if field.kind == "text":
        return _texts().map(tuple)
    array = header.array(field)
    if array is not None:
        one = st.sampled_from(world.values(field.kind, field.width))
        return st.lists(one, min_size=1, max_size=array.most).map(tuple)
    if not field.width:
        samples = st.sampled_from((b"", *_OPTIONS.get(header.protocol, ())))
        if (options := header.options) is not None:
            several = st.lists(_option(options, world), min_size=1, max_size=5)
            some = several.map(lambda each: filled(options, b"".join(each)))
            return st.one_of(some, some, samples, st.binary(max_size=12))
        return samples | st.binary(max_size=12)
    anything = st.integers(0, (1 << field.width) - 1)
    if field.kind == "bytes":
        return anything
    known, near = world.values(field.kind, field.width), world.of(header.name, field)
    if field.kind != "uint":  # few addresses near a bound: most packets are to get past its check
        return st.one_of(st.sampled_from((*known * 4, *near)), st.sampled_from(known), anything)
    choices = [st.sampled_from(known), st.sampled_from(known), anything]
    return st.one_of(*([st.sampled_from(near)] if near else []), *choices)


@st.composite
def _option(draw: st.DrawFn, options: Options, world: World) -> bytes:
    """Most of them as they should be; the length of some is another one."""
    most = (1 << options.heading.field("kind").width) - 1
    kind = draw(st.sampled_from((*kinds(options), *kinds(options), min(most, 77))))
    more = draw(st.sampled_from((0, 0, 0, 1, 2, 4, -1)))
    return draw(_of_kind(options, world, kind, more))


@st.composite
def option_with(
    draw: st.DrawFn,
    options: Options,
    world: World,
    group: Group,
    said: tuple[str, int] | None = None,
) -> bytes:
    """An option of the group as it should be; `said`: a field of it, and its value."""
    kind = draw(st.sampled_from([end for pair in group.kinds for end in pair]))
    more = 0
    if said is not None and says_size(options, said[0]):
        more = min(max(evaluate(options.size, lambda _: said[1]) - least(options, kind), 0), _MORE)
    return draw(_of_kind(options, world, kind, more, said))


@st.composite
def _of_kind(
    draw: st.DrawFn,
    options: Options,
    world: World,
    kind: int,
    more: int,
    said: tuple[str, int] | None = None,
) -> bytes:
    """`more`: bytes than it has with all its fields."""
    group = options.named(kind)
    text = draw(_texts()) if group and group.text else b""
    size = max(least(options, kind) + len(text) + more, 0)
    content = draw(st.binary(min_size=32, max_size=32))
    for field in options.fields if group else ():
        if group and field.group == group.name and field.offset >= options.heading.fixed:
            if field.kind == "text":
                continue
            value = draw(field_value_of(field, world))
            if field.name == group.text and draw(st.integers(0, 7)):
                value = len(text) & (1 << field.width) - 1
            if said is not None and field.name == said[0]:
                value = said[1]
            content = put(content, field.offset - options.heading.fixed, field.width, value)
    if group and text:
        content = content[: (group.width - options.heading.fixed) // 8] + text + content
    exact = said is not None or draw(st.integers(0, 15))
    says = size if exact else draw(st.sampled_from((0, 1, size + 4, 255)))
    return option(options, kind, says, content[: max(size - options.heading.minimum, 0)])


def field_value_of(field: Field, world: World) -> st.SearchStrategy[int]:
    """A value of a field of an option: one that rules or stages name, or any."""
    anything = st.integers(0, (1 << field.width) - 1)
    if field.kind == "bytes":
        return anything
    return st.sampled_from(world.values(field.kind, field.width)) | anything


def _texts() -> st.SearchStrategy[bytes]:
    """Texts of names: known ones, in any case, with a last dot, longer ones, and what is none."""
    known = st.sampled_from(NAMES)
    text = st.one_of(known, known, known.map(str.upper)).map(str.encode)
    front = st.sampled_from((b"", b"", b"a.", b"x", b"\0.", b"q" * 60 + b"."))
    end = st.sampled_from((b"", b"", b".", b"..", b"\0"))
    return st.tuples(front, text, end).map(b"".join)


def _names() -> st.SearchStrategy[Value]:
    """Names as packets have them: known ones, in any case, longer ones, and what is none."""
    known = st.sampled_from(NAMES)
    label = st.sampled_from((b"a", b"ADS", b"x.y", b"\0", b"-" * 45 + b".", b"q" * 63))
    more = st.lists(label, max_size=4).map(lambda each: b"".join(map(_label, each)))
    text = st.one_of(known, known.map(str.upper)).map(lambda name: domain_names.wire(name) or b"")
    ends = st.sampled_from((b"", b"", b"", b"\x40", b"\xc0\x0c", b"\x3fa"))
    made = st.tuples(more, ends, text).map(b"".join)
    return made.map(tuple)


def _label(content: bytes) -> bytes:
    return bytes([len(content)]) + content


def _passing(test: Test, field: Field) -> st.SearchStrategy[int]:
    """Values that the test lets through, at the ends of its ranges or within; the bits that it
    ignores as they come."""
    ranges = st.sampled_from(test.ranges)
    inside = ranges.flatmap(lambda r: st.sampled_from(r) | st.integers(*r))
    if test.mask is None:
        return inside
    others = (1 << field.width) - 1 & ~test.mask
    return st.tuples(inside, st.integers(0, (1 << field.width) - 1)).map(
        lambda pair: pair[0] | pair[1] & others
    )


# ---- what clauses ask for -------------------------------------------------------------------


def _mend(header: Header, values: dict[str, Value], goes_on: bool, fields: frozenset[str]) -> None:
    """Give the fields that clauses read, and that were not drawn, values for which they hold."""
    tests = (*header.accept, *header.require, *(header.payload if goes_on else ()))
    for condition in tests:
        if _true(condition, header, values):
            continue
        for name in sorted({p.field for p in walk(condition) if isinstance(p, Own)} & fields):
            tried = _candidates(condition, header.field(name))
            before = values.get(name)
            for value in tried:
                values[name] = value
                if _true(condition, header, values):
                    break
            else:
                values.pop(name)
                if before is not None:
                    values[name] = before
                continue
            break


def _candidates(condition: Condition, field: Field) -> list[int]:
    named = [part.value for part in walk(condition) if isinstance(part, Const)]
    sets = [part.ranges for part in walk(condition) if isinstance(part, Among)]
    named += [end for ranges in sets for ends in ranges for end in ends]
    near = [value + by for value in named for by in (0, 1, -1)]
    most = (1 << field.width) - 1
    return [value for value in (*near, 0, 1, most) if 0 <= value <= most]


def _true(condition: Condition, header: Header, values: Mapping[str, Value]) -> bool:
    def read(expr: Expr) -> int:
        name = getattr(expr, "field", "")
        value = values.get(name)
        if isinstance(value, int):
            return value
        default = next((f.default for f in header.fields if f.name == name), None)
        return default if isinstance(default, int) else 0

    return holds(condition, read, lambda _: True)
