"""State directories of the format before: what a kill of a released agent left is taken over.

`format1.tar.gz` was written by its code: pipelines `edge` (10 requests in its snapshot, 5 behind
it, an upgrade prepared) and `core` (none behind its snapshot), `later` begun, two intents.
"""

from __future__ import annotations

import random
import shutil
import sqlite3
import tarfile
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from helioc.lang.text.diagnostics import Refused
from helioc.runtime.intents.store import IntentStore
from helioc.runtime.journal import format1
from helioc.runtime.journal.errors import cannot_write
from helioc.runtime.journal.journal import Journal
from helioc.runtime.journal.store import Store

KEYS = ["k1", "k3", "k5", "k7", "k9"]


@pytest.fixture
def old(tmp_path: Path) -> Path:
    made = tmp_path / "state"
    with tarfile.open(Path(__file__).with_name("format1.tar.gz")) as archive:
        archive.extractall(made)
    return made


def need_all(directory: Path, aside: bool = True) -> None:
    with closing(Store(directory)) as store:
        assert not store.losses
        core, edge = store.pipelines()
        assert store.build(edge) == ('{"digest": "d-edge"}', b"object edge", b"traced")
        assert store.build(core) == ('{"digest": "d-core"}', b"object core", b"")
        assert store.snapshot(edge) == store.snapshot(core) == b"rules"
        assert edge.prepared is not None and edge.prepared.program == "next"
        written = store.written(edge)
        assert [e.revision for e in written.entries] == [11, 12, 13, 14, 15] and not written.marred
        assert not store.written(core).entries and core.revision == edge.revision == 10
        assert [e.key for e in store.answers(edge.id)] == KEYS
        assert [begun.name for begun in store.begun()] == ["later"]
        intents = IntentStore(store)
        assert [(i.serial, i.id, i.ends) for i in intents.all()] == [(1, "a", None), (3, "c", None)]
        assert intents.add(intents.all()[0]).serial == 4
        assert [code for _, found in store.notes for code in [found.code]] == ["H0789"] * aside


def test_it_is_taken_over_once(old: Path) -> None:
    before = {path.name: path.read_bytes() for path in old.iterdir()}
    need_all(old)
    assert {path.name: path.read_bytes() for path in (old / "aside").iterdir()} == before
    with closing(Store(old)) as store:
        assert not store.notes and store.begin("another", ('{"digest": ""}', b"", b"")) == 4


