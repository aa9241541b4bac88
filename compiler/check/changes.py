"""Statements that change packets: what they leave, and `pop to`."""

from __future__ import annotations

from typing import NamedTuple

from ...lang import tree
from ...lang.text.source import Span
from .. import model
from ..model.parse_graph import writable
from . import errors
from .chained_edits import not_of_a_chain
from .flow import Change, Debt, Scope, State, World
from .packets import PacketNames
from .read_behind import read_behind
from .stage_names import StageNames
from .stage_program import Program


class Changed(NamedTuple):
    """A statement (None if it is wrong) and the packets that go on behind it."""

    statement: model.Statement | None
    state: State


def pop(program: Program, statement: tree.Pop, state: State, scope: Scope) -> Changed:
    node = PacketNames(program.checked, program.found).node(statement.node)
    if node is None:
        program.unsure = True
        return Changed(None, state)
    if pushed_before(program, statement.span, "a `pop`", state):
        return Changed(None, state)
    if not StageNames(program, state, scope).present(node.name, statement.node.span):
        program.unsure = True
        return Changed(None, state)
    if not not_of_a_chain(program, statement.node, node, "popping to") or not _can_be_popped(
        program, node, state, statement
    ):
        return Changed(None, state)
    links = {_link_in_front(program, node, w) for w in state} - {""}
    for link in sorted(links):  # once each: they are few, and classes of packets many
        read_behind(program, link, node, statement.span, scope)
    worlds = frozenset(_popped(program, node, w, statement.span) for w in state)
    return Changed(model.Pop(node.name, statement.span), worlds)


def _can_be_popped(program: Program, node: model.Node, state: State, statement: tree.Pop) -> bool:
    at = program.position(node.name)
    if any(0 < w.chain.index(at) < program.leading(w) for w in state):
        what = "popping to a link header behind another"
        help = "`pop NODE` takes away the one in front of it"
    else:
        return True
    program.report(errors.unsupported(statement.span, what, help))
    return False


def _gone(program: Program, node: model.Node, world: World) -> tuple[int, int]:
    """Which part of the chain goes: what lies between its leading link nodes and `node`."""
    at = world.chain.index(program.position(node.name))
    return 0 if node.header.link else min(program.leading(world), at), at


def _link_in_front(program: Program, node: model.Node, world: World) -> str:
    """The link node that then stands in front of `node` and did not before; or none."""
    keep, at = _gone(program, node, world)
    return program.checked.graph.nodes[world.chain[keep - 1]].name if 0 < keep < at else ""


def _popped(program: Program, node: model.Node, world: World, span: Span) -> World:
    """The packet without what goes."""
    keep, at = _gone(program, node, world)
    left = world._replace(
        present=world.present & ~sum(1 << i for i in world.chain[keep:at]),
        chain=world.chain[:keep] + world.chain[at:],
        changes=(*world.changes, Change("pop to", (node.name,))),
    )
    link = _link_in_front(program, node, world)
    return announced(program, left, link, node.name, span, popped=True) if link else left


def announced(
    program: Program, world: World, source: str, target: str, span: Span, popped: bool
) -> World:
    """A link node in front of something new: it can announce it, or owes that."""
    edges = writable(program.checked.graph, source, target)
    if len(edges) > 1:
        program.report(
            errors.two_edges(span, source, target, [(e.span, "this one?") for e in edges])
        )
    if edges:
        return world
    return world._replace(owed=world.owed | {Debt(span, source, target, popped)})


def appended_before(program: Program, span: Span, what: str, state: State) -> bool:
    if any(w.appended for w in state):
        help = "do that before, or push and append in one"
        program.report(errors.unsupported(span, what + " behind an `append`", help))
        return True
    return False


def pushed_before(program: Program, span: Span, what: str, state: State) -> bool:
    if appended_before(program, span, what, state):
        return True
    if any(w.pushed for w in state):
        program.report(errors.unsupported(span, what + " behind a `push`", "pop first"))
        return True
    return False
