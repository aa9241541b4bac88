"""Arrays of registers: their declarations, and what stages read of them and change."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import prod

from ...lang import tree
from ...lang.contract.manifest.manifest import MOST_COUNTED
from ...lang.text.diagnostics import Diagnostic, Diagnostics, error
from ...lang.text.source import Span
from .. import model
from ..model.walk import walk, walk_named
from . import errors
from .changes import Changed
from .edges import CheckedGraph
from .flow import Scope, State
from .header_fields import scalar
from .kinds import MOST_RULES
from .names import RESERVED
from .stage_names import StageNames
from .stage_program import Program
from .values import fits

_CHANGES: dict[str, model.RegisterChange] = {"": "=", "+": "+", "-": "-"}


def collect_registers(
    declared: Sequence[tree.Registers],
    taken: Mapping[str, Span],
    nodes: CheckedGraph,
    found: Diagnostics,
) -> dict[str, model.Registers]:
    """By name. `taken`: names of rule kinds and states, which they share."""
    folded = {name.lower(): span for name, span in taken.items()}
    registers: dict[str, model.Registers] = {}
    for each in declared:
        name = each.name
        node = next((n for n in nodes.graph.nodes if n.name == name.text), None)
        first = folded.setdefault(name.text.lower(), name.span)
        if first is not name.span:
            found.add(errors.declared_twice("rule kind, state or registers", name, first))
            continue
        if node is not None:
            found.add(errors.name_taken(name, "a node of the parse graph", node.span))
            continue
        if name.text in RESERVED or scalar(name.text) or name.text == "bytes":
            found.add(errors.name_taken(name, RESERVED.get(name.text, "a type")))
        registers[name.text] = _registers(each, found)
    return registers


def _registers(each: tree.Registers, found: Diagnostics) -> model.Registers:
    shape = tuple(length.value for length in each.shape)
    for length in each.shape:
        if not 1 <= length.value <= MOST_RULES:
            what = "the number of registers"
            found.add(errors.number_out_of_range(length.span, what, 1, MOST_RULES, "4M"))
    if all(shape) and max(shape) <= MOST_RULES < prod(shape):
        found.add(_too_many(each, prod(shape)))
    typed = scalar(each.type.text)
    if typed is None or typed[0] != "uint":
        types = ["u8", "u16", "u32", "u48"]
        found.add(errors.no_such_type(each.type, "u1 … u64", types))
    width = typed[1] if typed is not None and typed[0] == "uint" else 32
    return model.Registers(each.name.text, shape, width, each.doc, each.name.span)


def is_register(program: Program, path: tree.Path) -> bool:
    return path.parts[0].text in program.registers


def change(
    program: Program, written: tree.Update | tree.Assign, state: State, scope: Scope
) -> Changed:
    """`SKETCH[0][i] += 1`, `SEEN[i] = 1`."""
    path = written.slot if isinstance(written, tree.Update) else written.target
    operator = written.operator if isinstance(written, tree.Update) else ""
    names = StageNames(program, state, scope)
    value, known = names.expressions.value(written.value), names.register(path)
    if known is None or value is None:
        return Changed(None, state)
    assert isinstance(known.expr, model.Register)
    registers = program.registers[known.expr.registers]
    made = _CHANGES.get(operator)
    if made is None or (made != "=" and registers.width > MOST_COUNTED):
        program.report(_no_change(path, operator, registers, made is None))
        return Changed(None, state)
    match written.value:
        case tree.Binary(left=left, operator="+" | "-" as sign) if not operator and (
            left.span.text == path.span.text and value.high >> registers.width
        ):
            program.report(_in_two_steps(written, path.span.text, sign, written.value.right.span))
            return Changed(None, state)
    what = f"`{path.parts[0].text}`"
    kept = registers.name if known.expr in walk((value.expr,)) else ""
    if not fits(value, registers.width, "uint", what, registers.span, program.found, kept):
        return Changed(None, state)
    return Changed(model.SetRegister(known.expr, made, value.expr, written.span), state)


def lost_changes(stages: Iterable[model.Stage]) -> list[Diagnostic]:
    """Where a register is set from what was read of it: another CPU may have changed it since."""
    every = list(walk(tuple(stages)))
    named = {p.local: p.value for p in every if isinstance(p, model.Let)}
    return [
        _lost(part)
        for part in every
        if isinstance(part, model.SetRegister)
        and part.operator == "="
        and part.register in walk_named((part.value,), named)
    ]


# ---- errors ---------------------------------------------------------------------------------


def _too_many(each: tree.Registers, count: int) -> Diagnostic:
    first, last = each.shape[0].span, each.shape[-1].span
    return error(
        "H0251",
        f"`{each.name.text}` would be {count:,} registers",
        (first.to(last), "at most 4M"),
        help="a sketch of four rows has some thousands a row: `[4][4096]`",
    )


def _in_two_steps(
    written: tree.Update | tree.Assign, register: str, sign: str, by: Span
) -> Diagnostic:
    """`R[i] = R[i] + 1`"""
    return error(
        "H0220",
        f"`{written.value.span.text}` does not fit into `{register}`",
        (written.value.span, "read, and set in a second step"),
        help=f"write `{register} {sign}= {by.text}`: one step, which stops at the end of the range",
    )


def _no_change(
    path: tree.Path, operator: str, registers: model.Registers, other: bool
) -> Diagnostic:
    help = (
        "registers are added to, subtracted from and set: `+=`, `-=`, `=`; slots of a `state` "
        "take the others"
        if other
        else f"declare at most `u{MOST_COUNTED}` to count in them: 281 trillion"
    )
    labels = (path.span, f"`{operator}=` is not done here")
    where = (registers.span, f"declared as u{registers.width}")
    title = f"registers do not take `{operator}=`" if other else "these registers are only set"
    return error("H0484", title, labels, where, help=help)


def _lost(part: model.SetRegister) -> Diagnostic:
    name = part.register.registers
    return error(
        "H0316",
        f"of two packets at once, one may lose its update of `{name}`",
        (part.span, "another CPU may have changed the register since this packet read it"),
        help=f"add or subtract in one step: `{name}[…] += 1`; what else follows from the value "
        "before is kept in a slot of a `state`: `exchange S.n from A to B`",
        severity="warning",
    )
