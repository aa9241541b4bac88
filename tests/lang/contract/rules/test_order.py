"""References are counted when all of a request is planned: its order does not matter to them."""

from __future__ import annotations

from itertools import permutations

import pytest
from helioc.lang.contract.request.request_parser import parse_request
from helioc.lang.contract.rules.rulebook import RuleBook
from helioc.lang.contract.rules.rules import Reference
from helioc.lang.text.diagnostics import Refused
from helioc.lang.text.source import Source
from linx_manifest import IFINDEXES, PORTS, linx
from rules_world import Say

OVERLAY = "[(local_ip, u32, 192.0.2.9), (remote_ip, u32, 192.0.2.8), (interface, u32, wan2)]"


def refused(book: RuleBook, text: str) -> list[tuple[str, str]]:
    with pytest.raises(Refused) as found:
        book.plan(parse_request(Source("request", text)))
    return [(d.code, d.labels[0].span.text) for d in found.value.diagnostics]


@pytest.mark.parametrize("head", ["OVERLAY GRE-WAN2", "OVERLAY 2 GRE-WAN2", "OVERLAY 2 other"])
def test_an_overlay_is_made_anew_under_those_that_point_at_it(
    book: RuleBook, say: Say, head: str
) -> None:
    """Also by its name alone, and also where a lower id is free."""
    say(book, "update FAR 17 [(interface, u32, GRE-WAN2)]; delete OVERLAY GRE-WAN1")
    before = book.get("FAR", 17)
    plan = say(book, f"delete OVERLAY GRE-WAN2; create {head} {OVERLAY}")
    assert [(r.kind, r.id) for r in plan.created] == [("OVERLAY", 2)]
    assert book.get("FAR", 17) == before
    assert refused(book, "delete OVERLAY 2") == [("H0455", "OVERLAY 2")]


def test_replaced_kinds_may_come_in_any_order(book: RuleBook, say: Say) -> None:
    changes = [
        f"replace OVERLAY GRE-WAN9 {OVERLAY}",
        "replace FAR 17 [(action, u8, REDIRECT), (interface, u32, GRE-WAN9)]",
        "replace LBR 7 [FAR 17]",
        "replace PDR [(dscp, u8, 9), LBR 7]",
    ]
    for order in permutations(changes):
        say(book, "; ".join(order))
        assert {kind: book.count(kind) for kind in book.kinds} == {
            "OVERLAY": 1, "PDR": 1, "FAR": 1, "LBR": 1,
        }  # fmt: skip


def test_what_refers_may_come_before_what_it_refers_to() -> None:
    changes = [
        f"create OVERLAY GRE-WAN9 {OVERLAY}",
        "create FAR 1 [(action, u8, REDIRECT), (interface, u32, GRE-WAN9), (ifindex, u32, 3)]",
        "create LBR 1 [FAR 1 [(weight, u16, 2)]]",
        "create PDR 1 [(dscp, u8, 9), LBR 1]",
        "create PDR 2 [(dscp, u8, 10), FAR 1]",
    ]
    made = set()
    for order in permutations(changes):
        book = RuleBook(linx(), PORTS, IFINDEXES)
        book.commit(book.plan(parse_request(Source("request", "; ".join(order)))))
        said = [(r.kind, r.id, r.values, r.references, r.target, r.members) for r in book.save()]
        made.add(tuple(sorted(said, key=str)))
    assert len(made) == 1


def test_a_promised_name_keeps_its_id(book: RuleBook, say: Say) -> None:
    """Another rule that is allotted an id in between gets another one."""
    other = OVERLAY.replace("192.0.2.9", "192.0.2.10")
    say(book, f"create FAR 5 [(action, u8, REDIRECT), (interface, u32, later)]; "
              f"create OVERLAY sooner {other}; create OVERLAY later {OVERLAY}")  # fmt: skip
    later = book.by_name("OVERLAY", "later")
    far = book.get("FAR", 5)
    assert later is not None and far is not None
    assert far.references == (("interface", Reference("OVERLAY", later.id)),)


def test_what_is_missing_for_another_mistake_is_not_said(book: RuleBook) -> None:
    text = ("create FAR 40 [(action, u8, DORP)]; create PDR [(dscp, u8, 1), FAR 40]; "
            "update FAR 40 [(action, u8, 2)]; create LBR 4 [FAR 40]; delete FAR 40")  # fmt: skip
    assert refused(book, text) == [("H0417", "DORP")]
    assert refused(book, "delete FAR 40; create FAR 40 [(action, u8, 3)]") == [("H0450", "FAR 40")]


def test_an_id_that_is_pointed_at_is_not_allotted(book: RuleBook) -> None:
    """FAR 1 would be the PDR's own, and the LBR, whose FAR was deleted, would point at it."""
    text = "update LBR 7 [FAR 19]; delete FAR 17; create PDR [(dscp, u8, 1), FAR [(action, u8, 3)]]"
    assert refused(book, text) == [("H0455", "FAR 17")]


def test_ids_freed_in_a_request_can_be_allotted_in_the_next(book: RuleBook, say: Say) -> None:
    say(book, "delete FAR 17, FAR 18, FAR 19, LBR 7, PDR 1; delete PDR 2")
    say(
        book,
        "create FAR 1 [(action, u8, 3)], FAR 2 [(action, u8, 3)], PDR 1 [(dscp, u8, 1), FAR 2]",
    )
    say(book, "delete FAR 2; create FAR [(action, u8, 3)]; update PDR 1 [FAR 1]")
    assert sorted(rule.id for rule in book.rules("FAR")) == [1, 3]
    assert say(book, "create FAR [(action, u8, 3)]").results == (Reference("FAR", 2),)


@pytest.mark.parametrize(
    ("text", "code", "at"),
    [
        ("delete FAR 17; delete OVERLAY GRE-WAN1; create PDR [(dscp, u8, 1), LBR 7]",
         "H0455", "FAR 17"),
        ("create PDR [(dscp, u8, 1), FAR 20]; create FAR 20 [(action, u8, 3)]; delete FAR 20",
         "H0441", "FAR 20"),
        ("create FAR 20 [(action, u8, 1), (interface, u32, later)]; "
         f"create OVERLAY later {OVERLAY}; delete OVERLAY later", "H0440", "later"),
        ("create FAR 20 [(action, u8, 1), (interface, u32, later), (ifindex, u32, 77)]; "
         f"create OVERLAY later {OVERLAY}", "H0443", "(interface, u32, later)"),
    ],
)  # fmt: skip
def test_what_is_missing_at_the_end_is_said_where_it_is_meant(
    book: RuleBook, text: str, code: str, at: str
) -> None:
    assert (code, at) in refused(book, text)
