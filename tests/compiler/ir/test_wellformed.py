"""What every program of the intermediate representation keeps to: each rule is broken by a body of
its own, and no pass breaks one."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from checked import joins
from helioc.compiler import driver
from helioc.compiler.check.program import check
from helioc.compiler.driver import PASSES, Pass, Placing, check_file, lowered, placed, run
from helioc.compiler.ir.expr import (
    CTX,
    ONE,
    ZERO,
    Address,
    Call,
    Cast,
    Choice,
    Expr,
    Frame,
    HelperCall,
    Name,
    Number,
    State,
    StatePointer,
    Swap,
    Symbol,
    TableCall,
    Unary,
    load,
    number,
)
from helioc.compiler.ir.flow import MOVES
from helioc.compiler.ir.nodes import (
    Block,
    Body,
    Do,
    Function,
    Goto,
    If,
    KnownNotNull,
    Label,
    Let,
    LetArray,
    MakePointer,
    Only,
    Return,
    Set,
    Statement,
    Store,
)
from helioc.compiler.ir.types import BYTES, U8, U16, U32, U64, Array, raw
from helioc.compiler.ir.unit import Program, Unit
from helioc.compiler.ir.wellformed import problems
from helioc.compiler.lower.unit import Join, Target
from helioc.compiler.model import Pipeline
from helioc.compiler.nfp.nfp import refusals, without_sizes
from helioc.compiler.passes.simplify import simpler
from helioc.lang.syntax.parser import parse
from helioc.lang.text.source import Source
from linx_world import PIPELINES
from random_pipeline import pipeline_text

A, X = Name("a"), Name("x")
P = Name("p", BYTES)
HEADER = State("ipv4_h", BYTES)
WORD = load(HEADER, 0, 32)
END = Return(ONE)
HELPER = "stage_lan_helper"
MOVING: Body = (Do(Call("bpf_xdp_adjust_head", (CTX, ONE))), END)


def unit_of(body: Body, helper: Body = (END,), stage: str = "s") -> Unit:
    """A stage with that body, and a helper."""
    stage_ = Function("stage_lan_s", stage, "lan", body)
    functions = Function(HELPER, "", "lan", helper), stage_
    program = Program("p_lan", "lan", "all", (stage_,), None, None)
    return Unit(
        "p", "p.hp", "fused", ("lan",), (), (), (), (), (), functions, (program,), ()
    )  # fmt: skip


def said(body: Body, helper: Body = (END,), stage: str = "s", placed: bool = True) -> list[str]:
    return [problem.text for problem in problems(unit_of(body, helper, stage), placed)]


def if_(*then: Statement) -> If:
    return If(Name("x"), then)


LET = Let(X, ONE)
NOT_DECLARED = "`x` is not declared here"
STALE = "`state.ipv4_h` points to where the frame was before it was moved"
SIGN = "C's `int` may be less than 0, and is used with its sign"
LATE = "the epoch is loaded where a packet may have one"
BYTE = load(HEADER, 0, 8)
EPOCH, NOW = State("epoch", U64), Call("epoch_now", (), U64)
ADJUST = Call("bpf_xdp_adjust_tail", (CTX, ONE))
USE = Let(Name("y"), Swap(WORD))
USE_P = Let(Name("y"), load(P, 0, 8))

BROKEN: dict[str, tuple[Body, list[str]]] = {
    "undeclared": ((Let(Name("y"), X), END), [NOT_DECLARED]),
    "read by its own declaration": ((Let(X, X), END), [NOT_DECLARED]),
    "beyond its block": ((Block((LET,)), Set(State("m"), X), END), [NOT_DECLARED]),
    "beyond its branch": ((If(ONE, (LET,)), Set(State("m"), X), END), [NOT_DECLARED]),
    "set before": ((Set(X, ONE), LET, END), [NOT_DECLARED]),
    "argument of helpers": ((Set(State("m"), A), END), ["`a` is not declared here"]),
    "declared twice": ((LET, LET, END), ["`x` is declared twice in a block"]),
    "another type": (
        (LET, Set(State("m"), Name("x", U64)), END),
        ["`x` is declared as u32 and read as u64"],
    ),
    "without a value": (
        (Let(X, None), Let(Name("y"), X), END),
        ["`x` has no value on some way to here"],
    ),
    "without a value on one way": (
        (Let(X, None), If(ONE, (Set(X, ONE),)), Let(Name("y"), X), END),
        ["`x` has no value on some way to here"],
    ),
    "no function": ((Return(HelperCall("there", ONE, ONE)),), ["no function `there`"]),
    "no label": ((Goto("there"),), ["no label `there` at the top of the function"]),
    "label in a block": (
        (Block((Label("there"), END)), Goto("there")),
        ["the label `there` stands within a block", "no label `there` at the top of the function"],
    ),
    "label twice": (
        (Label("there"), Label("there"), END),
        ["the label `there` stands twice"],
    ),
    "falls out of its end": ((LET,), ["nothing comes behind the last stage"]),
    "goes on": ((Return(None),), ["nothing comes behind the last stage"]),
    "stored as a number": (
        (LET, Store(HEADER, ZERO, 32, X), END),
        ["32 bits are stored of x (u32)"],
    ),
    "stored too wide": (
        (Store(HEADER, ZERO, 16, WORD), END),
        ["16 bits are stored of load 32 state.ipv4_h (be32)"],
    ),
    "one byte of many": (
        (Store(HEADER, ZERO, 8, WORD), END),
        ["one byte is stored of load 32 state.ipv4_h (be32)"],
    ),
    "a pointer stored": (
        (Store(HEADER, ZERO, 64, HEADER), END),
        ["what is stored at state.ipv4_h is no integer: state.ipv4_h (ptr)"],
    ),
    "set in another order": (
        (Set(State("m"), WORD), END),
        ["`state.m`, u32, becomes load 32 state.ipv4_h (be32)"],
    ),
    "declared in another order": (
        (Let(X, WORD), END),
        ["`x`, u32, becomes load 32 state.ipv4_h (be32)"],
    ),
    "an element of another order": (
        (LetArray(Name("k", Array(U64, 1)), (WORD,)), END),
        ["`k`, u64, becomes load 32 state.ipv4_h (be32)"],
    ),
    "added to in network order": (
        (Set(State("l4", raw(32)), ZERO, "+"), END),
        ["`state.l4` is in network order, and added to"],
    ),
    "computed with": (
        (Let(X, WORD + 1), END),
        ["computed with, by `+`: load 32 state.ipv4_h (be32)"],
    ),
    "compared by size": (
        (Let(X, WORD < 1), END),
        ["computed with, by `<`: load 32 state.ipv4_h (be32)"],
    ),
    "shifted": ((Let(X, WORD >> 16), END), ["computed with, by `>>`: load 32 state.ipv4_h (be32)"]),
    "negative": (
        (Let(Name("x", raw(32)), Unary("-", WORD)), END),
        ["computed with: load 32 state.ipv4_h (be32)"],
    ),
    "compared in two orders": (
        (Let(X, WORD.is_(1)), END),
        ["`==` of two orders: load 32 state.ipv4_h (be32) and 1 (u32)"],
    ),
    "masked in two widths": (
        (Let(Name("x", raw(32)), WORD & load(HEADER, 0, 16)), END),
        ["`&` of two orders: load 32 state.ipv4_h (be32) and load 16 state.ipv4_h (be16)"],
    ),
    "chosen of two orders": (
        (Let(Name("x", raw(32)), Choice(ONE, WORD, ONE)), END),
        ["a choice of two orders: load 32 state.ipv4_h (be32) and 1 (u32)"],
    ),
    "cut in network order": (
        (Let(Name("x", raw(16)), Cast(raw(16), WORD)), END),
        ["cut off in network order: load 32 state.ipv4_h (be32)"],
    ),
    "swapped byte": (
        (Let(Name("x", U8), Cast(U8, Swap(load(HEADER, 0, 8)))), END),
        ["no bytes to swap: load 8 state.ipv4_h (u8)"],
    ),
    "read after it was moved": ((Do(ADJUST), USE, END), [STALE]),
    "moved on one way": ((If(ONE, (Do(ADJUST),)), USE, END), [STALE]),
    "moved in a test": ((If(ADJUST, ()), USE, END), [STALE]),
    "moved by a jump back": (
        (Label("again"), USE, Do(ADJUST), Goto("again")),
        [STALE],
    ),
    "moved by a helper": ((Do(HelperCall(HELPER, ZERO, ZERO)), USE, END), [STALE]),
    "a variable that was moved": (
        (
            Let(P, Frame("data")), Let(Name("q", BYTES), P + 4), Do(ADJUST),
            Store(Name("q", BYTES), ZERO, 8, ONE), END,
        ),
        ["`q` points to where the frame was before it was moved"],
    ),
    "a state pointer of another program's": (
        (Do(ADJUST), Let(Name("y"), load(State("udp_h", BYTES), 0, 8)), END),
        ["`state.udp_h` points to where the frame was before it was moved"],
    ),
    "computed from one that was moved": (
        (Let(P, Frame("data")), Do(ADJUST), Let(Name("q", BYTES), P + 4), END),
        ["`p` points to where the frame was before it was moved"],
    ),
    "chosen of one that was moved": (
        (
            Let(P, Choice(ONE, Frame("data"), HEADER)), Do(ADJUST),
            Let(Name("y"), load(P, 0, 8)), END,
        ),
        ["`p` points to where the frame was before it was moved"],
    ),
    "where the packet ended": (
        (Let(P, Call("limit_of", (CTX,), BYTES)), Do(ADJUST), If(Frame("data") > P, ()), END),
        ["`p` points to where the frame was before it was moved"],
    ),
    "a truth of Python": ((Let(X, Number(True)), END), ["no number of its type: True (u32)"]),
    "too large": ((Let(X, Number(256, U8)), END), ["no number of its type: 256 (u8)"]),
    "less than 0": ((Let(X, Number(-8)), END), ["no number of its type: -8 (u32)"]),
    "widened below 0": (
        (Let(Name("x", U64), BYTE - 1), END),
        [f"{SIGN}: (load 8 state.ipv4_h - 1) (u32)"],
    ),
    "added to 64 bits below 0": (
        (Let(Name("x", U64), Cast(U64, BYTE) + ~BYTE), END),
        [f"{SIGN}: ~load 8 state.ipv4_h (u32)"],
    ),
    "compared below 0": (
        (LET, If((BYTE - 1) < BYTE, ()), END),
        [f"{SIGN}: (load 8 state.ipv4_h - 1) (u32)"],
    ),
    "shifted below 0": (
        (Let(X, (BYTE << 24) >> 4), END),
        [f"{SIGN}: (load 8 state.ipv4_h << 24) (u32)"],
    ),
    "given below 0": (
        (Let(X, Call("fold", (BYTE - 1,))), END),
        [f"{SIGN}: (load 8 state.ipv4_h - 1) (u32)"],
    ),
    "another epoch": (
        (Let(Name("x", U64), TableCall("far", "find", (ONE, ONE), U64)), END),
        ["rules are looked for by another epoch: far.find(1, 1)"],
    ),
    "the epoch in a stage": ((Set(EPOCH, NOW), END), [LATE]),
    "left after placing": (
        (
            Only(True, (KnownNotNull((HEADER,)),)),
            MakePointer(StatePointer(HEADER, Frame("data"))),
            END,
        ),
        ["`Only` is left after placing", "`KnownNotNull` is left after placing",
         "`MakePointer` is left after placing", "`StatePointer` is left after placing"],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_rule_is_told(name: str) -> None:
    body, expected = BROKEN[name]
    assert said(body, MOVING) == expected


def test_helpers_and_parsers_return_on_every_way() -> None:
    assert said((END,), (If(ONE, (END,)),)) == ["it ends without a `return`"]
    assert said((END,), (Return(None),)) == ["a helper returns no number"]
    assert "it ends without a `return`" in said((LET,), stage="parser")


def test_simplify_keeps_a_cast_that_c_needs() -> None:
    """In the scratch record `at` and `link` have 16 bits: their difference is an `int` of C."""
    at, link = State("ipv4_at", U16, scratch=True), State("link", U16, scratch=True)
    behind = Cast(U32, at - link)
    assert simpler(behind) == behind
    assert said((Let(X, simpler(behind) >> 31), END)) == []
    assert simpler(Cast(U32, at + link)) == at + link


def test_a_packet_has_one_epoch() -> None:
    load = Set(EPOCH, NOW)
    assert said((load, END), stage="parser") == []
    assert said((load, load, END), stage="parser") == ["the epoch is loaded twice"]
    assert said((Label("node_ipv4"), load, END), stage="parser") == [LATE]
    assert said((If(ONE, (load,)), END), stage="parser") == [LATE]
    assert said((END,), helper=(load, END)) == [LATE]


def program_of(*bodies: Body) -> Unit:
    """Functions that a program runs one after the other."""
    functions = tuple(Function(f"stage_{i}", "s", "lan", body) for i, body in enumerate(bodies))
    program = Program("p_lan", "lan", "all", functions, None, None)
    return replace(unit_of((END,)), functions=functions, programs=(program,))


def test_a_pointer_that_a_function_in_front_left_behind() -> None:
    """The state of a packet goes from function to function of a program."""
    made = Set(HEADER, Frame("data"))
    for ways in ((Do(ADJUST),), (If(ONE, (Do(ADJUST),)),), (Do(ADJUST), Return(None))):
        found = problems(program_of((USE, *ways), (USE, END)), placed=True)
        assert [str(problem) for problem in found] == [f"stage_1: {STALE}"]
        assert problems(program_of((USE, *ways), (made, USE, END)), placed=True) == []
    assert problems(program_of((If(ONE, (Do(ADJUST), END)),), (USE, END)), placed=True) == []
    local = Let(P, Frame("data")), Do(ADJUST)
    assert problems(program_of(local, (Let(P, Frame("data")), USE_P, END)), placed=True) == []


HEADERS = ("helio", "tc")
#: Helpers of the kernel that move a frame, or where it lies in memory.
MOVING_XDP = {"bpf_xdp_adjust_head", "bpf_xdp_adjust_tail"}
MOVING_SKB = {
    "bpf_skb_adjust_room", "bpf_skb_change_tail", "bpf_skb_vlan_push", "bpf_skb_vlan_pop",
    "bpf_skb_pull_data",
}  # fmt: skip


def test_every_function_that_moves_the_frame_is_known() -> None:
    """Those of the runtime headers that lead to a helper of the kernel which does."""
    texts = [(PIPELINES.parent / "templates" / f"{name}.bpf.h").read_text() for name in HEADERS]
    text = re.sub(r"/\*.*?\*/", "", "".join(texts), flags=re.DOTALL)
    bodies = dict(
        re.findall(r"^(?:static|__noinline)[^;{]*?(\w+)\([^;{]*\)\n\{\n(.*?)^\}", text, re.M | re.S)
    )
    found, before = MOVING_XDP | MOVING_SKB, 0
    while before < len(found):
        before = len(found)
        calls = re.compile(rf"\b({'|'.join(found)})\(")
        found |= {name for name, body in bodies.items() if calls.search(body)}
    # no unit calls them: at the entry and at the end, and by others
    unnamed = {
        "adjust_room", "as_ip", "pull", "push_empty_tag", "read_type", "settle", "shrink",
        "strip_tags", "tc_action", "tc_begin", "tc_begin_bare", "copy_to", "part_to", "untag",
    }  # fmt: skip
    of_programs = {"send_copy", "send_part"}  # in the template of programs, which count
    assert found - MOVING_SKB - unnamed == MOVES - of_programs


SOUND: dict[str, Body] = {
    "a jump over a declaration": (If(ONE, (Goto("on"),)), LET, Label("on"), END),
    "the same name in two blocks": (Block((LET,)), Block((LET,)), END),
    "an outer name again": (LET, If(X, (LET,)), END),
    "set on both ways": (
        Let(X, None), If(ONE, (Set(X, ONE),), (Set(X, ZERO),)), Let(Name("y"), X), END,
    ),
    "one way ends": (Let(X, None), If(ONE, (END,), (Set(X, ONE),)), Let(Name("y"), X), END),
    "0 in any order": (Store(HEADER, ZERO, 16, ZERO), Let(X, WORD.is_(0)), END),
    "the same order": (Let(X, (WORD & Swap(number(255))).is_(WORD)), END),
    "bytes as a number": (Let(X, Cast(U32, WORD) >> 16), Let(Name("y", U16), Cast(U16, WORD)), END),
    "as it stood": (Store(HEADER, ZERO, 32, WORD), END),
    "made anew": (Do(ADJUST), Set(HEADER, Frame("data")), USE, END),
    "moved on a way that ends": (If(ONE, (Do(ADJUST), END)), USE, END),
    "below 0 where only the bits count": (
        Let(X, BYTE - 1), Let(Name("y"), ~BYTE & 255), If((BYTE - 1).is_(0), ()),
        Let(Name("z", U64), Cast(U32, BYTE - 1)), END,
    ),
    "an argument of a map": (
        LET, Do(Call("bpf_map_lookup_elem", (Address(Symbol("ports")), Address(X)), BYTES)), END,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", SOUND)
def test_what_keeps_to_them_is_not(name: str) -> None:
    assert said(SOUND[name], MOVING) == []


def test_what_is_not_placed_yet_may_be_there() -> None:
    kept = StatePointer(HEADER, Call("header_at", (CTX, ONE, ONE), BYTES))
    read: Expr = Swap(load(kept, 0, 32))
    body: Body = (MakePointer(kept), Only(True, (LET,)), Let(Name("y"), read), Do(ADJUST))
    assert said((*body, Let(Name("z"), read), END), placed=False) == []


# ---- what the compiler makes ----------------------------------------------------------------

JOINS: list[Join] = ["staged", "fused"]
NAMES = [each.name for each in PASSES]


@pytest.fixture
def watched(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """The passes that were carried out, each of which left a sound unit."""
    made: list[str] = []

    def watch(each: Pass) -> Pass:
        behind = NAMES.index(each.name) >= NAMES.index("place_state")

        def carried_out(unit: Unit, where: Placing) -> Unit:
            unit = each.run(unit, where)
            assert problems(unit, behind) == [], each.name
            made.append(each.name)
            return unit

        return replace(each, run=carried_out)

    monkeypatch.setattr(driver, "PASSES", tuple(map(watch, PASSES)))
    yield made


def sound(pipeline: Pipeline, join: Join, traced: bool = False, target: Target = "host") -> None:
    unit = lowered(pipeline, join, traced, target)
    assert problems(unit, placed=False) == []
    placed(pipeline, unit)
    if target == "host" and not traced:
        run(pipeline, unit, spilled=True)


@pytest.mark.parametrize("path", sorted(PIPELINES.glob("*.hp")), ids=lambda p: p.stem)
def test_passes_keep_to_them(path: Path, watched: list[str]) -> None:
    pipeline = check_file(path)
    for join in joins(path):
        sound(pipeline, join)
    sound(pipeline, "staged", traced=True)
    if not refusals(pipeline):
        sound(without_sizes(pipeline), "fused", target="nfp")
    else:
        assert path.stem not in ("slice_offload", "linx_offload")
    assert set(watched) == set(NAMES)


@pytest.mark.parametrize("seed", range(8))
def test_passes_over_pipelines_that_nobody_wrote(seed: int, watched: list[str]) -> None:
    sound(check(parse(Source("random.hp", pipeline_text(seed)))), JOINS[seed % 2])
    assert set(watched) == set(NAMES)


#: Whether TCP stands in a fragment only the inner IPv6 header can say: 0 otherwise, in any order.
TWO_HEADERS = """\
import std.ethernet, std.ip, std.ipv6

pipeline p {
  ports lan
  parser {
    ethernet -> ipv6 as outer when type = 0x86dd
    outer -> ipv6 when next_header = 41
    ipv6 -> ipv6_fragment when next_header = 44
    ipv6 -> tcp when next_header = 6
    ipv6_fragment -> tcp when next_header = 6
  }
  ie station = 1, mac
  ie interface = 2, port
  ie gateway = 3, ip6
  rule ROUTE [4] {
    match station exact ethernet.src
    gives interface, gateway
  }
  default pass
  stage s {
    find ROUTE else { pass }
    if not outer { pass }
    clamp mss
    forward ROUTE.interface via ROUTE.gateway
  }
  run parser -> s
}
"""


def test_fragments_behind_two_headers(watched: list[str]) -> None:
    sound(check(parse(Source("two.hp", TWO_HEADERS))), "staged")
    assert set(watched) == set(NAMES)
