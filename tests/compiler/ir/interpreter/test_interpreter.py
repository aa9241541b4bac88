"""The intermediate representation on packets: what shipped pipelines' packet tests say, in every
form; and what a program must not do is told."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from checked import checked
from helioc.compiler.driver import lowered, placed, run
from helioc.compiler.fuzzing.semantics import Stage, Stages, stages
from helioc.compiler.interpret.packet import Interpreter
from helioc.compiler.ir.expr import (
    CTX,
    ONE,
    ZERO,
    Address,
    Binary,
    Call,
    Cast,
    Expr,
    Frame,
    Name,
    Number,
    State,
    Swap,
    Unary,
    element,
    load,
    number,
)
from helioc.compiler.ir.interpreter.machine import Machine
from helioc.compiler.ir.interpreter.memory import Fault, NotInterpreted
from helioc.compiler.ir.interpreter.statements import knows
from helioc.compiler.ir.nodes import (
    Blank,
    Block,
    Body,
    Do,
    Function,
    Goto,
    If,
    Label,
    Let,
    LetArray,
    Return,
    Set,
    Statement,
    Store,
)
from helioc.compiler.ir.types import BYTES, U8, U32, U64, Array, raw
from helioc.compiler.ir.unit import Program, Unit
from helioc.compiler.manifest import manifest_of
from helioc.compiler.model import Pipeline
from helioc.compiler.nfp.nfp import without_sizes
from helioc.compiler.packettests.cases import Case, read_tests
from helioc.compiler.packettests.runs import Interpreted, run_tests
from helioc.lang.contract.manifest.manifest import Manifest
from helioc.lang.contract.request.request import Request
from helioc.lang.contract.world.environment import Environment, Port
from helioc.lang.contract.world.moment import Moment
from helioc.lang.syntax.parser import read
from helioc.lang.text.source import Span
from linx_world import PIPELINES, Book
from lowered_runs import Lowered

HERE = Path(__file__).parents[2] / "lower" / "cases"
TESTED = sorted([*PIPELINES.glob("*.test.yaml"), *HERE.glob("*/*.test.yaml")])
#: Staged and fused, the tests of packet tests have it beside the kernel.
FORMS: dict[str, Callable[[Pipeline], Unit]] = {
    "traced": lambda p: placed(p, lowered(p, traced=True)),
    "spilled": lambda p: run(p, lowered(p), spilled=True),
}


@pytest.mark.parametrize("path", TESTED, ids=lambda p: p.name.removesuffix(".test.yaml"))
def test_packet_tests_hold(path: Path) -> None:
    pipeline = checked(path.with_name(path.name.replace(".test.yaml", ".hp")))
    forms = FORMS if path.parent == PIPELINES else {"spilled": FORMS["spilled"]}
    units = {form: make(pipeline) for form, make in forms.items()}
    cases = read_tests(pipeline, manifest_of(pipeline, units["spilled"]), read(path))
    others = (Lowered(pipeline, unit, form) for form, unit in units.items())
    for result in run_tests(pipeline, cases, (Interpreted(pipeline), *others)):
        assert result.ok, "\n".join((result.case.name, *result.problems))


@pytest.mark.parametrize("name", ["linx", "slice"])
@pytest.mark.parametrize("traced", [False, True])
def test_packet_tests_hold_before_and_after_each_pass(name: str, traced: bool) -> None:
    """In traced units the path and the steps are those of the model's interpreter as well."""
    pipeline = checked(PIPELINES / f"{name}.hp")
    found = stages(pipeline, traced=traced)
    assert {"pass place_state", "pass simplify"} < {s.made_by for s in found}
    manifest = manifest_of(pipeline, found[-1].unit)
    for case in read_tests(pipeline, manifest, read(PIPELINES / f"{name}.test.yaml")):
        assert agreed(pipeline, found, case, manifest) is None, case.name


@pytest.mark.parametrize("name", ["linx_offload", "slice_offload"])
def test_packet_tests_hold_on_a_card(name: str) -> None:
    pipeline = without_sizes(checked(PIPELINES / f"{name}.hp"))
    found = stages(pipeline, target="nfp")
    manifest = manifest_of(pipeline, found[-1].unit)
    for case in read_tests(pipeline, manifest, read(PIPELINES / f"{name}.test.yaml")):
        assert agreed(pipeline, found, case, manifest) is None, case.name


def agreed(pipeline: Pipeline, found: list[Stage], case: Case, manifest: Manifest) -> str | None:
    """What is wrong, by a case: the lowering, or a pass; None where all stages do the same."""
    every = Stages(pipeline, found, case.environment, manifest)
    interpreter, book = Interpreter(pipeline, case.environment), case.opening()
    for step in (case.moment, *case.before, (case.frame, case.port)):
        if isinstance(step, Request):
            book.commit(book.plan(step))
        elif isinstance(step, Moment):
            interpreter.set_moment(step)
            every.set_moment(step)
        elif (wrong := every.run(book, *step, interpreter.run(book, *step))[1]) is not None:
            return wrong
    return None


# ---- one function ---------------------------------------------------------------------------

FRAME = bytes(range(64))
MAC = bytes(6)
WORLD = Environment((Port(1, "LAN", "lan", 11, 1500, MAC),))
OUT = State("out", U32)
X, P = Name("x"), Name("p", BYTES)
START = Let(P, Frame("data"))


