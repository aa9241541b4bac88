"""Rules as text and as JSON."""

from __future__ import annotations

from collections.abc import Sequence

from helioc.lang.contract.request.request_parser import parse_request
from helioc.lang.contract.rules.rule_text import format_rule
from helioc.lang.contract.rules.rulebook import RuleBook
from helioc.lang.contract.rules.rules import Reference
from helioc.lang.text.source import Source
from helioc.runtime.base.errors import no_such_rule
from helioc.runtime.rules.report import (
    Shown,
    rule_json,
    rule_rows,
    said_of,
)
from linx_manifest import IFINDEXES, PORTS, linx
from rules_world import world


def test_which_rule_may_have_been_meant() -> None:
    """Never the kind that was named."""
    have = ["FAR", "PDR", "OVERLAY", "GRE-WAN1", ""]
    for words, says in (
        ("FAR 99", "`helioctl show FAR` lists the rules"),
        ("far 99", "`helioctl show FAR` lists the rules"),
        ("OVERLAY GRE-WAN9", "did you mean `GRE-WAN1`?"),
        ("GRE-WAN9", "did you mean `GRE-WAN1`?"),
        ("FRA 7", "did you mean `FAR`?"), ("FRA", "did you mean `FAR`?"),
        ("x", "`helioctl show` lists the rules"),
    ):  # fmt: skip
        assert no_such_rule(words, have).help == says, words


def test_entries_of_a_group_are_created_as_one() -> None:
    made = [Reference("PDR", 2), Reference("LBR", 1), Reference("FAR", 5), Reference("LBR", 1)]
    assert said_of(made, 4, 0, 0) == "created PDR 2, LBR 1, FAR 5"
    many = [Reference("FAR", id_) for id_ in range(1, 13)]
    assert said_of(many, 12, 0, 0).endswith("FAR 8, and 4 more")


# ---- rules that others hold -------------------------------------------------------------------

HOLDING = """
create PDR 3 [(dscp, u8, 1), FAR [(action, u8, PASS)], LBR [(tos, u8, 4), FAR, FAR 18]],
       LBR 8 [FAR [(action, u8, DROP), (weight, u16, 3)], FAR 17];
delete PDR 2; create FAR 40 [(action, u8, DROP)]
"""


def listed(book: RuleBook) -> list[Shown]:
    rules = list(book.save())
    owners = {rule.sequence: Reference(rule.kind, rule.id) for rule in rules}
    return [
        Shown(r.kind, r.id, r.name, format_rule(r, book.manifest, book),
              0 if r.kind != "LBR" else None, 0, bool(r.owner), owners.get(r.owner))
        for r in rules
    ]  # fmt: skip


def texts(rules: Sequence[Shown]) -> list[str]:
    """The column `rule`."""
    return [line.split(None, 2)[2] for line in rule_rows(rules).splitlines()[1:]]


def holding() -> RuleBook:
    book = world()
    book.commit(book.plan(parse_request(Source("request", HOLDING))))
    return book


def test_what_a_rule_holds_stands_below_it() -> None:
    book = holding()
    rules = listed(book)
    lines = texts(rules)
    at = lines.index(
        "PDR 3 [(dscp, u8, 1), FAR [(action, u8, PASS)], LBR [(tos, u8, 4), FAR, FAR 18]]"
    )
    assert lines[at + 1] == "// held by LBR 1: FAR 2"
    assert not any(line.startswith("FAR 2 ") for line in lines)
    assert len(lines) == len(rules) - 2, "entries of an LBR count nothing: the PDR's line has them"
    # without their owners
    entries = [rule for rule in rules if rule.kind == "LBR"]
    held = [line for line in texts(entries) if line.startswith("// held by PDR 3: LBR 1 [")]
    assert held[1] == "// held by PDR 3: LBR 1 [(tos, u8, 4), FAR 2, FAR 18]" and len(held) == 2
    said = [each.get("owner") for each in rule_json(entries)]
    assert said.count({"kind": "PDR", "id": 3}) == 2 and said.count(None) == 2


def test_all_lines_are_a_request_for_the_same_rules() -> None:
    book, again = holding(), RuleBook(linx(), PORTS, IFINDEXES)
    lines = [line if line.startswith("//") else f"create {line}" for line in texts(listed(book))]
    again.commit(again.plan(parse_request(Source("shown", "\n".join(lines)))))
    assert [r.text for r in listed(again) if not r.owned] == [
        r.text for r in listed(book) if not r.owned
    ]
    assert len(again.save()) == len(book.save())
