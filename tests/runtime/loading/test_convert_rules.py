"""Rules of one build, in the words of another."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from helioc.lang.contract.manifest.manifest import Manifest
from helioc.lang.contract.rules.rule_text import format_rule
from helioc.lang.contract.rules.rulebook import RuleBook
from helioc.runtime.loading.compare_builds import compare
from helioc.runtime.loading.convert_rules import ConvertedRules, convert_rules
from helioc.runtime.loading.schema_change import Answers, SchemaChange
from helioc.runtime.loading.upgrade_errors import untranslatable
from relay import request
from schemas import LINX, PORTS, manifest, one


def moved(
    old: Manifest, new: Manifest, text: str, answers: Answers | None = None
) -> tuple[ConvertedRules, list[str]]:
    """A request's rules in the new build, also as text."""
    book = RuleBook(old, PORTS)
    book.commit(book.plan(request(text)))
    found = convert_rules(written_again(compare(old, new, answers)), book.save(), PORTS)
    made = RuleBook(new, PORTS)
    made.restore(found.rules)
    return found, [format_rule(rule, new, made) for rule in found.rules]


def written_again(change: SchemaChange) -> SchemaChange:
    """As if no kind could stay as it is."""
    kinds = {name: replace(kind, fate="written") for name, kind in change.kinds.items()}
    return replace(change, kinds=kinds)


def said(found: ConvertedRules) -> list[str]:
    return [d.title.partition(": ")[2] for d in untranslatable(found.faults)]


GO = "(way, u8, GO), (out, u32, LAN)"
LARGER = ("R [64]", "R [128]")


def test_all_of_a_rule_comes_along() -> None:
    text = f"R 7 [(host, u32, 10.1.0.0/16), (tos, u8, 8 & 0x1c), (port, u16, 7..99), {GO}]"
    found, texts = moved(one(), one("lpm", "u8", LARGER), f"create {text}")
    assert texts == [text] and not found.faults


def test_linx_comes_along_whole() -> None:
    """References, targets, spreads, owned rules and groups: nothing differs but a size."""
    text = """create OVERLAY GRE1 [(local_ip, u32, 192.0.2.1), (remote_ip, u32, 192.0.2.2),
                                   (interface, u32, WAN)];
       create FAR 1 [(action, u8, REDIRECT), (interface, u32, GRE1)], FAR 2 [(action, u8, DROP)];
       create LBR 9 [FAR 1 [(weight, u16, 3)], FAR 2 [(weight, u16, 1)], (tos, u8, 184)],
              LBR 9 [FAR 1 [(weight, u16, 1)]];
       create PDR 1 [(dst_ip, u32, 10.2.0.0/16), LBR 9],
              PDR 2 [(protocol, u8, UDP), FAR [(action, u8, PASS)]]"""
    new = manifest(LINX.replace("FAR [4k]", "FAR [8k]").replace("OVERLAY [256]", "OVERLAY [512]"))
    book = RuleBook(manifest(LINX), PORTS)
    book.commit(book.plan(request(text)))
    change = written_again(compare(manifest(LINX), new))
    found = convert_rules(change, book.save(), PORTS)
    assert found.rules == book.save() and not found.faults


def test_rules_from_before_pdrs_had_a_priority_keep_their_order() -> None:
    """Each has the lowest priority, so the more specific wins, then the older, as before."""
    before = LINX.replace("    priority priority\n", "")
    before = "".join(line for line in before.splitlines(True) if "ie priority" not in line)
    assert "priority" not in re.sub("//.*", "", before)
    text = """create FAR 1 [(action, u8, DROP)];
       create PDR 1 [(dst_ip, u32, 10.0.0.0/8), FAR 1],
              PDR 2 [(dst_ip, u32, 10.2.0.0/16), FAR 1],
              PDR 3 [(src_ip, u32, 10.2.0.0/16), FAR 1]"""
    found, texts = moved(manifest(before), manifest(LINX), text)
    assert not found.faults
    assert [(r.id, r.priority, r.sequence) for r in found.rules if r.kind == "PDR"] == [
        (1, 0, 2), (2, 0, 3), (3, 0, 4),
    ]  # fmt: skip
    assert [text for text in texts if text.startswith("PDR")] == [
        "PDR 1 [(dst_ip, u32, 10.0.0.0/8), FAR 1]",
        "PDR 2 [(dst_ip, u32, 10.2.0.0/16), FAR 1]",
        "PDR 3 [(src_ip, u32, 10.2.0.0/16), FAR 1]",
    ]


