"""What statements do: one function, carried out for one packet."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Protocol

from .. import expr as e
from .. import nodes as n
from ..expr import Expr
from ..types import Struct, bits_of
from .expressions import CONSTANTS, Expressions, Numbers, Packet
from .memory import Fault, Pointer, Value, ones

CONTINUE = -1  # what a stage returns that goes on
MOST_JUMPS = 10_000


class Counting(Packet, Protocol):
    """What statements tell of a packet."""

    def count(self, event: int) -> None: ...
    def count_verdict(self, event: int, action: int) -> int: ...
    def count_rule(self, table: str, cell: int, length: int) -> None: ...
    def internal(self) -> int: ...


@dataclass(frozen=True)
class _Jump:
    label: str


@dataclass(frozen=True)
class _Result:
    value: int


_End = _Jump | _Result | None


class Execution(Expressions):
    """Of a function's body. `a`, `b`: a helper's numbers."""

    packet: Counting

    def __init__(self, packet: Counting, registers: Numbers, a: int = 0, b: int = 0) -> None:
        super().__init__(packet, registers)
        self.names.update(a=a, b=b)

    def run(self, function: n.Function) -> int:
        """What it returns."""
        body, at = function.body, 0
        labels = {s.name: i for i, s in enumerate(body) if isinstance(s, n.Label)}
        with self._scope():
            for _ in range(MOST_JUMPS):
                end = self._body(body[at:])
                if not isinstance(end, _Jump):
                    break
                at = labels[end.label]
            else:
                raise Fault(f"{function.name} does not end")
        if isinstance(end, _Result):
            return end.value
        if function.stage in ("", "parser"):
            raise Fault(f"{function.name} ends without a `return`")
        return CONTINUE

    @contextmanager
    def _scope(self) -> Iterator[None]:
        outer, self.names = self.names, self.names.new_child()
        try:
            yield
        finally:
            self.names = outer

    def _block(self, body: n.Body) -> _End:
        with self._scope():
            return self._body(body)

    def _body(self, body: n.Body) -> _End:
        for s in body:
            end = self._statement(s)
            if end is not None:
                return end
        return None

    def _statement(self, s: n.Statement) -> _End:
        match s:
            case n.If(test, then, otherwise):
                return self._block(then if self.truth(test) else otherwise)
            case n.Block(body):
                return self._block(body)
            case n.Goto(label):
                return _Jump(label)
            case n.Return(value):
                return _Result(CONTINUE if value is None else self.number(value))
            case n.Verdict(event, action):
                action_ = CONSTANTS[f"XDP_{action.upper()}"]
                return _Result(self.packet.count_verdict(event.index, action_))
            case n.Internal():
                return _Result(self.packet.internal())
            case n.AssumeNot(test):
                return _Result(self.packet.internal()) if self.truth(test) else None
        self._simple(s)
        return None

    def _simple(self, s: n.Statement) -> None:
        match s:
            case n.Let(name, value):
                self.names[name.name] = None if value is None else self._as(name, value)
            case n.LetArray(name, values):
                self.names[name.name] = self.zeros(name.type)
                for i, value in enumerate(values):
                    self._set(e.element(name, i), self.value(value))
            case n.LetStruct(name, value):
                made = self.zeros(name.type) if value is None else self.copied(value)
                self.names[name.name] = made
            case n.Set(place, value, operator):
                self._assign(place, value, operator)
            case n.Store(base, at, bits, value):
                (self.pointer(base) + self.number(at)).store(bits, self.number(value))
            case n.Do(call):
                self.value(call)
            case n.Count(event):
                self.packet.count(self.number(event))
            case n.CountRule(table, cell, length):
                self.packet.count_rule(table, self.number(cell), self.number(length))
            case n.Clear(pointer, count):
                self.pointer(pointer).put(bytes(count))
            case n.Trace(_, words):
                for word in words:
                    self.value(word)
            case n.TraceNode(_, at):
                self.value(at)
            case n.Only() | n.MakePointer() | n.KnownNotNull():
                raise Fault(f"not placed: {type(s).__name__}")

    def _assign(self, place: Expr, value: Expr, operator: str) -> None:
        if isinstance(place.type, Struct):
            self.place(place).put(bytes(self.copied(value).region.octets))
            return
        found = self.value(value)
        if operator:
            before = self.value(place)
            if isinstance(found, Pointer):
                raise Fault(f"a pointer is added to {place}")
            if operator == "+":
                found = before + found
            elif isinstance(before, int):
                found |= before
        self._set(place, found)

    def _as(self, place: Expr, value: Expr) -> Value:
        found = self.value(value)
        return found if isinstance(found, Pointer) else found & ones(bits_of(place.type))

    def _set(self, place: Expr, value: Value) -> None:
        if not isinstance(value, Pointer):
            value &= ones(bits_of(place.type))
        match place:
            case e.Name(name):
                scope = next(scope for scope in self.names.maps if name in scope)
                scope[name] = value
            case e.State(member, _, scratch):
                (self.packet.scratch if scratch else self.registers)[member] = value
            case e.Member() | e.Element():
                if isinstance(value, Pointer):
                    raise Fault(f"a pointer is put into memory: {place}")
                self.place(place).store(bits_of(place.type), value)
            case _:
                raise Fault(f"no place to set: {place}")
