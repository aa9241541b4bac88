"""What tables hold: information elements, the rules made of them, and what packets leave."""

from __future__ import annotations

from typing import Literal

from ...lang.contract.manifest.manifest import Raise
from ...lang.text.frozen import Frozen
from ...lang.text.source import NOWHERE, Span
from .values import Arrival, Given, Hash, Kind, Layer4, Packet


class Reserved(Frozen):
    """A value of an enumeration that no rule may have, and why."""

    name: str
    value: int
    reason: str = ""


class Element(Frozen):
    """An information element. `references` holds rule kinds and "port" where the value refers to
    one of them; then `width` is 32. `most`: it holds one to `most` values of `width` bits; 0: it
    holds one. `reserved`: values with a name that are none of `symbols`."""

    name: str
    number: int
    type: str  # as written: u8, ip4, mac …
    width: int
    kind: Kind
    symbols: tuple[tuple[str, int], ...] = ()
    references: tuple[str, ...] = ()
    doc: str = ""
    span: Span = NOWHERE
    most: int = 0
    reserved: tuple[Reserved, ...] = ()


class Match(Frozen):
    """`roles`: of a port of arrival, those of the packets for which the kind is looked up; empty
    where it may be any."""

    element: Element
    kind: Literal["exact", "lpm", "optional", "ternary", "range"]
    operand: Packet | Layer4 | Arrival | Given
    maybe_absent: bool  # the node may be absent where the rule is looked up
    span: Span = NOWHERE
    roles: tuple[str, ...] = ()


class Spread(Frozen):
    """256 slots over `least`..`most` members of rule kind `kind`; slot = hash >> 24. Without a hash
    it is a list of them."""

    kind: str
    least: int
    most: int
    weight: str | None  # the element that weighs a member; 1 where absent
    hash: Hash | None


class Requirement(Frozen):
    """A rule must give `element` whenever each element of `when` has one of the values; where
    `references` is not empty, the reference must be to one of those kinds. Derived from what the
    stages read, so that a rule which could not be carried out is refused when it is made."""

    element: str
    when: tuple[tuple[str, tuple[int, ...]], ...] = ()
    references: tuple[str, ...] = ()


class RuleKind(Frozen):
    """`gives` are elements; `alternatives` the rule kinds of which a rule refers to exactly one.
    `grouped`: rules share an id and differ in their match (reached by `choose … from`).
    `meters`: of `gives`, the elements of its meter, in bits a second and bytes, or (`packet_meter`)
    in packets: rate and burst; CIR, CBS and EBS (RFC 2697); CIR, CBS, PIR and PBS (RFC 2698).
    `hashed`: a target that finds rules by a hash of its own takes the jhash of what they match.
    `raises`: the events that its rules raise by their age and by what they counted."""

    name: str
    capacity: int
    named: bool = False
    match: tuple[Match, ...] = ()
    gives: tuple[Element, ...] = ()
    alternatives: tuple[str, ...] = ()
    spread: Spread | None = None
    counts: tuple[str, ...] = ()
    priority: tuple[Literal["priority", "precedence"], Element] | None = None
    grouped: bool = False
    requires: tuple[Requirement, ...] = ()
    doc: str = ""
    span: Span = NOWHERE
    hashed: bool = False
    meters: tuple[Element, ...] = ()
    packet_meter: bool = False
    raises: tuple[Raise, ...] = ()


# ---- state that packets leave ---------------------------------------------------------------


class Slot(Frozen):
    """A part of a state's key or of what it holds. `port`: a port's number. `rule`: it says which
    rule of this kind, by id and sequence."""

    name: str
    width: int
    kind: Kind
    port: bool = False
    rule: str = ""
    span: Span = NOWHERE


class EventField(Frozen):
    """`port`: a port's number. `rule`: it says which rule of this kind, by id and sequence."""

    name: str
    width: int
    kind: Kind
    port: bool = False
    rule: str = ""
    span: Span = NOWHERE


class EventKind(Frozen):
    """What packets tell of. `rate`: records a second, and `each`: of each source (0: any number);
    sources are told apart by the fields `by`."""

    name: str
    fields: tuple[EventField, ...]
    rate: int
    each: int = 0
    by: tuple[str, ...] = ()
    doc: str = ""
    span: Span = NOWHERE


class State(Frozen):
    """A table that packets write: the least recently used entry gives way to a new one. `ages`:
    seconds after which an entry is not recalled (0: never), or `lifetime`: the slot that says them;
    since it was remembered, or (`idle`) recalled. `in_place`: a packet may change an
    entry where it is, or ask whether there was one. `counts`: the last slots that it `gives`, in
    which an entry counts packets or bytes each time that it is bound. `meters`, `packet_meter`: as
    of a rule kind, by slots that it gives."""

    name: str
    capacity: int
    match: tuple[Slot, ...]
    gives: tuple[Slot, ...]
    ages: int = 0
    doc: str = ""
    span: Span = NOWHERE
    lifetime: str = ""
    idle: bool = False
    in_place: bool = False
    counts: tuple[str, ...] = ()
    meters: tuple[Slot, ...] = ()
    packet_meter: bool = False

    @property
    def given(self) -> tuple[Slot, ...]:
        """The slots that `remember` says, of those that it gives."""
        return self.gives[: len(self.gives) - len(self.counts)]


class Registers(Frozen):
    """An array of numbers of `width` bits that packets change, 0 at first. `shape`: its length, or
    its rows and their length."""

    name: str
    shape: tuple[int, ...]
    width: int
    doc: str = ""
    span: Span = NOWHERE
