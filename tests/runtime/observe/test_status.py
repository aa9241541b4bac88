"""`helioctl status`: overlays that are probed, certificates, congestion, intents; with and without
an agent."""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from agent_world import EDGE, World, world
from helioc.runtime.base.certs import make_authority
from helioc.runtime.base.identity import (
    CertificateExpiry,
    certificate_ends,
    expiring_soon,
    read_expiries,
)
from helioc.runtime.base.paths import RUN
from helioc.runtime.congestion.status import Status as Congestion
from helioc.runtime.edge.overlay_health import Quality
from helioc.runtime.edge.overlay_status import OverlayStatus, write_overlay_status
from helioc.runtime.edge.path_quality import Measured
from helioc.runtime.edge.steering_status import SteeredMember, SteeredSpread, write_steering
from helioc.runtime.intents.push_status import PushStatus
from helioc.runtime.kernel.netlink import Counts
from helioc.runtime.observe.port_sample import PortSample, PortState
from helioc.runtime.observe.status import (
    AgentView,
    IntentState,
    JournalView,
    Overlay,
    PipelineView,
    PushState,
    RuleCount,
    StatusView,
    health,
)
from helioc.runtime.observe.status_text import duration, status_json, status_text
from helioc.runtime.states.entry import StateCount
from lab import Lab, Namespace, until
from scapy.layers.inet import ICMP, IP
from scapy.layers.l2 import GRE, Ether

NOW = time.time()
PROBED = f"""{EDGE}\
  GRE-WAN2: {{local_ip: 192.0.2.1, remote_ip: 192.0.2.3, interface: WAN1}}
  GRE-WAN3: {{local_ip: 192.0.2.1, remote_ip: 192.0.2.4, interface: WAN1}}
liveness: {{interval: 100ms, multiplier: 20, hold_down: 0 s, to: {{GRE-WAN3: none}}}}
"""


# ---- of an agent that probes ----------------------------------------------------------------


@contextmanager
def answering(far: Namespace, to: str) -> Iterator[None]:
    """The far end of GRE-WAN1 answers probes; the agent's end has the MAC address `to`."""
    wire, ended = far.wire("eth0"), threading.Event()

    def answer() -> None:
        while not ended.is_set():
            packet = Ether(wire.receive(0.05) or bytes(14))
            if GRE not in packet or packet[IP].dst != "192.0.2.2":
                continue
            asked = packet[GRE][IP]
            reply = IP(src=asked.dst, dst=asked.src) / ICMP(
                type=0, id=asked[ICMP].id, seq=asked[ICMP].seq
            )
            wire.send(bytes(Ether(dst=to) / reply / bytes(asked[ICMP].payload)))

    thread = threading.Thread(target=answer)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


@pytest.fixture
def here(lab: Lab, tmp_path: Path, kernel: None) -> Iterator[World]:
    with world(lab, tmp_path) as made:
        made.edge.ip("link", "set", "lo", "up")
        (tmp_path / "edge.yaml").write_text(PROBED)
        yield made


def seen(here: World, *words: str) -> dict[str, Any]:
    """The pipeline's part of the status."""
    (found,) = json.loads(here.ctl(*words, "status", "--json"))["pipelines"]
    return dict(found)


def shown_states(here: World, *words: str) -> list[str]:
    """Of the overlays that `show` lists: as the agent published them a moment ago."""
    rows = [line.split() for line in here.ctl(*words, "show", "OVERLAY").splitlines()]
    assert rows[0] == ["packets", "bytes", "state", "loss", "delay", "jitter", "rule"]
    return [row[2] for row in rows[1:4]]


def states(found: dict[str, Any]) -> dict[str, str]:
    return {each["name"]: each["health"]["state"] for each in found["overlays"]}


