"""Interpreter and kernel agree on LINX: verdict, bytes, egress, events and counters, for packets
and rules that nobody wrote."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import suppress

import pytest
from helioc.compiler.interpret import Interpreter
from helioc.compiler.interpreter.environment import Outcome, Rules
from helioc.compiler.lower import Join
from helioc.compiler.phases import compile_pipeline
from helioc.compiler.requests.rulebook import RuleBook
from helioc.lang.diagnostics import Refused
from helioc.lang.request_parser import parse_request
from helioc.lang.source import Source
from helioc.runtime.bundle import Bundle
from helioc.runtime.testrun import PrivateRun
from hypothesis import HealthCheck, given, note, settings
from hypothesis import strategies as st
from linx_packets import frames, mutated
from linx_requests import BEGINNING, requests
from linx_world import LAN, RULES, WAN1, WORLD, linx

SHORTEST = 14  # the kernel test-runs nothing shorter
JOINS: list[Join] = ["staged", "fused"]
quick = settings(
    deadline=None, database=None, suppress_health_check=list(HealthCheck), print_blob=True
)


@pytest.fixture(scope="module", params=JOINS)
def kernel_run(request: pytest.FixtureRequest, kernel: None) -> Iterator[PrivateRun]:
    bundle = compile_pipeline(linx(), request.param)
    with PrivateRun(Bundle(bundle.manifest, bundle.object)) as run:
        run.set_environment(WORLD)
        yield run


@pytest.fixture
def loaded(kernel_run: PrivateRun) -> PrivateRun:
    """With the rules of `linx_world.RULES`."""
    kernel_run.set_rules(RULES)
    return kernel_run


def said(outcome: Outcome) -> tuple[object, ...]:
    """What both must say alike. A dropped packet's bytes are nobody's business."""
    return (
        outcome.verdict,
        outcome.frame.hex() if outcome.frame is not None else None,
        outcome.egress,
        Counter(outcome.events),
        Counter(outcome.counted),
    )


def agree(run: PrivateRun, rules: Rules, frame: bytes, port: int) -> Outcome:
    expected = Interpreter(linx(), WORLD).run(rules, frame, port)
    if len(frame) >= SHORTEST:
        got = run.run(frame, port)
        assert said(got) == said(expected), f"port {port}: {frame.hex()}\n{expected.trace}"
    return expected


@settings(quick, max_examples=800)
@given(st.one_of(frames(), mutated()))
def test_packets(loaded: PrivateRun, arriving: tuple[bytes, int]) -> None:
    agree(loaded, RULES, *arriving)


@settings(quick, max_examples=40)
@given(frames())
def test_truncated_at_every_octet(loaded: PrivateRun, arriving: tuple[bytes, int]) -> None:
    frame, port = arriving
    for length in range(SHORTEST, min(len(frame), 140)):
        agree(loaded, RULES, frame[:length], port)


@settings(quick, max_examples=120)
@given(st.lists(requests, min_size=2, max_size=6), st.lists(frames(), min_size=4, max_size=10))
def test_rules_that_come_and_go(
    kernel_run: PrivateRun, texts: list[str], arriving: list[tuple[bytes, int]]
) -> None:
    """After each request every packet meets the same rule in both."""
    book = RuleBook(
        kernel_run.manifest,
        {p.name: p.number for p in WORLD.ports},
        {p.number: p.ifindex for p in WORLD.ports},
    )
    kernel_run.set_rules(book)
    for text in [BEGINNING, *texts]:
        note(text)
        with suppress(Refused):
            plan = book.plan(parse_request(Source("request", text)))
            kernel_run.apply(plan)
            book.commit(plan)
        for frame, port in arriving:
            agree(kernel_run, book, frame, port)


def test_the_strategies_reach_every_fate(loaded: PrivateRun) -> None:
    """A property test that meets only drops proves nothing: count what the packets come to."""
    seen: Counter[str] = Counter()

    @settings(quick, max_examples=400, derandomize=True)
    @given(frames())
    def look(arriving: tuple[bytes, int]) -> None:
        outcome = agree(loaded, RULES, *arriving)
        seen.update([outcome.verdict, *(reason for _, reason in outcome.events)])

    look()
    for fate in ("pass", "drop", "redirect", "tx", "ttl_expired", "too_big", "OVERLAY", "PDR"):
        assert seen[fate] >= 3, seen


@pytest.mark.parametrize("port", [LAN, WAN1])
def test_every_frame_of_one_octet_value(loaded: PrivateRun, port: int) -> None:
    for octet in (0x00, 0x08, 0x45, 0x81, 0xFF):
        for length in (14, 34, 60, 1514):
            agree(loaded, RULES, bytes([octet]) * length, port)
