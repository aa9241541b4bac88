"""Identical rules: one whose packets an older one takes, and FARs that say the same."""

from __future__ import annotations

import pytest
from helioc.lang.contract.request.request_parser import parse_request
from helioc.lang.contract.rules.csv_columns import read_csv
from helioc.lang.contract.rules.identical import check
from helioc.lang.contract.rules.rulebook import RuleBook
from helioc.lang.contract.rules.wire import Codecs, decode, encode
from helioc.lang.text.diagnostics import Diagnostic, Refused
from helioc.lang.text.source import Source
from rules_world import Say


def warned(book: RuleBook, text: str) -> list[Diagnostic]:
    """Of the request as text and as bytes, which agree."""
    request, codecs = parse_request(Source("request", text)), Codecs(book.manifest, book.kinds)
    found = list(book.plan(request).warnings)
    again = book.plan(decode(encode(request, codecs), codecs)).warnings
    assert [(d.code, d.title, d.help) for d in again] == [(d.code, d.title, d.help) for d in found]
    return found


OLD = "PDR 20 [(src_ip, u32, 10.6.0.0/16), {}, FAR 17]"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("(tos, u8, 184)", "(dscp, u8, 46)"),
        ("(dscp, u8, 46)", "(tos, u8, 184)"),
        ("(dscp, u8, 46)", "(tos, u8, 184), (dscp, u8, 46)"),
        ("(tos, u8, 184 & 0xfc), (dscp, u8, 46)", "(tos, u8, 187)"),
        ("(tos, u8, 185 & 0xff)", "(tos, u8, 185 & 0xff), (dscp, u8, 46)"),
    ],
)
@pytest.mark.parametrize("at_once", [False, True])
def test_an_older_rule_takes_the_same_packets(
    book: RuleBook, say: Say, old: str, new: str, at_once: bool
) -> None:
    first, second = (
        f"create PDR {id_} [(src_ip, u32, 10.6.0.0/16), {match}, FAR 17]"
        for id_, match in ((20, old), (21, new))
    )
    request = f"{first}; {second}" if at_once else second
    if not at_once:
        say(book, first)
    found = [each for each in warned(book, request) if each.code == "H0463"]
    assert [each.title for each in found] == [
        "PDR 21 never matches: PDR 20, which is older, takes the same packets"
    ]
    assert at_once or "PDR 20 [(src_ip, u32, 10.6.0.0/16)" in found[0].help


@pytest.mark.parametrize(
    "new",
    [
        "(tos, u8, 188)",  # another class
        "(tos, u8, 184 & 0xff)",  # fewer packets
        "(tos, u8, 184 & 0xf8)",  # more packets
        "(tos, u8, 184), (priority, u16, 1)",
        "(tos, u8, 184), (protocol, u8, TCP)",
    ],
)
def test_others_are_not_warned_of(book: RuleBook, say: Say, new: str) -> None:
    say(book, f"create {OLD.format('(dscp, u8, 46)')}")
    assert not warned(book, f"create PDR 21 [(src_ip, u32, 10.6.0.0/16), {new}, FAR 17]")


def test_a_replaced_rule_stays_the_older_one(book: RuleBook, say: Say) -> None:
    rules = [OLD.format("(dscp, u8, 46)"), OLD.format("(tos, u8, 188)").replace("20", "21")]
    say(book, f"create {', '.join(rules)}")
    rules[1] = OLD.format("(tos, u8, 184)").replace("20", "21")
    (found,) = warned(book, f"replace {', '.join(rules)}")
    assert found.title.startswith("PDR 21 never matches: PDR 20")


FAR = "FAR: (action, u8, REDIRECT), (interface, u32, GRE-WAN2)"


def test_a_far_that_says_what_another_says(book: RuleBook, say: Say) -> None:
    assert not warned(book, f"create {FAR}")
    say(book, f"create {FAR}")
    (found,) = warned(book, f"create {FAR}")
    assert (found.code, found.severity) == ("H0464", "warning")
    assert found.title.startswith("FAR 3 says the same as FAR 2")
    say(book, "update FAR 2 [(action, u8, DROP)]")
    assert not warned(book, f"create {FAR}")
    (found,) = warned(book, "create FAR: (action, u8, DROP)")
    assert "the same as FAR 19" in found.title
    say(book, "create FAR 40 [(action, u8, PASS)]; update FAR 40 [(action, u8, DROP)]")
    say(book, "delete FAR 19")
    (found,) = warned(book, "create FAR: (action, u8, DROP)")
    assert "the same as FAR 40" in found.title
    say(book, "delete FAR 40; create FAR 41 [(action, u8, DROP)]; delete FAR 41")
    assert not warned(book, "create FAR: (action, u8, DROP)")


def test_within_one_request(book: RuleBook) -> None:
    found = warned(book, f"create {FAR}; create {FAR}; create {FAR}")
    assert [each.code for each in found] == ["H0464", "H0464"]
    assert not warned(book, f"create {FAR}; update FAR 2 [(action, u8, PASS)]; create {FAR}")
    assert not warned(book, f"create FAR 2 [(action, u8, DROP)]; delete FAR 2; create {FAR}")


def test_ids_and_owners_tell_them_apart(book: RuleBook, say: Say) -> None:
    say(book, f"create {FAR}")
    assert not warned(book, f"create {FAR.replace(':', ' 90 [')}]")
    assert not warned(book, f"create PDR: (dscp, u8, 1), {FAR}")
    say(book, f"create PDR: (dscp, u8, 1), {FAR}")
    say(book, "delete FAR 2")
    assert not warned(book, f"create {FAR}")


