"""What was asked for, kept so that a reboot loses nothing: the files of docs/journal.md.

A request is written to the log before it is made: what is in the maps is in the journal, whenever
the process is killed. Many requests share the waiting for the disk.
"""

from __future__ import annotations

import json
import logging
import os
import shutil
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass, replace
from errno import EIO, ENOENT, ENOTDIR, EROFS
from importlib.metadata import version
from itertools import count
from pathlib import Path
from tempfile import mkdtemp
from typing import Literal

from ...lang.text.diagnostics import Diagnostic, Refused
from ..base.errors import refused
from . import errors, format1, kept_in
from .backup import Pipeline, Received, Taken
from .disk import why
from .files import Doubtful, Unsound, read_sound, sync_directory, write_whole
from .files import Mark as File
from .heads import Head
from .hold import hold, keep_private
from .kept_in import Noted
from .log import Log, Mark, begin, log_name, open_new
from .records import Entry, decode, encode
from .recovery import OURS, Found, Written, read_logs, recover, spoken_of
from .state import COPIES, INTENTS, Build, Bundled, Item, Loss, State, read_build, write_build

Acknowledge = Literal["before", "after"]
#: Files of answers of a pipeline, and bytes of all but the last.
_MOST_FILES, _MOST_TOLD = 8, 32 << 20
#: Directories of backups that are being received.
_RECEIVED = "restore~"
_log = logging.getLogger("heliod.journal")


@dataclass(frozen=True)
class Snapshot:
    """What takes the place of a log. `answered`: entries whose answers are to be remembered.
    `upgraded`: the build that was prepared is in force."""

    revision: int
    parts: Sequence[bytes]
    config: str
    answered: Sequence[Entry] = ()
    upgraded: bool = False


