"""Counts of rules in stages: of all CPUs, and of builds before."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from at_once import at_once
from helioc.compiler.bundle import compile_for_card, compile_pipeline
from helioc.compiler.driver import check_file
from helioc.lang.contract.request.request_parser import parse_request
from helioc.lang.contract.rules.rulebook import RuleBook
from helioc.lang.contract.world.environment import Environment, Port
from helioc.lang.text.diagnostics import Refused
from helioc.lang.text.source import Source
from helioc.runtime.loading import install
from helioc.runtime.loading.bundle import Bundle
from helioc.runtime.testrun.private_run import PrivateRun

QUOTA = Path(__file__).parent / "cases" / "rules" / "quota.hp"
LAN = Port(1, "LAN", "lan", 1, 1500, bytes.fromhex("020000000001"))

pytestmark = pytest.mark.usefixtures("kernel")


ALL_CPUS = """\
import std.ethernet, std.ip
pipeline all_cpus {
  ports lan
  parser { ethernet -> ipv4 when type = 0x0800 }
  ie type = 1, u16
  rule OTHER [4] {
    counts packets
  }
  rule PDR [4] {
    match  type exact ethernet.type
    counts packets, bytes, sizes
  }
  stage main {
    find PDR else { pass }
    ethernet.dst = ethernet.src
    if PDR.packets = 12 and PDR.bytes = 1000 + 2 * 64 { drop }
    send back
  }
  run parser -> main
}
"""


def test_what_all_cpus_and_builds_before_counted(tmp_path: Path) -> None:
    path = tmp_path / "all_cpus.hp"
    path.write_text(ALL_CPUS)
    bundle, frame = compile_pipeline(check_file(path)), bytes(12) + b"\x88\xb5" + bytes(50)
    with PrivateRun(Bundle(bundle.manifest, bundle.object)) as run:
        run.set_environment(Environment((LAN,)))
        book, request = RuleBook(bundle.manifest, {}, {}), "create PDR 1 [(type, 0x88b5)]"
        run.apply(book.plan(parse_request(Source("request", request))))
        (cell,) = run.writer.tables["PDR"].sequences.values()
        counters = run.writer.tables["PDR"].counters
        assert counters is not None
        counters.carry(np.array([cell]), np.array([[10, 1000]], np.uint64))
        mine = os.sched_getaffinity(0)
        try:
            verdicts = []
            for cpu in (min(mine), max(mine), min(mine)):
                os.sched_setaffinity(0, {cpu})
                verdicts.append(run.run(frame, LAN.number).verdict)
        finally:
            os.sched_setaffinity(0, mine)
        assert verdicts == ["tx", "drop", "tx"]


TOLD_ONCE = """\
import std.ethernet, std.ip
pipeline told_once {
  ports lan
  parser { ethernet -> ipv4 when type = 0x0800 }
  ie type  = 1, u16
  ie quota = 2, u64
  rule PDR [4] {
    match  type exact ethernet.type
    gives  quota
    counts packets, bytes
  }
  state TOLD [4] {
    match pdr : u32
    counts packets
  }
  stage main {
    find PDR else { pass }
    if PDR.bytes < PDR.quota { pass }
    if remember TOLD(pdr = PDR.id) { count told }
    drop
  }
  run parser -> main
}
"""


def test_a_quota_is_told_once_whatever_the_cpus(tmp_path: Path) -> None:
    """And no packet passes that comes when the quota is reached. Two that are counted at once may
    both miss each other's count, or both have it."""
    path = tmp_path / "told_once.hp"
    path.write_text(TOLD_ONCE)
    bundle, frame = compile_pipeline(check_file(path)), bytes(12) + b"\x88\xb5" + bytes(50)
    with PrivateRun(Bundle(bundle.manifest, bundle.object)) as run:
        run.set_environment(Environment((LAN,)))
        book = RuleBook(bundle.manifest, {}, {})
        request = f"create PDR 77 [(type, 0x88b5), (quota, {64 * 30_000})]"
        run.apply(book.plan(parse_request(Source("request", request))))
        program = run.entry(LAN.number)
        run._counted_events()

        def send() -> None:
            program.test_run(frame, ingress_ifindex=1, repeat=40_000)

        at_once(send, send)
        found = Counter(run._counted_events())
        assert found["count", "told"] == 1
        assert 29_998 <= found["verdict", "pass"] <= 30_000
        assert found["verdict", "pass"] + found["verdict", "drop"] == 80_000


def test_more_cpus_than_are_added_up(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    path = tmp_path / "all_cpus.hp"
    path.write_text(ALL_CPUS)
    bundle = compile_pipeline(check_file(path))
    monkeypatch.setattr(install, "cpu_numbers", lambda: 1025)
    with pytest.raises(Refused) as refused, PrivateRun(Bundle(bundle.manifest, bundle.object)):
        pass
    (found,) = refused.value.diagnostics
    assert found.code == "H0330" and "1,024 CPUs" in found.title


def test_a_card_reads_neither() -> None:
    with pytest.raises(Refused) as refused:
        compile_for_card(check_file(QUOTA))
    found = {d.title for d in refused.value.diagnostics if d.code == "H0360"}
    assert {f"a card cannot do this: `PDR.{what}`" for what in ("bytes", "id")} & found
