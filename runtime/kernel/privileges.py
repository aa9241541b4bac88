"""Drops all but a few capabilities for good.

Capabilities are a thread's own, and threads that it starts inherit them. So they are dropped before
there is a second thread, that is before anything large is imported.
"""

from __future__ import annotations

import os
import resource
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from . import system

#: linux/capability.h
NUMBERS = {
    "CAP_NET_BIND_SERVICE": 10, "CAP_NET_ADMIN": 12, "CAP_NET_RAW": 13, "CAP_SYS_ADMIN": 21,
    "CAP_PERFMON": 38, "CAP_BPF": 39,
}  # fmt: skip
#: Programs and maps; links of interfaces, netlink; the verifier's rules for those who are trusted.
LOADING = ("CAP_BPF", "CAP_NET_ADMIN", "CAP_PERFMON")
#: And probes of overlays.
AGENT = (*LOADING, "CAP_NET_RAW")
#: To open pins.
READER = ("CAP_BPF",)
#: Where --tcp or --metrics has a port below.
FIRST_OPEN_PORT = 1024
LOW_PORT = "CAP_NET_BIND_SERVICE"
#: To have the kernel time programs.
TIMES = "CAP_SYS_ADMIN"
#: To bind maps to a network card.
CARDS = "CAP_SYS_ADMIN"
_STATUS = Path("/proc/thread-self/status")
# linux/prctl.h
_SET_NO_NEW_PRIVS, _CAPBSET_READ, _CAPBSET_DROP, _CAP_AMBIENT = 38, 23, 24, 47
_AMBIENT_RAISE, _AMBIENT_CLEAR_ALL = 2, 4


def confine(kept: Iterable[str]) -> None:
    """Keep these capabilities, as far as there are any, and let nothing that is started later get
    more. For a process with one thread. Where some are missing CAP_SYS_ADMIN stays, too, since the
    kernel takes it for most.

    What root starts gets what is in the bounding set; what another user starts, only what is
    ambient."""
    with suppress(ValueError, OSError):  # kernels before 5.11 count maps as locked memory
        resource.setrlimit(resource.RLIMIT_MEMLOCK, (resource.RLIM_INFINITY,) * 2)
    with suppress(ValueError, OSError):  # a thousand connections at an address take as many
        most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    needed, have = sum(1 << NUMBERS[name] for name in kept), permitted()
    if needed & ~have:
        needed |= 1 << NUMBERS[TIMES]
    system.prctl(_SET_NO_NEW_PRIVS, 1)
    with suppress(OSError):  # without CAP_SETPCAP: nothing can be got beyond what is permitted
        system.prctl(_CAP_AMBIENT, _AMBIENT_CLEAR_ALL)
        for number in range(64):
            if not needed >> number & 1 and _bounded(number):
                system.prctl(_CAPBSET_DROP, number)
    left = needed & have
    if not os.geteuid():
        system.set_capabilities(left)
        return
    system.set_capabilities(left, inheritable=left)
    for number in range(64):
        if left >> number & 1:
            system.prctl(_CAP_AMBIENT, _AMBIENT_RAISE, number)


def _bounded(number: int) -> bool:
    """Whether a capability may still be got; the last one that the kernel knows is the last."""
    try:
        return system.prctl(_CAPBSET_READ, number) == 1
    except OSError:
        return False


def permitted() -> int:
    """The capabilities that this thread has, a bit for each."""
    found = dict(line.split(":", 1) for line in _STATUS.read_text().splitlines())
    return int(found["CapPrm"], 16)


def port_of(address: str) -> int:
    """The port of HOST:PORT; a high one where there is none, which is reported elsewhere."""
    port = address.rpartition(":")[2]
    return int(port) if port.isdecimal() else FIRST_OPEN_PORT
