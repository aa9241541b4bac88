"""The journal's database: SQLite, or where that cannot be written what it holds, in memory.

SQLite opens no database of its write-ahead mode on a disk that is full, or read-only, not even to
read it. So it is copied, with its log, to where there is room, and read there; what would change it
is refused until the disk can be written again, which each attempt finds out by itself.
"""

from __future__ import annotations

import logging
import shutil
import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory

from ...lang.diagnostics import Diagnostic, Refused
from ..faults import refused
from ..places import RUN
from . import faults

_log = logging.getLogger("heliod.journal")


class Database:
    """Methods may be called from any thread; they raise `Refused`, and then nothing is written."""

    def __init__(self, path: Path, make: Callable[[sqlite3.Connection], object]) -> None:
        """`make`: what an empty one is to have, or where that cannot be why (`Refused`). Called
        within a transaction, which is to change something: SQLite begins one anywhere."""
        self.path = path
        self._made = [make]
        self._lock = threading.Lock()
        #: Why it cannot be written.
        self.findings: tuple[Diagnostic, ...] = ()
        try:
            self._db = self._writable()
        except Refused as error:
            if error.diagnostics[0].code != faults.CANNOT_WRITE:
                raise
            self._db = self._in_memory(error)
            self.findings = tuple(error.diagnostics)

    def close(self) -> None:
        """May be called again."""
        with self._lock:
            self._db.close()

    def also(self, make: Callable[[sqlite3.Connection], object]) -> None:
        """It is to have this, too."""
        with self._lock:
            self._made.append(make)
            try:
                _within(self._db, [make])
            except sqlite3.Error as error:
                raise refused(faults.cannot_write(str(self.path), str(error))) from None

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """For what changes nothing."""
        with self._lock:
            try:
                yield self._db
            except sqlite3.Error as error:
                raise refused(faults.damaged(str(self.path), str(error))) from None

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """For one transaction."""
        with self._lock:
            self._mend()
            db = self._db
            try:
                db.execute("BEGIN IMMEDIATE")
                yield db
                db.execute("COMMIT")
            except BaseException as error:
                if db.in_transaction:
                    with suppress(sqlite3.Error):
                        db.execute("ROLLBACK")
                if not isinstance(error, sqlite3.Error):
                    raise
                raise refused(faults.cannot_write(str(self.path), str(error))) from None

    def mend(self) -> None:
        """Write again from here on, if it can be."""
        with self._lock:
            self._mend()

    def _mend(self) -> None:
        if not self.findings:
            return
        try:
            db = self._writable()
        except Refused as error:
            self.findings = tuple(error.diagnostics)
            raise
        self._db.close()
        self._db, self.findings = db, ()
        _log.info("the journal `%s` can be written again", self.path)

    # ---- opening ----------------------------------------------------------------------------

    def _writable(self) -> sqlite3.Connection:
        try:
            db = _connect(self.path)
            try:
                db.execute("PRAGMA journal_mode = WAL")
                db.execute("PRAGMA synchronous = FULL")
                self._prepare(db)
            except BaseException:
                db.close()
                raise
            return db
        except sqlite3.OperationalError as error:
            raise refused(faults.cannot_write(str(self.path), str(error))) from None
        except sqlite3.DatabaseError as error:
            raise refused(faults.damaged(str(self.path), str(error))) from None

    def _in_memory(self, why: Refused) -> sqlite3.Connection:
        """What it holds. Raises `why` where there is no room for that either."""
        db = _connect(":memory:")
        try:
            RUN.mkdir(mode=0o700, parents=True, exist_ok=True)
            with TemporaryDirectory(dir=RUN) as place:
                copied = Path(place) / self.path.name
                for suffix in ("", "-wal"):
                    file = Path(f"{self.path}{suffix}")
                    if file.exists():
                        shutil.copyfile(file, f"{copied}{suffix}")
                with closing(_connect(copied)) as copy:
                    copy.execute("PRAGMA journal_mode = DELETE")
                    copy.backup(db)
            self._prepare(db)
        except BaseException as error:
            db.close()
            if isinstance(error, OSError | sqlite3.OperationalError):
                raise why from None
            if isinstance(error, sqlite3.DatabaseError):
                raise refused(faults.damaged(str(self.path), str(error))) from None
            raise
        return db

    def _prepare(self, db: sqlite3.Connection) -> None:
        found = db.execute("PRAGMA quick_check(1)").fetchone()[0]
        if found != "ok":
            raise refused(faults.damaged(str(self.path), str(found).split("\n")[-1]))
        _within(db, self._made)


def _connect(path: Path | str) -> sqlite3.Connection:
    return sqlite3.connect(path, isolation_level=None, check_same_thread=False, timeout=5.0)


def _within(db: sqlite3.Connection, made: list[Callable[[sqlite3.Connection], object]]) -> None:
    """In one transaction."""
    db.execute("BEGIN IMMEDIATE")
    try:
        for make in made:
            make(db)
        db.execute("COMMIT")
    except BaseException:
        if db.in_transaction:
            with suppress(sqlite3.Error):
                db.execute("ROLLBACK")
        raise
