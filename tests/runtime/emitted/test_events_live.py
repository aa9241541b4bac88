"""Packets raise events: the agent reads them, clients watch them, and what is lost is counted."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
from helioc.runtime.client import Client, Rejected, Watch
from helioc.runtime.loading.loader import Loaded
from helioc.runtime.loading.upgrade import upgrade
from helioc.runtime.loading.upgrade_plan import plan_upgrade
from helioc.runtime.rpc import control_pb2 as pb
from knock import KNOCK, Knocker, built, changed, knocker
from lab import Lab, until

pytestmark = pytest.mark.usefixtures("kernel")


@pytest.fixture
def here(lab: Lab, tmp_path: Path) -> Iterator[Knocker]:
    with knocker(lab, tmp_path) as made:
        yield made


def fields(event: pb.Event) -> dict[str, str]:
    return {field.name: field.text for field in event.emitted.fields}


def take(watch: Watch, count: int) -> list[pb.Event]:
    events = iter(watch)
    return [next(events) for _ in range(count)]


def kept(client: Client, *events: str) -> list[pb.Event]:
    """What the agent has read."""
    with client.watch_emitted(events, only_kept=True) as watch:
        return list(watch)


def test_a_watcher_is_told_of_each_packet(here: Knocker) -> None:
    with here.agent(), here.client() as client:
        here.load(client)
        client.apply("create HOST 7 laptop [(src, 10.1.0.10)]")
        with client.watch_emitted() as watch, client.watch_emitted(["KNOWN"]) as known:
            here.knock(port=53)
            here.knock("10.1.0.11", port=80)
            told, (rule,) = take(watch, 3), take(known, 1)
        assert [(e.emitted.event, fields(e)) for e in told] == [
            ("KNOCK", {"src": "10.1.0.10", "port": "53", "via": "LAN"}),
            ("KNOWN", {"host": "HOST laptop", "from": "02:00:00:00:00:0a"}),
            ("KNOCK", {"src": "10.1.0.11", "port": "80", "via": "LAN"}),
        ]
        assert rule == told[1]
        assert told[0].emitted.time < told[2].emitted.time
        values = {f.name: f for f in told[0].emitted.fields}
        assert (values["src"].address, values["port"].number) == (bytes([10, 1, 0, 10]), 53)
        named = told[1].emitted.fields[0].rule
        assert (named.kind, named.id, named.name, named.there) == ("HOST", 7, "laptop", True)


def test_a_rule_that_was_deleted_is_no_other_of_its_id(here: Knocker) -> None:
    with here.agent(), here.client() as client:
        here.load(client)
        client.apply("create HOST 7 laptop [(src, 10.1.0.10)]")
        here.knock()
        until(lambda: len(kept(client)) == 2, "the agent has read the records")
        client.apply("delete HOST 7; create HOST 7 printer [(src, 10.1.0.10)]")
        (event,) = kept(client, "KNOWN")
        rule = event.emitted.fields[0].rule
        assert (rule.id, rule.name, rule.there) == (7, "", False)
        assert fields(event)["host"] == "HOST 7"


def test_helioctl_prints_a_line_each(here: Knocker) -> None:
    with here.agent(), here.client() as client:
        here.load(client)
        here.knock()
        until(lambda: len(kept(client)) == 1, "the agent has read the records")
        said = here.ctl("events")
        line = r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{6}  " + here.name
        assert re.fullmatch(
            line + r"  KNOCK \{ src = 10\.1\.0\.10, port = 53, via = LAN \}\n", said
        )
        (found,) = map(json.loads, here.ctl("events", "KNOCK", "--json").splitlines())
        assert found["fields"] == {"src": "10.1.0.10", "port": 53, "via": 1}
        assert found["event"] == "KNOCK"
        assert here.ctl("events", "KNOWN") == ""
        assert "did you mean `KNOCK`" in here.ctl("events", "KNOK", status=1)
        assert "error[H0758]" in here.ctl("--local", "events", status=1)
        status = here.ctl("status")
        assert re.search(r"KNOCK +1 +0 +0", status)
        assert 'helio_events_total{event="KNOCK"' in here.ctl("metrics")


def test_without_an_agent_they_wait_in_the_kernel(here: Knocker) -> None:
    with here.agent() as process, here.client() as client:
        here.load(client)
        process.stop(9)
    for _ in range(5):
        here.knock()
    with here.agent(), here.client() as client:
        until(lambda: len(kept(client)) == 5, "the agent has read the records")
        assert here.emitted(client, "KNOCK") == 5


WIDER = changed(
    ("port : u16, via", "port : u32, twice : u32, via"),
    ("port = udp.dst, via", "port = udp.dst, twice = udp.dst * 2, via"),
)
QUIET = re.sub(r" +event .*\n| +emit .*\n", "", KNOCK)


def twice(client: Client) -> list[str | None]:
    return [fields(event).get("twice") for event in kept(client)]


def test_an_upgrade_loses_none_and_reads_each_by_its_build(here: Knocker) -> None:
    with here.agent(), here.client() as client:
        here.load(client)
        here.knock(port=1)
        client.upgrade(built(WIDER))
        here.knock(port=3)
        until(lambda: len(kept(client)) == 2, "the agent has read the records")
        assert twice(client) == [None, "6"]
        client.upgrade(built(QUIET))
        here.knock(port=4)
        client.upgrade(built(KNOCK))
        here.knock(port=5)
        until(lambda: len(kept(client)) == 3, "the agent has read the records")
        assert twice(client) == [None, "6", None]


def test_what_is_unread_at_an_upgrade_without_an_agent_is_read_later(here: Knocker) -> None:
    """By what its build wrote, over two upgrades."""
    with here.agent(), here.client() as client:
        here.load(client)
    narrower = changed(("port : u16, via", "via"), ("port = udp.dst, via", "via"))
    for port, text in enumerate((WIDER, narrower), 1):
        here.knock(port=port)
        here.edge.inside_thread(partial(upgraded, here.name, text))
    here.knock(port=3)
    with here.agent(), here.client() as client:
        until(lambda: len(kept(client)) == 3, "the agent has read the records")
        assert [fields(event).get("port") for event in kept(client)] == ["1", "2", None]
        assert twice(client) == [None, "4", None]


def upgraded(name: str, text: str) -> None:
    with Loaded.open(name) as running:
        upgrade(running, plan_upgrade(running, built(text))).close()


def test_the_limits_hold_and_are_counted(here: Knocker) -> None:
    """Two of each source at once; of another one as many."""
    with here.agent(), here.client() as client:
        here.load(client)
        client.apply("create HOST 1 [(src, 10.1.0.10)], HOST 2 [(src, 10.1.0.11)]")
        for source in ("10.1.0.10", "10.1.0.11"):
            for _ in range(20):
                here.knock(source)
        until(lambda: here.emitted(client, "KNOCK") == 40, "the agent has read the records")
        counts = {(e.group, e.reason): e.count for e in client.stats().events}
        assert counts["emitted", "KNOWN"] + counts["suppressed", "KNOWN"] == 40
        assert 4 <= counts["emitted", "KNOWN"] <= 6  # two a second come back
        until(
            lambda: len(kept(client, "KNOWN")) == counts["emitted", "KNOWN"],
            "the agent has read the records",
        )
        by = {fields(e)["host"] for e in kept(client, "KNOWN")}
        assert by == {"HOST 1", "HOST 2"}


def test_what_nobody_declares_is_refused(here: Knocker) -> None:
    with here.agent(), here.client() as client:
        here.load(client)
        with pytest.raises(Rejected) as caught, client.watch_emitted(["NONE"]):
            pass
        assert caught.value.diagnostics[0].code == "H0757"