def test_a_kill_while_it_is_taken_over_costs_nothing(
    old: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = {path.name: path.read_bytes() for path in old.iterdir()}
    steps = 0
    while True:
        left = steps

        def step(whole: Callable[..., Any], *arguments: Any) -> Any:
            nonlocal left
            left -= 1
            if left < 0:
                raise Refused([cannot_write("state", "killed")])
            return whole(*arguments)

        with monkeypatch.context() as patched:
            for name in ("write_whole", "begin", "write_build"):
                patched.setattr(format1, name, partial(step, getattr(format1, name)))
            try:
                Store(old).close()
                break
            except Refused:
                steps += 1
        assert {name: (old / name).read_bytes() for name in before} == before
    assert steps > 8
    need_all(old, aside=False)


def test_what_its_database_has_lost_is_reported(old: Path) -> None:
    """SQLite ends at the first bad frame of its log, and says nothing."""
    log = old / "journal.db-wal"
    content = bytearray(log.read_bytes())
    content[100] ^= 1
    log.write_bytes(content)
    with closing(Store(old)) as store:
        assert {loss.file for loss in store.losses} >= {"journal.db"} and not store.pipelines()
    with closing(Store(old)) as store:
        assert store.losses, "until somebody accepts it"


def test_a_damaged_log_of_it_is_reported(old: Path) -> None:
    log = old / "log-1-1"
    content = bytearray(log.read_bytes())
    content[100] ^= 1
    log.write_bytes(content)
    with closing(Store(old)) as store:
        (loss,) = store.losses
        assert (loss.pipeline, loss.what, loss.revision) == ("edge", "requests", 12)
        assert [e.revision for e in store.written(store.pipelines()[1]).entries] == [11, 12]


@pytest.fixture
def quick(old: Path) -> Iterator[Path]:
    """A directory for copies of it."""
    with TemporaryDirectory(dir="/dev/shm") as folder:
        yield Path(folder) / "state"


def copy(old: Path, quick: Path, **changed: bytes | None) -> Path:
    """`changed`: content of the database, or of its log (`wal`); None: it is gone."""
    shutil.rmtree(quick, ignore_errors=True)
    shutil.copytree(old, quick)
    for name, content in changed.items():
        path = quick / {"wal": "journal.db-wal", "db": "journal.db"}[name]
        path.unlink()
        if content is not None:
            path.write_bytes(content)
    return quick


def look(directory: Path) -> tuple[object, bool]:
    """What a start has of it, and whether anything is lost."""
    with closing(Store(directory)) as store:
        has = dict[str, object]()
        for item in store.pipelines():
            with closing(Journal(store, item.id, store.written(item))) as journal:
                has[item.name] = (item.revision, item.config, store.build(item),
                                  store.snapshot(item), journal.answered())  # fmt: skip
            has[f"{item.name}'s requests"] = store.written(item).entries
        return (has, IntentStore(store).all()), bool(store.losses)


def test_every_byte_of_its_write_ahead_log(old: Path, quick: Path) -> None:
    expected, _ = look(copy(old, quick))
    log = (old / "journal.db-wal").read_bytes()
    chance = random.Random(time.strftime("%F"))
    cases: list[bytes | None] = [log[:at] for at in range(0, len(log), 2060)]
    for at in chance.sample(range(len(log)), 120):
        cases.append(log[:at] + bytes([log[at] ^ 1 << at % 8]) + log[at + 1 :])
    for case in (*cases, None):
        _, lost = look(copy(old, quick, wal=case))
        assert lost
    assert look(copy(old, quick)) == (expected, False)


#: What a page may say that is not what was written.
NONSENSE = {
    "UPDATE pipelines SET manifest = '{}' WHERE id = 1": {"edge"},
    "UPDATE pipelines SET manifest = '[' WHERE id = 1": {"edge"},
    "UPDATE pipelines SET manifest = CAST(x'ff' AS TEXT) WHERE id = 1": {"edge"},
    "UPDATE pipelines SET name = CAST(x'ff' AS TEXT) WHERE id = 1": {"#1"},
    "UPDATE pipelines SET object = 'text' WHERE id = 1": {"edge"},
    "UPDATE pipelines SET config = '[' WHERE id = 1": {"edge"},
    "UPDATE pipelines SET config = '7' WHERE id = 1": {"edge"},
    "UPDATE pipelines SET revision = -1 WHERE id = 1": {"edge"},
    "UPDATE pipelines SET number = x'00' WHERE id = 1": {"edge"},
    "UPDATE pipelines SET digest = NULL WHERE id = 1": {"edge"},
    "UPDATE pipelines SET name = name || '~' WHERE id = 1": {"edge"},
    "UPDATE pipelines SET digest = 7 WHERE id = 1": {"edge"},
    "UPDATE pipelines SET name = 'edge~', digest = NULL, number = 0 WHERE id = 1": {"edge"},
    "UPDATE pipelines SET id = 1 << 40 WHERE id = 1": {"edge", "#1"},
    "UPDATE answers SET answer = 'x' WHERE pipeline = 1": {"edge"},
    "UPDATE answers SET answer = x'5b5d' WHERE pipeline = 1": {"edge"},
    "UPDATE answers SET key = 7 WHERE pipeline = 1": set(),  # SQLite makes text of it
    "UPDATE answers SET key = CAST(x'ff' AS TEXT) WHERE pipeline = 1": {"edge"},
    "UPDATE answers SET revision = 700 WHERE revision = 9": {"edge", "core"},
    "UPDATE intents SET rules = '{'": {""},
    "UPDATE intents SET rules = '[7]' WHERE serial = 1": {""},
    "UPDATE intents SET state = 'pendinG'": {""},
    "UPDATE intents SET begins = 'now'": {""},
    "UPDATE sqlite_sequence SET seq = 1": {""},
    "ALTER TABLE intents RENAME TO intentz": {""},
    "ALTER TABLE pipelines RENAME COLUMN config TO konfig": {"edge", "core"},
    "DROP TABLE pipelines": {""},
}


@pytest.mark.parametrize("damage", NONSENSE)
def test_what_makes_no_sense_is_lost(old: Path, damage: str) -> None:
    with closing(sqlite3.connect(old / "journal.db")) as db:
        db.execute(damage)
        db.commit()
    with closing(Store(old)) as store:
        lost = {loss.pipeline for loss in store.losses}
        assert lost >= NONSENSE[damage] and bool(lost) == bool(NONSENSE[damage])
        names = {item.name for item in store.pipelines()}
        assert len(names | lost) >= 2 or "" in lost
        for item in store.pipelines():
            Journal(store, item.id, store.written(item)).answered()
        IntentStore(store)


def test_any_byte_of_its_database(old: Path, quick: Path) -> None:
    """An agent starts. SQLite's pages have no checksums: what makes sense is taken."""
    with closing(sqlite3.connect(old / "journal.db")) as db:
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    whole = (old / "journal.db").read_bytes()
    chance, lost = random.Random(time.strftime("%F")), 0
    some = [at for at, byte in enumerate(whole) if byte]
    for at in chance.sample(some, 150):
        content = whole[:at] + bytes([whole[at] ^ 1 << at % 8]) + whole[at + 1 :]
        lost += look(copy(old, quick, db=content))[1]
    assert lost > 20
