"""Small texts by number, each change on the disk when it returns: a log of its own and snapshots,
as pipelines have them."""

from __future__ import annotations

import json
from collections.abc import Mapping

from ...lang.diagnostics import Refused
from .journal import Journal
from .records import NOTE, Entry
from .state import INTENTS
from .store import Store

#: Bytes of a log from which on there is a snapshot, if the last one has no more.
_LARGE = 256 << 10


class Ledger:
    """`texts` by number. Methods raise `Refused`, and then nothing is written."""

    def __init__(self, store: Store) -> None:
        self.texts: dict[int, str] = {}
        #: At least the highest number that was ever given.
        self.last = self._revision = self._size = 0
        item, written, lost = store.intents(), None, False
        if item is not None:
            try:
                self._restore(store.snapshot(item))
            except Refused:  # which the store says
                lost = True
            written = store.written(item)
            for entry in written.entries:
                self._change(json.loads(entry.content))
            self._revision = max(item.revision, written.mark.revision)
            self.last = max(self.last, self._revision)  # there is no change without its number
        self._journal = Journal(store, INTENTS, written)
        self._journal.withheld |= lost
        store.owned.callback(self._journal.close)

    def put(self, texts: Mapping[int, str | None]) -> None:
        """One transaction; None: it is there no more."""
        journal, change = self._journal, {str(number): text for number, text in texts.items()}
        journal.store.need_list()
        if journal.withheld or journal.log.mark.size > max(_LARGE, self._size):
            self._fold()
        before = journal.log.mark
        entry = Entry(self._revision + 1, NOTE, json.dumps(change).encode())
        journal.log.append(entry)
        try:
            journal.confirm(journal.number, journal.log.mark)
        except Refused:
            journal.log.withdraw(before)
            raise
        self._revision += 1
        self._change(change)

    def accept_loss(self) -> None:
        """Go on with what could be read."""
        if self._journal.withheld:
            self._fold()

    def content(self) -> bytes:
        """As a snapshot has it."""
        return json.dumps({"last": self.last, "texts": self.texts}).encode()

    def _change(self, texts: Mapping[str, str | None]) -> None:
        for said, text in texts.items():
            number = int(said)
            self.last = max(self.last, number)
            if text is None:
                self.texts.pop(number, None)
            else:
                self.texts[number] = text

    def _restore(self, snapshot: bytes) -> None:
        about, self._size = json.loads(snapshot), len(snapshot)
        self._change(about["texts"])
        self.last = about["last"]

    def _fold(self) -> None:
        content = self.content()
        # until the list names the first log whoever writes the list would take it away
        with self._journal.store.alone():
            with self._journal.open_next() as descriptor:
                made = self._journal.turn_over(descriptor, self._revision, [content], "")
            self._journal.fold(made)
        self._size = len(content)
