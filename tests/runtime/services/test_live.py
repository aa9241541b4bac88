"""A node whose agent `helio-services` keeps to Kubernetes' own API server: what kubectl says is
what curl meets, whatever is killed meanwhile.

One test, since its steps start again what others use: what is left behind belongs to it.
"""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from edges import Edge, compile_pipeline, start_agent
from kube_world import Cluster, watcher
from lab import Background, Lab, LabError, until
from service import demo
from services_world import Json, endpoint, endpoints, node, port, service

_METRICS = "127.0.0.1:9470"
_PODS = {"pod1a": ("10.244.1.2", "node1"), "pod1b": ("10.244.1.3", "node1"),
         "pod2a": ("10.244.2.2", "node2"), "pod2b": ("10.244.2.3", "node2")}  # fmt: skip


@dataclass
class Node:
    """The first of the demo's nodes. `agent` and `watcher` are those that run now."""

    world: demo.World
    edge: Edge
    cluster: Cluster
    folder: Path
    agent: Background
    watcher: Background

    def say(self, name: str, number: int, *pods: str, **spec: Any) -> None:
        """A service with these pods: node port 30000 + number, ClusterIP 10.96.1.number."""
        ports = [port(nodePort=30000 + number)]
        spec = {"type": "NodePort", **spec}
        self.cluster.apply(service(name, addresses=[f"10.96.1.{number}"], ports=ports, **spec),
                           slice_of(name, *pods))  # fmt: skip

    def scale(self, name: str, *pods: str) -> None:
        self.cluster.apply(slice_of(name, *pods))

    def answers(self, number: int, *pods: str) -> None:
        """Until exactly these pods answer at the node port."""
        until(lambda: self._answer(number) == set(pods), f"answers of {pods}", 30)

    def _answer(self, number: int) -> set[str]:
        try:
            return {demo.curl(self.world.client, f"{demo.NODES[0]}:{30000 + number}")[0]
                    for _ in range(8)}  # fmt: skip
        except LabError:
            return set()

    def start_watcher(self) -> None:
        room = self.world.nodes[0]
        self.watcher = watcher(room, self.cluster, self.folder / "heliod.sock", "--node", "node1",
                               "--metrics", _METRICS)  # fmt: skip

    def count(self, name: str) -> float:
        text = self.world.nodes[0].run("curl", "-sS", f"http://{_METRICS}/metrics")
        found = re.search(rf"^helio_services_{re.escape(name)} (\S+)$", text, re.M)
        return float(found[1]) if found else 0.0

    def until_in_step(self) -> None:
        def holds() -> bool:
            with suppress(LabError):
                return self.count("in_step") == 1
            return False

        until(holds, "in step", 30)

    def revision(self) -> str:
        return str(re.findall(r"revision (\d+)", self.edge.control("status"))[0])


def slice_of(name: str, *pods: str) -> Json:
    found = [endpoint(*_PODS[pod], pod=f"{pod}-uid") for pod in pods]
    return endpoints(*found, name=f"{name}-1", of=name)


def a_service_is_made_scaled_and_deleted(at: Node) -> None:
    at.say("web", 80, *_PODS)
    at.answers(80, *_PODS)
    inside = demo.answered(at.world.pods["pod1a"], "10.96.1.80:80")
    assert {pod for pod, _ in inside} == {*_PODS}
    at.scale("web", "pod1b", "pod2a")
    at.answers(80, "pod1b", "pod2a")
    at.cluster.delete("service", "web")
    at.answers(80)
    assert "30080" not in at.edge.rules()


def an_endpoint_that_ends_keeps_its_connection(at: Node) -> None:
    at.say("ends", 81, "pod1a")
    at.answers(81, "pod1a")
    kept = demo.Kept(at.world.client, demo.NODES[0], 30081)
    assert kept.pod() == "pod1a"
    ending = endpoint(*_PODS["pod1a"], pod="pod1a-uid", ready=False, serving=True, terminating=True)
    ready = endpoint(*_PODS["pod1b"], pod="pod1b-uid")
    at.cluster.apply(endpoints(ending, ready, name="ends-1", of="ends"))
    at.answers(81, "pod1b")
    assert kept.pod() == "pod1a"
    kept.connection.close()


