"""The reference interpreter: a checked pipeline, rules and a frame in, what becomes of it out.

It states docs/semantics.md as code, and is what generated programs are compared with. No
privileges, no speed beyond what tests need.
"""

from __future__ import annotations

from typing import NoReturn

from ...lang.contract.rules.spread import slot, spread_slots
from ...lang.contract.trace.steps import Step, TracedValue, What
from ...lang.contract.world.bare_packets import framed, unframed
from ...lang.contract.world.emitted import limits_of
from ...lang.contract.world.environment import Emitted, Environment, Outcome, Rules
from ...lang.contract.world.moment import Moment
from ...lang.contract.world.rule_events import RuleEvents
from ...lang.contract.world.states import States
from ..model import (
    Append,
    Assign,
    Block,
    Bridge,
    Choose,
    ClampMss,
    Copy,
    Counted,
    Each,
    Emit,
    Event,
    Exchange,
    Find,
    Forget,
    Forward,
    If,
    IfGives,
    Inline,
    Item,
    Let,
    MatchNumber,
    MatchReference,
    MatchValue,
    Packet,
    Pipeline,
    Pop,
    PopLink,
    Push,
    Queue,
    Recall,
    Remember,
    Reply,
    SetRegister,
    Statement,
    Update,
    Verdict,
)
from .build_packet import Heading
from .packet_fields import NotCaptured
from .parse_packet import PacketParser
from .reached import HIT, MISS, Reached
from .scope import Done, Lost, cut
from .states import OnStates


class Interpreter:
    """Runs one pipeline in one environment. Between packets it keeps what they leave in state
    tables (`states`), and notes what they reach in `reached`."""

    def __init__(
        self, pipeline: Pipeline, environment: Environment, reached: Reached | None = None
    ) -> None:
        self.pipeline = pipeline
        self.environment = environment
        self.states = States()
        self.reached = reached or Reached()
        self._parser = PacketParser(pipeline.graph, self.reached)
        self._of_rules = RuleEvents(pipeline.rules, pipeline.emits, self.states.counted)

    def set_moment(self, moment: Moment) -> None:
        """When packets come from here on."""
        self.states.moment = moment

    def look(self, rules: Rules) -> None:
        """Raise the events of rules that are due, also before and behind each packet: what is
        raised is of the next packet's outcome."""
        if not self.environment.limits_events:
            self._of_rules.fill()
        self._of_rules.look(rules, self.states.now)

    def run(self, rules: Rules, frame: bytes, port: int, missing: int = 0) -> Outcome:
        """What becomes of a frame (from its Ethernet header on, if the port has any) that arrives
        by port number `port`. Of its last bytes `missing` are not known. Raises `LookupError` if
        the environment has no such port, `NotCaptured` if one of these decides, with the states as
        they were; nothing else."""
        arrival = self.environment.port(port)
        if arrival is None:
            raise LookupError(f"no port {port}")
        if self._is_bare(port):
            frame = framed(frame)
        parsed = self._parser.parse(arrival.role, frame)
        run = _Run(
            self.pipeline,
            self.environment,
            rules,
            arrival,
            frame,
            parsed,
            self.states,
            self.reached,
            self._parser.tunnels(arrival.role),
            missing,
        )
        if not self.environment.limits_events:
            self.states.fill_buckets()
        self.look(rules)
        self.states.begin()
        try:
            outcome = run.outcome()
        except NotCaptured:
            self.states.undo()
            raise
        if self.pipeline.bare:
            outcome = unframed(outcome, port, self._is_bare)
        return self._of_rules.with_events(outcome, rules, self.states.now)

    def _is_bare(self, number: int) -> bool:
        """Whether a port has no link header."""
        port = self.environment.port(number)
        return port is not None and port.role in self.pipeline.bare


