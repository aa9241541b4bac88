"""What nobody has reached is drawn for: packets and rules that came right in front of it, a little
changed."""

from __future__ import annotations

from pathlib import Path

import pytest
from helioc.compiler.driver import check_file
from helioc.compiler.fuzzing.scenarios import Fuzzed
from helioc.compiler.fuzzing.search import Found, search
from helioc.compiler.fuzzing.session import ask, new_book
from helioc.compiler.interpret.packet import Interpreter
from helioc.lang.contract.rules.plan import Plan
from helioc.lang.contract.rules.rulebook import RuleBook
from helioc.lang.contract.world.environment import Environment, Outcome
from helioc.lang.contract.world.moment import Moment
from hypothesis import HealthCheck, Phase, given, seed, settings
from linx_world import linx

TEXT = """import std.ethernet, std.ip

pipeline deep {
  ports one, other

  parser {
    ethernet -> ipv4                     when type = 0x0800
    ipv4     -> udp                      when protocol = 17
    udp      -> chunk[4] as before       when dst = 9
    before   -> before                   when next = 7
    before   -> last                     when next = 9
  }

  ie mode = 1, u16
  ie id   = 2, u16

  rule FIRST [8]  { match id exact given gives mode }
  rule SECOND [8] { match id exact given gives mode }
  state SEEN [1k] { match src : mac gives port : port ages 60 }

  default pass

  stage learn {
    if udp {
      if port is other {
        remember SEEN(src = ethernet.src, port = port)
        pass
      }
    }
  }

  stage narrow {
    if not udp { pass }
    if udp.src = 4711 {
      if ipv4.ttl = 81 {
        find FIRST(id = ipv4.ttl) else { pass }
        if FIRST.mode = 0x101 {
          find SECOND(id = udp.src) else { pass }
          recall SEEN(src = ethernet.dst) else { pass }
          count deep
          bridge SEEN.port
        }
      }
    }
    pass
  }

  run parser -> learn -> narrow
}

header chunk { next : u8  rest : u8 }
header last  { end : u8 }
"""


class Echo:
    """A kernel that is an interpreter."""

    def __init__(self, fuzzed: Fuzzed) -> None:
        self._fuzzed = fuzzed

    def set_environment(self, environment: Environment) -> None:
        self._environment = environment

    def set_rules(self, rules: RuleBook) -> None:
        self._rules = rules

    def forget(self) -> None:
        self._interpreter = Interpreter(self._fuzzed.pipeline, self._environment)

    def apply(self, plan: Plan) -> None:
        pass

    def set_moment(self, moment: Moment) -> None:
        self._interpreter.set_moment(moment)

    def run(self, frame: bytes, port: int) -> Outcome:
        return self._interpreter.run(self._rules, frame, port)


def searched(path: Path, packets: int) -> tuple[Found, list[str]]:
    fuzzed = Fuzzed(check_file(path))
    found = search(fuzzed, Echo(fuzzed), packets)
    assert found.scenario is None
    return found, fuzzed.coverage.unreached()


def test_what_is_deep_is_reached(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "deep.hp"
    path.write_text(TEXT)
    _, unreached = searched(path, 1300)
    assert not [line for line in unreached if "hook" not in line], unreached
    assert searched(path, 200) == searched(path, 200)
    monkeypatch.setattr(Fuzzed, "steered", Fuzzed.scenarios)
    _, unreached = searched(path, 1300)
    assert any("`find FIRST" in line for line in unreached), unreached


def test_rules_hold_others_and_a_spread_beside_one() -> None:
    """Of PDRs of `linx`, in some of the sessions."""
    fuzzed, held = Fuzzed(linx()), set[tuple[str, ...]]()
    wanted = {("PDR", "FAR"), ("PDR", "LBR"), ("LBR", "FAR")}

    @seed(2)
    @settings(
        max_examples=400, deadline=None, database=None, phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )  # fmt: skip
    @given(fuzzed.scenarios())
    def draw(scenario: object) -> None:
        if held >= wanted:
            return
        book = new_book(fuzzed.manifest, fuzzed.world.environment)
        for request in scenario.requests:  # type: ignore[attr-defined]
            assert ask(book, request) is not None
            owners = {rule.sequence: rule for kind in book.kinds for rule in book.rules(kind)}
            for rule in owners.values():
                if rule.owner:
                    held.add((owners[rule.owner].kind, rule.kind))

    draw()
    assert held >= wanted


def test_it_says_what_no_run_can_reach(tmp_path: Path) -> None:
    path = tmp_path / "limited.hp"
    path.write_text(LIMITED)
    _, unreached = searched(path, 60)
    assert f"{path}:12:27: `drop` (here ICMP errors have no limit)" in unreached


LIMITED = """import std.ethernet, std.ip

pipeline limited {
  ports one

  parser {
    ethernet -> ipv4 when type = 0x0800
  }

  default pass
  stage only {
    if error is limited { drop }
    pass
  }
  run parser -> only
}
"""
