"""Entries that keep rules, as they are listed, asked for and deleted."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from helioc.compiler.bundle import compile_pipeline
from helioc.compiler.driver import check_file
from helioc.lang.contract.request.request_parser import parse_request
from helioc.lang.contract.rules.rulebook import RuleBook
from helioc.lang.contract.world.environment import Environment, Port
from helioc.lang.text.diagnostics import Refused
from helioc.lang.text.source import Source
from helioc.runtime.loading.bundle import Bundle
from helioc.runtime.states.entry import entry_json
from helioc.runtime.states.kept_rules import KeptRules
from helioc.runtime.states.table import StateTable
from helioc.runtime.testrun.private_run import PrivateRun
from scapy.layers.inet import IP, UDP
from scapy.layers.l2 import Ether

RULES = Path(__file__).parents[2] / "compiler" / "lower" / "cases" / "states" / "rules.hp"
LAN = Port(1, "LAN", "lan", 1, 1500, bytes.fromhex("020000000001"))
MADE = """
create TUNNEL 3 [(hops, 33)];
create SERVER 7 "web 1" [(address, 10.9.0.1), (mark, 8), (way, TUNNEL.3), (exit, LAN),
                         (rate, 8), (burst, 100)];
create SERVER 8 [(address, 10.9.0.2), (mark, 16), (way, TUNNEL.3), (exit, LAN),
                 (rate, 8), (burst, 100)];
