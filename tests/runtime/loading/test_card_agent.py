"""An agent that owns a pipeline on a card. Here the card is this machine's kernel: its maps and
programs are loaded for no device (`on_host`), and attached as the host's are; what is a card's own
is tried in a virtual machine (tests/vm)."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache
from itertools import count
from pathlib import Path
from random import Random
from typing import Any

import pytest
from agent_world import World, make_edge
from helioc.compiler.bundle import compile_for_card
from helioc.compiler.driver import check_file
from helioc.lang.contract.rules.plan import Plan
from helioc.lang.text.diagnostics import Diagnostic, Refused
from helioc.lang.text.source import Source
from helioc.runtime.agent.agent import Agent
from helioc.runtime.base import paths
from helioc.runtime.base.outcome import Outcome
from helioc.runtime.congestion.decide import Verdict
from helioc.runtime.congestion.watcher import WatchedPipeline, Watcher
from helioc.runtime.edge.congestion_settings import CONGESTION, shape_of
from helioc.runtime.kernel.handles import BpfError, Map, Object, XdpMode
from helioc.runtime.loading import attach
from helioc.runtime.loading import card as loaded
from helioc.runtime.loading.bundle import Bundle
from helioc.runtime.loading.card import LoadedCard
from helioc.runtime.loading.card_reader import CardReader
from helioc.runtime.loading.card_tables import CardTable
from helioc.runtime.loading.releases import ROOT, remove_pinned
from helioc.runtime.owner import host
from helioc.runtime.owner.owner import Owner
from lab import Lab
from large_world import opened, wish
from slice_world import OFFLOAD as SLICE
from slice_world import intent

pytestmark = pytest.mark.usefixtures("kernel")

_numbers = count(1)
TUNNELS = Path(__file__).with_name("tunnels.hp")
EDGE = "ports:\n  LAN: {role: lan, interface: lan0}\n  WAN: {role: wan, interface: wan0}\n"
FATES = ("create FATE 1 one [(action, u8, DROP), (queue, u8, 1)], "
         "FATE 2 [(action, u8, MARK), (queue, u8, 2)]")  # fmt: skip
PAIRS = "create PAIR 1 [(src, u32, 10.0.0.1), FATE 1], PAIR 2 [(dst, u32, 10.0.0.2), FATE 2]"
CLASS = "create CLASS 1 [(dscp, u8, 46), (queue, u8, 7)]"
TAG = "create TAG 1 [(id, u16, 100), (dst_port, u16, 53), (key, u32, 9)]"
#: Changes of every sort, for one request.
MANY = ("update FATE 1 [(queue, u8, 9)]; delete PAIR 2; delete FATE 2; "
        "create FATE 2 [(action, u8, OPEN), (queue, u8, 3)], FATE 3 [(action, u8, DROP), "
        "(queue, u8, 4)], PAIR 3 [(src, u32, 10.0.0.3), FATE 3]; delete CLASS 1; "
        "create CLASS 1 [(dscp, u8, 10), (queue, u8, 1)]")  # fmt: skip


@cache
def bundle() -> Bundle:
    pipeline = check_file(TUNNELS)
    built = compile_for_card(pipeline, on_host=True)
    return Bundle(built.manifest, built.object)


@pytest.fixture
def here(lab: Lab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    real = attach.attach

    def attached(loaded: Any, ports: Any, mode: XdpMode, spans: Any) -> None:
        assert mode is XdpMode.OFFLOAD
        real(loaded, ports, XdpMode.GENERIC, spans)

    monkeypatch.setattr(attach, "attach", attached)
    monkeypatch.setattr(Object, "bind", lambda self, bound: None)
    monkeypatch.setattr(loaded, "need_cards", lambda ports: None)
    found = World(make_edge(lab), f"ht{os.getpid()}-ca{next(_numbers)}", tmp_path)
    yield found
    if (ROOT / found.name).exists():
        remove_pinned(found.name)
    for posted in paths.RUN.glob(f"{found.name}.*"):
        posted.unlink()


def load(agent: Agent, here: World) -> None:
    agent.load(bundle(), Source("<edge>", EDGE), here.name)
    for text in (FATES, PAIRS, CLASS, TAG):
        asked(agent, text)


def asked(agent: Agent, text: str, key: str = "") -> Outcome:
    owner = agent.owner()
    return owner.apply(wish(owner, text, key=key))


def codes(action: Callable[[], object]) -> list[str]:
    with pytest.raises(Refused) as error:
        action()
    return [d.code for d in error.value.diagnostics]


def held(agent: Agent) -> tuple[dict[str, str], list[Diagnostic]]:
    """Rules and findings; the card has just these rules."""
    owner = agent.owner()
    with owner.still() as loaded:
        assert isinstance(loaded, LoadedCard)
        for name, table in loaded.writer.tables.items():
            _agrees(loaded, table, list(loaded.book.rules(name)))
        saved = sorted(loaded.book.save())
    with CardReader(owner.name) as reader, owner.hold() as copy:
        rules = [counted.rule for counted in reader.snapshot_in(copy.descriptor)]
        assert sorted(rules) == saved == sorted(counted.rule for counted in reader.rules())
    (status,) = agent.status()
    return {f"{r.kind} {r.id} {r.name}": str(r[5:]) for r in rules}, list(status.findings)


def _agrees(loaded: LoadedCard, table: CardTable, rules: list[Any]) -> None:
    expected, records = {}, {}
    for rule in rules:
        cell = table.cells[rule.sequence]
        whole, key, rank = table.key(rule) or (b"", b"", 0)
        value = table.value(rule, cell, whole, rank, lambda k, n: loaded.writer.tables[k].ids[n])
        expected[key], records[cell.to_bytes(4, "little")] = value, value
    if table.entries is not None:
        assert _live(table.entries) == expected, table.kind.name
    for cell_, value in records.items() if table.records is not None else ():
        assert table.records is not None and table.records.lookup(cell_) == value


def _live(table: Map) -> dict[bytes, bytes]:
    return {key: value for key, value in table.items() if any(value)}


def before_each(change: Callable[[Map], None]) -> dict[str, Callable[..., Any]]:
    """What takes the place of those methods by which a map changes."""

    def with_that(real: Callable[..., Any]) -> Callable[..., Any]:
        def changed(table: Map, *arguments: Any) -> Any:
            change(table)
            return real(table, *arguments)

        return changed

    return {name: with_that(getattr(Map, name)) for name in ("update", "delete")}


# ---- as on the host -------------------------------------------------------------------------


def test_what_the_agent_keeps_of_a_card(here: World) -> None:
    def go() -> None:
        with opened(here) as agent:
            load(agent, here)
            done = asked(agent, MANY, "once")
            assert done.revision == 5 and codes(lambda: asked(agent, TAG)) == ["H0451"]
            found = held(agent)
            assert not found[1] and len(found[0]) == 7
            assert codes(lambda: agent.owner().upgrade(other)) == ["H0755"]
            edge = Source("<edge>", EDGE)
            assert codes(lambda: agent.owner().upgrade(bundle(), config=edge)) == ["H0884"]
            assert agent.upgrade(bundle()).rules == 7 and held(agent) == found
        with opened(here) as agent:  # the pipeline worked on
            assert held(agent) == found and asked(agent, MANY, "once").repeated
        remove_pinned(here.name)  # as a reboot does
        with opened(here) as agent:
            assert held(agent) == found and agent.owner().revision == 5
            assert asked(agent, MANY, "once").repeated
            assert asked(agent, "delete TAG 1").revision == 6
            agent.unload()
        with opened(here) as agent:
            assert not agent.status() and not (ROOT / here.name).exists()

    manifest = bundle().manifest
    rules = tuple(replace(k, capacity=k.capacity * 2) for k in manifest.rules)
    other = Bundle(replace(manifest, rules=rules), bundle().object)
    here.edge.inside_thread(go)


def test_a_request_that_a_card_takes_half_is_none(
    here: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whichever operation fails, and also where taking back fails, too."""
    random = Random(7)

    def refused(agent: Agent, first: int, last: int) -> bool:
        calls = count(1)

        def fails(table: Map) -> None:
            if first <= next(calls) <= last:
                raise BpfError(f"write map `{table.name}`", 5)

        with monkeypatch.context() as patched:
            for name, method in before_each(fails).items():
                patched.setattr(Map, name, method)
            try:
                asked(agent, MANY)
            except Refused as error:
                return [d.code for d in error.diagnostics] == ["H0722"]
        return False

    def go() -> None:
        with opened(here) as agent:
            load(agent, here)
            before, nth = held(agent), 1
            while refused(agent, nth, nth + random.randrange(4)):
                assert held(agent) == before
                nth += 1
            assert nth > 10 and held(agent) != before

    here.edge.inside_thread(go)


