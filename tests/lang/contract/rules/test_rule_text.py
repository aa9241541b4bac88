"""What a rule's text says can be sent again, as text, YAML or CSV, and means the same."""

from __future__ import annotations

import csv
import io
import json
import re
from dataclasses import replace
from functools import cache
from ipaddress import IPv4Address, IPv6Address
from itertools import product

import pytest
from helioc.lang.contract.base.lists import packed
from helioc.lang.contract.manifest.manifest import Element, Manifest, Match
from helioc.lang.contract.request.request import IE, Change, Request, RuleItem, value_text
from helioc.lang.contract.request.request_parser import parse_request
from helioc.lang.contract.rules.byte_values import codec_of
from helioc.lang.contract.rules.csv_columns import read_csv
from helioc.lang.contract.rules.ie_values import Codec
from helioc.lang.contract.rules.rule_text import format_rule
from helioc.lang.contract.rules.rulebook import RuleBook
from helioc.lang.contract.rules.rules import Matcher, Rule
from helioc.lang.contract.rules.yaml_requests import read_yaml
from helioc.lang.text.diagnostics import Refused
from helioc.lang.text.source import Source
from hypothesis import given, settings
from hypothesis import strategies as st
from linx_manifest import PORTS as LINX_PORTS
from linx_manifest import kind, linx

KINDS = ("exact", "optional", "lpm", "ternary", "range")
PORTS = {"lan": 1, "to 10.0.0.0/8": 2, "a..b & c": 3, "delete": 4}
_SYMBOLS = {"ICMP": 1, "create": 4, "TCP": 6, "e1": 255}
_WIDTHS = {"u6": 6, "u8": 8, "u12": 12, "u32": 32, "u64": 64, "mac": 48, "ip4": 32, "ip6": 128}


def _elements() -> list[Element]:
    """One of each type; numbers also with names for some of them, and with ECN bits left out."""
    made = [
        Element(f"a_{type_}", 1, type_, width, type_ if type_[0] != "u" else "uint", {}, ())
        for type_, width in _WIDTHS.items()
    ]
    made += [
        Element("named", 1, "u8", 8, "uint", _SYMBOLS, ()),
        Element("tos", 1, "u8", 8, "uint", {}, ()),
        Element("traffic_class", 1, "u8", 8, "uint", {"EF": 184, "ODD": 7}, ()),
        Element("port", 1, "port", 32, "uint", {}, ("port",)),
        Element("numbers", 1, "u16", 16, "uint", {}, (), "", 4),
        Element("hosts", 1, "ip6", 128, "ip6", {}, (), "", 3),
    ]
    return [replace(element, number=number) for number, element in enumerate(made, 1)]


ELEMENTS = _elements()
CASES = [
    (element, match) for element, match in product(ELEMENTS, KINDS)
    if not element.most and (not element.references or match in ("exact", "optional"))
]  # fmt: skip


def manifest() -> Manifest:
    """A rule kind for each element and each way of matching it, and one that gives them all."""
    kinds = [
        kind(f"M{i}", i, 9, match=[Match(element.name, match, element.width, 0, None)])  # type: ignore[arg-type]
        for i, (element, match) in enumerate(CASES, 1)
    ]
    gives = tuple(element.name for element in ELEMENTS)
    kinds.append(kind("GIVES", len(kinds) + 1, 9, gives=gives))
    return replace(linx(kinds), elements=tuple(ELEMENTS))


MANIFEST = manifest()


@cache
def book() -> RuleBook:
    """An empty one: a plan changes nothing."""
    return RuleBook(MANIFEST, PORTS)


def made(request: Request) -> Rule:
    """The one rule that a request makes."""
    (rule,) = book().plan(request).created
    return rule._replace(sequence=0)


def of_numbers(name: str, ies: list[IE]) -> Rule:
    return made(Request((Change("create", (RuleItem(name, 1, None, tuple(ies)),)),)))


def by_text(rule: Rule, ies: list[IE]) -> Rule:
    text = format_rule(rule, MANIFEST, book())
    return made(parse_request(Source("text", f"create {text}")))


def by_yaml(rule: Rule, ies: list[IE]) -> Rule:
    says = {ie.type: value_text(ie) for ie in ies}
    text = json.dumps({"create": {rule.kind: {"id": 1} | says}})
    return made(read_yaml(Source("yaml", text), MANIFEST))


