"""Packet tests carried out on backends, and what differs, field by field."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from ipaddress import IPv6Address
from typing import Protocol

from ...lang.contract.base import domain_names
from ...lang.contract.request.request import Request
from ...lang.contract.rules.rulebook import RuleBook
from ...lang.contract.world.environment import Environment, Outcome
from ...lang.contract.world.moment import Moment
from ..interpret.coverage import Coverage
from ..interpret.header_view import HeaderView, Value
from ..interpret.packet import Interpreter
from ..interpret.parse_packet import parse_packet
from ..interpret.reached import Reached
from ..model import NAME_KINDS, Pipeline
from . import emits
from .cases import Case, ExpectedCopy
from .notation import Part, Written


class Arrived(Protocol):
    """What is to be known of a packet's arrival: a case, say."""

    @property
    def environment(self) -> Environment: ...

    @property
    def port(self) -> int: ...


class Run(Protocol):
    """A backend that is set up for a case."""

    def __call__(self, frame: bytes, port: int) -> Outcome: ...

    def ask(self, request: Request) -> None:
        """Change the rules; the case's own book has taken the request."""

    def set_moment(self, moment: Moment) -> None:
        """What follows comes then."""


class Backend(Protocol):
    """Something that runs packets: the interpreter, the kernel. `prepare` sets a case's ports and
    opening rules up and gives a function of (frame, arrival port's number), at the case's moment;
    leaving it clears them away.
    `shortest` and `longest`: bytes of the frames that it runs."""

    @property
    def name(self) -> str: ...

    @property
    def shortest(self) -> int: ...

    @property
    def longest(self) -> int: ...

    def prepare(self, case: Case) -> AbstractContextManager[Run]: ...


class Interpreted:
    """The reference interpreter as a backend."""

    name = "interpreter"
    shortest, longest = 0, 1 << 17

    def __init__(self, pipeline: Pipeline) -> None:
        self._pipeline, self._reached = pipeline, Reached()

    def coverage(self) -> Coverage:
        """What packets have come to so far."""
        return Coverage(self._pipeline, self._reached)

    @contextmanager
    def prepare(self, case: Case) -> Iterator[Run]:
        interpreter = Interpreter(self._pipeline, case.environment, self._reached)
        interpreter.set_moment(case.moment)
        book = case.opening()
        interpreter.look(book)
        yield _Interpreting(interpreter, book)


@dataclass(frozen=True)
class _Interpreting:
    """Under the rules of a book."""

    interpreter: Interpreter
    book: RuleBook

    def __call__(self, frame: bytes, port: int) -> Outcome:
        return self.interpreter.run(self.book, frame, port)

    def ask(self, request: Request) -> None:
        self.interpreter.look(self.book)
        self.book.commit(self.book.plan(request))

    def set_moment(self, moment: Moment) -> None:
        self.interpreter.set_moment(moment)


@dataclass(frozen=True)
class Result:
    """A case and what was wrong, a line each; none if it holds. `backends`: who ran it (not one
    for which the frame is too short or too long)."""

    case: Case
    backends: tuple[str, ...]
    problems: tuple[str, ...]
    outcomes: tuple[Outcome, ...]

    @property
    def ok(self) -> bool:
        return not self.problems


def run_tests(
    pipeline: Pipeline, cases: Iterable[Case], backends: Sequence[Backend] = ()
) -> Iterator[Result]:
    """Run each case on every backend (the interpreter if none is given); they must agree."""
    backends = backends or (Interpreted(pipeline),)
    for case in cases:
        yield run_case(pipeline, case, backends)


def run_case(pipeline: Pipeline, case: Case, backends: Sequence[Backend]) -> Result:
    outcomes = []
    problems: list[str] = []
    lengths = [len(frame) for frame in (case.frame, *(f for f, _ in case.packets_before))]
    backends = [b for b in backends if b.shortest <= min(lengths) <= max(lengths) <= b.longest]
    for backend in backends:
        with backend.prepare(case) as run:
            for step in case.before:
                match step:
                    case Request():
                        run.ask(step)
                    case Moment():
                        run.set_moment(step)
                    case frame, port:
                        run(frame, port)
            outcome = run(case.frame, case.port)
        problems += (f"{backend.name}: {p}" for p in differences(pipeline, case, outcome))
        outcomes.append(outcome)
    for backend, outcome in list(zip(backends, outcomes, strict=True))[1:]:
        names = f"{backend.name} and {backends[0].name} disagree"
        problems += (f"{names}: {p}" for p in disagreements(pipeline, case, outcomes[0], outcome))
    names_run = tuple(b.name for b in backends)
    return Result(case, names_run, tuple(problems), tuple(outcomes))


