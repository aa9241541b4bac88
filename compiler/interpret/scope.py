"""What a statement sees while a packet is interpreted: its fields, bound rules, ports."""

from __future__ import annotations

from collections.abc import Mapping

from ...lang.contract.base.colours import COLOUR_BITS, Colour
from ...lang.contract.base.domain_names import compared_as
from ...lang.contract.base.lists import unpacked
from ...lang.contract.rules.rules import Reference, Rule
from ...lang.contract.rules.spread import jhash
from ...lang.contract.trace.steps import Bound, Step, TracedValue, What
from ...lang.contract.world.bare_packets import ETHERNET
from ...lang.contract.world.emitted import split_identity
from ...lang.contract.world.environment import (
    Emitted,
    Environment,
    Fate,
    Port,
    Rules,
    is_group,
)
from ...lang.contract.world.meters import BYTE, PACKET
from ...lang.contract.world.states import States
from ..model import (
    Announced,
    Arrival,
    Attribute,
    ClockError,
    Condition,
    Count,
    Expr,
    First,
    Found,
    FrameLength,
    Hash,
    HasOption,
    IsFragment,
    IsLimited,
    IsLocal,
    IsMulticast,
    Item,
    Layer4,
    Listed,
    Local,
    Match,
    Metered,
    Now,
    Packet,
    Pick,
    Pipeline,
    PortIs,
    Present,
    PushElement,
    Random,
    Recalled,
    Register,
    RuleCount,
    RuleId,
    asked_by,
)
from ..model.checksums import LAYER4
from .evaluate import evaluate, holds
from .header_view import Value, is_fragment
from .matching import best_rule
from .parse_packet import Parsed
from .reached import Reached
from .rewrite import Rewriting


class Done(Exception):
    """The packet has its verdict."""

    def __init__(
        self, verdict: Fate, frame: bytes | None = None, egress: int | None = None
    ) -> None:
        super().__init__(verdict)
        self.verdict, self.frame, self.egress = verdict, frame, egress


