"""Work that ends when nobody waits for it any more: a call whose client went away, or was late.

Whoever asks says how that is found out (`unless`); loops over what somebody sent say `go_on`.
"""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar, Token

_check: ContextVar[Callable[[], None] | None] = ContextVar("_check", default=None)


class unless:  # a class: it is entered for each request
    """Within the block `go_on` calls `check`, which raises what ends the work; in this thread."""

    __slots__ = ("_before", "_check")

    def __init__(self, check: Callable[[], None]) -> None:
        self._check = check

    def __enter__(self) -> None:
        self._before: Token[Callable[[], None] | None] = _check.set(self._check)

    def __exit__(self, *_: object) -> None:
        _check.reset(self._before)


def go_on() -> None:
    if (check := _check.get()) is not None:
        check()
