"""Kubernetes services without iptables: two nodes of two pods, and a client in their network.

    .venv/bin/python examples/service/demo.py [--prefix service-]

Needs root. Everything happens in network namespaces whose names begin with the prefix; they, and
what is loaded into the kernel, are gone at the end, also after Ctrl-C or a failure. Every fact
that is printed was measured: if one does not hold the demo says so, stops, and exits with 1.
"""

from __future__ import annotations

import http.client
import signal
import sys
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from account import Account
from edges import Edge, compile_pipeline, start_agent
from lab import Background, Lab, LabError, Namespace, until
from showing import Demo, run
from traffic import ping

HERE = Path(__file__).parent
TITLE = "services of Kubernetes without iptables"
PICTURE = """
                       ┌ eth0 node 1 192.0.2.11 ┬ poda ── 10.244.1.2
  client 192.0.2.7 ────┤                        └ podb ── 10.244.1.3
                       │
                       └ eth0 node 2 192.0.2.12 ┬ poda ── 10.244.2.2
                                                └ podb ── 10.244.2.3

  web: 10.96.0.10:80 in the cluster, port 30080 of each node; port 8080 of the four pods"""
CLIENT, NODES = "192.0.2.7", ("192.0.2.11", "192.0.2.12")
CLIENT6, NODES6 = "2001:db8::7", ("2001:db8::11", "2001:db8::12")
WEB, LOCAL = 30080, 30081
CLUSTER, CLUSTER6 = "10.96.0.10", "[fd00:96::10]"
SIZE = 3_000_000
GATEWAYS = "169.254.1.1", "fe80::1"  # of a pod: addresses that nobody has, behind which its node is
NARROW = 1400


@dataclass(frozen=True)
class World:
    client: Namespace
    nodes: tuple[Namespace, Namespace]
    pods: dict[str, Namespace]


def build(lab: Lab) -> World:
    """A bridge for the network, and for each pod the wire that a CNI plugin makes."""
    net, client = lab.namespace("net"), lab.namespace("client")
    nodes = (lab.namespace("node1"), lab.namespace("node2"))
    net.ip("link", "add", "br0", "type", "bridge")
    net.ip("link", "set", "br0", "up")
    ends = zip((client, *nodes), (CLIENT, *NODES), (CLIENT6, *NODES6), strict=True)
    for number, (room, address, address6) in enumerate(ends):
        lab.wire(net, f"port{number}", room, "eth0")
        net.ip("link", "set", f"port{number}", "master", "br0")
        room.address("eth0", f"{address}/24", f"{address6}/64")
    pods = {}
    for number, node in enumerate(nodes, 1):
        node.sysctl("net.ipv4.ip_forward", 1)
        node.sysctl("net.ipv6.conf.all.forwarding", 1)
        node.route(f"10.244.{3 - number}.0/24", NODES[2 - number])
        node.route(f"fd00:{3 - number}::/64", NODES6[2 - number])
        node.ip("link", "add", "service0", "arp", "off", "type", "veth", "peer", "name", "service1")
        node.offload("service1", gro="on")
        for end in ("service0", "service1"):
            node.ip("link", "set", end, "up")
        node.ip("route", "add", "10.96.0.0/16", "dev", "service0", "src", NODES[number - 1])
        for letter, last in ("a", 2), ("b", 3):
            pod = pods[f"pod{number}{letter}"] = lab.namespace(f"pod{number}{letter}")
            device = f"pod{letter}"
            addresses = {"/32": f"10.244.{number}.{last}", "/128": f"fd00:{number}::{last}"}
            lab.wire(node, device, pod, "eth0")
            node.sysctl(f"net.ipv6.conf.{device}.disable_ipv6", 0)
            pod.offload("eth0", tx="on")  # as a pod has it: the kernel leaves checksums to the wire
            for gateway, (width, address) in zip(GATEWAYS, addresses.items(), strict=True):
                pod.address("eth0", address + width)
                pod.neighbour("eth0", gateway, node.mac(device))
                family = "-6" if ":" in gateway else "-4"
                pod.ip(family, *f"route add default via {gateway} dev eth0 onlink".split())
                node.ip("route", "add", address, "dev", device)
                serve(pod, address)
    for node in nodes:  # the agents find neighbours known
        pods4 = (f"10.244.{n}.{last}" for n in (1, 2) for last in (2, 3))
        pods6 = (f"fd00:{n}::{last}" for n in (1, 2) for last in (2, 3))
        for address in (CLIENT, CLIENT6, *NODES, *NODES6, *pods4, *pods6):
            until(partial(reached, node, address), f"{address} answers {node.name}")
    return World(client, nodes, pods)