def by_csv(rule: Rule, ies: list[IE]) -> Rule:
    """Wide elements and lists have no columns."""
    codecs = {element.name: codec_of(element) for element in ELEMENTS}
    kept = [ie for ie in ies if codecs[ie.type].width <= 64 and not codecs[ie.type].element.most]
    if len(kept) < len(ies):
        return rule
    out = io.StringIO()
    csv.writer(out).writerows([["id", *(ie.type for ie in ies)], ["1", *map(value_text, ies)]])
    columns = read_csv(Source("csv", out.getvalue()), book().kinds[rule.kind])
    (found,) = book().plan_columns(columns).created
    return found._replace(sequence=0)


def shown(rule: Rule) -> list[IE]:
    """The elements of a rule as its text has them."""
    text = format_rule(rule, MANIFEST, book())
    (item,) = parse_request(Source("text", f"create {text}")).changes[0].items
    assert isinstance(item, RuleItem)
    return [ie for ie in item.items if isinstance(ie, IE)]


def is_spelled(element: Element, ie: IE) -> bool:
    """Addresses are no numbers."""
    texts = [str(ie.value), *([str(ie.other)] if ie.form in ("mask", "range") else [])]
    reads = {"ip4": IPv4Address, "ip6": IPv6Address}.get(element.kind)
    if element.kind == "mac":
        return all(re.fullmatch("(..:){5}..", text) for text in texts)
    return reads is None or all(reads(each) for text in texts for each in text.split(", "))


@st.composite
def matched(draw: st.DrawFn) -> tuple[str, Element, IE]:
    number = draw(st.integers(0, len(CASES) - 1))
    element, match = CASES[number]
    codec = Codec(replace(element, symbols=PORTS) if element.references else element)
    some = st.integers(0, codec.full) | st.sampled_from([0, 1, codec.full, codec.full - 1])
    first, second = draw(some), draw(some)
    forms = {"lpm": ["value", "prefix"], "ternary": ["value", "mask"], "range": ["value", "range"]}
    form = draw(st.sampled_from(forms.get(match, ["value"])))
    if codec.values and form == "value":
        first = draw(st.sampled_from(sorted(codec.values)))
    if form == "prefix":
        second = draw(st.integers(1, codec.width))
        first &= codec.full ^ ((1 << codec.width - second) - 1)
    if form == "range":
        first, second = sorted((first, second))
    ie = IE(element.name, codec.lengths[0], form, first, second)  # type: ignore[arg-type]
    return f"M{number + 1}", element, ie


@given(matched())
@settings(max_examples=300, deadline=None, derandomize=True)
def test_matches_mean_what_they_say(drawn: tuple[str, Element, IE]) -> None:
    name, element, ie = drawn
    rule = of_numbers(name, [ie])
    said = shown(rule)
    assert all(is_spelled(element, each) for each in said)
    for read in (by_text, by_yaml, by_csv):
        assert read(rule, said) == rule, said


@given(st.data())
@settings(max_examples=40, deadline=None, derandomize=True)
def test_given_values_mean_what_they_say(data: st.DataObject) -> None:
    ies = []
    for element in ELEMENTS:
        codec = codec_of(element)
        known = st.sampled_from(sorted(codec.values or PORTS.values()))
        free = st.integers(0, codec.full)
        one = known if codec.values or element.references else free
        number: int | str = data.draw(one)
        if element.most:
            values = data.draw(st.lists(one, min_size=1, max_size=element.most))
            number = ", ".join(
                codec.format(packed([v], element.width, element.most)) for v in values
            )
        if element.references:
            number = f"port.{number}"
        ies.append(IE(element.name, codec.lengths[0], "value", number))
    rule = of_numbers("GIVES", ies)
    said = shown(rule)
    assert all(is_spelled(e, ie) for e, ie in zip(ELEMENTS, said, strict=True))
    for read in (by_text, by_yaml):
        assert read(rule, said) == rule, said


def test_every_type_and_every_way_is_drawn() -> None:
    assert {element.kind for element, _ in CASES} == {"uint", "ip4", "ip6", "mac"}
    assert {match for _, match in CASES} == set(KINDS)


