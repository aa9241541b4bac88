"""A delete without an id means the rule that has the members that it writes, and no others."""

from __future__ import annotations

import pytest
from helioc.lang.contract.request.request_parser import parse_request
from helioc.lang.contract.rules.rulebook import RuleBook
from helioc.lang.text.diagnostics import Diagnostic, Refused
from helioc.lang.text.source import Source
from rules_world import Say

SPREADS = (
    "create LBR 1 [FAR 17], LBR 2 [FAR 17, FAR 18], LBR 3 [FAR 17 [(weight, u16, 3)], FAR 18], "
    "LBR 4 [FAR 19, FAR 17, FAR 18], LBR 5 [(tos, u8, 4), FAR 17, FAR 18]; "
    "create PDR 80 [(dscp, u8, 1), LBR [FAR 19]]"
)


def refused(book: RuleBook, text: str) -> Diagnostic:
    with pytest.raises(Refused) as caught:
        book.plan(parse_request(Source("request", text)))
    (found,) = caught.value.diagnostics
    return found


@pytest.mark.parametrize(
    ("text", "id_"),
    [
        ("LBR [FAR 17]", 1),
        ("LBR: FAR 17", 1),
        ("LBR [FAR 18, FAR 17]", 2),
        ("LBR [FAR 17 [(weight, u16, 3)], FAR 18]", 3),
        ("LBR: FAR 17, FAR 18, FAR 19", 4),
        ("LBR [(tos, u8, 4), FAR 17, FAR 18]", 5),
        ("LBR [(tos, u8, 4)]", 5),
    ],
)
def test_it_is_meant(book: RuleBook, say: Say, text: str, id_: int) -> None:
    say(book, SPREADS)
    plan = say(book, f"delete {text}")
    assert [(rule.kind, rule.id) for rule in plan.removed] == [("LBR", id_)] and not plan.changed
    assert refused(book, f"delete {text}").code == "H0450", "nothing is meant the second time"


def test_also_by_rules_within_it(book: RuleBook, say: Say) -> None:
    texts = [
        "LBR [FAR [(action, u8, DROP)], FAR 17]",
        "LBR [FAR [(action, u8, PASS)], FAR 17]",
        "LBR [FAR [(action, u8, DROP)], FAR [(action, u8, PASS)]]",
    ]
    for text in texts:
        say(book, f"create {text}")
    for text in texts:
        assert {rule.kind for rule in say(book, f"delete {text}").removed} == {"LBR", "FAR"}
    assert book.count("LBR") == 1 and book.count("FAR") == 4


@pytest.mark.parametrize(
    ("text", "near"),
    [
        ("LBR [FAR 18]", "LBR 2 [FAR 17, FAR 18]"),
        ("LBR [FAR 17 [(weight, u16, 4)]]", "LBR 1 [FAR 17]"),
        ("LBR [(tos, u8, 4), FAR 18]", "LBR 5 [(tos, u8, 4), FAR 17, FAR 18]"),
    ],
)
def test_no_other_is(book: RuleBook, say: Say, text: str, near: str) -> None:
    say(book, SPREADS)
    found = refused(book, f"delete {text}")
    assert (found.code, found.title) == ("H0450", "no LBR has exactly that match and these members")
    assert f"write its id to take members out; the nearest: {near}" in found.help


def test_several_that_have_them(book: RuleBook, say: Say) -> None:
    say(book, f"{SPREADS}; create LBR 9 [FAR 17]")
    found = refused(book, "delete LBR [FAR 17]")
    assert found.code == "H0457" and found.labels[0].text == "ids 1, 9"


def test_with_an_id_members_are_taken_out(book: RuleBook, say: Say) -> None:
    say(book, SPREADS)
    plan = say(book, "delete LBR 2 [FAR 18]; delete LBR 5 [(tos, u8, 4), FAR 17]")
    assert [len(new.members) for _, new in plan.changed] == [1, 1] and not plan.removed


def test_what_another_rule_holds_is_not_meant(book: RuleBook, say: Say) -> None:
    say(book, SPREADS)
    found = refused(book, "delete LBR [FAR 19]")
    assert found.code == "H0450"
    say(book, "delete LBR 4; delete LBR 3; delete LBR 2; delete LBR 1")
    found = refused(book, "delete LBR [FAR 19]")
    assert found.code == "H0455" and "PDR 80 holds it" in found.help
