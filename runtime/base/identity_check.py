"""Reads an identity in another process, because reading certificates takes 9 MB of memory for good,
and the agent needs it only at its start and when the files have changed.

`python -m helioc.runtime.base.identity_check WHAT PATH` writes JSON: the diagnostics that refuse
it, or with `read_expiries` its certificates (`identity.CertificateExpiry`); with `check` nothing.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from ...lang.text.diagnostics import Diagnostic, Refused
from . import agent_errors as errors
from .errors import refused
from .files import file_stamp
from .identity import CertificateExpiry, read_expiries, read_identity

_PATIENCE = 30.0


def check_identity(path: Path) -> None:
    """As `identity.read_identity`, for who does not want what it returns, and goes on with one that
    has ended: another may come. Raises `Refused`."""
    _ask("check", path)


class Expiries:
    """`identity.read_expiries` of an identity, read again when its files have changed."""

    def __init__(self, path: Path) -> None:
        self._path, self._stamps = path, list[tuple[int, int, int]]()
        self._found = list[CertificateExpiry]()

    def now(self) -> list[CertificateExpiry]:
        """Raises `Refused`, where there are none."""
        try:
            return self._read()
        except OSError as error:
            why = f"`{error.filename}`: {(error.strerror or 'unreadable').lower()}"
            raise refused(errors.bad_identity(str(self._path), why)) from None

    def _read(self) -> list[CertificateExpiry]:
        mine = self._path.with_name(f"{self._path.name}.pem")
        seen = [file_stamp(each) for each in (mine, self._path.parent / "ca.pem")]
        if seen != self._stamps:
            self._found = [CertificateExpiry(*each) for each in _ask("endings", self._path)]
            self._stamps = seen
        return self._found


def _ask(what: str, path: Path) -> list[tuple[str, str, float]]:
    words = [sys.executable, "-m", "helioc.runtime.base.identity_check", what, str(path)]
    try:
        done = subprocess.run(words, capture_output=True, timeout=_PATIENCE, check=True)
        reply = json.loads(done.stdout)
    except (subprocess.SubprocessError, ValueError):
        why = "the process that reads them failed"
        raise refused(errors.bad_identity(str(path), why)) from None
    if "refused" in reply:
        raise Refused([Diagnostic(code, what, (), help_) for code, what, help_ in reply["refused"]])
    return [tuple(each) for each in reply["endings"]]


def main() -> None:
    what, path = sys.argv[1], Path(sys.argv[2])
    try:
        if what == "check":
            read_identity(path, ended=True)
        reply: dict[str, object] = {"endings": read_expiries(path) if what == "endings" else []}
    except Refused as error:
        reply = {"refused": [(d.code, d.title, d.help) for d in error.diagnostics]}
    os.write(1, json.dumps(reply).encode())


if __name__ == "__main__":
    main()