def test_what_an_agent_knows(here: World, lab: Lab) -> None:
    make_authority(here.directory / "certs", ["edge1.example"])
    far = Namespace(f"{lab.prefix}wan", lab._stack)
    far.address("eth0", "192.0.2.2/24")  # it answers ARP
    expected = {"GRE-WAN1": "alive", "GRE-WAN2": "dead", "GRE-WAN3": "not measured"}
    tcp = ("--tcp", "127.0.0.1:50051", "--identity", str(here.directory / "certs" / "agent"))
    with here.agent(*tcp), answering(far, here.edge.mac("wan0")):
        here.ctl("load", "bundle", "--config", "edge.yaml")
        until(lambda: states(seen(here)) == expected, "overlays are judged", seconds=30)
        view = json.loads(here.ctl("status", "--json"))
        (found,) = view["pipelines"]
        alive, dead, unprobed = (each["health"] for each in found["overlays"])
        assert alive["answered"] and 0 < alive["delay"] < 5 and alive["jitter"] > 0
        assert dead["loss"] == 1 and dead["delay"] is None and dead["jitter"] is None
        assert unprobed == {"state": "not measured"}
        assert found["health"]["overlays"] == {
            "alive": 1, "dead": 1, "unknown": 0, "not_measured": 1,
        }  # fmt: skip
        assert view["agent"]["clients"] >= 1 and view["agent"]["started"] < time.time()
        assert [c["name"] for c in view["certificates"]] == ["agent", "authority"]
        assert 360 < view["certificates"][0]["days"] < 366 < view["certificates"][1]["days"]
        # the rules themselves, by name and by kind; and beside the agent
        for words in ((), ("--local",)):
            until(
                lambda w=words: shown_states(here, *w) == ["alive", "dead", "not"],  # type: ignore[misc]
                "it is published",
            )
            assert states(seen(here, *words)) == expected
        (shown,) = json.loads(here.ctl("show", "GRE-WAN2", "--json"))
        assert shown["health"]["state"] == "dead"
        (listed,) = json.loads(here.ctl("list", "--json"))
        assert listed["health"]["state"] == "degraded"
        beside = here.ctl("--local", "status")
        assert f"agent    not asked; process {view['agent']['pid']} holds {here.name}" in beside
        assert "intents     only the agent knows" in beside
        assert "congestion  only the agent knows" in beside
        here.edge.ip("link", "set", "lan0", "down")
        assert [port["state"] for port in seen(here)["ports"]] == ["down", "up"]
        here.edge.ip("link", "set", "lan0", "up")
        Namespace(f"{lab.prefix}lan", lab._stack).ip("link", "set", "eth0", "down")
        for words in ((), ("--local",)):
            found = seen(here, *words)
            assert [port["state"] for port in found["ports"]] == ["no carrier", "up"]
            assert found["health"]["ports"] == {"up": 1, "down": 1}
        here.edge.ip("link", "delete", "lan0")
        found = seen(here)
        assert [port["state"] for port in found["ports"]] == ["gone", "up"]
        assert found["health"]["ports"] == {"up": 1, "down": 1}
    until(
        lambda: set(states(seen(here, "--local")).values()) <= {"not measured", "dead"},
        "nobody probes, and packets go on leaving out what was dead",
    )
    write_overlay_status(
        here.name, [OverlayStatus("OVERLAY", "GRE-WAN2", Quality("dead", sent=3, since=NOW))]
    )
    member = SteeredMember("FAR", 1, "GRE-WAN2", 3, 0, "loss 9 %", NOW, Measured(0.1))
    write_steering(here.name, [SteeredSpread("LBR", 9, "LBR 9", 1, [member])])
    for posted in ("overlays", "steering"):  # by an agent that was killed long ago
        os.utime(RUN / f"{here.name}.{posted}", (NOW - 60, NOW - 60))
    found = seen(here, "--local")
    (left_out,) = found["steered"][0]["members"]
    assert (left_out["in_force"], left_out["delay"]) == (0, None)
    assert states(found)["GRE-WAN2"] == "dead" and found["health"]["overlays"]["dead"] == 1
    assert "agent    none runs here" in here.ctl("--local", "status")
    assert "H0706" in here.ctl("--local", "--name", "nothing", "status", status=1)


# ---- certificates ---------------------------------------------------------------------------


