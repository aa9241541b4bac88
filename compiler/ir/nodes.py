"""Statements of the intermediate representation, and the functions that they make up."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, Self

from ...lang.contract.trace.schema import Point
from ...lang.text.frozen import Frozen
from ...lang.text.source import NOWHERE, Span
from .expr import Event, Expr, Name

#: A verdict, by the name of its counter.
Action = Literal["pass", "drop", "tx"]


class Statement(Frozen):
    """Every statement's last member is `span`: the text of the `.hp` file that it carries out."""

    if TYPE_CHECKING:

        @property
        def span(self) -> Span | None: ...

    def spanned(self, span: Span | None) -> Self:
        """The statement, just made, as one that carries out this text."""
        self.__dict__["span"] = span
        return self

    def nowhere(self) -> Self:
        """The same statement, without the text that it carries out."""
        made = object.__new__(type(self))
        made.__dict__.update(self.__dict__, span=None)
        return made


class Let(Statement):
    """A local variable, known to the end of its block; without a value it is undefined."""

    name: Name
    value: Expr | None
    span: Span | None = None


class LetArray(Statement):
    """An array in local memory: of these values, or of zeros where there are none."""

    name: Name
    values: tuple[Expr, ...] = ()
    span: Span | None = None


class LetStruct(Statement):
    """A structure in local memory: a copy, or zeros."""

    name: Name
    value: Expr | None
    span: Span | None = None


class Set(Statement):
    """`place` becomes the value, or with `operator` what both come to."""

    place: Expr
    value: Expr
    operator: Literal["", "+", "|"] = ""
    span: Span | None = None


class Store(Statement):
    """The value, as it stands in a packet, into so many bits from byte `at` behind a pointer on."""

    base: Expr
    at: Expr
    bits: int
    value: Expr
    span: Span | None = None


class Do(Statement):
    """A call for its effect."""

    call: Expr
    span: Span | None = None


class If(Statement):
    """`unlikely`: hardly a packet comes to `then`."""

    test: Expr
    then: Body
    otherwise: Body = ()
    unlikely: bool = False
    span: Span | None = None


class Block(Statement):
    """Statements with names of their own. With a `name`, C calls a function of that name for them,
    with these variables of what is around them. `does`: what one would be named after."""

    body: Body
    name: str = ""
    reads: tuple[Name, ...] = ()
    does: str = ""
    span: Span | None = None


class Repeat(Statement):
    """The body for the numbers from 0 on that `index` takes, as long as the test holds, but `most`
    times at most. Nothing that it declares is known in the next round."""

    index: Name
    most: int
    test: Expr
    body: Body
    span: Span | None = None


class AssumeNot(Statement):
    """The checker saw that the test never holds, which the verifier cannot see: if it does, the
    packet is dropped, and counted as an internal error."""

    test: Expr
    span: Span | None = None


class Count(Statement):
    """One more of an event; of the one that a variable says, where it is no `Event`."""

    event: Expr
    span: Span | None = None


class Emit(Statement):
    """The event of this name, of which `record` is an array: the fields as they lie in the ring,
    zeros in front of them and between. Written if the limits allow it and there is room."""

    event: str
    record: Expr
    span: Span | None = None


class CountRule(Statement):
    """One more packet, of so many bytes, by the rule of a cell; `sized`: by its size as well."""

    table: str
    cell: Expr
    length: Expr
    sized: bool = False
    span: Span | None = None


class Verdict(Statement):
    """The packet's way ends here, counted."""

    event: Event
    action: Action
    span: Span | None = None


class Return(Statement):
    """The function ends. `value` None: the next stage goes on."""

    value: Expr | None
    span: Span | None = None


class Internal(Statement):
    """An internal error: the packet is dropped, counted as such."""

    span: Span | None = None


class Label(Statement):
    """Where jumps lead to. `unlikely`: perhaps none does."""

    name: str
    unlikely: bool = False
    span: Span | None = None


class Jump(Statement):
    """The function goes on behind a label at its top."""

    if TYPE_CHECKING:

        @property
        def label(self) -> str: ...


class Goto(Jump):
    """`leaves`: what prepares the jump stays behind the test in front of it. `most`: how often the
    label is come to at most, of a jump that leads back."""

    label: str
    leaves: bool = False
    most: int = 0
    span: Span | None = None


class Next(Jump):
    """The parser goes on at the node of a label: `p` and `at` move on by the `size` of the header
    that they are at."""

    label: str
    p: Name
    at: Name
    size: Name
    span: Span | None = None


class Stop(Jump):
    """The parser stops at a label that says what is done: `variable` becomes the `event`."""

    label: str
    variable: Name
    event: Event
    span: Span | None = None


class Barrier(Statement):
    """A barrier: behind it nothing is known of what is in memory, for clang and the verifier."""

    span: Span | None = None


class Moved(Statement):
    """The frame may lie elsewhere: pointers into it are made again."""

    span: Span | None = None


class ForgetPlaces(Statement):
    """The scratch record says that the packet lacks these nodes, by the members for where they
    start."""

    members: tuple[str, ...]
    span: Span | None = None


class Opaque(Statement):
    """A variable is from here on a number of which clang knows nothing. `why` says to what end."""

    name: Name
    why: str = ""
    span: Span | None = None


class Clear(Statement):
    """So many bytes of memory become 0."""

    pointer: Expr
    count: int
    span: Span | None = None


class TraceStatement(Statement):
    """What a traced program records of a packet's way; the pass `trace_points` leaves all of these
    out of other programs."""


class Trace(TraceStatement):
    """A step, with words that go with it. `number`: its point's, which that pass gives."""

    point: Point
    words: tuple[Expr, ...] = ()
    number: int = 0
    span: Span | None = None


class TraceRule(TraceStatement):
    """The step that the rule of a cell is bound."""

    table: str
    point: Point
    cell: Expr
    epoch: Expr
    number: int = 0
    span: Span | None = None


class TraceNode(TraceStatement):
    """The parser found a node, by its index, at a byte of the frame."""

    index: int
    at: Expr
    span: Span | None = None


class TraceParsed(TraceStatement):
    """The parser is done: now it is known whether the packet is one that is asked for."""

    span: Span | None = None


class StatementStart(Statement):
    """A statement of the `.hp` file begins. Nothing local is needed from one to the next, but what
    was captured."""

    span: Span | None = None


class MakePointer(Statement):
    """A pointer is made here, for all ways that begin behind this."""

    pointer: Expr
    span: Span | None = None


class KnownNotNull(Statement):
    """From here on, to the end of the block, these pointers are known not to be null: a test in
    front saw it."""

    places: tuple[Expr, ...]
    span: Span | None = None


class Only(Statement):
    """Done only where the state is in memory (`memory`), or only where it is in registers: which of
    both it is `place_state` decides."""

    memory: bool
    body: Body
    span: Span | None = None


class Blank(Statement):
    """An empty line, for people."""

    span: Span | None = None


Body = tuple[Statement, ...]


class Function(Frozen):
    """A stage on one port role. Returns an XDP verdict, or CONTINUE if it falls out of its end.
    With an empty `stage` it is called by stages of its role with two numbers `a` and `b`, and finds
    what it needs in the scratch record: `takes` are the members that its callers have to put there
    first."""

    name: str
    stage: str
    role: str
    body: Body
    span: Span = NOWHERE
    takes: tuple[str, ...] = ()
