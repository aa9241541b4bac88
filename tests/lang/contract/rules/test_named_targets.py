"""A rule that gives another by its name is shown so, as an interface is, and can be said again."""

from __future__ import annotations

from pathlib import Path

import pytest
from helioc.compiler.driver import check_file, lower_pipeline
from helioc.compiler.manifest import manifest_of
from helioc.lang.contract.request.request_parser import parse_request
from helioc.lang.contract.rules.rule_text import format_rule
from helioc.lang.contract.rules.rulebook import RuleBook
from helioc.lang.text.source import Source

EDGE = Path(__file__).parents[4] / "pipelines" / "srv6_edge.hp"
NEEDS = (
    "[(source, u128, fc00::1), (sids, u128, fc00:1::, fc00:2::), (headend, u8, H_ENCAPS), "
    "(interface, u32, CORE), (gateway, u128, fc00::9)]"
)


@pytest.mark.parametrize(("name", "shown"), [("west", "west"), ('"way to 1"', '"way to 1"')])
def test_a_target_with_a_name(name: str, shown: str) -> None:
    pipeline = check_file(EDGE)
    manifest = manifest_of(pipeline, lower_pipeline(pipeline))
    book = RuleBook(manifest, {"CORE": 1}, {1: 11})
    route = "(table, u32, 7), (dst4, u32, 10.2.0.0/16)"
    said = f"create POLICY 5 {name} {NEEDS}; create ROUTE4 1 [{route}, POLICY 5]"
    for _ in range(2):
        book.commit(book.plan(parse_request(Source("request", said))))
        (rule,) = book.rules("ROUTE4")
        text = format_rule(rule, manifest, book)
        assert text == f"ROUTE4 1 [{route}, POLICY {shown}]"
        said = f"delete ROUTE4 1; create {text}"
