"""Delays measured by STAMP: a reflector and a collector in XDP, and the kernel's seg6 between them.

    .venv/bin/python examples/stamp/demo.py [--prefix stamp-]

Needs root. Everything happens in network namespaces whose names begin with the prefix; they, and
what is loaded into the kernel, are gone at the end, also after Ctrl-C or a failure. Every fact
that is printed was measured: if one does not hold the demo says so, stops, and exits with 1.
"""

from __future__ import annotations

import json
import struct
import sys
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from account import Account
from edges import Edge, agent_in, compile_pipeline, hear_answers, running
from lab import Lab, Namespace, until
from scapy.contrib.stamp import STAMPSessionReflectorTestUnauthenticated
from showing import Demo, run
from traffic import drain, ping, udp_socket

HERE = Path(__file__).parent
TITLE = "delays measured by STAMP"
PICTURE = """
  sender 192.0.2.2 ── wan0 ══ [linux: seg6, End fc00:c::e] ══ wan0 ── 198.51.100.2 reflector
         fc00:a::2                                                    fc00:b::2"""
SENDER4, SENDER6, REFLECTOR4, REFLECTOR6 = "192.0.2.2", "fc00:a::2", "198.51.100.2", "fc00:b::2"
STAMP = 862
COUNT, INTERVAL, DURATION = 20, "0.005", "0.1"  # seconds


@dataclass(frozen=True)
class World:
    sender: Namespace
    linux: Namespace
    reflector: Namespace


def build(lab: Lab) -> World:
    world = World(*(lab.namespace(name) for name in ("sender", "linux", "reflector")))
    lab.wire(world.linux, "a0", world.sender, "wan0")
    lab.wire(world.linux, "b0", world.reflector, "wan0")
    world.sender.address("wan0", f"{SENDER4}/30", f"{SENDER6}/64")
    world.reflector.address("wan0", f"{REFLECTOR4}/30", f"{REFLECTOR6}/64")
    world.linux.address("a0", "192.0.2.1/30", "fc00:a::1/64")
    world.linux.address("b0", "198.51.100.1/30", "fc00:b::1/64")
    for room, site4, site6 in (
        (world.sender, "192.0.2.1", "fc00:a::1"),
        (world.reflector, "198.51.100.1", "fc00:b::1"),
    ):
        room.route("default", site4)
        room.route("default", site6)
    for name in ("ipv4.ip_forward", "ipv6.conf.all.forwarding", "ipv6.conf.all.seg6_enabled",
                 "ipv6.conf.a0.seg6_enabled", "ipv6.conf.b0.seg6_enabled"):  # fmt: skip
        world.linux.sysctl(f"net.{name}", 1)
    world.linux.ip(*"-6 route add fc00:c::e/128 encap seg6local action End dev a0".split())
    for address in (SENDER4, SENDER6, REFLECTOR4, REFLECTOR6):
        until(partial(reached, world.linux, address), f"{address} answers")
    hear_answers([(world.linux, "a0"), (world.linux, "b0")])
    return world


def reached(room: Namespace, address: str) -> bool:
    return ping(room, address, 1).lost == 0


# ---- sessions ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Ends:
    """Both ends of the paths: the sender's agent, and a reflector that needs none."""

    say: Account
    world: World
    sender: Edge
    reflector: Edge

    def create(self, ssid: int, name: str, to: str, *options: str) -> None:
        """A session, and its rule at the other end."""
        words = ("stamp", "create", str(ssid), to, "--name", name, "--interval", INTERVAL)
        said = self.sender.control(*words, "--timeout", "0.5", *options)
        request = said.partition("at the reflector: create ")[2].strip()
        self.reflector.control("create", request)
        self.say.fact(bool(request), f"session {ssid}: {' '.join(options) or 'at once'}")

    def measured(self, ssid: int) -> None:
        """Let a session run for a while, and say what came of it."""
        found = self.run(ssid)
        answered = (found["sent"], found["answered"], found["lost"]) == (COUNT, COUNT, 0)
        self.say.fact(answered, f"{COUNT} sent, {COUNT} answers recorded")
        means = [1e6 * found[name]["mean"] for name in ("forward", "backward", "round_trip")]
        there, back, whole = (f"{each:.1f} us" for each in means)
        sound = min(means) > 0 and not found["invalid"] and not found["reordered"]
        self.say.fact(sound, f"{there} there, {back} back: a round trip of {whole}")

    def run(self, ssid: int) -> dict[str, Any]:
        """What it measured, from its first packet on."""
        self.sender.control("stamp", "start", str(ssid), "--duration", DURATION)
        return until(partial(self.over, ssid), f"session {ssid} is over")

    def over(self, ssid: int) -> dict[str, Any]:
        """Empty until it is."""
        found = self.going(ssid)
        return found if found["state"] == "stopped" and not found["waiting"] else {}

    def going(self, ssid: int) -> dict[str, Any]:
        said = self.sender.control("stamp", "list", str(ssid), "--json")
        found: dict[str, Any] = json.loads(said)["sessions"][0]
        return found


# ---- what is shown -------------------------------------------------------------------------------


def at_once(ends: Ends) -> None:
    ends.say.step("Answered in XDP: IPv4 and IPv6, by the clocks of NTP and PTP")
    ends.create(1, "ipv4", REFLECTOR4)
    ends.measured(1)
    ends.create(2, "ipv6", REFLECTOR6, "--stateful")
    ends.measured(2)
    ends.create(3, "ptp", REFLECTOR4, "--ptp", "--length", "1000")
    ends.measured(3)


