"""What a watcher is told that reads more slowly than things change."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from queue import SimpleQueue
from threading import Thread

from helioc.runtime.owner.events import DEPTH, Event, Events, Missed, PipelineChanged


def changed(pipeline: str, revision: int) -> Event:
    return Event(pipeline, revision, PipelineChanged("upgraded"))


@contextmanager
def slow(events: Events, *sent: Event) -> Iterator[SimpleQueue[Event]]:
    """What a watcher reads that begins to when these were told."""
    found = SimpleQueue[Event]()
    with events.watch() as watcher:

        def read() -> None:
            for event in watcher:
                found.put(event)

        for event in sent:
            events.tell(event)
        thread = Thread(target=read, daemon=True)
        thread.start()
        try:
            yield found
        finally:
            events.close()
            thread.join(20)


def read(found: SimpleQueue[Event], count: int) -> list[Event]:
    return [found.get(timeout=20) for _ in range(count)]


def test_it_is_told_what_it_missed_when_it_has_read_the_rest() -> None:
    """Whether anything happens after that or not."""
    events, sent = Events(), [changed("p", n) for n in range(DEPTH + 5)]
    with slow(events, *sent) as found:
        assert read(found, DEPTH + 1) == [*sent[:DEPTH], Event("p", DEPTH + 4, Missed(5))]
        events.tell(changed("p", DEPTH + 5))
        assert read(found, 1) == [changed("p", DEPTH + 5)]
    assert found.empty()


def test_it_is_told_what_it_missed_of_each_pipeline() -> None:
    events = Events()
    sent = [changed(f"p{n % 3}", n) for n in range(DEPTH + 5)]
    with slow(events, *sent) as found:
        assert read(found, DEPTH) == sent[:DEPTH]
        lost, last = Counter(e.pipeline for e in sent[DEPTH:]), {e.pipeline: e for e in sent}
        assert sorted(read(found, 3), key=lambda event: event.pipeline) == [
            Event(name, last[name].revision, Missed(lost[name])) for name in sorted(last)
        ]


def test_it_is_told_what_it_missed_before_what_comes_then() -> None:
    events = Events()
    with events.watch("p") as watcher:
        for n in range(DEPTH + 2):
            events.tell(changed("p", n))
        reading = iter(watcher)
        assert next(reading) == changed("p", 0)
        events.tell(changed("other", 1))
        events.tell(changed("p", DEPTH + 2))
        events.close()
        assert [*reading][-2:] == [Event("p", DEPTH + 1, Missed(2)), changed("p", DEPTH + 2)]


def test_it_is_told_what_it_missed_at_the_end() -> None:
    events = Events()
    with events.watch() as watcher:
        for n in range(DEPTH + 1):
            events.tell(changed("p", n))
        events.close()
        assert [*watcher][-1] == Event("p", DEPTH, Missed(1))
