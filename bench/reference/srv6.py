"""The gates of SRv6: the routes of bench/sessions.py, beside srv6.bpf.c."""

from __future__ import annotations

from functools import partial

import numpy as np
from gates import Gate
from sessions import ACCESS, CORE, FIRST, LOCAL, OURS6, POLICIES, SESSIONS, SID, row

from .by_hand import BY_HAND, LOOPBACK, NEXT_HOP, WAY, Reference, place, shipped, way

_ROUTE = np.dtype([("table", "<u4"), ("dst", ">u4"), ("policy", "<u4"), ("way", "<u4")])
_POLICY = np.dtype([("hop", NEXT_HOP), ("reserved", "V8"), ("source", "V16"), ("sid", "V16")])
_SID = np.dtype([("address", "V16"), ("table", "<u4"), ("behaviour", "<u4"), ("reserved", "V8")])
_SLICE = np.dtype([("ifindex", "<u4"), ("table", "<u4")])
_SID_LOG, _END_DT4 = 12, 19


def _fill(reference: Reference, routes: int, log: int, entry: str) -> None:
    index, most = int.from_bytes(LOOPBACK, "little"), min(routes, POLICIES)
    address = SID.to_bytes(16, "big")
    reference.local(LOCAL)
    reference.table("slices", _SLICE)[index] = index, 1
    at = place(_SID_LOG, np.frombuffer(address, "<u8").reshape(1, 2))
    reference.table("sids", _SID)[at] = np.array([(address, 2, _END_DT4, b"")], _SID)
    policy = way(CORE)["hop"].tolist(), b"", OURS6.to_bytes(16, "big"), address
    reference.table("policies", _POLICY)[1 : most + 1] = np.array(policy, _POLICY)
    reference.table("ways", WAY)[1 : most + 1] = way(ACCESS)
    rows, numbers = np.zeros(routes, _ROUTE), np.arange(routes)
    rows["dst"] = FIRST + numbers
    to, rows["table"] = ("policy", 1) if entry == "srv6_access" else ("way", 2)
    rows[to] = 1 + numbers % most
    words = rows.view("<u8").reshape(-1, 2)[:, :1]
    reference.table("routes", _ROUTE)[place(log, words)] = rows


GATES = tuple(
    Gate(f"srv6 {name}", SESSIONS, {BY_HAND: 1.25}, {"": row("srv6_edge", direction).load},
         partial(shipped, "srv6_edge", direction, entry, partial(_fill, entry=entry)),
         counts="routes")
    for name, direction, entry in (
        ("encap", "encap, no SRH", "srv6_access"), ("End.DT4", "End.DT4", "srv6_core")
    )
)  # fmt: skip
