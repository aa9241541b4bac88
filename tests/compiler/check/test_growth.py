"""How the work of `helioc check` grows with a pipeline, counted in calls; and what is known at a
place by the tests in front of it, which made it grow."""

from __future__ import annotations

import sys
from collections.abc import Callable
from itertools import combinations
from types import FrameType

import pytest
from helioc.compiler.check.program import check
from helioc.lang.syntax.parser import parse
from helioc.lang.text.diagnostics import Refused
from helioc.lang.text.source import Source

HEAD = """import std.ethernet, std.ip

pipeline big {
  ports outside, inside

  parser {
    ethernet -> ipv4  when type = 0x0800
    ipv4     -> udp   when protocol = 17
  }

  ie src_ip = 1, ip4
  ie action = 2, u8 { KEEP = 1, LOSE = 2 }

  rule BLOCK [1k] { match src_ip exact ipv4.src gives action }
  state SEEN [1k] { match src : ip4 gives port : port ages 60 }

  default pass

  stage first {
    if not udp { pass }
    find BLOCK else { pass }
"""


def source(*lines: str) -> Source:
    return Source("big.hp", "\n".join((HEAD, *lines, "pass\n}\nrun parser -> first\n}\n")))


def calls(body: Callable[[], object]) -> int:
    """How many Python functions it calls."""
    count = 0

    def note(frame: FrameType, event: str, argument: object) -> None:
        nonlocal count
        count += event == "call"

    sys.setprofile(note)
    try:
        body()
    finally:
        sys.setprofile(None)
    return count


STATEMENTS = {
    "if": "if udp.dst = {n} {{ pass }}",
    "if above": "if udp.dst > {n} {{ pass }}",
    "if and a difference": "if udp.dst >= {n} {{ if udp.dst - {n} = 7 {{ pass }} }}",
    "if and an assignment": "if udp.dst > {n} {{ pass }} ipv4.ttl = 7",
    "if and its own assignment": "if ipv4.ttl < 9 {{ drop }} ipv4.ttl = 7",
    "if in if": "if udp {{ if ipv4.id = {n} {{ drop }} else {{ count other }} }}",
    "match": "match BLOCK.action {{ KEEP => {{ count kept }} LOSE => {{ count lost }} }}",
    "find": "find BLOCK else {{ count missed_{n} pass }}",
    "recall": "recall SEEN(src = ipv4.src) else {{ remember SEEN(src = ipv4.src, port = port) }}",
    "assignment": "ipv4.id = {n}",
    "count": "count number_{n}",
}


@pytest.mark.parametrize("statement", STATEMENTS.values(), ids=STATEMENTS)
def test_twice_as_many_statements_are_twice_the_work(statement: str) -> None:
    def work(count: int) -> int:
        tree = parse(source(*(statement.format(n=n + 1) for n in range(count))))
        return calls(lambda: check(tree))

    work(1)  # what is imported and kept at first
    none, once, twice = (work(count) for count in (1, 30, 60))
    assert twice - none < 2.3 * (once - none)


# ---- what tests say -----------------------------------------------------------------------------


def accepted(*lines: str) -> bool:
    """Whether a difference there is surely not below zero (H0238)."""
    try:
        check(parse(source(*lines)))
    except Refused as refused:
        assert {d.code for d in refused.diagnostics} == {"H0238"}
        return False
    return True


MINUS = "if ipv4.ttl - 3 = 9 { drop }"


