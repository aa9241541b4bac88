"""`append`: the headers that become a packet's end."""

from __future__ import annotations

from ...lang import tree
from ...lang.text.source import Span
from .. import model
from ..model.checksums import is_checksum, nearest_network
from ..model.parse_graph import writable
from . import errors
from .assigns import decides_reading
from .chained_edits import not_of_a_chain
from .changes import Changed
from .flow import Change, Scope, State, World
from .packets import PacketNames
from .push_fields import element_of
from .pushes import can_be_pushed, needs_edge, read_back
from .read_behind import goes_on
from .rest_headers import not_written
from .stage_names import StageNames
from .stage_program import Program


def append(program: Program, statement: tree.Append, state: State, scope: Scope) -> Changed:
    packets, span = PacketNames(program.checked, program.found), statement.span
    nodes = [packets.node(name) for name in (statement.behind, *(e.node for e in statement.path))]
    found = [n for n in nodes if n is not None]
    if len(found) < len(nodes):
        program.unsure = True
        return Changed(None, state)
    behind, *path = found
    if not StageNames(program, state, scope).present(behind.name, statement.behind.span):
        program.unsure = True
        return Changed(None, state)
    if behind.header.takes_rest:
        program.report(not_written(behind, statement.behind.span))
        return Changed(None, state)
    if not not_of_a_chain(program, statement.behind, behind, "an append behind"):
        return Changed(None, state)
    link = next((e for e, n in zip(statement.path, path, strict=True) if n.header.link), None)
    if link is not None:
        program.report(errors.unsupported(link.node.span, "appending a link header"))
        return Changed(None, state)
    if any(w.chain[-1:] == (program.position(behind.name),) for w in state):
        goes_on(program, behind, statement.behind.span, scope)
    cut = frozenset(_cut(program, behind, w) for w in state)
    if _changed_before(program, span, state) or not can_be_pushed(
        program, statement.path, path, cut
    ):
        return Changed(None, state)
    for (source, target), said in zip(zip(found, path, strict=False), statement.path, strict=True):
        needs_edge(program, source.name, target.name, said.node.span)
    if not (_announces(program, behind, path[0], span) and _sums_alone(program, path, span)):
        return Changed(None, state)
    targets = [*path[1:], None]
    written = [
        element_of(program, e, path[i], targets[i], path[:i], state, scope, [found[i].name])
        for i, e in enumerate(statement.path)
    ]
    read_back(program, written, [behind.name], None, scope, span, ends=True)
    elements = tuple(w.element for w in written)
    for each in path:
        program.pushes[each.name] = span
    worlds = frozenset(_appended(program, behind, path, w) for w in cut)
    return Changed(model.Append(elements, behind.name, span), worlds)


def _cut(program: Program, behind: model.Node, world: World) -> World:
    """The packet without what stands behind a node."""
    position = program.position(behind.name)
    if position not in world.chain:
        return world
    chain = world.chain[: world.chain.index(position) + 1]
    return world._replace(chain=chain, present=sum(1 << i for i in chain))


def _appended(program: Program, behind: model.Node, path: list[model.Node], world: World) -> World:
    bits = sum(program.bit(n.name) for n in path)
    return world._replace(
        present=world.present | bits,
        pushed=world.pushed | bits,
        chain=(*world.chain, *(program.position(n.name) for n in path)),
        changes=(*world.changes, Change("append", tuple(n.name for n in path), behind.name)),
    )


def _changed_before(program: Program, span: Span, state: State) -> bool:
    if not any(w.changes for w in state):
        return False
    what = "`append` to a packet that was popped, pushed or appended to"
    help = "append first to what came, and all by one path: `append a / b behind X`"
    program.report(errors.unsupported(span, what, help))
    return True


def _announces(program: Program, behind: model.Node, first: model.Node, span: Span) -> bool:
    """Whether the header in front can announce what is put behind it, and is no other for it."""
    for edge in writable(program.checked.graph, behind.name, first.name)[:1]:
        for name, _ in edge.writes or ():
            field = behind.header.field(name)
            if decides_reading(behind.header, field) or field.group is not None:
                why = f"says how `{behind.name}` is read, and the edge to `{first.name}` writes it"
                name_of_field = f"{behind.name}.{name}"
                program.report(errors.not_assigned(span, name_of_field, why, field.span))
                return False
    return True


def _sums_alone(program: Program, path: list[model.Node], span: Span) -> bool:
    """Whether all checksums need no more than what is appended."""
    for i, node in enumerate(path):
        for field in filter(is_checksum, node.header.fields):
            assert isinstance(field.default, model.Derived)
            outer = [n.header for n in path[:i]]
            if "pseudo" in field.default.over and nearest_network(outer) is None:
                what = f"appending `{node.name}` without its IP header"
                program.report(errors.unsupported(span, what))
                return False
    return True
