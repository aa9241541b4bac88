"""What was asked for, kept so that a reboot loses nothing.

    DIRECTORY/lock          one agent works with it at a time
             /journal.db    SQLite: pipelines (bundle, ports by interface name), answers by key
             /rules-P-N     the snapshot of pipeline P: its rules (rules/snapshot.py)
             /log-P-N       what changed since then (log.py), and perhaps log-P-(N+1) …

A request is written to the log before it is made: what is in the maps is in the journal, whenever
the process is killed. Many requests share the waiting for the disk.
"""

from __future__ import annotations

import os
import re
import sqlite3
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from pathlib import Path
from typing import Literal

from ...lang.diagnostics import Diagnostic
from ..faults import refused
from . import faults, log
from .database import Database
from .hold import hold
from .log import Entry, sync_directory

FORMAT = 1
Acknowledge = Literal["before", "after"]
#: A bundle: manifest, object, packed traced build (empty: it has none).
Build = tuple[str, bytes, bytes]
_DIGEST = 16
_FILE = re.compile(r"(rules|log)-(\d+)-(\d+)(~?)")
#: Behind the name of a pipeline that is being loaded: no pipeline's name has it.
_BEGUN = "~"
_SCHEMA = (
    """CREATE TABLE about (format INTEGER NOT NULL)""",
    """CREATE TABLE pipelines (
  id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, manifest TEXT NOT NULL, object BLOB NOT NULL,
  traced BLOB NOT NULL DEFAULT x'', config TEXT NOT NULL DEFAULT '', digest BLOB,
  revision INTEGER NOT NULL DEFAULT 0, number INTEGER NOT NULL DEFAULT 0)""",
    """CREATE TABLE answers (
  pipeline INTEGER NOT NULL, revision INTEGER NOT NULL, key TEXT NOT NULL, digest BLOB NOT NULL,
  answer BLOB NOT NULL, PRIMARY KEY (pipeline, revision)) WITHOUT ROWID""",
)
_PREPARED = """
CREATE TABLE IF NOT EXISTS prepared (
  pipeline INTEGER PRIMARY KEY, manifest TEXT NOT NULL, object BLOB NOT NULL, traced BLOB NOT NULL)
"""


@dataclass(frozen=True)
class Kept:
    """A pipeline of the journal. `traced`: its packed traced build, if any. `config`: see
    journal.py. `digest`: of the snapshot with its rules at `revision`; None: nobody has said yet
    that it is in force. `number`: of snapshot and log."""

    id: int
    name: str
    manifest: str
    object: bytes
    traced: bytes
    config: str
    digest: bytes | None
    revision: int
    number: int


@dataclass(frozen=True)
class Snapshot:
    """What takes the place of a log. `answered`: entries whose answers are to be remembered.
    `build`: where it is another now."""

    revision: int
    parts: Sequence[bytes]
    config: str
    answered: Sequence[Entry] = ()
    build: Build | None = None


@dataclass(frozen=True)
class Written:
    """What was written since a snapshot, oldest first. `number`: of the last log, of which `size`
    octets are sound. `lost`: why there is no more, where there was."""

    entries: list[Entry] = field(default_factory=list)
    number: int = 0
    size: int = 0
    lost: str = ""


