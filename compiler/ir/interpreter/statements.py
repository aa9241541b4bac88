"""What statements do: one function, carried out for one packet."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from ....lang.text.frozen import kept
from .. import expr as e
from .. import nodes as n
from ..expr import Expr
from ..types import Struct, bits_of
from ..unit import Unit
from ..walk import own_expressions, statements
from .expressions import CONSTANTS, VALUES, Expressions, Numbers, Packet
from .memory import Fault, NotInterpreted, Pointer, Value

_NOWHERE: Any = object()  # the value of a name that is not declared
CONTINUE = -1  # what a stage returns that goes on
MOST_JUMPS = 10_000


class Counting(Packet, Protocol):
    """What statements tell of a packet. `behind`: of functions and labels
    what comes behind these."""

    behind: dict[tuple[str, str], n.Body]

    def count(self, event: int) -> None: ...
    def count_verdict(self, event: int, action: int) -> int: ...
    def count_rule(self, table: str, cell: int, length: int) -> None: ...
    def emit(self, event: str, record: Pointer) -> None: ...
    def internal(self) -> int: ...
    def trace_step(self, point: int, words: list[int]) -> None: ...
    def trace_rule(self, table: str, point: int, cell: int) -> None: ...
    def trace_node(self, index: int, at: int) -> None: ...


@dataclass(frozen=True)
class _Jump:
    label: str


@dataclass(frozen=True)
class _Result:
    value: int


_End = _Jump | _Result | None


class Execution(Expressions):
    """Of a function's body. `a`, `b`: a helper's numbers; `role`: that of a program, for the parser
    of all roles."""

    packet: Counting

    def __init__(
        self, packet: Counting, registers: Numbers, a: int = 0, b: int = 0, role: int = 0
    ) -> None:
        super().__init__(packet, registers)
        self.names.update(a=a, b=b, role=role)
        self.declared: dict[str, Value | None] = {}  # in this block; what the names were outside

    def run(self, function: n.Function) -> int:
        """What it returns."""
        body = function.body
        for _ in range(MOST_JUMPS):
            end = self._body(body)
            if not isinstance(end, _Jump):
                break
            body = self._behind(function, end.label)
        else:
            raise Fault(f"{function.name} does not end")
        if isinstance(end, _Result):
            return end.value
        if function.stage in ("", "parser"):
            raise Fault(f"{function.name} ends without a `return`")
        return CONTINUE

    def _behind(self, function: n.Function, label: str) -> n.Body:
        """The rest of a function behind a label."""
        key = function.name, label
        found = self.packet.behind.get(key)
        if found is None:
            at = next(
                i for i, s in enumerate(function.body) if isinstance(s, n.Label) and s.name == label
            )
            found = self.packet.behind[key] = function.body[at:]
        return found

    def _block(self, body: n.Body) -> _End:
        """What it declares goes with it."""
        outer, hidden = self.declared, dict[str, Value | None]()
        self.declared = hidden
        try:
            return self._body(body)
        finally:
            self.declared = outer
            for name, before in hidden.items():
                if before is _NOWHERE:
                    del self.names[name]
                else:
                    self.names[name] = before

    def _body(self, body: n.Body) -> _End:
        for s in body:
            way = _STATEMENTS.get(type(s))
            if way is None:
                raise NotInterpreted(type(s).__name__)
            end = way(self, s)
            if end is not None:
                return end
        return None

    # ---- ways -------------------------------------------------------------------------------

    def _if(self, s: n.If) -> _End:
        body = s.then if self.truth(s.test) else s.otherwise
        if not body:
            return None
        before = dict(self.made)  # what one way makes is not known behind it, nor what it has moved
        end = self._block(body)
        self.made = {name: x for name, x in before.items() if self.made.get(name) == x}
        return end

    def _repeat(self, s: n.Repeat) -> _End:
        before = self.names.get(s.index.name, _NOWHERE)
        for number in range(s.most):
            self.names[s.index.name] = number
            if not self.truth(s.test):
                break
            self.made.clear()  # another round may have moved the frame
            if (end := self._block(s.body)) is not None:
                return end
        self.made.clear()
        self.names[s.index.name] = before
        return None

    def _inner(self, s: n.Block) -> _End:
        return self._block(s.body)

    def _goto(self, s: n.Goto) -> _End:
        return _Jump(s.label)

    def _next(self, s: n.Next) -> _End:
        for place in (s.p, s.at):
            self._set(place, self.value(place) + self.number(s.size))
        return _Jump(s.label)

    def _stop(self, s: n.Stop) -> _End:
        self._set(s.variable, self.value(s.event))
        return _Jump(s.label)

    def _return(self, s: n.Return) -> _End:
        return _Result(CONTINUE if s.value is None else self.number(s.value))

    def _verdict(self, s: n.Verdict) -> _End:
        action = CONSTANTS[f"XDP_{s.action.upper()}"]
        return _Result(self.packet.count_verdict(s.event.index, action))

    def _internal(self, _: n.Internal) -> _End:
        return _Result(self.packet.internal())

    def _assume_not(self, s: n.AssumeNot) -> _End:
        return _Result(self.packet.internal()) if self.truth(s.test) else None

    # ---- what is made and set ---------------------------------------------------------------

    def _let(self, s: n.Let) -> None:
        self._declare(s.name.name, None if s.value is None else self._as(s.name, s.value))

    def _let_array(self, s: n.LetArray) -> None:
        self._declare(s.name.name, self.zeros(s.name.type))
        for i, value in enumerate(s.values):
            self._set(e.element(s.name, i), self.value(value))

    def _let_struct(self, s: n.LetStruct) -> None:
        made = self.zeros(s.name.type) if s.value is None else self.copied(s.value)
        self._declare(s.name.name, made)

    def _declare(self, name: str, value: Value | None) -> None:
        self.declared.setdefault(name, self.names.get(name, _NOWHERE))
        self.names[name] = value

    def _assign(self, s: n.Set) -> None:
        place = s.place
        if isinstance(place.type, Struct):
            self.place(place).put(bytes(self.copied(s.value).region.content))
            return
        found = self.value(s.value)
        if s.operator:
            before = self.value(place)
            if isinstance(found, Pointer):
                raise Fault(f"a pointer is added to {place}")
            if s.operator == "+":
                found = before + found
            elif isinstance(before, int):
                found |= before
        self._set(place, found)

    def _as(self, place: Expr, value: Expr) -> Value:
        found = self.value(value)
        return found if isinstance(found, Pointer) else found & self.mask(place)

    def _set(self, place: Expr, value: Value) -> None:
        if not isinstance(value, Pointer):
            value &= self.mask(place)
        match place:
            case e.Name(name):
                self.names[name] = value
            case e.State(member):
                self.kept(place)[member] = value
                self.made[member] = place
            case e.Member() | e.Element():
                if isinstance(value, Pointer):
                    raise Fault(f"a pointer is put into memory: {place}")
                self.place(place).store(bits_of(place.type), value)
            case _:
                raise Fault(f"no place to set: {place}")

    def _forget_places(self, s: n.ForgetPlaces) -> None:
        self.packet.scratch.update(dict.fromkeys(s.members, CONSTANTS["ABSENT"]))

    def _store(self, s: n.Store) -> None:
        self.pointer(s.base).store(s.bits, self.number(s.value), self.number(s.at))

    def _clear(self, s: n.Clear) -> None:
        self.pointer(s.pointer).put(bytes(s.count))

    # ---- effects ----------------------------------------------------------------------------

    def _do(self, s: n.Do) -> None:
        self.value(s.call)

    def _count(self, s: n.Count) -> None:
        self.packet.count(self.number(s.event))

    def _count_rule(self, s: n.CountRule) -> None:
        self.packet.count_rule(s.table, self.number(s.cell), self.number(s.length))

    def _emit(self, s: n.Emit) -> None:
        self.packet.emit(s.event, self.pointer(s.record))

    def _trace(self, s: n.Trace) -> None:
        self.packet.trace_step(s.number, [self.number(word) for word in s.words])

    def _trace_rule(self, s: n.TraceRule) -> None:
        self.packet.trace_rule(s.table, s.number, self.number(s.cell))

    def _trace_node(self, s: n.TraceNode) -> None:
        self.packet.trace_node(s.index, self.number(s.at))

    def _nothing(self, _: n.Statement) -> None:
        """It is for clang, for the verifier, or for people."""

    # ---- before `place_state` ---------------------------------------------------------------

    def _only(self, s: n.Only) -> _End:
        """Its names are those of the block around it."""
        self._unplaced(s)
        return self._body(s.body) if s.memory == self.packet.in_memory else None

    def _make_pointer(self, s: n.MakePointer) -> None:
        self.value(s.pointer)

    def _moved(self, _: n.Moved) -> None:
        self.made.clear()

    def _unplaced(self, s: n.Statement) -> None:
        if not self.packet.unplaced:
            raise Fault(f"not placed: {type(s).__name__}")


#: What carries out each kind of statement.
_STATEMENTS: dict[type[n.Statement], Callable[[Any, Any], _End]] = {
    n.If: Execution._if, n.Repeat: Execution._repeat,
    n.Block: Execution._inner, n.Goto: Execution._goto,
    n.Next: Execution._next, n.Stop: Execution._stop,
    n.Return: Execution._return, n.Verdict: Execution._verdict, n.Internal: Execution._internal,
    n.AssumeNot: Execution._assume_not, n.Let: Execution._let, n.LetArray: Execution._let_array,
    n.LetStruct: Execution._let_struct, n.Set: Execution._assign, n.Store: Execution._store,
    n.Clear: Execution._clear, n.Do: Execution._do, n.Count: Execution._count,
    n.CountRule: Execution._count_rule, n.Emit: Execution._emit, n.Trace: Execution._trace,
    n.TraceRule: Execution._trace_rule, n.TraceNode: Execution._trace_node,
    n.TraceParsed: Execution._nothing, n.Only: Execution._only,
    n.MakePointer: Execution._make_pointer, n.KnownNotNull: Execution._unplaced,
    n.ForgetPlaces: Execution._forget_places, n.Label: Execution._nothing,
    n.Barrier: Execution._nothing, n.Opaque: Execution._nothing,
    n.Moved: Execution._moved, n.StatementStart: Execution._nothing, n.Blank: Execution._nothing,
}  # fmt: skip


def knows(unit: Unit) -> bool:
    """Whether it is made of nothing but nodes that are interpreted; of a traced unit also whether
    its points have numbers."""
    points = None if unit.traced is None else set(unit.traced.points)
    return all(
        type(s) in _STATEMENTS
        and all(type(x) in VALUES for x in own_expressions(s))
        and (points is None or not isinstance(s, n.Trace | n.TraceRule) or s.point in points)
        for f in unit.functions
        for s in statements(f.body)
    )


@kept
def is_unplaced(unit: Unit) -> bool:
    """Whether `place_state` is still to come."""
    every = (s for f in unit.functions for s in statements(f.body))
    return any(
        isinstance(s, n.Only | n.MakePointer | n.KnownNotNull)
        or any(isinstance(x, e.StatePointer) for x in own_expressions(s))
        for s in every
    )
