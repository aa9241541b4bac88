"""Cancels work whose result is no longer needed: a call whose client disconnected or timed out.

The caller sets a check (`cancel_when`); loops over input call `check_cancelled`.
"""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar, Token

_check: ContextVar[Callable[[], None] | None] = ContextVar("_check", default=None)


class cancel_when:  # a class: it is entered for each request
    """Within the block, in this thread, `check_cancelled` calls `check`, which raises to end the
    work."""

    __slots__ = ("_before", "_check")

    def __init__(self, check: Callable[[], None]) -> None:
        self._check = check

    def __enter__(self) -> None:
        self._before: Token[Callable[[], None] | None] = _check.set(self._check)

    def __exit__(self, *_: object) -> None:
        _check.reset(self._before)


def check_cancelled() -> None:
    if (check := _check.get()) is not None:
        check()
