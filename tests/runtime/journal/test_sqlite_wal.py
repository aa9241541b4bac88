"""A write-ahead log of SQLite's: whether all of it is read."""

from __future__ import annotations

import random
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from helioc.runtime.journal.sqlite_wal import left_out

PAGE = 512
HEAD, FRAME = 32, 24 + PAGE


def logs(directory: Path) -> Iterator[tuple[bytes, bytes]]:
    """A log and its database behind each transaction, as a kill leaves them; the log begins from
    the front now and then."""
    with closing(sqlite3.connect(directory / "db", isolation_level=None)) as db:
        for how in (f"page_size = {PAGE}", "journal_mode = WAL", "wal_autocheckpoint = 5"):
            db.execute(f"PRAGMA {how}")
        db.execute("CREATE TABLE t (x)")
        for number in range(40):
            db.execute("INSERT INTO t VALUES (?)", (bytes([number]) * (number % 7) * 200,))
            yield (directory / "db-wal").read_bytes(), (directory / "db").read_bytes()


def taken(directory: Path, log: bytes, database: bytes) -> int:
    """The frames that SQLite takes."""
    for name, content in (("left-wal", log), ("left", database)):
        (directory / name).write_bytes(content)
    with closing(sqlite3.connect(directory / "left")) as db:
        return int(db.execute("PRAGMA wal_checkpoint").fetchone()[1])


def test_what_a_kill_leaves_is_whole(tmp_path: Path) -> None:
    found = [(log, taken(tmp_path, log, db)) for log, db in logs(tmp_path)]
    assert not any(left_out(log, frames) for log, frames in found)
    assert any(len(log) > HEAD + frames * FRAME for log, frames in found), "older frames"
    assert not left_out(b"", 0)


@pytest.mark.parametrize("how", ["flip", "cut"])
def test_what_is_damaged_is_not(tmp_path: Path, how: str) -> None:
    chance = random.Random(7)
    for log, db in [*logs(tmp_path)][::5]:
        end = HEAD + taken(tmp_path, log, db) * FRAME
        last = range(end - FRAME, end - PAGE)
        for at in (*range(HEAD + 24), *last, chance.randrange(HEAD, end)):
            content = bytearray(log)
            content[at] ^= 1 << at % 8
            if how == "cut":
                content = content[:at]
            try:
                frames = taken(tmp_path, bytes(content), db)
            except sqlite3.DatabaseError:  # the database has later pages
                continue
            # what nothing can tell: an end behind a transaction
            whole = not at or (at - HEAD) % FRAME == 0
            assert (whole and how == "cut") or left_out(bytes(content), frames), at
