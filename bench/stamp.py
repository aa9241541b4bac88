"""STAMP in XDP: what its hook costs packets that are none of its business, what a router that
reflects still forwards, in the shape of the paper's Tables I to III (srv6-stamp-delay-monitoring,
Appendix C), and how many answers it records: beside a reflector and a collector in user space."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack
from ipaddress import IPv6Address
from statistics import mean, stdev

from helioc.compiler.bundle import Bundle, compile_pipeline
from helioc.compiler.driver import check_file
from helioc.compiler.lower.unit import Join
from helioc.lang.contract.rules.rules import Matcher, Rule
from helioc.lang.contract.world.environment import Environment, Port
from helioc.runtime.kernel.handles import Program
from helioc.runtime.loading import bundle as loadable
from helioc.runtime.rules.plans import Changes
from helioc.runtime.testrun.private_run import PrivateRun
from measure import HERE, Dispatcher, Load, Times, compare, one_cpu, self_test
from scapy.contrib.stamp import STAMPSessionSenderTestUnauthenticated as TestPacket
from scapy.layers.inet import TCP, UDP
from scapy.layers.inet6 import IPv6
from scapy.layers.l2 import Ether
from sessions import MAC
from stamp_collect import LIMIT, UNLIMITED, bundle_of, in_user_space, in_xdp, recorded
from stamp_lab import ROUTER, SERVER, SSID, STAMP, TESTER, USER, Router

PIPELINE = HERE.parent / "pipelines" / "stamp.hp"
#: Test packets in a hundred, as in the paper's tables.
SHARES = (0, 0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 10, 20, 50, 100)
#: Seconds of each run, and thousand packets a second.
_SECONDS, _OFFERED = 0.5, 4000.0
#: The same of collectors: longer than the second that a limit saves up.
_COLLECTED = 2.0
#: Student's t for an interval of 95 %, by the number of runs.
_T95 = (0, 0, 12.71, 4.30, 3.18, 2.78, 2.57, 2.45, 2.36, 2.31, 2.26)

# ---- what a packet costs --------------------------------------------------------------------

_WAN = Port(1, "WAN", "wan", 11, 1500, MAC, 0)
_ETHER = Ether(dst="02:00:00:00:00:01", src="02:00:00:00:00:02")
_TCP = _ETHER / IPv6(src=USER, dst=SERVER) / TCP() / bytes(40)
_UDP = _ETHER / IPv6(src=USER, dst=SERVER) / UDP(sport=4000, dport=5004) / bytes(40)
_TEST = (
    _ETHER / IPv6(src=TESTER, dst=ROUTER) / UDP(sport=40000, dport=STAMP) / TestPacket(ssid=SSID)
)
_PACKETS = {"TCP": (_TCP, "pass"), "UDP": (_UDP, "pass"), "test packet": (_TEST, "tx")}

#: From UDP's checksum on.
_TIMED = 60, 106


def _rules() -> Iterator[Rule]:
    yield Rule("ENDPOINT", 1, 1, match=(("udp_port", Matcher("value", STAMP)),))
    yield Rule(
        "REFLECTOR", 1, 2, match=(("ssid", Matcher("value", SSID)),),
        values=(("mode", 1), ("clock", 1), ("way_back", 0)),
    )  # fmt: skip


def costs(loads: int, rounds: int, packets: int) -> Iterator[str]:
    """Net ns a packet."""
    joins: tuple[Join, ...] = ("fused", "staged")
    bundles = {join: compile_pipeline(check_file(PIPELINE), join) for join in joins}
    yield f"net ns a packet: {'':8}{'fused':>17}{'staged':>17}"
    with one_cpu(), Dispatcher() as dispatcher:
        self_test(dispatcher)
        for what, (packet, verdict) in _PACKETS.items():
            found = {join: Times() for join in joins}
            load = Load(bytes(packet), (), verdict, len(packet), _TIMED)
            for _ in range(loads):
                with ExitStack() as owned:
                    for join, bundle in bundles.items():
                        program = {join: _program(bundle, owned)}
                        some = compare(dispatcher, program, load, rounds, packets)
                        found[join].add(some[join])
            quiet = [some.quiet() for some in found.values()]
            cells = [f"{x.median:.0f} ({x.spread[0]:.0f}-{x.spread[1]:.0f})" for x in quiet]
            yield f"stamp: {what:18}" + "".join(f"{cell:>17}" for cell in cells)


def _program(bundle: Bundle, owned: ExitStack) -> Program:
    run = owned.enter_context(PrivateRun(loadable.Bundle(bundle.manifest, bundle.object)))
    run.set_environment(Environment((_WAN,), local6=frozenset({int(IPv6Address(ROUTER))})))
    run.apply(Changes(created=tuple(_rules())))
    return run.entry(1)


# ---- what a router forwards -----------------------------------------------------------------


def tables(runs: int, say: Callable[[object], None]) -> None:
    """How many thousand packets a second come back of more than there can (the maximum receive rate
    of the paper's SRPerf): of the kernel's H.Encaps alone, then with one that reflects, by the
    share of test packets."""
    built = compile_pipeline(check_file(PIPELINE), "fused")
    bundle = loadable.Bundle(built.manifest, built.object)
    with ExitStack() as owned:
        router = Router(owned)
        setups: dict[str, Callable[[], AbstractContextManager[None]]] = {
            "XDP": lambda: router.pipeline(bundle), "user space": router.user_space
        }  # fmt: skip
        say(f"kpps, {runs} runs: {'mean':>25}{'SD':>8}{'CV':>8}{'CI95':>8}")
        with router.alone():
            say(_row("H.Encaps alone", [_rate(router, 0) for _ in range(runs)]))
        for name, setup in setups.items():
            with setup():
                for share in SHARES:
                    found = [_rate(router, share / 100) for _ in range(runs)]
                    say(_row(f"{name}, {share:g} % test packets", found))


def collectors(runs: int, say: Callable[[object], None]) -> None:
    """How many thousand answers a second are recorded of more than can be."""
    bundles = {limit: bundle_of(PIPELINE, limit) for limit in (LIMIT, UNLIMITED)}
    with ExitStack() as owned:
        router = Router(owned)
        setups: dict[str, Callable[[], AbstractContextManager[Callable[[], int]]]] = {
            f"XDP, {LIMIT}": lambda: in_xdp(router, bundles[LIMIT]),
            f"XDP, {UNLIMITED}": lambda: in_xdp(router, bundles[UNLIMITED]),
            "user space": lambda: in_user_space(router),
        }
        say(f"kpps recorded, {runs} runs: {'mean':>16}{'SD':>8}{'CV':>8}{'CI95':>8}")
        for what, setup in setups.items():
            with setup() as count:
                found = [recorded(router, count, _OFFERED, _COLLECTED) for _ in range(runs)]
                say(_row(what, [some for _, some in found]))


def _row(what: str, found: list[float]) -> str:
    middle, deviation = mean(found), stdev(found) if len(found) > 1 else 0.0
    half = _T95[min(len(found), 10)] * deviation / len(found) ** 0.5
    return f"{what:33}{middle:9.1f}{deviation:8.1f}{deviation / middle:8.1%}{half / middle:8.1%}"


def _rate(router: Router, share: float) -> float:
    offered, lost = router.lost(_OFFERED, share, _SECONDS)
    return offered * (1 - lost)
