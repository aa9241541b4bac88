"""What most packets are is tested in one row, in front of a parser that keeps what it finds in
memory: the headers that the edges which are declared first lead to, each of its usual size, none in
a fragment. There every header has a fixed place: the frame's end is asked for once, and no place is
computed.

A packet that fails a test of the row is parsed as before: nothing is written in front of the last
test. So the row need not say what is wrong with a packet, and may leave out what it does not know.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from ..headers.context import FRAGMENT_OF_CHAIN
from ..headers.frame import DATA, END
from ..ir.expr import ZERO, Binary, Expr, HelperCall, Name, Number, State, Symbol, binary, not_
from ..ir.expr_builders import either
from ..ir.names import chain_label, node_label
from ..ir.nodes import (
    Blank,
    Block,
    Body,
    ForgetPlaces,
    Function,
    Goto,
    If,
    Jump,
    Label,
    Let,
    Next,
    Opaque,
    Return,
    Set,
    Statement,
    StatementStart,
)
from ..ir.types import BYTES
from ..ir.unit import Unit, with_functions
from ..ir.walk import Parts, below, has_effects, parts_of
from ..model import Edge, Node
from .known import Known, conjuncts, fitted

#: Where a packet goes that is not of the row.
_OTHER = Goto("other", leaves=True)
#: The variables of the parser, and the member of the record, that a row knows the numbers of.
_FRAGMENTED = {"fragment", FRAGMENT_OF_CHAIN.member}
P, SIZE = Name("p", BYTES), "size"


class _NoRow(Exception):
    """The parser does what a row cannot."""


def usual_path(unit: Unit, in_memory: frozenset[str]) -> Unit:
    """`in_memory`: roles whose state is in the scratch record."""
    if unit.target == "nfp" or unit.traced is not None:
        return unit
    made = [
        _with_row(f, unit) if f.stage == "parser" and f.role in in_memory else f
        for f in unit.functions
    ]
    return with_functions(unit, made)


def _with_row(parser: Function, unit: Unit) -> Function:
    body = parser.body
    begin = next(i for i, s in enumerate(body) if not isinstance(s, Let | Set | ForgetPlaces))
    first = tuple(s for s in body[:begin] if not _resets(s))
    again = tuple(s for s in body[:begin] if _resets(s))
    row = _Row(unit, parser.role, parts_of(body[begin:]), again)
    row.known.names |= {
        s.name.name: s.value for s in first if isinstance(s, Let) and isinstance(s.value, Number)
    }
    try:
        row.whole()
    except _NoRow:
        return parser
    span = parser.span
    other = (Blank(span), Label(_OTHER.label, span=span), *again, *body[begin:])
    return replace(parser, body=(*first, *row.fits(), *row.made, *other))


def _resets(s: Statement) -> bool:
    """Whether it says that the packet has nothing so far."""
    match s:
        case Set(State(), Number()) | ForgetPlaces():
            return True
    return False


@dataclass
class _Row:
    """A row of tests, or one that branches off.

    `parts`: the parser's statements by label; `again`: those that say that the packet has nothing;
    `written`: what it has. `node`: the header that is tested; `onward`: the labels of those that
    may come behind it; `others`: what would lead to another one, asked last, when what leads to the
    usual one is known. `called`: within a function of the parser's, which `returned` a number."""

    unit: Unit
    role: str
    parts: Parts
    again: Body
    known: Known = field(default_factory=Known)
    made: list[Statement] = field(default_factory=list)
    refused: list[Expr] = field(default_factory=list)
    written: dict[str, Set] = field(default_factory=dict)
    node: Node | None = None
    onward: tuple[str, ...] = ()
    others: list[Expr] = field(default_factory=list)
    called: bool = False
    returned: Expr = ZERO

    def whole(self) -> None:
        """From the first header to the last."""
        for s in self.again:
            if isinstance(s, ForgetPlaces):
                self.known.state |= dict.fromkeys(s.members, Symbol("ABSENT"))
            elif isinstance(s, Set) and isinstance(s.place, State) and s.value:
                self.known.state[s.place.member] = s.value
        self.known.names[P.name] = DATA
        graph = self.unit.graph
        node = graph.entry(self.role)
        edges = graph.leaving(node.name, self.role)
        if not self._usual(node, edges):
            raise _NoRow
        labelled = self.parts.get(node_label(node.name), ())  # where edges lead back to it
        self._at_node(node, edges, (*self.parts[""], *labelled))

    def fits(self) -> Body:
        """Whether the frame has all bytes that are looked at."""
        most = self.known.most
        return (self._leave(DATA + most > END),) if most else ()

    def _leave(self, test: Expr) -> Statement:
        span = None if self.node is None else self.node.span
        return If(test, (replace(_OTHER, span=span),), unlikely=True, span=span)

    # ---- headers

    def _at_node(self, node: Node, edges: tuple[Edge, ...], part: Body) -> None:
        self._flush()
        self.node, self.onward = node, self._usual(node, edges)
        self._test_ahead(part)
        if not self._body(part):
            raise _NoRow

    def _usual(self, node: Node, edges: tuple[Edge, ...]) -> tuple[str, ...]:
        """The label that the first edge leads to, but for one to a tag; or those of all headers
        with nothing behind them, where the first is one."""
        graph = self.unit.graph
        targets = [graph.node(e.target) for e in edges]
        targets = [t for t in targets if not (t.header.link and node.header.link)]
        last = [t for t in targets if not graph.leaving(t.name, self.role)]
        found = last if targets[:1] == last[:1] else targets[:1]
        return tuple(dict.fromkeys(self._label(t.name) for t in found))

    def _label(self, name: str) -> str:
        chain = self.unit.graph.chain(name)
        return chain_label(chain.name) if chain else node_label(name)

    def _test_ahead(self, part: Body) -> None:
        """What the header says of the next one, first: its own size may follow from that."""
        if len(self.onward) != 1:
            return
        for s in part:
            if isinstance(s, If) and _leads_to(s.then) in self.onward:
                tests = [t for t in conjuncts(s.test) if self._of_header(t)]
                if all(self.known.truth(t) != Number(0) for t in tests):
                    for test in tests:
                        self._require(test)
                    return

    def _of_header(self, test: Expr) -> bool:
        """Whether nothing else is asked."""
        found = below(test)
        return P in found and all(x == P or not isinstance(x, Name | State) for x in found)

    def _go(self, label: str) -> None:
        graph = self.unit.graph
        for chain in graph.chains:
            if chain_label(chain.name) == label:
                node = graph.node(chain.members[0])
                edges = graph.leaving(node.name, self.role)
                behind = tuple(e for e in edges if e.target not in chain.members)
                return self._at_node(node, behind, self.parts[label])
        node = next(n for n in graph.nodes if node_label(n.name) == label)
        return self._at_node(node, graph.leaving(node.name, self.role), self.parts[label])

    # ---- statements

    def _body(self, body: Body) -> bool:
        """Whether the row ends within."""
        return any(map(self._statement, body))

    def _statement(self, s: Statement) -> bool:
        match s:
            case Blank() | Label() | Opaque() | Let(_, None):
                return False
            case StatementStart():
                self.made.append(s)
            case Let(place, value) | Set(Name() | State() as place, value, "") if value:
                self._set(place, self._value(value), s)
            case Set(Name() as place, value, "+" | "|" as operator):
                self._set(place, self._value(binary(operator, place, value)), s)
            case Block(inner):
                return self._body(inner)
            case If():
                return self._if(s)
            case Next(label, p, at, size):
                behind = self._value(at + size)
                self.known.names |= {at.name: behind, p.name: DATA + behind}
                return self._jump(Goto(label))
            case Goto():
                return self._jump(s)
            case Return(value) if value:
                self.returned = self._value(value)
                return True
            case _:
                raise _NoRow
        return False

    def _set(self, place: Name | State, value: Expr, s: Statement) -> None:
        said = place.name if isinstance(place, Name) else place.member
        if said in _FRAGMENTED:
            value = self._is(value, 0)
        elif said == SIZE and self.node is not None and self.onward:
            value = self._is(value, self.node.header.minimum)
        value = fitted(value, place)
        if isinstance(place, Name):
            self.known.names[said] = value
        else:
            self.known.state[said] = value
            self.written[said] = Set(place, value, span=s.span)

    def _is(self, value: Expr, expected: int) -> Expr:
        """The number that a value is, or has to be."""
        if isinstance(value, Number):
            return value
        self._require(value.is_(expected))
        return Number(expected)

    def _if(self, s: If) -> bool:
        found, label = self.known.truth(s.test), _leads_to(s.then)
        if found == Number(0):
            return self._body(s.otherwise)
        if isinstance(found, Number):
            return self._body(s.then)
        if label not in self.onward:
            if len(self.onward) == 1 and isinstance(s.then[-1], Next):
                self.others.append(found)
            else:
                self._refuse(found)
            return self._body(s.otherwise)
        if len(self.onward) == 1:
            self._require(found)
            while self.others:
                self._refuse(self.others.pop())
            return self._body(s.then)
        self._flush()
        branch = replace(
            self, known=self.known.copy(), made=[], refused=[], written=dict(self.written)
        )
        branch.known.holds(found)
        branch._body(s.then)
        fits = branch.fits() if branch.known.most > self.known.most else ()
        self.made.append(If(found, (*fits, *branch.made), span=s.span))
        self.known.fails(found)
        return False

    def _jump(self, s: Goto) -> bool:
        if s.label in self.onward:
            self._go(s.label)
        elif s.label == "done" and not self.called:
            self._flush()
            kept = (r for r in self.again if not (isinstance(r, Set) and self._rewritten(r)))
            self.made += [*kept, *self.written.values(), s]
        else:
            raise _NoRow
        return True

    def _rewritten(self, s: Set) -> bool:
        return isinstance(s.place, State) and s.place.member in self.written

    # ---- tests and values

    def _require(self, test: Expr) -> None:
        for each in conjuncts(test):
            self._refuse(not_(each))

    def _refuse(self, test: Expr) -> None:
        """Packets of which a test holds are not of the row."""
        match self.known.truth(test):
            case Number(0):
                return
            case Number():
                raise _NoRow
            case Binary("||", left, right):
                self._refuse(left)
                self._refuse(right)
            case found:
                self.refused.append(found)
                self.known.fails(found)

    def _flush(self) -> None:
        """One statement for what is refused of a header."""
        tests = [t for t in self.refused if not any(_weaker(t, other) for other in self.refused)]
        if tests:
            self.made.append(self._leave(either(tests)))
        self.refused = []

    def _value(self, x: Expr) -> Expr:
        if isinstance(x, HelperCall):
            return self._called(x)
        if has_effects(x):
            raise _NoRow
        return self.known.value(x)

    def _called(self, x: HelperCall) -> Expr:
        """What the function of a chain returns at its first header."""
        assert self.node is not None
        asked = self.role, x.function
        body = next(f.body for f in self.unit.functions if (f.role, f.name) == asked)
        parts, label = parts_of(body), node_label(self.node.name)
        if label not in parts:
            raise _NoRow
        outer = self.known.names, self.parts, self.node, self.onward
        self.known.names = {"a": self.known.value(x.a), "b": self.known.value(x.b)}
        self.parts, self.onward, self.called = parts, (label,), True
        self._body(self.parts[""])
        self.known.names, self.parts, self.node, self.onward = outer
        self.called = False
        return self.returned


def _weaker(test: Expr, other: Expr) -> bool:
    """Whether a test never holds where another one does not."""
    match test, other:
        case Binary("<", value, Number(bound)), Binary("<", same, Number(more)):
            return value == same and bound < more
    return False


def _leads_to(body: Body) -> str | None:
    """The label that a body jumps to."""
    last = body[-1] if body else None
    return last.label if isinstance(last, Jump) else None
