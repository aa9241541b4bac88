"""Stores intents in the journal, for a restarted agent."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from hashlib import blake2b
from typing import Literal, NamedTuple

from ...lang.contract.rules.rules import Rule
from ...lang.text.diagnostics import Diagnostic
from ..journal.files import Doubtful
from ..journal.ledger import KIND, Ledger
from ..journal.store import Store

State = Literal["pending", "active", "failed", "expired"]


class IntentRule(NamedTuple):
    """A rule of an intent. `match`: a digest of what it matches, by which another rule is known
    that got its id."""

    kind: str
    id: int
    match: str


def match_digest(rule: Rule) -> str:
    """Of what a rule matches, without the elements' names, which an upgrade may change."""
    matched = [matcher for _, matcher in rule.match], rule.priority
    return blake2b(repr(matched).encode(), digest_size=12).hexdigest()


@dataclass(frozen=True)
class Intent:
    """`name` is what diagnostics call its `text`. `begins` and `ends`: seconds of the Unix epoch;
    it ends never where that is None. `rules`: those that are there because of it, and until it has
    begun those of the intent whose place it takes. `why` it failed, or did not begin or end yet.
    `serial` grows with each intent and is never reused."""

    pipeline: str
    id: str
    name: str
    text: str
    begins: float
    ends: float | None
    state: State = "pending"
    rules: tuple[IntentRule, ...] = ()
    why: str = ""
    serial: int = 0

    @property
    def going(self) -> bool:
        """Something is still due to it."""
        return self.state in ("pending", "active")


class IntentStore:
    """The intents of a journal; without one they last as long as the agent. Methods raise
    `Refused`, and then nothing is written. `doubt`: why the last that was may not be on the disk.
    """

    def __init__(self, store: Store | None) -> None:
        #: Of others' texts, too.
        self.ledger = Ledger(store) if store is not None else None
        self.doubt = list[Diagnostic]()
        self._serial = 0
        self._serials = {(each.pipeline, each.id): each.serial for each in self.all()}

    def all(self) -> list[Intent]:
        """The oldest first."""
        texts = self.ledger.texts if self.ledger is not None else {}
        found = (_intent(serial, text) for serial, text in sorted(texts.items()))
        return [intent for intent in found if intent is not None]

    def content(self) -> bytes:
        """For a backup."""
        ledger = self.ledger
        return ledger.content() if ledger is not None else b'{"last": 0, "texts": {}}'

    def accept_loss(self) -> None:
        """Drop the intents that could not be read."""
        if self.ledger is not None:
            self.ledger.accept_loss()

    def add(self, intent: Intent) -> Intent:
        """Add an intent, replacing one of its name; returned with its serial."""
        serial = self.ledger.number() if self.ledger is not None else self._serial + 1
        name, added = (intent.pipeline, intent.id), replace(intent, serial=serial)
        before = self._serials.get(name)
        replaced = {before: None} if before is not None else {}
        self._put({**replaced, added.serial: _text(added)})
        self._serial = self._serials[name] = added.serial
        return added

    def put(self, intent: Intent) -> None:
        """Write a known intent as it is now."""
        self._put({intent.serial: _text(intent)})

    def remove(self, *intents: Intent) -> None:
        self._put({intent.serial: None for intent in intents})
        for each in intents:
            if self._serials.get((each.pipeline, each.id)) == each.serial:
                del self._serials[each.pipeline, each.id]

    def _put(self, texts: Mapping[int, str | None]) -> None:
        if self.ledger is not None and texts:
            try:
                self.ledger.put(texts)
            except Doubtful as error:
                self.doubt = error.diagnostics

    def close(self) -> None:
        """The intents are replaced by others."""
        if self.ledger is not None:
            self.ledger.close()

    def write_again(self) -> None:
        """Write again what could not be written."""
        if self.ledger is not None:
            self.ledger.fix()


def check(content: bytes) -> None:
    """Of `IntentStore.content`. Raises ValueError, KeyError, TypeError where it is none."""
    about = json.loads(content)
    last = int(about["last"])
    for serial, text in about["texts"].items():
        if not 0 < int(serial) <= last:
            raise ValueError(f"the serial {serial[:20]}")
        _intent(int(serial), text)


def _text(intent: Intent) -> str:
    return json.dumps({**asdict(intent), "rules": [list(rule) for rule in intent.rules]})


def _intent(serial: int, text: str) -> Intent | None:
    """None of a text that is something else."""
    about = json.loads(text)
    if KIND in about:
        return None
    return Intent(
        **{**about, "rules": tuple(IntentRule(*r) for r in about["rules"]), "serial": serial}
    )
