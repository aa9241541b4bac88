"""What nobody has reached is drawn for: packets and rules that came right in front of it, a little
changed."""

from __future__ import annotations

from pathlib import Path

import pytest
from drawing import drawn
from helioc.compiler.driver import check_file
from helioc.compiler.fuzzing.scenarios import Fuzzed, Scenario
from helioc.compiler.fuzzing.search import Found, search
from helioc.compiler.fuzzing.session import ask, new_book
from helioc.compiler.interpret.packet import Interpreter
from helioc.lang.contract.rules.plan import Plan
from helioc.lang.contract.rules.rulebook import RuleBook
from helioc.lang.contract.world.environment import Environment, Outcome
from helioc.lang.contract.world.moment import Moment
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


def test_options_of_ones_own_headers_are_reached(tmp_path: Path) -> None:
    """Those that a condition asks for, with the values that it compares them with."""
    path = tmp_path / "own.hp"
    path.write_text(OWN)
    _, unreached = searched(path, 2000)
    assert unreached == []


SIZED = """import std.ethernet
header mine {
  words : u8  next : u8
  opts  : tlv(kind : u8, length : u8, end 255, size length + 2) within words * 4 max 12 {
    mark when kind = 9 { color : u8 }
  }
}
pipeline sized {
  ports lan
  parser { ethernet -> mine when type = 0x88f7 }
  stage s {
    if not mine { drop }
    if mine.mark {
      if mine.mark.length > 3 and mine.mark.color = 77 { count odd }
      if mine.mark.length = 20 { count more }
    }
    pass
  }
  run parser -> s
}
"""


def test_an_option_has_the_size_that_is_wanted(tmp_path: Path) -> None:
    """Its length is not written into one that is there, which would end elsewhere then."""
    path = tmp_path / "sized.hp"
    path.write_text(SIZED)
    _, unreached = searched(path, 1500)
    assert unreached == []


def test_rules_hold_others_and_a_spread_beside_one() -> None:
    """Of PDRs of `linx`, in some of the sessions."""
    fuzzed, held = Fuzzed(linx()), set[tuple[str, ...]]()
    wanted = {("PDR", "FAR"), ("PDR", "LBR"), ("LBR", "FAR")}

    def draw(scenario: Scenario) -> None:
        book = new_book(fuzzed.manifest, fuzzed.world.environment)
        for request in scenario.requests:
            assert ask(book, request) is not None
            owners = {rule.sequence: rule for kind in book.kinds for rule in book.rules(kind)}
            for rule in owners.values():
                if rule.owner:
                    held.add((owners[rule.owner].kind, rule.kind))

    drawn(fuzzed.scenarios(), draw, 2, 480, lambda: held >= wanted)
    assert held >= wanted


OWN = """import std.ethernet, std.ip

header report {
  version : u8
  words   : u8
  id      : u16
  records : tlv(kind : u8, length : u8) within words * 4 max 8 {
    level  when kind = 7 { value : u32 }
    origin when kind = 9 { address : ip4  mark : u16 }
  }
  accept version = 1
}

pipeline own {
  ports lan, wan
  parser {
    ethernet -> ipv4   when type = 0x0800
    ipv4     -> udp    when protocol = 17
    udp      -> report when dst = 4711
  }
  ie host  = 1, ip4
  ie limit = 2, u32
  rule HOST [1k] {
    match host exact report.origin.address
    gives limit
  }
  default pass

  stage only {
    if not report { pass }
    if report.level {
      if report.level.value > 100000 {
        if report.origin {
          find HOST else { drop }
          if report.level.value > HOST.limit {
            if report.origin.mark = HOST.limit & 0xffff { count marked }
            drop
          }
        }
        drop
      }
      if report.level.value = 4242 { count exact }
    }
    pass
  }
  run parser -> only
}
"""


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
