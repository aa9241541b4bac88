"""What programs write into the event ring: full rings, limits, several CPUs; and records that no
build wrote."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import knock
import pytest
from helioc.lang.contract.manifest.manifest import EVENT_RING, EventKind, EventRing
from helioc.lang.contract.world.emitted import Unreadable, as_text, by_tag, decode
from helioc.lang.contract.world.environment import Environment, Port
from helioc.runtime.emitted.source import EventSource
from helioc.runtime.kernel.ring import Ring
from helioc.runtime.loading.former_events import former_events, with_events_of
from helioc.runtime.rules.counters import read_sums
from helioc.runtime.testrun.private_run import PrivateRun

ENVIRONMENT = Environment((Port(1, "LAN", "lan", 1, 1500, bytes(6)),), limits_events=True)
ENDLESS = knock.changed(("limit 100k per second", "limit 1000000 per second"))


@contextmanager
def run(text: str = knock.KNOCK) -> Iterator[PrivateRun]:
    with PrivateRun(knock.built(text)) as made:
        made.set_environment(ENVIRONMENT)
        yield made


def counts(made: PrivateRun) -> dict[tuple[str, str], int]:
    sums = read_sums(made.maps["events"], len(made.manifest.counters))[:, 0].tolist()
    counters = made.manifest.counters
    return {(c.group, c.reason): n for c, n in zip(counters, sums, strict=True) if n}


def ring_of(made: PrivateRun) -> EventRing:
    assert made.manifest.events is not None
    return made.manifest.events


def kinds(made: PrivateRun) -> dict[int, EventKind]:
    return by_tag(ring_of(made).kinds)


@pytest.mark.usefixtures("kernel")
def test_a_full_ring_delays_no_packet_and_each_loss_is_counted() -> None:
    """Nobody reads. Afterwards all that was written is there, in order, and there is room again."""
    with run(ENDLESS) as made, Ring(made.maps["event_ring"]) as ring:
        program, sent = made.entry(1), 0
        while ("unwritten", "KNOCK") not in counts(made):
            program.test_run(knock.frame(), ingress_ifindex=1, repeat=20_000)
            sent += 20_000
        found = counts(made)
        assert sum(found[what, "KNOCK"] for what in ("emitted", "unwritten")) == sent
        size = 8 + ring_of(made).kinds[0].size
        assert found["emitted", "KNOCK"] == (EVENT_RING - 1) // size
        assert found["verdict", "drop"] == sent
        records = [decode(record, kinds(made)) for record in ring.records()]
        assert len(records) == found["emitted", "KNOCK"]
        assert [r.time for r in records] == sorted(r.time for r in records)
        assert {as_text(r.kind, r.values) for r in records} == {
            "KNOCK { src = 10.1.0.10, port = 53, via = 1 }"
        }
        program.test_run(knock.frame(), ingress_ifindex=1)
        assert len(list(ring.records())) == 1


@pytest.mark.usefixtures("kernel")
def test_a_limit_holds_on_all_cpus_together() -> None:
    """100 at once and 100 a second; as many more as there are CPUs may pass at the same moment."""
    hundred = knock.changed(("limit 100k per second", "limit 100 per second"))
    with run(hundred) as made:
        program, cpus = made.entry(1), sorted(os.sched_getaffinity(0))
        begun = threading.Barrier(len(cpus))

        def work(cpu: int) -> None:
            os.sched_setaffinity(0, {cpu})
            begun.wait()
            for _ in range(50):
                program.test_run(knock.frame(), ingress_ifindex=1, repeat=2_000)

        threads = [threading.Thread(target=work, args=(cpu,)) for cpu in cpus]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        with Ring(made.maps["event_ring"]) as ring:
            times = [decode(record, kinds(made)).time for record in ring.records()]
        found = counts(made)
        assert found["emitted", "KNOCK"] + found["suppressed", "KNOCK"] == 100_000 * len(cpus)
        assert len(times) == found["emitted", "KNOCK"]
        allowed = 100 + (max(times) - min(times)) * 100 / 1e9
        assert allowed - 2 <= len(times) <= allowed + 3 * len(cpus)


@pytest.mark.usefixtures("kernel")
def test_one_source_does_not_take_what_is_of_others() -> None:
    few = knock.changed(
        ("limit 100k per second", "limit 1k per second, 5 by src"),
    )
    with run(few) as made:
        program = made.entry(1)
        program.test_run(knock.frame("10.9.9.9"), ingress_ifindex=1, repeat=10_000)
        for host in range(50):
            program.test_run(knock.frame(f"10.1.0.{host}"), ingress_ifindex=1, repeat=3)
        with Ring(made.maps["event_ring"]) as ring:
            found = [decode(record, kinds(made)).values[0] for record in ring.records()]
        assert found.count(int.from_bytes(bytes([10, 9, 9, 9]), "big")) in (5, 6)
        assert len(found) >= 5 + 50 * 3 - 6  # of 4,096 places two sources may share one


def test_records_that_no_build_wrote_are_refused() -> None:
    ring = knock.built().manifest.events
    assert ring is not None
    (kind, _), known = ring.kinds, by_tag(ring.kinds)
    good = kind.tag.to_bytes(8, "little").ljust(kind.size, b"\0")
    assert decode(good, known).kind == kind
    for bad in (b"", good[:15], good[:-8], good + bytes(8), bytes(kind.size)):
        with pytest.raises(Unreadable):
            decode(bad, known)


def test_such_records_are_left_out_and_said_once(caplog: pytest.LogCaptureFixture) -> None:
    """The others are read."""
    ring = knock.built().manifest.events
    assert ring is not None
    good = ring.kinds[0].tag.to_bytes(8, "little").ljust(ring.kinds[0].size, b"\0")
    records = [bytes(24), good, good[:-8], b"", good]
    source = object.__new__(EventSource)
    source.name, source.build, source.unreadable, source._looked_at = "none", ("1", 1), 0, 0
    source._kinds = by_tag(ring.kinds)
    written: Any = SimpleNamespace(records=lambda most: records[:most], damaged=16)
    source._ring = written
    with caplog.at_level("ERROR", "heliod.events"):
        assert [raised.record.content for raised in source.read()] == [good, good]
    assert source.unreadable == 4
    assert [record.message.count("H0756") for record in caplog.records] == [1]


def test_events_of_builds_before_are_known_and_bounded() -> None:
    manifest = knock.built().manifest
    assert manifest.events is not None
    about = with_events_of({}, manifest)
    assert former_events(about) == list(manifest.events.kinds)
    assert with_events_of(about, manifest) == about
    for damaged in ({"former_events": 3}, {"former_events": [{"name": 1}]}, {}):
        assert former_events(damaged) == []


def test_a_tag_is_of_a_name_and_a_layout() -> None:
    """Another build of the same event has the same, however its limits are."""

    def tags(text: str) -> list[int]:
        ring = knock.built(text).manifest.events
        assert ring is not None
        return [kind.tag for kind in ring.kinds]

    first = tags(knock.KNOCK)
    assert tags(ENDLESS) == first
    renamed = tags(knock.KNOCK.replace("KNOCK", "KNACK"))
    wider = tags(knock.changed(("port : u16", "port : u17")))
    assert len({*first, renamed[0], wider[0]}) == 4
    assert renamed[1] == wider[1] == first[1]
    assert all(tag < 1 << 53 for tag in first)
