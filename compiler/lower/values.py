"""Model expressions as C."""

from __future__ import annotations

from dataclasses import replace

from ...lang.contract.base.lists import octets_of
from ..model import (
    Arithmetic,
    Arrival,
    Attribute,
    Const,
    Count,
    Expr,
    Field,
    First,
    Hash,
    Header,
    Item,
    Layer4,
    Listed,
    Own,
    Packet,
    Recalled,
)
from .fields import Value, constant, field_value
from .layout import member_name
from .site import Site


def value(site: Site, expr: Expr, own: tuple[str, Header] | None = None) -> Value:
    """`own` is (pointer, header) where the expression stands in a header's clause."""
    match expr:
        case Const(number, width):
            return constant(number, max(width, 1))
        case Own(name):
            assert own is not None
            return field_value(own[0], own[1].field(name))
        case Packet(node, name, maybe_absent=True):
            return _or_zero(site, node, site.header(node).field(name))
        case Packet(node, name):
            return _packet_field(site, node, site.header(node).field(name))
        case Item(node, name, index):
            return _item(site, node, site.header(node).field(name), value(site, index))
        case Layer4(which):
            shift = 0 if which == "src" else 16
            return Value(f"(u16)({site.state('l4')} >> {shift})", 16, raw=True)
        case Arrival():
            return Value("arrival_port(ctx)", 32)
        case Recalled():
            octets = next(n for n in (1, 2, 4, 8, 16) if n * 8 >= expr.width)
            text = f"st->scratch->{site.states[expr.state].prefix}_got.{member_name(expr.slot)}"
            return Value(text, octets * 8, raw=octets > 1 and not expr.port)
        case Attribute():
            return attribute(site, expr)
        case Listed(source, index, most):
            return _listed(site, source, value(site, index), most)
        case Count(source, most):
            octets = octets_of(source.width)
            return Value(f"RAW8({attribute(site, source).text}, {octets * most})", 8)
        case Arithmetic(operator, left, right):
            a, b = value(site, left, own), value(site, right, own)
            shifts = any(isinstance(e, Const) and e.value.bit_count() < 2 for e in (left, right))
            if site.card and operator == "*" and not shifts and max(a.width, b.width) <= 32:
                return Value(f"times({a.host()}, {b.host()})", 64)
            return Value(f"((u64){a.host()} {operator} {b.host()})", 64)
        case First():
            return _first(site, expr)
        case Hash(arguments):
            return _hash(site, arguments)


def _packet_field(site: Site, node: str, f: Field, sure: bool = True) -> Value:
    from .groups import group_pointer  # which reads values itself: counts, sizes

    pointer = site.node(node) if sure else site.pointer(node)
    if f.group is None:
        return field_value(pointer, f)
    group = group_pointer(site, site.header(node), f.group, pointer, sure=node in site.known)
    there = field_value(group, f)
    return replace(there, text=f"({group} ? {there.text} : 0)")


def _where_there(site: Site, pointer: str, read: Value) -> Value:
    """What is read by a pointer, 0 where that is null; in a local variable: of a test that is
    written more than once clang keeps the result, of which the verifier knows nothing."""
    if site.card:  # whose pointers are registers, which a branch of its own would move to its stack
        return replace(read, text=f"({pointer} ? {read.text} : 0)")
    w, name = site.writer, site.writer.fresh("read")
    w.put(f"u{read.octets * 8} {name} = 0;", f"if (there({pointer}))", f"\t{name} = {read.text};")
    return replace(read, text=name)


def _item(site: Site, node: str, f: Field, index: Value) -> Value:
    """An element of an array, 0 beyond its end, in a local variable."""
    from .groups import group_pointer

    w, header, pointer = site.writer, site.header(node), site.node(node)
    array = header.array(f)
    assert array is not None and array.count is not None
    octets, name, at = f.width // 8, w.fresh("element"), w.fresh("index")
    first = group_pointer(site, header, array.name, pointer)
    count = value(site, array.count, (pointer, header)).host()
    read = field_value(first, f)
    w.put(f"u64 {at} = {index.host()};", f"u{read.octets * 8} {name} = 0;")
    with w.nest(f"if ({first} && {at} < {count}) {{"):
        w.put(f"{first} += ({at} & {(1 << array.most.bit_length()) - 1}) * {octets};")
        w.put(f"if ({first} + {octets} <= limit_of(ctx))", f"\t{name} = {read.text};")
    return replace(read, text=name)


def _or_zero(site: Site, node: str, field: Field) -> Value:
    """A field of a header, 0 where the packet lacks that."""
    gone = site.shape.gone(site.pipeline.graph, site.role)
    if node not in site.reachable or node in gone:
        return constant(0, field.width)
    if node in site.known or field.group is not None:
        return _packet_field(site, node, field, sure=False)
    pointer = site.pointer(node)
    return _where_there(site, pointer, field_value(pointer, field))