@pytest.mark.parametrize(
    ("name", "match", "matcher", "text"),
    [
        ("a_ip4", "range", Matcher("range", 0x0A000001, 0x0A000009), "10.0.0.1..10.0.0.9"),
        ("a_ip4", "ternary", Matcher("mask", 0x0A000000, 0xFF0000FF), "10.0.0.0 & 255.0.0.255"),
        ("a_ip6", "range", Matcher("range", 1, 2), "::1..::2"),
        ("a_ip6", "value", Matcher("value", 0xFFFF0A000001), "::ffff:a00:1"),
        ("a_mac", "ternary", Matcher("mask", 2 << 40, 0xFF << 40),
         "02:00:00:00:00:00 & ff:00:00:00:00:00"),
        ("a_mac", "range", Matcher("range", 0, 1), "00:00:00:00:00:00..00:00:00:00:00:01"),
        ("a_u12", "ternary", Matcher("mask", 1, 0xF), "1 & 0xf"),
        ("a_u12", "range", Matcher("range", 5, 9), "5..9"),
        ("named", "exact", Matcher("value", 4), '"create"'),
        ("named", "range", Matcher("value", 7), "7..7"),
        ("named", "ternary", Matcher("value", 7), "7 & 0xff"),
        ("named", "lpm", Matcher("value", 7), "7/8"),
    ],
)  # fmt: skip
def test_how_values_are_written(name: str, match: str, matcher: Matcher, text: str) -> None:
    codec = codec_of(next(e for e in ELEMENTS if e.name == name))
    assert value_text(IE(name, "", *codec.spelled(match, matcher))) == text


def test_an_error_in_bytes_shows_addresses() -> None:
    """A request that came without text is shown in the spelling of rules."""
    ies = (IE("a_ip4", "u32", "range", 0x0A000001, 0x0A000009), IE("nothing", "u8", "value", 1))
    kinds = {f"M{i}": case for i, case in enumerate(CASES, 1)}
    name = next(n for n, (e, m) in kinds.items() if (e.name, m) == ("a_ip4", "range"))
    request = Request((Change("create", (RuleItem(name, 1, None, ies),)),))
    with pytest.raises(Refused) as found:
        book().plan(request)
    label = found.value.diagnostics[0].labels[0]
    assert "(a_ip4, u32, 10.0.0.1..10.0.0.9)" in label.span.source.text


NAMES = ("plain", "OVERLAY.2", "port.2", "7", "0x7", "create", "FAR", "10.0.0.1", "::1", "a b", "ä",
         "a, b", "x]", "//c", "1..2", "a/b", "a & b", " lead", "true", "id", "FAR 3")  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_names_mean_what_they_say(name: str) -> None:
    """Of a rule, and where another refers to it."""
    says = {"id": 1, "name": name, "local_ip": "192.0.2.1", "remote_ip": "192.0.2.2",
            "interface": "wan1"}  # fmt: skip
    there = RuleBook(linx(), LINX_PORTS)
    there.commit(there.plan(read_yaml(Source("yaml", json.dumps({"create": {"OVERLAY": says}})),
                                      there.manifest)))  # fmt: skip
    (overlay,) = there.rules("OVERLAY")
    text = format_rule(overlay, there.manifest, there)
    again = RuleBook(linx(), LINX_PORTS)
    (read,) = again.plan(parse_request(Source("text", f"create {text}"))).created
    assert read == overlay and read.name == name
    refers = "create FAR 1 [(action, u8, REDIRECT), (interface, u32, OVERLAY.1)]"
    there.commit(there.plan(parse_request(Source("text", refers))))
    (far,) = there.rules("FAR")
    said = format_rule(far, there.manifest, there).replace("FAR 1", "FAR 2", 1)
    (other,) = there.plan(parse_request(Source("text", f"create {said}"))).created
    assert other.references == far.references


def test_no_name_has_a_quotation_mark() -> None:
    """A request in text could not spell it."""
    says = {"name": 'a"b', "local_ip": "1.0.0.1", "remote_ip": "1.0.0.2", "interface": "wan1"}
    there = RuleBook(linx(), LINX_PORTS)
    with pytest.raises(Refused, match="H0459"):
        there.plan(
            read_yaml(Source("y", json.dumps({"create": {"OVERLAY": says}})), there.manifest)
        )
    text = 'name,local_ip,remote_ip,interface\n"a""b",1.0.0.1,1.0.0.2,wan1\n'
    columns = read_csv(Source("csv", text), there.kinds["OVERLAY"])
    with pytest.raises(Refused, match="H0453"):
        there.plan_columns(columns)
