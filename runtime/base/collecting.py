"""Python's search for garbage, kept from large requests."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def no_collecting() -> Iterator[None]:
    """What is made in the block lasts, or goes by itself: to look for garbage in between would take
    as long as all the rest, and everybody would wait for it."""
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()
