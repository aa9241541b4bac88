"""All edges: a keeper for each pipeline that something is wanted of."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping
from pathlib import Path

from helioc.lang.text.diagnostics import Refused
from helioc.lang.text.render import render
from helioc.runtime.client import Client

from .board import Board
from .keeper import Keeper, Settings, Task
from .wanted import Edge, Wanted, read_file

_log = logging.getLogger("controller")


class Fleet:
    """Tell it what is `wanted`, again whenever that changes, and where edges `are`."""

    def __init__(
        self, board: Board, connect: Callable[[str, str, str], Client], settings: Settings,
        trusted: Callable[[str], object] = lambda edge: None,
    ) -> None:  # fmt: skip
        """`trusted`: by what an edge is known; if that changes it is connected to anew."""
        self.board, self.connect, self.settings = board, connect, settings
        self.trusted = trusted
        self._keepers: dict[tuple[str, str], Keeper] = {}
        self._leaving: list[Keeper] = []
        self._wanted: Wanted = {}
        self._addresses: Mapping[str, str] = {}
        self._lock = threading.Lock()

    def wanted(self, wanted: Wanted) -> None:
        """What nobody mentions any more is let go; its rules stay as they are."""
        with self._lock:
            self._wanted = wanted
            self._assign()

    def are(self, addresses: Mapping[str, str]) -> None:
        """Where edges have announced themselves, by name."""
        with self._lock:
            self._addresses = dict(addresses)
            self._assign()

    def _assign(self) -> None:
        tasks = {
            (name, pipeline): Task(self._address(name, edge), rules)
            for name, edge in self._wanted.items()
            for pipeline, rules in edge.pipelines.items()
        }
        for key in self._keepers.keys() - tasks.keys():
            keeper = self._keepers.pop(key)
            keeper.stop()
            self._leaving.append(keeper)  # it may be waiting for its edge: nobody waits for it
            self.board.drop(*key)
        for key, task in tasks.items():
            known = self._keepers.get(key)
            if known is not None:
                known.give(task)
                continue
            self.board.add(*key)
            made = Keeper(*key, self.board, self.connect, self.settings, self.trusted)
            self._keepers[key] = made
            made.give(task)
            made.start()
        self._leaving = [keeper for keeper in self._leaving if keeper.running]

    def _address(self, name: str, edge: Edge) -> str:
        return edge.address or self._addresses.get(name, "")

    def close(self) -> None:
        with self._lock:
            keepers = [*self._keepers.values(), *self._leaving]
            for keeper in keepers:
                keeper.stop()
            for keeper in keepers:
                keeper.join()


class File:
    """A wanted state in a file, read again when that has changed. `start` it, `stop` it."""

    PERIOD = 0.5

    def __init__(self, path: Path, tell: Callable[[Wanted], None]) -> None:
        self.path, self.tell = path, tell
        self._known: object = None
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="file", daemon=True)

    def start(self) -> None:
        """Raises `Refused` if the file cannot be read now."""
        self._known = self._stamp()
        self.tell(read_file(self.path))
        self._thread.start()

    def stop(self) -> None:
        self._stopping.set()
        if self._thread.ident is not None:
            self._thread.join()

    def _run(self) -> None:
        while not self._stopping.wait(self.PERIOD):
            stamp = self._stamp()
            if stamp is None or stamp == self._known:
                continue
            self._known = stamp
            try:
                self.tell(read_file(self.path))
            except Refused as error:  # what was wanted before stays wanted
                for found in error.diagnostics:
                    _log.error("%s", render(found))

    def _stamp(self) -> object:
        try:
            found = self.path.stat()
        except OSError:
            return None
        return found.st_mtime_ns, found.st_size, found.st_ino
