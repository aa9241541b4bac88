"""Captures in every spelling; and what is no capture, or not any more."""

from __future__ import annotations

import io
import struct
from contextlib import suppress
from pathlib import Path

import pytest
from helioc.compiler.captures.packets import Captured
from helioc.compiler.captures.pcap import PcapWriter
from helioc.compiler.captures.reading import read_capture, read_packets
from helioc.lang.text.diagnostics import Refused
from hypothesis import given, settings
from hypothesis import strategies as st
from scapy.layers.l2 import Ether
from scapy.packet import Raw
from scapy.utils import wrpcap, wrpcapng

FRAMES = [bytes(Ether() / Raw(bytes([n & 0xFF]) * n)) for n in (1, 2, 46, 1500)]
SECOND = 1_000_000_000


def packets(data: bytes) -> list[Captured]:
    return list(read_packets("a.pcap", io.BytesIO(data)))


def refusal(data: bytes) -> tuple[int, str, str]:
    """How many packets were read before, the code, and the title."""
    found = 0
    with pytest.raises(Refused) as refused:
        for _ in read_packets("a.pcap", io.BytesIO(data)):
            found += 1
    (diagnostic,) = refused.value.diagnostics
    return found, diagnostic.code, diagnostic.title


# ---- pcap ---------------------------------------------------------------------------------------


def pcap(order: str = "<", magic: int = 0xA1B2C3D4, link: int = 1, *, snaplen: int = 0) -> bytes:
    out = struct.pack(order + "IHHiIII", magic, 2, 4, 0, 0, snaplen or 65535, link)
    for i, frame in enumerate(FRAMES):
        kept = frame[: snaplen or None]
        out += struct.pack(order + "4I", 100 + i, 5, len(kept), len(frame)) + kept
    return out


@pytest.mark.parametrize("order", "<>")
@pytest.mark.parametrize(("magic", "fraction"), [(0xA1B2C3D4, 5000), (0xA1B23C4D, 5)])
def test_pcap_in_every_order_and_unit(order: str, magic: int, fraction: int) -> None:
    found = packets(pcap(order, magic))
    assert [p.data for p in found] == FRAMES
    assert [p.number for p in found] == [1, 2, 3, 4]
    assert [p.time for p in found] == [(100 + i) * SECOND + fraction for i in range(4)]


def test_a_packet_of_which_only_the_beginning_was_kept() -> None:
    assert [(len(p.data), p.length) for p in packets(pcap(snaplen=20))] == [
        (15, 15), (16, 16), (20, 60), (20, 1514),
    ]  # fmt: skip


def test_what_is_written_is_read() -> None:
    file = io.BytesIO()
    writer = PcapWriter(file)
    for i, frame in enumerate(FRAMES):
        writer.write(frame, i * SECOND + i)
    found = packets(file.getvalue())
    assert [(p.data, p.time) for p in found] == [
        (frame, i * SECOND + i) for i, frame in enumerate(FRAMES)
    ]


def test_a_check_sequence_is_no_link_type() -> None:
    assert len(packets(pcap(link=0x44000001))) == 4


# ---- pcapng -------------------------------------------------------------------------------------


def block(kind: int, body: bytes, order: str = "<") -> bytes:
    body += bytes(-len(body) % 4)
    length = struct.pack(order + "I", len(body) + 12)
    return struct.pack(order + "I", kind) + length + body + length


def section(order: str = "<") -> bytes:
    return block(0x0A0D0D0A, struct.pack(order + "IHHq", 0x1A2B3C4D, 1, 0, -1), order)


def interface(order: str = "<", link: int = 1, options: bytes = b"", snaplen: int = 0) -> bytes:
    return block(1, struct.pack(order + "HHI", link, 0, snaplen) + options, order)


def enhanced(frame: bytes, order: str = "<", number: int = 0, time: int = 5) -> bytes:
    head = struct.pack(order + "5I", number, time >> 32, time & 0xFFFFFFFF, len(frame), len(frame))
    return block(6, head + frame, order)


@pytest.mark.parametrize("order", "<>")
def test_pcapng_in_every_order(order: str) -> None:
    whole = section(order) + interface(order) + b"".join(enhanced(f, order) for f in FRAMES)
    found = packets(whole)
    assert [p.data for p in found] == FRAMES
    assert found[0].time == 5000


def test_sections_of_different_order_follow_each_other() -> None:
    whole = section("<") + interface("<") + enhanced(FRAMES[0], "<")
    whole += section(">") + interface(">", link=105) + enhanced(FRAMES[1], ">")
    assert [(p.number, p.data, p.link) for p in packets(whole)] == [
        (1, FRAMES[0], 1),
        (2, FRAMES[1], 105),
    ]


