"""Which members the state and the scratch record have, and which numbers have names: those that
functions use. After all passes that change functions."""

from __future__ import annotations

from dataclasses import replace

from ..ir.expr import Expr, Number, State
from ..ir.names import is_local
from ..ir.nodes import Body, ForgetPlaces, If, Statement
from ..ir.rewrite import rewritten
from ..ir.types import Int, bits_of
from ..ir.unit import NodeState, Unit, with_functions
from ..ir.walk import expressions, statements

_NUMBERS = {"length", "l4", "link", "queue"}


def lay_out_state(unit: Unit) -> Unit:
    """`unit.nodes` has all nodes before, those that are looked at after."""
    every = [x for f in unit.functions for x in expressions(f.body) if isinstance(x, State)]
    taken = {member for f in unit.functions for member in f.takes}
    used = {x.member for x in every} | taken
    placed = {x.member for x in every if not x.scratch} | taken
    nodes = tuple(
        NodeState(n.name, f"{n.name}_at" in placed)
        for n in unit.nodes
        if {f"{n.name}_h", f"{n.name}_at"} & used
    )
    types = {x.member: x.type for x in every}
    locals_ = tuple(
        (member, bits_of(types[member]))
        for member in sorted(used)
        if is_local(member) and isinstance(types.get(member), Int)
    )
    kept_plain = tuple(sorted(used & _NUMBERS))
    places = {f"{n.name}_at" for n in nodes}
    made = [replace(f, body=_forgetting(f.body, places)) for f in unit.functions]
    unit = with_functions(unit, made)
    unit = replace(unit, nodes=nodes, kept_plain=kept_plain, locals=locals_)
    return _with_constants(unit)


def _forgetting(body: Body, places: set[str]) -> Body:
    """A parser that forgets the places that the record has, also where a row of tests ends
    (usual_path)."""

    def needless(s: Statement) -> bool:
        return isinstance(s, ForgetPlaces) and places.isdisjoint(s.members)

    def left(body: Body) -> Body:
        return tuple(
            replace(s, then=left(s.then), otherwise=left(s.otherwise)) if isinstance(s, If) else s
            for s in body
            if not needless(s)
        )

    return left(body) if any(map(needless, statements(body))) else body


def _with_constants(unit: Unit) -> Unit:
    """The names of numbers are declared; of those that two would have, the later stays a number."""
    constants: dict[str, int] = {}
    for f in unit.functions:
        for x in expressions(f.body):
            if isinstance(x, Number) and x.name:
                constants.setdefault(x.name, x.value)

    def change(x: Expr) -> Expr:
        if isinstance(x, Number) and x.name and constants[x.name] != x.value:
            return replace(x, name="")
        return x

    made = [replace(f, body=rewritten(f.body, change)) for f in unit.functions]
    return replace(with_functions(unit, made), constants=tuple(sorted(constants.items())))
