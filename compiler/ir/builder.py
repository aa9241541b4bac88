"""Builds the body of a function, statement by statement."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field, replace

from ...lang.text.source import Span
from .edits import Copy
from .expr import Call, Expr, Name, Operand, expr, not_
from .names import c_name
from .nodes import (
    AssumeNot,
    Block,
    Body,
    Count,
    Do,
    If,
    Internal,
    Let,
    LetArray,
    LetStruct,
    Only,
    Repeat,
    Return,
    Set,
    Statement,
    Store,
)
from .types import Array, Struct, Type


@dataclass
class Builder:
    """Collects statements; `at` says which text the following ones carry out."""

    statements: list[Statement] = field(default_factory=list)
    span: Span | None = None
    branches: int = 0  # of the function, so far
    named: int = 0  # the number in the name of the variable that was named last
    _captured: list[str] = field(default_factory=list)
    _outlives: set[str] = field(default_factory=set)

    def put(self, *made: Statement) -> None:
        self.statements += (each.spanned(self.span) for each in made)

    # ---- values

    def let(self, type_: Type, name: str, value: Operand | None = None) -> Name:
        """A variable of just that name."""
        made = Name(name, type_)
        self.put(Let(made, None if value is None else expr(value)))
        return made

    def local(self, type_: Type, stem: str, value: Operand | None = None) -> Name:
        """A variable of its own, to the end of its block."""
        return self.let(type_, self.fresh(stem), value)

    def capture(self, type_: Type, stem: str, value: Operand) -> Name:
        """A variable of its own, to the end of its block, or of the function if it has to `outlive`
        that."""
        made = self.local(type_, stem, value)
        self._captured.append(made.name)
        return made

    def array(self, type_: Array, stem: str, values: tuple[Expr, ...] = ()) -> Name:
        made = Name(self.fresh(stem), type_)
        self.put(LetArray(made, values))
        return made

    def struct(self, type_: Struct, name: str, value: Expr | None = None) -> Name:
        made = Name(name, type_)
        self.put(LetStruct(made, value))
        return made

    @property
    def captured(self) -> int:
        """How many variables were captured so far."""
        return len(self._captured)

    def outlive(self, since: int) -> None:
        """Let all of the function know the variables that were captured since."""
        self._outlives.update(self._captured[since:])

    def fresh(self, stem: str) -> str:
        """A C name not used before in this function."""
        self.named += 1
        return f"{c_name(stem)}_{self.named}"

    # ---- statements

    def set(self, place: Expr, value: Operand) -> None:
        self.put(Set(place, expr(value)))

    def add(self, place: Expr, value: Operand) -> None:
        self.put(Set(place, expr(value), "+"))

    def join(self, place: Expr, value: Operand) -> None:
        """`|=`."""
        self.put(Set(place, expr(value), "|"))

    def store(self, base: Expr, at: Operand, bits: int, value: Operand) -> None:
        self.put(Store(base, expr(at), bits, expr(value)))

    def do(self, function: str, *arguments: Operand) -> None:
        self.put(Do(Call(function, tuple(map(expr, arguments)))))

    def count(self, event: Expr) -> None:
        self.put(Count(event))

    def assume_not(self, test: Expr) -> None:
        """Leave where `test` holds: the checker saw that it does not, but the verifier cannot."""
        self.put(AssumeNot(test))

    def internal(self) -> None:
        self.put(Internal())

    def returns(self, value: Operand | None) -> None:
        self.put(Return(None if value is None else expr(value)))

    # ---- blocks

    @contextmanager
    def block(self, does: str = "") -> Iterator[None]:
        """`does`: what a function would be named after that is called for it."""
        with self._inner() as body:
            yield
        self.put(Block(tuple(body), does=c_name(does)))

    @contextmanager
    def copied(self, most: int = 0) -> Iterator[None]:
        """Done to a copy of the packet, of at most so many bytes."""
        with self._inner() as body:
            yield
        self.put(Copy(tuple(body), most))

    @contextmanager
    def repeated(self, index: Name, most: int, test: Expr) -> Iterator[None]:
        """Done for the numbers from 0 on, as long as the test holds."""
        with self._inner() as body:
            yield
        self.put(Repeat(index, most, test, tuple(body)))

    @contextmanager
    def when(self, test: Expr, unlikely: bool = False) -> Iterator[None]:
        with self._inner() as body:
            yield
        self.put(If(test, tuple(body), unlikely=unlikely))

    def unless(self, test: Expr) -> AbstractContextManager[None]:
        return self.when(not_(test))

    @contextmanager
    def otherwise(self, test: Expr | None = None) -> Iterator[None]:
        """What is done where the tests right in front do not hold; with a test of its own only
        where that does."""
        before = self.statements.pop()
        assert isinstance(before, If)
        with self._inner() as body:
            yield
        inner = tuple(body) if test is None else (If(test, tuple(body), span=self.span),)
        self.statements.append(_with_else(before, inner))

    def either(self, first: bool, test: Expr | None) -> AbstractContextManager[None]:
        """One arm of a chain of tests: the first, a later one, or without a test the last."""
        if not first:
            return self.otherwise(test)
        return self.block() if test is None else self.when(test)

    @contextmanager
    def only(self, memory: bool) -> Iterator[None]:
        """Done only where the state is in memory, or only where it is in registers."""
        with self._inner() as body:
            yield
        self.put(Only(memory, tuple(body)))

    @contextmanager
    def at(self, span: Span | None) -> Iterator[None]:
        before, self.span = self.span, span or self.span
        yield
        self.span = before

    @contextmanager
    def _inner(self) -> Iterator[list[Statement]]:
        outer, self.statements = self.statements, []
        try:
            yield self.statements
        finally:
            self.statements = outer

    @property
    def body(self) -> Body:
        """All of the function."""
        heads: list[Statement] = []
        body = tuple(self._widened(each, heads) for each in self.statements)
        return (*heads, *body) if heads else tuple(self.statements)

    def _widened(self, s: Statement, heads: list[Statement]) -> Statement:
        """The statement with what has to outlive its block declared at the head of the function."""
        match s:
            case Let(name, value) if name.name in self._outlives and value is not None:
                heads.append(Let(name, None, s.span))
                return Set(name, value, span=s.span)
            case If(test, then, otherwise, unlikely):
                return If(
                    test,
                    tuple(self._widened(each, heads) for each in then),
                    tuple(self._widened(each, heads) for each in otherwise),
                    unlikely,
                    s.span,
                )
            case Block(body) | Only(_, body) | Copy(body) | Repeat(_, _, _, body):
                return replace(s, body=tuple(self._widened(each, heads) for each in body))
        return s


def _with_else(chain: If, body: Body) -> If:
    """The chain of tests with one more arm."""
    if not chain.otherwise:
        return replace(chain, otherwise=body)
    (inner,) = chain.otherwise
    assert isinstance(inner, If)
    return replace(chain, otherwise=(_with_else(inner, body),))
