"""The processes that read beside the agent."""

from __future__ import annotations

import socket
import threading

import pytest
from helioc.runtime.rpc import readers
from helioc.runtime.rpc.readers import _Reader


def test_metrics_are_served_again_after_there_was_no_process(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """None could be started for a while: too many, or no memory."""
    monkeypatch.setattr(readers, "_BREATH", 0.01)
    attempts, again = iter([None, OSError("fork"), RuntimeError("thread")]), threading.Event()

    def running(_: _Reader) -> None:
        error = next(attempts, None)
        if error is not None:
            raise error
        if next(attempts, "all") == "all":
            again.set()

    monkeypatch.setattr(_Reader, "_running", running)
    with socket.socket() as metrics:
        reader = _Reader([metrics])
        try:
            reader.start()
            assert again.wait(10)
        finally:
            reader.close()
