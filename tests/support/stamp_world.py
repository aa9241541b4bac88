"""Two ends of a path that `stamp` runs on, each with an agent, and between them the kernel's seg6
and a relay that delays, drops, repeats and reorders test packets as a test says.

    sender wan0 == a0 [router: seg6, End fc00:c::e] b0 == near [relay] far == wan0 reflector
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import cache, partial
from itertools import count
from pathlib import Path

from agent_world import World
from edges import hear_answers
from helioc.compiler import bundle as bundles
from helioc.compiler.driver import check_file
from helioc.runtime.base.paths import RUN, this_namespace
from helioc.runtime.client import Client
from helioc.runtime.loading.bundle import Bundle
from helioc.runtime.loading.loader import unload
from helioc.runtime.loading.releases import ROOT
from lab import Lab, Namespace, until
from path_relay import Relay
from traffic import ping

HP = Path(__file__).parents[2] / "pipelines" / "stamp.hp"
EDGE = "mode: native\nports: {WAN: {role: wan, interface: wan0}}\n"
ENDPOINT = "create ENDPOINT 1 [(udp_port, u16, 862)]"
SENDER4, SENDER6, REFLECTOR4, REFLECTOR6 = "192.0.2.2", "fc00:a::2", "198.51.100.2", "fc00:b::2"
END = "fc00:c::e"
_numbers = count(1)


@cache
def bundle() -> Bundle:
    made = bundles.compile_pipeline(check_file(HP))
    return Bundle(made.manifest, made.object)


def is_test(frame: bytes) -> bool:
    """Whether it may be a test packet: of UDP, or within a tunnel of IPv6."""
    if frame[12:14] == b"\x08\x00":
        return frame[23] == 17
    return frame[12:14] == b"\x86\xdd" and frame[20] in (17, 43, 4, 41)


@dataclass
class Ends:
    """Both, loaded, with their agents' clients."""

    sender: World
    reflector: World
    router: Namespace
    relay: Relay
    client: Client = field(init=False)
    other: Client = field(init=False)

    def load(self) -> None:
        for client in (self.client, self.other):
            client.load(bundle(), EDGE)
        self.other.apply(ENDPOINT)

    def measured(self, ssid: int, to: str = REFLECTOR4, **others: object) -> None:
        """A session, with its rule at the reflector."""
        made = self.client.create_stamp_session(ssid, to, **others)
        self.other.apply(made.reflector)


@contextmanager
def stamp_ends(lab: Lab, directory: Path) -> Iterator[Ends]:
    with ExitStack() as owned:
        rooms = [lab.namespace(name) for name in ("sender", "router", "relay", "reflector")]
        sender, router, relay, reflector = rooms
        lab.wire(router, "a0", sender, "wan0")
        lab.wire(router, "b0", relay, "near")
        lab.wire(relay, "far", reflector, "wan0")
        _addresses(sender, router, reflector)
        hear_answers([(router, "a0"), (relay, "far")])
        passing = owned.enter_context(Relay(relay.wire("near"), relay.wire("far"), is_test))
        for address in (SENDER4, SENDER6, REFLECTOR4, REFLECTOR6):
            until(partial(_reached, router, address), f"{address} answers")
        worlds = list[World]()
        for room in (sender, reflector):
            folder = directory / room.name.rpartition("-")[2][:1]  # a socket's path is short
            folder.mkdir()
            made = World(room, f"ht{os.getpid()}-t{next(_numbers)}", folder)
            owned.callback(unload_world, made)
            worlds.append(made)
        yield Ends(worlds[0], worlds[1], router, passing)


def _addresses(sender: Namespace, router: Namespace, reflector: Namespace) -> None:
    sender.address("wan0", f"{SENDER4}/30", f"{SENDER6}/64")
    reflector.address("wan0", f"{REFLECTOR4}/30", f"{REFLECTOR6}/64")
    router.address("a0", "192.0.2.1/30", "fc00:a::1/64")
    router.address("b0", "198.51.100.1/30", "fc00:b::1/64")
    for room, via in ((sender, ("192.0.2.1", "fc00:a::1")),
                      (reflector, ("198.51.100.1", "fc00:b::1"))):  # fmt: skip
        for each in via:
            room.route("default", each)
    for name in ("ipv4.ip_forward", "ipv6.conf.all.forwarding", "ipv6.conf.all.seg6_enabled",
                 "ipv6.conf.a0.seg6_enabled", "ipv6.conf.b0.seg6_enabled"):  # fmt: skip
        router.sysctl(f"net.{name}", 1)
    router.ip(*f"-6 route add {END}/128 encap seg6local action End dev a0".split())


def _reached(room: Namespace, address: str) -> bool:
    return ping(room, address, 1).lost == 0


def unload_world(world: World) -> None:
    """Also what its agent kept of sessions, which it does where it is killed or has some."""
    if (ROOT / world.name).exists():
        unload(world.name)
    forget_counts(world)


def forget_counts(world: World) -> None:
    """As a reboot does."""
    (RUN / f"stamp.{world.edge.inside_thread(this_namespace)}").unlink(missing_ok=True)


@contextmanager
def agents(ends: Ends) -> Iterator[Ends]:
    """Both ends with their agents, loaded if they are not."""
    with (
        ends.reflector.agent(), ends.reflector.client() as ends.other,
        ends.sender.agent(), ends.sender.client() as ends.client,
    ):  # fmt: skip
        if not ends.client.status().pipelines:
            ends.load()
        yield ends