@pytest.mark.parametrize(
    ("known", "lines"),
    [
        (False, [MINUS]),
        (True, ["if ipv4.ttl < 3 { drop }", MINUS]),
        (False, ["if ipv4.ttl < 2 { drop }", MINUS]),
        (True, ["if 3 > ipv4.ttl { drop }", MINUS]),
        (True, ["if ipv4.ttl > 2 {", MINUS, "}"]),
        (False, ["if ipv4.ttl > 2 { count large }", MINUS]),
        (False, ["if ipv4.ttl > 2 { drop } else {", MINUS, "}"]),
        (True, ["if ipv4.ttl < 3 { drop } else {", MINUS, "}"]),
        (True, ["if ipv4.ttl < 3 { drop }", "if udp.dst = 1 { if udp.src = 2 {", MINUS, "} }"]),
        (True, ["if ipv4.ttl = 0 { drop }", "if ipv4.ttl - 1 = 9 { drop }"]),
        (False, ["if ipv4.ttl = 0 { drop }", "if ipv4.ttl - 2 = 9 { drop }"]),
        (True, ["if udp.src < udp.dst { drop }", "if udp.src - udp.dst = 9 { drop }"]),
        (False, ["if udp.src < udp.dst { drop }", "if udp.dst - udp.src = 9 { drop }"]),
        # an assignment to a field that was tested, to another
        (False, ["if ipv4.ttl < 3 { drop }", "ipv4.ttl = 1", MINUS]),
        (True, ["if ipv4.ttl < 3 { drop }", "udp.dst = 1", MINUS]),
        (False, ["if ipv4.ttl < 3 { drop }", "if udp.dst = 1 { ipv4.ttl = 1 }", MINUS]),
        (True, ["if ipv4.ttl < 3 { drop }", "if udp.dst = 1 { ipv4.ttl = 1 drop }", MINUS]),
        (False, ["if ipv4.ttl < 3 { drop }", "if udp.dst = 1 { ipv4.ttl = 1", MINUS, "}"]),
        (True, ["if ipv4.ttl < 3 { drop }",
                "if udp.dst = 1 { ipv4.ttl = 1 pass } else {", MINUS, "}"]),
        (True, ["ipv4.ttl = 1", "if ipv4.ttl < 3 { drop }", MINUS]),
        (True, ["if ipv4.ttl < 3 { drop }", "ipv4.ttl = 1", "if ipv4.ttl < 3 { drop }", MINUS]),
        (True, ["if ipv4.ttl < 3 { ipv4.ttl = 9 drop }", "ipv4.id = 1", MINUS]),
    ],
)  # fmt: skip
def test_what_is_known_of_a_difference(known: bool, lines: list[str]) -> None:
    assert accepted(*lines) == known


# ---- rules that may have been found -------------------------------------------------------------

#: How each of many rules may come to be found or not.
OPTIONAL = {
    "else goes on": "find R{n} else {{}}",
    "if find": "if find R{n} {{ count hit }} else {{ count miss }}",
    "branches": "if udp.dst = {n} {{ find R{n} else {{}} }} else {{ if udp.src = {n} {{ drop }} }}",
    "where the one before was": "if R{b} {{ find R{n} else {{}} }}",
    "where the one before was not": "if not R{b} {{ find R{n} else {{}} }}",
    "a state": "if recall KEEP(src = ipv4.src) {{ find R{n} from KEEP.r{n} else {{}} }}",
    "by a rule's value": "if R{b} {{ match R{b}.action {{ LOSE => {{ find R{n} else {{}} }} "
    "KEEP => {{}} }} }}",
    "and another one with it": "find R{n} else {{}}\nif R{n} {{ find S{n} else {{ drop }} }}",
}
NARROWED = "if R{n} {{ match R{n}.action {{ LOSE => drop  KEEP => {{}} }} }}"
BOTH = "if R{n} {{ match S{n}.action {{ LOSE => drop  KEEP => {{}} }} }}"


def optional(count: int, finds: str, *uses: str) -> Source:
    """So many rules that may be found or not, all of which are asked for behind all of them."""
    names = [f"{sort}{i}" for sort in "RS" for i in range(count)]
    kinds = [f"rule {each} [16] {{ match src_ip exact ipv4.src gives action }}" for each in names]
    slots = ", ".join(f"r{i} : R{i}" for i in range(count))
    kinds.append(f"state KEEP [16] {{ match src : ip4 gives {slots} ages 60 }}")
    head = HEAD.replace("  default pass", "\n".join((*kinds, "", "  default pass")))
    lines = ["find R0 else {}", *(finds.format(n=n, b=n - 1) for n in range(1, count))]
    lines += [use.format(n=n, b=n - 1, m=count - n) for use in uses for n in range(1, count)]
    text = "\n".join((head, *lines, "pass\n}\nrun parser -> first\n}\n"))
    return Source("big.hp", text)


