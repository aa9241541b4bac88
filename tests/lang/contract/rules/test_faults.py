"""Each error of a request: its explanation's example gets it, the right one does not; and
what is shown of requests that are wrong (cases/text.txt, newcomers.txt)."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import helioc
import pytest
from click.testing import CliRunner
from explained import explained
from golden import Case, Golden, cases
from helioc.commands.helioc import cli
from helioc.lang.contract.request import foreign_requests, request_parser
from helioc.lang.contract.request.request import IE, Item, Request
from helioc.lang.contract.request.request_parser import parse_request
from helioc.lang.contract.rules.csv_columns import read_csv
from helioc.lang.contract.rules.rule_text import canonical
from helioc.lang.contract.rules.rulebook import RuleBook
from helioc.lang.contract.rules.wire import Codecs, decode, encode
from helioc.lang.text.diagnostics import Diagnostic, Refused
from helioc.lang.text.render import render_all
from helioc.lang.text.source import Source
from linx_manifest import linx
from scapy.layers.inet import IP, UDP
from scapy.layers.l2 import Ether
from scapy.utils import wrpcap

EXPLANATIONS = explained("request")
EXAMPLES = [code for code, explanation in EXPLANATIONS.items() if explanation.wrong]

HERE = Path(__file__).parent / "cases"
SHOWN, NEWCOMERS = cases(HERE / "text.txt"), cases(HERE / "newcomers.txt")


def refused(book: RuleBook, text: str) -> list[Diagnostic]:
    try:
        book.plan(parse_request(Source("request", text)))
    except Refused as error:
        return error.diagnostics
    return []


@pytest.mark.parametrize("code", EXAMPLES)
def test_examples(book: RuleBook, code: str) -> None:
    explanation = EXPLANATIONS[code]
    before = book.save()
    found = refused(book, explanation.wrong)
    assert [d.code for d in found] == [code]
    assert not refused(book, explanation.right)
    assert book.save() == before


@pytest.mark.parametrize("case", [*SHOWN, *NEWCOMERS], ids=lambda c: c.name)
def test_what_is_shown(book: RuleBook, case: Case, golden: Golden) -> None:
    golden(case, shown=render_all(refused(book, case.text.removesuffix("\n"))))


def test_lines_of_other_tools_are_shown(book: RuleBook) -> None:
    found = {d.help for case in NEWCOMERS for d in refused(book, case.text.removesuffix("\n"))}
    assert {*foreign_requests.LINES.values()} <= found


def test_a_byte_that_is_no_text(book: RuleBook) -> None:
    (found,) = refused(book, "create FAR [(action, u8, \udcffDROP)]")
    assert (found.code, found.title) == ("H0401", "the byte 0xff has no meaning in a request")


def test_a_ports_name_is_refused_only_where_it_may_mean_either() -> None:
    kinds = linx().rule("OVERLAY"), replace(linx().rule("FAR"), named=True)
    book = RuleBook(linx(kinds), {"WAN1": 1, "WAN2": 2})
    assert not refused(book, "create FAR wan1 [(action, u8, REDIRECT), (interface, u32, WAN1)]")
    book.commit(book.plan(parse_request(Source("r", "create FAR wan1 [(action, u8, DROP)]"))))
    columns = read_csv(Source("far.csv", "name,action\nWAN2,DROP\n"), book.kinds["FAR"])
    assert [rule.name for rule in book.plan_columns(columns).created] == ["WAN2"]
    text = "create OVERLAY wan1 [(local_ip, u32, 1), (remote_ip, u32, 2), (interface, u32, 1)]"
    assert [d.code for d in refused(book, text)] == ["H0453"]


def test_a_full_table_changes_nothing() -> None:
    book = RuleBook(linx(FAR=2))
    found = refused(
        book, "create FAR [(action, u8, 3)], FAR [(action, u8, 3)], FAR [(action, u8, 3)]"
    )
    assert len(book) == 0
    assert [d.code for d in found] == ["H0454"]


def test_a_warning(book: RuleBook) -> None:
    plan = book.plan(parse_request(Source("request", "create PDR [(dscp, u8, 1)]")))
    assert [d.code for d in plan.warnings] == ["H0432"]


@pytest.mark.parametrize(
    ("pipeline", "port", "dst", "rule", "verdict"),
    [
        ("linx", "lan", "10.2.0.5", "PDR 1 [(dst_ip, u32, 10.2.0.0/16)]", "pass"),
        ("upf", "n6", "10.45.0.2",
         "DOWNLINK 1 [(ue_ip, u32, 10.45.0.2), (precedence, u32, 1)]", "drop"),
    ],
)  # fmt: skip
def test_a_rule_that_gives_nothing_leaves_it_to_the_pipeline(
    tmp_path: Path, pipeline: str, port: str, dst: str, rule: str, verdict: str
) -> None:
    """As `helioc explain H0432` says."""
    packet = Ether() / IP(src="10.1.0.10", dst=dst, ttl=9) / UDP(dport=2)
    wrpcap(str(tmp_path / "in.pcap"), [packet])
    (tmp_path / "rules.req").write_text(f"create {rule}")
    file = Path(helioc.__file__).parent / "pipelines" / f"{pipeline}.hp"
    words = [file, tmp_path / "in.pcap", "--rules", tmp_path / "rules.req", "--port", port]
    done = CliRunner().invoke(cli, ["replay", *map(str, words), "--trace"])
    assert f"→ {' '.join(rule.split()[:2])}" in done.stdout
    assert done.stdout.splitlines()[-1].strip() == verdict
    assert f"`{pipeline}`" in EXPLANATIONS["H0432"].text


def test_every_error_has_an_example() -> None:
    warnings = {"H0426", "H0432", "H0463", "H0464", "H0465", "H0466"}
    of_bytes = {"H0467", "H0468", "H0469"}  # LINX has no such elements: test_byte_values.py
    assert {*warnings, *of_bytes, "H0406", "H0444", "H0454"} == set(EXPLANATIONS) - set(EXAMPLES)


def test_a_warning_of_a_request_without_places() -> None:
    """One that came as bytes is told in canonical text."""
    text = "create FAR 1 [(action, u8, DROP)], PDR 1 [(dscp, u8, 1), FAR 1], PDR 2 [(dscp, u8, 2)]"
    book = RuleBook(linx())
    codecs = Codecs(book.manifest, book.kinds)
    data = encode(canonical(parse_request(Source("request", text)), book.folded_kinds), codecs)
    (found,) = book.plan(decode(data, codecs)).warnings
    assert found.code == "H0432" and found.span is not None and found.span.text == "PDR 2"


NUMBERS = {
    "range": "create R [(ports, u16, 9..3), (host, u32, 10.0.0.9..10.0.0.3)]",
    "host bits": "create PDR [(src_ip, u32, 10.0.0.1/8), (dst_ip, u32, 10.0.0.1 & 255.0.255.0)]",
    "masked": "create PDR [(tos, u8, 255 & 0x0f), FAR 19], FAR 99 [(action, u8, 77)]",
    "several": "update FAR 5 [(action, u8, DROP)], FAR 6 [(action, u8, DROP)]; delete PDR 77",
}


@pytest.mark.parametrize(
    "text", [*(case.text.removesuffix("\n") for case in SHOWN), *NUMBERS.values()]
)
def test_places_in_a_request_without_text(
    book: RuleBook, text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They are those that its text has when it is printed and read, which nobody does to find
    them."""
    try:
        written = parse_request(Source("request", text))
    except Refused:
        return
    ways = [bare(written)]
    with suppress(Refused):
        codecs = Codecs(book.manifest, book.kinds)
        ways.append(decode(encode(canonical(written, book.folded_kinds), codecs), codecs))
    for request in ways:
        with monkeypatch.context() as patched:
            patched.setattr(request_parser, "tokens", None)
            found = found_in(book, request)
        for span in {each.span for each in found[:1]}:
            assert span is not None
            read = parse_request(Source("<request>", span.source.text))
            assert render_all(found) == render_all(found_in(book, read))


def bare(request: Request) -> Request:
    """Without text and places."""

    def item(one: Item) -> Item:
        if isinstance(one, IE):
            return one._replace(at=())
        return one._replace(at=(), items=tuple(map(item, one.items)))

    changes = [change._replace(items=tuple(map(item, change.items))) for change in request.changes]
    return Request(tuple(changes))


def found_in(book: RuleBook, request: Request) -> list[Diagnostic]:
    try:
        return list(book.plan(request).warnings)
    except Refused as error:
        return error.diagnostics
