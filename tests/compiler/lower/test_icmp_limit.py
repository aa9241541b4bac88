"""ICMP errors go out up to a limit: a bucket of tokens, which the interpreter states."""

from __future__ import annotations

import struct
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from helioc.compiler.bundle import compile_pipeline
from helioc.compiler.driver import check_file
from helioc.compiler.interpret.packet import Interpreter
from helioc.lang.contract.manifest.manifest import ICMP_BURST, ICMP_RATE
from helioc.lang.contract.world.environment import Environment, Limit, Outcome
from helioc.lang.contract.world.moment import Moment
from helioc.lang.text.diagnostics import Refused
from helioc.runtime.loading.bundle import Bundle
from helioc.runtime.testrun.private_run import PrivateRun
from linx_maps import bundle
from linx_world import HOST_MAC, LAN, LAN_MAC, RULES, WORLD, Book, linx
from scapy.layers.inet import ICMP, IP, UDP
from scapy.layers.l2 import Ether

LAST = Ether(src=HOST_MAC, dst=LAN_MAC) / IP(src="10.1.0.10", dst="10.2.0.5", ttl=1)
EXPIRED, UNANSWERED = bytes(LAST / UDP()), bytes(LAST / ICMP(type=3) / b"an error")
ANSWERED = (("hook", "ttl_expired"), ("verdict", "tx"))
LIMITED = (("hook", "ttl_expired"), ("drop", "icmp limit"), ("verdict", "drop"))
HOUR = 3_600_000_000_000  # ns: nothing comes back while a test runs


def limited(rate: int, burst: int) -> Environment:
    return replace(WORLD, icmp=Limit(rate, burst))


def answers(outcomes: list[Outcome]) -> list[bool]:
    assert all(set(o.events) in (set(ANSWERED), set(LIMITED)) for o in outcomes)
    return [o.verdict == "tx" for o in outcomes]


def test_a_burst_passes_and_then_as_many_as_the_rate() -> None:
    interpreter = Interpreter(linx(), limited(10, 3))

    def at(now: float, count: int) -> list[bool]:
        start = Moment()
        interpreter.set_moment(start.later(round(now * 1000) * 1_000_000))
        return answers([interpreter.run(RULES, EXPIRED, LAN) for _ in range(count)])

    assert at(5.0, 5) == [True] * 3 + [False] * 2
    assert at(5.09, 1) == [False]
    assert at(5.1, 2) == [True, False]
    assert at(5.35, 3) == [True, True, False]
    assert at(60.0, 5) == [True] * 3 + [False] * 2  # never more than the burst


def test_what_must_not_be_answered_takes_nothing() -> None:
    interpreter = Interpreter(linx(), limited(1, 1))
    for _ in range(3):
        outcome = interpreter.run(RULES, UNANSWERED, LAN)
        assert outcome.events == (("hook", "ttl_expired"), ("verdict", "drop"))
    assert answers([interpreter.run(RULES, EXPIRED, LAN)]) == [True]


@pytest.fixture
def loaded(kernel: None) -> Iterator[PrivateRun]:
    with PrivateRun(bundle()) as run:
        run.set_environment(WORLD)
        run.set_rules(RULES)
        yield run


def run(loaded: PrivateRun, count: int) -> list[bool]:
    return answers([loaded.run(EXPIRED, LAN) for _ in range(count)])


def test_the_kernel_does_the_same(loaded: PrivateRun) -> None:
    budget = loaded.maps["icmp_budget"]
    budget.update(bytes(4), struct.pack("<QQQ", HOUR, 2 * HOUR, 0))
    assert loaded.run(UNANSWERED, LAN).events == (("verdict", "drop"), ("hook", "ttl_expired"))
    assert run(loaded, 5) == [True] * 3 + [False] * 2
    interval, ahead, full = struct.unpack("<QQQ", budget.lookup(bytes(4)) or b"")
    budget.update(bytes(4), struct.pack("<QQQ", interval, ahead, full - HOUR))  # an hour on
    assert run(loaded, 2) == [True, False]
    budget.update(bytes(4), struct.pack("<QQQ", interval, ahead, 0))  # long ago
    assert run(loaded, 5) == [True] * 3 + [False] * 2


def test_there_is_a_limit_where_nobody_says_one(loaded: PrivateRun) -> None:
    loaded.maps["icmp_budget"].update(bytes(4), bytes(24))
    began = time.monotonic()
    sent = sum(run(loaded, 2 * ICMP_BURST))
    assert ICMP_BURST <= sent <= ICMP_BURST + 1 + ICMP_RATE * (time.monotonic() - began)


def test_a_test_has_no_limit_unless_it_says_one(loaded: PrivateRun) -> None:
    assert all(run(loaded, 3 * ICMP_BURST))
    loaded.set_environment(limited(1, 2))
    assert run(loaded, 2) == [True, True]


OWN = """
import std.ethernet, std.ip

pipeline refusals {
  ports lan, wan
  parser { ethernet -> ipv4 as user when type = 0x0800 }
  ie dst = 1, ip4
  rule KNOWN [4] { match dst exact user.dst }
  default pass
  stage refuse {
    if not user { pass }
    find KNOWN else {
      if error is limited { count error_limited  drop }
      swap ethernet.src, ethernet.dst
      send back
    }
    pass
  }
  run parser -> refuse
}
"""


@pytest.mark.usefixtures("kernel")
def test_a_pipeline_asks_the_same_limit_for_errors_of_its_own(tmp_path: Path) -> None:
    path = tmp_path / "refusals.hp"
    path.write_text(OWN)
    pipeline = check_file(path)
    compiled = compile_pipeline(pipeline, "staged")
    with PrivateRun(Bundle(compiled.manifest, compiled.object)) as run:
        environment = limited(1, 3)
        interpreter = Interpreter(pipeline, environment)
        run.set_environment(environment)
        run.maps["icmp_budget"].update(bytes(4), struct.pack("<QQQ", HOUR, 2 * HOUR, 0))
        for verdict in ["tx"] * 3 + ["drop"] * 2:
            stated = interpreter.run(Book(), EXPIRED, LAN)
            found = run.run(EXPIRED, LAN)
            assert (stated.verdict, found.verdict) == (verdict, verdict)
            assert sorted(stated.events) == sorted(found.events)
            assert (("count", "error_limited") in found.events) == (verdict == "drop")


def test_only_errors_are_limited(tmp_path: Path) -> None:
    path = tmp_path / "refusals.hp"
    path.write_text(OWN.replace("error is limited", "user is limited"))
    with pytest.raises(Refused) as refused:
        check_file(path)
    assert [d.code for d in refused.value.diagnostics] == ["H0268"]
