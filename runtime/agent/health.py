"""Whether the agent makes progress, and whether it is ready, in one line for who supervises it."""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Callable, Collection
from typing import TYPE_CHECKING

from ...lang.text.diagnostics import Diagnostic

if TYPE_CHECKING:
    from .agent import Agent

#: Seconds that a pipeline's turn may last: twice what a request waits for it (owner.PATIENCE). Of a
#: large request each slice counts by itself.
LONGEST_TURN = 120.0
#: Seconds for which all threads that wait for clients may be at work: what takes long is handed on.
LONGEST_WORK = 60.0


class Health:
    """May be asked by any thread; `agent` comes later than this, and is `restored` later still."""

    def __init__(self) -> None:
        self.agent: Agent | None = None
        self.restored = False
        #: Of the server's: seconds for which no thread waited for clients.
        self.unattended: Callable[[], float] = lambda: 0.0
        #: And why nobody is let in by TLS.
        self.locked_out: Callable[[], Collection[Diagnostic]] = lambda: ()

    def stuck(self) -> str:
        """Why it makes no progress; empty where it does."""
        agent = self.agent
        if agent is None or not self.restored:
            return ""
        if any(owner.lock.lasting() > LONGEST_TURN for owner in agent.owners()):
            return f"a request has been worked on for more than {LONGEST_TURN:.0f} s"
        if self.unattended() > LONGEST_WORK:
            return f"no thread has waited for clients for more than {LONGEST_WORK:.0f} s"
        return "" if agent.journal_flusher.works else "the threads of the journal have ended"

    def unready(self) -> str:
        """Why it is not ready; empty where it is."""
        agent = self.agent
        if agent is None or not self.restored:
            return "starting: pipelines are being restored"
        if not agent.journalled:
            return "H0780: the journal cannot be written"
        if agent.losses:
            return "H0781: what was acknowledged is lost, and nobody has accepted that"
        if agent.unrestored:
            return "a pipeline could not be restored"
        if agent.bare:
            return "H0714: a port has lost its program"
        if self.locked_out():
            return "H0777: nobody is let in by TLS: who is revoked cannot be read"
        return self.stuck()


# ---- systemd --------------------------------------------------------------------------------


def notify(state: str) -> None:
    """Report to systemd, if that started us (sd_notify(3))."""
    address = os.environ.get("NOTIFY_SOCKET", "")
    if address[:1] in ("/", "@"):
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as to:
            to.connect("\0" + address[1:] if address[0] == "@" else address)
            to.sendall(state.encode())


def watchdog_interval() -> float | None:
    """Seconds between two reports to systemd's watchdog, half of what it waits for one
    (sd_watchdog_enabled(3)); None where it waits for none of ours."""
    usec, whose = os.environ.get("WATCHDOG_USEC", ""), os.environ.get("WATCHDOG_PID", "")
    if not usec.isdecimal() or int(usec) == 0 or whose not in ("", str(os.getpid())):
        return None
    return int(usec) / 2_000_000


def watch_until(
    stopped: Callable[[float | None], bool], stuck: Callable[[], str],
    report: Callable[[str], object],
) -> None:  # fmt: skip
    """Wait until `stopped`, which waits for it for the seconds that it is given. Report to the
    watchdog as long as there is progress; what there is not, once to `report`."""
    interval, said = watchdog_interval(), ""
    begun = time.monotonic()
    while not stopped(interval):
        why = stuck()
        if not why:
            notify("WATCHDOG=1")
        elif why != said:
            report(f"after {time.monotonic() - begun:.0f} s: {why}")
        said = why
