"""`pop NODE`: a link header by itself, whatever stands behind it."""

from __future__ import annotations

from ...lang import tree
from ...lang.text.diagnostics import Diagnostic, error
from ...lang.text.source import Span
from .. import model
from ..model.parse_graph import missing_selector
from . import errors
from .changes import Changed, announced, pushed_before
from .flow import Change, Scope, State, World
from .packets import PacketNames
from .read_behind import read_behind
from .stage_names import StageNames
from .stage_program import Program


def pop_link(program: Program, statement: tree.PopLink, state: State, scope: Scope) -> Changed:
    span = statement.span
    node = PacketNames(program.checked, program.found).node(statement.node)
    if node is None:
        program.unsure = True
        return Changed(None, state)
    if pushed_before(program, span, "a `pop`", state):
        return Changed(None, state)
    if (chain := program.checked.graph.chain(node.name)) is not None:
        program.report(_of_a_chain(statement.node.span, node.name, chain))
        program.unsure = True
        return Changed(None, state)
    present = StageNames(program, state, scope).present(node.name, statement.node.span)
    if not present or not all(_stands_alone(program, node, w, statement.node.span) for w in state):
        program.unsure = True
        return Changed(None, state)
    worlds = frozenset(_without(program, node, w, span, scope) for w in state)
    return Changed(model.PopLink(node.name, span), worlds)


def _stands_alone(program: Program, node: model.Node, world: World, span: Span) -> bool:
    """Whether what a link node says can be said by the one in front of it."""
    at = world.chain.index(program.position(node.name))
    if not 0 < at < program.leading(world):
        why = "the first header" if not at else "no link header in front of all others"
        program.report(_not_by_itself(span, node.name, f"it is {why} here"))
        return False
    if node.header.groups or node.header.size is not None:
        program.report(errors.unsupported(span, "popping a link header of several sizes"))
        return False
    return announces_alike(program, program.order(world)[at - 1], node, span)


def announces_alike(
    program: Program, front: model.Node, node: model.Node, span: Span, help: str = ""
) -> bool:
    """Whether a header has the fields by which another says what follows it."""
    name = missing_selector(program.checked.graph, front.name, node.name)
    if name:
        program.report(_not_told(span, front.name, name, node.name, node.header.span, help))
    return not name


def _without(program: Program, node: model.Node, world: World, span: Span, scope: Scope) -> World:
    """The packet without a link node; where it was the last of them and headers behind it were
    popped, the one in front of it has to announce what is left."""
    at = world.chain.index(program.position(node.name))
    left = world._replace(
        present=world.present & ~program.bit(node.name),
        chain=world.chain[:at] + world.chain[at + 1 :],
        owed=frozenset(d for d in world.owed if d.source != node.name),
        changes=(*world.changes, Change("pop", (node.name,))),
    )
    last = at + 1 == len(world.chain)  # nothing is left to be announced
    if not opened(program, world) or at + 1 < program.leading(world) or last:
        return left
    source, target = program.order(left)[at - 1 : at + 1]
    read_behind(program, source.name, target, span, scope)
    return announced(program, left, source.name, target.name, span, popped=True)


def opened(program: Program, world: World) -> bool:
    """Whether headers behind the leading link nodes were popped."""
    nodes = {n.name: n for n in program.checked.graph.nodes}
    popped = (name for c in world.changes if c.what == "pop to" for name in c.nodes)
    return any(not nodes[name].header.link for name in popped)


# ---- errors ---------------------------------------------------------------------------------


def _not_by_itself(span: Span, node: str, why: str) -> Diagnostic:
    return error(
        "H0325",
        f"`{node}` cannot be popped by itself",
        (span, why),
        help=f"`pop NODE` takes a tag away that stands behind another link header; `pop to {node}` "
        "removes what is in front of it",
    )


def _of_a_chain(span: Span, node: str, chain: model.Chain) -> Diagnostic:
    return error(
        "H0388",
        f"a pop of `{node}` would divide the chain `{chain.name}`",
        (span, "others of the chain may stand in front of it, and behind it"),
        (chain.span, "in any order"),
        help="the chain goes as a whole: pop to a header behind it, or drop the packet",
    )


def _not_told(
    span: Span, front: str, field: str, node: str, where: Span, help: str = ""
) -> Diagnostic:
    return error(
        "H0326",
        f"`{node}` has no `{field}` to say what follows it",
        (span, f"`{front}` says by its `{field}` what stands behind it"),
        (where, "this header has no such field of that width"),
        help=help or f"give `{node}` a field `{field}` as `{front}` has it",
    )
