"""A checked expression as text, for `helioc doc`."""

from __future__ import annotations

from .. import model as m


def expression(expr: m.Expr | m.Given) -> str:
    match expr:
        case m.Const(value):
            return str(value)
        case m.NameBytes():
            return "bytes of the name"
        case m.Own(name):
            return name
        case m.Packet(node, name):
            return f"{node}.{name}"
        case m.Item(node, name, index):
            return f"{node}.{name}[{expression(index)}]"
        case m.Layer4(which):
            return f"l4.{which}"
        case m.Announced(chain, by):
            return f"{chain}.{by}"
        case m.HasOption(node, option):
            return f"{node}.{option}"
        case m.Arrival():
            return "port"
        case m.FrameLength():
            return "frame.length"
        case m.Given():
            return "given"
        case m.Local(name):
            return name
        case m.Recalled(state, slot):
            return f"{state}.{slot}"
        case m.Attribute(binding, _, element):
            return f"{binding}.{element}" + ("?" if expr.optional else "")
        case m.Register(name, at):
            return name + "".join(f"[{expression(each)}]" for each in at)
        case m.RuleId(binding):
            return f"{binding}.id"
        case m.RuleCount(binding, _, what):
            return f"{binding}.{what}"
        case m.Listed(source, index):
            return f"{expression(source)}[{expression(index)}]"
        case m.Count(source):
            return f"count({expression(source)})"
        case m.Arithmetic("min" | "max" as name, left, right):
            return f"{name}({expression(left)}, {expression(right)})"
        case m.Arithmetic(operator, left, right):
            return f"({expression(left)} {operator} {expression(right)})"
        case m.First(options):
            return f"first({', '.join(map(expression, options))})"
        case m.Pick(_, then, otherwise):
            return f"pick(…, {expression(then)}, {expression(otherwise)})"
        case m.Now(clock):
            return "now" if clock == "boot" else f"now({clock})"
        case m.ClockError():
            return "clock.error"
        case m.Random(bound):
            return f"random({expression(bound)})"
        case m.Hash(arguments):
            return f"hash({', '.join(map(expression, arguments))})"
