"""Mapping files, and what is wrong with them."""

from __future__ import annotations

from dataclasses import replace

import pytest
from explained import examples
from helioc.lang.text.diagnostics import Diagnostic, Refused
from helioc.lang.text.source import Source
from helioc.runtime.loading.mapping_file import read_mapping
from helioc.runtime.loading.schema_change import Answers
from linx_manifest import linx
from schemas import PORTS, one

OLD = one()
NEW = one("lpm", "u8", ("pipeline one", "pipeline two"), ("ports lan", "ports inside"),
          ("rule R", "rule FLOW"), ("find R ", "find FLOW "), ("match R.", "match FLOW."),
          ("bridge R.", "bridge FLOW."))  # fmt: skip


def read(text: str) -> Answers:
    return read_mapping(Source("mapping.yaml", text), OLD, NEW, PORTS)


def refused(text: str) -> list[Diagnostic]:
    with pytest.raises(Refused) as error:
        read(text)
    return error.value.diagnostics


def test_everything_that_can_be_said() -> None:
    found = read("""
pipeline: two
ports: {lan: inside}
kinds: {R: FLOW}
elements: {tos: port, R.port: ~}
defaults: {FLOW.way: GO, FLOW.host: 10.0.0.0/8, FLOW.out: LAN}
""")
    assert found == Answers(
        "two", {"lan": "inside"}, {"R": "FLOW"}, {"tos": "port", "R.port": None},
        {"FLOW.way": "GO", "FLOW.host": "10.0.0.0/8", "FLOW.out": "LAN"},
    )  # fmt: skip
    assert found.kind("R") == "FLOW" and found.kind("OTHER") == "OTHER"
    assert (found.element("R", "port"), found.element("X", "port")) == (None, "port")


@pytest.mark.parametrize(
    ("text", "code", "culprit"),
    [
        ("kinds: {R: FLOW", "H0601", ""),
        ("kinds: [R]", "H0602", "[R]"),
        ("kind: {R: FLOW}", "H0604", "kind"),
        ("kinds: {S: FLOW}", "H0793", "S"),
        ("kinds: {R: FLOWS}", "H0793", "FLOWS"),
        ("elements: {R.hots: ~}", "H0793", "R.hots"),
        ("elements: {host: [1]}", "H0602", "[1]"),
        ("ports: {lan: outside}", "H0793", "outside"),
        ("ports: {lan: ~}", "H0602", "~"),
        ("pipeline: three", "H0793", "three"),
        ("defaults: {R.host: 1}", "H0793", "R.host"),
        ("defaults: {FLOW.way: RUN}", "H0417", "RUN"),
        ("defaults: {FLOW.host: 10.0.0.0/33}", "H0420", "10.0.0.0/33"),
        ("defaults: {FLOW.out: NOWHERE}", "H0793", "NOWHERE"),
    ],
)
def test_what_is_wrong_is_underlined(text: str, code: str, culprit: str) -> None:
    (found,) = refused(text)
    assert found.code == code
    if culprit:
        span = found.span
        assert span is not None and span.source.text[span.start : span.end] == culprit
    assert found.help or code == "H0602"


def test_two_kinds_do_not_become_one() -> None:
    old = one("lpm", "u8", ("rule R", "rule S [8] { match host lpm ipv4.dst } rule R"),
              ("find R", "find S else { default }\n find R"))  # fmt: skip
    with pytest.raises(Refused) as error:
        read_mapping(Source("m.yaml", "kinds: {R: FLOW, S: FLOW}"), old, NEW, PORTS)
    (found,) = error.value.diagnostics
    assert found.code == "H0794" and len(found.labels) == 2


@pytest.mark.parametrize(("code", "wrong", "right"), examples("upgrade"))
def test_examples_get_their_codes(code: str, wrong: str, right: str) -> None:
    """H0790 is of rules in force: its examples are answers to it, in test_upgrade.py."""
    pdr, lbr = linx().rule("PDR"), linx().rule("LBR")
    old, new = linx((pdr, lbr)), linx((replace(pdr, name="PDR2"), replace(pdr, name="FLOW")))
    if code == "H0790":
        old = new = linx()
        read_mapping(Source("m.yaml", wrong), old, new, PORTS)
    else:
        with pytest.raises(Refused, match=code):
            read_mapping(Source("m.yaml", wrong), old, new, PORTS)
    read_mapping(Source("m.yaml", right), old, new, PORTS)
