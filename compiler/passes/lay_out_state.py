"""Which members the state and the scratch record have: those that functions use. The last pass."""

from __future__ import annotations

from dataclasses import replace

from ..ir.expr import State
from ..ir.unit import NodeState, Unit
from ..ir.walk import expressions

_NUMBERS = {"length", "l4", "link", "queue"}


def lay_out_state(unit: Unit) -> Unit:
    """`unit.nodes` has all nodes before, those that are looked at after."""
    used = {
        x.member for f in unit.functions for x in expressions(f.body) if isinstance(x, State)
    } | {member for f in unit.functions for member in f.takes}
    nodes = tuple(
        NodeState(n.name, f"{n.name}_at" in used)
        for n in unit.nodes
        if {f"{n.name}_h", f"{n.name}_at"} & used
    )
    return replace(unit, nodes=nodes, kept_plain=tuple(sorted(used & _NUMBERS)))
