"""Rules raise events by their age and by what they counted: the agent looks at them, tells of each
once, and so does the next agent and the next build."""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
from helioc.runtime.base.paths import RUN
from helioc.runtime.client import Client
from helioc.runtime.loading.loader import Loaded
from helioc.runtime.loading.upgrade import upgrade
from helioc.runtime.loading.upgrade_plan import plan_upgrade
from helioc.runtime.rpc import control_pb2 as pb
from knock import Knocker, built, changed, knocker
from lab import Lab, until

pytestmark = pytest.mark.usefixtures("kernel")

FRAME = 64  # bytes of `knock.frame`
ELEMENTS = """ie src = 1, ip4
  ie quota = 2, u64
  ie patience = 3, u32
"""
EVENTS = """event IDLE { host : HOST, src : ip4, packets : u64 } limit 1k per second
  event USED { host : HOST, volume : u64 }
  event KNOCK"""
RULES = """match src exact user.src
    gives quota, patience
    counts packets, bytes
    emit IDLE { host = HOST, src = HOST.src, packets = HOST.packets } after patience idle
    emit USED { host = HOST, volume = HOST.bytes } after quota bytes
"""
OF_RULES = changed(
    ("ie src = 1, ip4\n", ELEMENTS), ("event KNOCK", EVENTS), ("match src exact user.src\n", RULES)
)


@pytest.fixture
def here(lab: Lab, tmp_path: Path) -> Iterator[Knocker]:
    with knocker(lab, tmp_path) as made:
        yield made


def said(event: pb.Event) -> tuple[str, dict[str, str]]:
    return event.emitted.event, {field.name: field.text for field in event.emitted.fields}


def kept(client: Client, *events: str) -> list[tuple[str, dict[str, str]]]:
    """What the agent has told of."""
    with client.watch_emitted(events or ["IDLE", "USED"], only_kept=True) as watch:
        return [said(event) for event in watch if event.WhichOneof("what") == "emitted"]


def looked() -> None:
    """For two looks."""
    time.sleep(2.2)


def test_a_watcher_is_told_once(here: Knocker) -> None:
    with here.agent(), here.client() as client:
        here.load(client, OF_RULES)
        quota = f"(quota, {2 * FRAME}), (patience, 2)"
        client.apply(f"create HOST 7 laptop [(src, 10.1.0.10), {quota}]")
        here.knock()
        looked()
        assert not kept(client, "USED")
        here.knock()
        used = "USED", {"host": "HOST laptop", "volume": str(2 * FRAME)}
        until(lambda: kept(client, "USED") == [used], "it was told of")
        idle = "IDLE", {"host": "HOST laptop", "src": "10.1.0.10", "packets": "2"}
        begun = time.monotonic()
        until(lambda: kept(client, "IDLE")[-1:] == [idle], "it was told of")
        assert time.monotonic() - begun < 4
        looked()
        assert Counter(name for name, _ in kept(client))["USED"] == 1
        assert kept(client, "IDLE")[-2:] != [idle, idle]
        assert 'helio_events_total{event="USED"' in here.ctl("metrics")
        assert here.emitted(client, "USED") == 1
        assert "USED { host = HOST laptop" in here.ctl("events", "USED")


def test_the_next_agent_tells_of_what_is_due_and_of_nothing_twice(here: Knocker) -> None:
    with here.agent() as process, here.client() as client:
        here.load(client, OF_RULES)
        client.apply(
            f"create HOST 7 [(src, 10.1.0.10), (quota, {FRAME})], HOST 8 [(src, 10.1.0.11),"
            f" (quota, {FRAME})], HOST 9 [(src, 10.1.0.12), (patience, 3)]"
        )
        here.knock()
        until(lambda: len(kept(client, "USED")) == 1, "it was told of")
        process.stop(9)
    here.knock("10.1.0.11")
    time.sleep(3)
    with here.agent(), here.client() as client:
        until(lambda: len(kept(client)) == 2, "what was due meanwhile is told of")
        looked()
        assert sorted((n, f["host"]) for n, f in kept(client)) == [
            ("IDLE", "HOST 9"),
            ("USED", "HOST 8"),
        ]
        assert here.emitted(client, "USED") == 2


