"""The journal's directory, and the list of what must be there."""

from __future__ import annotations

import logging
import os
import shutil
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from errno import EIO, ENOENT, ENOTDIR, EROFS
from itertools import count
from pathlib import Path
from typing import Literal

from ...lang.text.diagnostics import Diagnostic, Refused
from ..base.errors import refused
from . import errors, format1, kept_in
from .disk import why
from .files import Doubtful, sync_directory
from .hold import hold, keep_private
from .kept_in import Noted
from .log import log_name
from .loss import Loss
from .recovery import OURS, Found, recover, spoken_of
from .state import COPIES, State

Acknowledge = Literal["before", "after"]
#: Directories of backups that are being received.
RECEIVED = "restore~"
_log = logging.getLogger("heliod.journal")


class StateList:
    """Methods may be called from any thread; they raise `Refused`, and then nothing is written."""

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
            for left in directory.glob(f"{RECEIVED}*"):  # by who was killed
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

    # ---- the list --------------------------------------------------------------------------------

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
