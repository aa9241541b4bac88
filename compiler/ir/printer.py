"""The intermediate representation as text, for people and golden tests: one statement a line, with
the line of the `.hp` file that it carries out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ...lang.text.source import Span
from . import edits as ed
from . import expr as e
from . import nodes as n
from .types import Array, Int, Pointer, Struct, Type
from .unit import Unit
from .values import Value

_Lines = Iterator[tuple[int, str, Span | None]]


def print_unit(unit: Unit) -> str:
    out = [f"unit {unit.name} ({unit.join})"]
    out += [f"  node {node.name}" for node in unit.nodes]
    out += [f"  bound {name}" for name in unit.bound]
    for record in unit.records:
        out.append(f"  record {record.table}")
        out += [f"    {member.declaration}" for member in record.members]
    for function in unit.every_function:
        out += print_function(function)
    for p in unit.programs:
        parts = " ".join(f.name for f in p.functions)
        out.append(f"  program {p.name} [slot {p.slot}, next {p.next}]: {parts}")
    out += [f"  counter {c.index}: {c.group}: {c.reason}" for c in unit.counters]
    return "\n".join(out) + "\n"


def print_function(function: n.Function) -> list[str]:
    out = [f"  function {function.name}"]
    if function.takes:
        out.append(f"    takes {', '.join(function.takes)}")
    return out + print_body(function.body)


def print_body(body: n.Body) -> list[str]:
    found = []
    for depth, text, span in _body(body, 0):
        where = f"{span.line:>4} " if span else "     "
        found.append(f"  {where}{'  ' * depth}{text}")
    return found


# ---- statements -----------------------------------------------------------------------------


def _body(body: n.Body, depth: int) -> _Lines:
    for s in body:
        match s:
            case n.If():
                yield from _if(s, depth, "if")
            case ed.Copy(inner, most):
                yield depth, f"copy of {most} bytes" if most else "copy", s.span
                yield from _body(inner, depth + 1)
            case n.Block(inner, name, variables):
                said = f"block {name}({_listed(variables)})" if name else "block"
                yield depth, said, s.span
                yield from _body(inner, depth + 1)
            case n.Repeat(index, most, test, inner):
                yield depth, f"for {index.name} below {most} while {print_expr(test)}", s.span
                yield from _body(inner, depth + 1)
            case n.Blank() | n.StatementStart():
                pass
            case n.Only(memory, inner):
                yield depth, f"only in {'memory' if memory else 'registers'}", s.span
                yield from _body(inner, depth + 1)
            case _:
                yield depth, _simple(s), s.span


def _if(s: n.If, depth: int, word: str) -> _Lines:
    unlikely = " unlikely" if s.unlikely else ""
    yield depth, f"{word}{unlikely} {print_expr(s.test)}", s.span
    yield from _body(s.then, depth + 1)
    match s.otherwise:
        case ():
            return
        case (n.If() as inner,):
            yield from _if(inner, depth, "else if")
        case _:
            yield depth, "else", s.span
            yield from _body(s.otherwise, depth + 1)


def _simple(s: n.Statement) -> str:
    match s:
        case n.Let(name, value) | n.LetStruct(name, value):
            said = "" if value is None else f" = {print_expr(value)}"
            return f"let {name.name}: {print_type(name.type)}{said}"
        case n.LetArray(name, values):
            return f"let {name.name}: {print_type(name.type)} = [{_listed(values)}]"
        case n.Set(place, value, operator):
            return f"{print_expr(place)} {operator}= {print_expr(value)}"
        case n.Store(base, at, bits, value):
            return f"store {_place(base, at, bits)} = {print_expr(value)}"
        case n.Do(call):
            return f"do {print_expr(call)}"
        case n.AssumeNot(test):
            return f"assume not {print_expr(test)}"
        case n.Count(event):
            return f"count {print_expr(event)}"
        case n.CountRule(table, cell, length, sized):
            by = " by size" if sized else ""
            return f"count {table} {print_expr(cell)}, {print_expr(length)} bytes{by}"
        case n.Emit(event, record):
            return f"emit {event} {print_expr(record)}"
        case n.Verdict(_, action):
            return f"verdict {action}"
        case n.Return(value):
            return "continue" if value is None else f"return {print_expr(value)}"
        case n.Internal():
            return "internal error"
        case n.Label(name):
            return f"{name}:"
        case n.Next(label, _, _, size):
            return f"next {label} behind {print_expr(size)} bytes"
        case n.Stop(label, _, event):
            return f"stop {label} {print_expr(event)}"
        case n.Goto(label, _, most):
            return f"goto {label}" + (f", to come there {most} times at most" if most else "")
        case n.MakePointer(pointer):
            return f"make pointer {print_expr(pointer)}"
        case n.KnownNotNull(places):
            return f"not null {_listed(places)}"
        case n.Barrier():
            return "barrier"
        case n.ForgetPlaces(members):
            return f"forget {', '.join(members)}"
        case n.Opaque(name):
            return f"opaque {name.name}"
        case n.Clear(pointer, count):
            return f"clear {print_expr(pointer)}, {count} bytes"
        case n.Trace(point, words, number):
            return f"trace {number} {point.what} {point.name} [{_listed(words)}]"
        case n.TraceRule(table, _, cell):
            return f"trace rule {table} {print_expr(cell)}"
        case n.TraceNode(index, at):
            return f"trace node {index} {print_expr(at)}"
        case n.Moved():
            return "the frame moved"
        case n.TraceParsed():
            return "trace parsed"
        case ed.PacketEdit():
            return _edit(s)
    raise AssertionError(s)


def _edit(s: ed.PacketEdit) -> str:
    match s:
        case ed.Push(headers, before, behind):
            where = f"behind {behind}" if behind else f"before {before}"
            return f"push {_headers(headers)} {where}"
        case ed.Append(headers, behind):
            return f"append {_headers(headers)} behind {behind}"
        case ed.Pop(node):
            return f"pop to {node}"
        case ed.PopLink(node):
            return f"pop {node}"
        case ed.SetField(node, field, value, index):
            at = "" if index is None else f"[{print_expr(index)}]"
            return f"{node}.{field}{at} = {_value(value)}"
        case ed.HoldSums():
            return "checksums wait"
        case ed.FollowSums():
            return "checksums follow"
        case ed.ClampMss():
            return "clamp mss"
        case ed.Forward(port, via, _, resolved, fronts):
            kept = "" if resolved is None else f", resolved {print_expr(resolved)}"
            where = f"{print_expr(port)} via {print_expr(via)}{kept}"
            return f"forward {' or '.join(fronts)} port {where}"
        case ed.Bridge(port):
            return f"bridge port {print_expr(port)}"
        case ed.Reply(error, fronts):
            return f"reply {error} about {' or '.join(fronts)}"
        case ed.Finish(verdict):
            return verdict
    raise AssertionError(s)


def _headers(headers: Sequence[ed.NewHeader]) -> str:
    return " / ".join(map(_header, headers))


def _header(header: ed.NewHeader) -> str:
    parts = [f"{each.field} = {_value(each.value)}" for each in header.given]
    parts += [f"{name} computed" for name in sorted(header.computed)]
    if header.array is not None:
        order = " backwards" if header.array.backwards else ""
        parts.append(f"{print_expr(header.array.count)} of {print_expr(header.array.first)}{order}")
    return f"{header.node} {{{', '.join(parts)}}}"


def _value(value: Value) -> str:
    given = "" if value.given is None else f" if {print_expr(value.given)}"
    return f"{print_expr(value.expr)}{given}"


# ---- expressions ----------------------------------------------------------------------------


def print_expr(x: e.Expr) -> str:
    match x:
        case e.Number(value, _, name):
            if name:
                return name
            return str(value) if value < 256 else f"{value:#x}"
        case e.Name(name) | e.Symbol(name):
            return name
        case e.Event(_, group, reason):
            return f'"{group}: {reason}"'
        case e.State(member, _, scratch):
            return f"{'scratch' if scratch else 'state'}.{member}"
        case e.StatePointer(place, _, sure):
            return f"{'' if sure else '?'}{print_expr(place)}"
        case ed.NodePointer(node, sure):
            return f"{'' if sure else '?'}{node}"
        case ed.NodeOffset(node):
            return f"offset of {node}"
        case e.Load(base, at, bits):
            return f"load {_place(base, at, bits)}"
        case e.Frame(edge):
            return f"frame.{edge}"
        case e.Member(base, member):
            return f"{print_expr(base)}.{member}"
        case e.Element(array, index):
            return f"{print_expr(array)}[{print_expr(index)}]"
        case e.Deref(pointer):
            return f"*{print_expr(pointer)}"
        case e.Address(place):
            return f"&{print_expr(place)}"
        case e.NotNull(pointer):
            return f"not_null {print_expr(pointer)}"
        case e.Binary(operator, left, right):
            return f"({print_expr(left)} {operator} {print_expr(right)})"
        case e.Unary(operator, operand):
            return f"{operator}{print_expr(operand)}"
        case e.Swap(operand):
            return f"swap({print_expr(operand)})"
        case e.Cast(type_, operand, signed):
            return f"{'int' if signed else print_type(type_)}({print_expr(operand)})"
        case e.Choice(test, then, otherwise):
            return f"({print_expr(test)} ? {print_expr(then)} : {print_expr(otherwise)})"
        case e.Which(subject, ranges):
            said = (f"{a if a == b else f'{a}..{b}'} => {n}" for a, b, n in ranges)
            return f"which({print_expr(subject)}: {', '.join(said)})"
        case e.RecordOf(table, slot):
            return f"{table}.record({print_expr(slot)})"
        case e.TableCall(table, what, arguments):
            return f"{table}.{what}({_listed(arguments)})"
        case e.StateCall(state, what, arguments, slot):
            return f"{state}{slot and '.'}{slot}.{what}({_listed(arguments)})"
        case e.RegisterCall(registers, what, arguments):
            return f"{registers}.{what}({_listed(arguments)})"
        case e.HelperCall(function, a, b):
            return f"{function}({print_expr(a)}, {print_expr(b)})"
        case e.Call(function, arguments):
            return f"{function}({_listed(arguments)})"
    raise AssertionError(x)


def print_type(type_: Type) -> str:
    match type_:
        case Int(bits, network):
            return f"{'be' if network else 'u'}{bits}"
        case Pointer(to):
            return "ptr" if to == "void" else f"ptr {to.removeprefix('struct ')}"
        case Struct(name):
            return name
        case Array(of, count):
            return f"{print_type(of)}[{count}]"


def _listed(values: Sequence[e.Expr]) -> str:
    return ", ".join(map(print_expr, values))


def _place(base: e.Expr, at: e.Expr, bits: int) -> str:
    offset = "" if at == e.ZERO else f"+{print_expr(at)}"
    return f"{bits} {print_expr(base)}{offset}"
