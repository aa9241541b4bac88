"""What a session may be, and what is said of the rest: all of it at once."""

from __future__ import annotations

import json
import math
from dataclasses import asdict, replace
from typing import Any

import pytest
from helioc.lang.text.diagnostics import Refused
from helioc.runtime.rpc import control_pb2 as pb
from helioc.runtime.rpc.stamp import parameters, said
from helioc.runtime.stamp.kept import BITS
from helioc.runtime.stamp.packets import TestPacket as Packet
from helioc.runtime.stamp.parameters import Parameters, Setup, checked, checked_setup
from helioc.runtime.stamp.rules import reflector
from helioc.runtime.stamp.store import Kept, check, read, text_of
from helioc.runtime.stamp.window import size_for
from hypothesis import given, settings
from hypothesis import strategies as st

GOOD = Parameters(5, "198.51.100.2")
SIX = Parameters(5, "fc00:b::2")


def refused(asked: Parameters) -> list[tuple[str, str]]:
    with pytest.raises(Refused) as caught:
        checked(asked)
    return [(found.code, found.title) for found in caught.value.diagnostics]


def test_a_session_gets_a_name_and_addresses_in_their_usual_form() -> None:
    made = checked(replace(SIX, reflector="FC00:B:0::2", sids=("FC00:C::E",), way="OWN_SRH"))
    assert (made.name, made.reflector, made.sids) == ("session-5", "fc00:b::2", ("fc00:c::e",))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"ssid": 0}, "0 is no SSID"), ({"ssid": 65_536}, "65536 is no SSID"),
        ({"interval": 0.0}, "0 s is no interval"), ({"interval": -1.0}, "-1 s is no interval"),
        ({"interval": math.inf}, "inf s is no interval"), ({"interval": 1e300}, "no interval"),
        ({"interval": math.nan}, "nan s is no interval"), ({"interval": 1e-9}, "no interval"),
        ({"timeout": 0.0}, "0 s is no time-out"), ({"timeout": 3600.0}, "no time-out"),
        ({"port": 0}, "0 is no port"), ({"port": 53}, "53 is no port of STAMP"),
        ({"source_port": 70_000}, "70000 is no source port"), ({"dscp": 64}, "64 is no DSCP"),
        ({"length": 43}, "43 bytes"), ({"length": 45}, "45 bytes"),
        ({"length": 9001}, "9001 bytes"), ({"name": "x" * 65}, "no name"),
        ({"name": 'a"b'}, "no name"), ({"name": "a\n"}, "no name"),
        ({"clock": "GPS"}, "`GPS` is no clock"), ({"mode": "x"}, "no mode"),
        ({"reflector": ""}, "`` is no address"), ({"reflector": "example.org"}, "no address"),
        ({"reflector": "224.0.0.1"}, "to or from 224.0.0.1 (`reflector`)"),
        ({"reflector": "0.0.0.0"}, "no pack"), ({"outer": "::"}, "from :: (`outer_source`)"),
        ({"reflector": "255.255.255.255"}, "no pack"), ({"reflector": "127.0.0.1"}, "no pack"),
        ({"reflector": "ff02::1"}, "no pack"), ({"reflector": "fe80::1"}, "no pack"),
        ({"reflector": "fc00::1%eth0"}, "no pack"), ({"reflector": "::ffff:1.2.3.4"}, "no pack"),
        ({"source": "fc00::1"}, "two versions of IP"),
        ({"outer": "192.0.2.1"}, "no address of IPv6"),
        ({"sids": ("192.0.2.1",), "way": "H_ENCAPS"}, "no address of IPv6"),
        ({"sids": ("fc00::1",) * 9, "way": "H_ENCAPS"}, "9 segments"),
        ({"sids": ("fc00::1",)}, "`sids` and `way` do not go together"),
        ({"way": "H_ENCAPS"}, "do not go together"),
        ({"outer": "fc00::9"}, "`outer_source` has no effect"),
        ({"outer_back": "fc00::9"}, "`outer_source_back` has no effect"),
        ({"sids_back": ("fc00::1",)}, "`sids_back` and `way_back`"),
        ({"sids": ("fc00::1",), "way": "OWN_SRH"}, "IPv4 has no segment routing header"),
        ({"sids_back": ("fc00::1",), "way_back": "H_ENCAPS"}, "segments from nowhere"),
    ],
)  # fmt: skip
def test_what_cannot_be_is_said(change: dict[str, Any], said: str) -> None:
    ((code, title),) = refused(replace(GOOD, **change))
    assert code == "H0842" and said in title and len(title) < 200


def test_one_segment_is_the_reflector() -> None:
    asked = replace(SIX, sids=("fc00::1",) * 8, way="OWN_SRH")
    assert "the reflector comes behind" in refused(asked)[0][1]
    checked(replace(asked, sids=("fc00::1",) * 7))
    back = replace(SIX, source="fc00:a::2", sids_back=("fc00::1", "fc00:a::3"), way_back="OWN_SRH")
    assert refused(back) == [("H0842", "the last of `sids_back` is not the source")]
    checked(replace(back, sids_back=("fc00::1", "fc00:a::2")))


