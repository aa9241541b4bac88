"""State directories of the format before, of SQLite and logs without a header, written again.

    journal.db    pipelines, answers, intents
    rules-P-N     the snapshot of pipeline P
    log-P-N       records behind it, as they are today

The list comes last: until it is there an agent begins again with the old files, which it only
reads. Then they are those that nobody speaks of.

SQLite's pages have no checksums: what is read of them must make sense, the log must be read to its
end, and the files beside must be named.
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
from typing import Any

from ..base.paths import RUN
from . import sqlite_wal, state
from .files import NONSENSE, Unsound, digest_of, read, write_whole
from .log import Mark, begin
from .loss import Loss
from .records import IES, Entry, decode, encode
from .state import INTENTS, Bundled, Item, write_build

_DATABASE, _WAL = "journal.db", "journal.db-wal"
_TABLES = {"about", "answers", "intents", "pipelines", "prepared", "sqlite_sequence"}
#: What comes of reading a row that is not what was written.
_NONSENSE = (*NONSENSE, sqlite3.Error)
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
            taken = db.execute("PRAGMA wal_checkpoint").fetchone()[1]
            wal = directory / _WAL
            if why := sqlite_wal.left_out(read(wal) if wal.exists() else b"", taken):
                made.lost(Loss("", _WAL, why, "list"))
            made.all(db)
    except (sqlite3.Error, UnicodeDecodeError) as error:  # also of what SQLite says
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
            db.row_factory, db.text_factory = sqlite3.Row, _text
            yield db


def _text(content: bytes) -> str | bytes:
    """What is no text stays bytes, which no column for text has."""
    try:
        return content.decode()
    except UnicodeDecodeError:
        return content


def _need(row: sqlite3.Row, type_: type, *names: str) -> None:
    """Raises ValueError where columns have anything else."""
    for name in names:
        if not isinstance(row[name], type_) or (type_ is int and row[name] < 0):
            raise ValueError(f"its {name} is {row[name]!r:.40}")


class _Made:
    """The new state, piece by piece."""

    def __init__(self, directory: Path) -> None:
        self.directory, self.state, self._pipelines = directory, state.new(), set[int]()

    def lost(self, loss: Loss) -> None:
        self.state = replace(self.state, losses=(*self.state.losses, loss))

    def all(self, db: sqlite3.Connection) -> None:
        found = str(db.execute("PRAGMA integrity_check(1)").fetchone()[0])
        if found != "ok":
            self.lost(Loss("", _DATABASE, found.split("\n")[-1], "list"))
        tables = db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
        if strange := {str(row["name"]) for row in tables} - _TABLES:
            self.lost(Loss("", _DATABASE, f"nobody made its tables {sorted(strange)}", "list"))
        for row in db.execute("SELECT * FROM pipelines ORDER BY id").fetchall():
            try:
                self._pipeline(db, row)
            except _Damaged as damage:
                self.lost(Loss(_name(row), damage.file, str(damage), "pipeline"))
            except _NONSENSE as error:
                why = f"it cannot be understood: {error}"
                self.lost(Loss(_name(row), _DATABASE, why, "pipeline"))
        unnamed: dict[str, str] = {}
        for match in self._files():
            if int(match[2]) not in self._pipelines:
                unnamed.setdefault(match[2], match[0])
        for pipeline, name in unnamed.items():
            self.lost(Loss(f"#{pipeline}", name, f"{_DATABASE} does not name it", "pipeline"))
        if db.execute("SELECT 1 FROM sqlite_master WHERE name = 'intents'").fetchone():
            self._intents(db)

    def _files(self) -> list[re.Match[str]]:
        return [m for path in self.directory.iterdir() if (m := _OLD.fullmatch(path.name))]

    def _pipeline(self, db: sqlite3.Connection, row: sqlite3.Row) -> None:
        id_ = row["id"]
        if not 0 < id_ < 1 << 31:
            raise ValueError(f"its number is {id_}")
        self._pipelines.add(id_)
        self.state = replace(self.state, next=max(self._pipelines) + 1)
        _need(row, str, "name", "config")
        _need(row, int, "revision", "number")
        begun = row["name"].endswith("~")
        if begun != (row["digest"] is None):
            raise ValueError("its name and its digest do not say the same of whether it is loaded")
        prepared = db.execute("SELECT * FROM prepared WHERE pipeline = ?", (id_,)).fetchone()
        item = Item(
            id_, row["name"].removesuffix("~"), begun, self._build(row, 1),
            self._build(prepared, 2) if prepared is not None else None,
        )  # fmt: skip
        if not begun:
            item = self._rules(db, row, item)
        elif not row["number"]:
            self._need_only_begun(item)
        self.state = self.state.having(item)

    def _need_only_begun(self, item: Item) -> None:
        """One that has rules was in force, or was about to be when its agent was killed."""
        for match in self._files():
            if int(match[2]) == item.id and any(read(self.directory / match[0])):
                why = f"{_DATABASE} says that its load has only begun"
                self.lost(Loss(item.name, match[0], why, "pipeline"))

    def _build(self, row: sqlite3.Row, number: int) -> Bundled:
        pipeline = row["pipeline"] if "pipeline" in row.keys() else row["id"]  # noqa: SIM118
        _need(row, str, "manifest")
        _need(row, bytes, "object", "traced")
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
        if not isinstance(json.loads(row["config"]), dict):
            raise ValueError("its config is no JSON object")
        snapshot = write_whole(self.directory / f"snapshot-{item.id}-1", [content])
        answers = self._answers(db, item, row["revision"])
        file = write_whole(self.directory / f"answers-{item.id}-1", map(encode, answers))
        entries = self._entries(row, item.name)
        last = self._log(item.id, row["revision"], entries)
        return replace(
            item, config=row["config"], revision=row["revision"], snapshot=snapshot, number=1,
            length=last.size, last=last.revision, answers=((file, len(answers)),),
        )  # fmt: skip

    def _answers(self, db: sqlite3.Connection, item: Item, last: int) -> list[Entry]:
        """Those that can be read."""
        found, wrong = list[Entry](), ""
        query = "SELECT * FROM answers WHERE pipeline = ? ORDER BY revision"
        for row in db.execute(query, (item.id,)).fetchall():
            try:
                _need(row, int, "revision")
                _need(row, str, "key")
                _need(row, bytes, "digest", "answer")
                created, *counts = json.loads(row["answer"])
                pairs = [(str(kind), int(id_)) for kind, id_ in created]
                sound = len(counts) == 3 and all(isinstance(each, int) for each in counts)
                if not sound or [*map(list, pairs)] != created or row["revision"] > last:
                    raise ValueError(f"the answer of revision {row['revision']}")
                entry = Entry(row["revision"], IES, b"", row["key"], row["digest"], row["answer"])
                encode(entry)
                found.append(entry)
            except _NONSENSE as error:
                wrong = f"it cannot be understood: {error}"
        if wrong:
            self.lost(Loss(item.name, _DATABASE, wrong, "answers"))
        return found

    def _entries(self, row: sqlite3.Row, name: str) -> list[Entry]:
        """Those of all logs, as far as they can be read."""
        found: list[Entry] = []
        reached, numbers = row["revision"], count(row["number"])
        mine = [m for m in self._files() if m[1] == "log" and int(m[2]) == row["id"]]
        last = max((int(m[3]) for m in mine), default=0)
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
        """Those that can be read."""
        texts, wrong = dict[str, str](), ""
        row = db.execute("SELECT seq FROM sqlite_sequence WHERE name = 'intents'").fetchone()
        last, highest = (row["seq"] if row is not None else 0), 0
        for row in db.execute("SELECT * FROM intents ORDER BY serial").fetchall():
            try:
                texts[str(row["serial"])] = _intent(row)
                highest = row["serial"]
            except _NONSENSE as error:
                wrong = wrong or f"it cannot be understood: {error}"
        if not isinstance(last, int) or last < highest:
            wrong, last = f"their last number is {last!r:.40}", highest
        if wrong:
            self.lost(Loss("", _DATABASE, wrong, "requests", 0))
        content = json.dumps({"last": last, "texts": texts}).encode()
        snapshot = write_whole(self.directory / f"snapshot-{INTENTS}-1", [content])
        mark = self._log(INTENTS, last, [])
        kept = Item(
            INTENTS, "", False, revision=last, snapshot=snapshot, number=1, last=mark.revision
        )
        self.state = self.state.having(kept)


def _name(row: sqlite3.Row) -> str:
    """A pipeline's, as far as it can be read."""
    name = dict(row).get("name")
    return name.removesuffix("~") if isinstance(name, str) else f"#{dict(row).get('id')}"


def _intent(row: sqlite3.Row) -> str:
    """As intents/store.py reads it."""
    texts = "pipeline", "id", "name", "text", "state", "rules", "why"
    _need(row, int, "serial")
    _need(row, str, *texts)
    _need(row, float, "begins")
    if row["ends"] is not None:
        _need(row, float, "ends")
    rules: list[Any] = json.loads(row["rules"])
    sound = all(list(map(type, each)) == [str, int, str] for each in rules)
    if not sound or row["state"] not in ("pending", "active", "failed", "expired"):
        raise ValueError(f"the rules or the state of intent {row['serial']}")
    about = {name: row[name] for name in (*texts, "serial", "begins", "ends")}
    return json.dumps({**about, "rules": rules})
