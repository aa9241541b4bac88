"""Rules as both planes understand them: what a controller asked for, checked and resolved."""

from __future__ import annotations

from typing import Literal, NamedTuple

Form = Literal["value", "prefix", "mask", "range"]


class Matcher(NamedTuple):
    """How one element matches. Canonical: a prefix has host bits 0 and is neither /0 nor full; a
    mask has value & mask = value and is neither 0 nor all ones (a contiguous mask of an `lpm`
    element is a prefix); a range is neither full nor a single value. What would match anything is
    left out of the rule. `other`: prefix length, mask, or upper end; 0 for a value."""

    form: Form
    value: int
    other: int = 0


class Reference(NamedTuple):
    """A rule by kind and id; kind "port": a port by number."""

    kind: str
    id: int


class Member(NamedTuple):
    """A member of a spread: the rule's id and its weight."""

    id: int
    weight: int


class Rule(NamedTuple):
    """One live rule. `sequence` (u48, from 1) is its identity and its age: lower is older.
    `match` holds (element, matcher) in the order of the kind's declaration, absent elements left
    out; `values` the elements with plain values; `references` those that refer; `target` what a
    kind with alternatives gives. `owner` is the sequence of the rule that owns it (nested without
    an id), or 0."""

    kind: str
    id: int
    sequence: int
    name: str = ""
    owner: int = 0
    priority: int = 0
    match: tuple[tuple[str, Matcher], ...] = ()
    values: tuple[tuple[str, int], ...] = ()
    references: tuple[tuple[str, Reference], ...] = ()
    target: Reference | None = None
    members: tuple[Member, ...] = ()
