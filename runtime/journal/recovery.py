"""What a state directory holds, read and judged; nothing is written (docs/journal.md).

Whatever happened to one of its files: all is there, or it says what is not, or that the last group
of requests was not confirmed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

from . import heads, state
from .files import Unsound, read, read_sound
from .heads import HEADS, NOT_BEGUN, Head
from .log import Mark, log_name
from .loss import Loss, What
from .records import Entry, decode
from .state import INTENTS, Item, State

#: Bytes of records that may be behind those that a header knows of: a few requests.
_AHEAD = 512 << 20
#: Files of the journal, of this format and of the one before.
OURS = re.compile(r"(?:build|snapshot|answers|(requests)|rules|log)-(\d+)-(\d+)~?|journal\.db.*")


@dataclass
class Written:
    """What was written since a snapshot, oldest first. `head`, `mark`: of the log to go on in.
    `lost`: why there is no more where there was, in which `file`, and how many revisions are
    `missing`, as far as that is known. `unconfirmed`: the last group may be missing."""

    head: Head
    mark: Mark
    entries: list[Entry] = field(default_factory=list)
    file: str = ""
    lost: str = ""
    missing: int = 0
    unconfirmed: bool = False

    @property
    def marred(self) -> bool:
        """It must not go on there."""
        return bool(self.lost) or self.unconfirmed


@dataclass
class Found:
    """By pipeline's number: `losses` (-1: of the list), and `unconfirmed`: the log, and the last
    revision that is there. `unsound`: copies of the list that cannot be read, and why. `strays`:
    files that nobody speaks of; `marred`: those of pipelines of which something is wrong."""

    state: State
    losses: dict[int, list[Loss]] = field(default_factory=dict)
    unconfirmed: dict[int, tuple[str, int]] = field(default_factory=dict)
    unsound: dict[str, str] = field(default_factory=dict)
    strays: set[str] = field(default_factory=set)
    marred: set[str] = field(default_factory=set)


def recover(directory: Path) -> Found:
    """Raises `Refused` where a file cannot be read; OSError where the directory cannot."""
    files = {path.name for path in directory.iterdir()}
    ours = {name for name in files if OURS.fullmatch(name)}
    known, unsound = state.load(directory)
    found = Found(known or state.new(), unsound=unsound)
    if known is None and (ours or files & set(state.COPIES)):
        name, why = next(iter(unsound.items()))
        found.losses[-1] = [Loss("", name, f"{why}, and the other copy, too", "list")]
    elif known is None:
        found.unsound = {}  # there was nothing yet
    for item in found.state.items.values():
        _recover(directory, found, item, files)
    found.strays = {name for name in ours if not spoken_of(name, found.state)}
    newer = sorted(name for name in found.strays if _is_newer(directory, found.state, name))
    if known is not None and newer:
        found.losses[-1] = [Loss("", newer[0], "the list is older, and does not name it", "list")]
    wrong = {*found.losses, *found.unconfirmed}
    found.marred = {name for name in ours if _pipeline(name) in wrong} - found.strays
    return found


def _is_newer(directory: Path, said: State, name: str) -> bool:
    """Whether a file that this list does not name was written after a later list. Before the list
    knows a pipeline, a load writes its build alone; before it knows the intents, their log may
    begin, but has no record."""
    pipeline, kind = _pipeline(name), name.partition("-")[0]
    if kind not in ("snapshot", "requests") or INTENTS < pipeline < said.next:
        return False
    if pipeline in said.items:  # the intents: it is one from before that was not swept
        return False
    if kind == "snapshot":
        return pipeline != INTENTS
    content = b""
    with suppress(Unsound):
        content = read(directory / name, HEADS + _AHEAD, cut=True)
    whose = bytes.fromhex(said.directory), pipeline
    own = [h for h in heads.decode(content) if h is not None and h.whose[:2] == whose]
    begun = any(head.base != NOT_BEGUN for head in own)
    return begun and (pipeline != INTENTS or any(True for _ in decode(content, HEADS)))


def spoken_of(name: str, said: State) -> bool:
    """Whether the list names a file, or the log before which it is the next."""
    match = OURS.fullmatch(name)
    item = said.items.get(_pipeline(name))
    if match is None or item is None:
        return False
    # of one whose load has begun (0) the first, too: others write the list before it names that
    log = match[1] and not name.endswith("~") and int(match[3]) >= item.number
    return bool(log) or any(mark.name == name for mark in item.marks)


def _pipeline(name: str) -> int:
    match = OURS.fullmatch(name)
    return int(match[2]) if match is not None and match[2] else -1


def _recover(directory: Path, found: Found, item: Item, files: set[str]) -> None:
    """One pipeline."""
    losses: list[Loss] = []

    def lost(file: str, why: str, what: What, revision: int = 0, count: int = 0) -> None:
        losses.append(Loss(item.name, file, why, what, revision, count))

    answers = {mark.name for mark, _ in item.answers}
    # A build that is prepared is acknowledged only when it is the build.
    for mark in replace(item, prepared=None).marks:
        try:
            read_sound(directory, mark)
        except Unsound as error:
            lost(mark.name, str(error), "answers" if mark.name in answers else "pipeline")
    if not item.begun:
        logs = read_logs(directory, found.state, item, files)
        if logs.lost:
            lost(logs.file, logs.lost, "requests", logs.mark.revision, logs.missing)
        elif logs.unconfirmed:
            found.unconfirmed[item.id] = logs.file, logs.mark.revision
    if losses:
        found.losses[item.id] = losses


def read_logs(directory: Path, said: State, item: Item, files: Iterable[str]) -> Written:
    """What was written since the snapshot of a pipeline. `files`: names in the directory."""
    chain = _Chain(directory, said, item, files)
    chain.read()
    return chain.written


class _Chain:
    """The logs of a pipeline from its snapshot on. `reached`: the last revision that is there."""

    def __init__(self, directory: Path, said: State, item: Item, files: Iterable[str]) -> None:
        self._directory, self._item = directory, item
        self._whose = bytes.fromhex(said.directory), item.id
        mine = (m for m in map(OURS.fullmatch, files) if m and m[1] and int(m[2]) == item.id)
        self._numbers = {int(match[3]) for match in mine}
        self.reached, self.entries = item.revision, list[Entry]()
        self.lost, self.missing, self.unconfirmed = "", 0, False
        self._number = item.number
        self._head = Head(*self._whose, self._number)
        self._size = 0

    @property
    def at(self) -> Path:
        return self._directory / log_name(self._item.id, self._number)

    @property
    def written(self) -> Written:
        head = self._head
        if self.lost or self.unconfirmed:  # behind whatever is there
            head = Head(*self._whose, max(self._numbers, default=self._number))
        elif head.base == NOT_BEGUN:
            head = head._replace(base=self.reached)
        mark = Mark(self._size, self.reached)
        return Written(head, mark, self.entries, self.at.name, self.lost, self.missing,
                       self.unconfirmed)  # fmt: skip

    def read(self) -> None:
        known = Mark(self._item.length, self._item.last)
        while not self._read_one(known):
            following = self._next()
            if following is None:
                return
            self._number += 1
            known = Mark(0, 0)
            if following.behind > self.reached:  # the log before has less than it says
                self.missing = following.behind - self.reached
                if following.confirmed:
                    self.lost = f"its requests behind revision {self.reached} are gone"
                self.unconfirmed = True
                self._number -= 1
                return
            self.unconfirmed, self.reached = False, max(self.reached, following.base)

    def _read_one(self, known: Mark) -> bool:
        """One log. Returns whether it is the last that can be read."""
        try:
            content = self._content()
        except Unsound as error:
            return self._end(str(error), known.revision)
        all_heads = heads.decode(content)
        own = [h for h in all_heads if h is not None and h.whose == (*self._whose, self._number)]
        if not own:
            why = "it is another log" if any(all_heads) else "both of its headers are damaged"
            return self._end(why, known.revision)
        head = max(own, key=lambda each: each.generation)
        if head.base not in (self.reached, NOT_BEGUN):
            return self._end(f"it begins behind revision {head.base}", known.revision)
        size = 0
        if head.base != NOT_BEGUN:
            for entry, end in decode(content, HEADS, self.reached):
                self.entries.append(entry)
                self.reached, size = entry.revision, end - HEADS
        if size < max(head.confirmed, known.size):
            why = f"a record at byte {HEADS + size:,} cannot be read"
            return self._end(why, max(head.revision, known.revision))
        self._head, self._size = head, size
        # Without its newer header nobody knows how far it went, unless the list does.
        half = len(own) < len(all_heads) and not size == known.size > 0
        self.unconfirmed = size < head.written or half
        return False

    def _content(self) -> bytes:
        """Up to where the headers say that it goes, and a group more: somebody may have made the
        file longer than there is memory for."""
        found = heads.decode(read(self.at, HEADS, cut=True))
        written = max((head.written for head in found if head is not None), default=0)
        return read(self.at, HEADS + written + _AHEAD, cut=True)

    def _end(self, why: str, last: int) -> bool:
        self.lost, self.missing = why, max(0, last - self.reached)
        return True

    def _next(self) -> Head | None:
        """The header of the log that comes next, None where none has begun. Of one that must be
        there and cannot be read: as of one that begins here."""
        if self._number + 1 not in self._numbers and not self._head.ended:
            return None
        whose = (*self._whose, self._number + 1)
        path = self._directory / log_name(self._item.id, self._number + 1)
        begins = Head(*whose, 0, self.reached)
        own: list[Head] = []
        with suppress(Unsound):
            found = heads.decode(read(path, HEADS, cut=True))
            own = [h for h in found if h is not None and h.whose == whose]
        if not own:
            return begins if self._head.ended else None
        last = max(own, key=lambda each: each.generation)
        if not self._head.ended and last.base < self.reached:
            return None  # the one before went on: this one could not be begun, nor removed
        return last if last.base != NOT_BEGUN else None
