"""Domain names: what scapy builds and reads is what a rule matches; what is none is told apart."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from helioc.compiler.driver import check_file
from helioc.compiler.interpret.parse_packet import parse_packet
from helioc.lang.contract.base.domain_names import (
    NO_NAME,
    bytes_of_name,
    compared,
    shown,
    wire,
)
from helioc.testing import Scenario, Tested
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scapy.layers.dns import DNS, DNSQR
from scapy.layers.inet import IP, UDP
from scapy.layers.l2 import Ether

FILTER = check_file(Path(__file__).with_name("names.hp"))
LABELS = st.lists(st.text("abcXYZ019-_", min_size=1, max_size=63), min_size=1, max_size=6).filter(
    lambda labels: sum(map(len, labels)) + len(labels) < 255
)
FRONT = 14 + 20 + 8 + 12


def question(name: str) -> bytes:
    """A frame that asks for a name, as scapy builds it."""
    packet = Ether(src="02:00:00:00:00:02", dst="02:00:00:00:00:01") / IP(dst="10.0.0.53")
    return bytes(packet / UDP(sport=4000, dport=53) / DNS(rd=1, qd=DNSQR(qname=name, qtype="A")))


@given(LABELS)
def test_a_question_of_scapy_is_read_whole(labels: list[str]) -> None:
    name = ".".join(labels)
    frame = question(name)
    parsed = parse_packet(FILTER.graph, "inside", frame)
    layer = parsed.by_name["question"]
    assert shown(layer.view.data) == name
    assert dict(parsed.nodes)["dns_type"] == len(frame) - 4
    assert DNS(frame[FRONT - 12 :])[DNSQR].qname.decode().removesuffix(".") == name


@given(LABELS, st.integers(1, 8))
def test_a_name_is_compared_as_its_text_without_case(labels: list[str], words: int) -> None:
    name, size = ".".join(labels), 8 * words
    data = wire(name)
    assert data is not None
    text = compared(data, size).to_bytes(size, "big")
    if len(name) <= size:
        assert text.lstrip(b"\0").decode() == name.lower()
    else:
        assert text == b"\xff" + name.lower().encode()[-size + 1 :]


@given(LABELS)
def test_a_name_cut_short_is_longer_than_the_packet(labels: list[str]) -> None:
    data = wire(".".join(labels))
    assert data is not None
    assert bytes_of_name(data) == bytes_of_name(data + b"more") == len(data)
    for size in range(len(data)):
        assert size < bytes_of_name(data[:size]) <= len(data)


@given(LABELS, st.sampled_from([0x40, 0x80, 0xC0, 0xFF]))
def test_what_has_anything_but_labels_is_no_name(labels: list[str], kind: int) -> None:
    data = wire(".".join(labels))
    assert data is not None
    assert bytes_of_name(data[:-1] + bytes([kind, 12])) == NO_NAME


def test_a_name_has_255_bytes_at_most() -> None:
    label = b"\x3f" + b"a" * 63
    longest = label * 3 + b"\x3d" + b"a" * 61 + b"\0"
    assert bytes_of_name(longest) == len(longest) == 255
    assert bytes_of_name(label * 3 + b"\x3e" + b"a" * 62 + b"\0") == NO_NAME
    assert bytes_of_name(b"\x01a" * 127 + b"\0") == 255
    assert bytes_of_name(b"\x01a" * 128 + b"\0") == NO_NAME


@pytest.mark.parametrize("odd", [r"a\046b.example", r"a\000.example"])
def test_what_no_rule_can_say_is_all_ones(odd: str) -> None:
    data = wire(odd)
    assert data is not None
    assert shown(data) == odd
    assert compared(data, 16) == (1 << 128) - 1
    assert compared(data, 8) == int.from_bytes(b"\xffexample", "big")


@pytest.mark.parametrize("text", ["a..b", ".a", "a" * 64, "ab.", ".", "é.example", "a\\46"])
def test_a_name_is_written_by_its_labels(text: str) -> None:
    data = wire(text)
    assert (data is not None) == (text in ("ab.", "."))


# ---- interpreter, representation and kernel -----------------------------------------------------

RULES = (
    'create BLOCK 1 [(whole, "ads.example.org")], BLOCK 2 [(end, "*.as.org")], '
    'BLOCK 3 [(end, "1.x.org"), (whole, "1.x.org")], BLOCK 4 [(whole, ".")]'
)
KNOWN = ("ads.example.org", "ADS.Example.ORG", "x.ads.example.org", "a.as.org", "as.org",
         "xas.org", "1.x.org", "0.1.x.org", "")  # fmt: skip


@pytest.fixture(scope="module")
def tested() -> Iterator[Tested]:
    with Tested(Path(__file__).with_name("names_twice.hp")) as made:
        yield made


@st.composite
def names(draw: st.DrawFn) -> bytes:
    """Known names below any labels, cut short, compressed, too long, or any bytes."""
    label = st.binary(min_size=1, max_size=63) | st.sampled_from([b"a", b"ads", b".", b"q" * 63])
    labels = draw(st.lists(label, max_size=6))
    data = b"".join(bytes([len(each)]) + each for each in labels)
    data += wire(draw(st.sampled_from(KNOWN))) or b""
    how = draw(st.sampled_from(["whole", "whole", "whole", "cut", "pointer", "length", "bytes"]))
    if how == "cut":
        return data[: draw(st.integers(0, len(data)))]
    if how == "pointer":
        return data[:-1] + b"\xc0\x0c"
    if how == "length":
        at = draw(st.integers(0, len(data) - 1))
        return data[:at] + draw(st.binary(min_size=1, max_size=1)) + data[at + 1 :]
    return draw(st.binary(max_size=300)) if how == "bytes" else data


@pytest.mark.usefixtures("kernel")
@settings(deadline=None, max_examples=300, suppress_health_check=list(HealthCheck))
@given(st.lists(names(), min_size=1, max_size=8), st.sampled_from([b"", b"\0\1\0\1", bytes(300)]))
def test_the_kernel_reads_names_as_the_interpreter_does(
    tested: Tested, names: list[bytes], behind: bytes
) -> None:
    front = Ether(src="02:00:00:00:00:02", dst="02:00:00:00:00:01") / IP(dst="10.0.0.53")
    packets = []
    for name in names:
        dns = bytes(DNS(rd=1))[:4] + b"\0\1" + bytes(6)
        frame = bytes(front / UDP(sport=4000, dport=53) / (dns + name + behind))
        packets.append(tested.packet(frame))
    tested.agree(Scenario((tested.request(RULES), *packets)))


@pytest.mark.usefixtures("kernel")
def test_questions_of_scapy_meet_their_rules(tested: Tested) -> None:
    asked = ("Ads.example.ORG", "x.ads.example.org", "b.a.as.org", "xas.org", "1.x.org", ".")
    packets = [tested.packet(question(name)) for name in asked]
    found = tested.agree(Scenario((tested.request(RULES), *packets)))
    counted = [[sequence for _, sequence in outcome.counted] for outcome in found]
    assert counted == [[1], [], [2], [], [3], [4]]
