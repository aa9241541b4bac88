"""The gates of the UPF: the sessions of bench/sessions.py, beside upf.bpf.c."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack

import numpy as np
from gates import HELIO, PIPELINES, Entry, Gate, fused
from sessions import ACCESS, CORE, FIRST, LOCAL, OURS, PEER, SESSIONS, row

from .by_hand import WAY, Reference, Rows, opened, place, way

HASH, DENSE = "flat hash by hand", "dense array by hand"
_UPLINK = np.dtype([("teid", ">u4"), ("local", ">u4"), ("ue", ">u4"), ("way", "<u4")])
_DOWNLINK = np.dtype([("ue", ">u4"), ("way", "<u4"), ("teid", ">u4"), ("container", ">u4")])
_CORE, _TUNNEL = 2, 3


def _uplinks(reference: Reference, sessions: int, log: int | None) -> None:
    rows = np.zeros(sessions, _UPLINK)
    rows["teid"], rows["local"], rows["ue"] = _numbers(sessions), OURS, FIRST + _numbers(sessions)
    rows["way"] = 1
    words = rows.view("<u8").reshape(-1, 2) & np.array([(1 << 64) - 1, (1 << 32) - 1], "<u8")
    at = _numbers(sessions) if log is None else place(log, words)
    reference.table("uplinks", _UPLINK)[at] = rows
    reference.table("ways", WAY)[1] = way(CORE, action=_CORE)


def _downlinks(reference: Reference, sessions: int, log: int | None) -> None:
    rows = np.zeros(sessions, _DOWNLINK)
    rows["ue"], rows["teid"], rows["way"] = FIRST + _numbers(sessions), _numbers(sessions), 1
    rows["container"] = 1 << 24 | 9 << 8
    words = rows["ue"].copy().view("<u4").astype("<u8").reshape(-1, 1)
    at = _numbers(sessions) if log is None else place(log, words)
    reference.table("downlinks", _DOWNLINK)[at] = rows
    words = (0x4500, 0x4000, 64 << 8 | 17)  # of the outer header, without tos and length
    reference.table("ways", WAY)[1] = way(ACCESS, OURS, PEER, words, _TUNNEL)


def _numbers(sessions: int) -> Rows:
    return np.arange(sessions)


def _gate(direction: str, fill: Callable[[Reference, int, int | None], None], entry: str) -> Gate:
    given = row("upf", direction)

    def programs(sessions: int, owned: ExitStack) -> dict[str, Entry]:
        bundle = fused(PIPELINES / "upf.hp")
        found = {HELIO: Entry(given.program(bundle, sessions, owned))}
        log = (sessions - 1).bit_length()
        for name, defines in (
            (HASH, (f"LOG={max(log + 1, 4)}",)),
            (DENSE, (f"LOG={max(log, 4)}", "DENSE")),
        ):
            reference = opened("upf.bpf.c", owned, *defines)
            reference.local(LOCAL)
            fill(reference, sessions, max(log + 1, 4) if name == HASH else None)
            found[name] = reference.entry(entry)
        return found

    return Gate(f"upf {direction}", SESSIONS, {HASH: 1.5, DENSE: None}, {"": given.load}, programs,
                counts="sessions")  # fmt: skip


GATES = (_gate("uplink", _uplinks, "upf_n3"), _gate("downlink", _downlinks, "upf_n6"))