def test_certificates_that_end_soon(tmp_path: Path) -> None:
    make_authority(tmp_path, [])
    agent, authority = read_expiries(tmp_path / "agent")
    assert (agent.name, agent.subject) == ("agent", "CN=agent")
    assert authority.subject == "CN=Helio laboratory authority"
    assert not expiring_soon([agent, authority], NOW)
    ends = [agent._replace(ends=NOW + days * 86400 + 60) for days in (29, 30, -1)]
    soon, ended = expiring_soon(ends, NOW)
    assert (soon.code, soon.severity) == ("H0778", "warning")
    assert "ends in 29 days" in soon.title and "has ended" in ended.title


# ---- how it is written ----------------------------------------------------------------------


def pipeline(**changes: Any) -> PipelineView:
    usual: dict[str, Any] = {
        "name": "edge", "program": "slice", "digest": "abcdef0123456789", "revision": 12,
        "release": 2, "ports": [PortSample("NIC", "nic", "eth0", "up", Counts(1, 2, 3, 4))],
        "rules": [RuleCount("SERVICE", 7, 16384)], "overlays": [], "intents": [],
    }  # fmt: skip
    return PipelineView(**usual | changes)


def status_of(*pipelines: PipelineView) -> StatusView:
    agent = AgentView("0.1.0", 17, NOW - 90061, 2, "after", [])
    journal = JournalView("/var/lib/helio", 3 << 20, NOW - 5, True, 0)
    ends = datetime(2030, 1, 31, tzinfo=UTC).timestamp()
    return StatusView(agent, journal, [CertificateExpiry("agent", "CN=edge1", ends)], pipelines)


def test_all_of_it_as_text() -> None:
    congestion = Congestion(True, NOW - 61, "the queue of CPU 1 dropped 9 frames/s", {}, {1: 0.25})
    intents = [IntentState("a", "active", ""), IntentState("b", "failed", "no room")]
    reports = PushState("http://c/", PushStatus(12, 1, 2, NOW - 5, "it hung up"))
    made = pipeline(congestion=congestion, intents=intents, reports=reports,
                    states=[StateCount("FDB", 1200, 4096)])  # fmt: skip
    text = status_text(status_of(made), False, NOW)
    for line in (
        "  state  entries     of",
        "  FDB      1,200  4,096",
        "  reports     the last failed 5 s ago: it hung up; 12 sent, 1 dropped; to http://c/",
        "agent    helioc 0.1.0, process 17, up 1 d 1 h, 2 clients",
        "journal  healthy, /var/lib/helio, 3.0 MiB, last on the disk 5 s ago, requests answered "
        "after they are on the disk",
        "edge  degraded, revision 12, release 2, slice abcdef012345",
        "  intents     1 active, 1 failed (b)",
        "  congestion  for 1 min: the queue of CPU 1 dropped 9 frames/s; sent to other servers: "
        "25% of CPU 1",
    ):
        assert line in text.splitlines(), text
    assert "2030-01-31" in text


def test_where_a_port_is_attached() -> None:
    pod = PortSample("POD", "pod", "eth1", "up", Counts(), "tc.ingress")
    made = status_of(pipeline(ports=[*pipeline().ports, pod]))
    rows = [line.split() for line in status_text(made, False, NOW).splitlines()]
    assert ["NIC", "nic", "eth0", "up"] in [row[:4] for row in rows]
    assert ["POD", "pod", "eth1", "at", "tc.ingress", "up"] in [row[:6] for row in rows]
    ports = status_json(made, NOW)["pipelines"][0]["ports"]
    assert [port["at"] for port in ports] == ["xdp", "tc.ingress"]


def test_health_is_that_of_all_parts() -> None:
    bad: list[PortState] = ["down", "no carrier", "no program", "gone"]
    ports = [PortSample("NIC", "nic", "eth0", state, Counts()) for state in bad]
    dead = Overlay("OVERLAY", 1, "GRE", Quality("dead", 1.0, 0.0, 0.0, 3, 0, NOW))
    calm = Congestion(False, NOW, "", {}, {})
    assert health(pipeline(congestion=calm))["state"] == "ok"
    parts: list[dict[str, Any]] = [
        *({"ports": [port]} for port in ports), {"overlays": [dead]},
        {"congestion": Congestion(True, NOW, "full", {}, {})},
        {"intents": [IntentState("b", "failed", "no room")]},
    ]  # fmt: skip
    for changes in parts:
        assert health(pipeline(**changes))["state"] == "degraded", changes
    assert health(pipeline())["congested"] is None, "nobody watches"


