"""`helio-services` on a large cluster: 10,000 services and 50,000 endpoints from an empty node, and
one endpoint's change.

    .venv/bin/python bench/service_watcher.py [--services 10000] [--each 5] [--bundle DIRECTORY]

As root. Kubernetes' own API server over etcd, an agent with `nodeport`, and the watcher, in
network namespaces on this machine; each part is timed by itself, too. Objects are put into etcd as
JSON, and the server is started behind that. `--bundle`: of nodeport, in place of compiling it.
"""

from __future__ import annotations

import argparse
import base64
import json
import os
import re
import sys
import time
import urllib.request
from contextlib import suppress
from pathlib import Path
from queue import SimpleQueue
from tempfile import TemporaryDirectory
from typing import Any

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT / "tests" / "support"), str(ROOT / "examples")]

from edges import Edge, compile_pipeline, start_agent  # noqa: E402
from helioc.lang.contract.request.request import Request  # noqa: E402
from helioc.runtime.client import Client  # noqa: E402
from helioc.runtime.services.api import Listed, Reflector, resources  # noqa: E402
from helioc.runtime.services.cache import Cache  # noqa: E402
from helioc.runtime.services.changes import steps  # noqa: E402
from helioc.runtime.services.plan import Settings  # noqa: E402
from helioc.runtime.services.wanted import KINDS, standing  # noqa: E402
from kube_world import Cluster, watcher  # noqa: E402
from lab import Lab, LabError, until  # noqa: E402
from service import demo  # noqa: E402
from services_world import endpoint, endpoints, node, service  # noqa: E402

_METRICS = "127.0.0.1:9470"
_AT_ONCE = 100  # puts of a transaction of etcd


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("--services", type=int, default=10_000)
    parser.add_argument("--each", type=int, default=5)
    parser.add_argument("--changes", type=int, default=50)
    parser.add_argument("--bundle", type=Path)
    asked = parser.parse_args()
    with TemporaryDirectory() as name, Lab("bench-kube-") as lab:
        folder = Path(name)
        bundle = asked.bundle or folder / "bundle"
        if asked.bundle is None:
            compile_pipeline(bundle, "nodeport", "--no-trace")
        world = demo.build(lab)
        room = world.nodes[0]
        cluster = Cluster(room, folder / "kubernetes", demo.NODES[0])
        cluster.apply(node(addresses=[demo.NODES[0]]))
        cluster.kill()
        room.inside_thread(lambda: fill(asked.services, asked.each))
        cluster.start()
        agent, socket = start_agent(room, folder)
        edge = Edge(room, socket)
        try:
            edge.load(bundle, demo.HERE / "node1.yaml")
            parts(room, cluster, f"unix:{socket}", agent.pid)
            edge.unload()
            edge.load(bundle, demo.HERE / "node1.yaml")
            whole(room, cluster, socket, agent.pid)
            changes(room, cluster, asked.changes, asked.each)
        finally:
            edge.forget()


class Timed:
    """A part, with CPU seconds of processes that work on it; other work on the machine makes it
    take longer, and not these."""

    def __init__(self, what: str, **pids: int) -> None:
        self._what, self._pids, self._begun = what, pids, time.monotonic()
        self._before = self._spent()

    def end(self, more: str = "") -> None:
        took = time.monotonic() - self._begun
        spent = self._spent()
        cpu = ", ".join(f"{name} {spent[name] - was:.2f}" for name, was in self._before.items())
        sys.stdout.write(f"{self._what:<40}{took:8.2f} s   CPU: {cpu}   {more}\n")
        sys.stdout.flush()

    def _spent(self) -> dict[str, float]:
        return {name: sum(map(_cpu, _tree(pid))) for name, pid in self._pids.items()}


def _tree(pid: int) -> list[int]:
    found = [pid]
    for each in found:
        for file in Path(f"/proc/{each}/task").glob("*/children"):
            with suppress(OSError):
                found += map(int, file.read_text().split())
    return found


def _cpu(pid: int) -> float:
    """Seconds that a process has worked."""
    with suppress(OSError):
        said = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        return (int(said[11]) + int(said[12])) / os.sysconf("SC_CLK_TCK")
    return 0.0


# ---- the cluster ----------------------------------------------------------------------------


def address(number: int) -> str:
    return f"10.96.{number // 250}.{number % 250 + 1}"


def slice_of(number: int, each: int, first: int = 0) -> Any:
    found = []
    for last in range(first, first + each):
        of = number * (each + 2) + last
        found.append(endpoint(f"10.{128 + of // 62500}.{of // 250 % 250}.{of % 250 + 1}", "node2",
                              pod=f"{of:08x}-pod", ready=True))  # fmt: skip
    return endpoints(*found, name=f"s{number}-1", of=f"s{number}")


