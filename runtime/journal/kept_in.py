"""In which journal a pipeline is kept, for the next agent: a file of the pipeline below /run, which
goes with it (lock.py). So a journal that is gone is known from one that there never was."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from ..places import RUN


def note(pipeline: str, directory: str) -> None:
    """`directory`: by which its logs know it (state.py); empty: in none."""
    with suppress(OSError):  # then the next agent does not know
        if directory:
            RUN.mkdir(mode=0o700, parents=True, exist_ok=True)
            _path(pipeline).write_text(directory)
        else:
            _path(pipeline).unlink(missing_ok=True)


def noted(pipeline: str) -> str:
    """Empty where none is known."""
    with suppress(OSError, UnicodeDecodeError):
        return _path(pipeline).read_text()
    return ""


def _path(pipeline: str) -> Path:
    return RUN / f"{pipeline}.journal"
