"""The thread that watches the world around the pipelines, and has their owners follow it.

Changes gather for a moment; then the kernel is asked what is so now, while transactions go on. Only
what concerns a pipeline's ports, and is another than before, becomes a turn of its owner. A storm
costs a bounded share of time: the longer a look took, the longer it sleeps.

What the kernel does not tell by itself is asked for: frames that XDP forwards are no use of a
neighbour to the kernel, so that one that has a new MAC address and does not announce it would never
be asked again. The kernel is made to ask those that next hops lead to.
"""

from __future__ import annotations

import logging
import random
import threading
import time
from collections.abc import Callable, Iterable
from weakref import WeakKeyDictionary

from ...lang.text.diagnostics import Diagnostic, Refused
from ..base.errors import of_kernel
from ..base.logs import text as log_text
from ..kernel.clock import ClockSteps, read_wall_clock
from ..kernel.handles import BpfError
from ..kernel.net_monitor import EVERYTHING, Monitor, Topic
from ..kernel.netlink import Netlink
from ..loading.host_state import HostState
from ..loading.refresh import observe_host
from .owner import Owner

#: Seconds: in which changes gather; after which what could not be done is tried again; after which
#: kernel objects are looked at again; after which neighbours in use are asked again.
PAUSE, RETRY, INSPECT_AGAIN, ASK_AGAIN = 0.01, 1.0, 2.0, 10.0
#: The thread sleeps this many times as long as it worked.
_SHARE = 4
#: Neighbours that are asked in one go.
_MOST = 256
_NEIGHBOURS: frozenset[Topic] = frozenset(("neighbours",))
_log = logging.getLogger("heliod.world")


class NetWatcher:
    """Runs from `start` to `stop`, and sleeps while nothing changes."""

    def __init__(
        self, owners: Callable[[], Iterable[Owner]], on_change: Callable[[], None] = lambda: None,
        inspect: Callable[[Owner], object] = lambda owner: None,
    ) -> None:  # fmt: skip
        """`on_change`: called when something was brought up to date; `inspect`: now and then, to
        look at what the kernel does not report."""
        self._owners, self._on_change, self._inspect = owners, on_change, inspect
        self._findings: dict[str, tuple[Diagnostic, ...]] = {}
        self._gone: WeakKeyDictionary[Owner, frozenset[str]] = WeakKeyDictionary()
        self._monitor: Monitor | None = None
        self._steps: ClockSteps | None = None
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name="net-watcher", daemon=True)

    def start(self) -> None:
        self._steps = ClockSteps()
        self._monitor = Monitor(also=(self._steps.fileno(),))
        self._thread.start()

    def wake(self) -> None:
        """There is another pipeline."""
        if self._monitor is not None:
            self._monitor.wake()

    def stop(self) -> None:
        """May be called again, also where it was never started."""
        self._ended.set()
        if self._monitor is not None:
            self._monitor.wake()
            if self._thread.is_alive():
                self._thread.join()
            self._monitor.close()
            self._monitor = None
        if self._steps is not None:
            self._steps.close()
            self._steps = None

    def findings(self, name: str) -> tuple[Diagnostic, ...]:
        """What keeps ports of a pipeline from working."""
        return self._findings.get(name, ())

    # ---- the thread -------------------------------------------------------------------------

    def _run(self) -> None:
        monitor, steps = self._monitor, self._steps
        assert monitor is not None and steps is not None
        with Netlink() as netlink:
            topics = EVERYTHING
            asked = inspected = time.monotonic()
            while not self._ended.is_set():
                begun = time.monotonic()
                try:
                    if steps.happened() or begun >= inspected + INSPECT_AGAIN:
                        clock = read_wall_clock()
                        for owner in self._owners():
                            owner.loaded.publish_clock(clock)
                    self._look(netlink, topics)
                    if begun >= asked + ASK_AGAIN:
                        self._ask_again(netlink)
                        asked = begun
                    if begun >= inspected + INSPECT_AGAIN:
                        for owner in self._owners():
                            self._inspect(owner)
                        inspected = begun
                except OSError as error:
                    _log.error("cannot look at the network: %s", error)
                rest = PAUSE + min(RETRY, _SHARE * (time.monotonic() - begun))
                due = min(asked + ASK_AGAIN, inspected + INSPECT_AGAIN)
                topics = self._next(monitor, rest, due)

    def _next(self, monitor: Monitor, rest: float, due: float) -> frozenset[Topic]:
        """Sleep until there is something to do, and for `rest` seconds at least."""
        if any(self._findings.values()):
            due = min(due, time.monotonic() + RETRY)
        monitor.wait(due - time.monotonic())
        self._ended.wait(rest)
        return monitor.changed()

    def _look(self, netlink: Netlink, topics: frozenset[Topic]) -> None:
        owners = list(self._owners())
        names = {owner.name for owner in owners}
        self._findings = {name: f for name, f in self._findings.items() if name in names}
        for owner in owners:
            known = owner.loaded.seen
            if topics or known is None or self.findings(owner.name):
                routes = known.routes if known and topics == _NEIGHBOURS else None
                seen = observe_host(netlink, owner.loaded, routes)
                if seen != known or self.findings(owner.name):
                    self._follow(owner, seen)

    def _follow(self, owner: Owner, seen: HostState) -> None:
        """Bring a pipeline up to date with what was seen."""
        try:
            done, _ = owner.refresh(seen=seen)
        except Refused as error:
            findings = tuple(error.diagnostics)
        except BpfError as error:  # what was there a moment ago is gone
            findings = (of_kernel(error, "follow what changed around a pipeline"),)
        else:
            findings = done.findings
            self._say_gone(owner, done.gone)
            for name in done.attached:
                _log.info("%s: the port %s is attached again", owner.name, name)
            if done.rules:
                _log.info("%s: %d rules got another next hop", owner.name, done.rules)
        if owner.ended:  # unloaded in the meantime: another of its name has other findings
            return
        for new in (found for found in findings if found not in self.findings(owner.name)):
            _log.error("%s: %s", owner.name, log_text(new))
        self._findings[owner.name] = findings
        self._on_change()

    def _say_gone(self, owner: Owner, gone: Iterable[str]) -> None:
        """Ports that have no interface any more, and those that have theirs again."""
        known, now = self._gone.get(owner, frozenset()), frozenset(gone)
        self._gone[owner] = now
        for port in owner.loaded.port_configs:
            if port.name in now - known:
                said = "%s: the port %s has no interface: there is no %s"
                _log.warning(said, owner.name, port.name, port.interface)
            elif port.name in known - now:
                said = "%s: the port %s has its interface again: %s"
                _log.info(said, owner.name, port.name, port.interface)

    def _ask_again(self, netlink: Netlink) -> None:
        """Let the kernel verify the neighbours that next hops lead to, and look for those that are
        missing."""
        for owner in self._owners():
            gateways = owner.loaded.next_hops.gateways()
            for index, address in random.sample(gateways, min(len(gateways), _MOST)):
                netlink.probe(index, address)