@pytest.mark.parametrize("match", ["", "(tos, u8, 8), "])
def test_a_spread_that_says_what_another_says(book: RuleBook, say: Say, match: str) -> None:
    text = f"create LBR [{match}FAR 17, FAR 18 [(weight, u16, 3)]]"
    assert not warned(book, text)
    (found,) = warned(book, f"{text}; {text}")
    assert found.title.startswith("LBR 2 says the same as LBR 1")
    say(book, text)
    (found,) = warned(book, f"create LBR [FAR 18 [(weight, u16, 3)], {match}FAR 17]")
    assert (found.code, found.severity) == ("H0464", "warning")
    assert found.title.startswith("LBR 2 says the same as LBR 1")
    for other in (
        f"LBR [{match}FAR 17, FAR 18]",
        f"LBR [{match}FAR 17]",
        f"LBR [{match}FAR 17, FAR 18 [(weight, u16, 3)], FAR 19]",
        "LBR [(tos, u8, 16), FAR 17, FAR 18 [(weight, u16, 3)]]",
        f"LBR 9 [{match}FAR 17, FAR 18 [(weight, u16, 3)]]",
        f"PDR [(dscp, u8, 1), LBR [{match}FAR 17, FAR 18 [(weight, u16, 3)]]]",
    ):
        assert not warned(book, f"create {other}"), other
    say(book, "update LBR 1 [FAR 19]")
    assert not warned(book, text)
    say(book, "delete LBR 1 [FAR 19]")
    assert warned(book, text)
    say(book, "delete LBR 1")
    assert not warned(book, text)


@pytest.mark.parametrize("text", ["LBR [FAR 17]", "FAR [(action, u8, DROP)]"])
def test_what_is_replaced_says_nothing_before(empty: RuleBook, say: Say, text: str) -> None:
    say(empty, f"create FAR 17 [(action, u8, PASS)], {text}")
    kept = ", FAR 17 [(action, u8, PASS)]" if "DROP" in text else ""
    assert not warned(empty, f"replace {text}{kept}")


def test_of_those_that_came_by_the_column(book: RuleBook, say: Say) -> None:
    rows = "".join(f"{n},DROP\n" for n in range(100, 140))
    say(book, "delete FAR 19")
    book.commit(
        book.plan_columns(read_csv(Source("far.csv", f"id,action\n{rows}"), book.kinds["FAR"]))
    )
    (found,) = warned(book, "create FAR: (action, u8, DROP)")
    assert "the same as FAR 100" in found.title


def by_columns(book: RuleBook, text: str) -> list[Diagnostic]:
    return list(book.plan_columns(read_csv(Source("pdr.csv", text), book.kinds["PDR"])).warnings)


def test_columns_say_how_many_never_match(book: RuleBook) -> None:
    head = "src_ip,tos,dscp,priority,FAR\n"
    rows = [f"10.{i}.0.0/16,184,,,17\n10.{i}.0.0/16,,46,,18\n" for i in range(50, 60)]
    (found,) = by_columns(book, head + "".join(rows))
    assert (found.code, found.severity) == ("H0463", "warning")
    assert found.title.startswith("10 of these rules never match")
    assert not by_columns(book, head + "".join(rows).replace(",46,,", ",46,3,"))
    assert not by_columns(book, head + "".join(rows).replace(",184,", ",188,"))


def test_many_at_once_are_found_in_linear_time(book: RuleBook) -> None:
    many = ", ".join("FAR [(action, u8, PASS)]" for _ in range(3000))
    plan = book.plan(parse_request(Source("request", f"create {many}")))
    assert len(plan.created) == 3000 and len(plan.warnings) == 20


@pytest.mark.parametrize(
    ("rows", "count"),
    [
        ("action,interface\nPASS,\nPASS,\nDROP,\nPASS,\n", 2),
        ("action,interface\nPASS,\nDROP,\n", 0),
        ("id,action\n50,PASS\n51,PASS\n", 0),
    ],
)
def test_equal_rows_of_a_file(book: RuleBook, rows: str, count: int) -> None:
    columns = read_csv(Source("far.csv", rows), book.kinds["FAR"])
    for warnings in (book.plan_columns(columns).warnings, check(columns, book.kinds["FAR"])):
        found = [each for each in warnings if each.code == "H0464"]
        assert [each.title.split()[0] for each in found] == ([str(count)] if count else [])


def test_a_file_is_checked_without_the_rules_in_force(book: RuleBook) -> None:
    """By `pack`: nobody has to know what FAR 90 is."""

    def checked(text: str) -> list[Diagnostic]:
        return check(read_csv(Source("pdr.csv", text), book.kinds["PDR"]), book.kinds["PDR"])

    head = "src_ip,tos,dscp,priority,FAR\n"
    (found,) = checked(f"{head}10.1.0.0/16,184,,,90\n10.1.0.0/16,,46,,90\n")
    assert (found.code, found.severity) == ("H0463", "warning")
    assert not checked(f"{head}10.1.0.0/16,184,,,90\n10.1.0.0/16,,46,3,90\n")
    with pytest.raises(Refused) as error:
        checked(f"{head}10.1.0.0/16,,46,,90\n10.2.0.0/16,,46,,90\n10.1.0.0/16,,46,,91\n")
    (wrong,) = error.value.diagnostics
    assert wrong.code == "H0452" and "rule 1 of this file" in wrong.title
    assert wrong.labels[0].span.text == "10.1.0.0/16,,46,,91"
