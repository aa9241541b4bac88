"""A checked pipeline as text: short, stable, and the same as long as it means the same."""

from __future__ import annotations

from collections.abc import Iterator

from .. import model as m
from . import guards


def show_model(pipeline: m.Pipeline) -> str:
    """Everything later rooms read of the pipeline; spans and documentation left out."""
    lines = [
        f"pipeline {pipeline.name}: ports {', '.join(pipeline.roles)}; default {pipeline.default}"
    ]
    shown: set[str] = set()
    for node in pipeline.graph.nodes:
        if node.header.name not in shown:
            shown.add(node.header.name)
            lines += ["", *_header(node.header)]
    lines += ["", "nodes " + ", ".join(_node(n) for n in pipeline.graph.nodes)]
    lines += [_edge(e, pipeline) for e in pipeline.graph.edges]
    lines += ["", *(_element(e) for e in pipeline.elements)]
    for rule in pipeline.rules:
        lines += ["", *_rule(rule)]
    for stage in pipeline.stages:
        lines += ["", f"stage {stage.name}{_ends(stage.body)}", *_block(stage.body, 1)]
    lines += ["", *(f"on {event}: {hook}" for event, hook in pipeline.hooks.items())]
    return "\n".join(lines) + "\n"


# ---- headers and graph ----------------------------------------------------------------------


def _header(header: m.Header) -> Iterator[str]:
    known = f" = {header.protocol}" if header.protocol else ""
    link = "link " if header.link else ""
    size = f"{header.minimum}..{header.maximum} bytes, {header.fixed} bits fixed"
    yield f"{link}header {header.name}{known}: {size}"
    for f in header.fields:
        inside = f" in {f.part_of}" if f.part_of else ""
        group = f"{' when' if header.optional(f) else ' in'} {f.group}" if f.group else ""
        default = "" if f.default is None else f" = {_default(f.default)}"
        yield f"  {f.offset:>4} +{f.width:<3} {f.name}: {f.kind}{inside}{group}{default}"
    for g in header.groups:
        if g.count is not None:
            yield f"  {g.name}: {expression(g.count)} of them, at most {g.most}"
    said = ("size", header.size), ("extent", header.extent), ("payload to", header.reach)
    for name, value in said:
        if value is not None:
            yield f"  {name} {expression(value)}"
    for name in ("accept", "require", "payload"):
        for c in getattr(header, name):
            yield f"  {name} {condition(c)}"


def _default(default: int | m.Derived) -> str:
    if isinstance(default, int):
        return str(default)
    plus = f" {default.plus:+}" if default.plus else ""
    return f"{default.what}({', '.join(sorted(default.over))}){plus}"


def _node(node: m.Node) -> str:
    return node.name if node.name == node.header.name else f"{node.name}: {node.header.name}"


def _edge(edge: m.Edge, pipeline: m.Pipeline) -> str:
    tests = " and ".join(f"{t.field} = {guards.shown(t)}" for t in edge.tests) or "always"
    if edge.writes is None:
        writes = "not written"
    else:
        writes = "writes " + (", ".join(f"{n} = {v}" for n, v in edge.writes) or "nothing")
    roles = ", ".join(r for r in pipeline.roles if r in edge.roles) or "push"
    return f"  {edge.source} -> {edge.target} when {tests}; {writes}; on {roles}"


# ---- elements and rules ---------------------------------------------------------------------


def _element(element: m.Element) -> str:
    reserved = [f"{r.name} = {r.value} reserved" for r in element.reserved]
    symbols = ", ".join([*(f"{n} = {v}" for n, v in element.symbols), *reserved])
    braces = f" {{{symbols}}}" if symbols else ""
    return f"ie {element.name} = {element.number}, {element.type} ({element.width}){braces}"


def _rule(rule: m.RuleKind) -> Iterator[str]:
    words = [
        w
        for w, said in (("named", rule.named), ("grouped", rule.grouped), ("by hash", rule.hashed))
        if said
    ]
    yield " ".join([f"rule {rule.name} [{rule.capacity}]", *words])
    for match in rule.match:
        absent = ", may be absent" if match.maybe_absent else ""
        yield f"  match {match.element.name} {match.kind} {expression(match.operand)}{absent}"
    if rule.gives:
        yield "  gives " + ", ".join(e.name for e in rule.gives)
    if rule.alternatives:
        yield "  gives " + " | ".join(rule.alternatives)
    if rule.spread:
        s = rule.spread
        weight = s.weight or "1"
        yield f"  spread {s.kind}[{s.least}..{s.most}] by {weight} over {expression(s.hash)}"
    if rule.counts:
        yield "  counts " + ", ".join(rule.counts)
    if rule.priority:
        yield f"  {rule.priority[0]} {rule.priority[1].name}"
    for required in rule.requires:
        yield f"  requires {_requirement(required)}"


def _requirement(required: m.Requirement) -> str:
    to = f" to {' | '.join(required.references)}" if required.references else ""
    when = " and ".join(f"{n} = {' | '.join(map(str, v))}" for n, v in required.when)
    return f"{required.element}{to}" + (f" when {when}" if when else "")


# ---- expressions and conditions -------------------------------------------------------------


