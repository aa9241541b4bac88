"""Generates a page about a pipeline, Markdown or HTML: `helioc doc`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape

from ..compiler import model as m
from ..compiler.check.state_statements import updates
from ..compiler.ir.unit import Unit
from ..compiler.lower.events import MALFORMED, events_of
from ..compiler.model import guards
from ..compiler.model.parse_graph import announcing, edges_shown, to_dot
from ..compiler.model.show import expression


@dataclass(frozen=True)
class Heading:
    level: int
    text: str


@dataclass(frozen=True)
class Paragraph:
    text: str


@dataclass(frozen=True)
class Grid:
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class Picture:
    """`dot` drawn, or as text where nothing can draw it."""

    name: str
    dot: str


Piece = Heading | Paragraph | Grid | Picture


def page(pipeline: m.Pipeline, unit: Unit) -> tuple[Piece, ...]:
    """The parts of the page, in order."""
    return tuple(_page(pipeline, unit))


def _page(p: m.Pipeline, unit: Unit) -> Iterator[Piece]:
    yield Heading(1, p.name)
    if p.doc:
        yield Paragraph(p.doc)
    ports = ", ".join(f"`{role}`" for role in p.roles)
    if p.at:
        link = dict.fromkeys(p.bare, " (no link header)")
        at = zip(p.roles, p.at, strict=True)
        ports = ", ".join(f"`{role}` at {point}{link.get(role, '')}" for role, point in at)
    yield Paragraph(f"Port roles: {ports}. Without a rule that says otherwise: `{p.default}`.")
    yield Heading(2, "Parse graph")
    yield Picture(p.name, to_dot(p))
    yield from _graph(p)
    if p.elements:
        yield Heading(2, "Information elements")
        head = ("number", "name", "type", "values", "")
        yield Grid(head, tuple(map(_element, p.elements)))
    if p.rules:
        yield Heading(2, "Rules")
    for rule in p.rules:
        yield from _rule(rule, {e.name: {v: n for n, v in e.symbols} for e in p.elements})
    if p.states:
        yield Heading(2, "State tables")
        columns = ("name", "capacity", "key", "holds", "ages", "")
        yield Grid(columns, tuple(map(_state, p.states)))
        yield from _updated(p)
    if p.registers:
        yield Heading(2, "Registers")
        yield Grid(("name", "length", "each", ""), tuple(map(_registers, p.registers)))
    if p.emits:
        yield Heading(2, "Events")
        limits = ("name", "fields", "a second", "of each source", "")
        yield Grid(limits, tuple(map(_event, p.emits)))
    yield Heading(2, "Stages")
    yield Grid(("stage", ""), (("parser", ""), *((s.name, s.doc) for s in p.stages)))
    yield Heading(2, "Hooks")
    yield Grid(("event", "what becomes of the packet"), tuple(p.hooks.items()))
    yield Heading(2, "Counters")
    groups: dict[str, list[str]] = {}
    for counter in events_of(p).counters:
        if counter.group != "malformed":
            groups.setdefault(counter.group, []).append(counter.reason)
    groups["malformed"] = [f"each node: {reason}" for reason in MALFORMED]
    yield Grid(("group", "reasons"), tuple((g, ", ".join(r)) for g, r in groups.items()))
    yield Heading(2, "Limits")
    yield from _limits(unit)


# ---- graph ----------------------------------------------------------------------------------


def _graph(p: m.Pipeline) -> Iterator[Piece]:
    yield Grid(("node", "header", "bytes", ""), tuple(_node(n) for n in p.graph.nodes))
    rows = [
        (
            e.source,
            e.target,
            _announced(e.tests, p.graph.node(e.edge.target).fits),
            ", ".join(r for r in p.roles if r in e.edge.roles) or "push",
        )
        for e in edges_shown(p.graph)
    ]
    yield Grid(("from", "to", "when", "on"), tuple(rows))
    for node in p.graph.nodes:
        of = node.header.options
        if of is not None and node.options:
            said = f"of up to {of.most}, those that a stage or a rule asks for"
            yield Paragraph(f"Options of `{node.name}`: {said}.")
            groups = [node.header.group(name) for name in node.options]
            yield Grid(("option", "kind"), tuple((g.name, _kinds(g)) for g in groups))
    for chain in p.graph.chains:
        said = f"up to {chain.most} headers in any order, by `{chain.by}`"
        yield Paragraph(f"Chain `{chain.name}`: {said}.")
        tests = announcing(p.graph, chain)
        yield Grid((chain.name, chain.by), tuple((n, guards.shown(t)) for n, t in tests.items()))


def _announced(tests: tuple[m.Test, ...], fits: bool) -> str:
    said = " and ".join(f"{_tested(t)} = {guards.shown(t)}" for t in tests)
    return " ".join(filter(None, (said, "if it fits" * fits))) or "always"


def _kinds(option: m.Group) -> str:
    return guards.shown(m.Test("kind", option.kinds, option.mask))


def _tested(test: m.Test) -> str:
    return str(getattr(test, "field", "next"))


def _node(node: m.Node) -> tuple[str, ...]:
    h = node.header
    size = str(h.minimum) if h.minimum == h.maximum else f"{h.minimum} to {h.maximum}"
    return node.name, h.name, size, h.doc


# ---- elements and rules ---------------------------------------------------------------------


def _element(e: m.Element) -> tuple[str, ...]:
    reserved = [f"{each.name} = {each.value} (reserved)" for each in e.reserved]
    values = ", ".join([*(f"{name} = {value}" for name, value in e.symbols), *reserved])
    type_ = " or ".join(e.references) or e.type
    reasons = [f"{each.name} is reserved: {each.reason}" for each in e.reserved if each.reason]
    return str(e.number), e.name, type_, values, " ".join([*filter(None, [e.doc]), *reasons])


def _rule(rule: m.RuleKind, names: Mapping[str, Mapping[int, str]]) -> Iterator[Piece]:
    yield Heading(3, rule.name)
    if rule.doc:
        yield Paragraph(rule.doc)
    yield Paragraph(" ".join(_about(rule)))
    if rule.match:
        rows = [(x.element.name, x.kind, _operand(x), "yes" if x.maybe_absent else "")
                for x in rule.match]  # fmt: skip
        yield Grid(("matches", "by", "the packet's", "may be absent"), tuple(rows))
    if rule.requires:
        rows_ = [(r.element, _when(r, names), " or ".join(r.references)) for r in rule.requires]
        yield Grid(("must give", "where", "referring to"), tuple(rows_))


def _operand(match: m.Match) -> str:
    match match.operand:
        case m.Packet() | m.Layer4():
            return expression(match.operand)
        case m.Arrival():
            return "port of arrival"
        case _:
            return "(each look-up says)"


def _when(r: m.Requirement, names: Mapping[str, Mapping[int, str]]) -> str:
    conditions = ((name, [names[name].get(v, str(v)) for v in values]) for name, values in r.when)
    return (
        " and ".join(f"{name} is {' or '.join(values)}" for name, values in conditions) or "always"
    )


def _about_members(s: m.Spread) -> str:
    if s.hash is None:
        return f"Lists {s.least} to {s.most} {s.kind}."
    by = f" by {s.weight}" if s.weight else ""
    hashed = ", ".join(map(expression, s.hash.arguments))
    return f"Spreads flows over {s.least} to {s.most} {s.kind}{by}; a flow is {hashed}."


def _about(rule: m.RuleKind) -> Iterator[str]:
    names = ", with names" if rule.named else ""
    names += ", found by hash where a target hashes itself" if rule.hashed else ""
    yield f"Up to {rule.capacity:,}{names}."
    if rule.gives:
        yield f"Gives {', '.join(e.name for e in rule.gives)}."
    if rule.alternatives:
        yield f"Gives one of {', '.join(rule.alternatives)}."
    if rule.spread:
        yield _about_members(rule.spread)
    if rule.priority:
        better = "higher" if rule.priority[0] == "priority" else "lower"
        yield f"The {better} {rule.priority[1].name} wins, then the more specific, then the older."
    elif rule.match:
        yield "The more specific wins, then the older."
    if rule.meters:
        unit = ", in packets" if rule.packet_meter else ""
        yield f"Meters packets by {', '.join(e.name for e in rule.meters)}{unit}."
    if rule.counts:
        *others, last = rule.counts
        yield f"Counts {', '.join(others)}{' and ' if others else ''}{last}."
    for raised in rule.raises:
        word, amount = "each" if raised.again else "after", raised.element or f"{raised.amount:,}"
        yield f"Raises {raised.event} {word} {amount} {raised.what}."


def _state(s: m.State) -> tuple[str, ...]:
    key, holds = (", ".join(x.name for x in slots) for slots in (s.match, s.gives))
    ages = f"{s.ages} s" if s.ages else s.lifetime
    if s.idle:
        ages += " idle"
    return s.name, f"{s.capacity:,}", key, holds, ages, s.doc


def _registers(r: m.Registers) -> tuple[str, ...]:
    return r.name, " x ".join(f"{n:,}" for n in r.shape), f"u{r.width}", r.doc


def _event(e: m.EventKind) -> tuple[str, ...]:
    each = f"{e.each:,} by {', '.join(e.by)}" if e.each else ""
    return e.name, ", ".join(f.name for f in e.fields), f"{e.rate:,}", each, e.doc


def _updated(p: m.Pipeline) -> Iterator[Piece]:
    """Which states lose updates where packets are on several CPUs at once."""
    found = dict.fromkeys((lost.state, lost.stage) for lost in updates(p.stages))
    for state, stage in found:
        yield Paragraph(
            f"`{stage}` writes into `{state}` what follows from the value before: where two CPUs "
            "have packets of one entry at once, one of the two updates may be lost."
        )


def _limits(unit: Unit) -> Iterator[Piece]:
    head = ("rule kind", "rules", "bytes of a key", "masks at a time", "bytes of a record")
    kinds = [table.manifest for table in unit.tables]
    rows = [
        (t.name, f"{t.capacity:,}", str(t.key_size or "-"), str(t.tuples or "-"),
         str(t.record_size))
        for t in kinds
    ]  # fmt: skip
    if rows:
        yield Grid(head, tuple(rows))
    yield Paragraph("Frames are seen up to 32,767 bytes in.")


# ---- Markdown -------------------------------------------------------------------------------


def to_markdown(pieces: Sequence[Piece], picture: str = "") -> str:
    """`picture`: the file that shows the parse graph; without, it stands there as DOT."""
    return "\n\n".join(_markdown(piece, picture) for piece in pieces) + "\n"


def _markdown(piece: Piece, picture: str) -> str:
    match piece:
        case Heading(level, text):
            return f"{'#' * level} {text}"
        case Paragraph(text):
            return text
        case Grid(head, rows):
            lines = [head, tuple("---" for _ in head), *rows]
            return "\n".join(f"| {' | '.join(map(_cell, line))} |" for line in lines)
        case Picture(name, dot):
            if picture:
                return f"![parse graph and stages of {name}]({picture})"
            return f"```dot\n{dot}```"


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")


# ---- HTML -----------------------------------------------------------------------------------

_STYLE = """\
body { font: 16px/1.5 sans-serif; max-width: 60em; margin: 2em auto; padding: 0 1em; }
table { border-collapse: collapse; margin: 1em 0; } svg { max-width: 100%; height: auto; }
td, th { border: 1px solid #ccc; padding: .2em .6em; text-align: left; vertical-align: top; }"""


def to_html(pieces: Sequence[Piece], svg: str = "") -> str:
    """A page of its own. `svg`: the picture; without, it stands there as DOT."""
    title = next((piece.text for piece in pieces if isinstance(piece, Heading)), "")
    body = "\n".join(_html(piece, svg) for piece in pieces)
    head = f'<meta charset="utf-8">\n<title>{escape(title)}</title>\n<style>\n{_STYLE}\n</style>'
    return f"<!DOCTYPE html>\n<html>\n<head>\n{head}\n</head>\n<body>\n{body}\n</body>\n</html>\n"


def _html(piece: Piece, svg: str) -> str:
    match piece:
        case Heading(level, text):
            return f"<h{level}>{escape(text)}</h{level}>"
        case Paragraph(text):
            return f"<p>{escape(text).replace('`', '')}</p>"
        case Grid(head, rows):
            lines = [_row(head, "th"), *(_row(row, "td") for row in rows)]
            return "<table>\n" + "\n".join(lines) + "\n</table>"
        case Picture(_, dot):
            return svg[svg.index("<svg") :] if "<svg" in svg else f"<pre>{escape(dot)}</pre>"


def _row(cells: Sequence[str], tag: str) -> str:
    return f"<tr>{''.join(f'<{tag}>{escape(cell)}</{tag}>' for cell in cells)}</tr>"
