"""Elements that hold several values: as text, YAML and bytes, in images and records, and what may
be wrong with them."""

from __future__ import annotations

from ipaddress import IPv6Address
from pathlib import Path

import pytest
from helioc.compiler.driver import check_file, lower_pipeline
from helioc.compiler.manifest import manifest_of
from helioc.lang.contract.base.lists import bytes_of, packed, unpacked
from helioc.lang.contract.request.request import request_text
from helioc.lang.contract.request.request_parser import parse_request
from helioc.lang.contract.rules.rule_text import format_rule
from helioc.lang.contract.rules.rulebook import RuleBook
from helioc.lang.contract.rules.rules import Rule
from helioc.lang.contract.rules.wire import Codecs, decode, encode
from helioc.lang.contract.rules.yaml_requests import read_yaml
from helioc.lang.text.diagnostics import Refused
from helioc.lang.text.source import Source
from helioc.runtime.rules.codec import KindCodec
from helioc.runtime.rules.images import ImageCodec
from helioc.runtime.rules.matches import MatchCodec
from hypothesis import given
from hypothesis import strategies as st

PIPELINE = check_file(Path(__file__).parents[3] / "compiler/lower/cases/pushes/lists.hp")
MANIFEST = manifest_of(PIPELINE, lower_pipeline(PIPELINE))
KIND = MANIFEST.rule("POLICY")
TEXT = """create POLICY 1 [(dst, u128, fd00::/16), (sids, u128, fc00:1::, fc00:2::, fc00:3::),
                 (ports, u16, 7, 0xfff), (labels, u32, 4)]"""


def book_of(text: str) -> RuleBook:
    book = RuleBook(MANIFEST, {"A": 1})
    book.commit(book.plan(parse_request(Source("request", text))))
    return book


def only(book: RuleBook) -> Rule:
    (rule,) = book.rules("POLICY")
    return rule


@given(st.sampled_from([1, 12, 32, 64, 128]), st.integers(1, 8), st.data())
def test_a_list_is_one_number(width: int, most: int, data: st.DataObject) -> None:
    values = data.draw(st.lists(st.integers(0, (1 << width) - 1), min_size=1, max_size=most))
    number = packed(values, width, most)
    assert number.bit_length() <= bytes_of(width, most) * 8
    assert unpacked(number, width, most) == values


@pytest.mark.parametrize("cached", [True, False])
def test_text_and_back(cached: bool) -> None:
    request = parse_request(Source("request", TEXT), cached=cached)
    text = request_text(request)
    assert "(sids, u128, fc00:1::, fc00:2::, fc00:3::)" in text
    assert request_text(parse_request(Source("request", text), cached=cached)) == text


def test_a_rule_says_its_list() -> None:
    said = format_rule(only(book_of(TEXT)), MANIFEST)
    assert "(sids, u128, fc00:1::, fc00:2::, fc00:3::), (ports, u16, 7, 4095)" in said
    assert only(book_of(f"create {said}")) == only(book_of(TEXT))


def test_bytes_say_the_same() -> None:
    codecs = Codecs(MANIFEST)
    data = encode(parse_request(Source("request", TEXT)), codecs)
    again = decode(data, codecs)
    assert encode(again, codecs) == data
    assert only(book_of(request_text(again))) == only(book_of(TEXT))


def test_yaml_says_the_same() -> None:
    text = """create:
  POLICY: {id: 1, dst: "fd00::/16", sids: ["fc00:1::", "fc00:2::", "fc00:3::"], ports: [7, 0xfff],
           labels: 4}
"""
    book = RuleBook(MANIFEST, {"A": 1})
    book.commit(book.plan(read_yaml(Source("request", text), MANIFEST)))
    assert only(book) == only(book_of(TEXT))


def test_the_record_and_the_image() -> None:
    rule = only(book_of(TEXT))
    record = bytearray(KIND.record_size)
    into = memoryview(record)
    KindCodec(MANIFEST, KIND).record(into, 0, rule, lambda *_: 0, lambda *_: b"")
    at = next(m.offset for m in KIND.record if m.element == "sids")
    first, second = (IPv6Address(a).packed for a in ("fc00:1::", "fc00:2::"))
    assert record[at : at + 32] == first + second
    assert record[at + 48 : at + 136] == bytes(80) + b"\3" + bytes(7)
    images = ImageCodec(MANIFEST, KIND)
    image = bytearray(KIND.image_size)
    images.write(memoryview(image), 0, rule, 5, MatchCodec(KIND, images).of(rule).image)
    assert images.rule_of(image) == (rule, 5)


@pytest.mark.parametrize(
    ("ie", "code", "title"),
    [
        ("(labels, u32, 1, 2, 3, 4, 5)", "H0416", "`labels` holds at most 4 values"),
        ("(sids, u128, fc00::, 7.7.7.7)", "H0415", "`7.7.7.7` is not an IPv6 address"),
        ("(ports, u16, 1, 4096)", "H0416", "4096 does not fit `ports`, which has 12 bits"),
        ("(sids, u32, fc00::)", "H0414", "`sids` has length `u128`, not `u32`"),
        ("(dst, u128, fc00::, fd00::)", "H0415", "`fc00::, fd00::` is not an IPv6 address"),
    ],
)
def test_what_is_wrong(ie: str, code: str, title: str) -> None:
    whole = f"create POLICY [{ie}, (sids, u128, ::1), (ports, u16, 1), (labels, u32, 1)]"
    with pytest.raises(Refused) as refused:
        book_of(whole)
    found = refused.value.diagnostics[0]
    assert (found.code, found.title[: len(title)]) == (code, title)
