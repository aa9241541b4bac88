"""What was asked for, kept so that a reboot loses nothing: SQLite in WAL mode, and files beside it.

    DIRECTORY/lock          one agent works with it at a time
             /journal.db    pipelines (bundle, ports by interface name), and the requests since each
                            one's last snapshot, by revision
             /rules-…       a snapshot: a pipeline's rules at a revision (snapshot.py)
             /packed-…      a request that came in packed columns, if it is large

A request is written before it is made: what is in the maps is in the journal, whenever the process
is killed. It is safe from a power cut once `durable` has returned; many requests share the waiting.
"""

from __future__ import annotations

import fcntl
import os
import sqlite3
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Literal, NamedTuple

from ..lang.diagnostics import Refused
from . import store_faults as faults
from .faults import refused

FORMAT = 1
#: A request: as octets, in packed columns, or no request but a note of the ports' ifindexes (JSON).
IES, PACKED, NOTE = 0, 1, 2
Acknowledge = Literal["before", "after"]
#: Octets from which on packed columns are a file of their own.
_LARGE = 64 << 10
_DIGEST = 16
_SCHEMA = """
CREATE TABLE about (format INTEGER NOT NULL);
CREATE TABLE pipelines (
  id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, manifest TEXT NOT NULL, object BLOB NOT NULL,
  config TEXT NOT NULL DEFAULT '', snapshot TEXT NOT NULL DEFAULT '', snapshot_digest BLOB,
  revision INTEGER NOT NULL DEFAULT 0);
CREATE TABLE requests (
  pipeline INTEGER NOT NULL, revision INTEGER NOT NULL, form INTEGER NOT NULL, content BLOB,
  key TEXT, digest BLOB, answer TEXT, PRIMARY KEY (pipeline, revision)) WITHOUT ROWID;
"""
_INSERT = "INSERT INTO requests VALUES (?, ?, ?, ?, ?, ?, ?)"


class Entry(NamedTuple):
    """A request of the journal. `content` is None where a snapshot has it, and only its key is
    remembered."""

    revision: int
    form: int
    content: bytes | None
    key: str | None = None
    digest: bytes | None = None
    answer: str | None = None


@dataclass(frozen=True)
class Kept:
    """A pipeline of the journal. `config`: see journal.py. `snapshot`: the file with its rules at
    `revision`; None: nobody has said yet that it is in force."""

    id: int
    name: str
    manifest: str
    object: bytes
    config: str
    snapshot: Path | None
    revision: int


