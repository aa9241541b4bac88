"""python bench/services.py [BUNDLE]: `nodeport` beside DNAT of the same kernel, as root; needs nft.

Two laboratories of examples/service. In one node 1 runs `nodeport`, in the other rules of nftables,
one behind the other as kube-proxy's of iptables are, in front of which stand as many of other
services. A client sends a byte there and back: by one connection, and by a new one each time. Both
ends run at a real-time priority. BUNDLE is one of `nodeport`; without it one is made.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path
from statistics import median

# the laboratory is the examples'
sys.path.insert(0, str(Path(__file__).parents[1] / "examples"))
sys.path.insert(0, str(Path(__file__).parents[1] / "examples/service"))

from demo import HERE as EXAMPLE
from demo import NODES, World, build
from edges import Edge, compile_pipeline, start_agent
from lab import Lab, Namespace

HERE = Path(__file__).parent
ROUNDS, TIMES = 9, {"keep": 4000, "open": 400}
PLACES = {30001: "this node", 30002: "the other"}
RULES = """
create NODE 1 [(address, 192.0.2.11), (first_port, 20000), (ports, 40000)];
create BACKEND 1 [(address, 10.244.1.3), (port, 9000), (place, HERE), (phase, READY),
                  (interface, POD-B)],
       BACKEND 2 [(address, 10.244.2.3), (port, 9000), (place, ELSEWHERE), (phase, READY),
                  (interface, UPLINK)];
create POOL 1 [BACKEND 1]; create POOL 2 [BACKEND 2];
create SERVICE 1 [(address, 192.0.2.11), (port, 30001), (protocol, TCP), POOL 1],
       SERVICE 2 [(address, 192.0.2.11), (port, 30002), (protocol, TCP), POOL 2]
"""
OTHER = "SERVICE {id} [(address, {address}), (port, 80), (protocol, TCP), POOL 1]"
NFT = """table ip nat {
  chain before { type nat hook prerouting priority -100;
    ip daddr 192.0.2.11 tcp dport 30001 dnat to 10.244.1.3:9000
    ip daddr 192.0.2.11 tcp dport 30002 dnat to 10.244.2.3:9000
  }
  chain behind { type nat hook postrouting priority 100;
    ip daddr 10.244.2.3 tcp dport 9000 masquerade fully-random
  }
}
"""
OTHER_NFT = "insert rule ip nat before ip daddr {address} tcp dport 80 dnat to 10.244.1.3:9000\n"


def addresses(count: int) -> list[str]:
    return [f"10.97.{n >> 8}.{n & 255}" for n in range(count)]


def say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def measured(program: Path, client: Namespace, way: str, port: int) -> float:
    words = (str(program), way, NODES[0], str(port), str(TIMES[way]))
    return float(client.run("chrt", "-f", "10", *words))


def table(program: Path, ours: World, theirs: World, services: int) -> None:
    for way in TIMES:
        for port, place in PLACES.items():
            found: dict[str, list[float]] = {"ours": [], "theirs": []}
            for turn in range(ROUNDS):
                both = [("ours", ours), ("theirs", theirs)]
                for name, world in both if turn % 2 else reversed(both):
                    found[name].append(measured(program, world.client, way, port))
            one, other = median(found["ours"]), median(found["theirs"])
            say(f"| {services} | {way} | {place} | {one:.1f} | {other:.1f} | {one / other:.2f} |")


def main() -> None:
    with ExitStack() as owned:
        folder = Path(owned.enter_context(tempfile.TemporaryDirectory()))
        program, bundle = folder / "round_trips", folder / "bundle"
        subprocess.run(
            ["clang-16", "-O2", str(HERE / "round_trips.c"), "-o", str(program)], check=True
        )
        if sys.argv[1:]:
            bundle = Path(sys.argv[1])
        else:
            compile_pipeline(bundle, "nodeport", "--no-trace")
        ours, theirs = (
            build(owned.enter_context(Lab(f"bench-{name}-"))) for name in ("ours", "theirs")
        )
        for world in (ours, theirs):
            for pod, address in ("pod1b", "10.244.1.3"), ("pod2b", "10.244.2.3"):
                words = ("chrt", "-f", "10", str(program), "serve", address, "9000")
                world.pods[pod].start(*words).expect("listening")
        agent, socket = start_agent(ours.nodes[0], folder)
        owned.callback(agent.stop)
        edge = Edge(ours.nodes[0], socket)
        owned.callback(edge.forget)
        edge.load(bundle, EXAMPLE / "node1.yaml")
        (rules := folder / "rules.req").write_text(RULES)
        edge.push(rules)
        (nft := folder / "rules.nft").write_text(NFT)
        theirs.nodes[0].run("nft", "-f", str(nft))
        say("| services | connections | backend on | nodeport, us | nft, us | ratio |")
        say("|---|---|---|---|---|---|")
        table(program, ours, theirs, 2)
        others = addresses(10_000)
        made = (OTHER.format(id=100 + n, address=a) for n, a in enumerate(others))
        rules.write_text("create " + ", ".join(made))
        edge.push(rules)
        nft.write_text("".join(OTHER_NFT.format(address=a) for a in others))
        theirs.nodes[0].run("nft", "-f", str(nft))
        table(program, ours, theirs, 2 + len(others))


if __name__ == "__main__":
    main()
