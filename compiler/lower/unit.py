"""A checked pipeline to a lowered unit: tables laid out, every stage on every port role as C
lines."""

from __future__ import annotations

from typing import Literal

from ...lang.contract.manifest.manifest import State
from ..model import Choose, Find, Header, Pipeline, Stage, Tell
from ..model.parse_graph import count_ways, reachable, sometimes_leading
from . import trace
from .events import Events
from .layout import Table, states, tables
from .lowered import (
    Function,
    Member,
    NodeState,
    Program,
    Record,
    Traced,
    Unit,
    Writer,
    c_name,
    function_name,
)
from .parser import lower_parser
from .reads import asks_local, limits_errors, reads, steers, walk
from .rewrite import carried_over
from .shape import Shape, Unsupported, fronts_behind
from .site import Binding, Kept, Site
from .stages import lower_block
from .tables import offloaded
from .tell import places

Join = Literal["staged", "fused"]
Target = Literal["host", "nfp"]

#: Nodes whose parser has few enough ends that the verifier can follow each through a fused program.
#: Of more, what the parser found goes through memory, as it does between programs.
FEW_NODES = 8

#: Ways through a parser of which the verifier can follow each. Of more, those that meet at a node
#: are one from there on: what differs is kept in memory, where it does not look.
MANY_WAYS = 32

LONGEST_KEY = 88  # octets: five IPv6 addresses, say


def lower(
    pipeline: Pipeline,
    source: str,
    join: Join = "staged",
    traced: bool = False,
    target: Target = "host",
    frugal: bool = False,
    in_memory: bool = False,
) -> Unit:
    """`source` is the name of the `.hp` file. `traced`: the programs tell what happens to each
    packet that is asked for. A card's programs are fused. `in_memory`: with nothing that the parser
    found in registers, `frugal`: with as little on the stack as there can be, at the price of
    time."""
    laid_out = tables(pipeline, reads(pipeline))
    if target == "nfp":
        join, laid_out = "fused", offloaded(laid_out)
    by_name = {t.rule.name: t for t in laid_out}
    _refuse_long_keys(laid_out)
    remembered = states(pipeline)
    events, points = Events(pipeline), trace.Points(traced)
    functions: list[Function] = []
    used: set[str] = set()
    ways: dict[str, int | None] = {}
    kept = Kept()
    for role in pipeline.roles:
        laid = {s.name: s for s in remembered}
        in_registers = not (in_memory or frugal or _in_memory(pipeline, role, join, target))
        ways[role] = _sized_ways(pipeline, role) if in_registers else None
        more, words, members = _role(
            pipeline, role, not in_registers, by_name, laid, events, points, target, frugal
        )
        functions += more
        used |= members
        kept = Kept(max(kept.words, words.words), max(kept.aside, words.aside))
    return Unit(
        name=pipeline.name,
        source=source,
        join=join,
        target=target,
        roles=pipeline.roles,
        tables=laid_out,
        records=tuple(_record(t) for t in laid_out),
        states=remembered,
        nodes=tuple(
            NodeState(c_name(n.name), f"{c_name(n.name)}_off" in used)
            for n in pipeline.graph.nodes
            if f"{c_name(n.name)}_at" in used
        ),
        bound=tuple(t.manifest.prefix for t in _bound(pipeline, by_name)),
        functions=tuple(functions),
        programs=tuple(_programs(pipeline, functions, join, ways)),
        counters=events.counters,
        kept=kept.words,
        aside=kept.aside,
        replies=limits_errors(pipeline),
        steers=steers(pipeline),
        sized=any("sizes" in rule.counts for rule in pipeline.rules),
        kept_plain=tuple(sorted(used & {"length", "l4", "link", "queue"})),
        asks_local=tuple(sorted(asks_local(pipeline))),
        told=len(places(pipeline.graph)) if _tells(pipeline) else 0,
        traced=Traced(trace.schema_nodes(pipeline.graph), points.all) if traced else None,
    )


def _refuse_long_keys(laid_out: tuple[Table, ...]) -> None:
    """A look-up has its key, masked and not, on a stack of 512 octets that all callers share."""
    for t in laid_out:
        if t.key is not None and t.key.size > LONGEST_KEY:
            title = f"`{t.rule.name}` matches too much: its key has {t.key.size} octets"
            raise Unsupported(f"{title}, and {LONGEST_KEY} is the most", t.rule.span)


def _tells(pipeline: Pipeline) -> bool:
    return any(isinstance(s, Tell) for stage in pipeline.stages for s in stage.body.statements)


def _bound(pipeline: Pipeline, by_name: dict[str, Table]) -> list[Table]:
    """Kinds that a stage binds under their own name."""
    found = {p.rule for p in walk(pipeline.stages) if isinstance(p, Find | Choose)}
    return [t for name, t in by_name.items() if name in found]


# ---- functions ------------------------------------------------------------------------------


