"""However the objects came, and wherever the watcher began again: the rules are those that planning
from scratch says, and each request on the way is one that the agent takes."""

from __future__ import annotations

from typing import Any

from helioc.runtime.services.cache import Cache, from_scratch
from helioc.runtime.services.changes import steps
from helioc.runtime.services.objects import Key, node_of, service_of, slice_of
from hypothesis import given, settings
from hypothesis import strategies as st
from services_world import SETTINGS, Book, endpoint, endpoints, node, port, service

_FOUR = ["10.244.1.2", "10.244.1.3", "10.244.1.9", "10.244.2.2", "10.244.2.3", "10.244.2.4"]
_SIX = ["fd00:1::2", "fd00:2::2", "fd00:2::3"]
_NAMES = st.sampled_from(["web", "api", "dns"])
_ZONES = st.sampled_from(["a", "b"])
_POLICIES = st.sampled_from(["Cluster", "Local"])
_MAYBE = st.none() | st.booleans()


@st.composite
def _services(draw: st.DrawFn) -> dict[str, Any]:
    name = draw(_NAMES)
    number = {"web": 1, "api": 2, "dns": 3}[name]
    addresses = [f"10.96.0.{draw(st.sampled_from([number, 9]))}"]
    if draw(st.booleans()):
        addresses.append(f"fd00:96::{number}")
    ports = [port(nodePort=draw(st.sampled_from([0, 30080, 30080 + number])))]
    if draw(st.booleans()):
        ports.append(port(53, "dns", draw(st.sampled_from(["UDP", "SCTP"]))))
    return service(
        name, addresses=addresses, ports=ports, created=f"2026-01-0{draw(st.integers(1, 3))}",
        balanced=[{"ip": "203.0.113.1"}] if draw(st.booleans()) else [],
        externalTrafficPolicy=draw(_POLICIES), internalTrafficPolicy=draw(_POLICIES),
        sessionAffinity=draw(st.sampled_from(["None", "ClientIP"])),
        externalIPs=draw(st.lists(st.sampled_from(["203.0.113.1", "203.0.113.2"]), max_size=2)),
        type=draw(st.sampled_from(["ClusterIP", "LoadBalancer", "ExternalName"])),
    )  # fmt: skip


@st.composite
def _slices(draw: st.DrawFn) -> dict[str, Any]:
    six = draw(st.booleans())
    found = []
    for address in draw(st.lists(st.sampled_from(_SIX if six else _FOUR), max_size=5)):
        here = address.startswith(("10.244.1.", "fd00:1:"))
        found.append(endpoint(
            address, "node1" if here else "node2", pod=draw(st.sampled_from(["", "u1", "u2"])),
            ready=draw(_MAYBE), serving=draw(_MAYBE), terminating=draw(_MAYBE),
            zones=draw(st.sets(_ZONES, max_size=1)),
            nodes=draw(st.sets(st.sampled_from(["node1", "node2"]), max_size=1)),
        ))  # fmt: skip
    return endpoints(*found, name=draw(st.sampled_from(["s1", "s2", "s3", "s4"])), of=draw(_NAMES),
                     family="IPv6" if six else "IPv4",
                     ports=[{"name": "http", "port": 8080, "protocol": "TCP"},
                            {"name": "dns", "port": 53, "protocol": "UDP"}])  # fmt: skip


_NODES = st.builds(node, zone=st.sampled_from(["", "a", "b"]), addresses=st.sampled_from([
    ["192.0.2.11"], ["192.0.2.11", "2001:db8::11"], ["192.0.2.12", "2001:db8::11"]]))  # fmt: skip
_EVENTS = st.one_of(
    st.tuples(st.just("service"), _services()), st.tuples(st.just("slice"), _slices()),
    st.tuples(st.just("node"), _NODES),
    st.tuples(st.just("no service"), st.builds(service, _NAMES)),
    st.tuples(st.just("no slice"), st.builds(endpoints, name=st.sampled_from(["s1", "s2", "s3"]))),
    st.tuples(st.just("act"), st.just({})), st.tuples(st.just("restart"), st.just({})),
    st.tuples(st.just("list"), st.just({})),
)  # fmt: skip


class _History:
    def __init__(self, room: dict[str, int]) -> None:
        self.room, self.book = room, Book()
        self.node: Any = node()
        self.services: dict[Key, Any] = {}
        self.slices: dict[Key, Any] = {}
        self.restart()

    def restart(self) -> None:
        """A new process knows nothing: it lists everything, and asks the agent what it has."""
        self.cache = Cache(SETTINGS, self.room)
        self.cache.put_node(node_of(self.node))
        self.list()
        self.cache.plan()
        self.stands = self.book.rules()
        self.send({*self.stands, *self.cache.wanted})

    def list(self) -> None:
        self.cache.replace_services({k: service_of(o) for k, o in self.services.items()})
        self.cache.replace_slices({k: slice_of(o) for k, o in self.slices.items()})

    def happen(self, what: str, found: Any) -> None:
        if what == "act":
            self.send(self.cache.plan())
        elif what == "restart":
            self.restart()
        elif what == "list":
            self.list()
        elif what == "node":
            self.node = found
            self.cache.put_node(node_of(found))
        else:
            self.change(what, found)

    def change(self, what: str, found: Any) -> None:
        key = Key("default", found["metadata"]["name"])
        kept = self.services if what.endswith("service") else self.slices
        if what.startswith("no "):
            kept.pop(key, None)
        else:
            kept[key] = found
        if kept is self.services:
            self.cache.put_service(key, service_of(kept[key]) if key in kept else None)
        else:
            self.cache.put_slice(key, slice_of(kept[key]) if key in kept else None)

    def send(self, keys: set[Any]) -> None:
        kinds = self.book.book.kinds
        for step in steps(self.stands, self.cache.wanted, keys, kinds):
            self.book.apply(step.sent)
            for key in step.keys:
                if key in self.cache.wanted:
                    self.stands[key] = self.cache.wanted[key]
                else:
                    self.stands.pop(key, None)

    def scratch(self) -> Any:
        services = [s for s in map(service_of, self.services.values()) if s]
        slices = [s for s in map(slice_of, self.slices.values()) if s]
        return from_scratch(services, slices, node_of(self.node), SETTINGS, self.room)


@settings(max_examples=60, deadline=None)
@given(st.lists(_EVENTS, max_size=30), st.sampled_from([{}, {"SERVICE": 5, "BACKEND": 4}]))
def test_history_does_not_matter(events: list[tuple[str, Any]], room: dict[str, int]) -> None:
    history = _History(room)
    for what, found in events:
        history.happen(what, found)
        if what == "act":
            assert history.book.rules() == history.stands
    history.happen("act", {})
    wanted = history.cache.wanted
    assert set(wanted.values()) == set(history.scratch().values())
    assert set(history.book.rules().values()) == set(wanted.values())
    for kind, most in room.items():
        assert len([key for key in history.stands if key[0] == kind]) <= most
    before = history.book.sent
    history.restart()
    assert history.book.sent == before, "nothing differs, and a request was sent"