class Lost(Exception):
    """A copy of the packet does not leave: why, as it is counted."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class Scope:
    """State of one packet's way. `bound`: rules by the name they are bound under. `tunnels`: nodes
    behind a UDP or TCP header that carry another packet."""

    def __init__(
        self,
        pipeline: Pipeline,
        environment: Environment,
        rules: Rules,
        arrival: Port,
        frame: bytes,
        parsed: Parsed,
        states: States,
        reached: Reached,
        tunnels: frozenset[str],
        missing: int = 0,
    ) -> None:
        self.states, self.reached, self.tunnels = states, reached, tunnels
        self.recalled: dict[str, dict[str, int]] = {}
        self.held: dict[str, tuple[tuple[int, ...], int]] = {}  # which entries these are
        self.locals: dict[str, int] = {}
        self.length = len(frame) - (ETHERNET if arrival.role in pipeline.bare else 0)
        self.pipeline, self.environment, self.rules = pipeline, environment, rules
        self.arrival, self.parsed = arrival, parsed
        self.packet = Rewriting(pipeline, frame, parsed, self._changed, missing)
        self.clamp = False
        self.queue: int | None = None
        self.bound: dict[str, Rule] = {}
        self.metered: dict[str, tuple[int, Colour]] = {}  # of each kind the last that did
        self.ports: dict[str, int] = {}
        self.events: list[tuple[str, str]] = []
        self.counted: list[tuple[str, int]] = []
        self.emitted: list[Emitted] = []
        self.copies: list[tuple[int, bytes]] = []
        self.copying, self.shown = False, 0  # bytes of a copy that are shown; 0: all
        self.trace: list[Step] = []

    # ---- account ----------------------------------------------------------------------------

    def event(self, group: str, reason: str) -> None:
        self.events.append((group, reason))
        if group != "verdict":  # which a trace has by itself
            self.trace.append(Step("event", group, reason=reason))

    def step(self, what: What, name: str, *traced: TracedValue) -> None:
        self.trace.append(Step(what, name, traced))

    def _changed(self, node: str, field: str, before: int, after: int) -> None:
        kind = self.pipeline.graph.node(node).header.field(field).kind
        self.step(
            "set",
            f"{node}.{field}",
            TracedValue("before", before, kind),
            TracedValue("after", after, kind),
        )

    # ---- rules ------------------------------------------------------------------------------

    def best(
        self, kind: str, group: int | None, given: tuple[tuple[str, Expr], ...] = ()
    ) -> Rule | None:
        """The best match; of a grouped kind, among the rules with the id `group`. `given` are
        values of match elements in place of the packet's own."""
        rules = self.rules.rules(kind)
        if group is not None:
            rules = (r for r in rules if r.id == group)
        said = {name: self.value(expr) for name, expr in given}
        matches = {m.element.name: m for m in self.pipeline.rule(kind).match}
        values = {
            name: said[name] if name in said else self._look(match)
            for name, match in matches.items()
        }
        traced = [TracedValue("id", group)] if group is not None else []
        for name, element in ((name, match.element) for name, match in matches.items()):
            kind_ = "port" if element.type == "port" else element.kind
            traced.append(TracedValue(name, cut(values[name], element.width), kind_))
        self.step("look", kind, *traced)
        return best_rule(self.pipeline.rule(kind), rules, values)

    def kept(self, slot: Recalled) -> Rule | None:
        """The rule that a slot says, if it is there still."""
        sequence, _ = split_identity(self.value(slot))
        rules = self.rules.rules(slot.rule)
        return next((rule for rule in rules if rule.sequence == sequence), None)

    def by_id(self, kind: str, id: int) -> Rule | None:
        return next((r for r in self.rules.rules(kind) if r.id == id), None)

    def referred(self, reference: Reference) -> Rule | None:
        return self.by_id(reference.kind, reference.id)

    def bind(self, name: str, rule: Rule) -> None:
        self.bound[name] = rule
        self.matched(name, rule)
        if self.pipeline.rule(rule.kind).counts:
            self.counted.append((rule.kind, rule.sequence))
            self.states.count(rule.kind, rule.sequence, self.length)

    def matched(self, name: str, rule: Rule) -> None:
        priority = rule.priority if self.pipeline.rule(rule.kind).priority else None
        bound = Bound(rule.kind, rule.id, rule.name, priority)
        self.trace.append(Step("rule", name, rule=bound))

    def unbind(self, name: str) -> None:
        self.bound.pop(name, None)

    def rule(self, name: str) -> Rule:
        return self.bound[name]

    def _colour(self, asked: Metered) -> Colour:
        """A rule, or an entry, measures a packet once, until another one of its kind does. An entry
        that is gone lets nothing pass."""
        match asked.given:
            case None:
                given: Colour = "green"
            case Metered():
                given = self._colour(asked.given)
            case given:
                pass
        of, packets = self._meter(asked)
        which, colour = self.metered.get(of[0], (0, "red"))
        if which != of[1] and not self._is_there(asked):
            self.event("lost", asked.binding)
            colour = "red"
        elif which != of[1]:
            values, unit = tuple(map(self.value, asked.by)), PACKET if packets else BYTE
            length = 1 if packets else self.length
            colour = self.states.colour(of, values, length, unit, given)
            self.metered[of[0]] = of[1], colour
        self.step("meter", asked.binding, TracedValue("colour", COLOUR_BITS[colour], "colour"))
        return colour

    def _is_there(self, asked: Metered) -> bool:
        name = asked.binding
        return not asked.state or self.states.holds(name, *self.held[name])

    def _meter(self, asked: Metered) -> tuple[tuple[str, int], bool]:
        """Whose buckets it has: a rule's by kind and sequence, an entry's by state and mark; and
        whether they are in packets."""
        if asked.state:
            mark = self.held[asked.binding][1]
            return (asked.binding, mark), self.pipeline.state(asked.binding).packet_meter
        rule = self.bound[asked.binding]
        return (rule.kind, rule.sequence), self.pipeline.rule(rule.kind).packet_meter

    def _look(self, match: Match) -> int | None:
        if isinstance(match.operand, Layer4 | Arrival):
            return self.value(match.operand)
        assert isinstance(match.operand, Packet), "the checker saw that each look-up gives it"
        layer = self.packet.layer(match.operand.node)
        value = layer.view.get(match.operand.field) if layer else None
        if match.element.kind == "name" and isinstance(value, tuple):
            return compared_as(match.operand.kind, bytes(value), match.element.width // 8)
        return value if isinstance(value, int) else None

    # ---- expressions ------------------------------------------------------------------------

    def value(self, expr: Expr) -> int:
        return evaluate(expr, self._read)

    def holds(self, condition: Condition) -> bool:
        return holds(condition, self._read, self._ask, self.reached.compared)

    def given(self, element: PushElement) -> Mapping[str, Value]:
        """A push's values; one from an element that the rule leaves out is none."""
        found: dict[str, Value] = {}
        for name, items in element.lists:
            values = self._list(items.source, items.most)[items.skip :]
            found[name] = tuple(reversed(values) if items.backwards else values)
        for name, expr in element.values:
            left_out = isinstance(expr, Attribute) and expr.optional
            if not left_out or self._attribute(expr) is not None:
                found[name] = self.value(expr)
        return found

    def reference(self, attribute: Attribute) -> Reference | None:
        """What an element of a bound rule refers to."""
        return dict(self.bound[attribute.binding].references).get(attribute.element)

    def cell(self, register: Register) -> int:
        """Its number among all of the array."""
        found = 0
        shape = self.pipeline.array(register.registers).shape
        for index, length in zip(register.at, shape, strict=True):
            found = found * length + self.value(index) % length
        return found

    def _attribute(self, expr: Expr) -> int | None:
        assert isinstance(expr, Attribute)
        rule = self.bound[expr.binding]
        matcher = dict(rule.match).get(expr.element)
        if matcher is not None:
            return matcher.value
        return dict(rule.values).get(expr.element)

    def _read(self, expr: Expr) -> int:
        match expr:
            case Packet():
                layer = self.packet.layer(expr.node)
                return layer.view.number(expr.field) if layer else 0
            case Item():
                layer = self.packet.layer(expr.node)
                return layer.view.element(expr.field, self.value(expr.index)) if layer else 0
            case HasOption():
                layer = self.packet.layer(expr.node)
                return int(layer is not None and expr.option in layer.view.options)
            case Layer4():
                return self._layer4(expr.which)
            case Announced():
                return self._announced(expr)
            case Arrival():
                return self.arrival.number
            case FrameLength():
                return self.length
            case Local(name):
                return self.locals[name]
            case Recalled():
                return self.recalled[expr.state][expr.slot]
            case Attribute():
                return self._attribute(expr) or 0
            case RuleId(binding):
                return self.bound[binding].id
            case Register():
                return self.states.register(expr.registers, self.cell(expr))
            case RuleCount(binding, _, what):
                rule = self.bound[binding]
                return self.states.counted(rule.kind, rule.sequence)[what == "bytes"]
            case Listed():
                values, at = self._list(expr.source, expr.most), self.value(expr.index)
                return values[at] if at < len(values) else 0
            case Count():
                return len(self._list(expr.source, expr.most))
            case First():
                return self._first(expr)
            case Pick(_, then, otherwise):
                return self.value(then if self.holds(asked_by(expr)) else otherwise)
            case Now(clock):
                return self.states.moment.time(clock)
            case ClockError():
                return self.states.moment.error
            case Random():
                return self.states.moment.drawn(self.value(expr.bound))
            case Hash():
                return jhash(b"".join(self._in_bytes(a) for a in expr.arguments))
        raise AssertionError(f"{expr} stands outside of a header")

    def _list(self, source: Attribute, most: int) -> list[int]:
        """All the values that an element holds."""
        return unpacked(self._attribute(source) or 0, source.width, most)

    def _in_bytes(self, expr: Expr) -> bytes:
        """A hash argument in whole bytes, network order."""
        size = (width_of(expr) + 7) // 8
        return (self.value(expr) & ((1 << size * 8) - 1)).to_bytes(size, "big")

    def _first(self, expr: First) -> int:
        for option in expr.options:
            if isinstance(option, Attribute):
                given = self._attribute(option)
                if given is not None:
                    return given
                continue
            if isinstance(option, Announced):
                return self.value(option)
            layer = self.packet.layer(option.node)
            if layer is not None and layer.view.get(option.field) is not None:
                return layer.view.number(option.field)
        return 0

    def _layer4(self, which: str) -> int:
        """The port in the TCP or UDP header behind the innermost IP header; 0 if there is none, in
        fragments, and in front of a tunnel. As they came: an assignment changes the header, not
        these."""
        fragment, port = False, 0
        for layer in self.parsed.walked:
            protocol = layer.header.protocol
            if protocol in ("ipv4", "ipv6"):
                fragment, port = protocol == "ipv4" and is_fragment(layer.view), 0
            elif protocol == "ipv6_fragment":
                fragment = fragment or is_fragment(layer.view)
            elif protocol in LAYER4:
                port = 0 if fragment else layer.view.number(which)
            elif layer.name in self.tunnels:
                port = 0
        return port

    def _announced(self, expr: Announced) -> int:
        chain = next(c for c in self.pipeline.graph.chains if c.name == expr.chain)
        said = (x for x in self.parsed.walked if x.name in (*chain.fronts, *chain.members))
        *_, last = None, *said
        return last.view.number(expr.by) if last else 0

    def _ask(self, condition: Condition) -> bool:
        match condition:
            case Found(rule):
                return rule in self.bound
            case Present():
                return any(x.name == condition.node for x in self.packet.chain)
            case IsLocal():
                return self.environment.is_local(
                    self.value(condition.address), condition.address.kind
                )
            case IsMulticast(address):
                return is_group(address.kind, self.value(address))
            case IsFragment():
                layer = self.packet.layer(condition.node)
                return layer is not None and is_fragment(layer.view)
            case IsLimited():
                limit = self.environment.icmp
                return limit is not None and not self.states.may_answer(limit)
            case Metered():
                return self._colour(condition) in condition.colours
            case PortIs():
                return self.arrival.role == condition.role
        raise AssertionError(f"{condition} is no leaf")


def cut(value: int | None, width: int) -> int | None:
    """The lowest `width` bits."""
    return None if value is None else value & ((1 << width) - 1)


def width_of(expr: Expr) -> int:
    """Bits of an expression's value; arithmetic is 64 bits wide."""
    return getattr(expr, "width", 64)