def policy_local_keeps_the_source(at: Node) -> None:
    at.say("local", 82, "pod1a", "pod2a", externalTrafficPolicy="Local")
    at.answers(82, "pod1a")
    assert demo.curl(at.world.client, f"{demo.NODES[0]}:30082") == ("pod1a", demo.CLIENT)
    inside = demo.answered(at.world.pods["pod1b"], f"{demo.NODES[0]}:30082", 2)
    assert {pod for pod, _ in inside} == {"pod1a", "pod2a"}


def the_api_server_is_away(at: Node) -> None:
    at.say("away", 83, "pod1a")
    at.answers(83, "pod1a")
    at.cluster.kill()
    until(lambda: at.count('api_server_up{resource="Service"}') == 0, "it is missed", 30)
    at.answers(83, "pod1a")
    at.cluster.start()
    at.scale("away", "pod1b")
    at.answers(83, "pod1b")


def versions_that_the_server_has_forgotten(at: Node) -> None:
    """The server starts again behind a compaction, and lacks an object: 410 Gone, and a list."""
    at.say("gone", 84, "pod1a")
    at.answers(84, "pod1a")
    before = at.count('lists_total{resource="Service"}')
    at.cluster.kill()
    at.cluster.etcdctl("del", "/registry/services/specs/default/gone")
    at.cluster.etcdctl("put", "/registry/unrelated", "1")
    said = at.cluster.etcdctl("get", "/registry/unrelated", "-w", "fields")
    revision = re.findall(r'"Revision" : (\d+)', said)[0]
    at.cluster.etcdctl("compact", revision)
    at.cluster.start()
    at.answers(84)
    assert at.count('lists_total{resource="Service"}') > before
    at.watcher.expect("has forgotten the last version")


def the_watcher_is_killed(at: Node) -> None:
    at.say("killed", 85, "pod1a", "pod2a")
    at.answers(85, "pod1a", "pod2a")
    at.watcher.stop(9)
    at.answers(85, "pod1a", "pod2a")
    before = at.revision()
    at.start_watcher()
    at.until_in_step()
    assert at.revision() == before, "nothing differs, and there was a request"
    at.watcher.stop(9)
    at.scale("killed", "pod1b")
    at.start_watcher()
    at.answers(85, "pod1b")


def the_agent_is_killed(at: Node) -> None:
    at.say("agent", 86, "pod1a")
    at.answers(86, "pod1a")
    at.agent.stop(9)
    at.scale("agent", "pod1b")
    at.answers(86, "pod1a")
    at.agent, _ = start_agent(at.world.nodes[0], at.folder)
    at.answers(86, "pod1b")


def somebody_else_changes_rules(at: Node) -> None:
    at.say("other", 87, "pod1a")
    at.answers(87, "pod1a")
    name = f"{demo.NODES[0]}:30087/TCP"
    at.edge.control("delete", f'SERVICE "{name}"')
    at.answers(87, "pod1a")
    at.edge.control("create", 'BACKEND 900 [(address, 10.9.9.9), (port, 9), (place, ELSEWHERE), '
                    "(phase, READY), (interface, UPLINK)]")  # fmt: skip
    until(lambda: "10.9.9.9" not in at.edge.rules(), "the rule of somebody else is gone")


def it_ends_in_order(at: Node) -> None:
    said = at.watcher.stop()
    assert "ends; packets go on" in said and "Traceback" not in said
    at.start_watcher()
    at.until_in_step()


_STEPS = (
    a_service_is_made_scaled_and_deleted,
    an_endpoint_that_ends_keeps_its_connection,
    policy_local_keeps_the_source,
    the_api_server_is_away,
    versions_that_the_server_has_forgotten,
    the_watcher_is_killed,
    the_agent_is_killed,
    somebody_else_changes_rules,
    it_ends_in_order,
)


@pytest.mark.usefixtures("kernel")
def test_a_cluster_is_followed(lab: Lab, tmp_path: Path) -> None:
    compile_pipeline(tmp_path / "bundle", "nodeport", "--no-trace")
    world = demo.build(lab)
    cluster = Cluster(world.nodes[0], tmp_path / "kubernetes", demo.NODES[0])
    agent, socket = start_agent(world.nodes[0], tmp_path)
    edge = Edge(world.nodes[0], socket)
    try:
        edge.load(tmp_path / "bundle", demo.HERE / "node1.yaml")
        at = Node(world, edge, cluster, tmp_path, agent, agent)
        cluster.apply(node(addresses=[demo.NODES[0]]), node("node2", addresses=[demo.NODES[1]]))
        at.start_watcher()
        at.until_in_step()
        for step in _STEPS:
            step(at)
    finally:
        edge.forget()
