"""PDR, FAR and LBR in one rule (Schema 1 of the paper): the LBR's entries take their classes of
traffic, the FAR all other packets of the PDR."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from helioc.lang.contract.request.request import Request
from helioc.lang.contract.request.request_parser import parse_request
from helioc.lang.contract.rules.rule_text import canonical, format_rule
from helioc.lang.contract.rules.rulebook import Plan, RuleBook
from helioc.lang.contract.rules.rules import Matcher, Member, Reference, Rule
from helioc.lang.contract.rules.wire import Codecs, decode, encode
from helioc.lang.contract.rules.yaml_requests import read_yaml
from helioc.lang.text.diagnostics import Refused
from helioc.lang.text.source import Source
from rules_world import Say, world

FAR = "(action, u8, REDIRECT), (interface, u32, GRE-WAN1), (ifIndex, u32, 1)"
OTHER = "(action, u8, REDIRECT), (interface, u32, GRE-WAN2), (ifIndex, u32, 2)"
BOTH = [
    f"create PDR: (dscp, u8, 1), FAR: {FAR}, LBR: FAR: {OTHER}, (ToS, u8, 4)",
    f"create PDR [(dscp, u8, 1), FAR [{FAR}], LBR [FAR [{OTHER}], (ToS, u8, 4)]]",
    f"create PDR [(dscp, u8, 1), LBR [(ToS, u8, 4), FAR [{OTHER}]], FAR [{FAR}]]",
    f"create PDR: (dscp, u8, 1); create FAR: {FAR}; create LBR: FAR: {OTHER}, (ToS, u8, 4)",
    f"create [(dscp, u8, 1), [{FAR}], LBR [FAR [{OTHER}], (ToS, u8, 4)]]",
]
CLASS = (("tos", Matcher("mask", 4, 0xFC)),)


def parsed(text: str) -> Request:
    return parse_request(Source("request", text))


def shown_rule(book: RuleBook, id_: int) -> str:
    rule = book.get("PDR", id_)
    assert rule is not None
    return format_rule(rule, book.manifest, book)


def entries(book: RuleBook, pdr: int) -> dict[bool, Rule]:
    """The entries of the LBR that a PDR gives: with and without a class."""
    rule = book.get("PDR", pdr)
    assert rule is not None and rule.target is not None and rule.target.kind == "LBR"
    found = {bool(entry.match): entry for entry in book.group("LBR", rule.target.id)}
    assert all(entry.owner == rule.sequence for entry in found.values())
    return found


@pytest.mark.parametrize("text", BOTH)
def test_both_take_effect(book: RuleBook, say: Say, text: str) -> None:
    say(book, text)
    found = entries(book, 3)
    assert found[True].match == CLASS and found[False].match == ()
    for of_a_class, way in ((False, 1), (True, 2)):
        (member,) = found[of_a_class].members
        far = book.get("FAR", member.id)
        assert far is not None and far.owner == found[of_a_class].sequence
        assert far.references == (("interface", Reference("OVERLAY", way)),)


def by_yaml(book: RuleBook) -> Plan:
    text = """\
create:
  PDR:
    dscp: 1
    LBR: {tos: 4, FAR: [{action: REDIRECT, interface: GRE-WAN2, ifindex: 2}]}
    FAR: {action: REDIRECT, interface: GRE-WAN1, ifindex: 1}
