"""The ways through a function: which of them end, what is undefined on one, and which pointers into
the packet are good no more since the frame was moved."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace

from ...lang.text.source import Span
from . import expr as e
from . import nodes as n
from .edits import Copy, PacketEnd
from .expr import Expr
from .printer import print_expr
from .types import BYTES
from .walk import below, expressions, own_expressions

#: Functions of the runtime header that may move the frame, or one of its ends.
MOVES = {
    "bpf_xdp_adjust_head", "bpf_xdp_adjust_tail", "move_begin", "insert_vlan",
    "move_head", "move_end", "set_front", "set_copied_front", "move_copied_head",
    "send_copy", "send_part", "end_copy", "end_mirror",
}  # fmt: skip
#: Those whose result points into it.
POINTS = {"header_at", "packet_at", "pushed_at", "there_at", "limit_of"}

_STATE = "st->"
#: A variable, or a member of the state.
Place = e.Name | e.State


def moving(functions: Iterable[n.Function]) -> frozenset[str]:
    """Names of the functions that may move the frame, those of the runtime header with them."""
    found, before = set(MOVES), 0
    while len(found) > before:
        before = len(found)
        for f in functions:
            if any(_calls(x, found) for x in expressions(f.body)):
                found.add(f.name)
    return frozenset(found)


def _calls(x: Expr, functions: Iterable[str]) -> bool:
    return isinstance(x, e.Call | e.HelperCall) and x.function in functions


@dataclass(frozen=True)
class Facts:
    """What holds on one of the ways that lead to a statement: places without a value; those that
    point into the packet; those that did before the frame was moved."""

    undefined: frozenset[str] = frozenset()
    packet: frozenset[str] = frozenset()
    stale: frozenset[str] = frozenset()

    def joined(self, other: Facts | None) -> Facts:
        if other is None:
            return self
        return Facts(
            self.undefined | other.undefined, self.packet | other.packet, self.stale | other.stale
        )


@dataclass
class Ways:
    """`moves`: see `moving`. `placed`: the members of the state are where they are read from.
    `came`: those of them that point to where the frame was before the functions in front of this
    moved it; `left`: the same behind it. `falls`: a way leads to the end of the body; `continues`:
    one leads to the next stage."""

    body: n.Body
    moves: frozenset[str]
    placed: bool
    came: frozenset[str] = frozenset()
    left: frozenset[str] = frozenset()
    falls: bool = False
    continues: bool = False
    problems: dict[tuple[Span | None, str], None] = field(default_factory=dict)
    _labels: dict[str, Facts] = field(default_factory=dict)

    def __post_init__(self) -> None:
        start = Facts(packet=frozenset(self._pointers()) - self.came, stale=self.came)
        known: dict[str, Facts] | None = None
        while known != self._labels:  # some jumps lead back
            known = dict(self._labels)
            behind = self._body(self.body, start)
            self.falls = behind is not None
            if behind is not None:
                self._leave(behind)

    def _leave(self, facts: Facts) -> None:
        """The next function finds the state as it is."""
        self.left |= {place for place in facts.stale if place.startswith(_STATE)}

    def _pointers(self) -> Iterator[str]:
        """Members of the state that the parser left pointers in."""
        for x in expressions(self.body):
            if isinstance(x, e.State) and x.member.endswith("_h") and x.type == BYTES:
                yield _key(x)

    def _body(self, body: n.Body, facts: Facts | None) -> Facts | None:
        """The facts behind a body; None where no way leads there."""
        for s in body:
            if isinstance(s, n.Label) and (there := self._labels.get(s.name)):
                facts = there.joined(facts)
            if facts is not None:
                facts = self._statement(s, facts)
        return facts

    def _statement(self, s: n.Statement, facts: Facts) -> Facts | None:
        self._reads(s, facts)
        if any(_calls(x, self.moves) for x in own_expressions(s)):
            facts = replace(facts, packet=frozenset(), stale=facts.stale | facts.packet)
        match s:
            case n.Return() | n.Verdict() | n.Internal() | PacketEnd():
                if isinstance(s, n.Return) and s.value is None:
                    self.continues = True
                    self._leave(facts)
                return None
            case n.Jump():
                if isinstance(s, n.Stop):
                    facts = self._becomes(s.variable, s.event, facts)
                self._labels[s.label] = facts.joined(self._labels.get(s.label))
                return None
            case n.If(_, then, otherwise):
                ways = [self._body(arm, facts) for arm in (then, otherwise)]
                ends = [way for way in ways if way is not None]
                return ends[0].joined(ends[-1]) if ends else None
            case n.Block(body):
                return self._body(body, facts)
            case Copy(body):
                self._body(body, facts)
            case n.Only(_, body):
                return facts.joined(self._body(body, facts))
            case n.Repeat():
                return self._again(s, facts)
            case n.Let(name, None):
                return replace(facts, undefined=facts.undefined | {_key(name)})
            case n.Let(place, value) | n.LetStruct(place, value) if value is not None:
                return self._becomes(place, value, facts)
            case n.Set(e.Name() | e.State() as place, value, operator):
                return self._becomes(place, place if operator else value, facts)
        return facts

    def _again(self, s: n.Repeat, facts: Facts) -> Facts:
        """Behind a body that is done any number of times."""
        known: Facts | None = None
        while known != facts:
            known, facts = facts, facts.joined(self._body(s.body, facts))
            self._reads(s, facts)
        return facts

    def _becomes(self, place: Place, value: Expr, facts: Facts) -> Facts:
        key, packet = {_key(place)}, facts.packet
        packet = packet | key if self._points(value, facts) else packet - key
        return Facts(facts.undefined - key, packet, facts.stale - key)

    def _points(self, value: Expr, facts: Facts) -> bool:
        """Whether a value may point into the packet as it is now."""
        return value.type == BYTES and any(
            isinstance(x, e.Frame)
            or (isinstance(x, e.Call) and x.function in POINTS)
            or (isinstance(x, Place) and _key(x) in facts.packet)
            for x in below(value)
        )

    def _reads(self, s: n.Statement, facts: Facts) -> None:
        if not (facts.undefined or facts.stale):
            return
        for x in self._read(s):
            if not isinstance(x, Place):
                continue
            if _key(x) in facts.undefined:
                self._tell(s, f"`{print_expr(x)}` has no value on some way to here")
            if _key(x) in facts.stale and (self.placed or isinstance(x, e.Name)):
                what = f"`{print_expr(x)}` points to where the frame was before it was moved"
                self._tell(s, what)

    def _read(self, s: n.Statement) -> Iterator[Expr]:
        """The expressions that a statement reads: not the place that it sets, or declares."""
        match s:
            case n.Let(_, value) | n.LetStruct(_, value):
                parts = [] if value is None else [value]
            case n.LetArray(_, values):
                parts = list(values)
            case n.Stop(_, _, event):
                parts = [event]
            case n.Set(e.Name() | e.State(), value, ""):
                parts = [value]
            case _:
                yield from own_expressions(s)
                return
        for part in parts:
            yield from below(part)

    def _tell(self, s: n.Statement, text: str) -> None:
        self.problems[s.span, text] = None


def _key(x: Place) -> str:
    return x.name if isinstance(x, e.Name) else f"{_STATE}{x.member}"
