"""A reserved value is refused by name in every form of a request, with the pipeline's reason."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from helioc.lang.contract.request.request_parser import parse_request
from helioc.lang.contract.rules.csv_columns import read_csv
from helioc.lang.contract.rules.rulebook import Plan, RuleBook
from helioc.lang.contract.rules.wire import Codecs, decode, encode
from helioc.lang.contract.rules.yaml_requests import read_yaml
from helioc.lang.text.diagnostics import Refused
from helioc.lang.text.source import Source


def by_text(book: RuleBook, value: str) -> Plan:
    return book.plan(parse_request(Source("request", f"create FAR: (action, u8, {value})")))


def by_nesting(book: RuleBook, value: str) -> Plan:
    text = f"create PDR [(dscp, u8, 1), FAR [(action, u8, {value})]]"
    return book.plan(parse_request(Source("request", text)))


def by_update(book: RuleBook, value: str) -> Plan:
    return book.plan(parse_request(Source("request", f"update FAR 19 [(action, u8, {value})]")))


def by_yaml(book: RuleBook, value: str) -> Plan:
    source = Source("request.yaml", f"create: {{FAR: {{action: {value}}}}}\n")
    return book.plan(read_yaml(source, book.manifest))


def by_encoding(book: RuleBook, value: str) -> Plan:
    request = parse_request(Source("request", f"create FAR [(action, u8, {value})]"))
    codecs = Codecs(book.manifest, book.kinds)
    return book.plan(decode(encode(request, codecs), codecs))


def by_columns(book: RuleBook, value: str) -> Plan:
    return book.plan_columns(read_csv(Source("far.csv", f"action\n{value}\n"), book.kinds["FAR"]))


PATHS = [by_text, by_nesting, by_update, by_yaml, by_encoding, by_columns]


@pytest.mark.parametrize("by", PATHS)
@pytest.mark.parametrize(
    ("value", "name", "reason"),
    [
        ("BUFFER", "BUFFER", "no queue that holds packets. PASS"),
        ("buffer", "BUFFER", "no queue that holds packets. PASS"),
        ("4", "BUFFER", "no queue that holds packets. PASS"),
        ("DUPLICATE", "DUPLICATE", "cannot copy a packet. Mirror"),
        ("5", "DUPLICATE", "cannot copy a packet. Mirror"),
    ],
)
def test_it_is_refused_with_the_reason(
    book: RuleBook, by: Callable[[RuleBook, str], Plan], value: str, name: str, reason: str
) -> None:
    with pytest.raises(Refused) as refused:
        by(book, value)
    (found,) = refused.value.diagnostics
    assert found.code == "H0427" and f"`{name}` is a reserved value" in found.title
    assert reason in found.help
    assert by(book, "DROP")


def test_bytes_with_its_number_are_refused(book: RuleBook) -> None:
    """A client that does not know the names sends the number."""
    codecs = Codecs(book.manifest, book.kinds)
    data = encode(parse_request(Source("r", "create FAR [(action, u8, 3)]")), codecs)
    assert data.endswith(b"\x03")
    with pytest.raises(Refused) as refused:
        book.plan(decode(data[:-1] + b"\x04", codecs))
    assert [found.code for found in refused.value.diagnostics] == ["H0427"]