# ---- against what the case expects ----------------------------------------------------------


def differences(pipeline: Pipeline, case: Case, outcome: Outcome) -> list[str]:
    """In which ways an outcome is not what the case expects, a line each."""
    expected, environment = case.expected, case.environment
    problems = []
    if outcome.verdict != expected.verdict:
        problems.append(f"verdict: expected {expected.verdict}, got {outcome.verdict}")
    if expected.out_port is not None and outcome.egress != expected.out_port:
        want, got = (_port(environment, n) for n in (expected.out_port, outcome.egress))
        problems.append(f"port: expected {want}, got {got}")
    if outcome.queue != expected.queue:
        want, got = ("none" if q is None else str(q) for q in (expected.queue, outcome.queue))
        problems.append(f"queue: expected {want}, got {got}")
    if expected.out is not None:
        problems += _frame_differences(pipeline, case, expected.out, outcome)
    if expected.copies is not None:
        problems += _copies_differ(pipeline, case, expected.copies, outcome)
    if expected.events is not None:
        events = [e for e in outcome.events if e[0] != "verdict"]
        if sorted(events) != sorted(expected.events):
            problems.append(f"events: expected {_said(expected.events)}, got {_said(events)}")
    if expected.counted is not None:
        problems += _counted_differences(case, expected.counted, outcome)
    if expected.emits is not None:
        problems += emits.differences(pipeline, expected.emits, outcome.emitted)
    return problems


def _counted_differences(
    case: Case, expected: Sequence[tuple[str, str]], outcome: Outcome
) -> list[str]:
    rules = {(r.kind, r.sequence): r for k in case.book.kinds for r in case.book.rules(k)}
    left = [rules[c] for c in outcome.counted if c in rules]
    got = ", ".join(f"{r.kind} {r.name or r.id}" for r in left) or "none"
    missing = False
    for kind, which in expected:
        fitting = [r for r in left if r.kind == kind and which in ("", str(r.id), r.name)]
        missing = missing or not fitting
        if fitting:
            left.remove(fitting[0])
    if not missing and not left:
        return []
    want = ", ".join(f"{kind} {which}".strip() for kind, which in expected) or "none"
    return [f"counted: expected {want}, got {got}"]


def _frame_differences(
    pipeline: Pipeline, case: Case, expected: Written, outcome: Outcome
) -> list[str]:
    if outcome.frame == expected.frame:
        return []
    if outcome.frame is None:
        return ["packet: expected one, got none"]
    role = _role(case, outcome)
    parts = expected.parts or _parts(pipeline, role, expected.frame)
    return frame_differences(expected.frame, outcome.frame, parts)


def _copies_differ(
    pipeline: Pipeline, case: Case, expected: Sequence[ExpectedCopy], outcome: Outcome
) -> list[str]:
    environment, lines = case.environment, list[str]()
    if len(expected) != len(outcome.copies):
        ports = ", ".join(_port(environment, port) for port, _ in outcome.copies) or "none"
        lines.append(f"copies: expected {len(expected)}, got {ports}")
    for i, ((port, out), got) in enumerate(zip(expected, _alone(outcome), strict=False), 1):
        if port is not None and got.egress != port:
            want, found = (_port(environment, n) for n in (port, got.egress))
            lines.append(f"copy {i}: port: expected {want}, got {found}")
        if out is not None:
            found_ = _frame_differences(pipeline, case, out, got)
            lines += (f"copy {i}: {line}" for line in found_)
    return lines


def _alone(outcome: Outcome) -> list[Outcome]:
    """Each copy as if it were what became of a packet."""
    return [Outcome("redirect", frame, port) for port, frame in outcome.copies]


