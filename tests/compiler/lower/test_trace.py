"""A traced build tells, step by step, what the interpreter says; a plain one is as if there were
none."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

import pytest
from agreement import SHORTEST
from checked import checked
from golden import GOLDEN, Golden
from helioc.compiler.bundle import compile_pipeline
from helioc.compiler.driver import lower_pipeline
from helioc.compiler.interpret.packet import Interpreter
from helioc.compiler.lower.unit import Join
from helioc.compiler.manifest import manifest_of
from helioc.compiler.packettests.cases import Case, read_tests
from helioc.lang.contract.request.request import Request
from helioc.lang.contract.trace.decode import Decoder
from helioc.lang.contract.trace.schema import WORDS, SchemaError, from_json
from helioc.lang.contract.trace.steps import Step, Trace, TracedValue
from helioc.lang.contract.trace.text import TraceText
from helioc.lang.contract.world.moment import Moment
from helioc.lang.syntax.parser import read
from helioc.runtime.kernel.program_stats import measure_object
from helioc.runtime.loading.bundle import Bundle
from helioc.runtime.testrun.private_run import PrivateRun
from linx_world import PIPELINES

SHIPPED = sorted(PIPELINES.glob("*.hp"))
#: Instructions that the verifier walks to keep a frame whole, of a million that it takes.
WHOLE = 90_000
LINX = PIPELINES / "linx.hp"


def cases(path: Path) -> tuple[Case, ...]:
    pipeline = checked(path)
    manifest = manifest_of(pipeline, lower_pipeline(pipeline))
    return read_tests(pipeline, manifest, read(path.with_suffix(".test.yaml")))


@cache
def traces(path: Path) -> list[tuple[Case, Trace]]:
    """As the interpreter says them, of the packets of a pipeline's packet tests."""
    pipeline, found = checked(path), []
    for case in cases(path):
        interpreter, book = Interpreter(pipeline, case.environment), case.opening()
        for step in (case.moment, *case.before):
            if isinstance(step, Request):
                book.commit(book.plan(step))
            elif isinstance(step, Moment):
                interpreter.set_moment(step)
            else:
                interpreter.run(book, *step)
        o = interpreter.run(book, case.frame, case.port)
        trace = Trace(case.port, len(case.frame), o.parsed, o.trace, o.verdict, o.egress)
        found.append((case, trace))
    return found


@pytest.mark.usefixtures("compiled_anew")
@pytest.mark.parametrize(("name", "join"), [("linx", "staged"), ("slice", "fused")])
def test_the_plain_program_knows_nothing_of_traces(name: str, join: Join) -> None:
    pipeline = checked(PIPELINES / f"{name}.hp")
    alone, beside = (compile_pipeline(pipeline, join, traced) for traced in (False, True))
    assert alone.traced is None and beside.traced is not None
    assert alone.object == beside.object
    assert alone.manifest == beside.manifest
    assert b"trace" not in alone.object


@pytest.mark.usefixtures("kernel")
@pytest.mark.parametrize(
    ("path", "join"), [*((path, "staged") for path in SHIPPED), (LINX, "fused")],
    ids=lambda p: getattr(p, "stem", p),
)  # fmt: skip
def test_the_traced_build_tells_what_the_interpreter_says(path: Path, join: Join) -> None:
    pipeline = checked(path)
    bundle = compile_pipeline(pipeline, join, traced=True)
    assert bundle.traced is not None
    plain, traced = (
        measure_object(each).programs for each in (bundle.object, bundle.traced.object)
    )
    for name, program in traced.items():
        walked, before = program.verified, plain[name].verified
        assert walked is None or before is None or walked < 1.5 * before + WHOLE
    with PrivateRun(Bundle(bundle.manifest, bundle.object, bundle.traced), traced=True) as kernel:
        for case in cases(path):
            kernel.set_environment(case.environment)
            kernel.set_rules(case.book)
            kernel.forget()
            interpreter = Interpreter(pipeline, case.environment)
            for each in (kernel, interpreter):
                each.set_moment(case.moment)
            for frame, port in (*case.packets_before, (case.frame, case.port)):
                expected = interpreter.run(case.book, frame, port)
                if len(frame) >= SHORTEST:
                    got = kernel.run(frame, port)
                    assert (got.parsed, got.trace) == (expected.parsed, expected.trace), case.name


# ---- what is said ---------------------------------------------------------------------------


