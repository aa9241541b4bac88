"""`helioc decode`: by the reference and by the generated parser, which agree."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from agreement import quick
from click.testing import CliRunner
from damage import damaged
from helioc.commands.helioc import cli
from helioc.commands.packet_runs import Decodes, decoder
from helioc.compiler.captures.packets import Captured
from helioc.compiler.captures.pcap import PcapWriter
from helioc.compiler.decoding.decoded import Decoder
from helioc.lang.text.diagnostics import Refused
from hypothesis import given
from hypothesis import strategies as st
from linx_packets import frames
from linx_world import PIPELINES, linx
from scapy.layers.inet import GRE, IP, TCP
from scapy.layers.l2 import Dot1Q, Ether
from scapy.packet import Raw

LINX = str(PIPELINES / "linx.hp")


@pytest.fixture
def capture(tmp_path: Path) -> Path:
    tagged = Ether(dst="02:00:00:00:00:01", src="02:00:00:00:00:02") / Dot1Q(vlan=7)
    inner = IP(src="10.1.0.1", dst="10.2.0.2", tos=0xB9) / TCP(sport=1, dport=2, flags="S")
    whole = tagged / IP(src="192.0.2.2", dst="192.0.2.1")
    whole /= GRE(key_present=1, key=7, proto=0x0800) / inner
    path = tmp_path / "some.pcap"
    with path.open("wb") as file:
        writer = PcapWriter(file)
        for frame in (bytes(whole), bytes(whole)[:50], bytes(13)):
            writer.write(frame)
    return path


def run(*arguments: str) -> str:
    """What is printed; what is refused is raised."""
    result = CliRunner().invoke(cli, ["decode", *arguments], catch_exceptions=False)
    return result.output


def test_an_object_a_packet(capture: Path) -> None:
    seen = [json.loads(line) for line in run(LINX, str(capture), "--role", "wan").splitlines()]
    first, cut, short = seen
    assert [(n["name"], n["header"], n["offset"]) for n in first["nodes"]] == [
        ("ethernet", "ethernet", 0),
        ("vlan", "vlan", 14),
        ("outer", "ipv4", 18),
        ("gre", "gre", 38),
        ("user", "ipv4", 46),
        ("tcp", "tcp", 66),
    ]
    fields = [n["fields"] for n in first["nodes"]]
    assert fields[0] == {"dst": "02:00:00:00:00:01", "src": "02:00:00:00:00:02", "type": 0x8100}
    assert fields[3]["key"] == 7 and "sequence" not in fields[3]
    assert (fields[4]["src"], fields[4]["tos"], fields[4]["dscp"]) == ("10.1.0.1", 0xB9, 46)
    assert fields[5]["syn"] == 1 and fields[5]["options"] == ""
    assert (first["number"], first["result"], first["reason"]) == (1, "ok", "")
    assert (cut["result"], cut["reason"]) == ("malformed", "outer: length")
    assert [n["name"] for n in cut["nodes"]] == ["ethernet", "vlan"]
    assert (short["result"], short["reason"], short["nodes"]) == (
        "malformed", "ethernet: truncated", [],
    )  # fmt: skip


def test_a_tree_for_people(capture: Path) -> None:
    tree = run(LINX, str(capture), "--role", "wan", "--tree").splitlines()
    assert tree[0] == "packet 1: 86 bytes, ok"
    assert "  outer: ipv4 at 18" in tree
    assert "    tos              185 (0xb9)" in tree
    assert "      dscp           46 (0x2e)" in tree
    assert "packet 2: 50 bytes, malformed (outer: length)" in tree


def test_a_role_that_is_none(capture: Path) -> None:
    with pytest.raises(Refused) as refused:
        run(LINX, str(capture), "--role", "wam")
    (diagnostic,) = refused.value.diagnostics
    assert (diagnostic.code, diagnostic.help) == ("H0811", "did you mean `wan`?")


def test_what_was_read_before_damage_is_told(capture: Path) -> None:
    capture.write_bytes(capture.read_bytes()[:-1])
    result = CliRunner().invoke(cli, ["decode", LINX, str(capture)])
    assert len(result.output.splitlines()) == 2
    assert isinstance(result.exception, Refused)
    assert result.exception.diagnostics[0].code == "H0803"


def test_a_packet_of_another_link_is_foreign() -> None:
    seen = Decoder(linx().graph, "lan").decode(Captured(1, bytes(60), 60, link=113))
    assert (seen.result, seen.reason, seen.nodes) == ("foreign", "link type 113 (Linux cooked)", ())


# ---- the generated parser -----------------------------------------------------------------------


@pytest.fixture(scope="module", params=["lan", "wan"])
def both(request: pytest.FixtureRequest, kernel: None) -> Iterator[tuple[Decodes, Decodes]]:
    with decoder(linx(), request.param, by_kernel=True) as generated:
        yield Decoder(linx().graph, request.param), generated


@quick
@given(st.one_of(frames(), damaged(frames())))
def test_the_generated_parser_says_the_same(
    both: tuple[Decodes, Decodes], arriving: tuple[bytes, int]
) -> None:
    packet = Captured(1, arriving[0], len(arriving[0]))
    said, generated = (d.decode(packet) for d in both)
    if 14 <= len(packet.data) <= 3400:
        assert generated.to_json() == said.to_json()
    else:
        assert generated.result == "refused"


def test_the_generated_parser_gets_what_was_captured(both: tuple[Decodes, Decodes]) -> None:
    inner = IP(src="10.1.0.1", dst="10.2.0.2") / TCP(sport=1, dport=2) / Raw(bytes(range(40)))
    frame = bytes(Ether() / IP(src="192.0.2.2", dst="192.0.2.1") / GRE(proto=0x0800) / inner)
    results = set()
    for captured in range(14, len(frame)):
        said, generated = (d.decode(Captured(1, frame[:captured], len(frame))) for d in both)
        assert generated.to_json() == said.to_json()
        results.add(said.result)
    assert results == {"cut", "ok"}


def test_a_wrong_word_would_be_seen(
    both: tuple[Decodes, Decodes], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The fields are those that the program read, not the model's own."""
    _, generated = both
    parse = generated._parse  # type: ignore[attr-defined]

    def lies(frame: bytes) -> tuple[list[int], str]:
        words, reason = parse(frame)
        return [*words[:3], words[3] ^ 1, *words[4:]], reason

    monkeypatch.setattr(generated, "_parse", lies)
    seen = generated.decode(Captured(1, bytes(12) + b"\x08\x06" + bytes(46), 60))
    assert seen.nodes[0].fields["type"] == 0x0807
