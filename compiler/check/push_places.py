"""Where a push goes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from ...lang import tree
from ...lang.text.diagnostics import Diagnostic, error, listed
from ...lang.text.source import Span
from .. import model
from . import errors
from .chained_edits import not_of_a_chain
from .flow import Scope, State, World
from .link_pops import announces_alike, opened
from .packets import PacketNames
from .stage_names import StageNames
from .stage_program import Program


class Place(NamedTuple):
    """In front of a node, or behind a link node whatever follows that."""

    before: model.Node | None
    behind: model.Node | None = None

    def of(self, program: Program, world: World) -> int:
        """How many headers of a packet stand in front of it."""
        node = self.before or self.behind
        assert node is not None
        position = program.position(node.name)
        at = world.chain.index(position) if position in world.chain else 0
        return at + (self.before is None)


def place_of(
    program: Program, statement: tree.Push, path: list[model.Node], state: State, scope: Scope
) -> Place | None:
    """The same for every packet here; None, and reported, where there is none."""
    if statement.behind is None:
        before = _before(program, statement, path[-1], state, scope)
        place = Place(before) if before else None
    else:
        place = _behind(program, statement.behind, path, state, scope)
    return None if place is None or _unmeasured(program, statement, path, place, state) else place


def _behind(
    program: Program, name: tree.Name, path: list[model.Node], state: State, scope: Scope
) -> Place | None:
    node = PacketNames(program.checked, program.found).node(name)
    if node is None or not StageNames(program, state, scope).present(node.name, name.span):
        return None
    place = Place(None, node)
    if any(place.of(program, w) > program.leading(w) for w in state):
        why = f"`{node.name}` is no link header in front of all others"
        help = "push behind one of these, or `before` a node"
        program.report(_bad_before(name.span, why, help))
        return None
    if not any(w.pushed or opened(program, w) for w in state):
        help = "say what follows: `push … before NODE`"
        return place if announces_alike(program, node, path[-1], name.span, help) else None
    # It does not say what follows it any more: the edges do.
    orders = [program.order(w)[place.of(program, w) :] for w in state]
    following = {order[0].name if order else "" for order in orders}
    if len(following) > 1 or "" in following:
        why = f"what stands behind `{node.name}` was changed, and is not always the same"
        program.report(_bad_before(name.span, why, "say which: `push … before NODE`"))
        return None
    return Place(orders[0][0]) if _is_place(program, orders[0][0], name.span, state) else None


def _unmeasured(
    program: Program, statement: tree.Push, path: list[model.Node], place: Place, state: State
) -> bool:
    """Whether lengths or checksums would have to cover what nobody has parsed."""
    unknown = place.behind is not None or any(
        change.what == "push" and change.behind for w in state for change in w.changes
    )
    for element, node in zip(statement.path, path, strict=True):
        derived = (f.default for f in node.header.fields if isinstance(f.default, model.Derived))
        if unknown and any("payload" in d.over for d in derived):
            what = f"pushing `{node.name}` in front of what follows a link header"
            help = "say what follows: `push … before NODE`"
            program.report(errors.unsupported(element.node.span, what, help))
            return True
    return False


def _before(
    program: Program, statement: tree.Push, last: model.Node, state: State, scope: Scope
) -> model.Node | None:
    """The node that the push goes in front of; the same for every packet here."""
    if statement.before is not None:
        node = PacketNames(program.checked, program.found).node(statement.before)
        if node is None:
            return None
        if not not_of_a_chain(program, statement.before, node, "a push in front of"):
            return None
        names = StageNames(program, state, scope)
        present = names.present(node.name, statement.before.span, pushed=True)
        return node if present and _is_place(program, node, statement.before.span, state) else None
    graph = program.checked.graph
    targets = {e.target for e in graph.leaving(last.name)}
    outermost = {next((n for n in program.order(w) if n.name in targets), None) for w in state}
    if len(outermost) == 1 and None not in outermost:
        (found,) = outermost
        assert found is not None
        return found if _is_place(program, found, statement.path[-1].node.span, state) else None
    if not state:
        return next((n for n in graph.nodes if n.name in targets), None)
    _report_no_place(program, statement, last, targets, outermost)
    return None


def _is_place(program: Program, node: model.Node, span: Span, state: State) -> bool:
    """In front of a leading link header, or of the first node behind these; of a packet that was
    pushed upon, in front of that."""
    place, bit = Place(node), program.bit(node.name)
    for world in (w for w in state if w.present & bit):
        at, leading = place.of(program, world), program.leading(world)
        outermost = next((i for i, n in enumerate(world.chain) if world.pushed >> n & 1), at)
        if at != outermost:
            name = program.order(world)[outermost].name
            what = f"pushing in front of `{node.name}` behind a `push`"
            help = f"push in front of `{name}`, or all by one path: `push a / b`"
        elif at > leading:
            what = f"pushing between `{node.name}` and what stands in front of it"
            help = "pop to it first, and push again what stood in front of it"
        elif 0 < at < leading and not world.pushed and opened(program, world):
            what = f"pushing in front of `{node.name}` where headers behind it were popped"
            help = f"`pop {node.name}`, and push it again as well"
        else:
            continue
        program.report(errors.unsupported(span, what, help))
        return False
    return True


def _report_no_place(
    program: Program,
    statement: tree.Push,
    last: model.Node,
    targets: Iterable[str],
    outermost: set[model.Node | None],
) -> None:
    span = statement.path[-1].node.span
    names = sorted(n.name for n in outermost if n is not None)
    if not targets:
        program.report(
            _bad_before(
                span,
                f"no edge leaves `{last.name}`",
                f"add an edge `{last.name} -> … when …` to the parser",
            )
        )
    elif len(names) > 1:
        program.report(
            _bad_before(
                span,
                f"in front of {' or '.join(names)}, as the packet has it",
                "say which: `push … before NODE`",
            )
        )
    elif not program.unsure:
        expected = listed(sorted(targets))
        program.report(
            _bad_before(
                span,
                f"some packets here have nothing that `{last.name}` announces ({expected})",
                f"narrow with `if {sorted(targets)[0]} {{…}}`",
            )
        )


# ---- errors ---------------------------------------------------------------------------------


def _bad_before(span: Span, why: str, help: str) -> Diagnostic:
    return error("H0287", "there is no place for this push", (span, why), help=help)