@pytest.mark.parametrize(
    ("resolution", "time"), [(6, 5000), (9, 5), (3, 5_000_000), (0x81, 5 * SECOND // 2)]
)
def test_names_and_units_of_an_interface(resolution: int, time: int) -> None:
    options = struct.pack("<HH4s", 2, 4, b"eth1") + struct.pack("<HHB3x", 9, 1, resolution)
    options += struct.pack("<HHq", 14, 8, 7) + bytes(4)
    (packet,) = packets(section() + interface(options=options) + enhanced(FRAMES[0]))
    assert (packet.interface, packet.time) == ("eth1", 7 * SECOND + time)


def test_older_and_simpler_packets_and_what_is_skipped() -> None:
    old = block(2, struct.pack("<HH4I", 0, 0, 0, 5, len(FRAMES[0]), len(FRAMES[0])) + FRAMES[0])
    simple = block(3, struct.pack("<I", len(FRAMES[2])) + FRAMES[2][:20])
    whole = section() + interface(snaplen=20) + block(0xBAD, b"unknown") + old + simple
    assert [(p.data, p.length, p.time) for p in packets(whole)] == [
        (FRAMES[0], len(FRAMES[0]), 5000),
        (FRAMES[2][:20], len(FRAMES[2]), None),
    ]


def test_what_others_write(tmp_path: Path) -> None:
    """Scapy's writers know nothing of these readers."""
    for name, write in (("a.pcap", wrpcap), ("a.pcapng", wrpcapng)):
        write(str(tmp_path / name), [Ether(frame) for frame in FRAMES])
        assert [p.data for p in read_capture(tmp_path / name)] == FRAMES


# ---- what is refused ----------------------------------------------------------------------------

NG = section() + interface()


@pytest.mark.parametrize(
    ("data", "code", "words"),
    [
        (b"", "H0801", "it is empty"),
        (b"\x7fELF...", "H0801", "it begins with 7f 45 4c 46"),
        (b"\x28\xb5\x2f\xfd" + bytes(9), "H0802", "compressed by zstd"),
        (b"\xfd7zXZ" + bytes(9), "H0802", "compressed by xz"),
        (pcap()[:20], "H0803", "ends within the file's header, which begins at byte 0"),
        (pcap(link=105), "H0805", "nor IP packets: link type 105 (IEEE 802.11)"),
        (pcap(link=9999), "H0805", "link type 9999"),
        (pcap()[:30], "H0803", "packet 1, which begins at byte 24"),
        (pcap()[:45], "H0803", "packet 1, which begins at byte 24"),
        (pcap()[:24] + b"\xff" * 16, "H0804", "packet 1 would have 4,294,967,295 bytes"),
        (section()[:9], "H0803", "a block, which begins at byte 0"),
        (b"\x0a\x0d\x0d\x0a" + bytes(24), "H0804", "00 00 00 00 is no byte order"),
        (NG + block(6, b"")[:7], "H0803", "a block, which begins at byte 48"),
        (NG + b"\6\0", "H0803", "a block, which begins at byte 48"),
        (NG + struct.pack("<II", 5, 0xFFFFFFFC), "H0804", "a block of 4,294,967,292 bytes"),
        (NG + struct.pack("<II", 5, 13) + bytes(9), "H0804", "a block of 13 bytes"),
        (NG + struct.pack("<III", 5, 12, 16), "H0804", "says 12 bytes in front and 16 behind"),
        (NG + enhanced(FRAMES[0], number=1), "H0804", "interface 1, which was not described"),
        (NG + block(6, bytes(8)), "H0804", "too short"),
        (NG + block(3, b""), "H0804", "too short"),
        (NG + block(6, struct.pack("<5I", 0, 0, 0, 99, 99)), "H0804", "a packet of 99 bytes"),
        (NG + block(3, struct.pack("<I", 99)), "H0804", "a packet of 99 bytes"),
        (section() + block(1, b"1234"), "H0804", "without link type"),
        (section() + interface(options=b"\2\0\x09\0eth1"), "H0804", "longer than its block"),
    ],
)  # fmt: skip
def test_refusals(data: bytes, code: str, words: str) -> None:
    found, said, title = refusal(data)
    assert (found, said) == (0, code)
    assert words in title


def test_what_stands_in_front_of_damage_is_read() -> None:
    assert refusal(pcap()[:-1])[:2] == (3, "H0803")
    assert refusal(NG + enhanced(FRAMES[0]) + b"\xff" * 12)[:2] == (1, "H0804")


WHOLE = [pcap(), pcap(">"), NG + b"".join(map(enhanced, FRAMES)), NG + block(3, bytes(8))]


@settings(deadline=None, max_examples=400)
@given(
    st.sampled_from(WHOLE),
    st.lists(st.tuples(st.integers(0, 200), st.integers(0, 255)), max_size=6),
    st.integers(0, 2000),
)
def test_nothing_else_comes_of_damage(
    whole: bytes, changes: list[tuple[int, int]], end: int
) -> None:
    data = bytearray(whole)
    for at, octet in changes:
        data[at % len(data)] = octet
    try:
        for packet in read_packets("a.pcap", io.BytesIO(bytes(data[:end]))):
            assert len(packet.data) <= packet.length
    except Refused as refused:
        assert all(d.code.startswith("H080") for d in refused.diagnostics)


@settings(deadline=None, max_examples=200)
@given(st.binary(max_size=200), st.sampled_from([b"", *(w[:48] for w in WHOLE)]))
def test_nothing_else_comes_of_noise(noise: bytes, start: bytes) -> None:
    with suppress(Refused):
        list(read_packets("noise", io.BytesIO(start + noise)))