def reached(room: Namespace, address: str) -> bool:
    return ping(room, address, 1).lost == 0


def serve(pod: Namespace, address: str) -> None:
    name = pod.name[-5:]
    words = (sys.executable, str(HERE / "pod.py"), name, address, "8080")
    pod.start(*words).expect("listening")


def curl(room: Namespace, url: str) -> tuple[str, str]:
    """Which pod answered, and whom it saw. Raises LabError if none did."""
    pod, seen = room.run("curl", "-g", "-sS", "--max-time", "5", f"http://{url}/").split()
    return pod, seen


def asked(room: Namespace, url: str, times: int = 8) -> Counter[tuple[str, str]]:
    return Counter(curl(room, url) for _ in range(times))


def answered(room: Namespace, url: str, pods: int = 4) -> Counter[tuple[str, str]]:
    """Ask until that many pods have answered, a hundred times at most."""
    found: Counter[tuple[str, str]] = Counter()
    while found.total() < 100 and len({pod for pod, _ in found}) < pods:
        found[curl(room, url)] += 1
    return found


class Kept:
    """A connection of HTTP/1.1 that stays open."""

    def __init__(self, room: Namespace, address: str, port: int) -> None:
        self.connection = http.client.HTTPConnection(address, port, timeout=5)
        room.inside_thread(self.connection.connect)

    def ask(self, path: str = "/") -> str:
        self.connection.request("GET", path)
        return self.connection.getresponse().read().decode()

    def send(self, size: int) -> int:
        """How many of so many bytes came to the pod."""
        self.connection.request("POST", "/", bytes(size))
        return int(self.connection.getresponse().read().split()[0])

    def pod(self) -> str:
        return self.ask().split()[0]


def balance(say: Account, world: World, edges: list[Edge]) -> None:
    say.step("A client outside: a NodePort of either node")
    for number, node in enumerate(NODES, 1):
        found = answered(world.client, f"{node}:{WEB}")
        pods = {pod for pod, _ in found}
        say.fact(pods == set(world.pods), f"{node}:{WEB} answers, by all four pods")
        here = {seen for pod, seen in found if pod.startswith(f"pod{number}")}
        there = {seen for pod, seen in found if not pod.startswith(f"pod{number}")}
        say.fact(here == {CLIENT}, "its own pods see the client's address")
        say.fact(there == {node}, "those of the other node see this one's")
    say.step("externalTrafficPolicy: Local")
    found = asked(world.client, f"{NODES[0]}:{LOCAL}")
    say.fact(set(found) == {("pod1a", CLIENT)}, "node 1 has an endpoint: it sees the client")
    dropped = edges[1].event("miss", "POOL")
    try:
        world.client.run("curl", "-g", "-sS", "--max-time", "0.5", f"http://{NODES[1]}:{LOCAL}/")
        silent = False
    except LabError:
        silent = True
    say.fact(silent, "node 2 has none: no answer")
    say.fact(edges[1].event("miss", "POOL") > dropped, "what came for it was dropped, and counted")


def within(say: Account, world: World) -> None:
    say.step("Within the cluster: its address 10.96.0.10, at tc")
    for name in ("pod1a", "pod2b"):
        found = answered(world.pods[name], CLUSTER)
        say.fact({pod for pod, _ in found} == set(world.pods), f"{name}: answers of all four pods")
        own = {seen for pod, seen in found if pod == name}
        others = {seen for pod, seen in found if pod != name}
        say.fact(len(others) == 1, f"which see {', '.join(others)}")
        node = NODES[int(name[3]) - 1]
        say.fact(own == {node}, f"and {name} itself sees {node}: its answer comes by its node")
    found = answered(world.nodes[0], CLUSTER)
    say.fact({pod for pod, _ in found} == set(world.pods), "node 1 itself: the same")
    found = answered(world.pods["pod1a"], f"{NODES[0]}:{WEB}")
    say.fact({pod for pod, _ in found} == set(world.pods), "pod1a by the NodePort: the same")


