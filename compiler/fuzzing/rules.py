"""Rules for a pipeline: their matches taken from packets, so that some packets meet them; requests
that create, update, replace and delete them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Protocol

from hypothesis import strategies as st

from ...lang.diagnostics import Refused
from ...lang.request import IE, Change, Operation, Request, RuleItem, request_text
from ...lang.request_parser import parse_request
from ...lang.source import Source
from ..interpreter.environment import Environment
from ..interpreter.octets import Value
from ..interpreter.parse_packet import PacketParser
from ..lowering.reads import reads
from ..manifest import Manifest
from ..model import Element, Given, Layer4, Match, Packet, Pipeline, RuleKind
from ..requests.ie_values import Codec, Fault
from ..requests.lists import packed
from ..requests.plan import Plan
from ..requests.rulebook import RuleBook
from ..requests.rulekinds import Kind
from ..sums import LAYER4
from .packets import Drawn
from .world import World

_MOST = 4  # rules of a kind
_FEW = (
    0,
    1,
)  # of what one rule gives and another is looked up by: so that they meet; fits any width
There = Mapping[str, list[int]]  # ids by kind


class Applying(Protocol):
    """Where a plan is carried out; refuses what there is no room for."""

    def apply(self, plan: Plan) -> None: ...


class Sample:
    """What a packet has to match, field by field."""

    def __init__(self, pipeline: Pipeline, world: World, drawn: Drawn) -> None:
        port = world.environment.port(drawn.port)
        assert port is not None
        self.packet, self._port = drawn, drawn.port
        parsed = PacketParser(pipeline.graph).parse(port.role, drawn.frame)
        self._fields: dict[tuple[str, str], Value] = {
            (layer.name, name): value
            for layer in parsed.layers
            for name, value in layer.fields.items()
        }
        self._layer4 = [x for x in parsed.layers if x.header.protocol in LAYER4]

    def value(self, match: Match) -> int | None:
        """What the packet has where the rule kind looks; None if nothing."""
        operand = match.operand
        if isinstance(operand, Packet):
            found = self._fields.get((operand.node, operand.field))
            return found if isinstance(found, int) else None
        if isinstance(operand, Layer4):
            return self._layer4[-1].octets.number(operand.which) if self._layer4 else 0
        return self._port if match.element.references == ("port",) else None


class RuleMaker:
    """Strategies for the rules of one pipeline."""

    def __init__(self, pipeline: Pipeline, manifest: Manifest, world: World) -> None:
        self.pipeline, self.manifest, self.world = pipeline, manifest, world
        self._kinds = {r.name: Kind(manifest, r) for r in manifest.rules}
        self._order = _by_need(pipeline)
        given = {element.name for rule in pipeline.rules for element in rule.gives}
        self._joins = {
            match.element.name
            for rule in pipeline.rules
            for match in rule.match
            if isinstance(match.operand, Given)
            and match.element.kind == "uint"
            and match.element.name in given
            and not match.element.symbols
        }
        self._next_hops = {(kind, address) for kind, _, address in reads(pipeline).next_hops}

    def session(self, draw: st.DrawFn, drawn: Sequence[Drawn]) -> Session:
        """Requests about these packets, one after the other."""
        samples = [Sample(self.pipeline, self.world, packet) for packet in drawn]
        return Session(self, draw, samples)

    @property
    def kinds(self) -> tuple[RuleKind, ...]:
        """Those that others refer to in front of those."""
        return self._order

    def rule(
        self, draw: st.DrawFn, rule: RuleKind, number: int, sample: Sample, there: There
    ) -> RuleItem:
        kind = self._kinds[rule.name]
        items: list[RuleItem | IE] = []
        for match in rule.match:
            codec = kind.codecs[match.element.name]
            ie = self._match(draw, match, codec, sample)
            items += [ie] if ie else []
        if rule.priority:
            items.append(_ie(kind.codecs[rule.priority[1].name], draw(st.integers(0, 3))))
        items += self.changeable(draw, rule, there)
        name = f"{rule.name}{number}" if rule.named else None
        return RuleItem(rule.name, number, name, tuple(items))

    def changeable(self, draw: st.DrawFn, rule: RuleKind, there: There) -> list[RuleItem | IE]:
        """What an update may say as well: elements, what the rule gives, members."""
        items = self._gives(draw, rule, there)
        targets = [(k, i) for k in rule.alternatives for i in there.get(k, ())]
        if targets:
            items.append(RuleItem(*draw(st.sampled_from(targets)), block=False))
        return items + (self._members(draw, rule, there) if rule.spread else [])

    def _members(self, draw: st.DrawFn, rule: RuleKind, there: There) -> list[RuleItem | IE]:
        spread = rule.spread
        assert spread is not None
        known = there.get(spread.kind, [])
        if not known:
            return []
        ids = draw(st.lists(st.sampled_from(known), min_size=1, max_size=3, unique=True))
        weight = self._kinds[rule.name].weight
        members: list[RuleItem | IE] = []
        for id_ in ids:
            says = (_ie(weight.codec, draw(st.integers(1, 9))),) if weight else ()
            members.append(RuleItem(spread.kind, id_, None, says, bool(says)))
        return members

    # ---- elements ---------------------------------------------------------------------------

    def _match(self, draw: st.DrawFn, match: Match, codec: Codec, sample: Sample) -> IE | None:
        """The element of a rule: about what the sample has, or about something else."""
        if match.kind != "exact" and not draw(st.integers(0, 2)):
            return None
        seen = sample.value(match)
        if seen is None and match.kind != "exact" and draw(st.integers(0, 3)):
            return None
        if seen is None or not draw(st.integers(0, 7)):
            seen = draw(st.sampled_from(self._known(match.element)))
        full, width = codec.full, codec.width
        other: int = 0
        match match.kind:
            case "lpm" if draw(st.booleans()):
                length = draw(st.sampled_from(sorted({1, 8, width // 2, width - 1, width})))
                form, other = "prefix", length
                seen &= full ^ ((1 << width - length) - 1)
            case "ternary" if draw(st.booleans()):
                half = full >> width // 2
                mask = draw(st.sampled_from([full, half, full ^ half]) | st.integers(0, full))
                form, other, seen = "mask", mask, seen & mask
            case "range" if draw(st.booleans()):
                low = draw(st.sampled_from([0, max(seen - 1, 0), seen]))
                high = draw(st.sampled_from([seen, min(seen + 1, full), full]))
                form, seen, other = "range", low, high
            case _:
                form = "value"
                if match.kind == "ternary" and codec.implied_mask is not None:
                    form, other, seen = "mask", codec.implied_mask, seen & codec.implied_mask
        try:
            canonical = codec.matcher(match.kind, form, seen, other)  # type: ignore[arg-type]
        except Fault:  # an enumeration does not have the packet's value
            if not codec.values:
                return None
            return _ie(codec, draw(st.sampled_from(sorted(codec.values))))
        if canonical is None:
            return None
        value: int | str = canonical.value
        if canonical.form in ("value", "prefix"):
            value = codec.format(canonical.value)
        return IE(codec.name, codec.lengths[0], canonical.form, value, canonical.other)

    def _gives(self, draw: st.DrawFn, rule: RuleKind, there: There) -> list[RuleItem | IE]:
        """What the rule gives: all that its stages need, of the rest more often than not."""
        kind, given = self._kinds[rule.name], dict[str, int]()
        items: list[RuleItem | IE] = []
        companion = kind.ifindex[0] if kind.ifindex else None  # it would have to agree
        deciding = {name for r in rule.requires for name, _ in r.when}  # what else is needed
        for nth, element in sorted(enumerate(rule.gives), key=lambda e: e[1].name not in deciding):
            codec, references = kind.codecs[element.name], set(element.references)
            needed = False
            for r in rule.requires:
                if r.element == element.name and all(given.get(n) in v for n, v in r.when):
                    needed = True
                    references &= set(r.references) or references
            if nth == companion or not (needed or draw(st.integers(0, 3))):
                continue
            if not element.references:
                given[element.name] = self._given(draw, rule, element)
                items.append(_ie(codec, given[element.name]))
                continue
            names = [f"{k}.{i}" for k in sorted(references) for i in there.get(k, ())]
            if "port" in references:
                names += [port.name for port in self.world.environment.ports]
            if names:
                items.append(
                    IE(codec.name, codec.lengths[0], "value", draw(st.sampled_from(names)))
                )
        return items

    def _given(self, draw: st.DrawFn, rule: RuleKind, element: Element) -> int:
        """A value, or several as one; of next hops most often one that is there."""
        known = st.sampled_from(self._known(element))
        if element.most:
            values = draw(st.lists(known, min_size=1, max_size=element.most))
            return packed(values, element.width, element.most)
        if (rule.name, element.name) in self._next_hops and draw(st.integers(0, 3)):
            known = st.sampled_from(self.world.there(element.kind))
        return draw(known)

    def _known(self, element: Element) -> tuple[int, ...]:
        if element.name in self._joins:
            return _FEW
        if element.symbols:
            return tuple(value for _, value in element.symbols)
        return self.world.values(element.kind, element.width)


class Session:
    """Requests in their order, of which the rule book refuses none."""

    def __init__(self, maker: RuleMaker, draw: st.DrawFn, samples: list[Sample]) -> None:
        self._maker, self._draw, self._samples = maker, draw, samples
        self._book = new_book(maker.manifest, maker.world.environment)
        self._copied: list[Drawn] = []

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

    def changed(self) -> Iterator[Request]:
        """A request of one to three changes, if the rules may be changed so."""
        if not self._maker.kinds:
            return
        changes = tuple(self._change() for _ in range(self._draw(st.sampled_from((1, 1, 2, 3)))))
        for request in (Request(changes), Request(changes[:1])):
            if ask(self._book, request) is not None:
                yield request
                return

    def _change(self) -> Change:
        """Updates most often: they are what is easily forgotten somewhere."""
        draw, maker = self._draw, self._maker
        kind = draw(st.sampled_from(maker.kinds))
        ids = self._there()[kind.name]
        words: list[Operation] = ["update", "update", "update", "delete", "replace"]
        operation = draw(st.sampled_from(words)) if ids else "create"
        match operation:
            case "update":
                items = tuple(maker.changeable(draw, kind, self._there()))
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
        return {name: sorted({r.id for r in self._book.rules(name)}) for name in self._book.kinds}


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


def _ie(codec: Codec, value: int) -> IE:
    return IE(codec.name, codec.lengths[0], "value", codec.format(value))


def _by_need(pipeline: Pipeline) -> tuple[RuleKind, ...]:
    """Kinds that others refer to in front of those."""
    kinds = {rule.name: rule for rule in pipeline.rules}
    order: dict[str, RuleKind] = {}
    begun: set[str] = set()

    def visit(name: str) -> None:
        if name not in kinds or name in begun:
            return
        begun.add(name)
        rule = kinds[name]
        for need in (*rule.alternatives, *([rule.spread.kind] if rule.spread else [])):
            visit(need)
        for element in rule.gives:
            for need in element.references:
                visit(need)
        order[name] = rule

    for name in kinds:
        visit(name)
    return tuple(order.values())
