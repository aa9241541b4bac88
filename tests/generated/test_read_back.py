"""What a generated pipeline pushes its own parser reads back: by the interpreter, where `check` has
only looked at the pipeline. HELIO_PIPELINES is ten times how many, HELIO_SEED the first seed."""

from __future__ import annotations

import os
from itertools import pairwise

import pytest
from campaign import short_tunnels
from chance import Chance
from compare import checked, world
from helioc.compiler.check.written import read_edges
from helioc.compiler.driver import lower_pipeline
from helioc.compiler.interpret.build_packet import Heading
from helioc.compiler.interpret.packet import Interpreter
from helioc.compiler.interpret.parse_packet import parse_packet
from helioc.compiler.interpret.rewrite import Rewriting
from helioc.compiler.manifest import manifest_of
from helioc.compiler.model import Pipeline
from helioc.lang.contract.request.request_parser import parse_request
from helioc.lang.contract.rules.rulebook import RuleBook
from helioc.lang.text.diagnostics import Refused
from helioc.lang.text.source import Source
from random_packets import PacketMaker
from random_pipeline import pipeline_text
from random_requests import RequestMaker

FIRST = int(os.environ.get("HELIO_SEED", "0"))
SEEDS = range(FIRST, FIRST + int(os.environ.get("HELIO_PIPELINES", "120")) // 10)

#: A packet as it leaves: the names of its headers, which of them were pushed, and its bytes.
Left = tuple[list[str], list[bool], bytes]


def test_what_is_pushed_is_read_back(monkeypatch: pytest.MonkeyPatch) -> None:
    left: list[Left] = []
    plain = Rewriting.with_own_link

    def noted(self: Rewriting) -> bytes:
        frame = plain(self)
        pushed = [isinstance(x, Heading) for x in self.chain]
        left.append(([x.name for x in self.chain], pushed, frame))
        return frame

    monkeypatch.setattr(Rewriting, "with_own_link", noted)
    asked = 0
    for seed in SEEDS:
        for text in (pipeline_text(seed), short_tunnels(seed)):
            pipeline = checked(text)
            left.clear()
            _run(pipeline, seed)
            asked += sum(_asked(pipeline, *each) for each in left)
    assert asked > 3 * len(SEEDS)


def _asked(pipeline: Pipeline, names: list[str], pushed: list[bool], frame: bytes) -> bool:
    """Whether there is a port role by which the parser can come to all that was pushed; if so, it
    must."""
    if True not in pushed or pushed[0]:
        return False
    graph = pipeline.graph
    last = len(pushed) - 1 - pushed[::-1].index(True)
    prefix = names[: last + 1]
    asked = False
    for role in pipeline.roles:
        pairs = list(pairwise(prefix))
        read = all(any(role in e.roles for e in read_edges(graph, a, b)) for a, b in pairs)
        if read and graph.entry(role).name == prefix[0]:
            parsed = parse_packet(graph, role, frame)
            found = [layer.name for layer in parsed.layers]
            assert found[: last + 1] == prefix, (role, found, prefix, parsed.reason, frame.hex())
            asked = True
    return asked


def _run(pipeline: Pipeline, seed: int) -> None:
    chance = Chance(f"run {seed}")
    environment = world(chance, pipeline)
    book = RuleBook(
        manifest_of(pipeline, lower_pipeline(pipeline)),
        {p.name: p.number for p in environment.ports},
        {p.number: p.ifindex for p in environment.ports},
    )
    rules = RequestMaker(chance, pipeline, environment)
    for text in rules.requests():
        try:
            book.commit(book.plan(parse_request(Source("request", text))))
        except Refused:
            continue
    interpreter = Interpreter(pipeline, environment)
    for frame in PacketMaker(chance, pipeline, environment, rules.liked).frames(60):
        interpreter.run(book, frame.data, frame.port)
