"""Schema 1 has no ids: what a rule is, says which one is meant, where only one can be."""

from __future__ import annotations

import pytest
from helioc.lang.contract.request.request_parser import parse_request
from helioc.lang.contract.rules.rulebook import RuleBook
from helioc.lang.text.diagnostics import Diagnostic, Refused
from helioc.lang.text.source import Source
from rules_world import Say


def fault(book: RuleBook, text: str) -> Diagnostic:
    with pytest.raises(Refused) as refused:
        book.plan(parse_request(Source("request", text)))
    return refused.value.diagnostics[0]


def test_the_only_one_is_meant(empty: RuleBook, say: Say) -> None:
    say(empty, "create FAR: (action, u8, PASS)")
    say(empty, "update FAR: (action, u8, DROP)")
    (far,) = empty.rules("FAR")
    assert far.values == (("action", 3),)


def test_of_several_none_is(book: RuleBook) -> None:
    found = fault(book, "update FAR: (action, u8, DROP)")
    assert found.code == "H0460" and found.labels[0].text == "there are 3: ids 17, 18, 19"


def test_values_say_which_to_delete(empty: RuleBook, say: Say) -> None:
    say(empty, "create FAR 1 [(action, u8, 1), (interface, u32, 2), (ifIndex, u32, 12)], "
               "FAR 2 [(action, u8, DROP)], FAR 3 [(action, u8, DROP)]")  # fmt: skip
    say(empty, "delete FAR: (action, u8, 1), (interface, u32, 2), (ifIndex, u32, 2)")
    assert [rule.id for rule in empty.rules("FAR")] == [2, 3]
    found = fault(empty, "delete FAR: (action, u8, DROP)")
    assert found.labels[0].text == "2 have these values: ids 2, 3"
    assert fault(empty, "delete FAR: (action, u8, PASS)").labels[0].text == "none has these values"


def test_a_delete_says_something(empty: RuleBook, say: Say) -> None:
    say(empty, "create FAR: (action, u8, PASS)")
    assert fault(empty, "delete FAR").code == "H0460"


@pytest.mark.parametrize("operation", ["delete", "update"])
def test_what_another_holds_is_said(empty: RuleBook, say: Say, operation: str) -> None:
    say(empty, "create PDR 80 [(dst_ip, u32, 10.80.0.0/16), FAR [(action, u8, DROP)]]")
    found = fault(empty, f"{operation} FAR [(action, u8, DROP)]")
    assert found.code == "H0460"
    assert found.labels[0].text == "PDR 80 holds FAR 1 [(action, u8, DROP)]"
    assert found.help == "delete PDR 80, which takes it along, or `update FAR 1 […]`"
    say(empty, "update FAR 1 [(action, u8, PASS)]")
    say(empty, "delete PDR 80")
    assert not empty.count("FAR")


def test_of_those_that_others_hold_the_ones_with_its_values(empty: RuleBook, say: Say) -> None:
    """A rule that nobody holds has others."""
    far = "FAR [(action, u8, DROP)]"
    say(empty, "create FAR 9 [(action, u8, PASS)]; " + "; ".join(
        f"create PDR {n} [(dst_ip, u32, 10.{n}.0.0/16), {far}]" for n in range(80, 90)
    ))  # fmt: skip
    found = fault(empty, f"delete {far}")
    assert "PDR 80 holds FAR 1 [" in found.labels[0].text and "7 more" in found.labels[0].text
    assert "PDR 80" in found.help
    found = fault(empty, "delete FAR [(action, u8, REDIRECT)]")
    assert found.labels[0].text == "none has these values" and "holds" not in str(found.help)


DROPS = "[(action, u8, DROP)]"


@pytest.mark.parametrize("operation", ["create", "replace"])
def test_an_id_that_the_request_names_is_not_allotted(
    empty: RuleBook, say: Say, operation: str
) -> None:
    say(empty, f"create PDR 5 [(tos, u8, 128 & 0xfc), FAR {DROPS}]; {operation} FAR 1 {DROPS}; "
               f"create PDR 6 [(dscp, u8, 1), FAR {DROPS}], FAR 3 {DROPS}")  # fmt: skip
    owned = {rule.id: bool(rule.owner) for rule in empty.rules("FAR")}
    assert owned == {1: False, 2: True, 3: False, 4: True}


def test_a_deleted_id_is_allotted_unless_it_is_named(empty: RuleBook, say: Say) -> None:
    say(empty, f"create FAR 1 {DROPS}, FAR 2 {DROPS}")
    say(empty, f"delete FAR 1; create FAR: (action, u8, PASS); delete FAR 2; "
               f"create PDR [(dscp, u8, 1), FAR {DROPS}], FAR 2 {DROPS}")  # fmt: skip
    assert {rule.id: bool(rule.owner) for rule in empty.rules("FAR")} == {
        1: False, 2: False, 3: True
    }  # fmt: skip
