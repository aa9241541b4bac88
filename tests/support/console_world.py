"""A console in this process, with edges that are only played: they answer as agents do."""

from __future__ import annotations

import itertools
import math
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from functools import cache, partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from controller.console.access import Access, read_token
from controller.console.collector import Collector
from controller.console.listening import ConsoleServer
from controller.console.poller import Pollers
from controller.console.server import Console
from helioc.compiler import bundle as bundles
from helioc.compiler.driver import check_file
from helioc.lang.contract.manifest.manifest import Manifest
from helioc.lang.text.diagnostics import Diagnostic, Refused
from helioc.runtime.rpc import control_pb2 as pb
from helioc.runtime.rules.report import Shown

PIPELINES = Path(__file__).parents[2] / "pipelines"
PERIOD = 0.2


@cache
def manifest(pipeline: str = "linx") -> Manifest:
    return bundles.compile_pipeline(check_file(PIPELINES / f"{pipeline}.hp")).manifest


@dataclass
class Played:
    """An agent. Counts grow by their rates (a second) as time passes; `tell` has its watchers hear
    of something. While `silent` says why, nothing is answered."""

    pipeline: str = "linx"
    overlays: list[pb.Overlay] = field(default_factory=list)
    unprobed: list[pb.Overlay] = field(default_factory=list)
    ports: dict[str, tuple[str, float]] = field(default_factory=dict)  # role, packets a second
    counters: dict[tuple[str, str], float] = field(default_factory=dict)
    rules: dict[tuple[str, int], float] = field(default_factory=dict)
    sessions: list[pb.StampSession] = field(default_factory=list)
    intents: list[pb.Intent] = field(default_factory=list)
    congestion: pb.Congestion | None = None
    findings: list[str] = field(default_factory=list)
    silent: str = ""
    begun: float = field(default_factory=time.monotonic)
    said: list[Any] = field(default_factory=list)
    results: list[pb.StampResults] = field(default_factory=list)
    more: threading.Condition = field(default_factory=threading.Condition)

    def count(self, rate: float) -> int:
        return int(1000 + rate * (time.monotonic() - self.begun))

    def tell(self, event: pb.Event) -> None:
        with self.more:
            self.said.append(event)
            self.more.notify_all()

    def measure(self, ssid: int, *seconds: float) -> None:
        with self.more:
            made = [pb.StampResult(ssid=ssid, round_trip=each) for each in seconds]
            self.results.append(pb.StampResults(results=made))
            self.more.notify_all()

    def status(self) -> pb.StatusReply:
        kinds: dict[str, int] = {}
        for kind, _ in self.rules:
            kinds[kind] = kinds.get(kind, 0) + 1
        here = pb.PipelineStatus(
            pipeline=self.pipeline, program="linx", digest="ab" * 32, revision=7,
            ports=[self._port(*each) for each in self.ports.items()],
            kinds=[pb.KindCount(kind=k, rules=n, capacity=256) for k, n in kinds.items()],
            findings=[pb.Finding(code="H0780", title=each) for each in self.findings],
            overlays=self.overlays, unprobed=self.unprobed, congestion=self.congestion,
        )  # fmt: skip
        return pb.StatusReply(version="0.1.0", pid=1, started=time.time() - 90, pipelines=[here])

    def _port(self, name: str, what: tuple[str, float]) -> pb.Port:
        packets = self.count(what[1])
        counts = pb.PortCounts(rx_packets=packets, tx_packets=packets // 2, rx_bytes=500 * packets,
                               tx_bytes=250 * packets, rx_dropped=packets // 100)  # fmt: skip
        return pb.Port(name=name, role=what[0], interface=f"{name.lower()[:8]}0", state="up",
                       counts=counts)  # fmt: skip

    def stats(self) -> pb.StatsReply:
        return pb.StatsReply(events=[
            pb.EventCount(group=group, reason=reason, count=self.count(rate))
            for (group, reason), rate in self.counters.items()
        ])  # fmt: skip

    def list(self, kinds: Any) -> Iterator[Shown]:
        for (kind, id_), rate in self.rules.items():
            if kind in kinds:
                packets = self.count(rate)
                yield Shown(kind, id_, "", "", packets, 500 * packets)


class PlayedClient:
    """As `Client`, of a played agent."""

    def __init__(self, agent: Played) -> None:
        self.agent, self.closed = agent, False

    def _answering(self) -> Played:
        if self.agent.silent:
            raise Refused([Diagnostic("H0763", self.agent.silent, ())])
        return self.agent

    def close(self) -> None:
        self.closed = True
        with self.agent.more:
            self.agent.more.notify_all()

    def status(self) -> pb.StatusReply:
        return self._answering().status()

    def stats(self) -> pb.StatsReply:
        return self._answering().stats()

    def schema(self, again: bool = False) -> Any:
        return SimpleNamespace(manifest=manifest())

    def rules(self, kinds: Any, text: bool = True) -> Iterator[Shown]:
        return self._answering().list(kinds)

    def intents(self) -> list[pb.Intent]:
        return self._answering().intents

    def stamp_sessions(self) -> pb.ListStampSessionsReply:
        return pb.ListStampSessionsReply(sessions=self._answering().sessions)

    def watch(self) -> Any:
        return closing(_Said(self, self.agent.said))

    def watch_emitted(self, kept: bool = True) -> Any:
        return closing(_Said(self, []))

    def watch_stamp_results(self) -> Iterator[pb.StampResults]:
        return iter(_Said(self, self.agent.results))


class _Said:
    def __init__(self, client: PlayedClient, what: list[Any]) -> None:
        self._client, self._what = client, what

    def __iter__(self) -> Iterator[Any]:
        more = self._client.agent.more
        for told in itertools.count():
            with more:
                more.wait_for(partial(self._ready, told))
                if self._client.closed:
                    return
            yield self._what[told]

    def _ready(self, told: int) -> bool:
        return self._client.closed or told < len(self._what)

    def close(self) -> None:
        pass


def usual(number: int = 0, overlays: int = 6) -> Played:
    """An edge of LINX with probed overlays, of which the last is dead, a session of STAMP that has
    the first one's name, an intent, and some traffic."""
    made = Played(ports={"LAN": ("lan", 4000), "WAN1": ("wan", 2500), "WAN2": ("wan", 1500)})
    for n in range(1, overlays + 1):
        dead = n == overlays
        state = pb.Overlay.DEAD if dead else pb.Overlay.ALIVE
        made.overlays.append(pb.Overlay(
            kind="OVERLAY", id=n, name=f"GRE-WAN{n}", state=state, since=time.time() - 300 * n,
            loss=1.0 if dead else 0.01 * (n % 3), sent=500, answered=480,
            delay=0.004 * n + 0.001 * number, jitter=0.0002 * n,
        ))  # fmt: skip
        made.rules["OVERLAY", n] = 0 if dead else 3000 / 2**n
    made.rules |= {("PDR", 1): 2500, ("PDR", 2): 800, ("FAR", 1): 2500}
    made.counters = {
        ("verdict", "pass"): 120, ("verdict", "drop"): 30, ("verdict", "redirect"): 3850,
        ("verdict", "tx"): 0, ("miss", "PDR"): 90, ("miss", "OVERLAY"): 4,
        ("malformed", "user: truncated"): 40, ("count", "martian"): 9,
    }  # fmt: skip
    made.sessions = [session(17, "GRE-WAN1")]
    made.intents = [pb.Intent(pipeline="linx", id="slice-video", state=pb.Intent.ACTIVE,
                              rules=[pb.Reference(kind="PDR", id=2)])]  # fmt: skip
    return made


def session(ssid: int, name: str, delay: float = 0.0123) -> pb.StampSession:
    """One that had 600 packets, of which three were lost."""
    way = pb.StampDelay(count=597, mean=delay / 2, pairs=590, jitter=0.0004)
    whole = pb.StampDelay(count=597, mean=delay, pairs=590, jitter=0.0007)
    parameters = pb.StampParameters(ssid=ssid, name=name, reflector="198.51.100.2")
    return pb.StampSession(
        pipeline="linx", parameters=parameters, running=True, sent=600, answered=597, lost=3,
        forward=way, backward=way, round_trip=whole,
    )  # fmt: skip


@dataclass
class Running:
    collector: Collector
    server: ConsoleServer
    url: str
    token: str


@contextmanager
def console(
    directory: Path, agents: dict[str, Played], period: float = PERIOD, memory: int = 64 << 20,
    port: int = 0, play: Callable[[Collector], None] | None = None,
) -> Iterator[Running]:  # fmt: skip
    """Served over plain HTTP at the loopback."""
    token = read_token(directory / "console.token")
    collector = Collector(memory)
    served = Console(collector, Access(directory, token), period)
    with closing(ConsoleServer(served, ("127.0.0.1", port), None)) as server:
        made = Running(collector, server, f"http://127.0.0.1:{server.port}/", token)
        if play is not None:
            play(collector)
            yield made
            return

        def connect(edge: str, address: str, pipeline: str) -> Any:
            return PlayedClient(agents[edge])

        def targets() -> dict[str, str]:
            return dict.fromkeys(agents, "played:1")

        with closing(Pollers(collector, connect, period, targets)):
            yield made


def wave(number: int, when: float) -> float:
    """Something between 0 and 1 that moves."""
    return 0.5 + 0.5 * math.sin(when / 7 + number)
