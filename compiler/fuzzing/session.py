"""Requests in their order, as a rule book takes them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol

from hypothesis import strategies as st

from ...lang.contract.manifest.manifest import Manifest
from ...lang.contract.request.request import Change, Operation, Request, RuleItem, request_text
from ...lang.contract.request.request_parser import parse_request
from ...lang.contract.rules.plan import Plan
from ...lang.contract.rules.rulebook import RuleBook
from ...lang.contract.world.environment import Environment
from ...lang.text.diagnostics import Refused
from ...lang.text.source import Source
from ..interpret.packet import Interpreter
from ..interpret.reached import Reached
from ..model import Attribute, RuleKind
from .packets import Drawn
from .rules import RuleMaker, There
from .sample import Sample
from .wanted import Leaf, operands, wanted

_MOST = 4  # rules of a kind
_FURTHER = 8  # requests that take a packet further


class Applying(Protocol):
    """Where a plan is carried out; refuses what there is no room for."""

    def apply(self, plan: Plan) -> None: ...


class Session:
    """Requests in their order, of which the rule book refuses none."""

    def __init__(
        self,
        maker: RuleMaker,
        draw: st.DrawFn,
        packets: Sequence[Drawn],
        before: Sequence[Request] = (),
    ) -> None:
        """Rules about these packets; `before` is what was requested already."""
        # A kind of which rules are held cannot be replaced: most sessions do without.
        self._maker = maker if draw(st.integers(0, 3)) else maker.with_held()
        self._draw = draw
        self._samples = [Sample(maker.pipeline, maker.world, p) for p in packets]
        self._book = new_book(maker.manifest, maker.world.environment)
        self._reached = Reached(comparing=True)
        self._interpreter = Interpreter(maker.pipeline, maker.world.environment, self._reached)
        self._copied: list[Drawn] = []
        for request in before:
            ask(self._book, request)

    def meeting(self) -> list[Drawn]:
        """Packets of which rules were taken: most meet these, if they are still there."""
        if not self._copied:
            return []
        return self._draw(st.lists(st.sampled_from(self._copied), min_size=1, max_size=3))

    def created(self) -> Iterator[Request]:
        """Rules of every kind, those that others refer to first: several in most requests."""
        draw, changes = self._draw, list[Change]()
        for kind in self._maker.kinds:
            for number in range(1, draw(st.integers(1, _MOST)) + 1):
                id_ = 1 if kind.grouped and draw(st.booleans()) else number
                change = Change("create", (self._rule(kind, id_),))
                if ask(self._book, Request((change,))) is not None:
                    changes.append(change)
            if changes and not draw(st.integers(0, 2)):
                yield Request(tuple(changes))
                changes = []
        if changes:
            yield Request(tuple(changes))

    def changed(self, kinds: Sequence[RuleKind] = ()) -> Iterator[Request]:
        """A request of one to three changes, if the rules may be changed so; of these kinds, if
        there are any."""
        kinds = kinds or self._maker.kinds
        if not kinds:
            return
        changes = tuple(
            self._change(kinds) for _ in range(self._draw(st.sampled_from((1, 1, 2, 3))))
        )
        for request in (Request(changes), Request(changes[:1])):
            if ask(self._book, request) is not None:
                yield request
                return

    def admitted(self, packet: Drawn) -> Iterator[Request]:
        """Rules that take the packet further, one after the other: of kinds that it is looked up in
        and misses, and what they give where that was compared last, in front of its end."""
        maker = self._maker
        known = {kind.name: kind for kind in maker.kinds}
        for _ in range(_FURTHER):
            self._reached.clear()
            frame = packet.arriving(maker.world)
            outcome = self._interpreter.run(self._book, frame, packet.port)
            missed = {name for what, name in outcome.events if what == "miss"}
            looks = [
                s for s in outcome.trace if s.what == "look" and s.name in missed & known.keys()
            ]
            if not looks:
                if not (turning := self._turning()):
                    return
                yield from self.given(self._draw(st.sampled_from(turning)))
                continue
            look = self._draw(st.sampled_from(looks))
            asked = {(look.name, t.name): t.value for t in look.values if t.value is not None}
            sample = Sample(maker.pipeline, maker.world, packet, asked)
            kind, there = known[look.name], self._there()
            number = max(there[kind.name], default=0) + 1
            rule = maker.rule(self._draw, kind, number, sample, there)
            request = Request((Change("create", (rule,)),))
            if ask(self._book, request) is not None:
                yield request

    def _turning(self) -> list[Leaf]:
        """What rules would have to give for the last comparison to come out the other way."""
        compared = self._reached.compared
        if not compared:
            return []
        environment = self._maker.world.environment
        wishes = wanted(compared[-1][0], operands(compared), environment)
        return [w for w in wishes if isinstance(w, Leaf) and isinstance(w.of, Attribute)]

    def given(self, leaf: Leaf) -> Iterator[Request]:
        """All rules of a kind give what is wanted of the one that a packet finds."""
        assert isinstance(leaf.of, Attribute)
        items = self._maker.giving(leaf.of.rule, leaf.of.element, leaf.value)
        for number in self._there().get(leaf.of.rule, ()) if items else ():
            request = Request((Change("update", (RuleItem(leaf.of.rule, number, None, items),)),))
            if ask(self._book, request) is not None:
                yield request

    def _change(self, kinds: Sequence[RuleKind]) -> Change:
        """Updates most often: they are what is easily forgotten somewhere."""
        draw, maker = self._draw, self._maker
        kind = draw(st.sampled_from(kinds))
        ids = self._there()[kind.name]
        words: list[Operation] = ["update", "update", "update", "delete", "replace"]
        operation = draw(st.sampled_from(words)) if ids else "create"
        match operation:
            case "update":
                sample = draw(st.sampled_from(self._samples))
                items = tuple(maker.changeable(draw, kind, self._there(), sample))
                number = draw(st.sampled_from(ids))
                return Change(operation, (RuleItem(kind.name, number, None, items),))
            case "delete":
                number = draw(st.sampled_from(ids))
                return Change(operation, (RuleItem(kind.name, number, block=False),))
            case "replace":
                numbers = range(1, draw(st.integers(1, _MOST)) + 1)
                return Change(operation, tuple(self._rule(kind, number) for number in numbers))
        return Change(operation, (self._rule(kind, max(ids, default=0) + 1),))

    def _rule(self, kind: RuleKind, number: int) -> RuleItem:
        sample = self._draw(st.sampled_from(self._samples))
        self._copied.append(sample.packet)
        return self._maker.rule(self._draw, kind, number, sample, self._there())

    def _there(self) -> There:
        return {
            name: sorted({r.id for r in self._book.rules(name) if not r.owner})
            for name in self._book.kinds
        }


def ask(book: RuleBook, request: Request, kernel: Applying | None = None) -> Plan | None:
    """Make it so in the book, and before that in the kernel; None if either refuses."""
    try:
        plan = book.plan(read_again(request))
        if kernel is not None:
            kernel.apply(plan)
    except Refused:
        return None
    book.commit(plan)
    return plan


def new_book(manifest: Manifest, environment: Environment) -> RuleBook:
    ports = environment.ports
    numbers, interfaces = {p.name: p.number for p in ports}, {p.number: p.ifindex for p in ports}
    return RuleBook(manifest, numbers, interfaces)


def read_again(request: Request) -> Request:
    """The request as its text says it: what a controller would send."""
    return parse_request(Source("request", request_text(request)))
