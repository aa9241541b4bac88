"""Runs of bytes and domain names in requests: what is written is what is shown, sent and stored."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import cache

import pytest
from helioc.lang.contract.manifest.manifest import Element, Manifest, Match
from helioc.lang.contract.request.request import Request
from helioc.lang.contract.request.request_parser import parse_request
from helioc.lang.contract.rules import wire
from helioc.lang.contract.rules.rule_text import format_rule
from helioc.lang.contract.rules.rulebook import RuleBook
from helioc.lang.contract.rules.rules import Matcher, Rule
from helioc.lang.contract.rules.yaml_requests import read_yaml
from helioc.lang.text.diagnostics import Refused
from helioc.lang.text.source import Source
from hypothesis import given, settings
from hypothesis import strategies as st
from linx_manifest import kind, linx

COOKIE, QNAME, SHORT = (
    Element("cookie", 1, "bytes[4]", 32, "bytes", {}, ()),
    Element("qname", 2, "name[64]", 512, "name", {}, ()),
    Element("short", 3, "name[8]", 64, "name", {}, ()),
)
KINDS = {"E": "exact", "P": "lpm", "T": "ternary", "N": "ternary", "X": "exact", "S": "ternary"}
OF = {"E": COOKIE, "P": COOKIE, "T": COOKIE, "N": QNAME, "X": QNAME, "S": SHORT}


@cache
def manifest() -> Manifest:
    kinds = [
        kind(name, i, 9, match=[Match(e.name, KINDS[name], e.width, 0, None)])  # type: ignore[arg-type]
        for i, (name, e) in enumerate(OF.items(), 1)
    ]
    return replace(linx(kinds), elements=(COOKIE, QNAME, SHORT))


@cache
def book() -> RuleBook:
    return RuleBook(manifest(), {})


def made(request: Request) -> Rule:
    (rule,) = book().plan(request).created
    return rule._replace(sequence=0)


def text_of(name: str, value: str) -> Request:
    return parse_request(Source("text", f"create {name} 1 [({OF[name].name}, {value})]"))


def bits(text: str) -> int:
    return int.from_bytes(text.encode(), "big")


@pytest.mark.parametrize(
    ("name", "value", "matcher", "shown"),
    [
        ("E", '"GET "', Matcher("value", bits("GET ")), '"GET "'),
        ("E", "0x474554FF", Matcher("value", 0x474554FF), "0x474554ff"),
        ("E", "0x47455420", Matcher("value", 0x47455420), '"GET "'),
        ("E", "0x30780a22", Matcher("value", 0x30780A22), "0x30780a22"),
        ("P", '"GE"/16', Matcher("prefix", bits("GE") << 16, 16), "0x4745/16"),
        ("P", "0x4745/15", None, ""),
        ("P", "0x4744/15", Matcher("prefix", 0x47440000, 15), "0x4744/15"),
        ("P", '"GETS"/32', Matcher("value", bits("GETS")), '"GETS"'),
        ("T", "0x47000020 & 0xff0000ff", Matcher("mask", 0x47000020, 0xFF0000FF),
         "0x47000020 & 0xff0000ff"),
        ("T", '"G"/8', Matcher("mask", 0x47 << 24, 0xFF << 24), "0x47000000 & 0xff000000"),
        ("N", '"ads.example.org"', Matcher("value", bits("ads.example.org")), '"ads.example.org"'),
        ("N", "ADS.Example.org", Matcher("value", bits("ads.example.org")), '"ads.example.org"'),
        ("N", '"ads.example.org."', Matcher("value", bits("ads.example.org")), '"ads.example.org"'),
        ("N", '"*.Example.org."', Matcher("mask", bits(".example.org"), (1 << 96) - 1),
         '"*.example.org"'),
        ("N", '"."', Matcher("value", 0), '"."'),
        ("N", '"1.0.0.127.in-addr.arpa"', Matcher("value", bits("1.0.0.127.in-addr.arpa")),
         '"1.0.0.127.in-addr.arpa"'),
        ("X", '"_sip._udp.example"', Matcher("value", bits("_sip._udp.example")),
         '"_sip._udp.example"'),
        ("S", '"abcd.efg"', Matcher("value", bits("abcd.efg")), '"abcd.efg"'),
        ("S", '"*.bcdefg"', Matcher("mask", bits(".bcdefg"), (1 << 56) - 1), '"*.bcdefg"'),
    ],
)  # fmt: skip
def test_what_is_written_is_shown_and_read_again(
    name: str, value: str, matcher: Matcher | None, shown: str
) -> None:
    if matcher is None:
        with pytest.raises(Refused, match="H0421"):
            made(text_of(name, value))
        return
    rule = made(text_of(name, value))
    assert rule.match == ((OF[name].name, matcher),)
    said = format_rule(rule, manifest(), book())
    assert said == f"{name} 1 [({OF[name].name}, {shown})]"
    assert made(parse_request(Source("text", f"create {said}"))) == rule
    says = {"create": {name: {"id": 1, OF[name].name: shown}}}
    assert made(read_yaml(Source("yaml", json.dumps(says)), manifest())) == rule
    codecs = wire.Codecs(manifest())
    data = wire.encode(text_of(name, value), codecs)
    assert made(wire.decode(data, codecs)) == rule
    assert wire.encode(wire.decode(data, codecs), codecs) == data


@pytest.mark.parametrize(
    ("name", "value", "code"),
    [
        ("E", '"GET"', "H0467"),
        ("E", "0x4745541", "H0467"),
        ("E", "12", "H0467"),
        ("E", '"GE"/16', "H0418"),
        ("P", '"G"/16', "H0467"),
        ("P", '"GETSS"/16', "H0467"),
        ("P", '"GE"/33', "H0420"),
        ("T", '"GETS".."GETT"', "H0418"),
        ("N", '"a..b"', "H0468"),
        ("N", '"*.*.b"', "H0468"),
        ("N", '"a.*.b"', "H0468"),
        ("N", '"x*.b"', "H0468"),
        ("N", f'"{"a" * 64}"', "H0468"),
        ("N", f'"{"a." * 32}b"', "H0469"),
        ("N", '"bücher.example"', "H0468"),
        ("N", '"a b.example"', "H0468"),
        ("N", '"a" & "b"', "H0418"),
        ("N", '"a"/8', "H0418"),
        ("N", "u8, a", "H0414"),
        ("X", '"*.example.org"', "H0468"),
        ("X", '"*."', "H0468"),
        ("S", '"*.abcdefg"', "H0469"),
    ],
)
def test_what_is_no_value_is_refused(name: str, value: str, code: str) -> None:
    with pytest.raises(Refused, match=code):
        made(text_of(name, value))
    if code != "H0418":
        with pytest.raises(Refused, match=code):
            wire.encode(text_of(name, value), wire.Codecs(manifest()))


def test_all_names_are_no_match() -> None:
    assert made(text_of("N", '"*."')).match == ()


@given(st.binary(max_size=80))
@settings(max_examples=300, deadline=None, derandomize=True)
def test_hostile_bytes_are_refused_or_read(tail: bytes) -> None:
    """In place of a name, and of bytes."""
    codecs = wire.Codecs(manifest())
    for name in OF:
        value = '"GETS"' if OF[name] is COOKIE else '"abc"'
        data = wire.encode(text_of(name, value), codecs)
        head = data[: -len(value) + 2 - 3]
        try:
            made(wire.decode(head + tail, codecs))
        except Refused as refused:
            assert all(d.code.startswith("H04") for d in refused.diagnostics)