class _Run(OnStates):
    """One packet's way."""

    def outcome(self) -> Outcome:
        try:
            self._go()
        except Done as done:
            self.event("verdict", done.verdict)
            return Outcome(
                done.verdict,
                done.frame,
                done.egress,
                tuple(self.events),
                tuple(self.counted),
                self.parsed.nodes,
                tuple(self.trace),
                self.queue if done.verdict == "pass" else None,
                tuple(self.emitted),
                tuple(self.copies),
            )

    def _go(self) -> NoReturn:
        if self.parsed.result == "malformed":
            self.event("malformed", self.parsed.reason)
            self._parsing_stopped("malformed")
        if self.parsed.tiny:
            self._parsing_stopped("tiny_fragment")
        for stage in self.pipeline.stages:
            self.step("stage", stage.name)
            self._block(stage.body)
        self._verdict("default")

    def _parsing_stopped(self, event: Event) -> None:
        if self.pipeline.hooks[event] != "continue":
            self._hook(event)
        self.event("hook", event)
        self.reached.hooks.add(event)

    def _block(self, block: Block) -> None:
        for statement in block.statements:
            self._statement(statement)

    def _statement(self, s: Statement) -> None:
        self.reached.statement(s.span)
        match s:
            case If():
                self._block(s.then if self.holds(s.condition) else s.otherwise)
            case IfGives():
                self._if_gives(s)
            case MatchValue():
                self._match_value(s)
            case MatchNumber():
                self._match_number(s)
            case MatchReference():
                self._match_reference(s)
            case Find():
                self._find(s)
            case Choose():
                self._choose(s)
            case Remember() | Recall() | Exchange():
                done = self.on_state(s)
                self.reached.statement(s.span, HIT if done else MISS)
                if not done:
                    self._block(s.otherwise)
            case Forget():
                self.forget(s)
            case Update():
                self.update(s)
            case SetRegister():
                self.set_register(s)
            case Push() | Append():
                self._push(s)
            case Pop():
                removed = tuple(x.name for x in self.packet.in_front(s.node))
                self.trace.append(Step("pop", s.node, nodes=removed))
                if not self.packet.pop(s.node):
                    self._dropped("ecn")
            case PopLink():
                self.trace.append(Step("pop", "", nodes=(s.node,)))
                self.packet.pop_link(s.node)
            case Assign():
                new = [(self.value(value), self._index(field)) for field, value in s.fields]
                for (field, _), (value, index) in zip(s.fields, new, strict=True):
                    self.packet.change(field.node, field.field, value, index)
            case ClampMss():
                self.clamp = True
            case Forward():
                self._forward(s)
            case Reply(error):
                self._answered(error)
            case Bridge():
                self._bridge(s)
            case Copy():
                self._copy(s)
            case Each():
                self._each(s)
            case Let(local, value):
                self.locals[local.name] = self.value(value)
            case Queue():
                self.queue = self.value(s.number)
                self.step("queue", "queue", TracedValue("queue", self.queue))
            case Counted():
                self.event("count", s.reason)
            case Emit():
                self._emit(s)
            case Verdict():
                self._verdict(s.verdict)
            case Inline():
                self._block(s.body)

    def _copy(self, s: Copy) -> None:
        """The packet goes on as it was, unless nothing says where the copy is to go."""
        self._port_number(s.way.port)
        packet = self.packet
        self.packet, self.copying, self.shown = packet.copied(), True, s.most
        try:
            self._block(s.body)
        except Done as done:
            assert done.frame is not None and done.egress is not None
            self.copies.append((done.egress, done.frame))
            self.event("copy", "sent")
        except Lost as lost:
            self.event("copy", lost.reason)
        finally:
            self.packet, self.copying = packet, False

    def _each(self, s: Each) -> None:
        for id_, _ in sorted(self.rule(s.source).members):
            rule = self.by_id(s.rule, id_)
            assert rule is not None, "a request names rules that are there"
            self.bind(s.binding, rule)
            self._block(s.body)

    def _emit(self, s: Emit) -> None:
        kind = self.pipeline.event(s.event)
        values = tuple(map(self.said, s.values))
        within = self.states.may_emit(limits_of(kind, values))
        self.event("emitted" if within else "suppressed", s.event)
        if within:
            self.emitted.append(Emitted(s.event, values))

    def _index(self, target: Packet | Item) -> int:
        """Of the element of an array that is changed; 0 of a field."""
        return self.value(target.index) if isinstance(target, Item) else 0

    def _push(self, s: Push | Append) -> None:
        given = [(e, self.given(e)) for e in s.elements]
        if isinstance(s, Push):
            beside, headings = s.before, self.packet.push(given, s.before, s.behind)
        else:
            beside, headings = s.behind, self.packet.append(given, s.behind)
        traced: list[TracedValue] = []
        for heading, e in zip(headings, s.elements, strict=True):
            names = [name for name, _ in e.values]
            names += ["ecn"] if "ecn" in heading.values.keys() - names else []
            traced += [_traced_field(heading, name) for name in names]
            for name, _ in e.lists:
                listed = heading.values[name]
                assert isinstance(listed, tuple)
                traced.append(TracedValue(f"{e.node}.{name}", len(listed), "count"))
        what: What = "push" if isinstance(s, Push) else "append"
        nodes = tuple(e.node for e in s.elements)
        self.trace.append(Step(what, beside, tuple(traced), nodes=nodes))

    # ---- rules ------------------------------------------------------------------------------

    def _find(self, s: Find) -> None:
        rule = self.kept(s.kept) if s.kept is not None else self.best(s.rule, None, s.given)
        self.reached.statement(s.span, HIT if rule else MISS)
        if rule is None:
            self.unbind(s.rule)
            self.event("miss" if s.kept is None else "gone", s.rule)
            self._block(s.otherwise)
        else:
            self.bind(s.rule, rule)

    def _if_gives(self, s: IfGives) -> None:
        target = self.rule(s.binding).target
        if target is None or target.kind != s.given:
            self._block(s.otherwise)
            return
        if not self.pipeline.rule(s.given).grouped:  # a group is not one rule: `choose` binds one
            rule = self.referred(target)
            if rule is None:
                self._dropped("absent reference")
            self.bind(s.given, rule)
        self._block(s.then)
        self.unbind(s.given)

    def _choose(self, s: Choose) -> None:
        target = self.rule(s.binding).target
        group = None
        if target is not None and target.kind == s.group:
            group = self.best(s.group, target.id, s.given)
        spread = self.pipeline.rule(s.group).spread
        member = None
        if group is not None and spread is not None and group.members:
            over = s.over or spread.hash
            assert over is not None, "H0535"
            picked = slot(self.value(over))
            self.matched(s.group, group)
            self.step("slot", s.group, TracedValue("slot", picked))
            member = self.by_id(s.rule, spread_slots(group.members)[picked])
        self.reached.statement(s.span, HIT if member else MISS)
        if member is not None:
            self.bind(s.rule, member)
            return
        self.unbind(s.rule)
        self.event("miss", s.group)
        if not s.otherwise.statements:
            self._dropped("no member")
        self._block(s.otherwise)

    def _match_value(self, s: MatchValue) -> None:
        value = self.value(s.subject)
        for values, body in s.arms:
            if value in values:
                self._block(body)
                return
        self._dropped("absent reference")

    def _match_number(self, s: MatchNumber) -> None:
        value = self.value(s.subject)
        takes = (body for ranges, body in s.arms if any(a <= value <= b for a, b in ranges))
        self._block(next(takes, s.otherwise))

    def _match_reference(self, s: MatchReference) -> None:
        reference = self.reference(s.subject)
        for arm in s.arms:
            if reference is None or reference.kind != arm.kind:
                continue
            if arm.kind == "port":
                self.ports[arm.binding] = reference.id
            else:
                rule = self.referred(reference)
                if rule is None:
                    break
                self.bind(arm.binding, rule)
            self._block(arm.body)
            return
        self._dropped("absent reference")


def _traced_field(heading: Heading, name: str) -> TracedValue:
    """What a push says of a field; None where the rule says nothing."""
    field, value = heading.header.field(name), heading.values.get(name)
    assert not isinstance(value, bytes | tuple)
    return TracedValue(f"{heading.name}.{name}", cut(value, field.width), field.kind)
