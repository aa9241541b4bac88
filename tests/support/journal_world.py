"""What the journal's tests share: entries, and journals with some of them written."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

from helioc.runtime.base.outcome import Outcome
from helioc.runtime.journal.heads import Head
from helioc.runtime.journal.journal import Journal
from helioc.runtime.journal.log import Log, Mark, log_name, open_new
from helioc.runtime.journal.records import IES, Entry
from helioc.runtime.journal.recovery import Written, read_logs
from helioc.runtime.journal.state import Build, Item, State
from helioc.runtime.journal.store import Store
from hypothesis import strategies as st

MANIFEST = '{"digest": "0123"}'


def entries(count: int, first: int = 1) -> list[Entry]:
    return [
        Entry(i, IES, b"request %d" % i, f"k{i}", b"d", b"[[],0,0,0]") if i % 2
        else Entry(i, IES, b"request %d" % i)
        for i in range(first, first + count)
    ]  # fmt: skip


def keyed(count: int) -> list[Entry]:
    return [entry for entry in entries(count) if entry.key]


def build(object_: bytes = b"object") -> Build:
    return MANIFEST, object_, b""


def the(store: Store) -> Item:
    (kept,) = store.pipelines()
    return kept


def begin(store: Store, name: str = "edge", object_: bytes = b"object") -> Journal:
    """A pipeline that is in force, with its first snapshot."""
    journal = Journal(store, store.begin(name, build(object_)))
    fold(journal, 0)
    return journal


def write(journal: Journal, count: int, first: int = 1) -> None:
    for entry in entries(count, first):
        outcome = Outcome(entry.revision, (), 0, 0, 0)
        journal.request(entry.content, False, entry.key, entry.digest, outcome)


def fold(journal: Journal, revision: int = 10, rules: bytes = b"rules") -> None:
    with journal.open_next() as descriptor:
        made = journal.turn_over(descriptor, revision, [rules], "{}")
    journal.fold(made)


#: Of logs that no store knows.
WHOSE = b"directry", 7


def new_log(directory: Path) -> Log:
    """An empty one, which begins behind revision 0."""
    path = directory / log_name(WHOSE[1], 1)
    log = Log(path, Head(*WHOSE, 0), Mark(0, 0))
    log.turn_over(path, open_new(path, (*WHOSE, 1)), 0)
    return log


def read(log: Log) -> Written:
    """What a start finds of it."""
    item = Item(WHOSE[1], "edge", begun=False, number=1)
    return read_logs(log.path.parent, State(WHOSE[0].hex()), item, os.listdir(log.path.parent))


def again(log: Log) -> Log:
    """As a start goes on in it."""
    found = read(log)
    return Log(log.path, found.head, found.mark)


# ---- journals of several pipelines ----------------------------------------------------------

#: Names of pipelines.
NAMES = st.text("abcdefgh-", min_size=1, max_size=12)
Held = dict[str, tuple[int, bytes, str, bytes, list[Entry]]]
INTENTS = b'{"last": 3, "texts": {"3": "{}"}}'


def made(directory: Path, pipelines: Iterable[tuple[str, int]]) -> Store:
    """A journal of pipelines that had so many requests each."""
    store = Store(directory)
    for name, count in pipelines:
        with closing(begin(store, name, name.encode())) as journal:
            write(journal, count)
            fold(journal, max(count, 1))
    return store


def taken(store: Store, intents: bytes = INTENTS) -> bytes:
    with store.take(intents, ()) as found:
        return b"".join(found.parts())


def held(store: Store) -> Held:
    """Revision, rules, configuration, object and answers of each pipeline."""
    return {
        each.name: (each.revision, store.snapshot(each), each.config, store.build(each)[1],
                    store.answers(each.id))
        for each in store.pipelines()
    }  # fmt: skip


# ---- disks that fail ------------------------------------------------------------------------


@contextmanager
def failing(at: Path, call: str, number: int = 1, for_good: bool = True) -> Iterator[None]:
    """A disk on which a call of `os` fails that changes `at`, the first such or another;
    `for_good`: and all that come later and change its directory, as on one that is read-only."""
    directory, calls, failed = at if at.is_dir() else at.parent, 0, False

    def make(name: str) -> Callable[..., Any]:
        real = getattr(os, name)

        def changed(target: Any, *more: Any, **named: Any) -> Any:
            nonlocal calls, failed
            path = _changed(name, target, *more)
            mine = path is not None and directory in (path, path.parent)
            calls += (name, path) == (call, at)
            if mine and (for_good if failed else calls == number):
                failed = True
                raise OSError(errno.EROFS, os.strerror(errno.EROFS))
            return real(target, *more, **named)

        return changed

    names = "open", "rename", "unlink", "pwrite", "ftruncate", "fsync", "fdatasync"
    with ExitStack() as patched:
        for name in names:
            patched.enter_context(patch.object(os, name, make(name)))
        yield
    assert failed


def _changed(call: str, target: Any, *more: Any) -> Path | None:
    if call == "open":
        return Path(target) if more[0] & os.O_CREAT else None
    if call == "rename":
        return Path(more[0])
    return Path(os.readlink(f"/proc/self/fd/{target}") if isinstance(target, int) else target)