@pytest.mark.parametrize(
    ("old", "new", "host", "becomes"),
    [
        ("lpm", "ternary", "10.1.0.0/16", "10.1.0.0 & 0xffff0000"),
        ("lpm", "range", "10.1.0.0/16", "10.1.0.0..10.1.255.255"),
        ("lpm", "exact", "10.1.0.1", "10.1.0.1"),
        ("lpm", "optional", "10.1.0.1", "10.1.0.1"),
        ("ternary", "lpm", "10.1.0.0 & 0xffff0000", "10.1.0.0/16"),
        ("ternary", "range", "10.1.0.0 & 0xffffff00", "10.1.0.0..10.1.0.255"),
        ("range", "lpm", "10.1.0.0..10.1.0.255", "10.1.0.0/24"),
        ("range", "ternary", "10.1.0.4..10.1.0.5", "10.1.0.4 & 0xfffffffe"),
        ("exact", "lpm", "10.1.0.1", "10.1.0.1"),
        ("optional", "range", "10.1.0.1", "10.1.0.1"),
    ],
)
def test_ways_to_match_are_said_in_each_other(old: str, new: str, host: str, becomes: str) -> None:
    found, texts = moved(one(old), one(new), f"create R 1 [(host, u32, {host}), {GO}]")
    assert not found.faults
    assert texts[0].replace("167837696..167837951", "10.1.0.0..10.1.0.255").startswith("R 1 [(host")
    before = moved(one(new), one(new, "u8", LARGER), f"create R 1 [(host, u32, {becomes}), {GO}]")
    assert found.rules[0].match == before[0].rules[0].match


@pytest.mark.parametrize(
    ("old", "new", "host", "why"),
    [
        ("lpm", "exact", "10.1.0.0/16", "`host` does not match a prefix"),
        ("ternary", "lpm", "10.0.0.1 & 0xff0000ff", "the mask of `host` is not contiguous"),
        ("range", "lpm", "10.1.0.1..10.1.0.9", "`host` does not match a range"),
        ("ternary", "range", "10.0.0.1 & 0xff0000ff", "`host` does not match a value under a mask"),
    ],
)
def test_what_cannot_be_said_is_refused(old: str, new: str, host: str, why: str) -> None:
    found, _ = moved(one(old), one(new), f"create R 1 [(host, u32, {host}), {GO}]")
    assert said(found) == [why]


def test_what_is_matched_exactly_must_be_there() -> None:
    rules = f"create R 1 [(tos, u8, 8 & 0xff), {GO}]"
    found, _ = moved(one("lpm"), one("exact"), rules)
    assert said(found) == ["it lacks `host`, which R matches exactly"]
    answers = Answers(defaults={"R.host": "10.0.0.9"})
    _, texts = moved(one("lpm"), one("exact"), rules, answers)
    assert texts == [f"R 1 [(host, u32, 10.0.0.9), (tos, u8, 8 & 0xff), {GO}]"]


def test_a_wider_element_has_zeros_in_front() -> None:
    wider = one("lpm", "u16", ("tos ternary ipv4.tos", "tos ternary ipv4.id"))
    _, texts = moved(one(), wider, f"create R 1 [(tos, u8, 8 & 0x1c), {GO}]")
    assert texts == [f"R 1 [(tos, u16, 8 & 0xff1c), {GO}]"]
    found, _ = moved(wider, one(), f"create R 1 [(tos, u16, 300), {GO}], R 2 [(tos, u16, 9), {GO}]")
    assert said(found) == ["`tos` has 300, which does not fit any more"]
    assert [rule.id for rule in found.rules] == [2]


def test_values_go_by_their_names() -> None:
    other = one("lpm", "u8", ("STOP = 1, GO = 2", "GO = 1, STOP = 3"))
    _, texts = moved(one(), other, f"create R 1 [{GO}], R 2 [(tos, u8, 8), (way, u8, STOP)]")
    assert texts == [f"R 1 [{GO}]", "R 2 [(tos, u8, 8), (way, u8, STOP)]"]
    renamed = one("lpm", "u8", ("GO = 2", "RUN = 2"), ("GO =>", "RUN =>"))
    _, texts = moved(one(), renamed, f"create R 1 [{GO}]")
    assert texts == ["R 1 [(way, u8, RUN), (out, u32, LAN)]"]
    swapped = one("lpm", "u8", ("STOP = 1, GO = 2", "GO = 1"), ("STOP => drop", ""))
    found, _ = moved(one(), swapped, "create R 1 [(way, u8, STOP)]")
    assert said(found) == ["`way` is STOP, which is no value any more"]


