"""What a watcher is told that reads more slowly than packets raise events."""

from __future__ import annotations

from threading import Thread

from helioc.lang.contract.manifest.manifest import EventField, EventKind
from helioc.lang.contract.world.emitted import EventRecord
from helioc.runtime.emitted.source import Raised
from helioc.runtime.emitted.watchers import DEPTH, KEPT, RaisedEvents

KIND = EventKind("SCAN", 7, 24, (EventField("n", "u8", 16, 1),), 1000)
OTHER = EventKind("OTHER", 8, 24, (), 1000)


def raised(time: int, pipeline: str = "p", kind: EventKind = KIND) -> Raised:
    return Raised(pipeline, "1", time, EventRecord(kind, time, bytes(24)))


def test_it_is_told_how_many_it_missed_and_where() -> None:
    events = RaisedEvents()
    with events.watch() as watcher:
        sent = [raised(n) for n in range(DEPTH + 5)]
        for at in range(0, len(sent), 64):
            events.tell("p", sent[at : at + 64])
        found = iter(watcher)
        assert [next(found) for _ in range(2)] == sent[:2]
        events.tell("p", [raised(-1)])
        assert [next(found) for _ in range(DEPTH - 2)] == sent[2:DEPTH]
        assert next(found) == 5
        assert next(found) == raised(-1)
        watcher.close()
        assert list(found) == []


def test_the_last_ones_missed_are_told_when_nothing_else_comes() -> None:
    events = RaisedEvents()
    with events.watch() as watcher:
        events.tell("p", [raised(n) for n in range(DEPTH + 3)])
        watcher.close()
        *read, missed = list(watcher)
        assert (len(read), missed) == (DEPTH, 3)


def test_a_filter_that_nothing_passes_misses_nothing() -> None:
    events = RaisedEvents()
    with events.watch("p", ["SCAN"]) as watcher, events.watch("q") as other:
        events.tell("p", [raised(n, kind=OTHER) for n in range(2 * DEPTH)])
        events.tell("p", [raised(9)])
        for each in (watcher, other):
            each.close()
        assert list(watcher) == [raised(9)]
        assert list(other) == []


def test_what_is_kept_is_bounded_and_comes_in_time() -> None:
    events = RaisedEvents()
    for n in range(KEPT + 10):
        events.tell("p", [raised(2 * n)])
    events.tell("q", [raised(9001, "q")])
    with events.watch("p", kept=True) as watcher:
        watcher.close()
        assert list(watcher) == [raised(2 * n) for n in range(10, KEPT + 10)]
    with events.watch(kept=True) as watcher:
        watcher.close()
        times = [each.time for each in watcher if isinstance(each, Raised)]
        assert times == sorted(times)
        assert 9001 in times
    events.forget("q")
    with events.watch("q", kept=True) as watcher:
        watcher.close()
        assert list(watcher) == []


def test_who_begins_while_packets_raise_events_gets_each_once() -> None:
    events, count = RaisedEvents(), KEPT // 2

    def tell() -> None:
        for n in range(count):
            events.tell("p", [raised(n)])

    thread = Thread(target=tell)
    thread.start()
    with events.watch(kept=True) as watcher:
        thread.join()
        watcher.close()
        assert list(watcher) == [raised(n) for n in range(count)]