def _role(
    pipeline: Pipeline,
    role: str,
    in_memory: bool,
    by_name: dict[str, Table],
    remembered: dict[str, State],
    events: Events,
    points: trace.Points,
    target: Target,
    frugal: bool,
) -> tuple[list[Function], Kept, set[str]]:
    """A role's functions, the words of the scratch record that they take, and the members of the
    state that they use."""
    kept = Kept()
    nodes = reachable(pipeline.graph, role)
    shape: Shape | None = Shape(
        fronts_behind(pipeline.graph, role, pipeline.graph.entry(role).name)
    )
    lowered: list[tuple[Stage, Site]] = []
    # Whatever finds or chooses a rule leaves it in the state: the checker knows who reads it.
    bindings = {
        t.rule.name: Binding(f"st->{t.manifest.prefix}_rule", t.rule.name)
        for t in _bound(pipeline, by_name)
    }
    start = Site(
        pipeline,
        role,
        "parser",
        by_name,
        events,
        points,
        Writer(span=pipeline.graph.entry(role).span),
        nodes,
        Shape(()),
        bindings,
        states=remembered,
        kept=kept,
        steers=steers(pipeline),
        card=target == "nfp",
        in_memory=in_memory,
        frugal=frugal,
    )
    for stage in pipeline.stages:
        if shape is None:
            break
        site = start.apart(Writer(span=stage.span), stage=stage.name, shape=shape)
        trace.stage(site)
        shape = lower_block(site, stage.body)
        if shape is not None and (shape.pushed or shape.appended):
            shape = carried_over(site, shape)
        lowered.append((stage, site))
    wanted = start.needs.union(*(site.uses for _, site in lowered))
    out = [
        Function(h.name, "", role, h.body, pipeline.span, () if start.in_memory else h.takes)
        for h in start.helpers.values()
    ]
    many = target == "host" and count_ways(pipeline.graph, role) > MANY_WAYS
    out.append(lower_parser(start, frozenset(wanted), many))
    for stage, site in lowered:
        name = function_name(f"stage_{role}_{stage.name}")
        out.append(Function(name, stage.name, role, site.writer.body, stage.span))
    return out, kept, wanted


def _in_memory(pipeline: Pipeline, role: str, join: Join, target: Target) -> bool:
    """Whether what the parser finds goes into the scratch record. There a header that a pop removes
    from some packets only is found by its place."""
    many = count_ways(pipeline.graph, role) > MANY_WAYS
    few = len(reachable(pipeline.graph, role)) <= FEW_NODES
    mixed = bool(sometimes_leading(pipeline.graph, role))
    return target == "host" and (join == "staged" or many or not few or mixed)


def _sized_ways(pipeline: Pipeline, role: str) -> int:
    """Ways through the parser, each as often as the headers on it have sizes that C finds by a
    branch: not by a multiplication or, for one bit and a power of two, by a shift."""

    def sizes(header: Header) -> int:
        return 1 << sum(
            len(g.flags) > 1 or g.count is not None or (g.width & (g.width - 1)) > 0
            for g in header.groups
            if g.flags
        )

    return count_ways(pipeline.graph, role, sizes)


# ---- programs -------------------------------------------------------------------------------


def _programs(
    pipeline: Pipeline, functions: list[Function], join: Join, ways: dict[str, int | None]
) -> list[Program]:
    programs = []
    for role in pipeline.roles:
        mine = tuple(f for f in functions if f.role == role and f.stage)
        if join == "fused":
            name = function_name(f"{pipeline.name}_{role}")
            programs.append(Program(name, role, "all", mine, None, None, ways[role]))
            continue
        # the first stage goes on where the parser ends: every packet that is parsed gets there
        joined = (mine[:2], *((f,) for f in mine[2:]))
        for i, some in enumerate(joined):
            stage, after = some[-1].stage, i + 1 if i + 1 < len(joined) else None
            name = function_name(f"{pipeline.name}_{role}_{stage}")
            programs.append(Program(name, role, stage, some, i or None, after))
    return programs


# ---- records --------------------------------------------------------------------------------

C_TYPE = {1: "u8", 2: "u16", 4: "u32", 8: "u64", 16: "u128"}


def _record(table: Table) -> Record:
    """The record's C members, with padding spelt out."""
    members, at = [], 0
    lists = {element.name for element in table.rule.gives if element.most}
    for i, m in enumerate(table.manifest.record):
        if m.offset > at:
            members.append(Member(f"u8 pad_{i}[{m.offset - at}]"))
        if m.kind == "next_hop":
            members.append(Member(f"struct next_hop {m.name}"))
        elif m.kind == "slots":
            members.append(Member(f"u32 slots[{m.size // 4}]"))
        elif m.size in C_TYPE and not (m.kind == "value" and m.element in lists):
            members.append(Member(f"{C_TYPE[m.size]} {m.name}"))
        else:
            members.append(Member(f"u8 {m.name}[{m.size}]"))
        at = m.offset + m.size
    if at < table.manifest.record_size:
        members.append(Member(f"u8 pad[{table.manifest.record_size - at}]"))
    return Record(table.manifest.prefix, tuple(members))
