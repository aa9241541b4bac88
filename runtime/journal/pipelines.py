"""The files of each pipeline: its build, its snapshot, its logs and answers."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from ...lang.text.diagnostics import Refused
from ..base.errors import refused
from . import errors, kept_in
from .disk import why
from .files import Mark as File
from .files import Unsound, read_sound, write_whole
from .heads import Head
from .kept_in import Noted
from .log import Log, Mark, log_name
from .loss import Loss
from .records import Entry, decode, encode
from .recovery import Written, read_logs
from .state import INTENTS, Build, Bundled, Item, State, read_build, write_build
from .state_list import StateList

#: Files of answers of a pipeline, and bytes of all but the last.
_MOST_FILES, _MOST_TOLD = 8, 32 << 20


@dataclass(frozen=True)
class Snapshot:
    """What takes the place of a log. `answered`: entries whose answers are to be remembered.
    `upgraded`: the build that was prepared is in force."""

    revision: int
    parts: Sequence[bytes]
    config: str
    answered: Sequence[Entry] = ()
    upgraded: bool = False


class PipelineFiles(StateList):
    """What the list names of pipelines. Raises `Refused`, and then nothing is written."""

    # ---- pipelines -------------------------------------------------------------------------------

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

    # ---- losses ----------------------------------------------------------------------------------

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

    # ---- reading ---------------------------------------------------------------------------------

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

    # ---- rules -----------------------------------------------------------------------------------

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
                return  # it was unloaded in the meantime
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