def machine(body: Body) -> Machine:
    stage = Function("stage_lan_s", "s", "lan", body)
    program = Program("p_lan", "lan", "all", (stage,), None, None)
    unit = Unit(
        "p", "p.hp", "fused", ("lan",), (), (), (), (), (), (stage,), (program,), ()
    )  # fmt: skip
    return Machine(unit, WORLD, "drop")


def returned(body: Body) -> str:
    """Which verdict."""
    return machine(body).run(Book(), FRAME, 1).verdict


def holds(test: Expr, *before: Statement) -> bool:
    body = START, *before, If(test, (Return(number(2)),)), Return(number(1))
    return returned(body) == "pass"


TRUE: dict[str, Expr] = {
    "32 bits wrap": (number(0xFFFFFFFF) + load(P, 1, 8)).is_(0),
    "64 bits do not": (Cast(U64, number(0xFFFFFFFF)) + load(P, 1, 8)).is_(1 << 32),
    "less than 0": Binary("-", load(P, 0, 8), ONE).is_(0xFFFFFFFF),
    "16 bits are 32 where they are computed with": (Swap(load(P, 0, 16)) << 16).is_(0x10000),
    "a complement has 32 bits": Unary("~", load(P, 0, 8)).is_(0xFFFFFFFF),
    "cut off": Cast(U8, number(0x1FF)).is_(0xFF),
    "network order": Swap(load(P, 2, 32)).is_(0x02030405),
    "bytes as they stand": Cast(U32, load(P, 2, 32)).is_(0x05040302),
    "128 bits": (Swap(load(P, 0, 128)) >> 64).is_(0x0001020304050607),
    "the end is behind the last": (P + 64).is_(Frame("data_end")),
    "a pointer is not null": Unary("!", Unary("!", P)),
    "the frame's length": Call("frame_length", (CTX,), U64).is_(64),
    "what a test decides is not read": Binary("||", ONE, load(ZERO, 0, 8)),
}


@pytest.mark.parametrize("name", TRUE)
def test_numbers_and_pointers(name: str) -> None:
    assert holds(TRUE[name])


def test_names_are_those_of_their_block() -> None:
    inner = Block((Let(X, number(7)), Set(X, number(8))))
    assert holds(X.is_(5), Let(X, number(5)), inner)
    assert holds(X.is_(6), Let(X, number(5)), Block((Set(X, ONE, "+"),)))


def test_arrays_hold_what_is_put_into_them() -> None:
    words = Name("w", Array(U64, 2))
    last = element(words, 1)
    made = LetArray(words, ()), Set(last, number(3)), Set(last, number(5), "|")
    assert holds(last.is_(7), *made)
    assert holds(load(Address(last), 0, 8).is_(7), *made)


def test_a_store_is_in_the_frame() -> None:
    body = START, Store(P, number(1), 16, Swap(Number(0x1234, raw(16)))), Return(number(2))
    outcome = machine(body).run(Book(), FRAME, 1)
    assert outcome.frame == b"\0\x12\x34" + FRAME[3:]


FAULTS: dict[str, tuple[Body, str]] = {
    "behind the end": ((START, Let(X, load(P, 61, 32))), "outside the frame: 4 bytes at 61 of 64"),
    "in front": ((START, Let(X, load(P, 0xFFFFFFFF, 8))), "outside the frame"),
    "stored behind the end": ((START, Store(P, number(64), 8, ONE)), "outside the frame"),
    "a null pointer": ((Let(X, load(State("ipv4_h", BYTES), 0, 8)),), "a null pointer is followed"),
    "where the frame was": (
        (START, Do(Call("bpf_xdp_adjust_head", (CTX, ONE))), Let(X, load(P, 0, 8))),
        "a pointer to where the frame was before it was moved",
    ),
    "no value": ((Let(X, None), Let(Name("y"), X)), "`x` has no value"),
    "behind an array": (
        (LetArray(Name("w", Array(U64, 1))), Let(X, element(Name("w", Array(U64, 1)), 1))),
        "8 bytes at 8 of 8",
    ),
    "shifted too far": ((START, Let(X, Binary("<<", load(P, 0, 32), number(32)))), "shifted by 32"),
    "without an end": ((Label("again"), Goto("again")), "does not end"),
    "no number": ((START, Return(P)), "a pointer is no number"),
}


@pytest.mark.parametrize("name", FAULTS)
def test_what_a_program_must_not_do(name: str) -> None:
    body, said = FAULTS[name]
    with pytest.raises(Fault, match=said):
        returned(body)


class Unheard(Statement):
    """Of a kind that only passes know."""

    span: Span | None = None


def test_what_is_not_known_is_named() -> None:
    with pytest.raises(NotInterpreted, match="no_such_function"):
        returned((Do(Call("no_such_function", ())),))
    unit = machine((Blank(), Unheard())).unit
    assert not knows(unit) and knows(machine((Blank(), Let(X, ONE))).unit)
    with pytest.raises(NotInterpreted, match="Unheard"):
        returned((Blank(), Unheard()))


def test_a_stage_that_nothing_comes_behind_is_aborted() -> None:
    assert returned((START,)) == "aborted"
