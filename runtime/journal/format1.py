"""State directories of the format before, of SQLite and logs without a header, written again.

    journal.db    pipelines, answers, intents
    rules-P-N     the snapshot of pipeline P
    log-P-N       records behind it, as they are today

The list comes last: until it is there an agent begins again with the old files, which it only
reads. Then they are those that nobody speaks of.
"""

from __future__ import annotations

import json
import re
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory

from ..places import RUN
from . import state
from .files import Unsound, digest_of, read, write_whole
from .log import Mark, begin
from .records import IES, Entry, decode, encode
from .state import INTENTS, Bundled, Item, Loss, write_build

_DATABASE = "journal.db"
_OLD = re.compile(r"(rules|log)-(\d+)-(\d+)")


class _Damaged(Exception):
    """A pipeline cannot be taken over: why, and the `file` at fault."""

    def __init__(self, file: str, why: str) -> None:
        super().__init__(why)
        self.file = file


def is_here(directory: Path) -> bool:
    """There is such a directory, and no list."""
    new = any((directory / name).exists() for name in state.COPIES)
    return not new and (directory / _DATABASE).exists()


def convert(directory: Path) -> None:
    """Raises `Refused` where there is no room."""
    made = _Made(directory)
    try:
        with _rows(directory) as db:
            made.all(db)
    except sqlite3.Error as error:
        made.lost(Loss("", _DATABASE, str(error), "list"))
    made.state.save(directory)


@contextmanager
def _rows(directory: Path) -> Iterator[sqlite3.Connection]:
    """A copy: SQLite would write to what it reads."""
    RUN.mkdir(mode=0o700, parents=True, exist_ok=True)
    with TemporaryDirectory(dir=RUN) as place:
        for suffix in ("", "-wal"):
            if (directory / (_DATABASE + suffix)).exists():
                shutil.copyfile(directory / (_DATABASE + suffix), f"{place}/{_DATABASE}{suffix}")
        with closing(sqlite3.connect(f"{place}/{_DATABASE}")) as db:
            db.row_factory = sqlite3.Row
            yield db


class _Made:
    """The new state, piece by piece."""

    def __init__(self, directory: Path) -> None:
        self.directory, self.state, self._pipelines = directory, state.new(), set[int]()

    def lost(self, loss: Loss) -> None:
        self.state = replace(self.state, losses=(*self.state.losses, loss))

    def all(self, db: sqlite3.Connection) -> None:
        found = str(db.execute("PRAGMA quick_check(1)").fetchone()[0])
        if found != "ok":
            self.lost(Loss("", _DATABASE, found.split("\n")[-1], "list"))
        for row in db.execute("SELECT * FROM pipelines ORDER BY id").fetchall():
            self._pipelines.add(row["id"])
            try:
                self._pipeline(db, row)
            except _Damaged as damage:
                self.lost(Loss(row["name"], damage.file, str(damage), "pipeline"))
        unnamed: dict[str, str] = {}
        for path in self.directory.iterdir():
            match = _OLD.fullmatch(path.name)
            if match is not None and int(match[2]) not in self._pipelines:
                unnamed.setdefault(match[2], path.name)
        for pipeline, name in unnamed.items():
            self.lost(Loss(f"#{pipeline}", name, f"{_DATABASE} does not name it", "pipeline"))
        self.state = replace(self.state, next=max(self._pipelines, default=0) + 1)
        if db.execute("SELECT 1 FROM sqlite_master WHERE name = 'intents'").fetchone():
            self._intents(db)

    def _pipeline(self, db: sqlite3.Connection, row: sqlite3.Row) -> None:
        id_, begun = row["id"], row["name"].endswith("~") or row["digest"] is None
        prepared = db.execute("SELECT * FROM prepared WHERE pipeline = ?", (id_,)).fetchone()
        item = Item(
            id_, row["name"].removesuffix("~"), begun, self._build(row, 1),
            self._build(prepared, 2) if prepared is not None else None,
        )  # fmt: skip
        if not begun:
            item = self._rules(db, row, item)
        self.state = self.state.having(item)

    def _build(self, row: sqlite3.Row, number: int) -> Bundled:
        pipeline = row["pipeline"] if "pipeline" in row.keys() else row["id"]  # noqa: SIM118
        path = self.directory / f"build-{pipeline}-{number}"
        return write_build(path, (row["manifest"], row["object"], row["traced"]))

    def _rules(self, db: sqlite3.Connection, row: sqlite3.Row, item: Item) -> Item:
        old = self.directory / f"rules-{item.id}-{row['number']}"
        try:
            content = read(old)
        except Unsound as error:
            raise _Damaged(old.name, str(error)) from None
        if digest_of(content) != row["digest"].hex():
            raise _Damaged(old.name, "its digest is not that of its content")
        snapshot = write_whole(self.directory / f"snapshot-{item.id}-1", [content])
        answers = [
            Entry(each["revision"], IES, b"", each["key"], each["digest"], each["answer"])
            for each in db.execute(
                "SELECT * FROM answers WHERE pipeline = ? ORDER BY revision", (item.id,)
            )
        ]  # fmt: skip
        file = write_whole(self.directory / f"answers-{item.id}-1", map(encode, answers))
        entries = self._entries(row, item.name)
        last = self._log(item.id, row["revision"], entries)
        return replace(
            item, config=row["config"], revision=row["revision"], snapshot=snapshot, number=1,
            length=last.size, last=last.revision, answers=((file, len(answers)),),
        )  # fmt: skip

    def _entries(self, row: sqlite3.Row, name: str) -> list[Entry]:
        """Those of all logs, as far as they can be read."""
        found: list[Entry] = []
        reached, numbers = row["revision"], count(row["number"])
        mine = [m for p in self.directory.iterdir() if (m := _OLD.fullmatch(p.name))]
        last = max((int(m[3]) for m in mine if m[1] == "log" and int(m[2]) == row["id"]), default=0)
        for number in numbers:
            path, end = self.directory / f"log-{row['id']}-{number}", 0
            try:
                content = read(path)
                for entry, at in decode(content, 0, reached):
                    found.append(entry)
                    reached, end = entry.revision, at
                if any(content[end:]):
                    raise Unsound(f"a record at byte {end:,} cannot be read")
            except Unsound as error:
                if number <= last or number == row["number"]:
                    self.lost(Loss(name, path.name, str(error), "requests", reached))
                return found
        return found

    def _log(self, pipeline: int, revision: int, entries: list[Entry]) -> Mark:
        directory = bytes.fromhex(self.state.directory)
        with closing(begin(self.directory, (directory, pipeline, 1), revision)) as log:
            for entry in entries:
                log.append(entry)
            log.durable()
            return log.mark

    def _intents(self, db: sqlite3.Connection) -> None:
        texts = {
            str(row["serial"]): json.dumps({**dict(row), "rules": json.loads(row["rules"])})
            for row in db.execute("SELECT * FROM intents ORDER BY serial")
        }
        given = db.execute("SELECT seq FROM sqlite_sequence WHERE name = 'intents'").fetchone()
        last = given[0] if given is not None else 0
        content = json.dumps({"last": last, "texts": texts}).encode()
        snapshot = write_whole(self.directory / f"snapshot-{INTENTS}-1", [content])
        mark = self._log(INTENTS, last, [])
        kept = Item(
            INTENTS, "", False, revision=last, snapshot=snapshot, number=1, last=mark.revision
        )
        self.state = self.state.having(kept)
