"""Intents through `heliod` on a real kernel: packets counted, and what outlives the agent."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path

import pytest
from agent_world import World
from helioc.runtime.client import Client, Rejected
from helioc.runtime.congestion.queue_counts import QueueCounts
from helioc.runtime.http2.codes import Code
from helioc.runtime.kernel.maps import Map
from helioc.runtime.loading.bundle import read_bundle
from helioc.runtime.loading.releases import release_of
from helioc.runtime.rpc import control_pb2 as pb
from lab import Lab, Wire, until
from scapy.layers.inet import IP
from scapy.layers.l2 import Dot1Q, Ether
from slice_world import EDGE, frame, intent, slice_world

pytestmark = pytest.mark.usefixtures("kernel")


@pytest.fixture
def here(lab: Lab, tmp_path: Path) -> Iterator[tuple[World, Wire, str]]:
    with slice_world(lab, tmp_path) as made:
        yield made


def load(here: World, client: Client) -> None:
    client.load(read_bundle(here.directory / "bundle"), EDGE)


def state(client: Client, name: str = "video-17") -> str:
    return pb.Intent.State.Name(client.intents(name)[0].state)


def test_what_an_intent_names_is_counted_for_it(here: tuple[World, Wire, str]) -> None:
    world, wire, mac = here
    with world.agent(), world.client() as client:
        load(world, client)
        made = client.apply_intent(intent(interface="nic0", mode="native"))
        assert (made.id, made.state) == ("video-17", pb.Intent.ACTIVE) and not made.HasField("ends")
        assert [(rule.kind, rule.id) for rule in made.rules] == [("SERVICE", 1)]
        client.apply_intent(intent("other", teid=101))
        with closing(client.reports(period=0.1)) as reports:
            first = next(reports)
            assert [r.packets for r in first.intents] == [0, 0] and first.seconds == 0
            sent = [frame(mac), frame(mac, size=500), frame(mac, teid=101), frame(mac, teid=102)]
            for data in sent:
                wire.send(data)
            found: dict[str, pb.IntentReport] = {}

            def counted() -> bool:
                found.update((each.id, each) for each in next(reports).intents)
                return [found[name].packets for name in ("video-17", "other")] == [2, 1]

            until(counted, "three packets in reports")
        assert found["video-17"].octets == len(sent[0]) + len(sent[1])
        assert found["other"].octets == len(sent[2])
        sizes = {size.octets: size.packets for size in found["video-17"].sizes}
        assert sizes == {64: 0, 127: 0, 255: 1, 511: 0, 1023: 1, 1518: 0, 0: 0}  # 228 + 4, 628 + 4
        assert "loss" not in found["other"].not_measured and not found["other"].new_lost_at_most
        assert client.remove_intent("video-17").state == pb.Intent.REMOVED
        assert [each.id for each in client.intents()] == ["other"]
        assert [rule.name for rule in client.rules(kinds=["SERVICE"])] == ["other"]


def test_a_teid_alone_is_an_intent(here: tuple[World, Wire, str]) -> None:
    """By helioctl: whatever else the packets are they are counted, and go to the queue's CPU."""
    world, wire, mac = here
    with world.agent(), world.client() as client:
        load(world, client)
        (world.directory / "teid.yaml").write_text(
            "resourceId: user-100\nresources: [gtpu: {teid: 100}]\naction: {queue: 1}\n"
        )
        world.ctl("intent", "apply", "teid.yaml")
        maps = release_of(world.name, 1) / "maps"
        with ExitStack() as owned:
            cpus, queues = (
                owned.enter_context(Map.open_pinned(maps / name)) for name in ("cpus", "queues")
            )
            counts = owned.enter_context(closing(QueueCounts(cpus)))
            cpu = int.from_bytes(queues.lookup((1).to_bytes(4, "little")) or b"", "little")
            for data in (frame(mac), frame(mac, port=1, vni=99), frame(mac, teid=101)):
                wire.send(data)
            until(lambda: counts.by_cpu()[cpu].queued == 2, "two frames in the queue of CPU 1")
        report = json.loads(world.ctl("intent", "report", "--json", "--count", "1"))
        assert [each["packets"] for each in report["intents"]] == [2]
        other = Ether(dst=mac, src="02:00:00:00:00:09")
        for data in (other / IP(src="10.9.0.2", dst="10.9.0.1"), other / Dot1Q() / Dot1Q() / IP()):
            wire.send(bytes(data).ljust(60, b"\0"))

        def reasons() -> bool:
            events = json.loads(world.ctl("stats", "--json"))["events"]
            return bool(events["count"].get("no_tunnel") == events["count"].get("vlan") == 1)

        until(reasons, "what is not seen is counted by reason")