def _first(site: Site, expr: First) -> Value:
    """The first option that is there, in host order."""
    w, found = site.writer, list[tuple[str, str]]()  # test ("": it surely is there), value
    for option in expr.options:
        if found and not found[-1][0]:
            break
        if isinstance(option, Attribute):
            read = attribute(site, option)
            found.append((read.given, read.host()))
        elif site.may_have(option.node):
            found.append(_option(site, option))
    if site.card:
        text = "0"
        for test, there in reversed(found):
            text = f"({test} ? (u64){there} : {text})" if test else f"(u64){there}"
        return Value(f"({text})", expr.width)
    name = w.fresh("first")
    w.put(f"u64 {name} = 0;")
    for i, (test, there) in enumerate(found):
        tests = ["else"] * bool(i) + [f"if ({test})"] * bool(test)
        w.put(*([" ".join(tests)] if tests else []), f"\t{name} = {there};")
    return Value(name, expr.width)


def _option(site: Site, option: Packet) -> tuple[str, str]:
    """What tests whether a field of the packet is there ("": it surely is), and its value."""
    from .groups import group_pointer

    header, pointer = site.header(option.node), site.pointer(option.node)
    field = header.field(option.field)
    known = option.node in site.known
    if field.group is not None:
        pointer = group_pointer(site, header, field.group, pointer, sure=known)
    sure = known and field.group is None
    test = pointer if site.card else f"there({pointer})"
    return "" if sure else test, field_value(pointer, field).host()


def attribute(site: Site, expr: Attribute) -> Value:
    record = site.record(expr.binding)
    given = f"{record}->has_{expr.element}" if expr.optional else ""
    octets = octets_of(expr.width)
    return Value(f"{record}->{member_name(expr.element)}", octets * 8, raw=octets > 1, given=given)


def _listed(site: Site, source: Attribute, index: Value, most: int) -> Value:
    """One of the values in a record; those behind the last are 0."""
    octets, record = octets_of(source.width), attribute(site, source).text
    width = octets * 8
    if index.text.isdigit():
        return Value(f"RAW{width}({record}, {int(index.text) * octets})", width, raw=octets > 1)
    w, at, name = site.writer, site.writer.fresh("index"), site.writer.fresh("listed")
    w.put(
        f"u64 {at} = {index.host()};",
        f"u{width} {name} = 0;",
        f"OPAQUE({at}); /* tested as it is, and not by what it was made of */",
    )
    with w.nest(f"if ({at} < {most}) {{"):
        w.put(f"OPAQUE({at}); /* reckoned with only here, where it is bounded */")
        w.put(f"{name} = RAW{width}({record}, {at} * {octets});")
    return Value(name, width, raw=octets > 1)


def _hash(site: Site, arguments: tuple[Expr, ...]) -> Value:
    """The arguments' octets packed into words of a local array, then jhash."""
    w = site.writer
    name = w.fresh("word")
    octets: list[tuple[int, Value]] = []
    at = 0
    for argument in arguments:
        v, width = value(site, argument), getattr(argument, "width", 64)
        if width < v.width:  # what a record or an entry holds in more octets than the type has
            v = Value(v.host(), width)
        octets.append((at, v))
        at += (v.width + 7) // 8
    count = (at + 3) // 4
    words: list[list[str]] = [[] for _ in range(count)]
    for start, v in octets:
        _pack(words, start, v)
    texts = [" | ".join(parts) for parts in words]
    hashed = f"jhash_words({name}, {count})"
    if not site.frugal:
        w.put(f"u32 {name}[{count}] = {{ {', '.join(texts)} }};")
        return Value(hashed, 32)
    site.zeros("u32", name, count * 4)
    w.put(*(f"{name}[{i}] = {text};" for i, text in enumerate(texts)), "REMEMBERED;")
    return Value(w.local("u32", "hash", hashed), 32)


def _pack(words: list[list[str]], start: int, v: Value) -> None:
    """Put a value's network-order octets at octet `start` of an array of 32-bit words."""
    size = (v.width + 7) // 8
    if size != v.octets:  # 3, 5 … octets: from the number's most significant one on
        text = f"bpf_cpu_to_be64((u64){v.host()} << {64 - size * 8})"
    else:
        text = v.network()
    if start % 4 + size <= 4 and size == v.octets:
        shift = start % 4 * 8
        words[start // 4].append(f"(u32){text} << {shift}" if shift else f"(u32){text}")
        return
    for i in range(size):  # straddles words: octet by octet
        octet = f"(u32)(u8)({text} >> {i * 8})" if i else f"(u32)(u8)({text})"
        at = start + i
        words[at // 4].append(f"{octet} << {at % 4 * 8}" if at % 4 else octet)
