"""A loaded pipeline's states: what the reader answers (reading.py). Methods may raise `Refused`."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import Any

from ..loading.reader import Reader
from ..states.entry import Entry, Where
from . import control_pb2 as pb

#: Entries in one message.
ENTRIES = 256


def _states(reader: Reader, asked: pb.StatesRequest) -> Iterator[pb.StatesReply]:
    counts = [pb.StateCount(**each._asdict()) for each in reader.state_counts()]
    yield pb.StatesReply(states=counts)


def _entries(reader: Reader, asked: pb.EntriesRequest) -> Iterator[pb.EntriesPart]:
    most = min(asked.limit or sys.maxsize, sys.maxsize)
    found = islice(reader.state(asked.state).entries(_where(asked.where)), most)
    while some := [_message(entry) for entry in islice(found, ENTRIES)]:
        yield pb.EntriesPart(entries=some)


def _entry(reader: Reader, asked: pb.EntryRequest) -> Iterator[pb.Entry]:
    yield _message(reader.state(asked.state).entry(_where(asked.key)))


def _delete(reader: Reader, asked: pb.EntryRequest) -> Iterator[pb.DeletedReply]:
    reader.state(asked.state).delete(_where(asked.key))
    yield pb.DeletedReply(deleted=1)


def _flush(reader: Reader, asked: pb.FlushRequest) -> Iterator[pb.DeletedReply]:
    yield pb.DeletedReply(deleted=reader.state(asked.state).flush(_where(asked.where)))


#: By method: what it is asked for by, and its answers.
ANSWERS: dict[str, tuple[Any, Callable[[Reader, Any], Iterator[Any]]]] = {
    "States": (pb.StatesRequest, _states),
    "Entries": (pb.EntriesRequest, _entries),
    "GetEntry": (pb.EntryRequest, _entry),
    "DeleteEntry": (pb.EntryRequest, _delete),
    "Flush": (pb.FlushRequest, _flush),
}


def _where(slots: Iterable[pb.Slot]) -> Where:
    return [(slot.name, slot.value) for slot in slots]


def _message(entry: Entry) -> pb.Entry:
    slots = [pb.Slot(name=name, value=value) for name, value in entry.values]
    return pb.Entry(slots=slots, age=entry.age)