class Store:
    """The journal of one agent. Methods may be called from any thread; they raise `Refused`, and
    then nothing is written."""

    def __init__(self, directory: Path, acknowledge: Acknowledge = "after") -> None:
        """`acknowledge`: whether requests are answered before or after they are on the disk."""
        self.directory, self.acknowledge = directory, acknowledge
        self._lock = threading.Lock()
        self._broken = ""
        self._held = _hold(directory)
        try:
            self._db = self._open()
            self._wal = os.open(directory / "journal.db-wal", os.O_RDWR | os.O_CLOEXEC)
        except BaseException:
            os.close(self._held)
            raise
        self._syncing = threading.Condition()
        self._written = self._synced = 0
        self._busy = False
        #: Called when something was written: who looks after the journal wants to know.
        self.stir: Callable[[], None] = lambda: None

    def _open(self) -> sqlite3.Connection:
        path = self.directory / "journal.db"
        try:
            db = _connect(path)
            try:
                found = db.execute("PRAGMA quick_check(1)").fetchone()[0]
                if found != "ok":
                    raise refused(faults.damaged(str(path), str(found).split("\n")[-1]))
                if not db.execute("SELECT name FROM sqlite_master").fetchone():
                    db.executescript(f"BEGIN; {_SCHEMA} COMMIT;")
                    db.execute("INSERT INTO about VALUES (?)", (FORMAT,))
                    _sync_directory(self.directory)
                found = db.execute("SELECT format FROM about").fetchone()
                if found != (FORMAT,):
                    raise refused(faults.damaged(str(path), "another release wrote it"))
                # The WAL is there from the first write on.
                db.execute("UPDATE about SET format = format")
            except BaseException:
                db.close()
                raise
            return db
        except sqlite3.OperationalError as error:
            raise refused(faults.cannot_write(str(path), str(error))) from None
        except sqlite3.DatabaseError as error:
            raise refused(faults.damaged(str(path), str(error))) from None

    def close(self) -> None:
        """May be called again."""
        if self._held >= 0:
            with suppress(Refused):
                self.durable()
            with self._lock:
                self._db.close()
                os.close(self._wal)
                os.close(self._held)
                self._held = -1

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        with self._reading() as db:
            yield db
            self._written += 1

    @contextmanager
    def _reading(self) -> Iterator[sqlite3.Connection]:
        with self._lock:
            if self._broken:
                raise refused(faults.cannot_write(str(self.directory), self._broken))
            try:
                yield self._db
            except sqlite3.Error as error:
                if self._db.in_transaction:
                    with suppress(sqlite3.Error):
                        self._db.execute("ROLLBACK")
                raise refused(faults.cannot_write(str(self.directory), str(error))) from None
            except OSError as error:
                why = (error.strerror or str(error)).lower()
                raise refused(faults.cannot_write(str(self.directory), why)) from None

    # ---- pipelines --------------------------------------------------------------------------

    def pipelines(self) -> list[Kept]:
        """By name."""
        with self._reading() as db:
            rows = db.execute("SELECT id, name, manifest, object, config, snapshot, revision "
                              "FROM pipelines ORDER BY name").fetchall()  # fmt: skip
        return [
            Kept(id_, name, manifest, octets, config, self.directory / file if file else None, upto)
            for id_, name, manifest, octets, config, file, upto in rows
        ]

    def begin(self, name: str, manifest: str, object_: bytes) -> int:
        """Note a pipeline that is about to be loaded; returns its id. `fold` says that it is."""
        with self._writing() as db:
            db.execute("BEGIN IMMEDIATE")
            self._forget(db, name)
            row = db.execute(
                "INSERT INTO pipelines (name, manifest, object) VALUES (?, ?, ?) RETURNING id",
                (name, manifest, object_),
            ).fetchone()
            db.execute("COMMIT")
        return int(row[0])

    def remove(self, name: str) -> None:
        """Forget a pipeline and all its rules."""
        with self._writing() as db:
            db.execute("BEGIN IMMEDIATE")
            self._forget(db, name)
            db.execute("COMMIT")
        self.durable()
        self.sweep()

    def _forget(self, db: sqlite3.Connection, name: str) -> None:
        db.execute("DELETE FROM requests WHERE pipeline IN "
                   "(SELECT id FROM pipelines WHERE name = ?)", (name,))  # fmt: skip
        db.execute("DELETE FROM pipelines WHERE name = ?", (name,))

    # ---- requests ---------------------------------------------------------------------------

    def append(self, pipeline: int, entry: Entry) -> None:
        """Write a request, or a note."""
        revision, form, content, *rest = entry
        if content is not None and len(content) >= _LARGE and form == PACKED:
            content = self._beside(f"packed-{pipeline}-{revision}", (content,))
        with self._writing() as db:
            db.execute(_INSERT, (pipeline, revision, form, content, *rest))

    def withdraw(self, pipeline: int, revision: int) -> None:
        """Take back what was written and then could not be made."""
        with self._writing() as db:
            db.execute("DELETE FROM requests WHERE pipeline = ? AND revision = ?",
                       (pipeline, revision))  # fmt: skip

    def entries(self, pipeline: int, after: int = -1) -> list[Entry]:
        """All later than a revision, oldest first. Raises `Refused` where one is damaged."""
        with self._reading() as db:
            rows = db.execute("SELECT revision, form, content, key, digest, answer FROM requests "
                              "WHERE pipeline = ? AND revision > ? ORDER BY revision",
                              (pipeline, after)).fetchall()  # fmt: skip
        return [self._whole(pipeline, Entry(*row)) for row in rows]

    def keyed(self, pipeline: int, most: int) -> list[Entry]:
        """The last ones with a key, oldest first, without their contents."""
        with self._reading() as db:
            rows = db.execute("SELECT revision, form, NULL, key, digest, answer FROM requests "
                              "WHERE pipeline = ? AND key NOT NULL ORDER BY revision DESC LIMIT ?",
                              (pipeline, most)).fetchall()  # fmt: skip
        return [Entry(*row) for row in reversed(rows)]

    def _whole(self, pipeline: int, entry: Entry) -> Entry:
        if entry.form != PACKED or entry.content is None or len(entry.content) != _DIGEST:
            return entry
        path = self.directory / f"packed-{pipeline}-{entry.revision}"
        return entry._replace(content=self.read_beside(path, entry.content))

    # ---- snapshots --------------------------------------------------------------------------

    def fold(
        self, pipeline: int, revision: int, parts: Iterable[bytes], config: str, most_keys: int,
        build: tuple[str, bytes] | None = None,
    ) -> None:  # fmt: skip
        """The pipeline's rules at a revision: what led there need not be kept, but for the last
        `most_keys` idempotency keys. `build`: manifest and object, where they are others now."""
        name = f"rules-{pipeline}-{revision}"
        digest = self._beside(name, parts)
        with self._writing() as db:
            db.execute("BEGIN IMMEDIATE")
            db.execute("UPDATE pipelines SET snapshot = ?, snapshot_digest = ?, revision = ?, "
                       "config = ? WHERE id = ?", (name, digest, revision, config, pipeline)
                       )  # fmt: skip
            if build is not None:
                db.execute("UPDATE pipelines SET manifest = ?, object = ? WHERE id = ?",
                           (*build, pipeline))  # fmt: skip
            db.execute("COMMIT")
        self.durable()
        self._trim(pipeline, revision, most_keys)
        self.sweep()

    def _trim(self, pipeline: int, revision: int, most_keys: int) -> None:
        """In small steps, so that nobody who writes waits for long."""
        with self._reading() as db:
            row = db.execute("SELECT revision FROM requests WHERE pipeline = ? AND key NOT NULL "
                             "ORDER BY revision DESC LIMIT 1 OFFSET ?", (pipeline, most_keys)
                             ).fetchone()  # fmt: skip
        oldest = row[0] if row else -1
        for change in (
            "DELETE FROM requests WHERE pipeline = :p AND revision IN (SELECT revision FROM "
            "requests WHERE pipeline = :p AND revision <= :r AND (key IS NULL OR revision <= :o) "
            "LIMIT 200)",
            "UPDATE requests SET content = NULL WHERE pipeline = :p AND revision IN (SELECT "
            "revision FROM requests WHERE pipeline = :p AND revision <= :r AND content NOT NULL "
            "LIMIT 200)",
        ):
            done = 200
            while done == 200:
                with self._writing() as db:
                    values = {"p": pipeline, "r": revision, "o": oldest}
                    done = db.execute(change, values).rowcount

    def snapshot(self, kept: Kept) -> bytes:
        """A pipeline's snapshot. Raises `Refused` where it is damaged."""
        assert kept.snapshot is not None
        with self._reading() as db:
            row = db.execute("SELECT snapshot_digest FROM pipelines WHERE id = ?", (kept.id,))
            digest = row.fetchone()[0]
        return self.read_beside(kept.snapshot, digest)

    def sweep(self) -> None:
        """Remove files that no row speaks of."""
        with self._reading() as db:
            wanted = {name for (name,) in db.execute("SELECT snapshot FROM pipelines")}
            wanted |= {
                f"packed-{pipeline}-{revision}"
                for pipeline, revision in db.execute(
                    "SELECT pipeline, revision FROM requests WHERE form = ? AND content NOT NULL",
                    (PACKED,),
                )
            }
        for pattern in ("rules-*", "packed-*"):
            for path in self.directory.glob(pattern):
                if path.name not in wanted:
                    path.unlink(missing_ok=True)

    def _beside(self, name: str, parts: Iterable[bytes]) -> bytes:
        """Write a file, whole and safely on the disk; returns its digest."""
        path, digest = self.directory / name, blake2b(digest_size=_DIGEST)
        new = path.with_name(f"{name}~")
        try:
            with new.open("wb") as file:
                for part in parts:
                    file.write(part)
                    digest.update(part)
                file.flush()
                os.fdatasync(file.fileno())
            new.replace(path)
            _sync_directory(self.directory)
        except OSError as error:
            new.unlink(missing_ok=True)
            why = (error.strerror or str(error)).lower()
            raise refused(faults.cannot_write(str(path), why)) from None
        return digest.digest()

    def read_beside(self, path: Path, digest: bytes) -> bytes:
        """A file's octets. Raises `Refused` where they are not what was written."""
        try:
            content = path.read_bytes()
        except OSError as error:
            why = (error.strerror or str(error)).lower()
            raise refused(faults.damaged(str(path), why)) from None
        if blake2b(content, digest_size=_DIGEST).digest() != digest:
            raise refused(faults.damaged(str(path), "its digest is not that of its content"))
        return content

    # ---- the disk ---------------------------------------------------------------------------

    def acknowledged(self) -> None:
        """Return when what was written so far may be answered for."""
        if self.acknowledge == "after":
            self.durable()

    def durable(self) -> None:
        """Return when all that was written so far is on the disk. Who comes while another waits for
        the disk shares the next waiting. Raises `Refused` if the disk fails: then nothing more is
        written."""
        wanted = self._written
        with self._syncing:
            while self._synced < wanted:
                if not self._busy:
                    self._busy = True
                    break
                self._syncing.wait()
            else:
                return
        upto, failed = self._written, ""
        try:
            os.fdatasync(self._wal)
        except OSError as error:
            failed = (error.strerror or str(error)).lower()
        with self._syncing:
            self._busy = False
            if failed:
                # What the kernel could not write it may have thrown away: trust nothing from here.
                self._broken = failed
            else:
                self._synced = max(self._synced, upto)
            self._syncing.notify_all()
        if failed:
            raise refused(faults.not_durable(str(self.directory), failed))

    @property
    def pending(self) -> bool:
        """Whether anything written is not on the disk yet."""
        return self._synced < self._written

    def checkpoint(self, most: int = 4 << 20) -> None:
        """Move what the WAL has into the database, if that is more than `most` octets. Most of it
        while others go on writing."""
        if os.fstat(self._wal).st_size <= most:
            return
        with suppress(sqlite3.Error):
            second = _connect(self.directory / "journal.db")
            try:
                second.execute("PRAGMA wal_checkpoint(PASSIVE)")
                second.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            finally:
                second.close()


def _connect(path: Path) -> sqlite3.Connection:
    db = sqlite3.connect(path, isolation_level=None, check_same_thread=False, timeout=5.0)
    # Small pages: a request writes one or two of them whole.
    db.execute("PRAGMA page_size = 1024")
    db.execute("PRAGMA journal_mode = WAL")
    db.execute("PRAGMA synchronous = NORMAL")
    db.execute("PRAGMA wal_autocheckpoint = 0")
    return db


def _hold(directory: Path) -> int:
    """Lock the directory, made if need be, for this process."""
    try:
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        held = os.open(directory / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        why = (error.strerror or str(error)).lower()
        raise refused(faults.cannot_write(str(directory), why)) from None
    try:
        fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(held)
        raise refused(faults.in_use(str(directory))) from None
    return held


def _sync_directory(directory: Path) -> None:
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
