"""Schema 1 of the paper: every form, written as there and in decimals, parses and takes effect."""

from __future__ import annotations

import pytest
from helioc.lang.contract.rules.rulebook import RuleBook
from helioc.lang.contract.rules.rules import Matcher, Reference
from rules_world import Say

WHOLE = (
    "create PDR: (IP address, u32, 167837953), (IP address, u32, 168427777), (protocol, u8, TCP), "
    "(ToS, u8, 184), FAR: (action, u8, REDIRECT), (interface, u32, GRE-WAN1), (ifIndex, u32, 1)"
)
MATCH = (
    ("src_ip", Matcher("value", 0x0A010101)),
    ("dst_ip", Matcher("value", 0x0A0A0101)),
    ("protocol", Matcher("value", 6)),
    ("tos", Matcher("mask", 184, 0xFC)),
)


@pytest.mark.parametrize(
    "text",
    [
        WHOLE,
        WHOLE.replace(":", ""),
        WHOLE.replace("FAR", "\n FAR"),
        WHOLE.lower().replace("gre-wan1", "Gre_Wan1"),
        WHOLE.replace("TCP", "6").replace("REDIRECT", "1"),
        WHOLE.replace("ifIndex", "interface index"),
        WHOLE.replace("PDR: ", "PDR [").replace("FAR: ", "FAR [") + "]]",
        WHOLE.replace("PDR: ", "PDR [").replace(", FAR: ", "], FAR [") + "]",
        WHOLE.replace(", FAR", "; create FAR"),
        WHOLE.replace(", FAR", " create FAR"),
        WHOLE.replace("IP address", "ip_address").replace("ToS", "t-o-s"),
        WHOLE.replace("(IP address, u32, 167837953)", "(1, u32, 10.1.1.1)"),
        WHOLE.replace("GRE-WAN1", "OVERLAY.1"),  # 1 alone is port 1 too
    ],
)
def test_a_pdr_with_its_far(book: RuleBook, say: Say, text: str) -> None:
    plan = say(book, text)
    pdr, far = sorted(plan.created, key=lambda rule: rule.kind, reverse=True)
    assert (pdr.kind, pdr.match, pdr.target) == ("PDR", MATCH, Reference("FAR", far.id))
    assert far.owner == pdr.sequence
    assert far.values == (("action", 1), ("ifindex", 1))
    assert far.references == (("interface", Reference("OVERLAY", 1)),)


def test_a_pdr_alone(book: RuleBook, say: Say) -> None:
    """No rule says what becomes of its packets: a warning says so."""
    plan = say(book, WHOLE.split(", FAR")[0])
    assert plan.created[0].match == MATCH
    assert plan.created[0].target is None
    assert [w.code for w in plan.warnings] == ["H0432"]


@pytest.mark.parametrize(
    ("interface", "ifindex", "meant"),
    [
        ("GRE-WAN1", 1, Reference("OVERLAY", 1)),
        ("GRE-WAN2", 2, Reference("OVERLAY", 2)),
        ("GRE-WAN1", 2, Reference("OVERLAY", 1)),  # the port under it
        ("GRE-WAN1", 12, Reference("OVERLAY", 1)),  # the kernel's index of that port
        ("lan", 1, Reference("port", 1)),
        ("lan", 11, Reference("port", 1)),
        ("3", 3, Reference("port", 3)),
    ],
)
def test_a_far(book: RuleBook, say: Say, interface: str, ifindex: int, meant: Reference) -> None:
    way = f"(interface, u32, {interface}), (ifIndex, u32, {ifindex})"
    plan = say(book, f"create FAR: (action, u8, REDIRECT), {way}")
    assert plan.created[0].references == (("interface", meant),)


@pytest.mark.parametrize("action", ["PASS", "DROP", "2", "3"])
def test_a_far_without_a_way_out(book: RuleBook, say: Say, action: str) -> None:
    plan = say(book, f"create FAR: (action, u8, {action})")
    assert plan.created[0].values[0] == ("action", 2 if action in ("PASS", "2") else 3)


@pytest.mark.parametrize(
    "text",
    [
        "create LBR: FAR: (action, u8, REDIRECT), (interface, u32, GRE-WAN1), (ifIndex, u32, 1), "
        "(ToS, u8, 184)",
        "create FAR: (action, u8, REDIRECT), (interface, u32, GRE-WAN1), (ifIndex, u32, 1), "
        "LBR: FAR, (ToS, u8, 184)",
        "create LBR: FAR 17, (ToS, u8, 184)",
    ],
)
def test_an_lbr_nests_a_far(book: RuleBook, say: Say, text: str) -> None:
    plan = say(book, text)
    lbr = next(rule for rule in plan.created if rule.kind == "LBR")
    assert lbr.match == (("tos", Matcher("mask", 184, 0xFC)),)
    far = book.get("FAR", lbr.members[0].id)
    assert far is not None
    assert far.references == (("interface", Reference("OVERLAY", 1)),)