def _copies_disagree(
    pipeline: Pipeline, case: Arrived, first: Outcome, other: Outcome
) -> list[str]:
    if first.copies == other.copies:
        return []
    a, b = ([port for port, _ in each.copies] for each in (first, other))
    if a != b:
        return [f"copies: {a} and {b}"]
    lines = list[str]()
    for i, (want, got) in enumerate(zip(_alone(first), _alone(other), strict=True), 1):
        assert want.frame is not None and got.frame is not None
        parts = _parts(pipeline, _role(case, want), want.frame)
        lines += (f"copy {i}: {x}" for x in frame_differences(want.frame, got.frame, parts))
    return lines


def frame_differences(expected: bytes, got: bytes, parts: Sequence[Part]) -> list[str]:
    """Where two frames differ, by header and field of `parts`, then by byte."""
    lines = []
    for part in parts:
        want, found = expected[part.start : part.end], got[part.start : part.end]
        if want != found:
            lines += _field_differences(part, want, found)
    end = max((p.end for p in parts), default=0)
    if len(expected) != len(got):
        lines.append(f"length: expected {len(expected)} bytes, got {len(got)}")
    at = next((i for i, (a, b) in enumerate(zip(expected, got, strict=False)) if a != b), None)
    if at is not None and (at >= end or not lines):
        left, right = (frame[at : at + 8].hex(" ") for frame in (expected, got))
        lines.append(f"byte {at}: expected {left}, got {right}")
    return lines


def _field_differences(part: Part, expected: bytes, found: bytes) -> list[str]:
    left, right = HeaderView(part.header, expected), HeaderView(part.header, found)
    lines = []
    for field in part.header.fields:
        if field.part_of is None:
            a, b = left.get_field(field), right.get_field(field)
            if a != b:
                said = [_shown(v, field.kind) for v in (a, b)]
                lines.append(f"{part.name}.{field.name}: expected {said[0]}, got {said[1]}")
    return lines


def _shown(value: Value | None, kind: str) -> str:
    if value is None:
        return "nothing"
    if isinstance(value, bytes):
        return value.hex() or "nothing"
    if kind in NAME_KINDS and isinstance(value, tuple):
        return domain_names.shown_as(kind, bytes(value))
    if isinstance(value, tuple):
        return f"[{', '.join(_shown(v, kind) for v in value)}]"
    if kind == "ip4":
        return ".".join(str(b) for b in value.to_bytes(4, "big"))
    if kind == "ip6":
        return str(IPv6Address(value))
    if kind == "mac":
        return value.to_bytes(6, "big").hex(":")
    return str(value) if value < 10 else f"{value} ({value:#x})"


def _parts(pipeline: Pipeline, role: str, frame: bytes) -> tuple[Part, ...]:
    layers = parse_packet(pipeline.graph, role, frame).layers
    return tuple(Part(x.name, x.header, x.offset, x.behind) for x in layers)


def _role(case: Arrived, outcome: Outcome) -> str:
    port = case.environment.port(outcome.egress or case.port)
    return port.role if port else ""


def _port(environment: Environment, number: int | None) -> str:
    port = environment.port(number) if number is not None else None
    return port.name if port else "none"


def _said(events: Iterable[tuple[str, str]]) -> str:
    return ", ".join(f"{group}: {reason}" for group, reason in events) or "none"


# ---- backends against each other ------------------------------------------------------------


def disagreements(pipeline: Pipeline, case: Arrived, first: Outcome, other: Outcome) -> list[str]:
    """In which ways two backends' outcomes differ; "expected" is the first one's."""
    lines = [
        f"{what}: {getattr(first, what)} and {getattr(other, what)}"
        for what in ("verdict", "egress", "queue")
        if getattr(first, what) != getattr(other, what)
    ]
    for what in ("events", "counted"):
        a, b = sorted(getattr(first, what)), sorted(getattr(other, what))
        if a != b:
            lines.append(f"{what}: {a} and {b}")
    lines += _copies_disagree(pipeline, case, first, other)
    if first.emitted != other.emitted:
        a_, b_ = (emits.shown(pipeline, each.emitted) for each in (first, other))
        lines.append(f"emits: {a_} and {b_}")
    if first.frame != other.frame:
        if first.frame is None or other.frame is None:
            lines.append("only one of them has a packet left")
        else:
            parts = _parts(pipeline, _role(case, first), first.frame)
            lines += frame_differences(first.frame, other.frame, parts)
    return lines
