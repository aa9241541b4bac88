"""The clock and chance: `now`, `now(ntp)`, `clock.error`, `random(n)`."""

from __future__ import annotations

from typing import get_args

from ...lang import tree
from ...lang.text.diagnostics import Diagnostic, error
from ...lang.text.source import Span
from .. import model
from . import errors
from .expressions import Expressions
from .stage_program import Program
from .values import KINDS, Value, of_width

MOST = 1 << 32
_CLOCKS = tuple(clock for clock in get_args(model.Clock) if clock != "boot")

#: Nanoseconds of the units that a clock is asked for in other languages.
_UNITS = {
    "ns nanos nanoseconds": 1,
    "us micros microseconds": 1_000,
    "ms millis milliseconds": 1_000_000,
    "s sec secs seconds": 1_000_000_000,
    "min minutes": 60_000_000_000,
}


def now(span: Span) -> Value:
    return of_width(model.Now("boot"), 64, "uint", span, "`now`", None)


def clock(path: tree.Path, program: Program) -> Value | None:
    """`clock.error`"""
    if len(path.parts) == 2 and path.parts[1].text == "error" and path.index is None:
        expr = model.ClockError()
        return of_width(expr, expr.width, "uint", path.span, "`clock.error`", None)
    name = path.parts[min(1, len(path.parts) - 1)]
    help = "of the clock there is `clock.error`; `now` is the time"
    program.report(errors.unknown("field of `clock`", name, ("error",), help))
    return None


def now_call(call: tree.Call, program: Program) -> Value | None:
    """`now(ntp)`"""
    known = f"write `now`, {', '.join(f'`now({c})`' for c in _CLOCKS)}"
    match call.arguments:
        case (tree.Path(parts=(name,), index=None),):
            for each in get_args(model.Clock):
                if each == name.text != "boot":
                    what = f"`{call.span.text}`"
                    return of_width(model.Now(each), 64, "uint", call.span, what, None)
            otherwise = in_nanoseconds(name.text) or known
            program.report(errors.unknown("clock", name, _CLOCKS, otherwise))
        case _:
            program.report(errors.missing(call.span, "which clock to read", known))
    return None


def random_call(call: tree.Call, program: Program, within: Expressions) -> Value | None:
    """`random(n)`: 0 to n - 1."""
    if len(call.arguments) != 1:
        program.report(_no_bound(call.span))
        return None
    bound = within.value(call.arguments[0])
    if bound is None:
        return None
    if bound.kind != "uint":
        program.report(errors.wrong_kind(bound.span, KINDS[bound.kind], "a number"))
        return None
    if not 0 < bound.high <= MOST:
        program.report(_bad_bound(bound))
        return None
    place = program.randoms.setdefault(call.span, len(program.randoms))
    most = bound.high - 1
    width = max(1, most.bit_length())
    expr = model.Random(bound.expr, place, width)
    return Value(expr, width, "uint", 0, most, call.span, f"`{call.span.text}`")


def in_nanoseconds(asked: str) -> str:
    """What to write where a clock is asked for its time in a unit; "" of what is none."""
    unit = next((unit for words, unit in _UNITS.items() if asked in words.split()), 0)
    if unit > 1:
        return f"`now` counts nanoseconds: write `now / {unit}`"
    return "`now` counts nanoseconds" if unit else ""


# ---- errors ---------------------------------------------------------------------------------


def _no_bound(span: Span) -> Diagnostic:
    return error(
        "H0390",
        "`random` takes one number",
        (span, "how many values may come out?"),
        help="write `random(100)`, which is 0 to 99; `low + random(n)` begins elsewhere",
    )


def _bad_bound(bound: Value) -> Diagnostic:
    says = "always 0" if not bound.high else f"may be {bound.high:,}"
    return error(
        "H0390",
        f"`random` takes a number from 1 to {MOST:,}",
        (bound.span, says),
        help="write how many values may come out: `random(100)` is 0 to 99",
    )
