"""What was asked for, kept so that a reboot loses nothing: the files of docs/journal.md.

A request is written to the log before it is made: what is in the maps is in the journal, whenever
the process is killed. Many requests share the waiting for the disk.
"""

from __future__ import annotations

import json
import os
import shutil
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from tempfile import mkdtemp

from ..base.errors import refused
from . import errors
from .backup import Pipeline, Received, Taken
from .files import Mark as File
from .log import begin, open_new
from .pipelines import PipelineFiles
from .state import INTENTS, Bundled, Item
from .state_list import RECEIVED


class Store(PipelineFiles):
    """The journal of one agent. Methods may be called from any thread; they raise `Refused`, and
    then nothing is written. On a disk that cannot be written it is there to be read."""

    # ---- backups ---------------------------------------------------------------------------------

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
            path = Path(mkdtemp(prefix=RECEIVED, dir=self.directory))
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
