"""Rules to bytes and back."""

from __future__ import annotations

import pytest
from helioc.lang.contract.rules.rules import Matcher, Member, Reference, Rule
from helioc.runtime.rules.images import ImageCodec, TooLong
from helioc.runtime.rules.matches import MatchCodec, prefixes
from hypothesis import given
from hypothesis import strategies as st
from linx_maps import bundle

RULES = [
    Rule(
        "OVERLAY", 7, 3, "GRE-WAN1", 0, 0,
        (("local_ip", Matcher("value", 0xC0000201)), ("remote_ip", Matcher("value", 0xC0000202)),
         ("key", Matcher("value", 7))),
        (), (("interface", Reference("port", 2)),),
    ),
    Rule(
        "PDR", 0xFFFFFFFF, (1 << 48) - 1, "", 5, 0,
        (("src_ip", Matcher("prefix", 0x0A010000, 16)), ("tos", Matcher("mask", 0xB8, 0xFC)),
         ("src_port", Matcher("range", 1, 65534)), ("vlan_id", Matcher("value", 4095)),
         ("src_mac", Matcher("value", 0x02000000000A))),
        target=Reference("LBR", 9),
    ),
    Rule(
        "FAR", 1, 1, values=(("action", 1),), references=(("interface", Reference("OVERLAY", 7)),)
    ),
    Rule("FAR", 2, 2, values=(("action", 3), ("ifindex", 12))),
    Rule(
        "LBR", 4, 4, match=(("tos", Matcher("value", 184)),),
        members=tuple(Member(i, i + 1) for i in range(16)),
    ),
]  # fmt: skip


def matches(kind: str) -> MatchCodec:
    return MatchCodec(bundle().manifest.rule(kind), images(kind))


def images(kind: str) -> ImageCodec:
    return ImageCodec(bundle().manifest, bundle().manifest.rule(kind))


@pytest.mark.parametrize("rule", RULES, ids=lambda r: f"{r.kind} {r.id}")
def test_an_image_is_the_whole_rule(rule: Rule) -> None:
    size = images(rule.kind).kind.image_size
    memory = bytearray(b"\xff" * 3 * size)
    images(rule.kind).write(memoryview(memory), size, rule, 77, matches(rule.kind).of(rule).image)
    assert images(rule.kind).rule_of(memory[size : 2 * size]) == (rule, 77)
    assert memory[:size] + memory[2 * size :] == b"\xff" * 2 * size


def test_an_empty_image_is_no_rule() -> None:
    with pytest.raises(ValueError, match="no rule"):
        images("FAR").rule_of(bytes(images("FAR").kind.image_size))


def test_a_name_that_does_not_fit_is_refused() -> None:
    with pytest.raises(TooLong):
        codec = images("OVERLAY")
        into = memoryview(bytearray(codec.kind.image_size))
        codec.write(into, 0, Rule("OVERLAY", 1, 1, "ü" * 33), 1, b"")


@given(st.integers(0, 0xFFFF), st.integers(0, 0xFFFF))
def test_prefixes_make_up_the_range_and_nothing_else(one: int, two: int) -> None:
    low, high = sorted((one, two))
    at = low
    for value, length in prefixes(low, high, 16):
        size = 1 << (16 - length)
        assert value == at and value % size == 0
        at += size
    assert at == high + 1


@given(st.integers(0, 0xFFFF), st.integers(0, 0xFFFF), st.integers(0, 0xFFFF))
def test_a_range_matches_by_one_pattern_at_most(one: int, two: int, port: int) -> None:
    low, high = sorted((one, two))
    rule = Rule("PDR", 1, 1, match=(("src_port", Matcher("range", low, high)),))
    position = next(m.position for m in matches("PDR").kind.match if m.element == "src_port")
    matching = [k for mask, k in matches("PDR").of(rule).patterns if port << position & mask == k]
    assert len(matching) == (low <= port <= high)


def test_elements_in_one_byte_that_contradict_each_other_match_nothing() -> None:
    tos, dscp = ("tos", Matcher("value", 0)), ("dscp", Matcher("value", 46))
    assert matches("PDR").of(Rule("PDR", 1, 1, match=(tos, dscp))).patterns == []
    agreeing = ("tos", Matcher("value", 46 << 2))
    assert len(matches("PDR").of(Rule("PDR", 1, 1, match=(agreeing, dscp))).patterns) == 1


def test_a_rank_is_specificity_then_age() -> None:
    wide = Rule("PDR", 1, 1, match=(("dst_ip", Matcher("prefix", 0x0A000000, 16)),))
    narrow = Rule("PDR", 2, 2, match=(("dst_ip", Matcher("prefix", 0x0A000000, 24)),))
    later = Rule("PDR", 3, 3, match=(("src_ip", Matcher("prefix", 0x0A000000, 24)),))
    ranks = [matches("PDR").of(rule).bound[1] for rule in (narrow, later, wide)]
    assert ranks == sorted(ranks, reverse=True)
    assert ranks[0] >> 48 == 24