def test_programs_are_timed_for_reports(here: tuple[World, Wire, str]) -> None:
    world, wire, mac = here
    with world.agent("--program-times"), world.client() as client:
        load(world, client)
        client.apply_intent(intent())
        with closing(client.reports("video-17", period=0.2)) as reports:
            next(reports)

            def timed() -> pb.IntentReports | None:
                wire.send(frame(mac))
                found = next(reports)
                return found if found.intents[0].new_packets else None

            found = until(timed, "a report with a packet")
        assert found is not None
        each, host = found.intents[0], found.host
        assert host.nanoseconds > 0 and host.cpus and all(0 <= cpu <= 1 for cpu in host.cpus)
        assert each.cpu == pytest.approx(
            each.new_packets * host.nanoseconds / 1e9 / found.seconds, rel=1e-6
        )
        assert not each.not_measured


def test_it_begins_and_ends_by_itself(here: tuple[World, Wire, str]) -> None:
    """What happens is read from events, so that nothing has to be seen while it lasts."""
    world, _, _ = here
    with world.agent(), world.client() as client:
        load(world, client)
        with client.watch() as watch:
            made = client.apply_intent(intent(start="+1s", duration="0.1s"))
            assert made.state == pb.Intent.PENDING
            assert made.ends - made.begins == pytest.approx(0.1)
            changes = (event.rules for event in watch if event.HasField("rules"))
            created = next(changes)
            assert time.time() >= made.begins and not created.removed
            assert [(rule.kind, rule.id) for rule in created.created] == [("SERVICE", 1)]
            removed = next(changes)
            assert time.time() >= made.ends and not removed.created
            assert [(rule.kind, rule.id) for rule in removed.removed] == [("SERVICE", 1)]
        until(lambda: state(client) == "EXPIRED", "it has ended")
        assert not list(client.rules(kinds=["SERVICE"]))


def test_the_next_agent_goes_on(here: tuple[World, Wire, str]) -> None:
    world, _, _ = here
    with world.agent() as process, world.client() as client:
        load(world, client)
        client.apply_intent(intent())
        ends = client.apply_intent(intent("short", teid=101, duration="1s")).ends
        begins = client.apply_intent(intent("later", teid=102, start="+1s")).begins
        process.stop(9)
    until(lambda: time.time() > max(begins, ends), "both moments have passed")
    with world.agent(), world.client() as client:
        until(lambda: state(client, "short") == "EXPIRED", "it is ended now")
        until(lambda: state(client, "later") == "ACTIVE", "it is begun now")
        assert state(client) == "ACTIVE"
        names = {rule.name for rule in client.rules(kinds=["SERVICE"])}
        assert names == {"video-17", "later"}
        client.unload()
        assert client.intents() == []


def test_what_somebody_deletes_is_not_ended_twice(here: tuple[World, Wire, str]) -> None:
    world, _, _ = here
    with world.agent(), world.client() as client:
        load(world, client)
        client.apply_intent(intent())
        text = next(iter(client.rules(kinds=["SERVICE"]))).text
        client.apply("delete SERVICE 1")
        found = client.intents()[0]
        assert found.state == pb.Intent.FAILED and "deleted by somebody else" in found.why
        assert client.apply_intent(intent()).state == pb.Intent.ACTIVE
        assert [rule.text for rule in client.rules(kinds=["SERVICE"])] == [text]
        client.apply("delete SERVICE 1")
        client.apply("create " + text.replace("(teid, u32, 100)", "(teid, u32, 200)"))
        client.remove_intent("video-17")
        (left,) = client.rules(kinds=["SERVICE"])
        assert left.id == 1 and "(teid, u32, 200)" in left.text


