"""Sessions and set-ups in the agent's journal, beside its intents."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import Any

from ...lang.text.diagnostics import Diagnostic
from ..journal.files import Doubtful
from ..journal.ledger import KIND, Ledger
from .parameters import Parameters, Setup

#: What a text may be.
SESSION, SETUP = "session", "setup"


@dataclass(frozen=True)
class Kept:
    """A session. `since`: the number of the packet that it was started with; `until`: of the one
    that is not sent any more; None: it goes on until it is stopped. `token`: by chance; by it the
    counts are its own that outlive the agent. `serial` is never reused."""

    pipeline: str
    about: Parameters
    running: bool = False
    until: int | None = None
    since: int = 0
    token: int = 0
    serial: int = 0


class SessionStore:
    """Without a journal sessions last as long as the agent. Methods raise `Refused`, and then
    nothing is written. `doubt`: why the last that was may not be on the disk."""

    def __init__(self, ledger: Ledger | None) -> None:
        self._ledger, self._serial = ledger, 0
        self.doubt = list[Diagnostic]()

    def all(self) -> tuple[list[Kept], list[Setup]]:
        """The oldest first."""
        sessions, setups = list[Kept](), list[Setup]()
        for serial, text in sorted(self._ledger.texts.items()) if self._ledger is not None else ():
            made = read(serial, text)
            if isinstance(made, Kept):
                sessions.append(made)
            elif made is not None:
                setups.append(made)
        return sessions, setups

    def number(self) -> int:
        """A serial for what is new."""
        self._serial += 1
        return self._ledger.number() if self._ledger is not None else self._serial

    def put(self, made: Kept | Setup) -> None:
        """As it is now."""
        self._put({made.serial: text_of(made)})

    def remove(self, *gone: Kept | Setup) -> None:
        self._put({each.serial: None for each in gone})

    def _put(self, texts: dict[int, str | None]) -> None:
        if self._ledger is not None and texts:
            try:
                self._ledger.put(texts)
            except Doubtful as error:
                self.doubt = error.diagnostics


def text_of(made: Kept | Setup) -> str:
    about = asdict(made)
    del about["serial"]
    return json.dumps({KIND: SESSION if isinstance(made, Kept) else SETUP, **about})


def read(serial: int, text: str) -> Kept | Setup | None:
    """None of an intent. Raises ValueError, KeyError, TypeError where it is nothing."""
    about: dict[str, Any] = dict(json.loads(text))
    kind = about.pop(KIND, None)
    if kind is None:
        return None
    if kind == SETUP:
        ports = tuple((int(port), int(id_)) for port, id_ in about.pop("endpoints"))
        return Setup(**about, endpoints=ports, serial=serial)
    if kind != SESSION:
        raise ValueError(f"the kind {kind!r:.40}")
    return Kept(**{**about, "about": Parameters.of(about["about"]), "serial": serial})


def check(content: bytes) -> None:
    """Of a backup's ledger. Raises ValueError, KeyError, TypeError where it is none."""
    for serial, text in json.loads(content)["texts"].items():
        read(int(serial), text)
