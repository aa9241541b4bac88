"""The gates of VXLAN: the stations of bench/sessions.py, beside vxlan.bpf.c."""

from __future__ import annotations

from functools import partial

import numpy as np
from gates import Gate
from sessions import ACCESS, CORE, OURS, PEER, SESSIONS, VNI, row

from .by_hand import BY_HAND, LOOPBACK, WAY, Reference, place, shipped, way

_STATION = np.dtype([("mac", "V6"), ("zero", "V2"), ("vni", ">u4"), ("way", "<u4")])
_NETWORK = np.dtype([("remote", ">u4"), ("local", ">u4"), ("vni", ">u4"), ("way", "<u4")])
_SEGMENT = np.dtype([("ifindex", "<u4"), ("vni", ">u4"), ("port", "<u4"), ("reserved", "V4")])
_TO_PEER, _TO_TENANT = 1, 2


def _fill(reference: Reference, stations: int, log: int) -> None:
    ways = reference.table("ways", WAY)
    ways[_TO_PEER] = way(CORE, OURS, PEER, (0x4500, 0x4000, 64 << 8 | 17))
    ways[_TO_TENANT] = way(ACCESS)
    index = int.from_bytes(LOOPBACK, "little")
    reference.table("segments", _SEGMENT)[index] = index, VNI << 8, ACCESS, b""
    network = np.array([(PEER, OURS, VNI << 8, _TO_TENANT)], _NETWORK)
    vni = network["vni"].view("<u4").astype("<u8").reshape(-1, 1)
    reference.table("networks", _NETWORK)[place(12, vni)] = network
    rows = np.zeros(stations, _STATION)
    macs = (0x020000000000 + np.arange(stations)).astype(">u8").view("V8")
    rows["mac"] = np.frombuffer(macs.tobytes(), np.dtype([("zero", "V2"), ("mac", "V6")]))["mac"]
    rows["vni"], rows["way"] = VNI << 8, _TO_PEER
    words = rows.view("<u8").reshape(-1, 2) & np.array([(1 << 64) - 1, (1 << 32) - 1], "<u8")
    reference.table("stations", _STATION)[place(log, words)] = rows


GATES = tuple(
    Gate(f"vxlan {name}", SESSIONS, {BY_HAND: 1.25}, {"": row("vxlan_gateway", direction).load},
         partial(shipped, "vxlan_gateway", direction, entry, _fill), counts="stations")
    for name, direction, entry in (
        ("encap", "encap", "vxlan_access"), ("decap", "decap, learning", "vxlan_underlay")
    )
)  # fmt: skip