def expression(expr: m.Expr | m.Given) -> str:
    match expr:
        case m.Const(value):
            return str(value)
        case m.Own(name):
            return name
        case m.Packet(node, name):
            return f"{node}.{name}"
        case m.Item(node, name, index):
            return f"{node}.{name}[{expression(index)}]"
        case m.Layer4(which):
            return f"l4.{which}"
        case m.Arrival():
            return "port"
        case m.Given():
            return "given"
        case m.Recalled(state, slot):
            return f"{state}.{slot}"
        case m.Attribute(binding, _, element):
            return f"{binding}.{element}" + ("?" if expr.optional else "")
        case m.Listed(source, index):
            return f"{expression(source)}[{expression(index)}]"
        case m.Count(source):
            return f"count({expression(source)})"
        case m.Arithmetic(operator, left, right):
            return f"({expression(left)} {operator} {expression(right)})"
        case m.First(options):
            return f"first({', '.join(map(expression, options))})"
        case m.Hash(arguments):
            return f"hash({', '.join(map(expression, arguments))})"


def condition(c: m.Condition) -> str:
    match c:
        case m.Compare(operator, left, right):
            return f"{expression(left)} {operator} {expression(right)}"
        case m.Found(rule):
            return rule
        case m.Present(node):
            return f"present {node}"
        case m.IsLocal(address):
            return f"{expression(address)} is local"
        case m.IsMulticast(address):
            return f"{expression(address)} is multicast"
        case m.IsFragment(node):
            return f"{node} is fragment"
        case m.PortIs(role):
            return f"port is {role}"
        case m.IsLimited():
            return "error is limited"
        case m.Not(operand):
            return f"not ({condition(operand)})"
        case m.And(operands):
            return " and ".join(f"({condition(o)})" for o in operands)
        case m.Or(operands):
            return " or ".join(f"({condition(o)})" for o in operands)


# ---- statements -----------------------------------------------------------------------------


def _ends(block: m.Block) -> str:
    return " (ends)" if block.ends else ""


def _block(block: m.Block, depth: int) -> Iterator[str]:
    for statement in block.statements:
        yield from _statement(statement, depth)


def _branch(word: str, block: m.Block, depth: int, always: bool = False) -> Iterator[str]:
    if block.statements or always:
        yield f"{'  ' * depth}{word}{_ends(block)}"
        yield from _block(block, depth + 1)


def _statement(s: m.Statement, depth: int) -> Iterator[str]:
    indent = "  " * depth
    match s:
        case m.If():
            yield from _branch(f"if {condition(s.condition)}", s.then, depth, True)
            yield from _branch("else", s.otherwise, depth)
        case m.IfGives():
            yield from _branch(f"if {s.binding}: {s.rule} gives {s.given}", s.then, depth, True)
            yield from _branch("else", s.otherwise, depth)
        case m.MatchValue():
            yield f"{indent}match {expression(s.subject)}"
            for values, body in s.arms:
                yield from _branch(f"{' | '.join(map(str, values))} =>", body, depth + 1, True)
        case m.MatchReference():
            yield f"{indent}match {expression(s.subject)}"
            for arm in s.arms:
                yield from _branch(f"{arm.kind} {arm.binding} =>", arm.body, depth + 1, True)
        case m.Find():
            given = ", ".join(f"{n} = {expression(v)}" for n, v in s.given)
            yield f"{indent}find {s.rule}" + (f"({given})" if given else "")
            yield from _branch("else", s.otherwise, depth)
        case m.Choose():
            yield f"{indent}choose {s.rule} from {s.binding}: {s.binding_rule}.{s.group}"
            yield from _branch("else", s.otherwise, depth)
        case m.Recall():
            yield f"{indent}recall {s.state}({', '.join(map(expression, s.key))})"
            yield from _branch("else", s.otherwise, depth)
        case m.Inline():
            yield from _branch(f"inline {s.action}", s.body, depth, True)
        case _:
            yield indent + _simple(s)


def _simple(s: m.Statement) -> str:
    match s:
        case m.Remember():
            return f"remember {s.state}({', '.join(map(expression, s.values))})"
        case m.Push():
            path = " / ".join(_pushed(e) for e in s.elements)
            place = f"behind {s.behind}" if s.behind else f"before {s.before}"
            return f"push {path} {place}"
        case m.Append():
            path = " / ".join(_pushed(e) for e in s.elements)
            return f"append {path} behind {s.behind}"
        case m.Pop():
            return f"pop to {s.node}"
        case m.PopLink():
            return f"pop {s.node}"
        case m.Assign():
            return ", ".join(f"{expression(f)} = {expression(v)}" for f, v in s.fields)
        case m.ClampMss():
            return "clamp mss"
        case m.Forward():
            return f"forward {_port(s.port)} via {expression(s.via)}"
        case m.Bridge():
            return f"bridge {_port(s.port)}"
        case m.Queue():
            return f"queue {expression(s.number)}"
        case m.Counted():
            return f"count {s.reason}"
        case m.Verdict():
            return s.verdict
        case m.DecodeProbe():
            return "decode probe"
    raise AssertionError(f"{s} has statements in it")


def _port(port: m.PortOf) -> str:
    return port.source if isinstance(port.source, str) else expression(port.source)


def _pushed(element: m.PushElement) -> str:
    said = [f"{n} = {expression(v)}" for n, v in element.values]
    said += [f"{n} = {_items(v)}" for n, v in element.lists]
    said += [f"{n} = computed" for n in element.computed]
    return f"{element.node} {{{', '.join(said)}}}" if said else element.node


def _items(items: m.Items) -> str:
    text = expression(items.source)
    for _ in range(items.skip):
        text = f"rest({text})"
    return f"reversed({text})" if items.backwards else text
