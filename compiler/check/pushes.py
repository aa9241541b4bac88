"""`push`: where it goes, what it writes."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest

from ...lang import tree
from ...lang.text.diagnostics import Diagnostic, error
from ...lang.text.source import Span
from .. import model
from ..model.parse_graph import selector_fields, writable
from . import errors
from .chained_edits import within_bound
from .changes import Changed, announced, appended_before
from .contents import Contents
from .flow import Change, Scope, State, World, roles_of
from .packets import PacketNames
from .push_fields import element_of
from .push_places import Place, place_of
from .read_back import ReadBack
from .rest_headers import not_written
from .stage_program import Program
from .taken_over import taken_over
from .written import Written, came


def push(program: Program, statement: tree.Push, state: State, scope: Scope) -> Changed:
    packets = PacketNames(program.checked, program.found)
    nodes = [packets.node(e.node) for e in statement.path]
    path = [n for n in nodes if n is not None]
    if len(path) < len(nodes):
        program.unsure = True
        return Changed(None, state)
    span = statement.span
    if appended_before(program, span, "a `push`", state) or not can_be_pushed(
        program, statement.path, path, state
    ):
        return Changed(None, state)
    place = place_of(program, statement, path, state, scope)
    if place is None:
        return Changed(None, state)
    before, behind = place
    if behind is not None:
        needs_edge(program, behind.name, path[0].name, statement.path[0].node.span)
    following = [*path[1:], *([before] if before else [])]
    for source, target, element in zip(path, following, statement.path, strict=False):
        needs_edge(program, source.name, target.name, element.node.span)
    next_fields = _next_fields(program, behind) if behind else {}
    sources = _in_front(program, place, state)
    fronts = [sources, *([node.name] for node in path)]
    written = []
    for i, (each, after) in enumerate(zip_longest(statement.path, following)):
        outer, unsaid = path[:i], {} if after else next_fields
        written.append(
            element_of(program, each, path[i], after, outer, state, scope, fronts[i], unsaid)
        )
    read_back(program, written, sources, before, scope, span)
    if behind is not None:
        after = {w.chain[place.of(program, w) :][:1] for w in state}
        every = [program.checked.graph.nodes[at[0]] if at else None for at in sorted(after)]
        taken_over(program, written[-1], behind, next_fields, every, scope)
    elements = tuple(w.element for w in written)
    worlds = frozenset(_pushed(program, path, place, w, span) for w in state)
    for each in path:
        program.pushes[each.name] = span
    names = (node.name if node else "" for node in place)
    return Changed(model.Push(elements, next(names), span, next(names)), worlds)


def _in_front(program: Program, place: Place, state: State) -> list[str]:
    """Link headers that may stand in front of a push: those of the packet, and the Ethernet header
    that it is forwarded with."""
    nodes = program.checked.graph.nodes
    found = {world.chain[at - 1] for world in state if (at := place.of(program, world))}
    found |= {i for i, n in enumerate(nodes) if n.header.protocol == "ethernet"}
    return [nodes[i].name for i in sorted(found)]


def read_back(
    program: Program,
    written: Sequence[Written],
    sources: Sequence[str],
    target: model.Node | None,
    scope: Scope,
    span: Span,
    ends: bool = False,
) -> None:
    """The parser reads what was written back, in front of `target` (of nothing if it `ends` there)
    and behind one of `sources`. Not asked of a statement (at `span`) that is wrong anyway."""
    wrong = (d.span for d in program.found.errors if d.span and d.span.source == span.source)
    if any(span.start <= each.start < span.end for each in wrong):
        return
    if program.unsure or not program.checked.sound:
        return
    behind: tuple[Contents, ...] = ()
    if target is not None:
        behind = tuple(program.pushed.get(target.name, ())) or (came(program, target, scope),)
    name = target.name if target else ""
    path = tuple(written)
    reader = ReadBack(program, path, tuple(sources), name, behind, scope.tested, ends)
    for way in reader.check():
        for w, contents in zip(written, way, strict=True):
            program.pushed.setdefault(w.element.node, []).append(contents)


def _next_fields(program: Program, front: model.Node) -> dict[str, model.Expr]:
    """What a header says of what follows it, by its fields."""
    fields = [
        front.header.field(name) for name in selector_fields(program.checked.graph, front.name)
    ]
    return {f.name: model.Packet(front.name, f.name, f.width, f.kind) for f in fields}


def can_be_pushed(
    program: Program, said: Sequence[tree.PushElement], path: list[model.Node], state: State
) -> bool:
    if not within_bound(program, said, path):
        return False
    for i, (element, node) in enumerate(zip(said, path, strict=True)):
        bit = program.bit(node.name)
        having = [w for w in state if w.present & bit]
        if node.header.takes_rest:
            program.report(not_written(node, element.node.span))
        elif node in path[:i]:
            program.report(
                errors.declared_twice(
                    "node",
                    element.node,
                    said[path.index(node)].node.span,
                    "push each node once",
                )
            )
        elif having and not program.unsure:
            program.report(
                _present_already(
                    element.node.span,
                    node.name,
                    len(having) == len(state),
                    roles_of(having),
                    node.span,
                    program.checked.graph.chain(node.name),
                )
            )
        else:
            continue
        return False
    return True


def needs_edge(program: Program, source: str, target: str, span: Span) -> None:
    graph = program.checked.graph
    edges = writable(graph, source, target)
    if len(edges) > 1:
        program.report(
            errors.two_edges(span, source, target, [(e.span, "this one?") for e in edges])
        )
    elif not edges and program.checked.sound:
        wide = [
            (e.span, "does not say what to write")
            for e in graph.leaving(source)
            if e.target == target
        ]
        chain = graph.chain(target)
        of = chain.name if chain else ""
        what = f"would stand in front of `{target}`"
        program.report(errors.no_edge(span, source, target, wide, what, of))


def _pushed(
    program: Program, path: list[model.Node], place: Place, world: World, span: Span
) -> World:
    bits = sum(program.bit(n.name) for n in path)
    at = place.of(program, world)
    behind = place.behind.name if place.behind else ""
    after = world._replace(
        present=world.present | bits,
        pushed=world.pushed | bits,
        chain=(
            *world.chain[:at],
            *(program.position(n.name) for n in path),
            *world.chain[at:],
        ),
        changes=(*world.changes, Change("push", tuple(n.name for n in path), behind)),
    )
    if not at or place.before is None:
        return after
    previous = program.checked.graph.nodes[world.chain[at - 1]].name
    after = after._replace(owed=frozenset(d for d in after.owed if d.target != place.before.name))
    return announced(program, after, previous, path[0].name, span, popped=False)


# ---- errors ---------------------------------------------------------------------------------


def _present_already(
    span: Span,
    node: str,
    always: bool,
    roles: Sequence[str],
    where: Span,
    chain: model.Chain | None,
) -> Diagnostic:
    help = f"`pop` it first, or name another in the parser: `-> … as new_{node} when … on push`"
    if chain is not None:
        help = f"name another in the parser: `-> … as new_{node} when … on push`; or push where no "
        help += f"packet has it: `if not {node} {{…}}`"
    says = "every packet has it" if always else "some packets have it"
    return error(
        "H0286",
        f"`{node}` cannot be pushed: it is there already",
        (span, f"{says} here on {', '.join(roles)}"),
        (where, "this node"),
        help=help,
    )
