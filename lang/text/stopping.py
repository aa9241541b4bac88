"""Signals that end a command like Ctrl-C, so that it cleans up, and those that end a server."""

from __future__ import annotations

import os
import select
import signal
import sys
import time
from collections.abc import Callable
from typing import NoReturn

_ENDING = (signal.SIGTERM, signal.SIGHUP)
_SERVED = (signal.SIGTERM, signal.SIGINT)
_DELAY = 0.01  # seconds


class Stopped(KeyboardInterrupt):
    """One of them came."""

    def __init__(self, number: int) -> None:
        super().__init__()
        self.status = 128 + number


def stop_in_order() -> None:
    """Have the first of them, or Ctrl-C, raise `Stopped`; further ones but Ctrl-C are ignored then.
    A signal that is ignored already, as by `nohup`, stays ignored."""
    for number in _ENDING:
        if signal.getsignal(number) is signal.SIG_DFL:
            signal.signal(number, _stop)
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _stop)
    sys.unraisablehook = _unraisable


def _stop(number: int, _: object) -> NoReturn:
    for each in _ENDING:
        signal.signal(each, signal.SIG_IGN)
    if number == signal.SIGINT:
        signal.signal(number, signal.default_int_handler)
    raise Stopped(number)


def _unraisable(what: sys.UnraisableHookArgs) -> None:
    """Where nothing can be raised, as in a callback of the importer, raise it after `_DELAY`."""
    stopped = what.exc_value
    if not isinstance(stopped, Stopped):
        sys.__unraisablehook__(what)
        return
    signal.signal(signal.SIGALRM, lambda *_: _stop(stopped.status - 128, None))
    signal.setitimer(signal.ITIMER_REAL, _DELAY)


def status_of(interrupt: BaseException | None) -> int:
    """The exit status of a command that was interrupted."""
    return interrupt.status if isinstance(interrupt, Stopped) else 130


class Serving:
    """A process that works until SIGTERM or SIGINT arrives; SIGHUP does not end it. For the main
    thread."""

    def __init__(self, hung_up: Callable[[], object] = lambda: None) -> None:
        """`hung_up`: called by `wait` where SIGHUP came."""
        self._hung_up = hung_up
        self._ended, self._poll = False, select.poll()
        self._signals, wakeup = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
        self._poll.register(self._signals, select.POLLIN)
        # Python's handlers run only in the main thread, which another thread's signal does not
        # wake, and at any step of it, even under a lock: C's handler writes to the pipe.
        signal.set_wakeup_fd(wakeup, warn_on_full_buffer=False)
        for number in (*_SERVED, signal.SIGHUP):
            signal.signal(number, lambda *_: None)

    def wait(self, seconds: float | None = None) -> bool:
        """Wait for `seconds`, or for a signal to end; returns whether one came."""
        until = None if seconds is None else time.monotonic() + seconds
        while not self._ended:
            left = None if until is None else max(0.0, until - time.monotonic()) * 1000
            if not self._poll.poll(left):
                break
            came = os.read(self._signals, 64)
            self._ended = any(number in came for number in _SERVED)
            if signal.SIGHUP in came:
                self._hung_up()
        return self._ended