class Store:
    """The journal of one agent. Methods may be called from any thread; they raise `Refused`, and
    then nothing is written. On a disk that cannot be written it is there to be read."""

    def __init__(self, directory: Path, acknowledge: Acknowledge = "after") -> None:
        """`acknowledge`: whether requests are answered before or after they are on the disk."""
        self.directory, self.acknowledge = directory, acknowledge
        #: When the last snapshot came to the disk, by the monotonic clock; 0: not yet.
        self.synced = 0.0
        #: Why nothing can be written.
        self.findings: tuple[Diagnostic, ...] = ()
        #: Why a reboot may find the list that was before: what only this one names may be lost.
        self.doubt: tuple[Diagnostic, ...] = ()
        #: Why intents are not written, or perhaps not on the disk: the ledger's to say.
        self.of_intents: tuple[Diagnostic, ...] = ()
        # Of two snapshots that are made at a time one would sweep the other's files away.
        self._changing = threading.RLock()
        #: Pipelines of which the next agent is to know that they are kept here.
        self._owned = set[str]()
        #: What is to be closed with it.
        self.owned = ExitStack()
        self.owned.enter_context(hold(directory))
        try:
            self._place = os.stat(directory)
            for left in directory.glob(f"{_RECEIVED}*"):  # by who was killed
                shutil.rmtree(left, ignore_errors=True)
            said = keep_private(directory)
            self._take(self._recover())
            if said is not None:
                self.notes.append(("", said))
        except BaseException:
            self.close()
            raise

    def _recover(self) -> Found:
        try:
            if format1.is_here(self.directory):
                format1.convert(self.directory)
            return recover(self.directory)
        except OSError as error:
            place = str(error.filename or self.directory)
            raise refused(errors.cannot_read(place, why(error))) from None

    def _take(self, found: Found) -> None:
        self._state, self._found = found.state, found.losses
        for item in found.state.items.values():
            noted = kept_in.noted(item.name)
            if noted.directory == found.state.directory and (
                noted.generation > found.state.generation
            ):
                file = log_name(item.id, item.number)
                older = Loss(item.name, file, "it is older than the agent before left it",
                             "requests", item.last)  # fmt: skip
                found.losses.setdefault(item.id, []).append(older)
        #: Files that go aside and are not removed.
        self._aside = found.strays | found.marred
        #: Copies of the list that are damaged, until they are kept there, too.
        self._unsound = set(found.unsound)
        #: What is said of this start alone, by pipeline; empty: of all.
        self.notes = [
            (found.state.items[each].name, errors.unconfirmed(str(self.directory / file), revision))
            for each, (file, revision) in found.unconfirmed.items()
        ]  # fmt: skip
        if -1 not in found.losses:
            copies = found.unsound.items()
            self.notes += [("", errors.copied(str(self.directory / n), why)) for n, why in copies]
        if found.strays:
            self.notes.append(("", errors.strays(str(self.directory / "aside"), found.strays)))
        try:  # who was killed may have renamed the list, and not have waited for the disk
            sync_directory(self.directory)
        except OSError as error:
            self.doubt = (errors.doubtful(str(self.directory), error),)
        with suppress(Refused):  # the findings say so
            self._save(self._state)

    @property
    def stuck(self) -> tuple[Diagnostic, ...]:
        """Why the list or the intents are not written."""
        return (*self.findings, *self.of_intents)

    @property
    def size(self) -> int:
        """Bytes of all files."""
        size = 0
        with suppress(OSError):  # the disk is gone
            for each in self.directory.iterdir():
                with suppress(FileNotFoundError):  # a snapshot took its place
                    size += each.stat().st_size
        return size

    def close(self) -> None:
        """May be called again."""
        self.owned.close()

    # ---- the list ---------------------------------------------------------------------------

    def fix(self) -> None:
        """Write again, if that can be. Called now and then, also where nothing failed."""
        with self._changing:
            self.need_place()
            there = all(os.path.lexists(self.directory / name) for name in COPIES)
            if self.findings or not there:
                self._save(self._state)
            else:
                self._look()

    def _look(self) -> None:
        """That the disk takes what is written. To open a file for writing writes nothing, and is
        refused on a disk that is read-only. Raises `Refused`."""
        path = self.directory / COPIES[0]
        try:
            os.close(os.open(path, os.O_WRONLY | os.O_CLOEXEC | os.O_NONBLOCK))
        except OSError as error:
            if error.errno in (EROFS, EIO):  # another is no matter of the disk's
                self.findings = (errors.cannot_write(str(path), error),)
                raise Refused(self.findings) from None

    def need_place(self) -> None:
        """That the directory is the one that is held, before a file is written into it: another in
        its place may be another agent's. Raises `Refused`, and then nothing is acknowledged until
        `fix` finds it there again."""
        try:
            if os.path.samestat(os.stat(self.directory), self._place):
                return
        except OSError as error:
            if error.errno not in (ENOENT, ENOTDIR):
                return  # whoever writes is told why that fails
        gone = errors.moved_away(str(self.directory))
        self.findings = self.doubt = (gone,)
        raise refused(gone)

    def _save(self, state: State) -> None:
        """Have the list on the disk, and put away what it does not name any more."""
        found = [loss for of in self._found.values() for loss in of]
        settled = [loss for loss in found if not spoken_of(loss.file, state)]
        state = replace(
            state, generation=state.generation + 1, losses=(*state.losses, *settled)
        )  # fmt: skip
        doubt: tuple[Diagnostic, ...] = ()
        self.need_place()
        try:
            self._keep_unsound()
            state.save(self.directory)
        except Doubtful as error:  # whoever starts next may find it, so that it is in force
            doubt = tuple(error.diagnostics)
        except Refused as error:
            self.findings = self.doubt or tuple(error.diagnostics)
            raise
        if self.findings and not doubt:
            _log.info("the journal `%s` can be written again", self.directory)
        if not doubt:  # else the next agent may rightly find the one before
            self._note(state)
        self._state, self.findings, self.doubt = state, doubt, doubt
        self._found = {each: [loss for loss in of if loss not in settled]
                       for each, of in self._found.items()}  # fmt: skip
        if not doubt:  # else the list before may need what it names
            self._sweep()

    def _note(self, state: State) -> None:
        """For the next agent: of which pipelines this list says something new."""
        for each in {*state.items.values()} - {*self._state.items.values()}:
            if each.name in self._owned and not each.begun:
                kept_in.note(each.name, Noted(state.directory, state.generation))

    def need_list(self) -> None:
        """Raises `Refused` while the list is in doubt: nothing that it is needed for may be
        acknowledged."""
        if self.doubt:
            if self.doubt[0].code == errors.CANNOT_WRITE:  # it is no list that is in doubt
                raise Refused(self.doubt)
            why = "its list is perhaps not on the disk"
            raise refused(errors.cannot_write(str(self.directory), why))

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Nobody else writes the list."""
        with self._changing:
            yield

    def _sweep(self) -> None:
        with suppress(OSError):  # they are found by the next start
            for path in self.directory.iterdir():
                if not OURS.fullmatch(path.name) or spoken_of(path.name, self._state):
                    continue
                if path.name in self._aside:
                    self._put_aside(path)
                else:
                    path.unlink(missing_ok=True)

    def _put_aside(self, path: Path) -> None:
        path.rename(self._free(path.name))
        self._aside.discard(path.name)

    def _free(self, name: str) -> Path:
        """A place in `aside`."""
        folder = self.directory / "aside"
        folder.mkdir(mode=0o700, exist_ok=True)
        names = (name if not number else f"{name}.{number}" for number in count())
        return next(folder / each for each in names if not os.path.lexists(folder / each))

    def _keep_unsound(self) -> None:
        """Before the list is written over them. Raises `Refused`."""
        for path in (self.directory / name for name in self._unsound):
            try:
                if path.lstat().st_nlink == 1:  # else a start that could write no list has
                    os.link(path, self._free(path.name), follow_symlinks=False)
            except FileNotFoundError:
                continue
            except OSError as error:
                place = str(self.directory / "aside")
                raise refused(errors.cannot_write(place, error)) from None
        self._unsound.clear()

    # ---- losses -----------------------------------------------------------------------------

    @property
    def losses(self) -> list[Loss]:
        """What was acknowledged and is not there, until somebody accepts it."""
        return [*self._state.losses, *(each for of in self._found.values() for each in of)]

    def accept_losses(self) -> None:
        """But for those whose file is still in the list."""
        with self._changing:
            self._save(replace(self._state, losses=()))

    def promoted(self, item: Item) -> None:
        """The build that was prepared is in force. It was acknowledged to nobody, so that no start
        has looked at it."""
        assert item.prepared is not None
        file, before = item.prepared.file, item.build
        try:
            read_sound(self.directory, file)
        except Unsound as error:
            self._found.setdefault(item.id, []).append(
                Loss(item.name, file.name, str(error), "pipeline")
            )
            if before is not None:
                self._aside.add(before.file.name)

    def ruined(self, item: Item) -> bool:
        """Whether it cannot be restored for what is lost: its bundle, or its snapshot."""
        return any(loss.what == "pipeline" for loss in self._found.get(item.id, ()))

    def note_owned(self, pipeline: str) -> None:
        """It is kept here from now on."""
        self._owned.add(pipeline)
        kept_in.note(pipeline, Noted(self._state.directory, self._state.generation))

    def note_unknown(self, pipeline: str) -> None:
        """It is loaded, and not kept here. A loss, where another journal had it, which is gone; but
        for one whose list is lost, which says it of all."""
        before = kept_in.noted(pipeline).directory
        if before in ("", self._state.directory) or -1 in self._found:
            return
        lost = Loss(pipeline, "", "the journal that had it is gone", "pipeline")
        with self._changing:
            self._save(replace(self._state, losses=(*self._state.losses, lost)))
        kept_in.note(pipeline, Noted())

    def in_force(self, item: Item) -> bool:
        """The kernel has the rules of this pipeline: of them nothing is lost. Returns whether the
        journal has them, too."""
        found = self._found.pop(item.id, [])
        left = [
            replace(each, what="answers") if each.what == "requests" else each
            for each in found if item.snapshot is None or each.file != item.snapshot.name
        ]  # fmt: skip
        if left:
            self._found[item.id] = left
        return not found

    # ---- pipelines --------------------------------------------------------------------------

    def pipelines(self) -> list[Item]:
        """By name; not those that are only begun."""
        return self._named(False)

    def begun(self) -> list[Item]:
        """Those whose load has begun, and nobody said yet that they are in force."""
        return self._named(True)

    def _named(self, begun: bool) -> list[Item]:
        found = [i for i in self._state.items.values() if i.id != INTENTS and i.begun == begun]
        return sorted(found, key=lambda item: item.name)

    def begin(self, name: str, build: Build) -> int:
        """Note a pipeline that is about to be loaded; returns its number. `fold` says that it is:
        then it takes the place of who has its name, who stays until then."""
        with self._changing:
            pipeline = self._state.next
            item = Item(pipeline, name, build=self._write_build(pipeline, build))
            self._save(replace(self._forgetting(name, True), next=pipeline + 1).having(item))
        return pipeline

    def prepare(self, pipeline: int, build: Build) -> None:
        """Note what is about to take the place of the build that is kept. `fold` says whether it
        has."""
        with self._changing:
            prepared = self._write_build(pipeline, build)
            item = replace(self._state.items[pipeline], prepared=prepared)
            self._save(self._state.having(item))

    def _write_build(self, pipeline: int, build: Build) -> Bundled:
        self.need_place()
        path = self.directory / f"build-{pipeline}-{self._state.generation + 1}"
        return write_build(path, build)

    def remove(self, name: str) -> None:
        """Forget a pipeline and all its rules. Not refused where it was retired: no start restores
        it, and `fix` writes that it is gone."""
        with self._changing:
            kept, state = self._state.named(name), self._forgetting(name, False)
            begun = state.named(name, True)
            state = state.without(begun.id) if begun is not None else state
            try:
                self._save(state)
            except Refused:
                if kept is not None:
                    raise
                self._state = state

    def retire(self, name: str) -> None:
        """Note that a pipeline is about to be unloaded; `remove` says that it is. Until then it is
        as one whose load has begun, for what is in force by then may be another revision."""
        with self._changing:
            item = self._state.named(name)
            if item is not None:
                state = self._forgetting(name, True)
                self._save(state.having(replace(item, begun=True)))

    def give_up(self, name: str) -> None:
        """Forget what `begin` noted."""
        with self._changing:
            if self._state.named(name, True) is not None:
                self._save(self._forgetting(name, True))

    def _forgetting(self, name: str, begun: bool) -> State:
        item = self._state.named(name, begun)
        return self._state.without(item.id) if item is not None else self._state

    # ---- reading ----------------------------------------------------------------------------

    def build(self, item: Item) -> Build:
        """Raises `Refused` where it is damaged."""
        assert item.build is not None
        return read_build(self._read(item.build.file))

    def snapshot(self, item: Item) -> bytes:
        """A pipeline's snapshot. Raises `Refused` where it is damaged."""
        assert item.snapshot is not None
        return self._read(item.snapshot)

    def _read(self, file: File) -> bytes:
        try:
            return read_sound(self.directory, file)
        except Unsound as error:
            raise refused(errors.damaged(str(self.directory / file.name), str(error))) from None

    def written(self, item: Item) -> Written:
        """What was written since its snapshot, as far as it can be read. Raises `Refused`."""
        try:
            files = os.listdir(self.directory)
        except OSError as error:
            raise refused(errors.cannot_read(str(self.directory), why(error))) from None
        return read_logs(self.directory, self._state, item, files)

    def unwritten(self, pipeline: int) -> Written:
        """Of a pipeline that has no log yet."""
        return Written(Head(bytes.fromhex(self._state.directory), pipeline, 0), Mark(0, 0))

    def answers(self, pipeline: int) -> list[Entry]:
        """Those that are remembered, oldest first, without what they answer."""
        item = self._state.items.get(pipeline)
        found = [self._answers_of(file) for file, _ in item.answers] if item is not None else []
        return [entry for content in found for entry, _ in decode(content)]

    def _answers_of(self, file: File) -> bytes:
        with suppress(Unsound):  # which was found at the start
            return read_sound(self.directory, file)
        return b""

    # ---- rules ------------------------------------------------------------------------------

    def log_path(self, pipeline: int, number: int) -> Path:
        return self.directory / log_name(pipeline, number)

    def removed(self, pipeline: int, log: Log) -> Path | None:
        """A file of a pipeline that the list knows, its log or snapshot, that somebody removed."""
        with self._changing:
            item = self._state.items.get(pipeline)
            if item is None or item.begun:
                return None
            if not log.there:
                return log.path
            path = self.directory / item.snapshot.name if item.snapshot is not None else None
            return path if path is not None and not os.path.lexists(path) else None

    def intents(self) -> Item | None:
        return self._state.items.get(INTENTS)

    def fold(self, pipeline: int, number: int, made: Snapshot, most_answers: int) -> None:
        """A snapshot in the place of all logs before `number`. The last answers are kept."""
        with self._changing:
            if pipeline != INTENTS and pipeline not in self._state.items:
                return  # it was unloaded meanwhile
            self.need_place()
            item = self._state.items.get(pipeline) or Item(pipeline, "")
            snapshot = write_whole(self.directory / f"snapshot-{pipeline}-{number}", made.parts)
            upgraded = item.prepared if made.upgraded and item.prepared is not None else item.build
            kept = replace(
                item, begun=False, build=upgraded, prepared=None, config=made.config,
                revision=made.revision, snapshot=snapshot, number=number, length=0,
                last=made.revision, answers=self._remembered(item, number, made, most_answers),
            )  # fmt: skip
            state = self._forgetting(item.name, False) if item.begun else self._state
            self._save(state.having(kept))
            self.synced = time.monotonic()

    def _remembered(
        self, item: Item, number: int, made: Snapshot, most: int
    ) -> tuple[tuple[File, int], ...]:
        """Files of the last answers."""
        lost = {loss.file for loss in self._found.get(item.id, ())}
        files = [each for each in item.answers if each[0].name not in lost]
        while files and (
            sum(each for _, each in files[1:]) + len(made.answered) >= most
            or sum(mark.size for mark, _ in files) > _MOST_TOLD
        ):
            del files[:1]
        if not made.answered:
            return tuple(files)
        content, of = [encode(entry) for entry in made.answered], len(made.answered)
        if len(files) >= _MOST_FILES:
            content[:0] = [self._answers_of(file) for file, _ in files]
            of, files = of + sum(each for _, each in files), []
        path = self.directory / f"answers-{item.id}-{number}"
        return (*files, (write_whole(path, content), of))

    # ---- backups ----------------------------------------------------------------------------

    def take(self, intents: bytes, left_out: Sequence[str]) -> Taken:
        """A backup of what the list has. Close it."""
        with self._changing:
            now, release = time.time(), version("helioc")
            return Taken(self.directory, self.pipelines(), intents, release, now, tuple(left_out))

    @contextmanager
    def receiving(self) -> Iterator[Path]:
        """A directory for the files of a backup."""
        self.need_place()
        try:
            path = Path(mkdtemp(prefix=_RECEIVED, dir=self.directory))
        except OSError as error:
            raise refused(errors.cannot_write(str(self.directory), error)) from None
        try:
            yield path
        finally:
            shutil.rmtree(path, ignore_errors=True)

    def restore(self, received: Received) -> None:
        """What a backup has, in the place of all that there is."""
        with self._changing:
            self.need_place()
            # First, so that none of the files is of a pipeline that a list has yet to know.
            count = len(received.contents.pipelines)
            self._save(replace(self._state, next=self._state.next + count))
            state, found = self._state, self._found
            items = [self._received(received, each, state.next - count + number)
                     for number, each in enumerate(received.contents.pipelines)]  # fmt: skip
            if received.contents.intents is not None:
                items.append(self._received_intents(received, received.contents.intents))
            fresh = replace(
                state, items={each.id: each for each in items}, losses=()
            )  # fmt: skip
            self._found = {}
            try:
                self._save(fresh)
            except BaseException:
                self._found = found
                raise

    def _received(self, received: Received, each: Pipeline, number: int) -> Item:
        build = self._moved(received, each.build, f"build-{number}-1")
        snapshot = self._moved(received, each.snapshot, f"snapshot-{number}-1")
        answers = tuple(
            (self._moved(received, mark, f"answers-{number}-{at}"), count)
            for at, (mark, count) in enumerate(each.answers, 1)
        )
        self._begin_log(number, 1, each.revision)
        return Item(
            number, each.name, False, Bundled(each.program, build), None, each.config,
            each.revision, snapshot, 1, 0, each.revision, answers,
        )  # fmt: skip

    def _received_intents(self, received: Received, mark: File) -> Item:
        last = int(json.loads(received.content(mark))["last"])
        number = max((each.number for each in [self.intents()] if each is not None), default=0) + 1
        snapshot = self._moved(received, mark, f"snapshot-{INTENTS}-{number}")
        # Not begun: until the list says otherwise it is the next one behind what there was.
        whose = bytes.fromhex(self._state.directory), INTENTS, number
        os.close(open_new(self.log_path(INTENTS, number), whose))
        return Item(
            INTENTS, "", False, revision=last, snapshot=snapshot, number=number, last=last
        )  # fmt: skip

    def _moved(self, received: Received, mark: File, name: str) -> File:
        try:
            received.path(mark).rename(self.directory / name)
        except OSError as error:
            path = str(self.directory / name)
            raise refused(errors.cannot_write(path, error)) from None
        return mark._replace(name=name)

    def _begin_log(self, pipeline: int, number: int, revision: int) -> None:
        whose = bytes.fromhex(self._state.directory), pipeline, number
        with closing(begin(self.directory, whose, revision)) as log:
            log.durable()

    def confirm(self, pipeline: int, number: int, mark: Mark) -> bool:
        """Note how long a log is that is on the disk. Returns whether it is the list's."""
        with self._changing:
            item = self._state.items.get(pipeline)
            if item is None or item.number != number:
                return False
            if item.length < mark.size:
                kept = replace(item, length=mark.size, last=mark.revision)
                self._save(self._state.having(kept))
            return True
