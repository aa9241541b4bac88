"""Work that ends when nobody waits for it any more: a call whose client went away, or was late.

Whoever asks says how that is found out (`unless`); loops over what somebody sent say `go_on`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_check: ContextVar[Callable[[], None] | None] = ContextVar("_check", default=None)


@contextmanager
def unless(check: Callable[[], None]) -> Iterator[None]:
    """Within the block `go_on` calls `check`, which raises what ends the work; in this thread."""
    before = _check.set(check)
    try:
        yield
    finally:
        _check.reset(before)


def go_on() -> None:
    if (check := _check.get()) is not None:
        check()
