"""An update or delete by content that fits several rules, or none, names those it may mean."""

from __future__ import annotations

import pytest
from helioc.lang.contract.request.request_parser import parse_request
from helioc.lang.contract.rules.csv_columns import read_csv
from helioc.lang.contract.rules.rulebook import RuleBook
from helioc.lang.text.diagnostics import Diagnostic, Refused
from helioc.lang.text.source import Source
from rules_world import Say

MORE = (
    "create PDR 5 [(src_ip, u32, 10.9.0.0/16), (priority, u16, 4), FAR 17], "
    "PDR 6 [(src_ip, u32, 10.9.0.0/16), (tos, u8, 8), FAR 18]; "
    "create FAR 30 [(action, u8, DROP)]; create LBR 8 [(tos, u8, 184), FAR 17]; "
    "create LBR 7 [(tos, u8, 8), FAR 17]"
)
PDR1, PDR5 = (
    "PDR 1 [(src_ip, u32, 10.9.0.0/16), LBR 7]",
    "PDR 5 [(src_ip, u32, 10.9.0.0/16), (priority, u16, 4), FAR 17]",
)
PDR6 = "PDR 6 [(src_ip, u32, 10.9.0.0/16), (tos, u8, 8), FAR 18]"


def refused(book: RuleBook, text: str) -> Diagnostic:
    with pytest.raises(Refused) as caught:
        book.plan(parse_request(Source("request", text)))
    (found,) = caught.value.diagnostics
    return found


@pytest.mark.parametrize(
    ("text", "code", "says"),
    [
        ("update PDR [(src_ip, u32, 10.9.0.0/16), FAR 18]", "H0457",
         f"say which one, write its id or `priority`: {PDR1} or {PDR5}"),
        ("delete PDR: (src_ip, u32, 10.9.0.0/16)", "H0457", f"{PDR1} or {PDR5}"),
        ("delete PDR: (src_ip, u32, 10.9.0.0/16), (tos, u8, 4)", "H0450",
         f"the nearest: {PDR1}, {PDR5} or {PDR6}"),
        ("update PDR [(tos, u8, 8), FAR 18]", "H0450", f"the nearest: {PDR6}"),
        ("delete PDR: (src_ip, u32, 10.77.0.0/16)", "H0450", "write its id"),
        ("delete LBR [(tos, u8, 184)]", "H0457",
         "write its id: LBR 7 [(tos, u8, 184), FAR 17, FAR 18] or LBR 8 [(tos, u8, 184), FAR 17]"),
        ("update LBR 7 [FAR 18]", "H0457",
         "write its match too: LBR 7 [(tos, u8, 184), FAR 17, FAR 18] or LBR 7 [(tos, u8, 8)"),
        ("delete LBR 7 [(tos, u8, 12)]", "H0450",
         "the nearest: LBR 7 [(tos, u8, 184), FAR 17, FAR 18] or LBR 7 [(tos, u8, 8), FAR 17]"),
        ("delete FAR: (action, u8, DROP)", "H0460",
         "it may be FAR 19 [(action, u8, DROP)] or FAR 30 [(action, u8, DROP)]"),
        ("update FAR: (action, u8, DROP)", "H0460", "FAR 19 [(action, u8, DROP)] and 1 more"),
        ("delete LBR", "H0460", "it may be LBR 7 [(tos, u8, 184), FAR 17, FAR 18]"),
        ("update OVERLAY [(local_ip, u32, 192.0.2.5), (remote_ip, u32, 192.0.2.9)]", "H0450",
         "the nearest: OVERLAY 2 GRE-WAN2 [(local_ip, u32, 192.0.2.5)"),
        ("delete FAR: (action, u8, REDIRECT), (interface, u32, WAN1)", "H0460",
         "the nearest: FAR 17 [(action, u8, REDIRECT), (interface, u32, GRE-WAN1)]"),
        ("delete LBR [(tos, u8, 4), FAR 18]", "H0450",
         "the nearest: LBR 7 [(tos, u8, 184), FAR 17, FAR 18]"),
        ("delete OVERLAY [(local_ip, u32, 192.0.2.77), (remote_ip, u32, 192.0.2.9)]", "H0450",
         "the nearest: OVERLAY 2 GRE-WAN2 ["),
    ],
)  # fmt: skip
def test_the_rules_are_named(book: RuleBook, say: Say, text: str, code: str, says: str) -> None:
    say(book, MORE)
    found = refused(book, text)
    assert found.code == code and says in found.help, found.help


@pytest.mark.parametrize(
    ("text", "id_"),
    [("(priority, u16, 4)", 5), ("(priority, u16, 0)", 1), ("(tos, u8, 8)", 6)],
)
def test_what_it_says_leads_to_the_rule(book: RuleBook, say: Say, text: str, id_: int) -> None:
    say(book, MORE)
    plan = say(book, f"delete PDR [(src_ip, u32, 10.9.0.0/16), {text}]")
    assert [rule.id for rule in plan.removed] == [id_]


def test_of_many_some_are_named(book: RuleBook, say: Say) -> None:
    say(book, "create " + ", ".join(f"FAR {n} [(action, u8, PASS)]" for n in range(100, 400)))
    found = refused(book, "delete FAR: (action, u8, PASS)")
    assert "and 298 more" in found.help and len(found.help) < 300
    say(book, "create " + ", ".join(
        f"PDR {n} [(src_ip, u32, 10.9.0.0/16), (src_port, u16, {n}), FAR 17]"
        for n in range(100, 400)
    ))  # fmt: skip
    found = refused(
        book, "delete PDR: (src_ip, u32, 10.9.0.0/16), (src_port, u16, 350), (tos, u8, 4)"
    )
    assert "the nearest: PDR 350 [" in found.help


def test_content_is_looked_up_at_every_priority(book: RuleBook, say: Say) -> None:
    """Not searched: the rules of a kind with priorities are many."""
    csv = "src_ip,priority,FAR\n" + "".join(f"10.66.{n}.0/24,{n % 3 * 7},17\n" for n in range(200))
    book.commit(book.plan_columns(read_csv(Source("pdr.csv", csv), book.kinds["PDR"])))
    say(book, "create PDR 900 [(src_ip, u32, 10.66.4.0/24), (priority, u16, 99), FAR 17]")
    table = book.tables["PDR"]
    assert table.priorities() == {0, 7, 14, 99}
    found = refused(book, "delete PDR [(src_ip, u32, 10.66.4.0/24)]")
    assert found.code == "H0457" and "PDR 900 [" in found.help and "2 PDR" in found.title
    assert len(say(book, "delete PDR [(src_ip, u32, 10.66.5.0/24)]").removed) == 1
    say(book, "update PDR 900 [(priority, u16, 98)]; create PDR 901 [(dscp, u8, 9), "
              "(priority, u16, 5), FAR 17]; delete PDR [(dscp, u8, 9)]")  # fmt: skip
    assert {98, 99} < table.priorities()
    kept = RuleBook(book.manifest, book.ports, book.ifindexes)
    kept.restore(book.save())
    assert {0, 7, 14, 98} <= kept.tables["PDR"].priorities()
    assert refused(kept, "delete PDR [(src_ip, u32, 10.66.4.0/24)]").code == "H0457"
