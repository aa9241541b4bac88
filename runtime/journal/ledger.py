"""Small texts by number, each change on the disk when it returns: a log of its own and snapshots,
as pipelines have them. What cannot be written is in the store's `of_intents`."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from threading import RLock

from ...lang.text.diagnostics import Refused
from .files import Doubtful
from .journal import Journal
from .records import NOTE, Entry
from .state import INTENTS
from .store import Store

#: Bytes of a log from which on there is a snapshot, if the last one has no more.
_LARGE = 256 << 10
#: Texts that are no intents say by this key what they are (runtime/stamp/store.py).
KIND = "stamp"


class Ledger:
    """`texts` by number. Methods may be called from any thread; they raise `Refused`, and then
    nothing is written; `Doubtful`, where it is, but perhaps not on the disk."""

    def __init__(self, store: Store) -> None:
        self.texts: dict[int, str] = {}
        self._store, self._changing = store, RLock()
        store.of_intents = ()
        #: At least the highest number that was ever given.
        self.last = self._revision = self._size = self._given = 0
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

    def number(self) -> int:
        """One for a new text, that nobody had."""
        with self._changing:
            self._given = max(self._given, self.last) + 1
            return self._given

    def put(self, texts: Mapping[int, str | None]) -> None:
        """One transaction; None: it is there no more."""
        journal, change = self._journal, {str(number): text for number, text in texts.items()}
        with self._changing, self._writing():
            self._store.need_list()
            if journal.withheld or journal.log.mark.size > max(_LARGE, self._size):
                self._fold()
            entry = Entry(self._revision + 1, NOTE, json.dumps(change).encode())
            journal.log.append(entry)
            self._revision += 1
            self._change(change)
            try:
                journal.confirm(journal.number, journal.log.mark)
            except Refused as error:  # whoever starts next may find it, so that it is in force
                raise Doubtful(error.diagnostics) from None

    def close(self) -> None:
        """May be called again."""
        self._journal.close()

    def fix(self) -> None:
        """Write again, if that can be, what could not be written."""
        with self._changing:
            log = self._journal.log
            if not log.failed and (self._store.of_intents or not log.there):
                with suppress(Refused), self._writing():
                    self._fold()

    @contextmanager
    def _writing(self) -> Iterator[None]:
        try:
            yield
        except Refused as error:
            self._store.of_intents = tuple(error.diagnostics)
            raise
        self._store.of_intents = ()

    def accept_loss(self) -> None:
        """Go on with what could be read."""
        with self._changing:
            if self._journal.withheld:
                with self._writing():
                    self._fold()

    def content(self) -> bytes:
        """As a snapshot has it."""
        with self._changing:
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
