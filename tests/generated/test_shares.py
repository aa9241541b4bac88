"""What the generated pipelines are made of, and what their packets come to: a comparison of
pipelines that do nothing proves nothing."""

from __future__ import annotations

import sys
from collections import Counter

import pytest
from chance import Chance
from compare import checked, world
from coverage_of import PARTS, features
from helioc.compiler.check.program import check
from helioc.compiler.driver import lower_pipeline
from helioc.compiler.interpret.packet import Interpreter
from helioc.compiler.manifest import manifest_of
from helioc.lang.contract.request.request_parser import parse_request
from helioc.lang.contract.rules.rulebook import RuleBook
from helioc.lang.contract.world.environment import Outcome
from helioc.lang.syntax.parser import parse
from helioc.lang.text.diagnostics import Refused
from helioc.lang.text.source import Source
from random_packets import PacketMaker
from random_pipeline import pipeline_text
from random_requests import RequestMaker

SEEDS = 150
LEAST = 0.10  # of the pipelines have each part
REWRITTEN = ("push", "pop", "set", "leave")


def test_every_part_of_the_language_occurs(capsys: pytest.CaptureFixture[str]) -> None:
    seen: Counter[str] = Counter()
    for seed in range(SEEDS):
        program = parse(Source("random.hp", pipeline_text(seed)))
        seen.update(features(check(program)))
    with capsys.disabled():
        shares = ", ".join(f"{part} {count * 100 // SEEDS}%" for part, count in seen.most_common())
        sys.stdout.write(f"\n{SEEDS} generated pipelines: {shares}\n")
    assert not {part for part, count in seen.items() if count < LEAST * SEEDS}
    assert not set(PARTS.values()) - set(seen)


def test_packets_get_far(capsys: pytest.CaptureFixture[str]) -> None:
    """As the interpreter sees them: past the parser, and to where packets are changed."""
    seen: Counter[str] = Counter()
    for seed in range(30):
        for outcome in _outcomes(seed):
            rewritten = any(step.what in REWRITTEN for step in outcome.trace)
            malformed = any(group == "malformed" for group, _ in outcome.events)
            seen.update(packets=1, rewritten=rewritten, malformed=malformed)
            seen[outcome.verdict] += 1
    with capsys.disabled():
        sys.stdout.write(f"\n{dict(seen)}\n")
    assert seen["rewritten"] > 0.3 * seen["packets"]
    assert seen["malformed"] < 0.3 * seen["packets"]


def _outcomes(seed: int) -> list[Outcome]:
    pipeline, chance = checked(pipeline_text(seed)), Chance(f"run {seed}")
    environment = world(chance, pipeline)
    book = RuleBook(
        manifest_of(pipeline, lower_pipeline(pipeline)),
        {p.name: p.number for p in environment.ports},
        {p.number: p.ifindex for p in environment.ports},
    )
    rules = RequestMaker(chance, pipeline, environment)
    for text in rules.requests():
        _request(book, text)
    frames = PacketMaker(chance, pipeline, environment, rules.liked).frames(60)
    interpreter = Interpreter(pipeline, environment)
    return [interpreter.run(book, f.data, f.port) for f in frames]


def _request(book: RuleBook, text: str) -> None:
    try:
        book.commit(book.plan(parse_request(Source("request", text))))
    except Refused:
        return
