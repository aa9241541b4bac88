"""What is to be done at a time, where something goes wrong."""

from __future__ import annotations

from threading import Semaphore, Thread
from unittest.mock import Mock

import pytest
from helioc.runtime.front.timers import Timers

NO_THREAD = RuntimeError("can't start new thread")


def test_a_timer_whose_work_fails_ends_no_other(caplog: pytest.LogCaptureFixture) -> None:
    timers, done = Timers(), Semaphore(0)
    timers.after(0.0, Mock(side_effect=NO_THREAD))
    timers.after(0.0, done.release)
    assert done.acquire(timeout=20)
    assert "H0340" in caplog.text


def test_timers_without_a_thread_are_done_as_soon_as_there_may_be_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    timers, done = Timers(), Semaphore(0)
    with monkeypatch.context() as patch:
        patch.setattr(Thread, "start", Mock(side_effect=NO_THREAD))
        timers.after(0.0, done.release)
    timers.after(0.0, done.release)
    assert done.acquire(timeout=20) and done.acquire(timeout=20)
