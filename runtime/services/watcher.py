"""The watcher: events of Kubernetes and of the agent in, requests to the agent out.

One thread does it all, a batch of events at a time; others only read from the network. Nothing is
sent before all resources were listed once: what is not known yet is not gone.
"""

from __future__ import annotations

import logging
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import replace
from queue import Empty, SimpleQueue
from socket import AF_INET, AF_INET6, inet_pton
from typing import Any

from ...lang.text.diagnostics import Refused
from ..base import logs
from ..client.client import Client
from ..rpc import control_pb2 as pb
from . import errors
from .agent import Agent, Disturbed
from .api import Changed, Fares, Listed, Reflector, Resource
from .cache import Cache
from .counts import Counts
from .objects import family_of
from .plan import Note, Settings

#: Seconds: events that come so shortly after one are one request with it; endpoints without a port
#: are looked for; between comparisons since others change rules; pauses before the agent is asked
#: again.
_TOGETHER, _MOST_TOGETHER, _ASTRAY, _FIGHT = 0.002, 0.01, 2.0, 1.0
_LEAST, _MOST = 0.1, 5.0
_REMEMBERED = 10_000
_log = logging.getLogger("services")


class Watcher:
    """`run` it until it is stopped."""

    def __init__(
        self, resources: Sequence[Resource], connect: Callable[[], Client], settings: Settings,
        *, network: str = "", resync: float = 600.0,
    ) -> None:  # fmt: skip
        """`connect`: to the agent. `settings`: its ports come from the agent. `resync`: seconds
        after which the agent's rules are compared in any case."""
        self.inbox: SimpleQueue[Any] = SimpleQueue()
        self.cache = Cache(replace(settings, pod_port=self._pod_port))
        self.reflectors = [Reflector(resource, self.inbox) for resource in resources]
        self._agent = Agent(connect(), network, self.inbox)
        self.counts = Counts(self.cache, self.reflectors, self._agent, lambda: self.in_step)
        self._unlisted = {resource.name for resource in resources}
        self._resync = resync
        self._open = self._stopping = False
        self._compare_at = self._look_at = self._compared_at = 0.0  # by the monotonic clock
        self._pause = _LEAST
        self._said: set[Note] = set()
        self._said_astray = self._said_no_node = False
        #: When what has not been sent yet was read.
        self._events: deque[float] = deque(maxlen=_REMEMBERED)

    @property
    def agent(self) -> Agent:
        return self._agent

    @property
    def in_step(self) -> bool:
        """Whether the agent's rules are what Kubernetes says, as far as we know."""
        return not self._unlisted and self._open and self._agent.stands is not None

    def run(self) -> None:
        for reflector in self.reflectors:
            reflector.start()
        try:
            while not self._stopping:
                self._take(self._gather())
                if not self._unlisted and not self._stopping:
                    self._act()
        finally:
            for reflector in self.reflectors:
                reflector.stop()
            self._agent.close()

    def stop(self) -> None:
        """By any thread."""
        self._stopping = True
        self.inbox.put(None)

    # ---- what came --------------------------------------------------------------------------

    def _gather(self) -> list[Any]:
        """Wait for something to come, and a moment longer for what comes with it."""
        wait = min(self._compare_at, self._look_at) - time.monotonic()
        wait = 1.0 if self._unlisted else max(0.0, min(wait, 1.0))
        try:
            came = [self.inbox.get(timeout=wait)]
        except Empty:
            return []
        until = time.monotonic() + _MOST_TOGETHER
        while time.monotonic() < until:
            try:
                came.append(self.inbox.get(timeout=_TOGETHER))
            except Empty:
                break
        return came

    def _take(self, came: Sequence[Any]) -> None:
        for each in came:
            if isinstance(each, Listed):
                self._listed(each)
            elif isinstance(each, Changed):
                self._changed(each)
            elif isinstance(each, Disturbed):
                self._disturbed(each)
            elif isinstance(each, Fares):
                self.counts.server(each.resource, each.answers)
            elif isinstance(each, pb.Event) and self._agent.is_foreign(each):
                _log.info("rules of services were changed by somebody else: they are compared")
                self._compare_at = min(self._compare_at, self._compared_at + _FIGHT)

    def _listed(self, found: Listed) -> None:
        self.counts.listed(found.resource)
        self._unlisted.discard(found.resource)
        if found.resource == "Service":
            self.cache.replace_services(found.objects)
        elif found.resource == "EndpointSlice":
            self.cache.replace_slices(found.objects)
        else:
            self._node(next(iter(found.objects.values()), None))

    def _changed(self, found: Changed) -> None:
        self.counts.event(found.resource)
        self._events.append(found.at)
        if found.resource == "Service":
            self.cache.put_service(found.key, found.object)
        elif found.resource == "EndpointSlice":
            self.cache.put_slice(found.key, found.object)
        else:
            self._node(found.object)

    def _node(self, node: Any) -> None:
        """Without a Node everything stays as it is."""
        if node is not None:
            self.cache.put_node(node)
        elif not self._said_no_node:
            logs.say(_log, errors.no_node(self.cache.settings.node))
        self._said_no_node = node is None

    def _disturbed(self, found: Disturbed) -> None:
        if found.lost:
            self._open = False
            self._agent.lose()
        if found.ports and self._open:
            self._open = False  # its ports are asked for again, and all that depends on them
            self._agent.lose()
        self._compare_at = 0.0

    # ---- what is done -----------------------------------------------------------------------

    def _act(self) -> None:
        if self.cache.node is None:
            self._compare_at = self._look_at = time.monotonic() + 1
            return
        try:
            self._act_with_agent()
            self._pause = _LEAST
        except Refused as error:
            self._refused(error)

    def _act_with_agent(self) -> None:
        now = time.monotonic()
        if not self._open:
            if now < self._compare_at:
                return
            self._reopen()
        again = self.cache.astray if now >= self._look_at else []
        touched = self.cache.plan(again)
        self._look_at = now + (_ASTRAY if self.cache.astray else self._resync)
        if touched:
            self.counts.planned(time.monotonic() - now)
            self._report()
        if self._agent.stands is None or now >= self._compare_at:
            changed = self._agent.compare(self.cache.wanted)
            self._compared_at = time.monotonic()
            self._compare_at = self._compared_at + self._resync
            _log.info("in step with the API server: %d rules, of which %d were others",
                      len(self.cache.wanted), changed)  # fmt: skip
        else:
            changed = self._agent.send(self.cache.wanted, touched)
        self.counts.sent(self._events, changed)
        self._events.clear()

    def _reopen(self) -> None:
        self._agent.open()
        self._open = True
        self.cache.room = self._agent.room
        self.cache.settings = replace(self.cache.settings, network=self._agent.network)
        self.cache.plan_all()
        self._compare_at = 0.0

    def _refused(self, error: Refused) -> None:
        """Ask again after a pause; rules stay as they are."""
        self.counts.refused += 1
        self._agent.lose()
        self._open = False
        if self._pause == _LEAST or self._pause >= _MOST / 2:
            for found in error.diagnostics:
                logs.say(_log, found)
        self._compare_at = time.monotonic() + self._pause
        self._look_at = self._compare_at
        self._pause = min(2 * self._pause, _MOST)

    def _pod_port(self, address: str) -> str | None:
        family = AF_INET if family_of(address) == 4 else AF_INET6
        return self._agent.pod_port(inet_pton(family, address))

    def _report(self) -> None:
        """What cannot be and was not said yet."""
        found = set(self.cache.notes)
        for note in sorted(found - self._said):
            logs.say(_log, errors.of_note(note))
        self._said = found
        astray = self.cache.astray
        if astray and not self._said_astray:
            logs.say(_log, errors.astray([str(name) for name in sorted(astray)[:5]], len(astray)))
        self._said_astray = bool(astray)
