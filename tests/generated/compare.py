"""Text, rules and packets through everything: what interpreter, intermediate representation and
kernel disagree on."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from ipaddress import IPv4Address, IPv6Address
from zlib import crc32

from chance import Chance
from helioc.compiler.bundle import compile_for_tc, compile_pipeline, for_test_runs
from helioc.compiler.check.program import check
from helioc.compiler.fuzzing.semantics import Answer, Stage, Stages, differing, said, stages
from helioc.compiler.interpret.packet import Interpreter
from helioc.compiler.ir.wellformed import problems
from helioc.compiler.lower.unit import Join
from helioc.compiler.model import Pipeline
from helioc.lang.contract.request.request_parser import parse_request
from helioc.lang.contract.rules.rulebook import RuleBook
from helioc.lang.contract.world.environment import Environment, Limit, Outcome, Port
from helioc.lang.contract.world.moment import Moment
from helioc.lang.syntax.parser import parse
from helioc.lang.syntax.printer import format_program
from helioc.lang.text.diagnostics import Refused
from helioc.lang.text.source import Source
from helioc.runtime.loading.bundle import Bundle
from helioc.runtime.testrun.private_run import PrivateRun
from lowered_runs import join_of
from random_packets import Frame
from tc_runs import TcRun

ADDRESSES6 = ["2001:db8::1", "2001:db8::2", "2001:db8:1::5", "fd00::1"]
ADDRESSES = ["10.1.0.10", "10.2.0.5", "10.3.0.5", "192.0.2.2", "198.51.100.2"]


#: What only the kernel's side says of a request: keys or masks of a look-up table.
FULL = {"H0730", "H0731"}


class Disagreement(AssertionError):
    """What is wrong with a pipeline: refused, not loaded, or carried out differently."""


@dataclass
class Tally:
    """What came of the packets."""

    packets: int = 0
    seen: Counter[str] = field(default_factory=Counter)
    refused: int = 0
    requests: int = 0


#: ns between packets.
WAITS = (0, 0, 0, 1, 1_000, 999_999, 1_000_000_000, 2_000_000_001, 61_000_000_000)


def after(moment: Moment, frame: Frame) -> Moment:
    """When a frame comes, and what chance gives it: as its bytes say, so that it is the same again
    without the others."""
    drawn = crc32(frame.data)
    return replace(moment.later(WAITS[drawn % len(WAITS)]), random=drawn)


def ip(text: str) -> int:
    return int(IPv4Address(text))


def ip6(text: str) -> int:
    return int(IPv6Address(text))


def world(chance: Chance, pipeline: Pipeline) -> Environment:
    """A port or two for each role; the second of a role is narrow, or tagged."""
    ports: list[Port] = []
    neighbours: dict[tuple[int, int], bytes] = {}
    neighbours6: dict[tuple[int, int], bytes] = {}
    for i, role in enumerate(pipeline.roles):
        for j in range(2 if i == 0 or chance.maybe(0.5) else 1):
            number = len(ports) + 1
            mtu = chance.one((1500, 1500, 600, 296))
            vlan = chance.one((0, 0, 200)) if j else 0
            vlan = 0 if role in pipeline.bare else vlan
            address = ip(f"10.{number}.0.1") if chance.maybe(0.9) else 0
            mac = bytes((2, 0, 0, 0, number, 1))
            address6 = ip6(f"2001:db8:{number}::1") if chance.maybe(0.9) else 0
            name = f"{role}{j}".upper()
            ports.append(Port(number, name, role, 10 + number, mtu, mac, address, vlan, address6))
            for i, text in enumerate(ADDRESSES):
                if chance.maybe(0.85):
                    neighbours[number, ip(text)] = bytes((2, 0, 0, 1, number, i))
            for i, text in enumerate(ADDRESSES6):
                if chance.maybe(0.85):
                    neighbours6[number, ip6(text)] = bytes((2, 0, 0, 6, number, i))
    local = frozenset({p.address for p in ports if p.address} | {ip("10.1.255.255")})
    local6 = frozenset(p.address6 for p in ports if p.address6)
    icmp = Limit(chance.one((1, 1000)), chance.number(1, 20)) if chance.maybe(0.3) else None
    return Environment(tuple(ports), local, neighbours, None, local6, neighbours6, icmp)


def checked(text: str) -> Pipeline:
    """Parsed, printed and printed again, checked. Raises `Disagreement` where any of it fails."""
    try:
        program = parse(Source("random.hp", text))
        printed = format_program(program)
        again = format_program(parse(Source("random.hp", printed)))
        if printed != again:
            raise Disagreement("formatting twice is not formatting once")
        pipeline = check(program)
        check(parse(Source("random.hp", printed)))
    except Refused as refused:
        raise Disagreement(f"refused at check: {_said(refused)}") from refused
    return pipeline


def compiled(pipeline: Pipeline, join: Join, traced: bool = False, at_tc: bool = False) -> Bundle:
    """What `check` accepts compiles: anything else is a `Disagreement`."""
    try:
        if at_tc or for_test_runs(pipeline)[0] == "tc":
            bundle = compile_for_tc(pipeline, join, traced, tags_in_frame=True)
        else:
            bundle = compile_pipeline(pipeline, join, traced)
    except Refused as refused:
        raise Disagreement(f"does not load ({join}): {_said(refused)}") from refused
    return Bundle(bundle.manifest, bundle.object, bundle.traced)


@contextmanager
def loaded(bundle: Bundle, traced: bool = False) -> Iterator[PrivateRun]:
    """What compiles loads: anything else is a `Disagreement`. `traced`: the traced build."""
    try:
        run = (TcRun if bundle.manifest.hook == "tc" else PrivateRun)(bundle, traced)
    except Refused as refused:
        raise Disagreement(f"does not load ({bundle.manifest.join}): {_said(refused)}") from refused
    with run:
        yield run


def _said(refused: Refused) -> str:
    return "; ".join(
        f"{d.code} {d.title} [{d.span.text if d.span else ''}]" for d in refused.diagnostics
    )


def stages_of(pipeline: Pipeline, run: PrivateRun, every: bool) -> list[Stage]:
    """What was compiled to a build that is loaded, as lowered and as each pass left it; unless
    `every`, the first of them and the last. Raises `Disagreement` where one is not well-formed."""
    found = stages(pipeline, join_of(run), run.traced)
    for stage in found:
        if wrong := problems(stage.unit, stage.placed):
            raise Disagreement(f"not well-formed, by {stage.made_by}: {wrong[0]}")
    return found if every else [found[0], *found[1:][-1:]]


class Three:
    """Interpreter, intermediate representation (as lowered and as it is emitted, or after `every`
    pass) and kernel under the same rules."""

    def __init__(
        self, pipeline: Pipeline, environment: Environment, run: PrivateRun, every: bool = False
    ) -> None:
        self.interpreter = Interpreter(pipeline, environment)
        manifest = run.manifest if run.traced else None
        self.lowered = Stages(pipeline, stages_of(pipeline, run, every), environment, manifest)
        self.run, self.moment = run, Moment()
        run.set_environment(environment)
        self.book = RuleBook(
            run.manifest,
            {p.name: p.number for p in environment.ports},
            {p.number: p.ifindex for p in environment.ports},
        )
        run.set_rules(self.book)

    def request(self, text: str) -> bool:
        """Whether it was taken; by the kernel's side as well, then, but for a look-up table that is
        full, which the interpreter has none of: then nothing was changed."""
        try:
            plan = self.book.plan(parse_request(Source("request", text)))
        except Refused:
            return False
        try:
            self.run.apply(plan)
        except Refused as refused:
            if {d.code for d in refused.diagnostics} <= FULL:
                return False
            raise Disagreement(f"{text}: {_said(refused)}") from refused
        self.book.commit(plan)
        return True

    def agree(self, frame: Frame) -> Outcome:
        """What the interpreter says. Raises `Disagreement`, which names the half of the compiler
        that is wrong, and of the first half the lowering or the pass."""
        traced = self.run.traced
        self.moment = after(self.moment, frame)
        for each in (self.interpreter, self.lowered, self.run):
            each.set_moment(self.moment)
        expected = self.interpreter.run(self.book, frame.data, frame.port)
        got = self.run.run(frame.data, frame.port)
        lowered, made_by = self.lowered.run(self.book, frame.data, frame.port, expected)
        halves = differing(*(said(each, traced) for each in (expected, lowered, got)))
        if halves or made_by:
            wrong = [made_by] if made_by else []
            wrong += ["emitter, clang, templates or runtime"] if "emitting" in halves else []
            raise Disagreement(
                f"port {frame.port}: {frame.data.hex()}\n  wrong: {'; '.join(wrong)}\n"
                f"  interpreter {_shown(expected)}\n  lowered     {_shown(lowered)}\n"
                f"  kernel      {_shown(got)}"
            )
        return expected

    def run_all(self, frames: Iterable[Frame], tally: Tally) -> None:
        shortest = self.run.shortest if isinstance(self.run, TcRun) else 0
        for frame in frames:
            if len(frame.data) < shortest:
                continue
            outcome = self.agree(frame)
            tally.packets += 1
            tally.seen[f"verdict {outcome.verdict}"] += 1
            tally.seen.update({f"{group}: {reason}" for group, reason in outcome.events})
            if outcome.frame is not None and outcome.frame != frame.data:
                tally.seen["rewritten"] += 1


def _shown(answer: Answer) -> str:
    """With what was parsed and the steps, where it tells them."""
    if not isinstance(answer, Outcome):
        return str(answer)
    trace = "\n    ".join(map(str, answer.trace))
    return f"{said(answer)}\n    parsed {answer.parsed}\n    {trace}".rstrip()
