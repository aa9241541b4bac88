"""Pauses Python's garbage collector while a large request is handled."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def gc_paused() -> Iterator[None]:
    """For blocks whose objects last, or are freed by their reference counts: a collection would
    take as long as all the rest, with everybody waiting for it."""
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()
