"""What functions are made of: all statements, all expressions, and what these use."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields
from typing import Any, cast

from ...lang.text.frozen import Frozen, kept
from .edits import Copy
from .expr import Call, Expr, HelperCall, Part, RecordOf, RegisterCall, StateCall, TableCall, Which
from .nodes import (
    AssumeNot,
    Blank,
    Block,
    Body,
    CountRule,
    Function,
    If,
    Internal,
    Jump,
    Label,
    Only,
    Repeat,
    Return,
    Statement,
    TraceRule,
    Verdict,
)
from .types import bits_of

#: Statements that others are within: few of all.
_NESTING = frozenset((If, Block, Only, Copy, Repeat))


def statements(body: Body) -> Iterator[Statement]:
    """All of a body, outer ones first."""
    left = [*reversed(body)]
    while left:
        s = left.pop()
        yield s
        if type(s) in _NESTING:
            for inner in reversed(blocks(s)):
                left += inner[::-1]


def blocks(s: Statement) -> tuple[Body, ...]:
    """The bodies within a statement."""
    match s:
        case If(_, then, otherwise):
            return then, otherwise
        case Block(body) | Only(_, body) | Copy(body) | Repeat(_, _, _, body):
            return (body,)
    return ()


#: The statements in front of the first label, then those from each label on, by its name.
Parts = dict[str, Body]


def parts_of(body: Body) -> Parts:
    parts: dict[str, list[Statement]] = {"": []}
    at = parts[""]
    for i, s in enumerate(body):
        labelled = body[i + 1] if isinstance(s, Blank) and i + 1 < len(body) else s
        if isinstance(labelled, Label) and labelled.name not in parts:
            at = parts[labelled.name] = []
        at.append(s)
    return {label: tuple(part) for label, part in parts.items()}


def ends(body: Body) -> bool:
    """Whether no way leads behind a body."""
    match body[-1] if body else None:
        case Verdict() | Return() | Internal() | Jump():
            return True
        case If(_, then, otherwise):
            return ends(then) and ends(otherwise)
        case Block(inner):
            return ends(inner)
    return False


def may_end(body: Body) -> bool:
    """Whether a packet's way may end within a body."""
    return any(isinstance(s, Verdict | Return | Internal | AssumeNot) for s in statements(body))


#: How the types of fields begin that hold no nodes.
_PLAIN = (
    "int", "str", "bool", "Int", "Type", "Operator", "Literal", "Span", "Point", "tuple[str",
    "tuple[tuple[int",
)  # fmt: skip
_HOLDING: dict[Any, tuple[str, ...]] = {}


def holding(kind: type[Frozen]) -> tuple[str, ...]:
    """The fields of a kind of node that may hold others."""
    if kind not in _HOLDING:
        every = fields(cast(Any, kind))
        _HOLDING[kind] = tuple(f.name for f in every if not str(f.type).startswith(_PLAIN))
    return _HOLDING[kind]


def children(x: Expr) -> list[Expr]:
    """The expressions that one is made of, directly."""
    found: list[Expr] = []
    for name in holding(type(x)):
        part = getattr(x, name)
        if isinstance(part, tuple):
            found += part
        else:
            found.append(part)
    return found


def reads(x: Expr, part: Expr) -> bool:
    """Whether an expression contains another."""
    return x == part or any(reads(child, part) for child in children(x))


@kept
def own_expressions(s: Statement) -> tuple[Expr, ...]:
    """All of a statement, but of statements within it: asked by passes and analyses again and
    again, while most statements stay what they are."""
    return tuple(_all_of([x for name in holding(type(s)) for x in _parts(getattr(s, name))]))


def _parts(value: object) -> Sequence[Expr]:
    if isinstance(value, Expr):
        return (value,)
    if isinstance(value, Part):
        return [x for name in holding(type(value)) for x in _parts(getattr(value, name))]
    if isinstance(value, tuple) and value:
        if isinstance(value[0], Expr):
            return value
        if isinstance(value[0], Part):
            return [x for part in value for x in _parts(part)]
    return ()


