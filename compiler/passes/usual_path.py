"""What most packets are is tested in one row, in front of a parser that keeps what it finds in
memory: the headers that the edges which are declared first lead to, each of its usual size, none in
a fragment. There every header has a fixed place: the frame's end is asked for once, and no place is
computed. Behind a header with optional parts, as GRE with its key, places are so from its end on.

A packet that fails a test of the row is parsed as before: nothing is written in front of the last
test. So the row need not say what is wrong with a packet, and may leave out what it does not know.
"""

from __future__ import annotations

from dataclasses import replace

from ..ir.expr import Number, State
from ..ir.nodes import Blank, ForgetPlaces, Function, Label, Let, Set, Statement
from ..ir.unit import Unit, with_functions
from ..ir.walk import parts_of
from .usual_row import OTHER, NoRow, Row


def usual_path(unit: Unit, in_memory: frozenset[str]) -> Unit:
    """`in_memory`: roles whose state is in the scratch record."""
    if unit.target == "nfp" or unit.traced is not None:
        return unit
    made = [
        _with_row(f, unit) if f.stage == "parser" and f.role in in_memory else f
        for f in unit.functions
    ]
    return with_functions(unit, made)


def _with_row(parser: Function, unit: Unit) -> Function:
    body = parser.body
    begin = next(i for i, s in enumerate(body) if not isinstance(s, Let | Set | ForgetPlaces))
    first = tuple(s for s in body[:begin] if not _resets(s))
    again = tuple(s for s in body[:begin] if _resets(s))
    row = Row(unit, parser.role, parts_of(body[begin:]), again)
    row.known.names |= {
        s.name.name: s.value for s in first if isinstance(s, Let) and isinstance(s.value, Number)
    }
    try:
        row.whole()
    except NoRow:
        return parser
    span = parser.span
    other = (Blank(span), Label(OTHER.label, span=span), *again, *body[begin:])
    return replace(parser, body=(*first, *row.fits(), *row.made, *other))


def _resets(s: Statement) -> bool:
    """Whether it says that the packet has nothing so far."""
    match s:
        case Set(State(), Number()) | ForgetPlaces():
            return True
    return False
