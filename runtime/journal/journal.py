"""One pipeline's part of the journal: what its owner writes. agent/restore.py makes it again.

`Kept.config` is JSON: what the load wrote about itself (`releases.about_of`) but for the manifest,
and as `ifindexes` those of the ports by number, for requests that name interfaces so.
"""

from __future__ import annotations

import json
import os
import time
from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence, Sized
from contextlib import contextmanager, suppress
from dataclasses import replace

from ...lang.contract.rules.rules import Reference
from ...lang.text.diagnostics import Diagnostic, Refused
from ..base.outcome import Outcome
from ..loading.any_loaded import AnyLoaded
from ..loading.bundle import Bundle
from . import errors
from .log import Log, Mark, open_new
from .pipelines import Snapshot
from .records import ALLOTTED, IES, NOTE, PACKED, Entry, with_allotted
from .recovery import Written
from .state import Build
from .store import Store

#: Idempotency keys that are remembered.
KEYS = 65_536
#: Requests and bytes since the last snapshot from which on there is a new one; requests also as a
#: part of all rules, for a snapshot has all of them.
_MANY, _SHARE, _LARGE = 10_000, 0.2, 256 << 20
#: And bytes of answers, which are in memory until then.
_TOLD = 16 << 20
#: Seconds until the list has the length of a log that is always written to.
_LATE = 10.0

Answered = OrderedDict[str, tuple[bytes, Outcome]]


