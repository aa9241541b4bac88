"""What requests do to the rules in force, one thing at a time."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import helioc
import pytest
from helioc.compiler.driver import check_file, lower_pipeline
from helioc.compiler.manifest import manifest_of
from helioc.lang.contract.manifest.manifest import Match
from helioc.lang.contract.request.request import IE, Change, Request, RuleItem
from helioc.lang.contract.request.request_parser import parse_request
from helioc.lang.contract.rules.ie_values import Fault
from helioc.lang.contract.rules.rule_text import canonical, format_rule
from helioc.lang.contract.rules.rulebook import RuleBook, StalePlan
from helioc.lang.contract.rules.rules import Matcher, Member, Reference
from helioc.lang.text.diagnostics import Refused
from helioc.lang.text.source import Source
from linx_manifest import ELEMENTS, PDR, PORTS, linx
from linx_manifest import kind as make_kind
from rules_world import WORLD, Say, world


def codes(book: RuleBook, text: str) -> list[str]:
    try:
        book.plan(parse_request(Source("request", text)))
    except Refused as refused:
        return [d.code for d in refused.diagnostics]
    return []


def test_ids_are_the_lowest_free(empty: RuleBook, say: Say) -> None:
    for expected in (1, 2, 3):
        assert say(empty, "create FAR [(action, u8, 3)]").results == (Reference("FAR", expected),)
    say(empty, "create FAR 5 [(action, u8, 3)]; delete FAR 1; delete FAR 2")
    plan = say(empty, "create FAR [(action, u8, 3)], FAR [(action, u8, 2)], FAR [(action, u8, 3)]")
    assert [r.id for r in plan.results] == [1, 2, 4]
    assert say(empty, "create FAR [(action, u8, 3)]").results[0].id == 6


def test_what_a_request_creates_and_deletes_again_is_no_result(empty: RuleBook, say: Say) -> None:
    far = "create FAR 5 [(action, u8, 3)]"
    plan = say(empty, f"{far}; delete FAR 5")
    assert (plan.created, plan.results) == ((), ())
    plan = say(empty, f"{far}; create FAR 6 [(action, u8, 3)]; delete FAR 5; {far}")
    assert [r.id for r in plan.results] == [6, 5]


def test_an_owner_takes_its_rules_with_it(book: RuleBook, say: Say) -> None:
    plan = say(book, "delete PDR 2")
    assert [(r.kind, r.id) for r in plan.removed] == [("PDR", 2), ("FAR", 1)]


def test_a_new_target_frees_the_owned_one(book: RuleBook, say: Say) -> None:
    plan = say(book, "update PDR 2 [FAR 19]")
    assert [(r.kind, r.id) for r in plan.removed] == [("FAR", 1)]
    assert plan.changed[0][1].target == Reference("FAR", 19)


def test_an_update_of_a_pdr_changes_its_far(book: RuleBook, say: Say) -> None:
    plan = say(book, "update PDR 2, FAR [(action, u8, PASS)]")
    assert [(old.id, new.values) for old, new in plan.changed] == [(1, (("action", 2),))]
    plan = say(book, "update PDR 1, FAR [(action, u8, DROP)]")  # it gave an LBR
    assert [rule.kind for rule in plan.created] == ["FAR"]
    assert plan.changed[0][1].target == Reference("FAR", plan.created[0].id)


def test_members_come_and_go(book: RuleBook, say: Say) -> None:
    plan = say(book, "update LBR 7 [FAR 19 [(weight, u16, 5)], FAR 17 [(weight, u16, 2)]]")
    assert plan.changed[0][1].members == (Member(17, 2), Member(18, 1), Member(19, 5))
    plan = say(book, "delete LBR 7 [FAR 18]; delete FAR 18")
    assert plan.changed[0][1].members == (Member(17, 2), Member(19, 5))
    assert codes(book, "delete LBR 7 [FAR 17, FAR 19]") == ["H0455"]  # PDR 1 points at it


def test_a_group_is_told_apart_by_its_match(book: RuleBook, say: Say) -> None:
    say(book, "create LBR 7 [FAR 19]")
    assert len(book.group("LBR", 7)) == 2
    assert codes(book, "create LBR 7 [FAR 17, (tos, u8, 185)]") == ["H0452"]  # ECN is not ToS
    say(book, "delete LBR 7 [(tos, u8, 184)]")
    assert [rule.members for rule in book.group("LBR", 7)] == [(Member(19, 1),)]
    assert codes(book, "delete LBR 7 [(tos, u8, 0 & 0)]") == ["H0455"]


def test_replace_makes_exactly_this(book: RuleBook, say: Say) -> None:
    old = book.get("PDR", 1)
    assert old is not None
    plan = say(
        book, "replace PDR [(src_ip, u32, 10.9.0.0/16), FAR 19], PDR [(dscp, u8, 3), FAR 19]"
    )
    assert [(a.sequence, b.target) for a, b in plan.changed] == [
        (old.sequence, Reference("FAR", 19))
    ]
    assert sorted((r.kind, r.id) for r in plan.removed) == [("FAR", 1), ("PDR", 2)]
    assert [r.id for r in plan.created] == [3]
    plan = say(book, "replace PDR")
    assert book.count("PDR") == 0
    assert codes(book, "replace OVERLAY") == ["H0455"]


def test_kinds_replaced_by_none_one_after_the_other(book: RuleBook, say: Say) -> None:
    """`LBR` is not what the PDR gives that there is not to be; nor is it so once it was encoded."""
    text = "replace PDR; replace LBR; replace FAR"
    asked = canonical(parse_request(Source("x", text)), book.folded_kinds)
    assert [len(change.items) for change in asked.changes] == [1, 1, 1]
    say(book, text)
    assert [book.count(kind) for kind in ("PDR", "LBR", "FAR")] == [0, 0, 0]


def test_replace_keeps_what_a_kept_rule_owns(book: RuleBook, say: Say) -> None:
    plan = say(book, "replace PDR [(dst_ip, u32, 10.8.0.0/16), FAR [(action, u8, PASS)]]")
    assert [(old.kind, old.id, new.values) for old, new in plan.changed] == [
        ("FAR", 1, (("action", 2),))
    ]
    assert not plan.created
    plan = say(book, "replace PDR 2 [(dst_ip, u32, 10.7.0.0/16), FAR [(action, u8, PASS)]]")
    assert sorted((r.kind, r.id) for r in plan.created) == [("FAR", 1), ("PDR", 2)]
    assert sorted((r.kind, r.id) for r in plan.removed) == [("FAR", 1), ("PDR", 2)]


def test_what_a_replace_removes_is_in_no_rules_way(book: RuleBook, say: Say) -> None:
    """Neither with its match nor with its name."""
    say(book, "replace PDR 1 [(dst_ip, u32, 10.2.0.0/16), FAR 17], PDR 2 [(dscp, u8, 3), FAR 17]")
    plan = say(book, "replace PDR 5 [(dst_ip, u32, 10.2.0.0/16), FAR 17]")
    assert [r.id for r in plan.created] == [5] and [r.id for r in plan.removed] == [1, 2]
    say(book, "replace PDR 2 [(dst_ip, u32, 10.2.0.0/16), FAR 17], PDR 5 [(dscp, u8, 3), FAR 17]")
    say(book, "replace PDR 5 [(dst_ip, u32, 10.2.0.0/16), FAR 17], PDR 2 [(dscp, u8, 3), FAR 17]")
    both = ", ".join(f"PDR {i} [(dst_ip, u32, 10.2.0.0/16), FAR 17]" for i in (8, 9))
    assert codes(book, f"replace {both}") == ["H0452"]
    say(book, "replace PDR; replace LBR; replace FAR")
    tunnel = "[(local_ip, u32, 192.0.2.9), (remote_ip, u32, 192.0.2.8), (interface, u32, wan1)]"
    say(book, f"replace OVERLAY 5 GRE-WAN1 {tunnel}")
    assert [(rule.id, rule.name) for rule in book.rules("OVERLAY")] == [(5, "GRE-WAN1")]


def test_an_interface_leaves_its_old_ifindex_behind(book: RuleBook, say: Say) -> None:
    say(book, "update FAR 17 [(ifindex, u32, 1)]")
    say(book, "update FAR 17 [(interface, u32, GRE-WAN2)]")
    far = book.get("FAR", 17)
    assert far is not None
    assert far.values == (("action", 1),)
    say(book, "update FAR 17 [(ifindex, u32, 3)]")  # agrees: the port under GRE-WAN2
    assert codes(book, "update FAR 17 [(ifindex, u32, 9)]") == ["H0441"]


def test_order_within_a_request(book: RuleBook, say: Say) -> None:
    say(book, "delete PDR 1; delete LBR 7; delete FAR 17; create FAR 17 [(action, u8, DROP)]")
    assert codes(book, "create FAR 20 [(action, u8, DROP)]; delete FAR 20; "
                 "create PDR [(dscp, u8, 1), FAR 20]") == ["H0441"]  # fmt: skip


def test_a_stale_plan_is_not_committed(book: RuleBook, say: Say) -> None:
    plan = book.plan(parse_request(Source("r", "create FAR [(action, u8, DROP)]")))
    say(book, "create FAR [(action, u8, PASS)]")
    with pytest.raises(StalePlan):
        book.commit(plan)


def test_decoded_requests_have_places_too(book: RuleBook) -> None:
    ies = (IE("action", "u8", "value", 9),)
    request = Request((Change("create", (RuleItem("FAR", None, None, ies),)),))
    with pytest.raises(Refused) as refused:
        book.plan(request)
    assert refused.value.diagnostics[0].labels[0].span.text == "9"


def test_save_and_restore() -> None:
    book, again = world(), RuleBook(linx())
    again.restore(book.save())
    assert again.save() == book.save()
    assert codes(again, "delete FAR 17") == ["H0455"]
    assert again.sequence == book.sequence


def test_text_of_a_rule_makes_it_again(book: RuleBook, say: Say) -> None:
    say(book, "create LBR 8 [FAR [(action, u8, DROP), (weight, u16, 3)], (tos, u8, 5 & 0xff)]")
    say(book, "create PDR [(src_port, u16, 1..9), (tos, u8, 8 & 0x0c), (vlan_id, u16, 5), LBR 8]")
    again = RuleBook(linx(), book.ports)
    owned = [rule for rule in book.save() if rule.owner]
    for rule in book.save():
        if rule not in owned:
            say(again, "create " + format_rule(rule, book.manifest, book))
    for rule in book.save():
        twin = again.get(rule.kind, rule.id)
        assert twin is not None
        assert (twin.match, twin.values, twin.references) == (
            rule.match,
            rule.values,
            rule.references,
        )


PRIORITY: dict[str, Any] = {
    "priority": ("priority", "weight"),
    "match": [Match("src_ip", "lpm", 32, 0, None)],
    "gives": ("action",),
}


def test_priorities(say: Say) -> None:
    book = RuleBook(linx((make_kind("ACL", 1, 16, **PRIORITY),)))
    say(book, "create ACL [(src_ip, u32, 10.0.0.0/8), (weight, u16, 1), (action, u8, 1)]")
    say(book, "create ACL [(src_ip, u32, 10.0.0.0/8), (weight, u16, 2), (action, u8, 1)]")
    assert codes(book, "create ACL [(src_ip, u32, 10.0.0.0/8), (weight, u16, 2)]") == ["H0452"]
    assert codes(book, "update ACL [(src_ip, u32, 10.0.0.0/8), (action, u8, 2)]") == ["H0457"]
    say(book, "update ACL [(src_ip, u32, 10.0.0.0/8), (weight, u16, 2), (action, u8, 3)]")
    assert codes(book, "update ACL 1 [(weight, u16, 2)]") == ["H0452"]
    plan = say(book, "update ACL 1 [(weight, u16, 7)]")
    assert plan.changed[0][1].priority == 7
    assert codes(book, "delete ACL [(src_ip, u32, 10.0.0.0/8), (weight, u16, 1)]") == ["H0457"]


@pytest.mark.parametrize(
    ("element", "kind", "cell", "meant"),
    [
        ("src_ip", "lpm", ("prefix", "10.0.0.0", "8"), Matcher("prefix", 0x0A000000, 8)),
        ("src_ip", "lpm", ("prefix", "10.0.0.1", "32"), Matcher("value", 0x0A000001)),
        ("src_ip", "lpm", ("prefix", "0.0.0.0", "0"), None),
        ("src_ip", "lpm", ("mask", "10.0.0.0", "255.0.0.0"), Matcher("prefix", 0x0A000000, 8)),
        ("tos", "ternary", ("value", "184", ""), Matcher("mask", 184, 0xFC)),
        ("tos", "ternary", ("mask", "185", "0xff"), Matcher("value", 185)),
        ("tos", "ternary", ("prefix", "184", "6"), Matcher("mask", 184, 0xFC)),
        ("tos", "ternary", ("mask", "255", "0x0f"), Matcher("mask", 15, 15)),
        ("tos", "ternary", ("mask", "1", "0"), None),
        ("src_port", "range", ("range", "0", "65535"), None),
        ("src_port", "range", ("range", "7", "7"), Matcher("value", 7)),
        ("src_port", "range", ("range", "7", "9"), Matcher("range", 7, 9)),
    ],
)
def test_matchers_are_canonical(
    element: str, kind: str, cell: tuple[str, str, str], meant: Matcher | None
) -> None:
    from helioc.lang.contract.rules.ie_values import Codec

    codec = Codec(next(e for e in ELEMENTS if e.name == element))
    made = codec.matcher(kind, *cell)  # type: ignore[arg-type]
    assert made == meant
    if meant is not None:
        assert codec.matcher(kind, *codec.spelled(kind, meant)) == meant


@pytest.mark.parametrize("text", ["010.0.0.1", "10.0.0.256", "10.0.1", "1.2.3.4.5"])
def test_addresses_are_spelled_in_one_way(text: str) -> None:
    from helioc.lang.contract.rules.ie_values import Codec

    with pytest.raises(Fault):
        Codec(ELEMENTS[0]).number(text)


def test_the_compiled_manifest_says_the_same() -> None:
    path = Path(helioc.__file__).parent / "pipelines" / "linx.hp"
    pipeline = check_file(path)
    manifest = manifest_of(pipeline, lower_pipeline(pipeline))
    book = RuleBook(manifest, PORTS)
    book.commit(book.plan(parse_request(Source("world", WORLD))))
    assert book.save() == world().save()


def test_the_tables_know_their_width() -> None:
    book = RuleBook(linx((PDR,)))
    kind = book.kinds["PDR"]
    assert kind.key_size == 2 * 9 + 3 * 3 + 3 * 5 + 13 + 8  # the priority last
