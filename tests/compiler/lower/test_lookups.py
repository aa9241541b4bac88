"""Look-ups by what is no field of the packet (the port of arrival, values that the `find` gives),
and in the tables that packets write."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest
from helioc.compiler.bundle import compile_pipeline
from helioc.compiler.driver import check_file, lower_pipeline
from helioc.compiler.interpret.packet import Interpreter
from helioc.compiler.lower.unit import Join
from helioc.compiler.manifest import manifest_of
from helioc.compiler.packettests.cases import read_tests
from helioc.lang.contract.request.request_parser import parse_request
from helioc.lang.contract.rules.rule_text import format_rule
from helioc.lang.contract.rules.rulebook import RuleBook
from helioc.lang.syntax.parser import read
from helioc.lang.text.diagnostics import Refused
from helioc.lang.text.source import Source
from helioc.runtime.loading.bundle import Bundle
from helioc.runtime.testrun.private_run import PrivateRun
from packet_cases import packet_cases_hold

HERE = Path(__file__).parent / "cases"
PIPELINES = sorted(
    p
    for d in ("lookups", "rules", "states", "registers", "expressions", "events")
    for p in (HERE / d).glob("*.hp")
)


@pytest.mark.usefixtures("kernel")
@pytest.mark.parametrize("join", ["staged", "fused"])
@pytest.mark.parametrize("path", PIPELINES, ids=lambda p: p.stem)
def test_lookups_agree(path: Path, join: Join) -> None:
    packet_cases_hold(path, join)


@cache
def _book() -> RuleBook:
    pipeline = check_file(HERE / "lookups" / "given.hp")
    manifest = manifest_of(pipeline, lower_pipeline(pipeline))
    return RuleBook(manifest, {"LAN1": 1, "north west": 2})


def _planned(text: str) -> str:
    book = _book()
    plan = book.plan(parse_request(Source("request", text)))
    (made,) = plan.created
    return format_rule(made, book.manifest, book)


@pytest.mark.parametrize("port", ["LAN1", "lan1", "1"])
def test_a_port_is_matched_by_name_or_number(port: str) -> None:
    text = _planned(f"create SEGMENT 1 [(port, u32, {port}), (tenant, u32, 7)]")
    assert text == "SEGMENT 1 [(port, u32, LAN1), (tenant, u32, 7)]"


def test_a_port_name_with_a_space_is_quoted() -> None:
    text = 'SEGMENT 1 [(port, u32, "north west"), (tenant, u32, 7)]'
    assert _planned(f"create {text}") == text


@pytest.mark.parametrize("port", ["LAN9", "9"])
def test_an_unknown_port_is_refused(port: str) -> None:
    with pytest.raises(Refused) as refused:
        _planned(f"create SEGMENT 1 [(port, u32, {port}), (tenant, u32, 7)]")
    (found,) = refused.value.diagnostics
    assert found.code == "H0417" and "LAN1" in found.help


@pytest.mark.usefixtures("kernel")
def test_what_is_too_old_is_not_recalled() -> None:
    """An entry last written 301 seconds ago, where the state `ages 300`; 299 is young enough."""
    path = HERE / "states" / "learning.hp"
    pipeline = check_file(path)
    bundle = compile_pipeline(pipeline)
    cases = read_tests(pipeline, bundle.manifest, read(path.with_suffix(".test.yaml")))
    case = next(c for c in cases if c.name == "what came by a port is sent back there")
    with PrivateRun(Bundle(bundle.manifest, bundle.object)) as run:
        run.set_environment(case.environment)
        interpreter = Interpreter(pipeline, case.environment)
        run.set_moment(interpreter.states.moment)
        for age, verdict in ((299, "redirect"), (301, "tx")):
            for frame, port in case.packets_before:
                run.run(frame, port)
                interpreter.run(case.book, frame, port)
            interpreter.states.wait(age * 1_000_000_000)
            run.set_moment(interpreter.states.moment)
            assert run.run(case.frame, case.port).verdict == verdict
            assert interpreter.run(case.book, case.frame, case.port).verdict == verdict