def by_segments(ends: Ends) -> None:
    back = f"fc00:c::e,{SENDER6}"
    ends.say.step("There and back with an SRH, through the router's End")
    ends.create(4, "own_srh", REFLECTOR6, "--sids", "fc00:c::e", "--sids-back", back,
                "--way-back", "own_srh")  # fmt: skip
    ends.measured(4)
    ends.say.step("Both ways in a tunnel: H.Encaps")
    ends.create(5, "encaps", REFLECTOR4, "--sids", f"fc00:c::e,{REFLECTOR6}", "--sids-back", back,
                "--outer-source-back", REFLECTOR6)  # fmt: skip
    ends.measured(5)
    ends.say.step("By a route of the kernel's seg6, which sets test packets on their way, too")
    way = f"-6 route replace {REFLECTOR6}/128 encap seg6 mode inline segs fc00:c::e"
    ends.world.sender.ip(*f"{way} via fc00:a::1 dev wan0".split())
    ends.create(6, "steered", REFLECTOR6)
    ends.measured(6)
    ends.world.sender.ip("-6", "route", "delete", f"{REFLECTOR6}/128")


def lost(ends: Ends) -> None:
    ends.say.step("A stateful reflector tells on which way packets were lost")
    lossy(ends, 7, REFLECTOR4, there=True)
    lossy(ends, 8, SENDER4, there=False)


def lossy(ends: Ends, ssid: int, address: str, there: bool) -> None:
    """The router drops what goes to an address, for a while."""
    ends.create(ssid, f"lossy-{ssid}", REFLECTOR4, "--stateful")
    ends.sender.control("stamp", "start", str(ssid))
    until(lambda: ends.going(ssid)["answered"] > 3, "it is answered")
    hole = "route", "add", "blackhole", f"{address}/32"
    ends.world.linux.ip(*hole)
    until(lambda: ends.going(ssid)["lost"] > 3, "some are lost")
    ends.world.linux.ip("route", "delete", *hole[2:])
    answered = ends.going(ssid)["answered"]
    until(lambda: ends.going(ssid)["answered"] > answered + COUNT, "it goes on")
    ends.sender.control("stamp", "stop", str(ssid))
    found = until(partial(ends.over, ssid), "it is over")
    gone, forward = found["lost"], found["lost_forward"]
    what = f"{gone} of {found['sent']} lost, {forward} of them on the way there"
    ends.say.fact(forward == (gone if there else 0), what)


def heard(ends: Ends) -> None:
    say = ends.say
    say.step("What scapy reads of an answer that nobody records")
    with udp_socket(ends.world.sender, SENDER4, 40000) as sock:
        tlv = bytes.fromhex("80010004deadbeef")  # extra padding (RFC 8972 section 4.1)
        sock.sendto(test_packet(7, 9) + tlv, (REFLECTOR4, STAMP))
        ((data, source),) = drain(sock, 1)
    answer = STAMPSessionReflectorTestUnauthenticated(data)
    say.fact(source == (REFLECTOR4, STAMP), "it comes from where the test packet went")
    numbers = answer.seq, answer.ssid, answer.seq_sender, answer.ttl_sender
    say.fact(numbers == (7, 9, 7, 63), "sequence number 7 twice, session 9, one hop behind us")
    say.fact(data[44:] == tlv, "the TLV behind it as it was sent: unrecognized")


def refused(ends: Ends) -> None:
    say = ends.say
    say.step("What is not answered")
    before = [ends.reflector.event("miss", kind) for kind in ("REFLECTOR", "COLLECTOR")]
    with udp_socket(ends.world.sender, SENDER4, 40000) as sock:
        sock.sendto(test_packet(0, 77), (REFLECTOR4, STAMP))
        forged = bytearray(test_packet(0, 9))
        forged[16:24] = forged[4:12]  # a receive timestamp: this is an answer
        sock.sendto(forged, (REFLECTOR4, STAMP))
        sock.sendto(bytes(43), (REFLECTOR4, STAMP))
        say.fact(not drain(sock, 1, 0.3), "an unknown session, a forged answer, 43 bytes")
    counted = [ends.reflector.event("miss", kind) for kind in ("REFLECTOR", "COLLECTOR")]
    say.fact(
        [n - b for n, b in zip(counted, before, strict=True)] == [1, 1], "the first two counted"
    )
    say.fact(ping(ends.world.sender, REFLECTOR4).lost == 0, "all else reaches the reflector's host")


def test_packet(number: int, ssid: int) -> bytes:
    """One of 44 bytes (RFC 8762 section 4.2.1), whose time says nothing."""
    return struct.pack("!IQHH28x", number, 1, 0x3FFF, ssid)


def show(demo: Demo) -> None:
    demo.say.step("Compile and load")
    world = build(demo.lab)
    compile_pipeline(demo.folder, "stamp")
    config = HERE / "edge.yaml"
    sender = Edge(world.sender, demo.owned.enter_context(agent_in(world.sender, demo.folder)))
    demo.owned.callback(sender.forget)
    sender.load(demo.folder, config)
    there = running(world.reflector, demo.folder, config, HERE / "reflector.req")
    reflector = demo.owned.enter_context(there)
    native = sender.modes() == reflector.modes() == {"wan0": "xdp"}
    demo.say.fact(native, "native XDP on both ends")
    ends = Ends(demo.say, world, sender, reflector)
    at_once(ends)
    by_segments(ends)
    lost(ends)
    heard(ends)
    refused(ends)
    demo.say.step("What the sessions came to")
    demo.say.table(sender.control("stamp", "list"))
    said = sender.control("stamp", "reset").strip()
    left = sender.rules()
    demo.say.fact(said == "destroyed 8 sessions" and "COLLECTOR" not in left, said)


if __name__ == "__main__":
    sys.exit(run(show, TITLE, PICTURE, prefix="stamp-"))
