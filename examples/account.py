"""What a demo says: steps, and facts that were measured, each with a tick or a cross."""

from __future__ import annotations

import sys
import time


class Unsettled(Exception):
    """A fact did not hold. It has been printed."""


class Account:
    def __init__(self) -> None:
        self._colour = sys.stdout.isatty()
        self._begun = self._step = time.monotonic()
        self._number = 0

    def title(self, *lines: str) -> None:
        self._write(self._painted("1", lines[0]), *lines[1:])

    def step(self, what: str) -> None:
        self._number += 1
        self._step = time.monotonic()
        self._write(self._painted("1", f"\n{self._number:2}  {what}"))

    def fact(self, holds: bool, what: str) -> None:
        """Print a fact. Raises Unsettled if it does not hold: what follows would build on it."""
        mark = self._painted("32", "✓") if holds else self._painted("31", "✗")
        self._write(f"    {mark} {what}")
        if not holds:
            raise Unsettled(what)

    def table(self, text: str) -> None:
        for line in text.rstrip().splitlines():
            self._write(f"      {self._painted('2', line)}")

    def close(self, what: str) -> None:
        self._write(f"\n{what}")

    def step_seconds(self) -> float:
        return time.monotonic() - self._step

    def seconds(self) -> float:
        return time.monotonic() - self._begun

    def _write(self, *lines: str) -> None:
        sys.stdout.write("\n".join(lines) + "\n")
        sys.stdout.flush()

    def _painted(self, code: str, text: str) -> str:
        return f"\033[{code}m{text}\033[0m" if self._colour else text