def test_what_is_needed_must_be_there() -> None:
    needs = one("lpm", "u8", ("STOP => drop", "STOP => bridge R.out"))
    found, _ = moved(one(), needs, "create R 1 [(way, u8, STOP)]")
    assert said(found) == ["this R lacks `out`, needed where `way` is STOP or GO"]
    answers = Answers(defaults={"R.out": "WAN"})
    _, texts = moved(one(), needs, "create R 1 [(way, u8, STOP)]", answers)
    assert texts == ["R 1 [(way, u8, STOP), (out, u32, WAN)]"]


def test_rules_that_become_alike_are_refused() -> None:
    answers = Answers(elements={"R.tos": None})
    rules = f"create R 1 [(tos, u8, 8 & 0xff), {GO}], R 2 [(tos, u8, 9 & 0xff), {GO}]"
    found, texts = moved(one(), one(), rules, answers)
    assert texts == [f"R 1 [{GO}]"]
    assert said(found) == ["it would match the same as R 1"]


def test_what_refers_to_what_is_given_up_is_refused() -> None:
    rules = """create FAR 1 [(action, u8, DROP)]; create LBR 9 [FAR 1 [(weight, u16, 1)]];
               create PDR 1 [(protocol, u8, UDP), LBR 9], PDR 2 [FAR 1]"""
    new = manifest(LINX.replace("PDR [64k]", "PDR [1k]"))
    found, _ = moved(manifest(LINX), new, rules, Answers(kinds={"LBR": None}))
    assert said(found) == ["it refers to LBR 9, which is given up"]


NAMED = """
import std.ethernet
header label {
  id    : bytes[8]
  qname : name
}
pipeline named {
  ports lan
  parser { ethernet -> label when type = 0x88b5 }
  ie qname = 1, name[32]
  ie id    = 2, bytes[8]
  rule R [64] {
    match qname ternary label.qname
          id    lpm     label.id
  }
  stage s {
    if not label { pass }
    if find R { drop }
    pass
  }
  run parser -> s
}
"""
OF_NAMES = (
    'R 1 [(qname, "*.example.org"), (id, "ab"/16)], R 2 [(qname, "ads.example.org")], '
    'R 3 [(qname, ".")], R 4 [(id, "abcdefgh")]'
)


@pytest.mark.parametrize("size", [16, 64])
def test_names_become_longer_or_shorter(size: int) -> None:
    new = manifest(NAMED.replace("name[32]", f"name[{size}]"))
    found, texts = moved(manifest(NAMED), new, f"create {OF_NAMES}")
    assert not found.faults
    assert ", ".join(texts) == OF_NAMES.replace('"ab"/16', "0x6162/16")


def test_a_name_that_is_too_long_by_then_is_refused() -> None:
    new = manifest(NAMED.replace("name[32]", "name[8]"))
    found, _ = moved(manifest(NAMED), new, f"create {OF_NAMES}")
    assert said(found) == [
        '"*.example.org" is too long for `qname`',
        '"ads.example.org" is too long for `qname`',
    ]


def test_bytes_that_become_more_are_refused() -> None:
    new = manifest(NAMED.replace("bytes[8]", "bytes[16]"))
    found, _ = moved(manifest(NAMED), new, f"create {OF_NAMES}")
    assert (
        said(found)
        == ["`id` was bytes[8], and is bytes[16] now: its values are not comparable"] * 2
    )


def test_not_more_faults_are_told_than_one_reads() -> None:
    many = ", ".join(f"R {i} [(tos, u8, {i} & 0xff), {GO}]" for i in range(1, 21))
    found, _ = moved(one(), one("exact"), f"create {many}")
    shown = untranslatable(found.faults)
    assert len(shown) == 9 and shown[-1].title == "12 more rules cannot be taken over"
    assert {d.code for d in shown} == {"H0791"}
    assert all("nothing was changed" in d.help for d in shown)