"""
    return book.plan(read_yaml(Source("request.yaml", text), book.manifest))


def by_wire(book: RuleBook) -> Plan:
    codecs = Codecs(book.manifest, book.kinds)
    return book.plan(decode(encode(parsed(BOTH[0]), codecs), codecs))


def by_canonical_text(book: RuleBook) -> Plan:
    return book.plan(canonical(parsed(BOTH[3]), book.folded_kinds))


def by_wire_of_three_changes(book: RuleBook) -> Plan:
    codecs = Codecs(book.manifest, book.kinds)
    return book.plan(decode(encode(parsed(BOTH[3]), codecs), codecs))


@pytest.mark.parametrize("by", [by_yaml, by_wire, by_canonical_text, by_wire_of_three_changes])
def test_every_form_of_a_request_says_the_same(by: Callable[[RuleBook], Plan]) -> None:
    one, other = world(), world()
    assert sorted(by(one).created) == sorted(other.plan(parsed(BOTH[0])).created)


@pytest.mark.parametrize(
    "inside",
    [
        "FAR [(action, u8, PASS)], LBR [(tos, u8, 4), FAR]",
        "FAR [(action, u8, PASS)], LBR [(tos, u8, 4), FAR, FAR 17 [(weight, u16, 3)]]",
        "FAR 18, LBR [(tos, u8, 4), FAR 18, FAR 17]",
        "FAR 18, LBR [(tos, u8, 4), FAR [(action, u8, DROP)]], LBR [(tos, u8, 8), FAR 17]",
        "LBR [FAR 18, FAR [(action, u8, PASS)]], LBR [(tos, u8, 4), FAR]",
        "LBR [FAR [(action, u8, DROP)], FAR [(action, u8, PASS)]]",
        "LBR [(tos, u8, 4), FAR 17], LBR [(tos, u8, 8), FAR 18]",
    ],
)
def test_a_rule_is_shown_as_it_can_be_made_again(book: RuleBook, say: Say, inside: str) -> None:
    made = f"PDR 9 [(dscp, u8, 1), {inside}]"
    first = say(book, f"create {made}")
    assert shown_rule(book, 9) == made
    assert {rule.kind for rule in say(book, "delete PDR 9").removed} >= {"PDR", "LBR"}
    assert len(book) == len(world())
    again = say(book, f"create {made}")
    assert len(again.created) == len(first.created) and shown_rule(book, 9) == made
    codecs = Codecs(book.manifest, book.kinds)
    other = world()
    other.commit(other.plan(decode(encode(parsed(f"create {made}"), codecs), codecs)))
    assert shown_rule(other, 9) == made


@pytest.mark.parametrize(
    ("inside", "shown"),
    [
        ("FAR 17, LBR [(tos, u8, 4), FAR]", "FAR 17, LBR [(tos, u8, 4), FAR 17]"),
        ("FAR 17, LBR [(tos, u8, 4)]", "FAR 17, LBR [(tos, u8, 4), FAR 17]"),
        ("FAR [(action, u8, PASS)], LBR [(tos, u8, 4)]",
         "FAR [(action, u8, PASS)], LBR [(tos, u8, 4), FAR]"),
        # An LBR that takes every packet: the FAR is one more member.
        ("FAR 17, LBR [FAR 18]", "LBR [FAR 18, FAR 17]"),
        ("FAR 17, LBR [FAR]", "LBR [FAR 17]"),
        ("FAR 17, LBR []", "LBR [FAR 17]"),
        ("LBR [FAR 18], FAR [(action, u8, DROP)]", "LBR [FAR 18, FAR [(action, u8, DROP)]]"),
    ],
)  # fmt: skip
def test_a_bare_far_is_the_one_beside(book: RuleBook, say: Say, inside: str, shown: str) -> None:
    say(book, f"create PDR 9 [(dscp, u8, 1), {inside}]")
    assert shown_rule(book, 9) == f"PDR 9 [(dscp, u8, 1), {shown}]"


def test_an_lbr_with_an_id_is_shared(book: RuleBook, say: Say) -> None:
    say(book, "create PDR 9 [(dscp, u8, 1), FAR 17, LBR 30 [(tos, u8, 4), FAR 18]]")
    say(book, "create PDR 10 [(dscp, u8, 2), LBR 30]")
    members = {entry.match: entry.members for entry in book.group("LBR", 30)}
    assert members == {(): (Member(17, 1),), CLASS: (Member(18, 1),)}
    say(book, "delete PDR 9; delete PDR 10")
    assert len(book.group("LBR", 30)) == 2


@pytest.mark.parametrize(
    ("update", "shown"),
    [
        ("FAR [(action, u8, DROP)]", "FAR [(action, u8, DROP)], LBR [(tos, u8, 4), FAR, FAR 17]"),
        ("FAR 19", "FAR 19, LBR [(tos, u8, 4), FAR 19, FAR 17]"),
        ("LBR [(tos, u8, 4), FAR 18]",
         "FAR [(action, u8, PASS)], LBR [(tos, u8, 4), FAR, FAR 17, FAR 18]"),
        ("FAR [(action, u8, DROP)], LBR [(tos, u8, 4), FAR 18]",
         "FAR [(action, u8, DROP)], LBR [(tos, u8, 4), FAR, FAR 17, FAR 18]"),
        ("LBR 7", "LBR 7"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("wire", [False, True])
def test_an_update_changes_what_it_names(
    book: RuleBook, say: Say, update: str, shown: str, wire: bool
) -> None:
    say(
        book,
        "create PDR 9 [(dscp, u8, 1), FAR [(action, u8, PASS)], LBR [(tos, u8, 4), FAR, FAR 17]]",
    )
    request, codecs = parsed(f"update PDR 9 [{update}]"), Codecs(book.manifest, book.kinds)
    book.commit(book.plan(decode(encode(request, codecs), codecs) if wire else request))
    assert shown_rule(book, 9) == f"PDR 9 [(dscp, u8, 1), {shown}]"
    say(book, "delete PDR 9")
    assert len(book) == len(world())


def test_an_update_gives_a_pdr_both(book: RuleBook, say: Say) -> None:
    say(book, "create PDR 9 [(dscp, u8, 1), FAR [(action, u8, PASS)]]")
    say(book, "update PDR 9 [FAR [(action, u8, DROP)], LBR [(tos, u8, 4), FAR 18]]")
    assert shown_rule(book, 9) == (
        "PDR 9 [(dscp, u8, 1), FAR [(action, u8, DROP)], LBR [(tos, u8, 4), FAR 18]]"
    )


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("PDR 9 [FAR [(action, u8, DROP)]]", "FAR [(action, u8, DROP)]"),
        (
            "PDR 8 [FAR [(action, u8, DROP)]]",
            "FAR [(action, u8, DROP)], LBR [(tos, u8, 4), FAR [(action, u8, PASS)]]",
        ),
    ],
)
def test_an_update_of_what_the_request_deleted_makes_another(
    book: RuleBook, say: Say, text: str, shown: str
) -> None:
    say(book, "create FAR 20 [(action, u8, PASS)]; create PDR 9 [(dscp, u8, 1), FAR 20]")
    held = "FAR 20, LBR [(tos, u8, 4), FAR [(action, u8, PASS)]]"
    say(book, f"create PDR 8 [(dscp, u8, 2), {held}]")
    others = {8: "update PDR 8 [FAR 18]", 9: "update PDR 9 [FAR 18]"}
    changed = 9 if text.startswith("PDR 9") else 8
    say(book, others[17 - changed])
    say(book, f"delete FAR 20; update {text}")
    assert shown_rule(book, changed).endswith(f", {shown}]")


def test_an_update_of_a_member_that_the_request_deleted_is_refused(
    book: RuleBook, say: Say
) -> None:
    say(book, "create FAR 20 [(action, u8, PASS)]; create LBR 9 [FAR 20]")
    with pytest.raises(Refused) as refused:
        book.plan(parsed("delete FAR 20; update LBR 9 [FAR [(action, u8, DROP)]]"))
    assert [found.code for found in refused.value.diagnostics] == ["H0457"]


def test_a_delete_names_what_the_rule_holds(book: RuleBook, say: Say) -> None:
    text = "PDR [(dscp, u8, 1), FAR 18, LBR [(tos, u8, 4), FAR 17]]"
    say(book, f"create {text}")
    with pytest.raises(Refused) as refused:
        book.plan(parsed("delete PDR 3 [FAR 17]"))
    assert [found.code for found in refused.value.diagnostics] == ["H0462"]
    assert [rule.kind for rule in say(book, "delete PDR 3 [FAR 18]").removed] == [
        "PDR",
        "LBR",
        "LBR",
    ]
    say(book, f"create {text}")
    say(book, f"delete {text}")
    say(book, f"create {text}; replace PDR")
    assert not book.count("PDR") and book.count("LBR") == 1
