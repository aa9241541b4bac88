"""Which first fragments end within their transport header, by tshark and by `helioc decode`; and
which later ones begin within it (RFC 1858 section 3), which tshark does not look at."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from checked import checked
from helioc.commands.packet_runs import Decodes, decoder
from helioc.compiler.captures.packets import Captured
from helioc.compiler.captures.pcap import PcapWriter
from helioc.compiler.decoding.decoded import TINY
from scapy.layers.inet import IP, TCP, UDP
from scapy.layers.inet6 import IPv6, IPv6ExtHdrFragment
from scapy.layers.l2 import Ether
from scapy.packet import Packet, Raw

FRAGMENTS = Path(__file__).parent / "fragments.hp"
LINK = Ether(src="02:00:00:00:00:01", dst="02:00:00:00:00:02")
BEHIND = b"x" * 24
#: What the fragments are of, by number; the header of TCP has an option.
WHOLE = {
    6: bytes(TCP(sport=40000, dport=40001, options=[("MSS", 1460)]) / Raw(BEHIND)),
    17: bytes(UDP(sport=40000, dport=40001) / Raw(BEHIND)),
}
HEADER = {6: 20, 17: 8}  # without options
LENGTHS = [*range(29), 40]
FIRST = [(family, protocol, n) for family in (4, 6) for protocol in WHOLE for n in LENGTHS]


def fragment(family: int, protocol: int, offset: int, more: int, behind: bytes) -> bytes:
    if family == 4:
        part: Packet = IP(src="10.0.0.1", dst="10.0.0.2", proto=protocol, frag=offset, flags=more)
    else:
        part = IPv6(src="2001:db8::1", dst="2001:db8::2")
        part /= IPv6ExtHdrFragment(nh=protocol, offset=offset, m=more, id=7)
    return bytes(LINK / part / Raw(behind))


@pytest.fixture(scope="module", params=["interpreter", "kernel"])
def decodes(request: pytest.FixtureRequest) -> Iterator[Decodes]:
    by_kernel = request.param == "kernel"
    if by_kernel:
        request.getfixturevalue("kernel")
    with decoder(checked(FRAGMENTS), None, by_kernel) as asked:
        yield asked


@pytest.fixture(scope="module")
def incomplete(tshark: None, tmp_path_factory: pytest.TempPathFactory) -> list[bool]:
    """Of `FIRST`, in order: whether tshark finds no last field of the transport header."""
    path = tmp_path_factory.mktemp("tiny") / "first.pcap"
    with path.open("wb") as file:
        writer = PcapWriter(file)
        for family, protocol, n in FIRST:
            writer.write(fragment(family, protocol, 0, 1, WHOLE[protocol][:n]))
    command = ["tshark", "-r", str(path), "-o", "ip.defragment:FALSE", "-o",
               "ipv6.defragment:FALSE", "-T", "fields", "-e", "tcp.options.mss_val", "-e",
               "udp.checksum"]  # fmt: skip
    done = subprocess.run(command, capture_output=True, timeout=120, check=True, text=True)
    return [not line.strip() for line in done.stdout.splitlines()]


def test_first_fragments_are_tiny_where_tshark_lacks_a_part(
    decodes: Decodes, incomplete: list[bool]
) -> None:
    assert len(incomplete) == len(FIRST) and 0 < sum(incomplete) < len(FIRST)
    for (family, protocol, n), lacks in zip(FIRST, incomplete, strict=True):
        frame = fragment(family, protocol, 0, 1, WHOLE[protocol][:n])
        found = decodes.decode(Captured(1, frame, len(frame)))
        assert (found.result, found.reason) == ("ok", TINY if lacks else ""), (family, protocol, n)
        assert (found.nodes[-1].header.name in ("tcp", "udp")) is not lacks


@pytest.mark.parametrize("more", [0, 1])
def test_later_fragments_are_tiny_where_they_begin_in_the_header(
    decodes: Decodes, more: int
) -> None:
    for family in (4, 6):
        for protocol, header in HEADER.items():
            for offset in (1, 2, 3, 4, 8191):
                frame = fragment(family, protocol, offset, more, BEHIND)
                found = decodes.decode(Captured(1, frame, len(frame)))
                tiny = TINY if offset * 8 < header else ""
                assert (found.result, found.reason) == ("ok", tiny), (family, protocol, offset)


def test_what_is_no_fragment_is_malformed(decodes: Decodes) -> None:
    """Also where there is a fragment header that says so (RFC 6946)."""
    for family in (4, 6):
        frame = fragment(family, 6, 0, 0, WHOLE[6][:8])
        found = decodes.decode(Captured(1, frame, len(frame)))
        assert (found.result, found.reason) == ("malformed", "tcp: truncated")