def test_an_agent_that_is_killed_halfway(here: World) -> None:
    """It had written the request down: the next one makes it, whole."""
    real = LoadedCard.apply_plan

    def child(nth: int) -> None:
        calls = count(1)

        def killed(_: Map) -> None:
            if next(calls) == nth:
                os._exit(7)

        def apply_plan(self: LoadedCard, plan: Plan, *others: Any) -> None:
            for name, method in before_each(killed).items():
                setattr(Map, name, method)
            real(self, plan, *others)
            os._exit(8)

        with opened(here) as agent:
            agent.owner()
            LoadedCard.apply_plan = apply_plan  # type: ignore[method-assign, assignment]
            asked(agent, MANY)

    def go() -> None:
        with opened(here) as agent:
            load(agent, here)
            asked(agent, MANY)
            after = held(agent)
            agent.unload()
        for nth in count(1, 3):
            with opened(here) as agent:
                load(agent, here)
            if not (pid := os.fork()):
                try:
                    child(nth)
                finally:
                    os._exit(1)
            ended = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
            with opened(here) as agent:
                assert held(agent) == after
                agent.unload()
            assert ended in (7, 8)
            if ended == 8:
                assert nth > 10
                return

    here.edge.inside_thread(go)


# ---- what the agent does by itself -----------------------------------------------------------

