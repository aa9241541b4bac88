"""python bench/meters.py: what a token bucket lets pass of UDP over a veth, as root; needs iperf3.

Two network namespaces; the XDP program runs where the frames arrive, in the softirq of whichever
CPU sends. Offered is one and a half times the rate, of frames of 1,414 bytes (IP 1,400), by one
sender or by one on each of two CPUs. `passed` is of the rule's counter and the stage's, over the
time of the senders; the first burst, 10 ms of the rate, is taken off.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
LAB = f"hm{os.getpid()}"
IPERF, FRAME, SECONDS = 1372, 1414, 4
RATES = ((10**6, 1), (10**7, 1), (10**8, 1), (10**9, 1), (2 * 10**9, 1), (10**9, 2))


def run(*words: str) -> str:
    return subprocess.run(words, check=True, text=True, stdout=subprocess.PIPE).stdout


def helioctl(*words: str) -> str:
    return within("helioctl", "--name", LAB, *words)


def within(program: str, *words: str) -> str:
    own = (sys.executable, "-m", f"helioc.commands.{program}", *words)
    return run("nsenter", f"--net=/run/netns/{LAB}-b", *own)


@contextmanager
def wire(folder: Path) -> Iterator[None]:
    """The pipeline, attached where frames arrive."""
    bundle, edge, net = folder / "bundle", folder / "edge.yaml", ROOT / "examples/tour/net.sh"
    edge.write_text("ports:\n  W: {role: wire, interface: eth0}\n")
    os.environ["TOUR"] = LAB
    run("bash", str(net), "up")
    try:
        within("helioc", "compile", str(ROOT / "bench/meters.hp"), "-o", str(bundle))
        helioctl("load", str(bundle), "--config", str(edge))
        try:
            yield
        finally:
            helioctl("unload")
    finally:
        run("bash", str(net), "down")


def passed() -> int:
    """Bytes that were found green so far."""
    said = helioctl("stats", "--json")
    every = sum(map(int, re.findall(r'"bytes":\s*(\d+)', said)))
    return every - FRAME * int(json.loads(said)["events"]["count"]["red"])


def sent(rate: int, senders: int) -> float:
    """Seconds that the senders took."""
    servers, clients = [], []
    for cpu in range(senders):
        port = str(5201 + cpu)
        inside = ("ip", "netns", "exec", f"{LAB}-b", "iperf3", "-s", "-1", "-p", port)
        servers.append(subprocess.Popen(inside, stdout=subprocess.DEVNULL))
    run("sleep", "0.5")
    for cpu in range(senders):
        offered = str(rate * 3 // 2 // senders)
        words = ("taskset", "-c", str(cpu), "iperf3", "-u", "-J", "-c", "10.0.0.2", "-p",
                 str(5201 + cpu), "-b", offered, "-l", str(IPERF), "-t", str(SECONDS))  # fmt: skip
        inside = ("ip", "netns", "exec", f"{LAB}-a", *words)
        clients.append(subprocess.Popen(inside, text=True, stdout=subprocess.PIPE))
    said = [json.loads(client.communicate()[0]) for client in clients]
    for server in servers:
        server.wait(10)
    return max(float(each["end"]["sum"]["seconds"]) for each in said)


def main() -> None:
    with tempfile.TemporaryDirectory() as folder, wire(Path(folder)):
        one = "create FLOW 1 [(protocol, 17), (rate, 1), (burst, 1)]"
        helioctl("create", one.removeprefix("create "))
        for rate, senders in RATES:
            burst = max(rate // 800, 15_000)
            helioctl("update", f"FLOW 1 [(rate, {rate}), (burst, {burst})]")
            before = passed()
            seconds = sent(rate, senders)
            found = (passed() - before - burst) * 8 / seconds
            off = (found / rate - 1) * 100
            sys.stdout.write(f"{rate / 10**6:,.0f} Mbit/s, senders {senders}, burst {burst:,} "
                             f"bytes: {found / 10**6:,.2f} Mbit/s, {off:+.2f} %\n")  # fmt: skip
            sys.stdout.flush()


if __name__ == "__main__":
    main()
