"""A checked pipeline to the intermediate representation: tables laid out, every stage on every port
role a function."""

from __future__ import annotations

from typing import Literal

from ...lang.contract.manifest.manifest import EventRing, State
from ..headers.outline import Outline, untouched
from ..ir.builder import Builder
from ..ir.events import Events
from ..ir.names import Names, c_name
from ..ir.nodes import Function
from ..ir.unit import Member, NodeState, Program, Record, Unit
from ..model import Choose, DecodeProbe, Find, Header, Pipeline, Stage
from ..model.parse_graph import MANY_WAYS, count_ways, reachable
from ..model.walk import walk
from ..tables.event_records import event_ring
from ..tables.layout import Table, registers, states, tables
from ..tables.offloaded import offloaded
from . import trace
from .conditions import pick
from .context import Binding, LoweringContext, rule_record
from .decode_probe import places
from .emits import laid_out
from .events import events_of
from .parser import lower_parser
from .reads import asks_local, copies, cut_off, limits_errors, moments, reads, steers
from .stages import lower_block

Join = Literal["staged", "fused"]
Target = Literal["host", "nfp", "tc"]


def lower(
    pipeline: Pipeline,
    source: str,
    join: Join = "staged",
    target: Target = "host",
) -> Unit:
    """`source` is the name of the `.hp` file. A card's programs are fused."""
    laid_out = tables(pipeline, reads(pipeline))
    if target == "nfp":
        join, laid_out = "fused", offloaded(laid_out)
    by_name = {t.rule.name: t for t in laid_out}
    remembered = states(pipeline)
    events = events_of(pipeline)
    ring = event_ring(pipeline) if target != "nfp" else None
    functions: list[Function] = []
    names = Names()
    for role in pipeline.roles:
        laid = {s.name: s for s in remembered}
        functions += _role(pipeline, role, by_name, laid, ring, events, target, names)
    ways = {role: _sized_ways(pipeline, role) for role in pipeline.roles}
    return Unit(
        name=pipeline.name,
        source=source,
        join=join,
        target=target,
        roles=pipeline.roles,
        tables=laid_out,
        records=tuple(_record(t) for t in laid_out),
        states=remembered,
        registers=registers(pipeline),
        nodes=tuple(NodeState(c_name(n.name)) for n in pipeline.graph.nodes),
        bound=tuple(t.manifest.prefix for t in _bound(pipeline, by_name)),
        functions=tuple(functions),
        programs=tuple(_programs(pipeline, functions, join, ways, names)),
        counters=events.counters,
        ring=ring,
        graph=pipeline.graph,
        hooks=tuple(pipeline.hooks.items()),
        replies=limits_errors(pipeline),
        copies=copies(pipeline),
        parts=cut_off(pipeline),
        moments=moments(pipeline),
        steers=steers(pipeline),
        sized=any("sizes" in rule.counts for rule in pipeline.rules),
        asks_local=tuple(sorted(asks_local(pipeline))),
        bare=pipeline.bare,
        probe_words=len(places(pipeline.graph)) if _is_decoder(pipeline) else 0,
    )


def _is_decoder(pipeline: Pipeline) -> bool:
    statements = (s for stage in pipeline.stages for s in stage.body.statements)
    return any(isinstance(s, DecodeProbe) for s in statements)


def _bound(pipeline: Pipeline, by_name: dict[str, Table]) -> list[Table]:
    """Kinds that a stage binds under their own name."""
    found = {p.rule for p in walk(pipeline.stages) if isinstance(p, Find | Choose)}
    return [t for name, t in by_name.items() if name in found]


# ---- functions ------------------------------------------------------------------------------


def _role(
    pipeline: Pipeline,
    role: str,
    by_name: dict[str, Table],
    remembered: dict[str, State],
    ring: EventRing | None,
    events: Events,
    target: Target,
    names: Names,
) -> list[Function]:
    """A role's functions."""
    outline: Outline | None = untouched(pipeline.graph, role)
    lowered: list[tuple[Stage, LoweringContext]] = []
    # Whatever finds or chooses a rule leaves it in the state: the checker knows who reads it.
    bindings = {
        t.rule.name: Binding(rule_record(t), t.rule.name) for t in _bound(pipeline, by_name)
    }
    start = LoweringContext(
        graph=pipeline.graph,
        role=role,
        stage="parser",
        events=events,
        writer=Builder(span=pipeline.graph.entry(role).span),
        reachable=reachable(pipeline.graph, role),
        pipeline=pipeline,
        tables=by_name,
        outline=untouched(pipeline.graph, role),
        pick=pick,
        bindings=bindings,
        states=remembered,
        emits=laid_out(ring.kinds if ring else ()),
        steers=steers(pipeline),
        card=target == "nfp",
        names=names,
    )
    for stage in pipeline.stages:
        if outline is None:
            break
        writer = Builder(span=stage.span)
        site = start.new_function(writer, stage=stage.name, outline=outline)
        if not stage.part_of:
            trace.stage(site)
        outline = lower_block(site, stage.body)
        lowered.append((stage, site))
    many = target != "nfp" and count_ways(pipeline.graph, role) > MANY_WAYS
    parser = lower_parser(start, many)
    out = [Function(h.name, "", role, h.body, pipeline.span) for h in start.helpers.values()]
    out.append(parser)
    for stage, site in lowered:
        name = names.free(f"stage_{role}_{stage.name}")
        out.append(Function(name, stage.name, role, site.writer.body, stage.span))
    return out


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
    pipeline: Pipeline, functions: list[Function], join: Join, ways: dict[str, int], names: Names
) -> list[Program]:
    programs = []
    for role in pipeline.roles:
        mine = tuple(f for f in functions if f.role == role and f.stage)
        if join == "fused":
            name = names.free(f"{pipeline.name}_{role}")
            programs.append(Program(name, role, "all", mine, None, None, ways[role]))
            continue
        # the first stage goes on where the parser ends: every packet that is parsed gets there
        joined = (mine[:2], *((f,) for f in mine[2:]))
        for i, some in enumerate(joined):
            stage, after = some[-1].stage, i + 1 if i + 1 < len(joined) else None
            name = names.free(f"{pipeline.name}_{role}_{stage}")
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
