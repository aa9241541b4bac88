"""python bench/hooks.py: the same routes at XDP, at tc, and of the kernel, as root; needs bpftool.

Three laboratories of a client, a router and a server on veths. In one the kernel routes; in the
others `hooks.hp` does, at XDP (native) and at tc.ingress. The client sends a byte there and back by
one TCP connection; both ends run at a real-time priority. Then once more, while the kernel takes
the time of each run of a program (bpf_stats_enabled).
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from statistics import median

# the laboratory is the examples'
sys.path.insert(0, str(Path(__file__).parents[1] / "examples"))

from edges import Edge, compile_pipeline
from lab import Lab, Namespace, command

HERE = Path(__file__).parent
ROUNDS, TIMES, PORT = 15, 4000, "9000"
STATS = Path("/proc/sys/kernel/bpf_stats_enabled")
WAYS = "kernel", "XDP", "tc"
CLIENT, SERVER = "10.1.0.2", "10.2.0.2"
CONFIG = """
ports:
  IN:  {role: inside, interface: in0}
  OUT: {role: outside, interface: out0}
"""
RULES = """
create ROUTE 1 [(dst_ip, 10.1.0.0/24), (interface, IN)];
create ROUTE 2 [(dst_ip, 10.2.0.0/24), (interface, OUT)]
"""


def build(lab: Lab) -> tuple[Namespace, Namespace, Namespace]:
    client, router, server = map(lab.namespace, ("client", "router", "server"))
    lab.wire(client, "eth0", router, "in0")
    lab.wire(server, "eth0", router, "out0")
    for room, own, via, device in (
        (client, CLIENT, "10.1.0.1", "in0"), (server, SERVER, "10.2.0.1", "out0"),
    ):  # fmt: skip
        room.address("eth0", f"{own}/24")
        router.address(device, f"{via}/24")
        room.route("10.0.0.0/8", via)
        router.neighbour(device, own, room.mac("eth0"))
        room.neighbour("eth0", via, router.mac(device))
    router.sysctl("net.ipv4.ip_forward", 1)
    return client, router, server


def routed(way: str, router: Namespace, folder: Path) -> Edge:
    bundle = folder / way
    target = ("--target", "tc") if way == "tc" else ()
    compile_pipeline(bundle, "../bench/hooks", "--no-trace", *target)
    edge = Edge(router)
    (config := folder / f"{way}.yaml").write_text(CONFIG)
    (rules := folder / "rules.req").write_text(RULES)
    edge.load(bundle, config)
    edge.push(rules)
    return edge


def main() -> None:
    with ExitStack() as owned:
        folder = Path(owned.enter_context(tempfile.TemporaryDirectory()))
        program = folder / "round_trips"
        source = str(HERE / "round_trips.c")
        subprocess.run(["clang-16", "-O2", source, "-o", str(program)], check=True)
        clients, edges = dict[str, Namespace](), dict[str, Edge]()
        for way in WAYS:
            lab = owned.enter_context(Lab(f"bench-{way.lower()}-"))
            clients[way], router, server = build(lab)
            if way != "kernel":
                edges[way] = routed(way, router, folder)
                owned.callback(edges[way].forget)
            words = ("chrt", "-f", "10", str(program), "serve", SERVER, PORT)
            server.start(*words).expect("listening")
        found = measured(program, clients)
        taken = {way: timed(edge, partial(asked, program, clients[way]))
                 for way, edge in edges.items()}  # fmt: skip
        say("| way | us there and back | to the kernel's | ns of the program |")
        say("|---|---|---|---|")
        for way, each in found.items():
            pairs = zip(each, found["kernel"], strict=True)
            ratio = median(one / other for one, other in pairs)
            ns = f"{taken[way]:.0f}" if way in taken else ""
            say(f"| {way} | {median(each):.1f} | {ratio:.2f} | {ns} |")


def asked(program: Path, client: Namespace) -> float:
    words = ("chrt", "-f", "10", str(program), "keep", SERVER, PORT, str(TIMES))
    return float(client.run(*words))


def measured(program: Path, clients: dict[str, Namespace]) -> dict[str, list[float]]:
    """Microseconds, a round after the other."""
    found: dict[str, list[float]] = {way: [] for way in WAYS}
    for turn in range(ROUNDS):
        for way in WAYS if turn % 2 else reversed(WAYS):
            found[way].append(asked(program, clients[way]))
    return found


def timed(edge: Edge, traffic: Callable[[], object]) -> float:
    """Nanoseconds of a run of the program of the port IN, of which there has to be one a packet."""
    before, sums = STATS.read_text(), list[tuple[int, int]]()
    STATS.write_text("1")
    try:
        for step in (lambda: None, traffic):
            step()
            pin = f"/sys/fs/bpf/helio/{edge.name}/release-1/entry_inside"
            said = json.loads(command("bpftool", "-j", "prog", "show", "pinned", pin))
            sums.append((said.get("run_time_ns", 0), said.get("run_cnt", 0)))
    finally:
        STATS.write_text(before)
    (time, count), (later, more) = sums
    assert more - count > TIMES, f"{edge.name}: {more - count} runs"
    return (later - time) / (more - count)


def say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