def fill(services: int, each: int) -> None:
    puts = []
    for number in range(services):
        made = service(f"s{number}", addresses=[address(number)], ipFamilies=["IPv4"],
                       ipFamilyPolicy="SingleStack", internalTrafficPolicy="Cluster",
                       sessionAffinity="None")  # fmt: skip
        puts.append(put("services/specs/default", "v1", "Service", made))
        puts.append(put("ipaddresses", "networking.k8s.io/v1", "IPAddress", taken(number)))
        found = slice_of(number, each)
        puts.append(put("endpointslices/default", "discovery.k8s.io/v1", "EndpointSlice", found))
    for first in range(0, len(puts), _AT_ONCE):
        body = json.dumps({"success": puts[first : first + _AT_ONCE]}).encode()
        urllib.request.urlopen("http://127.0.0.1:2379/v3/kv/txn", body).read()


def taken(number: int) -> Any:
    """That an address is a service's; the server would make 10,000 of these before it is ready."""
    labels = {"ipaddress.kubernetes.io/managed-by": "ipallocator.k8s.io",
              "ipaddress.kubernetes.io/ip-family": "IPv4"}  # fmt: skip
    of = {"group": "", "resource": "services", "namespace": "default", "name": f"s{number}"}
    return {"metadata": {"name": address(number), "labels": labels}, "spec": {"parentRef": of}}


def put(folder: str, version: str, kind: str, found: Any) -> Any:
    meta = {"uid": f"uid-{found['metadata']['name']}",
            "creationTimestamp": "2026-01-01T00:00:00Z", **found["metadata"]}  # fmt: skip
    whole = {**found, "metadata": meta, "apiVersion": version, "kind": kind}
    key = f"/registry/{folder}/{meta['name']}"
    return {
        "requestPut": {
            "key": base64.b64encode(key.encode()).decode(),
            "value": base64.b64encode(json.dumps(whole).encode()).decode(),
        }
    }


# ---- measured -------------------------------------------------------------------------------


def parts(room: Any, cluster: Cluster, agent: str, pid: int) -> None:
    """Each by itself: lists with decoding, planning, the requests."""
    cache = Cache(Settings("node1", "UPLINK"))
    inbox: SimpleQueue[Any] = SimpleQueue()
    assert cluster.server is not None
    server, here = cluster.server.pid, os.getpid()

    def lists() -> None:
        for resource in resources(cluster.config, "", "node1"):
            timed = Timed(f"list and decode {resource.name}", here=here, server=server)
            Reflector(resource, inbox)._list()
            timed.end()

    room.inside_thread(lists)
    timed = Timed("plan", here=here)
    while not inbox.empty():
        found = inbox.get()
        if isinstance(found, Listed):
            if found.resource == "Service":
                cache.replace_services(found.objects)
            elif found.resource == "EndpointSlice":
                cache.replace_slices(found.objects)
            else:
                cache.put_node(next(iter(found.objects.values())))
    cache.plan()
    timed.end(f"{len(cache.wanted):,} rules")
    with Client(agent) as client:
        kinds = client.schema().kinds
        timed = Timed("requests", here=here, agent=pid)
        for step in steps({}, cache.wanted, cache.wanted, kinds):
            if isinstance(step.sent, Request):
                client.apply(step.sent)
            else:
                client.bulk(step.sent)
        timed.end()
        timed = Timed("read the agent's rules", here=here, agent=pid)
        there = standing(client.rules(kinds=KINDS))
        timed.end(f"{len(there):,}")
        assert there == cache.wanted


def whole(room: Any, cluster: Cluster, socket: Path, pid: int) -> None:
    """From the start of the program until all is in force, and once more where nothing differs."""
    for what in "empty", "the same":
        process = watcher(room, cluster, socket, "--node", "node1", "--metrics", _METRICS)
        process.expect("watches services for node", 120)
        assert cluster.server is not None
        timed = Timed(f"the program: {what}, until in step", watcher=process.pid, agent=pid,
                      server=cluster.server.pid)  # fmt: skip
        process.expect("in step with the API server", 300)
        timed.end()
        if what == "empty":
            process.stop()


def changes(room: Any, cluster: Cluster, times: int, each: int) -> None:
    """Endpoints come and go, one service at a time: by the watcher's clock, from the event on."""
    for number in range(times):
        cluster.apply(slice_of(number, each, 1 + number % 2))
    time_of = [float(found) for found in figures(room, "delay_seconds_sum")]
    count = [float(found) for found in figures(room, "delay_seconds_count")]
    sys.stdout.write(f"one endpoint's change: mean {1000 * time_of[0] / count[0]:.1f} ms of "
                     f"{count[0]:.0f}\n")  # fmt: skip
    text = room.run("curl", "-sS", f"http://{_METRICS}/metrics")
    for bound, number in re.findall(r'delay_seconds_bucket{le="(\S+)"} (\S+)', text):
        sys.stdout.write(f"  within {bound} s: {float(number):.0f}\n")


def figures(room: Any, name: str) -> list[str]:
    def found() -> list[str]:
        with suppress(LabError):
            text = room.run("curl", "-sS", f"http://{_METRICS}/metrics")
            return re.findall(rf"^helio_services_{name} (\S+)$", text, re.M)
        return []

    return until(found, "metrics")


if __name__ == "__main__":
    main()
