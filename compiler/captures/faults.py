"""What may be wrong with a capture: one function for each code, and its explanation."""

from __future__ import annotations

from ...lang.text.diagnostics import Diagnostic, Refused

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
