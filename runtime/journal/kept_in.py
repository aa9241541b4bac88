"""In which journal a pipeline is kept, for the next agent: a file of the pipeline below /run, which
goes with it (lock.py). So a journal that is gone is known from one that there never was, and one
that is older than it was from one that is as the last agent left it."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from ..base.paths import RUN


class Noted(NamedTuple):
    """`directory`: by which its logs know it (state.py); empty: none. `generation`: of the list
    that last said something new of the pipeline."""

    directory: str = ""
    generation: int = 0


def note(pipeline: str, kept: Noted) -> None:
    with suppress(OSError):  # then the next agent does not know
        if kept.directory:
            RUN.mkdir(mode=0o700, parents=True, exist_ok=True)
            _path(pipeline).write_text(f"{kept.directory} {kept.generation}")
        else:
            _path(pipeline).unlink(missing_ok=True)


def noted(pipeline: str) -> Noted:
    with suppress(OSError, ValueError):
        directory, _, generation = _path(pipeline).read_text().partition(" ")
        return Noted(directory, int(generation or 0))
    return Noted()


def _path(pipeline: str) -> Path:
    return RUN / f"{pipeline}.journal"
