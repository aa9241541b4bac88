"""How long entries of states that are changed in place are kept: interpreter and kernel alike."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from helioc.compiler.bundle import compile_pipeline
from helioc.compiler.driver import check_file
from helioc.compiler.interpret.packet import Interpreter
from helioc.lang.contract.rules.rulebook import RuleBook
from helioc.lang.contract.world.environment import Environment, Port
from helioc.runtime.loading.bundle import Bundle
from helioc.runtime.testrun.private_run import PrivateRun
from scapy.layers.inet import IP
from scapy.layers.l2 import Ether

pytestmark = pytest.mark.usefixtures("kernel")

LAN = Port(1, "LAN", "lan", 1, 1500, bytes.fromhex("020000000001"))
TEXT = """import std.ethernet, std.ip

pipeline aging {
  ports lan
  parser { ethernet -> ipv4 when type = 0x0800 }
  state S [1] {
    match src : ip4
    gives n : u8, lifetime : u16
    ages  AGES
  }
  stage main {
    if not ipv4 { drop }
    if ipv4.protocol = 1 {
      remember S(src = ipv4.src, n = 0, lifetime = 300)
    } else if ipv4.protocol = 2 {
      recall S(src = ipv4.src) else { drop }
    } else if ipv4.protocol = 3 {
      if remember S(src = ipv4.src, n = 9, lifetime = 300) { drop }
    } else if ipv4.protocol = 4 {
      recall S(src = ipv4.src) else { drop }
      S.n += 1
    } else if ipv4.protocol = 5 {
      recall S(src = ipv4.src) else { drop }
      S.lifetime = 0
    } else if ipv4.protocol = 7 {
      if remember S(src = ipv4.src, n = 0, lifetime = 60000) { drop }
    } else {
      recall S(src = ipv4.src) else { drop }
      exchange S.n from 0 to 1 else { drop }
    }
    pass
  }
  run parser -> main
}
"""
REMEMBER, RECALL, INSERT, UPDATE, FOR_EVER, EXCHANGE, LONG = range(1, 8)


class Both:
    """The kernel and the interpreter, whose clocks go on by hand."""

    def __init__(self, folder: Path, ages: str) -> None:
        path = folder / "aging.hp"
        path.write_text(TEXT.replace("AGES", ages))
        pipeline = check_file(path)
        bundle = compile_pipeline(pipeline)
        self.kernel = PrivateRun(Bundle(bundle.manifest, bundle.object))
        environment = Environment((LAN,))
        self.kernel.set_environment(environment)
        self.interpreter = Interpreter(pipeline, environment)
        self.kernel.set_moment(self.interpreter.states.moment)
        self.book = RuleBook(bundle.manifest, {}, {})

    def send(self, protocol: int, src: str = "10.0.0.1") -> str:
        frame = bytes(Ether() / IP(src=src, dst="10.0.0.2", proto=protocol))
        verdict = self.kernel.run(frame, 1).verdict
        assert verdict == self.interpreter.run(self.book, frame, 1).verdict
        return verdict

    def wait(self, seconds: int) -> None:
        self.interpreter.states.wait(seconds * 1_000_000_000)
        self.kernel.set_moment(self.interpreter.states.moment)


@pytest.fixture
def both(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Both]:
    made = Both(tmp_path, request.param)
    try:
        yield made
    finally:
        made.kernel.close()


@pytest.mark.parametrize("both", ["300", "300 idle", "lifetime", "lifetime idle"], indirect=True)
@pytest.mark.parametrize("use", [RECALL, INSERT, UPDATE, EXCHANGE])
def test_a_use_keeps_what_is_idle(both: Both, use: int, request: pytest.FixtureRequest) -> None:
    both.send(REMEMBER)
    both.wait(200)
    assert both.send(use) == "pass"
    both.wait(200)
    assert both.send(RECALL) == (
        "pass" if "idle" in request.node.callspec.params["both"] else "drop"
    )


@pytest.mark.parametrize("both", ["300", "300 idle", "lifetime", "lifetime idle"], indirect=True)
def test_what_is_too_old_makes_room(both: Both) -> None:
    both.send(REMEMBER)
    both.wait(299)
    assert both.send(REMEMBER) == "pass"
    both.wait(299)
    assert both.send(RECALL) == "pass"
    both.wait(301)
    assert both.send(RECALL) == "drop"
    assert both.send(INSERT) == "drop"  # it was inserted
    assert both.send(INSERT) == "pass"


@pytest.mark.parametrize("both", ["lifetime", "lifetime idle"], indirect=True)
def test_a_lifetime_of_0_is_for_ever(both: Both) -> None:
    both.send(REMEMBER)
    both.send(FOR_EVER)
    both.wait(1_000_000)
    assert both.send(RECALL) == "pass"


@pytest.mark.parametrize("both", ["lifetime", "lifetime idle"], indirect=True)
def test_what_is_too_old_leaves_first(both: Both) -> None:
    """One that is kept for longer stays, though of the set's eight it was used longest ago."""
    both.send(LONG)
    for number in range(7):
        both.send(REMEMBER, f"10.1.0.{number}")
    both.wait(301)
    for number in range(7):
        both.send(REMEMBER, f"10.2.0.{number}")
    assert both.send(RECALL) == "pass"
