"""Signals that end a command: by the way of Ctrl-C, so that nothing is left behind."""

from __future__ import annotations

import signal
import sys
from typing import NoReturn

_ENDING = (signal.SIGTERM, signal.SIGHUP)
_MOMENT = 0.01  # seconds


class Stopped(KeyboardInterrupt):
    """One of them came."""

    def __init__(self, number: int) -> None:
        super().__init__()
        self.status = 128 + number


def stop_in_order() -> None:
    """Let the first of them raise `Stopped`; further ones wait for what that does. One that is
    ignored, as `nohup` has it, stays so."""
    for number in _ENDING:
        if signal.getsignal(number) is signal.SIG_DFL:
            signal.signal(number, _stop)
    sys.unraisablehook = _unraisable


def _stop(number: int, _: object) -> NoReturn:
    for each in _ENDING:
        signal.signal(each, signal.SIG_IGN)
    raise Stopped(number)


def _unraisable(what: sys.UnraisableHookArgs) -> None:
    """Where nothing can be raised, in a callback of the importer say, it is raised a moment
    later."""
    stopped = what.exc_value
    if not isinstance(stopped, Stopped):
        sys.__unraisablehook__(what)
        return
    signal.signal(signal.SIGALRM, lambda *_: _stop(stopped.status - 128, None))
    signal.setitimer(signal.ITIMER_REAL, _MOMENT)


def status_of(interrupt: BaseException | None) -> int:
    """The exit status of a command that was interrupted."""
    return interrupt.status if isinstance(interrupt, Stopped) else 130