class Journal:
    """What is written of one pipeline. Raises `Refused`, and then nothing is."""

    def __init__(self, store: Store, pipeline: int, written: Written | None = None) -> None:
        """`written`: what no snapshot has yet, and the log to go on in; without, there is none."""
        self.store, self.pipeline = store, pipeline
        found = written if written is not None else store.unwritten(pipeline)
        self.number = found.head.number
        self.log = Log(store.log_path(pipeline, self.number), found.head, found.mark)
        self.log.awaited = store.acknowledge == "after"
        self._since = len(found.entries)
        self._keyed = [entry._replace(content=b"") for entry in found.entries if entry.key]
        #: Bytes of answers since the last snapshot.
        self._told = sum(len(entry.answer) for entry in self._keyed)
        self._before = self.log.mark
        #: How far the log was when it was looked at; how many bytes the list knows of, and since
        #: when.
        self._seen, self._confirmed, self._noted = self.log.mark, 0, time.monotonic()
        #: A note that could not be written: it comes before anything else.
        self._owed: Entry | None = None
        self._unwritten: tuple[Diagnostic, ...] = ()
        self._unfolded: tuple[Diagnostic, ...] = ()
        #: Of the last turn-over, where it could not be written: before that there is no other.
        self._left: Snapshot | None = None
        #: Nothing is written before there is a snapshot.
        self.withheld = written is None or written.marred
        #: What is in force is the build that was prepared, and the journal does not say so yet.
        self.unkept = False

    @property
    def findings(self) -> tuple[Diagnostic, ...]:
        """What could not be written, requests or a snapshot."""
        return self._unwritten or self._unfolded

    def close(self) -> None:
        """May be called again."""
        self.log.close()

    # ---- transactions -----------------------------------------------------------------------

    def request(
        self, content: bytes, packed: bool, key: str, digest: bytes, outcome: Outcome,
        ids: Mapping[str, Sequence[int]] | None = None,
    ) -> None:  # fmt: skip
        """A request that is about to be made, and its answer. `ids`: those that it gives to rules,
        by kind, where it would give others to them if it were made alone."""
        if self.withheld or self._owed is not None or self.store.doubt:
            self._settle()
        self._before = self.log.mark
        revision, form = outcome.revision, PACKED if packed else IES
        if ids:
            form, content = ALLOTTED, with_allotted(ids, content)
        answer = _answer(outcome) if key else b""
        entry = tuple.__new__(Entry, (revision, form, content, key, digest, answer))
        self._append(entry)
        if key:  # only now: what is not written is not made, and not answered
            self._keyed.append(entry._replace(content=b""))
            self._told += len(entry.answer)

    def withdraw(self, revision: int) -> None:
        """The last request could not be made."""
        if self._keyed and self._keyed[-1].revision == revision:
            self._told -= len(self._keyed.pop().answer)
        if not self.log.withdraw(self._before):
            why = "what was refused could not be taken out, and a restart may make it"
            self._unwritten = (errors.cannot_write(str(self.log.path), why),)

    def note(self, revision: int, loaded: AnyLoaded) -> None:
        """Another transaction than a request's: nothing that a replay would have to make again. It
        is in force, so that it is written when it can be: at the latest before the next request."""
        self._owed = Entry(revision, NOTE, json.dumps(ifindexes_of(loaded)).encode())
        with suppress(Refused):
            self._settle()

    def _settle(self) -> None:
        """Write what has to be there before the next request. Raises `Refused`."""
        self.store.need_list()
        if self.withheld:
            raise Refused(self._unfolded or [errors.cannot_write(str(self.log.path), "not yet")])
        if self._owed is not None:
            self._append(self._owed)
            self._owed = None

    def _append(self, entry: Entry) -> None:
        try:
            self.log.append(entry)
        except Refused as error:
            self._unwritten = tuple(error.diagnostics)
            raise
        self._unwritten = ()
        self._since += 1

    def acknowledged(self) -> None:
        """Return when what was written may be answered for."""
        if self.store.acknowledge == "after":
            self.log.durable()

    @property
    def confirmable(self) -> bool:
        """The list is to know how much there is: nothing was written since this was asked last, or
        what it knows is old."""
        seen, self._seen = self._seen, self.log.mark
        late = time.monotonic() - self._noted > _LATE
        return (seen == self._seen or late) and self._seen.size > self._confirmed

    def confirm(self, number: int, mark: Mark) -> None:
        """Have it on record how much there was of this log while no request was made. Raises
        `Refused` where the disk fails under the log."""
        self.log.durable()
        self.log.confirm()
        with suppress(Refused):  # the header of the log says so, too
            if self.store.confirm(self.pipeline, number, mark) and number == self.number:
                self._confirmed = mark.size
        self._noted = time.monotonic()

    def see_files(self) -> tuple[Diagnostic, ...]:
        """Where somebody removed the log or the snapshot, what is in force is to be written again:
        there is a finding until it is. Returns it the first time."""
        gone = self.store.removed(self.pipeline, self.log)
        if gone is None or self._unfolded:
            return ()
        self._unfolded = (errors.cannot_write(str(gone), "somebody removed it"),)
        return self._unfolded

    # ---- snapshots --------------------------------------------------------------------------

    def due(self, rules: Sized) -> bool:
        """Whether so much was written that a snapshot is worth it, or the last one failed."""
        if self._since > _MANY and self._since > len(rules) * _SHARE:
            return True
        return self._told > _TOLD or self.log.mark.size > _LARGE or bool(self._unfolded)

    def wants_care(self, rules: Sized) -> bool:
        """Whether the journal flusher has work: a snapshot is due, or nobody waits for the disk."""
        return self.store.acknowledge == "before" or self.due(rules)

    @property
    def clean(self) -> bool:
        """Whether the snapshot has everything."""
        return not (self._since or self._owed or self._unfolded)

    @contextmanager
    def open_next(self) -> Iterator[int]:
        """A new log, for `turn_over`; nothing is left of it where that does not happen."""
        self._fold_left()
        path = self.store.log_path(self.pipeline, self.number + 1)
        with self._folding():
            self.store.need_place()
            descriptor = open_new(path, (*self.log.whose, self.number + 1))
        try:
            yield descriptor
        except BaseException:
            os.close(descriptor)
            with suppress(OSError):
                path.unlink()
            raise

    def turn_over(self, descriptor: int, revision: int, parts: Sequence[bytes], config: str
                  ) -> Snapshot:  # fmt: skip
        """Go on in a new log; what was written so far is in these parts. Give what it returns to
        `fold`."""
        path = self.store.log_path(self.pipeline, self.number + 1)
        with self._folding():
            self.log.turn_over(path, descriptor, revision)
        self.number += 1
        self._confirmed = 0
        self._since, self._owed, self._unwritten = 0, None, ()
        keyed, self._keyed, self._told = self._keyed, [], 0
        return Snapshot(revision, parts, config, keyed)

    def prepare(self, build: Build) -> None:
        """An upgrade is about to put a build in the place of the one that is kept: whatever it is
        killed in the middle of, the journal has the one that is in force."""
        self._fold_left()  # which is of the build before
        self.store.prepare(self.pipeline, build)

    def fold(self, made: Snapshot, upgraded: bool = False) -> None:
        """Let a snapshot take the place of the logs before; `upgraded`: the build that was prepared
        is in force. If that fails they stay, and the next `open_next` tries again first: a log for
        each attempt would take what room there is."""
        try:
            with self._folding():
                self.store.fold(self.pipeline, self.number, replace(made, upgraded=upgraded), KEYS)
        except BaseException:
            self._keyed[:0] = made.answered
            self._left = replace(made, answered=(), upgraded=upgraded)
            raise
        self._left, self._unfolded, self.withheld = None, (), False

    def _fold_left(self) -> None:
        """Write the snapshot that could not be written. Raises `Refused`."""
        if (left := self._left) is None:
            return
        answered = [entry for entry in self._keyed if entry.revision <= left.revision]
        del self._keyed[: len(answered)]
        self.fold(replace(left, answered=answered), left.upgraded)

    @contextmanager
    def _folding(self) -> Iterator[None]:
        try:
            yield
        except Refused as error:
            self._unfolded = tuple(error.diagnostics)
            raise

    def remember(self, answered: Answered) -> None:
        """Have these answers in the first snapshot: they were given before there was a journal."""
        self._keyed = [
            Entry(outcome.revision, IES, b"", key, digest, _answer(outcome))
            for key, (digest, outcome) in answered.items()
        ]

    def answered(self) -> Answered:
        """The last requests with a key: its digest and answer, oldest first."""
        found: Answered = OrderedDict()
        for entry in (*self.store.answers(self.pipeline), *self._keyed):
            found[entry.key] = entry.digest, answer_of(entry)
        while len(found) > KEYS:
            found.popitem(last=False)
        return found


def answer_of(entry: Entry) -> Outcome:
    """What was answered. Raises one of `NONSENSE` where that is not what `_answer` writes."""
    created, *counts = json.loads(entry.answer)
    references = tuple(Reference(*each) for each in created)
    return Outcome(entry.revision, references, *counts)


def _answer(outcome: Outcome) -> bytes:
    created = [list(reference) for reference in outcome.created]
    counts = [outcome.created_count, outcome.changed_count, outcome.removed_count]
    return json.dumps([created, *counts]).encode()


def build_of(bundle: Bundle) -> Build:
    traced = bundle.traced.pack() if bundle.traced is not None else b""
    build = bundle.manifest.to_json(), bundle.object, traced
    return (*build, bundle.tc) if bundle.tc else build


def config_of(loaded: AnyLoaded) -> str:
    """`Kept.config`"""
    left_out = "manifest", "objects"
    about = {name: value for name, value in loaded.about.items() if name not in left_out}
    return json.dumps({**about, "ifindexes": ifindexes_of(loaded)})


def ifindexes_of(loaded: AnyLoaded) -> dict[str, int]:
    return {str(port.number): port.ifindex for port in loaded.ports}
