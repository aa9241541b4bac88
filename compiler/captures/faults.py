"""What may be wrong with a capture: one function for each code, and its explanation."""

from __future__ import annotations

from ...lang.text.diagnostics import Diagnostic, Refused
from ...lang.text.explain import Explanation

LINK_TYPES = {
    0: "BSD loopback",
    12: "raw IP",
    14: "raw IP",
    101: "raw IP",
    105: "IEEE 802.11",
    113: "Linux cooked",
    127: "radiotap",
    220: "USB",
    228: "raw IPv4",
    229: "raw IPv6",
    276: "Linux cooked, version 2",
}


def refused(diagnostic: Diagnostic) -> Refused:
    return Refused([diagnostic])


def no_capture(name: str, start: bytes) -> Diagnostic:
    said = f"it begins with {start[:4].hex(' ')}" if start else "it is empty"
    help_ = "pcap begins with a1 b2 c3 d4 in either byte order, pcapng with 0a 0d 0d 0a"
    return Diagnostic("H0801", f"{name} is no capture: {said}", (), help_)


def compressed(name: str, how: str, tool: str) -> Diagnostic:
    help_ = f"unpack it before: {tool} -c CAPTURE | helioc decode PIPELINE.hp -"
    return Diagnostic("H0802", f"{name} is compressed by {how}", (), help_)


def cut_off(name: str, at: int, what: str) -> Diagnostic:
    title = f"{name} ends within {what}, which begins at octet {at:,}"
    return Diagnostic("H0803", title, (), "what stands in front of it was read")


def damaged(name: str, at: int, what: str) -> Diagnostic:
    title = f"{name} is damaged at octet {at:,}: {what}"
    return Diagnostic("H0804", title, (), "what stands in front of it was read")


def not_unpacked(name: str, at: int, why: str) -> Diagnostic:
    title = f"{name} is damaged in front of byte {at:,}: gzip cannot unpack it ({why})"
    return Diagnostic("H0804", title, (), "what stands in front of it was read")


def foreign_link(name: str, link: int) -> Diagnostic:
    title = f"the packets of {name} are neither Ethernet frames nor IP packets: {link_name(link)}"
    help_ = "capture on an Ethernet or tun interface, or on `any`"
    return Diagnostic("H0805", title, (), help_)


def link_name(link: int) -> str:
    known = LINK_TYPES.get(link)
    return f"link type {link} ({known})" if known else f"link type {link}"


EXPLANATIONS: dict[str, Explanation] = {
    "H0801": Explanation(
        "a file that is no capture",
        "Captures are read as pcap (microseconds or nanoseconds, either byte order) and as pcapng, "
        "as tcpdump, dumpcap and Wireshark write them. The file begins like neither.",
    ),
    "H0802": Explanation(
        "a capture that is compressed",
        "gzip is unpacked while it is read, whatever the file is called. Other compressions are "
        "not: let their own tool write to a pipe, and read that as `-`.",
    ),
    "H0803": Explanation(
        "a capture that ends too early",
        "The file ends in the middle of a record, as one does that is still being written, or was "
        "copied in part. All whole packets in front of that were read.",
    ),
    "H0804": Explanation(
        "a capture that is damaged",
        "The octets at this place of the file cannot be what they should be there: a length beyond "
        "all measure (over 262,144 octets for a packet, 16 MiB for a block), a block whose two "
        "lengths differ, a packet of an interface that was not described, gzip data whose check "
        "fails. What follows cannot be found any more. All packets in front of it were read.",
    ),
    "H0805": Explanation(
        "a capture of something else than Ethernet or IP",
        "What a pipeline parses begins with an Ethernet header. For packets of Linux cooked "
        "captures (on `any`; link types 113 and 276) and of raw IP (12, 14, 101, 228, 229) one is "
        "made; of others, as of Wi-Fi in monitor mode, nothing could be said. In a pcapng file "
        "only the packets of such interfaces are left out, each with the result `foreign`.",
    ),
}
