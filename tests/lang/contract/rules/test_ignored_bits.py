"""Bits of a value that are not compared: a warning in every form of a request, or an error."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from helioc.lang.contract.request.request_parser import parse_request
from helioc.lang.contract.rules.csv_columns import read_csv
from helioc.lang.contract.rules.rulebook import Plan, RuleBook
from helioc.lang.contract.rules.rules import Matcher
from helioc.lang.contract.rules.wire import Codecs, decode, encode
from helioc.lang.contract.rules.yaml_requests import read_yaml
from helioc.lang.text.diagnostics import Refused
from helioc.lang.text.source import Source
from rules_world import world


def by_text(book: RuleBook, element: str, value: str) -> Plan:
    return book.plan(parse_request(Source("request", f"create PDR [{ie(element, value)}, FAR 19]")))


def by_list(book: RuleBook, element: str, value: str) -> Plan:
    """As the paper writes it, without brackets."""
    return book.plan(parse_request(Source("request", f"create PDR: {ie(element, value)}, FAR 19")))


def by_yaml(book: RuleBook, element: str, value: str) -> Plan:
    text = f"create: {{PDR: {{{element}: {value!r}, FAR: 19}}}}\n"
    return book.plan(read_yaml(Source("request.yaml", text), book.manifest))


def by_wire(book: RuleBook, element: str, value: str) -> Plan:
    text = f"create PDR [{ie(element, value)}, FAR 19]"
    codecs = Codecs(book.manifest, book.kinds)
    return book.plan(decode(encode(parse_request(Source("request", text)), codecs), codecs))


def by_columns(book: RuleBook, element: str, value: str) -> Plan:
    source = Source("pdr.csv", f"{element},FAR\n{value},19\n")
    return book.plan_columns(read_csv(source, book.kinds["PDR"]))


def ie(element: str, value: str) -> str:
    return f"({element}, {'u8' if element == 'tos' else 'u32'}, {value})"


By = Callable[[RuleBook, str, str], Plan]
PATHS: list[By] = [by_text, by_list, by_yaml, by_wire, by_columns]
WARNED = [
    ("tos", "7", Matcher("mask", 4, 0xFC), "4..7"),
    ("tos", "0xb9", Matcher("mask", 184, 0xFC), "184..187"),
    ("tos", "255 & 0xf0", Matcher("mask", 240, 0xF0), "240 & "),
    ("tos", "7 & 0", None, "any value"),
    ("src_ip", "10.1.2.3 & 255.255.0.0", Matcher("prefix", 0x0A010000, 16), "10.1.0.0 & "),
]
SILENT = [("tos", "184"), ("tos", "7 & 0xff"), ("tos", "4 & 0xfc"), ("tos", "0 & 0"),
          ("src_ip", "10.1.0.0 & 255.255.0.0"), ("src_ip", "10.1.0.0/16")]  # fmt: skip


@pytest.mark.parametrize("by", PATHS)
@pytest.mark.parametrize(("element", "value", "meant", "said"), WARNED)
def test_a_warning(by: By, element: str, value: str, meant: Matcher | None, said: str) -> None:
    book = world()
    for _ in range(2):  # also once the element is cached
        plan = by(book, element, value)
        assert plan.created[0].match == (((element, meant),) if meant is not None else ())
        (found,) = plan.warnings
        assert (found.code, found.severity) == ("H0426", "warning")
        assert f"matches {said}" in found.labels[0].text


@pytest.mark.parametrize("by", PATHS)
@pytest.mark.parametrize(("element", "value"), SILENT)
def test_no_warning(by: By, element: str, value: str) -> None:
    assert not by(world(), element, value).warnings


@pytest.mark.parametrize("by", PATHS)
@pytest.mark.parametrize(
    ("element", "value", "code"),
    [("src_ip", "10.1.2.3/16", "H0421"), ("src_ip", "1/0", "H0421"), ("tos", "256", "H0416"),
     ("tos", "4 & 0x1fc", "H0416"), ("src_ip", "10.0.0.1 & 255.0.0.255", "H0423")],
)  # fmt: skip
def test_an_error(by: By, element: str, value: str, code: str) -> None:
    with pytest.raises(Refused) as refused:
        by(world(), element, value)
    assert [each.code for each in refused.value.diagnostics] == [code]


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("create LBR: FAR 17, (ToS, u8, 7)", 1),
        ("create LBR 8 [(tos, u8, 7), FAR 17]; update LBR 8 [(tos, u8, 7), FAR 18]", 2),
        ("create LBR 8 [(tos, u8, 7), FAR 17]; delete LBR [(tos, u8, 6)]", 2),
        ("replace PDR [(tos, u8, 5), FAR 17]", 1),
        ("create PDR [(dscp, u8, 1), LBR [FAR 17, (tos, u8, 6)]]", 1),
        ("create PDR: (tos, u8, 7), FAR: (action, u8, DROP), LBR: FAR, (tos, u8, 7)", 2),
    ],
)
def test_every_operation_warns(book: RuleBook, text: str, count: int) -> None:
    plan = book.plan(parse_request(Source("request", text)))
    assert [found.code for found in plan.warnings] == ["H0426"] * count


def test_the_same_cell_in_many_rows_is_reported_once(book: RuleBook) -> None:
    rows = "".join(f"7,10.{i}.0.0/16,19\n" for i in range(100))
    (found,) = read_csv(Source("pdr.csv", "tos,src_ip,FAR\n" + rows), book.kinds["PDR"]).warnings
    assert "in 100 rows" in found.labels[0].text