SERVICE = (
    "create SERVICE {n} [(tunnel, u16, VXLAN), (tenant, u32, 7), (teid, u32, 100), (src_ip, u32, "
    "10.45.0.{n}), (dst_ip, u32, 198.51.100.9), (protocol, u8, UDP), (src_port, u16, 4000), "
    "(dst_port, u16, 80), (queue, u8, {n}), (overloaded, u8, NO)]"
)


def test_congestion_and_intents_reach_a_card(here: World, monkeypatch: pytest.MonkeyPatch) -> None:
    built = compile_for_card(check_file(SLICE), on_host=True)
    edge = "ports:\n  NIC: {role: nic, interface: lan0}\ncongestion: {period: 60s}\n"
    monkeypatch.setattr(host, "cpus_of_queues", lambda interfaces: {1: 0, 2: 1})

    def kinds(owner: Owner) -> dict[str, list[Any]]:
        with CardReader(owner.name) as reader:
            rules = [counted.rule for counted in reader.rules()]
        return {k: [dict(r.values).get("overloaded") for r in rules if r.kind == k]
                for k in ("CONGESTION", "SERVICE")}  # fmt: skip

    def go() -> None:
        with opened(here) as agent:
            agent.load(Bundle(built.manifest, built.object), Source("<edge>", edge), here.name)
            owner, watcher = agent.owner(), Watcher(agent.owners)
            asked(agent, "; ".join(SERVICE.format(n=n) for n in (1, 2)))
            loaded = owner.loaded
            settings, shape = CONGESTION.of(loaded.about), shape_of(loaded.manifest)
            assert settings is not None and shape is not None
            watched = WatchedPipeline(owner, settings, shape)
            assert watcher.settle(watched, Verdict(True, {1: 8}))
            assert kinds(owner) == {"CONGESTION": [None], "SERVICE": [0, 1]}
            assert len(_live(owner.loaded.maps["congestion_entries"])) == 1
            assert watcher.settle(watched, Verdict())
            assert kinds(owner) == {"CONGESTION": [], "SERVICE": [0, 0]}
            taken = agent.intents.apply(Source("<intent>", intent(mode="offload")), here.name)
            assert taken.state == "active" and len(kinds(owner)["SERVICE"]) == 3
            agent.intents.remove("video-17", here.name)
            assert len(kinds(owner)["SERVICE"]) == 2

    here.edge.inside_thread(go)