def test_text(golden: Golden) -> None:
    """Of packets that show a step, an absent value or a verdict that none before them showed."""
    seen, shown = set[object](), []
    for path in SHIPPED:
        for case, trace in traces(path):
            shows: set[object] = {trace.verdict, *(step.what for step in trace.steps)}
            shows |= {(s.what, v.kind, v.value is None) for s in trace.steps for v in s.values}
            if not shows <= seen:
                seen |= shows
                ports = {port.number: port.name for port in case.environment.ports}
                shown.append(TraceText(ports).text(trace, f"{path.stem}: {case.name}"))
    golden.file(GOLDEN / "traces.txt", "\n".join(shown) + "\n")


def test_colours_change_nothing_else() -> None:
    for _, trace in traces(LINX):
        coloured = TraceText({}, colour=True).text(trace, "packet 1")
        for code in ("\x1b[0m", "\x1b[1m", "\x1b[1;31m", "\x1b[1;33m", "\x1b[1;34m"):
            coloured = coloured.replace(code, "")
        assert coloured == TraceText({}).text(trace, "packet 1")


def test_json() -> None:
    seen = set()
    for path in SHIPPED:
        for case, trace in traces(path):
            ports = {port.number: port.name for port in case.environment.ports}
            shown = json.loads(TraceText(ports).to_json(trace, number=7))
            assert shown["number"] == 7 and shown["port"] == ports[trace.port]
            assert shown["verdict"] == trace.verdict
            assert [n["node"] for n in shown["path"]] == [name for name, _ in trace.path]
            seen |= {step["what"] for step in shown["steps"]}
    assert seen == {
        "stage", "look", "rule", "slot", "remember", "recall", "recalled", "pop", "push", "set",
        "leave", "event", "queue", "append", "update", "forget", "meter",
    }  # fmt: skip


def test_what_a_step_says() -> None:
    ports, plain = TraceText({3: "WAN1"}), TraceText({}).line
    absent = Step(
        "look",
        "R",
        (TracedValue("a", None), TracedValue("b", 0x0A000001, "ip4"), TracedValue("p", 3, "port")),
    )
    assert ports.line(absent) == "find R: a absent, b 10.0.0.1, p WAN1"
    pushed = Step(
        "push", "user", (TracedValue("srh.segments", 1, "count"),), nodes=("outer", "srh")
    )
    assert ports.line(pushed) == "push outer / srh before user: srh.segments of 1 element"
    assert plain(Step("pop", "user")) == "pop nothing in front of user"
    assert plain(Step("append", "gtpu", nodes=("recovery",))) == "append recovery behind gtpu"
    yellow = Step("meter", "q", (TracedValue("colour", 2, "colour"),))
    assert plain(yellow) == "meter q: yellow"
    assert yellow.to_json() == {"what": "meter", "name": "q", "values": {"colour": "yellow"}}
    assert plain(Step("queue", "queue", (TracedValue("queue", 3),))) == "queue 3"


# ---- schemas and records --------------------------------------------------------------------


def test_a_schema_is_read_as_it_was_written() -> None:
    traced = compile_pipeline(checked(LINX), traced=True).traced
    assert traced is not None
    assert from_json(traced.schema.to_json()) == traced.schema


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("{", "no JSON"),
        ("[]", "another release"),
        ('{"format": 2}', "another release"),
        ('{"format": 1}', "lacks `pipeline`"),
        ('{"format": 1, "pipeline": "p", "digest": "", "plain": "", "nodes": [], "points": []}',
         "first points"),
    ],
)  # fmt: skip
def test_what_is_no_schema_is_refused(text: str, why: str) -> None:
    with pytest.raises(SchemaError, match=why):
        from_json(text)


def test_damaged_records_are_refused() -> None:
    bundle = compile_pipeline(checked(LINX), traced=True)
    assert bundle.traced is not None
    decoder = Decoder(bundle.traced.schema, bundle.manifest, lambda *_: "")
    start = bytes(8) + (60).to_bytes(4, "little") + bytes(8)
    nodes = bytes(2 * ((len(bundle.traced.schema.nodes) + 3) // 4 * 4) + 256)

    def record(*words: int, used: int = 0) -> bytes:
        head = start + (used or len(words)).to_bytes(4, "little") + bytes(8)
        return head + nodes + b"".join(word.to_bytes(8, "little") for word in words)

    event = next(c.index for c in bundle.manifest.counters if c.reason == "too_big") << 32
    whole = decoder.decode(record(event)).trace
    assert [TraceText({}).line(step) for step in whole.steps] == ["hook: too_big"]
    look = next(i for i, p in enumerate(bundle.traced.schema.points) if p.what == "look")
    for wrong in (record(9999), record(9999 << 32), record(look, 1), b"", record(1)[:40]):
        with pytest.raises(ValueError, match=r"there is no|ends within|too short"):
            decoder.decode(wrong)
    cut = decoder.decode(record(event, look, used=WORDS + 1)).trace
    assert cut.cut and len(cut.steps) == 1