def test_authenticated_mode_is_refused_by_a_code_of_its_own() -> None:
    assert refused(replace(GOOD, authenticated=True)) == [
        ("H0843", "test packets are not authenticated")
    ]


def test_all_that_is_wrong_is_said_at_once() -> None:
    asked = replace(GOOD, ssid=0, interval=0.0, reflector="x", authenticated=True, sids=("y",) * 99)
    assert len(refused(asked)) == 13  # and of 99 segments only the first eight


@pytest.mark.parametrize("text", ["\x1b[31m", "x" * 60_000, "\ud800"])
def test_hostile_text_is_cut(text: str) -> None:
    for change in ({"reflector": text}, {"name": text}, {"clock": text}, {"sids": (text,)}):
        assert all(len(title) < 200 for _, title in refused(replace(GOOD, **change)))


def test_a_set_up_is_checked_as_sessions_are() -> None:
    with pytest.raises(Refused) as caught:
        checked_setup(Setup("p", 22, "fc00::1", "1.2.3.4", "LAN"), ["WAN"])
    titles = [found.title for found in caught.value.diagnostics]
    assert titles == [
        "22 is no source port of STAMP", "fc00::1 is no address of IPv4 (`source4`)",
        "1.2.3.4 is no address of IPv6 (`source6`)", "the pipeline has no port `LAN`",
    ]  # fmt: skip


def test_sessions_and_set_ups_are_read_as_they_were_written() -> None:
    session = Kept("p", replace(SIX, sids=("fc00::1",), way="OWN_SRH"), True, 17, 3, 99, 4)
    setup = Setup("p", 5000, "192.0.2.1", "", "WAN", True, ((5000, 1), (862, 2)), 5)
    for made in (session, setup):
        assert read(made.serial, text_of(made)) == made
    assert read(1, '{"pipeline": "p", "id": "an intent"}') is None
    assert asdict(session.about)["sids"] == ("fc00::1",)


@pytest.mark.parametrize(
    "text", ['{"stamp": "x"}', '{"stamp": "session"}', '{"stamp": "setup", "endpoints": [1]}', "1"]
)
def test_a_backup_with_other_texts_is_no_backup(text: str) -> None:
    with pytest.raises((ValueError, KeyError, TypeError)):
        check(json.dumps({"last": 1, "texts": {"1": text}}).encode())


ADDRESSES = st.sampled_from(
    [
        "",
        "192.0.2.1",
        "fc00::1",
        "fc00:b::2",
        "::ffff:1.2.3.4",
        "::1",
        "x",
        "1.2.3.4.5",
        "fe80::1%1",
    ]
)
SIDS = st.lists(ADDRESSES, max_size=9)
MESSAGES = st.builds(
    pb.StampParameters,
    ssid=st.integers(0, 70_000), name=st.text(max_size=5), reflector=ADDRESSES,
    port=st.sampled_from([0, 862, 5000, 2**32 - 1]), source=ADDRESSES,
    interval=st.one_of(st.none(), st.floats()), timeout=st.one_of(st.none(), st.floats()),
    sids=SIDS, way=st.integers(0, 3), outer_source=ADDRESSES, sids_back=SIDS,
    way_back=st.integers(0, 3), clock=st.integers(0, 1), mode=st.integers(0, 1),
    measure=st.integers(0, 1), length=st.integers(0, 9_100), dscp=st.integers(0, 70),
)  # fmt: skip
GOOD_MESSAGES = st.builds(
    pb.StampParameters,
    ssid=st.integers(1, 65_535), name=st.sampled_from(["", "a name"]),
    reflector=st.sampled_from(["192.0.2.1", "fc00::1"]),
    interval=st.floats(0.001, 3600), timeout=st.floats(0.1, 60),
    sids=st.lists(st.sampled_from(["fc00::1", "fc00:b::2"]), max_size=8), way=st.integers(0, 3),
    clock=st.integers(0, 1), length=st.sampled_from([0, 44, 48, 49, 9_000]),
    dscp=st.integers(0, 63),
)  # fmt: skip


@settings(max_examples=500)
@given(st.one_of(MESSAGES, GOOD_MESSAGES))
def test_what_is_accepted_can_be_sent(message: pb.StampParameters) -> None:
    """And all else is refused, whatever it is."""
    try:
        made = checked(replace(parameters(message), source_port=862))
    except Refused as error:
        assert {found.code for found in error.diagnostics} <= {"H0842", "H0843"}
        return
    own = "192.0.2.9" if made.version == 4 else "fc00::9"
    packet = Packet(replace(made, source=made.source or own, outer=made.outer or "fc00::8"), None)
    assert len(packet.at_this_moment(2**40)) >= 28 + made.length
    assert 64 <= size_for(made.timeout, made.interval) <= BITS
    assert said(made).ssid == message.ssid and reflector(replace(made, source=own))
