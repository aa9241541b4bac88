"""LINX as SCHED_CLS programs at tc's ingress (tcx, Linux 6.6) of two edges: TCP in packets that
stand for many segments goes through their tunnel, and tshark reads what was on the wire."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from helioc.compiler.captures.pcap import PcapWriter
from lab import Lab
from tc_world import MTU, STREAM, World, caught, nothing_went_wrong, sent_through
from traffic import drain, udp_socket

TUNNEL = 20 + 8  # IPv4 and GRE with a key
ETHERNET = 14
INTO, OUT_OF = 201, 202  # sequences of what goes into the tunnel, and of what came out of it

#: What tshark says of each header of a packet, and of its checksums (1: good).
FIELDS = ("frame.len", "ip.len", "ip.checksum.status", "tcp.checksum.status", "tcp.len", "gre.key")


def dissected(frames: list[bytes], file: Path) -> list[dict[str, list[int]]]:
    """Of each frame the values of FIELDS, outer headers first."""
    with file.open("wb") as out:
        writer = PcapWriter(out)
        for frame in frames:
            writer.write(frame)
    words = ["tshark", "-r", str(file), "-T", "fields", "-E", "occurrence=a"]
    words += ["-o", "ip.check_checksum:TRUE", "-o", "tcp.check_checksum:TRUE"]
    words += [word for name in FIELDS for word in ("-e", name)]
    said = subprocess.run(words, capture_output=True, text=True, timeout=120, check=True).stdout
    lines = (line.split("\t") for line in said.splitlines())
    return [
        {
            name: [int(v, 0) for v in values.split(",") if v]
            for name, values in zip(FIELDS, line, strict=True)
        }
        for line in lines
    ]


def segments(frames: list[bytes], file: Path) -> list[dict[str, list[int]]]:
    """Those with payload, of all of STREAM."""
    found = [p for p in dissected(frames, file) if p["tcp.len"] != [0]]
    assert sum(p["tcp.len"][0] for p in found) >= len(STREAM)
    return found


def test_segments_leave_in_the_tunnel(lab: Lab, tshark: None, tmp_path: Path) -> None:
    """The wire's ends take nothing off the kernel: it makes segments of what was encapsulated."""
    world = World(lab)
    one, two = world.edges.values()
    world.wan(gro="off", gso="off")
    with world.running():
        wire = two.room.wire("wan0")
        assert sent_through(one.host, two.host, "10.2.0.10") == STREAM
        packets = segments(caught(wire), tmp_path / "wan.pcap")
        nothing_went_wrong(world)
        assert world.runs[1].counted("FAR", INTO) < len(packets) / 2  # they did stand for many
    assert max(p["frame.len"][0] for p in packets) == MTU + ETHERNET
    for packet in packets:
        (whole,), (outer, inner) = packet["frame.len"], packet["ip.len"]
        assert (outer, inner) == (whole - ETHERNET, whole - ETHERNET - TUNNEL)
        assert (packet["ip.checksum.status"], packet["tcp.checksum.status"]) == ([1, 1], [1])
        assert packet["gre.key"] == [7]


@pytest.mark.parametrize(
    "features",
    [
        pytest.param(
            {"tx": "on", "tso": "on", "gso": "on", "gro": "off"}, id="never made segments"
        ),
        pytest.param({"gso": "off", "gro": "on"}, id="merged again as they arrive"),
    ],
)
def test_what_stands_for_segments_is_opened(
    lab: Lab, tshark: None, tmp_path: Path, features: dict[str, str]
) -> None:
    """And made segments of as it leaves, where a LAN takes nothing off the kernel."""
    world = World(lab)
    one, two = world.edges.values()
    world.wan(**features)
    two.room.offload("lan0", tx="off", gso="off")
    with world.running():
        wire = two.host.wire("eth0")
        assert sent_through(one.host, two.host, "10.2.0.10") == STREAM
        packets = segments(caught(wire), tmp_path / "lan.pcap")
        assert sent_through(two.host, one.host, "10.1.0.10") == STREAM
        nothing_went_wrong(world)
        assert world.runs[2].counted("FAR", OUT_OF) < len(packets) / 2
    assert max(p["frame.len"][0] for p in packets) == MTU + ETHERNET - TUNNEL
    for packet in packets:
        assert packet["ip.len"] == [packet["frame.len"][0] - ETHERNET]
        assert packet["ip.checksum.status"] == packet["tcp.checksum.status"] == [1]


def test_a_datagram_for_the_edge_is_opened_and_passed(lab: Lab) -> None:
    world = World(lab)
    one, two = world.edges.values()
    two.room.address("lan0", "10.2.0.1/24")
    with world.running():
        with udp_socket(one.host) as sender, udp_socket(two.room, "10.2.0.1", 7) as receiver:
            sender.sendto(b"question", ("10.2.0.1", 7))
            ((data, (source, _)),) = drain(receiver, 1)
        nothing_went_wrong(world)
    assert (data, source) == (b"question", "10.1.0.10")


def test_tags_are_in_the_metadata(lab: Lab) -> None:
    """A port's own tag is there on the wire, and seen as it comes in by the next edge."""
    world = World(lab, vlan=200)
    one, two = world.edges.values()
    with world.running():
        wire = two.room.wire("wan0")
        with udp_socket(one.host) as sender, udp_socket(two.host, "10.2.0.10", 7) as receiver:
            sender.sendto(b"question", ("10.2.0.10", 7))
            ((data, _),) = drain(receiver, 1)
        frame = wire.expect(lambda frame: frame[12:14] == b"\x81\x00")
        assert frame[14:18] == b"\x00\xc8\x08\x00"
        nothing_went_wrong(world)
    assert data == b"question"
