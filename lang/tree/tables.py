"""Information elements, rules, and the state that packets leave."""

from __future__ import annotations

from typing import Literal

from .expressions import Call, Name, Node, Number, Path
from .statements import Assign


class Symbol(Node):
    """`TCP = 6` in an enumeration, or `BUFFER = 4 reserved`, whose doc comment says why."""

    name: Name
    value: Number
    reserved: bool = False
    doc: str = ""


class InformationElement(Node):
    """`ie action = 5, u8 { REDIRECT = 1 }`, `ie interface = 6, OVERLAY | port`,
    `ie sids = 9, ip6[8]`.

    `types` holds one type name, or several rule kinds and `port` where the value is a reference.
    `most`: how many values it may have.
    """

    name: Name
    number: Number
    types: tuple[Name, ...]
    symbols: tuple[Symbol, ...]
    doc: str = ""
    most: Number | None = None


class Match(Node):
    """`src_ip lpm user.src`; `kind` is exact, lpm, optional, ternary or range."""

    element: Name
    kind: Name
    operand: Path


class GivesList(Node):
    """`gives action, interface` (elements, all of them) or `gives FAR | LBR` (one rule of these
    kinds)."""

    names: tuple[Name, ...]
    alternatives: bool


class Spread(Node):
    """`spread FAR[1..16] by weight over hash(…)`."""

    kind: Name
    least: Number
    most: Number
    weight: Name | None
    over: Call


class Lists(Node):
    """`lists PEER[1..64]`."""

    kind: Name
    least: Number
    most: Number


class Counts(Node):
    """`counts packets, bytes`."""

    what: tuple[Name, ...]


class Meters(Node):
    """`meters mbr, burst`: the elements that say how fast packets of a rule may be; or the slots,
    of an entry. `unit`: `meters rate, burst in packets`."""

    elements: tuple[Name, ...]
    unit: Name | None = None


class Priority(Node):
    """`priority pref` (higher wins) or `precedence prec` (lower wins)."""

    kind: Literal["priority", "precedence"]
    element: Name


class Raise(Node):
    """`emit USAGE { pdr = PDR } after quota bytes`: the event that a rule raises. `word`: `after`
    or `each`; `unit`: `idle`, `packets` or `bytes`. `amount`: a number, or the element that says it
    (`amount.named`)."""

    event: Name
    fields: tuple[Assign, ...]
    word: Name
    amount: Number
    unit: Name


RuleClause = Match | GivesList | Spread | Lists | Counts | Meters | Priority | Raise


class Rule(Node):
    """`rule PDR [64k] named { … }`. `by`: the word behind `by`, which says how rules are found."""

    name: Name
    capacity: Number
    named: bool
    clauses: tuple[RuleClause, ...]
    doc: str = ""
    by: Name | None = None


# ---- state that packets leave ---------------------------------------------------------------


class Slot(Node):
    """`mac : mac`: a part of a state's key, or of what it holds."""

    name: Name
    type: Name


class Slots(Node):
    """`match vni : u24, mac : mac` or `gives remote : ip4`."""

    word: Literal["match", "gives"]
    slots: tuple[Slot, ...]


class Ages(Node):
    """`ages 300`, `ages lifetime idle`: seconds after which an entry is forgotten, or the slot that
    says them (`seconds.named`). `idle`: after it was recalled last, too."""

    seconds: Number
    idle: bool = False


StateClause = Slots | Counts | Meters | Ages


class State(Node):
    """`state FDB [64k] { match … gives … ages … }`: a table that packets write."""

    name: Name
    capacity: Number
    clauses: tuple[StateClause, ...]
    doc: str = ""


class Registers(Node):
    """`registers SKETCH[4][4096] : u32`: an array of numbers that packets change. `shape`: its
    length, or its rows and their length."""

    name: Name
    shape: tuple[Number, ...]
    type: Name
    doc: str = ""


# ---- events that packets raise ---------------------------------------------------------------


class Limit(Node):
    """`limit 1k per second, 10 by src`: how many of an event there may be, and how many of each
    source, which these fields tell apart."""

    most: Number
    per: Name
    each: Number | None = None
    by: tuple[Name, ...] = ()


class Event(Node):
    """`event SCAN { src : ip4, port : u16 } limit 1k per second`: what packets tell."""

    name: Name
    fields: tuple[Slot, ...]
    limit: Limit | None
    doc: str = ""