def test_an_intent_takes_the_place_of_its_predecessor(here: tuple[World, Wire, str]) -> None:
    world, _, _ = here
    with world.agent(), world.client() as client:
        load(world, client)
        before = client.apply_intent(intent())
        revision = client.stats().revision
        assert client.apply_intent(intent()) == before and client.stats().revision == revision
        client.apply_intent(intent(teid=101, queue=1))
        assert client.stats().revision == revision + 1
        (rule,) = client.rules(kinds=["SERVICE"])
        assert "(teid, u32, 101)" in rule.text and "(queue, u8, 1)" in rule.text
        with pytest.raises(Rejected) as error:
            client.apply_intent(intent(teid=103, start="+1h"))
        assert error.value.diagnostics[0].code == "H0833"
        with pytest.raises(Rejected) as error:  # a rule that another intent's is
            client.apply_intent(intent("twin", teid=101))
        where = error.value.diagnostics[0].labels[0].span
        assert where.source.name == "<intent>" and where.text == "ethernet"
        assert [each.id for each in client.intents()] == ["video-17"]


def test_helioctl(here: tuple[World, Wire, str]) -> None:
    world, _, _ = here
    file = world.directory / "intent.yaml"
    file.write_text(intent(duration="1h"))
    with world.agent():
        world.ctl("load", "bundle", "--config", "edge.yaml")
        assert "video-17 is active until " in world.ctl("intent", "apply", "intent.yaml")
        said = world.ctl("intent", "apply", "-", stdin=intent("b", start="+1h", teid=7))
        assert "b is pending until it begins at " in said
        shown = world.ctl("intent", "list")
        assert "video-17  active" in shown and "b         pending" in shown
        found = json.loads(world.ctl("intent", "list", "--json", "b"))
        assert [(i["resourceId"], i["state"]) for i in found] == [("b", "pending")]
        assert "dropped by CPUs" in world.ctl("intent", "report", "--count", "1")
        report = json.loads(world.ctl("intent", "report", "--count", "1", "--json", "video-17"))
        assert [each["packets"] for each in report["intents"]] == [0]
        assert "removed b" in world.ctl("intent", "remove", "b")
        assert "H0832" in world.ctl("intent", "remove", "b", status=1)
        for words in (["list"], ["list", "--json"], ["report"]):
            said = world.ctl("intent", *words, "video-17", "video-18", status=1)
            assert "H0832" in said and "`video-18`" in said and "did you mean `video-17`?" in said
        file.write_text(intent().replace("vni", "vnii"))
        said = world.ctl("intent", "apply", "intent.yaml", status=1)
        assert "intent.yaml:6:13" in said and "did you mean `vni`?" in said
        for words in (["intent", "list"], ["backup", "x"], ["repair"]):
            said = world.ctl("--local", *words, status=1)
            assert "error[H0834]: this needs the agent, and `--local` asks none" in said


def test_roles(here: tuple[World, Wire, str]) -> None:
    from helioc.runtime.rpc.access import NEEDED

    assert NEEDED["ListIntents"] == NEEDED["ReportIntents"] == "read"
    assert NEEDED["ApplyIntent"] == NEEDED["RemoveIntent"] == "rules"
    world, _, _ = here
    with world.agent(), world.client() as client:
        load(world, client)
        with pytest.raises(Rejected) as error:
            next(client.reports(period=0.01))
        assert error.value.status is Code.INVALID_ARGUMENT


def test_a_backup_has_them(here: tuple[World, Wire, str]) -> None:
    """Those that are active with their rules, and those that are to begin; others go."""
    world, _, _ = here
    with world.agent(), world.client() as client:
        load(world, client)
        client.apply_intent(intent())
        client.apply_intent(intent("later", teid=101, start="+1h"))
        data = b"".join(client.backup())
        client.remove_intent("video-17")
        client.apply_intent(intent("other", teid=102))
        reply = client.restore([data], replace_all=True)
        assert reply.intents == 2
        assert [rule.name for rule in client.rules(kinds=["SERVICE"])] == ["video-17"]
        assert (state(client), state(client, "later")) == ("ACTIVE", "PENDING")
        assert client.remove_intent("video-17").state == pb.Intent.REMOVED
        assert not list(client.rules(kinds=["SERVICE"]))
    with world.agent(), world.client() as client:
        assert [each.id for each in client.intents()] == ["later"]