def below(x: Expr) -> list[Expr]:
    """An expression, and all that it is made of."""
    return _all_of([x])


def _all_of(some: list[Expr]) -> list[Expr]:
    """Expressions and all that they are made of, in the order in which they are written."""
    found, left = list[Expr](), some[::-1]
    while left:
        x = left.pop()
        found.append(x)
        left += children(x)[::-1]
    return found


def expressions(body: Body) -> Iterator[Expr]:
    for s in statements(body):
        yield from own_expressions(s)


def operations(function: Function, words: Mapping[str, int]) -> int:
    """How many statements and expressions it is made of: some one and a half instructions each.
    `words`: of a key and an entry of each state, by prefix; what is done to states stands in place
    of each call."""
    found = 0
    for s in statements(function.body):
        own = own_expressions(s)
        found += 1 + len(own)
        found += sum(_of_state(x, words) for x in own if isinstance(x, StateCall))
        found += sum(_OF_REGISTER for x in own if isinstance(x, RegisterCall))
        found += sum(map(compared, (x for x in own if isinstance(x, Which))))
    return found


_OF_REGISTER = 15


def compared(x: Which) -> int:
    """How many operations the comparisons with its ranges are."""
    return len(x.ranges) * (8 if bits_of(x.subject.type) > 64 else 2)


def _of_state(x: StateCall, words: Mapping[str, int]) -> int:
    if x.slot:
        return 75
    if x.what == "meter":  # most of it in a function of its own
        return 30
    if len(x.arguments) == 2:  # the kernel's own table
        return 30 + 5 * words[x.state]
    return 150 + 14 * words[x.state]


#: Those that have to do with domain names.
NAMES = {"name_bytes", "name_key", "text_key"}

#: Functions of the runtime header that change nothing.
PURE = {
    "add_limited", "arrival_port", "clock_error", "epoch_now", "fold", "folded", "forgotten",
    "frame_length", "header_at", "is_bare", "jhash_words", "larger_of", "leading", "limit_of",
    "moved", "name_bytes", "ntp_time", "opaque", "packet_at", "packet_time", "ptp_time",
    "pushed_at", "random_below", "smaller_of", "subtract_limited", "there_at", "times", "utc_time",
}  # fmt: skip


def has_effects(x: Expr) -> bool:
    """Whether to compute it changes anything, or asks a table."""
    return any(
        isinstance(part, TableCall | StateCall | RegisterCall | HelperCall | RecordOf)
        or (isinstance(part, Call) and part.function not in PURE)
        for part in below(x)
    )


def helpers_of(function: Function) -> set[str]:
    """Names of the functions that it calls."""
    return {x.function for x in expressions(function.body) if isinstance(x, HelperCall)}


def tables_of(function: Function) -> set[str]:
    """Prefixes of the rule kinds whose maps it uses."""
    read = {x.table for x in expressions(function.body) if isinstance(x, RecordOf)}
    return asked_in(function) | read


def asked_in(function: Function) -> set[str]:
    """Prefixes of those of which it needs more than records that were found before."""
    found = {s.table for s in statements(function.body) if isinstance(s, CountRule | TraceRule)}
    return found | {x.table for x in expressions(function.body) if isinstance(x, TableCall)}


def counted_in(function: Function) -> set[str]:
    """Prefixes of the rule kinds whose rules it counts."""
    return {s.table for s in statements(function.body) if isinstance(s, CountRule)}


def states_of(function: Function) -> set[str]:
    """Prefixes of the states and registers whose maps it uses."""
    every = list(expressions(function.body))
    found = {x.registers for x in every if isinstance(x, RegisterCall)}
    return found | {x.state for x in every if isinstance(x, StateCall)}


def looked_up_in(function: Function) -> set[str]:
    """Prefixes of the rule kinds in which it looks for the best rule."""
    uses = (x for x in expressions(function.body) if isinstance(x, TableCall))
    return {x.table for x in uses if x.what == "find"}
