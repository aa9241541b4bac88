"""Intents in the journal: what a restarted agent goes on with."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

from ..journal.store import Store

State = Literal["pending", "active", "failed", "expired"]
_TABLE = """
CREATE TABLE IF NOT EXISTS intents (
  serial INTEGER PRIMARY KEY AUTOINCREMENT, pipeline TEXT NOT NULL, id TEXT NOT NULL,
  name TEXT NOT NULL, text TEXT NOT NULL, begins REAL NOT NULL, ends REAL, state TEXT NOT NULL,
  rules TEXT NOT NULL, why TEXT NOT NULL, UNIQUE (pipeline, id))
"""
_COLUMNS = "serial, pipeline, id, name, text, begins, ends, state, rules, why"


class Made(NamedTuple):
    """A rule of an intent. `match`: a digest of what it matches, by which another rule is known
    that got its id."""

    kind: str
    id: int
    match: str


@dataclass(frozen=True)
class Intent:
    """`name` is what diagnostics call its `text`. `begins` and `ends`: seconds of the Unix epoch;
    it ends never where that is None. `rules`: those that are there because of it, and until it has
    begun those of the intent whose place it takes. `why` it failed, or did not begin or end yet.
    `serial` grows with each that is told, and is never given twice."""

    pipeline: str
    id: str
    name: str
    text: str
    begins: float
    ends: float | None
    state: State = "pending"
    rules: tuple[Made, ...] = ()
    why: str = ""
    serial: int = 0

    @property
    def going(self) -> bool:
        """Something is still due to it."""
        return self.state in ("pending", "active")


class Kept:
    """The intents of a journal; without one they last as long as the agent. Methods raise
    `Refused`, and then nothing is written."""

    def __init__(self, store: Store | None) -> None:
        self._store, self._serial = store, 0
        if store is not None:
            store.also(lambda db: db.execute(_TABLE))

    def all(self) -> list[Intent]:
        """The oldest first."""
        if self._store is None:
            return []
        with self._store.reading() as db:
            rows = db.execute(f"SELECT {_COLUMNS} FROM intents ORDER BY serial").fetchall()
        return [_intent(*row) for row in rows]

    def add(self, intent: Intent) -> Intent:
        """In the place of another of its name; returned with its serial."""
        if self._store is None:
            self._serial += 1
            return replace(intent, serial=self._serial)
        with self._store.transaction() as db:
            db.execute("DELETE FROM intents WHERE pipeline = ? AND id = ?",
                       (intent.pipeline, intent.id))  # fmt: skip
            row = db.execute(
                "INSERT INTO intents (pipeline, id, name, text, begins, ends, state, rules, why) "
                "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING serial", _row(intent)
            ).fetchone()  # fmt: skip
        return replace(intent, serial=int(row[0]))

    def put(self, intent: Intent) -> None:
        """One that is there, as it is now."""
        if self._store is not None:
            with self._store.transaction() as db:
                db.execute("UPDATE intents SET ends = ?, state = ?, rules = ?, why = ? "
                           "WHERE serial = ?", (*_row(intent)[-4:], intent.serial))  # fmt: skip

    def remove(self, *intents: Intent) -> None:
        if self._store is not None:
            with self._store.transaction() as db:
                db.executemany("DELETE FROM intents WHERE serial = ?",
                               [(intent.serial,) for intent in intents])  # fmt: skip


def _row(intent: Intent) -> tuple[object, ...]:
    rules = json.dumps([list(rule) for rule in intent.rules])
    return (intent.pipeline, intent.id, intent.name, intent.text, intent.begins, intent.ends,
            intent.state, rules, intent.why)  # fmt: skip


def _intent(serial: int, pipeline: str, id_: str, name: str, text: str, begins: float,
            ends: float | None, state: State, rules: str, why: str) -> Intent:  # fmt: skip
    made = tuple(Made(*each) for each in json.loads(rules))
    return Intent(pipeline, id_, name, text, begins, ends, state, made, why, serial)