class Store:
    """The journal of one agent. Methods may be called from any thread; they raise `Refused`, and
    then nothing is written. On a disk that cannot be written it is there to be read."""

    def __init__(self, directory: Path, acknowledge: Acknowledge = "after") -> None:
        """`acknowledge`: whether requests are answered before or after they are on the disk."""
        self.directory, self.acknowledge = directory, acknowledge
        #: When the last snapshot came to the disk, in seconds of the Unix epoch; 0: not yet.
        self.synced = 0.0
        # Of two snapshots that are made at a time one would sweep the other's files away.
        self._folding = threading.Lock()
        self._held = hold(directory)
        try:
            self._db = Database(directory / "journal.db", self._make)
        except BaseException:
            os.close(self._held)
            raise

    def _make(self, db: sqlite3.Connection) -> None:
        if not db.execute("SELECT name FROM sqlite_master").fetchone():
            self._must_be_new()
            for statement in _SCHEMA:
                db.execute(statement)
            db.execute("INSERT INTO about VALUES (?)", (FORMAT,))
            sync_directory(self.directory)
        if db.execute("SELECT format FROM about").fetchone() != (FORMAT,):
            raise refused(faults.damaged(str(self._db_path), "another release wrote it"))
        db.execute(_PREPARED)
        db.execute("UPDATE about SET format = format")  # does the disk take it?

    @property
    def _db_path(self) -> Path:
        return self.directory / "journal.db"

    def _must_be_new(self) -> None:
        """A database that is empty where there are rules was lost."""
        if any(_FILE.fullmatch(each.name) for each in self.directory.iterdir()):
            why = "it is empty, or gone, but for its files"
            raise refused(faults.damaged(str(self._db_path), why))

    @property
    def findings(self) -> tuple[Diagnostic, ...]:
        """Why nothing can be written."""
        return self._db.findings

    @property
    def size(self) -> int:
        """Bytes of all files."""
        size = 0
        with suppress(OSError):  # the disk is gone
            for each in self.directory.iterdir():
                with suppress(FileNotFoundError):  # a snapshot took its place
                    size += each.stat().st_size
        return size

    def mend(self) -> None:
        """Write again, if that can be."""
        self._db.mend()

    def close(self) -> None:
        """May be called again."""
        if self._held >= 0:
            self._db.close()
            os.close(self._held)
            self._held = -1

    def also(self, make: Callable[[sqlite3.Connection], object]) -> None:
        """For tables of others."""
        self._db.also(make)

    def reading(self) -> AbstractContextManager[sqlite3.Connection]:
        """The database, for what changes nothing."""
        return self._db.reading()

    def transaction(self) -> AbstractContextManager[sqlite3.Connection]:
        """The database, for one transaction."""
        return self._db.writing()

    # ---- pipelines --------------------------------------------------------------------------

    def pipelines(self) -> list[Kept]:
        """By name; not those that are only begun."""
        return [kept for kept in self._all() if not kept.name.endswith(_BEGUN)]

    def begun(self) -> list[Kept]:
        """Those whose load has begun, and nobody said yet that they are in force."""
        return [
            replace(kept, name=kept.name.removesuffix(_BEGUN))
            for kept in self._all() if kept.name.endswith(_BEGUN)
        ]  # fmt: skip

    def _all(self) -> list[Kept]:
        with self.reading() as db:
            rows = db.execute("SELECT id, name, manifest, object, traced, config, digest, "
                              "revision, number FROM pipelines ORDER BY name"
                              ).fetchall()  # fmt: skip
        return [Kept(*row) for row in rows]

    def begin(self, name: str, manifest: str, object_: bytes, traced: bytes = b"") -> int:
        """Note a pipeline that is about to be loaded; returns its id. `fold` says that it is: then
        it takes the place of who has its name, who stays until then."""
        name += _BEGUN
        with self._folding:
            with self.transaction() as db:
                self._forget(db, name)
            # Ids are given again: files of who had this one are not to be taken for its own.
            self._sweep()
            with self.transaction() as db:
                row = db.execute(
                    "INSERT INTO pipelines (name, manifest, object, traced) VALUES (?, ?, ?, ?) "
                    "RETURNING id",
                    (name, manifest, object_, traced),
                ).fetchone()
        return int(row[0])

    def prepare(self, pipeline: int, build: Build) -> None:
        """Note what is about to take the place of the build that is kept. `fold` with it says that
        it has, without it that it has not."""
        with self.transaction() as db:
            db.execute("INSERT OR REPLACE INTO prepared VALUES (?, ?, ?, ?)", (pipeline, *build))

    def prepared(self, pipeline: int) -> Build | None:
        """What may have taken the place of the build that is kept."""
        with self.reading() as db:
            row: Build | None = db.execute(
                "SELECT manifest, object, traced FROM prepared WHERE pipeline = ?", (pipeline,)
            ).fetchone()
        return row

    def remove(self, name: str) -> None:
        """Forget a pipeline and all its rules."""
        with self._folding:
            with self.transaction() as db:
                self._forget(db, name)
                self._forget(db, name + _BEGUN)
            self._sweep()

    def retire(self, name: str) -> None:
        """Note that a pipeline is about to be unloaded; `remove` says that it is. Until then it is
        as one whose load has begun, for what is in force by then may be another revision."""
        with self._folding, self.transaction() as db:
            if db.execute("SELECT id FROM pipelines WHERE name = ?", (name,)).fetchone():
                self._forget(db, name + _BEGUN)
                db.execute("UPDATE pipelines SET name = ?, digest = NULL WHERE name = ?",
                           (name + _BEGUN, name))  # fmt: skip

    def give_up(self, name: str) -> None:
        """Forget what `begin` noted."""
        if all(begun.name != name for begun in self.begun()):
            return
        with self._folding:
            with self.transaction() as db:
                self._forget(db, name + _BEGUN)
            self._sweep()

    def _take_name(self, db: sqlite3.Connection, pipeline: int) -> None:
        """What was begun is in force, and who had its name is not."""
        wanted = "SELECT name FROM pipelines WHERE id = ? AND name LIKE ?"
        for (begun,) in db.execute(wanted, (pipeline, f"%{_BEGUN}")).fetchall():
            name = begun.removesuffix(_BEGUN)
            self._forget(db, name)
            db.execute("UPDATE pipelines SET name = ? WHERE id = ?", (name, pipeline))

    def _forget(self, db: sqlite3.Connection, name: str) -> None:
        mine = "(SELECT id FROM pipelines WHERE name = ?)"
        for table in ("answers", "prepared"):
            db.execute(f"DELETE FROM {table} WHERE pipeline IN {mine}", (name,))
        db.execute("DELETE FROM pipelines WHERE name = ?", (name,))

    # ---- rules ------------------------------------------------------------------------------

    def log_path(self, pipeline: int, number: int) -> Path:
        return self.directory / f"log-{pipeline}-{number}"

    def _snapshot_path(self, pipeline: int, number: int) -> Path:
        return self.directory / f"rules-{pipeline}-{number}"

    def written(self, kept: Kept) -> Written:
        """What was written since its snapshot, as far as it can be read. Raises `Refused`."""
        there = self._logs(kept)
        if kept.digest is None:
            there.add(kept.number)  # it is made when something is written
        last = max(there, default=kept.number)
        found: list[Entry] = []
        number, size = kept.number, 0
        while number in there:
            path = self.log_path(kept.id, number)
            try:
                entries, size = log.read_whole(path)
                found += entries
            except log.Damage as damage:
                return Written(found + damage.entries, last, 0, f"`{path}`: {damage}")
            number += 1
        # Any other was on the disk before the database spoke of it, or the next was begun.
        lost = f"`{self.log_path(kept.id, number)}` is gone" if number <= last else ""
        return Written(found, last, size, lost)

    def _logs(self, kept: Kept) -> set[int]:
        """The numbers of its logs from its snapshot on."""
        files = (_FILE.fullmatch(path.name) for path in self.directory.iterdir())
        mine = [f for f in files if f and f[1] == "log" and int(f[2]) == kept.id and not f[4]]
        return {int(f[3]) for f in mine if int(f[3]) >= kept.number}

    def snapshot(self, kept: Kept) -> bytes:
        """A pipeline's snapshot. Raises `Refused` where it is damaged."""
        path = self._snapshot_path(kept.id, kept.number)
        try:
            content = path.read_bytes()
        except OSError as error:
            why = (error.strerror or str(error)).lower()
            raise refused(faults.damaged(str(path), why)) from None
        if blake2b(content, digest_size=_DIGEST).digest() != kept.digest:
            raise refused(faults.damaged(str(path), "its digest is not that of its content"))
        return content

    def fold(self, pipeline: int, number: int, made: Snapshot, most_answers: int) -> None:
        """A snapshot in the place of all logs before `number`. The last answers are kept."""
        with self._folding:
            self._fold(pipeline, number, made, most_answers)
            self.synced = time.time()
            self._sweep()

    def _fold(self, pipeline: int, number: int, made: Snapshot, most_answers: int) -> None:
        digest = self._write(self._snapshot_path(pipeline, number), made.parts)
        values = (digest, made.revision, made.config, number, pipeline)
        rows = [(pipeline, e.revision, e.key, e.digest, e.answer) for e in made.answered]
        with self.transaction() as db:
            self._take_name(db, pipeline)
            db.execute("UPDATE pipelines SET digest = ?, revision = ?, config = ?, number = ? "
                       "WHERE id = ?", values)  # fmt: skip
            if made.build is not None:
                db.execute("UPDATE pipelines SET manifest = ?, object = ?, traced = ? "
                           "WHERE id = ?", (*made.build, pipeline))  # fmt: skip
            db.execute("DELETE FROM prepared WHERE pipeline = ?", (pipeline,))
            db.executemany("INSERT OR REPLACE INTO answers VALUES (?, ?, ?, ?, ?)", rows)
            db.execute("DELETE FROM answers WHERE pipeline = ? AND revision <= (SELECT revision "
                       "FROM answers WHERE pipeline = ? ORDER BY revision DESC LIMIT 1 OFFSET ?)",
                       (pipeline, pipeline, most_answers))  # fmt: skip

    def answers(self, pipeline: int) -> list[Entry]:
        """Those that are remembered, oldest first, without what they answer."""
        with self.reading() as db:
            rows = db.execute("SELECT revision, 0, x'', key, digest, answer FROM answers "
                              "WHERE pipeline = ? ORDER BY revision", (pipeline,)
                              ).fetchall()  # fmt: skip
        return [Entry(*row) for row in rows]

    def _sweep(self) -> None:
        """Remove files of ours that nothing speaks of."""
        with self.reading() as db:
            first = dict(db.execute("SELECT id, number FROM pipelines").fetchall())
        for path in self.directory.iterdir():
            if not (found := _FILE.fullmatch(path.name)):
                continue
            kind, pipeline, number, unfinished = found.groups()
            known = first.get(int(pipeline)) if not unfinished else None
            later = known is not None and int(number) > known and kind == "log"
            if not later and (known is None or int(number) != known):
                path.unlink(missing_ok=True)

    def _write(self, path: Path, parts: Iterable[bytes]) -> bytes:
        """A file, whole and safely on the disk; returns its digest."""
        digest, new = blake2b(digest_size=_DIGEST), path.with_name(f"{path.name}~")
        try:
            with new.open("wb") as file:
                for part in parts:
                    file.write(part)
                    digest.update(part)
                file.flush()
                os.fdatasync(file.fileno())
            new.replace(path)
            sync_directory(self.directory)
        except OSError as error:
            new.unlink(missing_ok=True)
            why = (error.strerror or str(error)).lower()
            raise refused(faults.cannot_write(str(path), why)) from None
        return digest.digest()
