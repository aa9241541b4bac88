"""All edges: a manager for each pipeline of the desired state."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping
from pathlib import Path

from helioc.lang.text.diagnostics import Refused
from helioc.lang.text.render import render
from helioc.runtime.client import Client

from .board import Board
from .desired_state import DesiredState, Edge, read_file
from .manager import Manager, Settings, Task

_log = logging.getLogger("controller")


class Fleet:
    """Takes the desired state (`set_desired`) and the edges' addresses (`are`), each time that they
    change."""

    def __init__(
        self, board: Board, connect: Callable[[str, str, str], Client], settings: Settings,
        trusted: Callable[[str], object] = lambda edge: None,
    ) -> None:  # fmt: skip
        """`trusted`: the authority of an edge; the edge is connected to again when it changes."""
        self.board, self.connect, self.settings = board, connect, settings
        self.trusted = trusted
        self._managers: dict[tuple[str, str], Manager] = {}
        self._leaving: list[Manager] = []
        self._desired: DesiredState = {}
        self._addresses: Mapping[str, str] = {}
        self._lock = threading.Lock()

    def set_desired(self, desired: DesiredState) -> None:
        """Pipelines that are no longer in it are released; their rules stay as they are."""
        with self._lock:
            self._desired = desired
            self._assign()

    def are(self, addresses: Mapping[str, str]) -> None:
        """Where edges have announced themselves, by name."""
        with self._lock:
            self._addresses = dict(addresses)
            self._assign()

    def addresses(self) -> dict[str, str]:
        """Where the agent of each edge is; empty where nobody has said it."""
        with self._lock:
            wanted = {name: self._address(name, edge) for name, edge in self._desired.items()}
            return dict(self._addresses) | wanted

    def _assign(self) -> None:
        tasks = {
            (name, pipeline): Task(self._address(name, edge), rules)
            for name, edge in self._desired.items()
            for pipeline, rules in edge.pipelines.items()
        }
        for key in self._managers.keys() - tasks.keys():
            manager = self._managers.pop(key)
            manager.stop()
            self._leaving.append(manager)  # it may be waiting for its edge: do not wait for it
            self.board.drop(*key)
        for key, task in tasks.items():
            known = self._managers.get(key)
            if known is not None:
                known.give(task)
                continue
            self.board.add(*key)
            made = Manager(*key, self.board, self.connect, self.settings, self.trusted)
            self._managers[key] = made
            made.give(task)
            made.start()
        self._leaving = [manager for manager in self._leaving if manager.running]

    def _address(self, name: str, edge: Edge) -> str:
        return edge.address or self._addresses.get(name, "")

    def close(self) -> None:
        with self._lock:
            managers = [*self._managers.values(), *self._leaving]
            for manager in managers:
                manager.stop()
            for manager in managers:
                manager.join()


class File:
    """A desired state in a file, read again when that has changed. `start` it, `stop` it."""

    PERIOD = 0.5

    def __init__(self, path: Path, report: Callable[[DesiredState], None]) -> None:
        self.path, self.report = path, report
        self._known: object = None
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="file", daemon=True)

    def start(self) -> None:
        """Raises `Refused` if the file cannot be read now."""
        self._known = self._stamp()
        self.report(read_file(self.path))
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
                self.report(read_file(self.path))
            except Refused as error:  # the desired state before stays
                for found in error.diagnostics:
                    _log.error("%s", render(found))

    def _stamp(self) -> object:
        try:
            found = self.path.stat()
        except OSError:
            return None
        return found.st_mtime_ns, found.st_size, found.st_ino
