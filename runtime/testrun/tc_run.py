"""SCHED_CLS programs, of this process alone, run by BPF_PROG_TEST_RUN."""

from __future__ import annotations

from dataclasses import replace

from ..kernel.handles import RunResult
from ..loading.bundle import Bundle
from .private_run import PrivateRun

SHOT, REDIRECT, UNSPEC = 2, 7, 0xFFFFFFFF  # TC_ACT_* of linux/pkt_cls.h
XDP_DROP, XDP_PASS, XDP_TX, XDP_REDIRECT = 1, 2, 3, 4


class TcRun(PrivateRun):
    """What programs return is shown as the XDP action that means the same: a packet that is
    redirected to no port's number is sent back."""

    shortest = 14 + 40  # less than an IP header is none of which the kernel makes an skb

    def send(self, frame: bytes, port: int, metadata: bytes = b"") -> RunResult:
        result = self.entry(port).test_run(frame, metadata=metadata)
        sent = XDP_REDIRECT if any(self._egress()) else XDP_TX
        actions = {SHOT: XDP_DROP, UNSPEC: XDP_PASS, REDIRECT: sent}
        return replace(result, retval=actions[result.retval])

    def _egress(self) -> list[int]:
        """What the scratch record of each CPU says."""
        at = self.manifest.scratch.egress
        records = self.maps["scratch"].lookup_per_cpu(bytes(4)) or []
        return [int.from_bytes(record[at : at + 4], "little") for record in records]


def private_run(bundle: Bundle, traced: bool = False) -> PrivateRun:
    """A bundle's programs, of XDP or tc. Raises `Refused`."""
    return (TcRun if bundle.manifest.hook == "tc" else PrivateRun)(bundle, traced)