create CLIENT 1 [(src, 10.1.0.1), SERVER 7];
create CLIENT 2 [(src, 10.1.0.2), SERVER 8];
create FROM 4 [(src, 10.1.0.2), (mark, 77)]
"""


class World:
    def __init__(self, run: PrivateRun) -> None:
        self.run, self.ports = run, {"LAN": 1}
        self.book = RuleBook(run.manifest, self.ports, {})
        self.apply(MADE)
        for last in (1, 2):
            packet = IP(src=f"10.1.0.{last}", dst="192.0.2.80") / UDP(sport=1000, dport=80)
            assert run.run(bytes(Ether() / packet), 1).verdict == "tx"

    def apply(self, text: str) -> None:
        plan = self.book.plan(parse_request(Source("request", text)))
        self.run.apply(plan)
        self.book.commit(plan)

    def table(self, name: str) -> StateTable:
        state = next(s for s in self.run.manifest.states if s.name == name)
        rules = KeptRules(self.run.manifest, self.run.maps)
        return StateTable(self.run.maps[f"{state.prefix}_state"], state, self.ports, 0, rules)

    def servers(self, *where: tuple[str, str]) -> list[tuple[str, str]]:
        """What entries keep."""
        found = [dict(entry.values) for entry in self.table("CONNECTION").entries(where)]
        return sorted((values["server"], values["path"]) for values in found)


@pytest.fixture
def world(kernel: None) -> Iterator[World]:
    made = compile_pipeline(check_file(RULES))
    with PrivateRun(Bundle(made.manifest, made.object)) as run:
        run.set_environment(Environment((LAN,)))
        yield World(run)


def test_rules_are_listed_by_what_requests_call_them(world: World) -> None:
    assert world.servers() == [('SERVER "web 1"', "TUNNEL 3"), ("SERVER 8", "TUNNEL 3")]
    (last,) = world.table("LAST").entries()
    assert dict(last.values) == {"always": "1", "mark": "7", "from": "FROM 4"}
    assert entry_json(last, world.table("LAST").state)["from"] == "FROM 4"
    entry = world.table("CONNECTION").entry([("src", "10.1.0.2"), ("port", "1000")])
    assert dict(entry.values)["server"] == "SERVER 8"


def test_one_that_is_gone_says_so(world: World) -> None:
    world.apply("update CLIENT 1 [SERVER 8]; delete SERVER 7")
    gone = [("SERVER 7 (gone)", "TUNNEL 3"), ("SERVER 8", "TUNNEL 3")]
    assert world.servers() == gone
    world.apply(
        'create SERVER 7 "web 1" [(address, 10.9.0.1), (mark, 8), (way, LAN), (exit, LAN),'
        "                         (rate, 8), (burst, 1)]"
    )
    assert world.servers() == gone
    world.apply("update SERVER 8 [(mark, 9)]")
    assert world.servers() == gone


def test_a_rule_whose_priority_changed_is_still_that_rule(kernel: None) -> None:
    made = compile_pipeline(check_file(RULES.with_name("ranked.hp")))
    with PrivateRun(Bundle(made.manifest, made.object)) as run:
        run.set_environment(Environment((LAN,)))
        book = RuleBook(run.manifest, {"LAN": 1}, {})
        rules = KeptRules(run.manifest, run.maps)
        state = next(s for s in run.manifest.states if s.name == "HELD")
        table = StateTable(run.maps["held_state"], state, {"LAN": 1}, 0, rules)
        requests = (
            "create WAY 7 web1 [(src, 10.0.0.0/8), (mark, 8), (rank, 9), (rate, 8), (burst, 9)]",
            "update WAY 7 [(rank, 3)]",
            "update WAY 7 [(rank, 4)]",
            "delete WAY 7",
        )
        shown = "WAY web1", "WAY web1", "WAY web1", "WAY 7 (gone)"
        for request, expected in zip(requests, shown, strict=True):
            plan = book.plan(parse_request(Source("request", request)))
            run.apply(plan)
            book.commit(plan)
            run.run(bytes(Ether() / IP(src="10.1.0.1", dst="10.9.0.1") / UDP(dport=80)), 1)
            (entry,) = table.entries([("way", "7")])
            assert dict(entry.values)["way"] == expected
            assert len(list(table.entries([("way", "web1")]))) == (expected == "WAY web1")


def test_entries_are_asked_for_by_the_rules_id(world: World) -> None:
    assert world.servers(("server", "8")) == [("SERVER 8", "TUNNEL 3")]
    assert world.servers(("server", "1..7")) == [('SERVER "web 1"', "TUNNEL 3")]
    assert world.servers(("server", "9")) == []
    world.apply("update CLIENT 1 [SERVER 8]; delete SERVER 7")
    assert world.servers(("server", "7")) == [("SERVER 7 (gone)", "TUNNEL 3")]
    assert world.table("CONNECTION").flush([("server", "7")]) == 1
    assert world.servers() == [("SERVER 8", "TUNNEL 3")]
    assert world.table("LAST").flush([("from", "5")]) == 0
    assert world.table("LAST").flush([("from", "4")]) == 1


@pytest.mark.parametrize("said", ["web 1", '"web 1"', 'SERVER "web 1"'])
def test_entries_are_asked_for_by_the_rules_name(world: World, said: str) -> None:
    assert world.servers(("server", said)) == [('SERVER "web 1"', "TUNNEL 3")]
    assert world.servers(("server", said), ("src", "10.1.0.2")) == []
    assert world.servers(("server", "web")) == world.servers(("server", "web 2")) == []
    assert world.servers(("server", "SERVER 8")) == [("SERVER 8", "TUNNEL 3")]
    assert world.table("CONNECTION").flush([("server", said)]) == 1
    assert world.servers() == [("SERVER 8", "TUNNEL 3")]


def test_the_name_of_a_rule_that_is_gone_finds_nothing(world: World) -> None:
    world.apply("update CLIENT 1 [SERVER 8]; delete SERVER 7")
    assert world.servers(("server", "web 1")) == []


def test_a_kind_without_names_has_none(world: World) -> None:
    with pytest.raises(Refused) as refused:
        list(world.table("LAST").entries([("from", "north")]))
    (found,) = refused.value.diagnostics
    assert found.title == "FROM rules have no names: `north` is none of them"


@pytest.mark.parametrize("said", ["10.0.0.1", "1.5", "4294967296", "1x"])
def test_what_is_no_id(world: World, said: str) -> None:
    with pytest.raises(Refused) as refused:
        world.servers(("server", said))
    (found,) = refused.value.diagnostics
    assert "server" in found.title + found.help