def test_json_says_what_the_text_does() -> None:
    found = status_json(status_of(pipeline()), NOW)
    assert found["agent"]["pid"] == 17 and found["journal"]["state"] == "healthy"
    assert found["certificates"][0]["subject"] == "CN=edge1"
    (each,) = found["pipelines"]
    assert each["ports"][0]["counts"]["rx_packets"] == 1 and each["ports"][0]["state"] == "up"
    assert each["congestion"] is None and each["intents"] == [] and each["reports"] is None
    found = status_json(status_of(pipeline(
        states=[StateCount("FDB", 12, 4096)],
        reports=PushState("http://c/", PushStatus(12, 1, 2, NOW - 5, "")),
    )), NOW)  # fmt: skip
    (each,) = found["pipelines"]
    assert each["states"] == [
        {
            "state": "FDB",
            "entries": 12,
            "capacity": 4096,
            "expired": 0,
            "evicted": None,
            "lost": None,
        }
    ]
    assert each["reports"] == {
        "otlp": "http://c/", "sent": 12, "dropped": 1, "failed": 2,
        "last": {"time": NOW - 5, "arrived": True, "why": ""},
    }  # fmt: skip
    nothing = StatusView(None, None, [], [])
    assert status_json(nothing, NOW)["agent"] is None
    assert "no pipeline is loaded" in status_text(nothing, True, NOW)
    assert "not asked" in status_text(nothing, True, NOW)
    json.dumps(found)


def test_where_reports_are_pushed_to() -> None:
    for reports, line in (
        (None, "not pushed"),
        (PushState("http://c/", PushStatus()), "none was sent yet; 0 sent, 0 dropped; to http://c/"),
        (PushState("http://c/", PushStatus(1234, 0, 2, NOW - 60, "")),
         "sent 1 min ago; 1,234 sent, 0 dropped; to http://c/"),
    ):  # fmt: skip
        text = status_text(status_of(pipeline(reports=reports)), False, NOW)
        assert f"  reports     {line}" in text.splitlines()


def test_what_cannot_be_seen() -> None:
    text = status_text(status_of(pipeline(ports=[], intents=None)), False, NOW)
    assert "  ports       in another network namespace" in text and "only the agent knows" in text
    assert "edge  unknown, revision 12" in text
    assert health(pipeline(ports=[]))["ports"] == {"up": 0, "down": 0}
    failed = [IntentState("b", "failed", "no room")]
    assert health(pipeline(ports=[], intents=failed))["state"] == "degraded"
    finding = certificate_ends(CertificateExpiry("agent", "CN=a", NOW), NOW)
    damaged = PipelineView("edge", "", "", 0, 0, [], [], [], findings=[finding])
    lines = status_text(StatusView(None, None, [], [damaged]), False, NOW).splitlines()
    assert "edge  degraded" in lines and any(line.startswith("  H0778: ") for line in lines)


def test_why_overlays_are_not_measured() -> None:
    """Without an agent, and only then: an agent knows which it does not probe."""
    why = "  not measured: the agent (`heliod`) probes overlays, and none runs here"
    unmeasured = pipeline(overlays=[Overlay("OVERLAY", 1, "A", None)])
    measured = pipeline(overlays=[Overlay("OVERLAY", 1, "A", Quality("dead", sent=3, since=NOW))])
    assert why in status_text(StatusView(None, None, [], [unmeasured]), False, NOW).splitlines()
    for view, agent_here in (
        (status_of(unmeasured), False), (StatusView(None, None, [], [unmeasured]), True),
        (StatusView(None, None, [], [measured]), False),
        (StatusView(None, None, [], [replace(unmeasured, holder=17)]), False),
    ):  # fmt: skip
        assert why not in status_text(view, agent_here, NOW)


def test_durations() -> None:
    shown = [duration(seconds) for seconds in (-1, 0.4, 59, 60, 3600, 3700, 90000, 86400 * 40)]
    assert shown == ["0 s", "0 s", "59 s", "1 min", "1 h", "1 h 1 min", "1 d 1 h", "40 d"]
