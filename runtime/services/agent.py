"""The agent's rules for services: what stands there, and how it becomes what is wanted.

Between requests we know what stands. After a refusal, a lost connection, or a change of these rules
by somebody else we ask, and send what differs.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterable, Mapping
from queue import SimpleQueue
from typing import Any, NamedTuple

from ...lang.contract.request.request import Request, quoted
from ...lang.contract.rules.rulekinds import Kind
from ...lang.text.diagnostics import Refused
from ..base.errors import refused
from ..client.client import Client, Schema
from ..kernel.netlink import Netlink
from ..rpc import control_pb2 as pb
from . import errors
from .changes import Step, steps
from .wanted import KINDS, Key, Rule, Rules, standing

_REMEMBERED = 1024


class Disturbed(NamedTuple):
    """Something happened at the agent: rules of ours are others, ports are, or nobody tells us any
    more (`lost`)."""

    ports: bool = False
    lost: bool = False


class Agent:
    """Used by one thread, but for its watch. `open` it; every method raises `Refused`."""

    def __init__(self, client: Client, network: str, inbox: SimpleQueue[Any]) -> None:
        """`network`: the name of the port towards other nodes, or "" for the only `uplink`."""
        self.client, self._network, self._inbox = client, network, inbox
        self.stands: dict[Key, Rule] | None = None
        self.requests = self.changed = 0
        self.network = ""
        self._pods: dict[int, str] = {}  # spelled names of ports by their interface
        self._netlink = Netlink()
        self._ours: deque[int] = deque(maxlen=_REMEMBERED)  # revisions
        self._watch: Any = None

    def open(self) -> None:
        """Learn its ports, and watch it from now on."""
        self.look_at_ports()
        watch = self._watch = self.client.watch()
        threading.Thread(target=self._follow, args=(watch,), name="agent", daemon=True).start()

    def close(self) -> None:
        self._forget_watch()
        self.client.close()
        self._netlink.close()

    def lose(self) -> None:
        """Nothing is known of it any more."""
        self.stands = None
        self._forget_watch()

    def _forget_watch(self) -> None:
        watch, self._watch = self._watch, None
        if watch is not None:
            watch.close()

    @property
    def kinds(self) -> Mapping[str, Kind]:
        return self.client.schema().kinds

    @property
    def room(self) -> dict[str, int]:
        """How many rules of each kind it takes."""
        return {kind: self.kinds[kind].rule.capacity for kind in KINDS}

    # ---- ports ------------------------------------------------------------------------------

    def look_at_ports(self) -> None:
        schema = self.client.schema(again=True)
        missing = [kind for kind in KINDS if kind not in schema.kinds]
        if missing:
            raise refused(errors.no_kinds(schema.pipeline, missing))
        self._pods = {port.ifindex: quoted(port.name) for port in schema.ports if port.ifindex}
        self.network = quoted(self._towards_others(schema))

    def _towards_others(self, schema: Schema) -> str:
        names = [port.name for port in schema.ports]
        uplinks = [port.name for port in schema.ports if port.role == "uplink"]
        if self._network in names:
            return self._network
        if self._network or len(uplinks) != 1:
            raise refused(errors.no_network(names, self._network))
        return uplinks[0]

    def pod_port(self, address: bytes) -> str | None:
        """The port to which this node's route to a pod leads."""
        index = self._netlink.route(address)
        return self._pods.get(index) if index is not None else None

    # ---- rules ------------------------------------------------------------------------------

    def compare(self, wanted: Rules) -> int:
        """Ask what stands, and send what differs; returns of how many rules that was so."""
        self.stands = standing(self.client.rules(kinds=KINDS))
        return self.send(wanted, {*self.stands, *wanted})

    def send(self, wanted: Rules, keys: Iterable[Key]) -> int:
        """Make these rules what is wanted; returns how many of them were not."""
        assert self.stands is not None
        count = 0
        for step in steps(self.stands, wanted, keys, self.kinds):
            self._send(step)
            for key in step.keys:
                if key in wanted:
                    self.stands[key] = wanted[key]
                else:
                    self.stands.pop(key, None)
            count += len(step.keys)
        self.changed += count
        return count

    def _send(self, step: Step) -> None:
        self.requests += 1
        if isinstance(step.sent, Request):
            done = self.client.apply(step.sent)
        else:
            done = self.client.bulk(step.sent)
        self._ours.append(done.revision)

    # ---- the agent's events -------------------------------------------------------------------

    def _follow(self, watch: Any) -> None:
        try:
            for event in watch:
                what = event.WhichOneof("what")
                if what == "port" or what == "changed":
                    self._inbox.put(Disturbed(ports=True))
                elif what == "missed" or (what == "rules" and self._touches(event.rules)):
                    self._inbox.put(event)
        except (Refused, ValueError):  # ValueError: the channel is closed
            pass
        if watch is self._watch:
            self._inbox.put(Disturbed(lost=True))

    def _touches(self, rules: pb.RulesChanged) -> bool:
        changed = (*rules.created, *rules.changed, *rules.removed)
        return rules.more or any(each.kind in KINDS for each in changed)

    def is_foreign(self, event: pb.Event) -> bool:
        """Whether what is told of is not of our own requests."""
        return event.WhichOneof("what") == "missed" or event.revision not in self._ours
