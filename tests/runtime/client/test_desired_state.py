"""The difference between the rules that there are and those that are wanted."""

from __future__ import annotations

import pytest
from explained import examples
from helioc.lang.contract.request.request import request_text
from helioc.lang.contract.request.request_parser import parse_request
from helioc.lang.contract.rules.rule_text import format_rule
from helioc.lang.contract.rules.rulebook import RuleBook
from helioc.lang.contract.rules.rules import Reference
from helioc.lang.text.diagnostics import Refused
from helioc.lang.text.source import Source
from helioc.runtime.client.desired_state import Difference, Listing, Ports, difference
from helioc.runtime.rules.report import Shown
from linx_manifest import IFINDEXES, PORTS, linx
from rules_world import world

BASE = """
create FAR 17 [(action, u8, REDIRECT), (interface, u32, GRE-WAN1)], FAR 18 [(action, u8, PASS)],
  FAR 19 [(action, u8, DROP)], LBR 7 [FAR 17, FAR 18, (tos, u8, 184)],
  PDR 1 [(src_ip, u32, 10.9.0.0/16), LBR 7],
  PDR 2 [(dst_ip, u32, 10.8.0.0/16), FAR [(action, u8, DROP)]]
"""


def listed(book: RuleBook) -> Listing:
    return Listing(book.revision, [
        Shown(r.kind, r.id, r.name, format_rule(r, book.manifest, book), owned=bool(r.owner))
        for r in book.save()
    ])  # fmt: skip


def differ(book: RuleBook, desired: str, **more: object) -> Difference:
    asked = parse_request(Source("wanted", desired))
    return difference(linx(), Ports(PORTS, IFINDEXES), listed(book), asked, **more)  # type: ignore


def reach(desired: str, **more: object) -> tuple[RuleBook, str, Difference]:
    """The world as it becomes by the request that was found; and that request."""
    book = world()
    found = differ(book, desired, **more)
    assert found.request is not None and found.revision == book.revision
    book.commit(book.plan(found.request))
    again = differ(book, desired, **more)
    assert again.request is None, again.lines
    return book, request_text(found.request), found


def test_what_is_wanted_and_there_needs_nothing() -> None:
    found = differ(world(), BASE)
    assert found == Difference(world().revision, None, ())
    otherwise = BASE.replace("10.9.0.0/16", "10.9.0.0 & 255.255.0.0").replace("LBR 7]", "lbr 7]")
    assert differ(world(), otherwise).request is None, "another way of writing it"


DROPPED = BASE.replace("u8, PASS", "u8, DROP")
CASES = {
    "a rule more": (BASE + ", FAR 20 [(action, u8, DROP)]", "create FAR 20", 1),
    "a rule less": (BASE.replace("  FAR 19 [(action, u8, DROP)],", ""), "delete FAR 19", 1),
    "given otherwise": (DROPPED, "update FAR 18", 1),
    "matched otherwise": (BASE.replace("10.9.", "10.7."), "delete PDR 1;\ncreate PDR 1", 2),
    "an owned rule": (BASE.replace("FAR [(action, u8, DROP)]", "FAR [(action, u8, PASS)]"),
                      "update PDR 2", 1),
    "a member less": (BASE.replace("FAR 17, FAR 18, (tos", "FAR 17, (tos"), "replace LBR 7", 1),
    "another target": (BASE.replace("LBR 7]", "FAR 19]"), "update PDR 1", 1),
    "hardly any": ("create FAR 17 [(action, u8, DROP)]", "replace LBR;\nreplace FAR 17", 4),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_the_request_makes_the_difference_and_no_more(case: str) -> None:
    desired, text, changes = CASES[case]
    book, request, found = reach(desired)
    assert text in request and request.count("\n") == changes, request
    assert found.lines and len(list(book.rules("OVERLAY"))) == 2


def test_a_rule_that_stays_is_the_same_one() -> None:
    before = {(r.kind, r.id): r.sequence for r in world().save()}
    book, _, _ = reach(DROPPED + ", FAR 20 [(action, u8, DROP)]")
    after = {(r.kind, r.id): r.sequence for r in book.save()}
    del after["FAR", 20]
    assert after == before


def test_what_differs_is_told_in_lines() -> None:
    assert differ(world(), DROPPED.replace("  FAR 19", "  FAR 20")).lines == (
        "~ FAR 18 [(action, u8, PASS)]; wanted: FAR 18 [(action, u8, DROP)]",
        "- FAR 19 [(action, u8, DROP)]",
        "+ FAR 20 [(action, u8, DROP)]",
    )


def test_kinds_that_are_not_meant_are_left_alone() -> None:
    overlay = (
        "create OVERLAY GRE-WAN1 [(local_ip, u32, 192.0.2.1), (remote_ip, u32, 198.51.100.1), "
        "(key, u32, 8), (interface, u32, wan1)]"
    )
    book, _, found = reach(overlay, kinds=["OVERLAY"])
    assert book.count("PDR") == 2 and book.count("OVERLAY") == 1
    assert [line[0] for line in found.lines] == ["~", "-"]


def test_rules_of_others_are_left_alone() -> None:
    leave = [Reference("PDR", 2), Reference("FAR", 19)]
    book, _, _ = reach("create FAR 17 [(action, u8, DROP)]", leave=leave)
    assert [r.id for r in book.rules("PDR")] == [2] and book.get("FAR", 19) is not None


@pytest.mark.parametrize(
    ("desired", "code", "at"),
    [
        ("create FAR 1 [(action, u8, DROP)]; update FAR 1 [(action, u8, PASS)]", "H0878", "update"),
        ("create FAR [(action, u8, DROP)]", "H0879", "FAR"),
        ("create [(action, u8, DROP)]", "H0879", "["),
        ("create FAR 1 [(action, u8, DROP)], FAR 1 [(action, u8, PASS)]", "H0451", "FAR 1"),
        ("create PDR 1 [(dst_ip, u32, 10.0.0.0/33), FAR 17]", "H0420", "10.0.0.0/33"),
    ],
)
def test_a_state_that_cannot_be_is_refused_with_its_place(desired: str, code: str, at: str) -> None:
    with pytest.raises(Refused) as error:
        differ(world(), desired)
    found = error.value.diagnostics[0]
    assert found.code == code and found.span is not None
    assert at in found.span.text or found.span.text in at
    assert found.span.source.name == "wanted"


@pytest.mark.parametrize(("code", "wrong", "right"), examples("wanted"))
def test_examples_get_their_codes(code: str, wrong: str, right: str) -> None:
    with pytest.raises(Refused, match=code):
        differ(world(), wrong)
    differ(world(), right)
