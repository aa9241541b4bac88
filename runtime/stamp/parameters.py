"""What a session is asked to be: the paper's ten parameters, some more, and their bounds."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from ipaddress import ip_address
from typing import Any

from ...lang.contract.request.request import is_name
from ...lang.text.diagnostics import Diagnostic, Refused, did_you_mean, listed
from .errors import authenticated, bad
from .times import CLOCKS, Clock

MODES, MEASURES = ("STATELESS", "STATEFUL"), ("TWO_WAY", "ONE_WAY")
#: How a list of segments is put in front: as `way_back` of the pipeline `stamp` has it.
WAYS = ("ADDRESS", "H_ENCAPS", "H_ENCAPS_RED", "OWN_SRH")
#: Seconds; bytes of a test packet (RFC 8762 section 4.2.1; more is a TLV of four and more); and
#: segments, of which a reflector reads no more.
INTERVALS, TIMEOUTS, BASE, LONGEST, MOST_SIDS = (0.001, 3600.0), (0.1, 60.0), 44, 9000, 8
TLV = 4
_ANY_VERSION = ("reflector", "source")


@dataclass(frozen=True)
class Parameters:
    """Of a session. `source`: empty for the one that the route has; `outer`: that of the header
    which carries the segments, likewise. `source_port` and `port`: the sender's and the
    reflector's. `mode`: the reflector's. `sids_back`, `way_back` and `outer_back` (empty: its
    address) are for the reflector's rule (`REFLECTOR`). `interval` and `timeout` in
    seconds; `length` of the test packet in bytes, behind UDP's header."""

    ssid: int
    reflector: str
    name: str = ""
    interval: float = 1.0
    source: str = ""
    source_port: int = 862
    port: int = 862
    sids: tuple[str, ...] = ()
    way: str = "ADDRESS"
    outer: str = ""
    sids_back: tuple[str, ...] = ()
    way_back: str = "ADDRESS"
    outer_back: str = ""
    clock: Clock = "NTP"
    measure: str = "TWO_WAY"
    mode: str = "STATELESS"
    authenticated: bool = False
    length: int = BASE
    dscp: int = 0
    timeout: float = 3.0

    @property
    def version(self) -> int:
        return ip_address(self.reflector).version

    @property
    def answered(self) -> tuple[int, str, str, int]:
        """What its answers are known by, whichever pipeline they come to."""
        return self.ssid, self.reflector, self.source, self.source_port

    @classmethod
    def of(cls, about: dict[str, Any]) -> Parameters:
        """From JSON. Raises KeyError, TypeError."""
        lists: dict[str, Any] = {name: tuple(about[name]) for name in ("sids", "sids_back")}
        return cls(**{**about, **lists})


@dataclass(frozen=True)
class Setup:
    """Of a pipeline: what sessions have that do not say it themselves. `asked`: somebody did so.
    `interface`: a port of the pipeline, the only one by which answers come. `endpoints`: the rules
    ENDPOINT that were made, by UDP port."""

    pipeline: str
    port: int = 862
    source4: str = ""
    source6: str = ""
    interface: str = ""
    asked: bool = False
    endpoints: tuple[tuple[int, int], ...] = ()
    serial: int = 0


def checked(asked: Parameters) -> Parameters:
    """The same with its addresses in their usual form. Raises `Refused` with all that is wrong."""
    found = list[Diagnostic]()
    if asked.authenticated:
        found.append(authenticated())
    _numbers(asked, found)
    named = asked.name.strip() and is_name(asked.name) and len(asked.name.encode()) < 64
    if asked.name and not named:
        found.append(bad(f"`{asked.name:.64}` is no name of a session",
                         "at most 63 bytes that can be printed, without `\"`"))  # fmt: skip
    for what, value, known in (
        ("clock", asked.clock, CLOCKS), ("mode", asked.mode, MODES),
        ("measure", asked.measure, MEASURES), ("way", asked.way, WAYS),
        ("way_back", asked.way_back, WAYS),
    ):  # fmt: skip
        if value not in known:
            found.append(bad(f"`{value:.64}` is no {what}", f"one of {', '.join(known)}"))
    made = _addresses(asked, found)
    if not found:
        _segments(made, found)
    if found:
        raise Refused(found)
    return replace(made, name=made.name or f"session-{made.ssid}")


def checked_setup(asked: Setup, interfaces: Sequence[str]) -> Setup:
    """The same for what sessions share. `interfaces`: the pipeline's ports."""
    found = list[Diagnostic]()
    _port("source port", asked.port, found)
    made: dict[str, Any] = {
        name: _address(name, getattr(asked, name), found)
        for name in ("source4", "source6") if getattr(asked, name)
    }  # fmt: skip
    if asked.interface and asked.interface not in interfaces:
        help_ = did_you_mean(asked.interface, interfaces) or f"there are {listed(interfaces)}"
        found.append(bad(f"the pipeline has no port `{asked.interface:.64}`", help_))
    if found:
        raise Refused(found)
    return replace(asked, **made)