def test_all_three_in_one_request(book: RuleBook, say: Say) -> None:
    """The PDR gives the LBR, which spreads over the FAR."""
    plan = say(book, WHOLE + ", LBR: FAR, (ToS, u8, 184)")
    pdr, lbr, far = (
        next(rule for rule in plan.created if rule.kind == kind) for kind in ("PDR", "LBR", "FAR")
    )
    assert pdr.target == Reference("LBR", lbr.id)
    assert lbr.members[0].id == far.id
    assert (lbr.owner, far.owner) == (pdr.sequence, lbr.sequence)


def test_update_and_delete(book: RuleBook, say: Say) -> None:
    say(book, WHOLE)
    match = WHOLE.split(", FAR")[0].replace("create", "")
    plan = say(book, f"update {match}, FAR: (action, u8, DROP)")
    assert [(old.values[0], new.values[0]) for old, new in plan.changed] == [
        (("action", 1), ("action", 3))
    ]
    plan = say(book, WHOLE.replace("create", "delete"))
    assert [rule.kind for rule in plan.removed] == ["PDR", "FAR"]


def test_an_lbr_is_deleted_as_it_was_said(book: RuleBook, say: Say) -> None:
    text = "create LBR: FAR: (action, u8, DROP), (ToS, u8, 12)"
    say(book, text)
    plan = say(book, text.replace("create", "delete"))
    assert [rule.kind for rule in plan.removed] == ["LBR", "FAR"]


@pytest.mark.parametrize("length", ["u64", "u48"])
@pytest.mark.parametrize("value", ["2199023255553", "02:00:00:00:00:01", "0x020000000001"])
@pytest.mark.parametrize("name", ["MAC address", "mac_address", "src_mac", "16"])
def test_a_mac_address(book: RuleBook, say: Say, name: str, value: str, length: str) -> None:
    plan = say(book, f"create PDR: ({name}, {length}, {value}), FAR: (action, u8, DROP)")
    assert plan.created[0].match == (("src_mac", Matcher("value", 0x020000000001)),)


@pytest.mark.parametrize(
    "text",
    [
        WHOLE.replace("PDR: ", ""),
        WHOLE.replace("PDR: ", "[").replace(", FAR: ", "], [") + "]",
        WHOLE.replace("PDR: ", "[").replace("FAR: ", "[") + "]]",
        WHOLE.replace("PDR: ", "[").replace(", FAR: ", "]; create [") + "]",
        WHOLE.replace("FAR: ", "[") + "]",
    ],
)
def test_a_list_of_elements_is_a_rule_of_the_kind_that_has_them(
    book: RuleBook, say: Say, text: str
) -> None:
    pdr, far = say(book, text).created
    assert (pdr.kind, pdr.match, pdr.target) == ("PDR", MATCH, Reference("FAR", far.id))
    assert far.references == (("interface", Reference("OVERLAY", 1)),)
    say(book, "update [(IP address, u32, 167837953), (IP address, u32, 168427777), "
              "(protocol, u8, TCP), (ToS, u8, 184), FAR 19]")  # fmt: skip
    assert book.get("PDR", pdr.id).target == Reference("FAR", 19)  # type: ignore[union-attr]
    plan = say(book, "delete [(IP address, u32, 167837953), (IP address, u32, 168427777), "
                     "(protocol, u8, TCP), (ToS, u8, 184)]")  # fmt: skip
    assert [rule.id for rule in plan.removed] == [pdr.id]


def test_a_list_that_may_be_of_several_kinds_is_asked_back(book: RuleBook) -> None:
    from helioc.lang.contract.request.request_parser import parse_request
    from helioc.lang.text.diagnostics import Refused
    from helioc.lang.text.source import Source

    for text, named in (
        ("create [(ToS, u8, 184)]", ("PDR", "LBR")),
        ("create [(action, u8, DROP), (ToS, u8, 184)]", ("PDR", "LBR", "FAR")),
    ):
        with pytest.raises(Refused) as refused:
            book.plan(parse_request(Source("request", text)))
        (found,) = refused.value.diagnostics
        assert found.code == "H0439"
        assert all(name in found.title + found.help for name in named)
