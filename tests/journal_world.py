"""What the journal's tests share: entries, and journals with some of them written."""

from __future__ import annotations

from helioc.runtime.agent.outcome import Outcome
from helioc.runtime.journal.journal import Journal
from helioc.runtime.journal.log import IES, Entry
from helioc.runtime.journal.store import Kept, Store


def entries(count: int, first: int = 1) -> list[Entry]:
    return [
        Entry(i, IES, b"request %d" % i, f"k{i}", b"d", b"[[],0,0,0]") if i % 2
        else Entry(i, IES, b"request %d" % i)
        for i in range(first, first + count)
    ]  # fmt: skip


def keyed(count: int) -> list[Entry]:
    return [entry for entry in entries(count) if entry.key]


def the(store: Store) -> Kept:
    (kept,) = store.pipelines()
    return kept


def write(journal: Journal, count: int, first: int = 1) -> None:
    for entry in entries(count, first):
        outcome = Outcome(entry.revision, (), 0, 0, 0)
        journal.request(entry.content, False, entry.key, entry.digest, outcome)


def fold(journal: Journal, revision: int = 10) -> None:
    with journal.open_next() as descriptor:
        made = journal.turn_over(descriptor, revision, [b"rules"], "{}")
    journal.fold(made)