def bulk(say: Account, world: World) -> None:
    say.step("A million bytes and more")
    for room, address, port, who in (
        (world.client, NODES[0], WEB, "the client"), (world.pods["pod1b"], CLUSTER, 80, "a pod"),
    ):  # fmt: skip
        sizes: set[int] = set()
        pods: set[str] = set()
        while pods != set(world.pods):
            kept = Kept(room, address, port)
            pods.add(kept.pod())
            sizes.add(len(kept.ask(f"/{SIZE}")))
            kept.connection.close()
        say.fact(sizes == {SIZE}, f"{who} gets {SIZE:,} bytes from each pod")


def six(say: Account, world: World) -> None:
    say.step("IPv6")
    found = answered(world.client, f"[{NODES6[0]}]:{WEB}")
    say.fact({pod for pod, _ in found} == set(world.pods), "the NodePort: all four pods")
    here = {seen for pod, seen in found if pod.startswith("pod1")}
    there = {seen for pod, seen in found if pod.startswith("pod2")}
    say.fact((here, there) == ({CLIENT6}, {NODES6[0]}), "which see the client, or the node")
    found = answered(world.pods["pod1a"], CLUSTER6)
    say.fact({pod for pod, _ in found} == set(world.pods), "a pod by the ClusterIP: the same")


def narrow(say: Account, world: World, edge: Edge) -> None:
    say.step("A narrow link behind the other node")
    route = f"route replace 10.244.2.3 dev podb mtu lock {NARROW}".split()
    world.nodes[1].ip(*route)
    pod = ""
    while pod != "pod2b":
        kept = Kept(world.client, NODES[0], WEB)
        pod = kept.pod()
    say.fact(kept.send(SIZE) == SIZE, f"the client sends {SIZE:,} bytes to pod2b")
    known = world.client.ip("route", "get", NODES[0])
    say.fact(f"mtu {NARROW}" in known, f"as it was told of {NARROW} bytes by node 2")
    say.fact(edge.event("count", "icmp_error") > 0, "in an ICMP error that node 1 translated")
    kept.connection.close()


def drain(say: Account, world: World, edge: Edge) -> None:
    say.step("An endpoint ends")
    kept = Kept(world.client, NODES[0], LOCAL)
    first = kept.pod()
    edge.push(HERE / "drain.req")
    say.fact(kept.pod() == first == "pod1a", "a connection that was open stays at pod1a")
    found = asked(world.client, f"{NODES[0]}:{LOCAL}")
    say.fact(set(found) == {("pod1b", CLIENT)}, "new ones go to pod1b")
    kept.connection.close()


def killed(say: Account, world: World, agent: Background, edge: Edge, folder: Path) -> None:
    say.step("The agent of node 1 is killed")
    kept = [Kept(world.client, NODES[0], WEB) for _ in range(8)]
    pods = [one.pod() for one in kept]
    agent.stop(signal.SIGKILL)
    say.fact([one.pod() for one in kept] == pods, "eight connections go on, each at its pod")
    found = answered(world.client, f"{NODES[0]}:{WEB}")
    say.fact({pod for pod, _ in found} == set(world.pods), "and new ones are balanced as before")
    start_agent(edge.room, folder)
    say.fact([one.pod() for one in kept] == pods, "so they do under the next one")
    until(partial(counts, edge), "the agent's answer")
    for one in kept:
        one.connection.close()


def counts(edge: Edge) -> bool:
    with suppress(LabError):
        return edge.packets("SERVICE", "web_node") > 0
    return False


def show(demo: Demo) -> None:
    say = demo.say
    say.step("Compile and load")
    world = build(demo.lab)
    bundle = demo.folder / "bundle"
    compile_pipeline(bundle, "nodeport", "--no-trace")
    edges, agents = [], []
    for number, node in enumerate(world.nodes, 1):
        folder = demo.folder / f"agent{number}"
        folder.mkdir()
        agent, socket = start_agent(node, folder)
        edge = Edge(node, socket)
        demo.owned.callback(edge.forget)
        edge.load(bundle, HERE / f"node{number}.yaml")
        edge.push(HERE / f"node{number}.req")
        edges.append(edge)
        agents.append(agent)
        say.fact(edge.modes() == {"eth0": "xdp"}, f"node {number}: XDP on eth0, tc on its pods")
    balance(say, world, edges)
    within(say, world)
    bulk(say, world)
    six(say, world)
    narrow(say, world, edges[0])
    drain(say, world, edges[0])
    killed(say, world, agents[0], edges[0], demo.folder / "agent1")


if __name__ == "__main__":
    sys.exit(run(show, TITLE, PICTURE, prefix="service-"))