def upgraded(name: str, text: str) -> None:
    with Loaded.open(name) as running:
        upgrade(running, plan_upgrade(running, built(text))).close()


MORE = "after quota bytes\n    emit USED { host = HOST, volume = 1 } each 2 packets\n"
LARGER = OF_RULES.replace("rule HOST [64]", "rule HOST [4k]").replace("after quota bytes\n", MORE)


@pytest.mark.parametrize("with_agent", [True, False])
def test_another_build_tells_of_nothing_twice(here: Knocker, with_agent: bool) -> None:
    with here.agent() as process, here.client() as client:
        here.load(client, OF_RULES)
        client.apply(f"create HOST 7 [(src, 10.1.0.10), (quota, {FRAME}), (patience, 1)]")
        here.knock()
        until(lambda: len(kept(client)) == 2, "it was told of")
        if with_agent:
            client.upgrade(built(LARGER))
            here.knock()
            until(lambda: len(kept(client)) == 4, "by the new build, too")
            assert [each for each, _ in kept(client)].count("USED") == 2
            return
        process.stop()
    here.edge.inside_thread(partial(upgraded, here.name, LARGER))
    with here.agent(), here.client() as client:
        looked()
        assert not kept(client)
        here.knock()
        until(lambda: len(kept(client)) == 2, "by the new build, too")
        assert here.emitted(client, "USED") == 2


def test_many_at_once_come_as_fast_as_the_limit_allows(here: Knocker) -> None:
    text = OF_RULES.replace("rule HOST [64]", "rule HOST [4k]").replace("limit 1k", "limit 500")
    with here.agent(), here.client() as client:
        here.load(client, text)
        hosts = [f"HOST [(src, 10.2.{i // 250}.{i % 250}), (patience, 1)]" for i in range(1500)]
        client.apply(f"create {', '.join(hosts)}")
        until(lambda: len(kept(client)) > 0, "the first are told of")
        assert len(kept(client)) <= 1000
        assert "helio_events_due" in here.ctl("metrics")
        until(lambda: len(kept(client)) >= 1500, "all are")
        looked()
        told = [fields["host"] for _, fields in kept(client)]
        assert len(told) == len(set(told)) == 1500
        assert here.emitted(client, "IDLE") == 1500


def test_a_pipeline_that_is_loaded_again_begins_anew(here: Knocker) -> None:
    create = f"create HOST 7 [(src, 10.1.0.10), (quota, {FRAME})]"
    with here.agent(), here.client() as client:
        for _ in range(2):
            here.load(client, OF_RULES)
            until(lambda: not kept(client), "nothing of the load before is left")
            client.apply(create)
            here.knock()
            until(lambda: len(kept(client)) == 1, "it was told of")
            assert (RUN / f"{here.name}.rules").exists()
            client.unload()
            assert not (RUN / f"{here.name}.rules").exists()


def test_rules_that_come_and_go(here: Knocker) -> None:
    """Each that is made under the same id is another one."""
    create = f"create HOST 7 [(src, 10.1.0.10), (quota, {FRAME})]"
    with here.agent(), here.client() as client:
        here.load(client, OF_RULES)
        for made in range(1, 4):
            client.apply(f"{'delete HOST 7; ' if made > 1 else ''}{create}")
            looked()
            here.knock()
            until(lambda made=made: len(kept(client)) == made, "it was told of")  # type: ignore[misc]
        client.apply("update HOST 7 [(patience, 9)]")
        looked()
        assert len(kept(client)) == 3


def test_who_cuts_the_file_ends_no_agent(here: Knocker) -> None:
    """As who rotates logs by mistake does. What was told of is told of again."""
    with here.agent(), here.client() as client:
        here.load(client, OF_RULES)
        client.apply(f"create HOST 7 [(src, 10.1.0.10), (quota, {FRAME})]")
        here.knock()
        until(lambda: len(kept(client, "USED")) == 1, "it was told of")
        os.truncate(RUN / f"{here.name}.rules", 0)
        until(lambda: len(kept(client, "USED")) == 2, "it is told of again")
        looked()
        assert len(kept(client, "USED")) == 2
