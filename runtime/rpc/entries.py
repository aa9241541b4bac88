"""A loaded pipeline's states: what the reader answers (reading.py), and with what it deletes."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import Any

from ..kernel.handles import Program
from ..loading.any_loaded import AnyLoaded
from ..loading.reader import Reader
from ..states.entry import Entry, Where
from ..states.table import table_of
from . import control_pb2 as pb

#: Entries in one message.
ENTRIES = 256


def remover(loaded: AnyLoaded, asked: pb.EntryRequest | pb.FlushRequest) -> Program | None:
    """What deletes the entries that are meant, where it takes a program. Raises `Refused`."""
    table = table_of(loaded.manifest, loaded.maps, loaded.port_numbers, asked.state)
    return table.remover(_where(asked.where) if isinstance(asked, pb.FlushRequest) else ())


# ---- the reader ---------------------------------------------------------------------------------


def _states(reader: Reader, asked: pb.StatesRequest, _: object) -> Iterator[pb.StatesReply]:
    counts = [pb.StateCount(**each._asdict()) for each in reader.state_counts()]
    yield pb.StatesReply(states=counts)


def _entries(reader: Reader, asked: pb.EntriesRequest, _: object) -> Iterator[pb.EntriesPart]:
    most = min(asked.limit or sys.maxsize, sys.maxsize)
    found = islice(reader.state(asked.state).entries(_where(asked.where)), most)
    while some := [_message(entry) for entry in islice(found, ENTRIES)]:
        yield pb.EntriesPart(entries=some)


def _entry(reader: Reader, asked: pb.EntryRequest, _: object) -> Iterator[pb.Entry]:
    yield _message(reader.state(asked.state).entry(_where(asked.key)))


def _delete(
    reader: Reader, asked: pb.EntryRequest, program: Program | None
) -> Iterator[pb.DeletedReply]:
    reader.state(asked.state).delete(_where(asked.key), program)
    yield pb.DeletedReply(deleted=1)


def _flush(
    reader: Reader, asked: pb.FlushRequest, program: Program | None
) -> Iterator[pb.DeletedReply]:
    deleted = reader.state(asked.state).flush(_where(asked.where), program)
    yield pb.DeletedReply(deleted=deleted)


#: By method: what it is asked for by, and its answers.
ANSWERS: dict[str, tuple[Any, Callable[[Reader, Any, Any], Iterator[Any]]]] = {
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