def refused(source: Source) -> list[str]:
    with pytest.raises(Refused) as caught:
        check(parse(source))
    return [d.code for d in caught.value.diagnostics]


@pytest.mark.parametrize("finds", OPTIONAL.values(), ids=OPTIONAL)
def test_forty_rules_that_may_have_been_found(finds: str) -> None:
    """That each is known where it was asked for, and no work doubles with one more."""
    uses = [NARROWED, BOTH] if "S{n}" in finds else [NARROWED]

    def work(count: int) -> int:
        source = optional(count, finds, *uses)
        return calls(lambda: check(parse(source)))

    work(1)  # what is imported and kept at first
    few, more, most = (work(count) for count in (10, 20, 40))
    assert most - more < 3 * (more - few)


@pytest.mark.parametrize("finds", OPTIONAL.values(), ids=OPTIONAL)
def test_a_rule_that_may_not_have_been_found_is_read_only_where_it_was(finds: str) -> None:
    unguarded = "match R{n}.action {{ LOSE => drop  KEEP => {{}} }}"
    assert set(refused(optional(40, finds, NARROWED, unguarded))) == {"H0271"}
    wrong_way = "if not R{n} {{ match R{n}.action {{ LOSE => drop  KEEP => {{}} }} }}"
    assert "H0271" in refused(optional(40, finds, wrong_way))


#: How each of many rules depends on one, or two, of many that were looked up in front of them all.
DEPENDENT = {
    "in the same order": "if R{n} {{ find S{n} else {{}} }}",
    "in the other order": "if R{m} {{ find S{n} else {{}} }}",
    "on a miss": "if not R{n} {{ find S{n} else {{}} }}",
    "on both of two": "if R{n} and R{m} {{ find S{n} else {{}} }}",
    "on one of two": "if R{n} or R{m} {{ find S{n} else {{}} }}",
}


@pytest.mark.parametrize("finds", DEPENDENT.values(), ids=DEPENDENT)
def test_rules_that_depend_on_many_that_were_found_long_before(finds: str) -> None:
    """In whatever order they are looked up."""
    uses = [NARROWED, NARROWED.replace("R{n}", "S{n}")]
    check(parse(optional(25, "find R{n} else {{}}", finds, *uses)))


def test_a_rule_that_may_not_have_been_found_behind_many_others_is_not_read() -> None:
    finds = "if R{n} {{ find S{n} else {{ drop }} }}"
    unguarded = "if R{m} {{ match S{n}.action {{ LOSE => drop  KEEP => {{}} }} }}"
    check(parse(optional(21, "find R{n} else {{}}", finds, BOTH)))
    assert refused(optional(21, "find R{n} else {{}}", finds, BOTH, unguarded)) == ["H0271"]


def test_what_no_order_makes_small_is_refused_and_not_worked_on_for_ever() -> None:
    """Of fifteen rules each two have one that is looked up only if both were found."""
    pairs = list(combinations(range(15), 2))
    names = [f"R{n}" for n in range(15)] + [f"S{a}_{b}" for a, b in pairs]
    kinds = [f"rule {each} [16] {{ match src_ip exact ipv4.src gives action }}" for each in names]
    lines = [f"find R{n} else {{}}" for n in range(15)]
    lines += [f"if R{a} and R{b} {{ find S{a}_{b} else {{}} }}" for a, b in pairs]
    lines += [f"if {n} {{ match {n}.action {{ LOSE => drop  KEEP => {{}} }} }}" for n in names]
    whole = source(*lines)
    text = whole.text.replace("  default pass", "\n".join((*kinds, "", "  default pass")))
    assert refused(Source("big.hp", text)) == ["H0218"]


def test_what_a_later_stage_or_an_action_asks_for_is_known_there() -> None:
    parts = "find PDR else {}\n}\nstage second {\nif PDR { note(PDR) }"
    kind = "rule PDR [16] { match src_ip exact ipv4.src gives action }"
    note = "action note(PDR) { match PDR.action { LOSE => drop  KEEP => {} } }"
    head = HEAD.replace("  default pass", f"  {kind}\n  {note}\n\n  default pass")
    text = f"{head}{parts}\npass\n}}\nrun parser -> first -> second\n}}\n"
    check(parse(Source("big.hp", text)))