def _numbers(asked: Parameters, found: list[Diagnostic]) -> None:
    for what, value, least, most in (
        ("SSID", asked.ssid, 1, 65_535), ("DSCP", asked.dscp, 0, 63),
    ):  # fmt: skip
        if not least <= value <= most:
            found.append(bad(f"{value} is no {what}", f"{least} to {most:,}"))
    _port("source port", asked.source_port, found)
    _port("port", asked.port, found)
    for what, seconds, (shortest, longest) in (
        ("interval", asked.interval, INTERVALS), ("time-out", asked.timeout, TIMEOUTS),
    ):  # fmt: skip
        if not (math.isfinite(seconds) and shortest <= seconds <= longest):
            bounds = f"{shortest:g} to {longest:g} seconds"
            found.append(bad(f"{seconds:g} s is no {what} of a session", bounds))
    if asked.length != BASE and not BASE + TLV <= asked.length <= LONGEST:
        help_ = f"{BASE} bytes, or {BASE + TLV} to {LONGEST:,}: what is more is padding in a TLV"
        found.append(bad(f"a test packet cannot have {asked.length} bytes", help_))


def _port(what: str, port: int, found: list[Diagnostic]) -> None:
    if port != 862 and not 1024 <= port <= 65_535:
        found.append(bad(f"{port} is no {what} of STAMP", "862, or 1024 to 65,535"))


def _addresses(asked: Parameters, found: list[Diagnostic]) -> Parameters:
    """In their usual form."""
    made: dict[str, Any] = {
        name: _address(name, getattr(asked, name), found)
        for name in ("reflector", "source", "outer", "outer_back")
        if name == "reflector" or getattr(asked, name)
    }  # fmt: skip
    lists: dict[str, Any] = {
        name: tuple(_address(name, each, found) for each in getattr(asked, name)[:MOST_SIDS])
        for name in ("sids", "sids_back")
    }
    for name in ("sids", "sids_back"):
        if (count := len(getattr(asked, name))) > MOST_SIDS:
            found.append(bad(f"`{name}` has {count} segments", f"at most {MOST_SIDS}"))
    return replace(asked, **made, **lists)


def _address(what: str, text: str, found: list[Diagnostic]) -> str:
    said = what.replace("outer", "outer_source")  # as options and control.proto call it
    try:
        address = ip_address(text)
    except ValueError:
        found.append(bad(f"`{text:.64}` is no address (`{said}`)", "as 192.0.2.1, or fc00:b::2"))
        return text
    wanted = 4 if what == "source4" else address.version if what in _ANY_VERSION else 6
    if address.version != wanted:
        help_ = "as 192.0.2.1" if wanted == 4 else "as fc00:b::2"
        found.append(bad(f"{address} is no address of IPv{wanted} (`{said}`)", help_))
    if (address.is_multicast or address.is_unspecified or address.is_loopback
            or address.is_link_local or getattr(address, "scope_id", None)
            or getattr(address, "ipv4_mapped", None) or text == "255.255.255.255"):  # fmt: skip
        found.append(bad(f"no packets of STAMP can go to or from {address} (`{said}`)",
                         "an address of one host, to which there are routes"))  # fmt: skip
    return str(address)


def _segments(asked: Parameters, found: list[Diagnostic]) -> None:
    for sids, way, outer, back in (
        (asked.sids, asked.way, asked.outer, ""),
        (asked.sids_back, asked.way_back, asked.outer_back, "_back"),
    ):
        list_, of = f"sids{back}", f"way{back}"
        if outer and way not in WAYS[1:3]:
            found.append(bad(f"`outer_source{back}` has no effect: there is no outer header",
                             f"`{of}` H_ENCAPS or H_ENCAPS_RED makes one"))  # fmt: skip
        if bool(sids) != (way != "ADDRESS"):
            help_ = f"`{of}` says how: {', '.join(WAYS[1:])}; without segments it is ADDRESS"
            found.append(bad(f"`{list_}` and `{of}` do not go together", help_))
        if way == "OWN_SRH" and asked.version != 6:
            found.append(bad(f"IPv4 has no segment routing header (`{of}` is OWN_SRH)",
                             "H_ENCAPS or H_ENCAPS_RED: within IPv6"))  # fmt: skip
    if asked.way == "OWN_SRH" and len(asked.sids) >= MOST_SIDS:
        found.append(bad(f"`sids` has {len(asked.sids)} segments, and the reflector comes behind "
                         "them", f"at most {MOST_SIDS - 1} with OWN_SRH"))  # fmt: skip
    if asked.source and ip_address(asked.source).version != asked.version:
        found.append(bad(f"{asked.source} and {asked.reflector} are of two versions of IP",
                         "both of IPv4, or both of IPv6"))  # fmt: skip
    if asked.way_back in WAYS[1:3] and asked.version == 4 and not asked.outer_back:
        found.append(bad("answers of IPv4 cannot go back by segments from nowhere",
                         "`outer_source_back`: an address of IPv6 of the reflector"))  # fmt: skip
    if asked.way_back == "OWN_SRH" and asked.sids_back[-1:] != (asked.source,) and asked.source:
        found.append(bad("the last of `sids_back` is not the source",
                         "with OWN_SRH it is where the answer goes to"))  # fmt: skip
