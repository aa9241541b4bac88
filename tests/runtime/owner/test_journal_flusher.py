"""What looks after the journal, whatever becomes of it."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any, cast

import pytest
from helioc.runtime.owner.journal_flusher import JournalFlusher
from lab import until

SECONDS = 10


class Looked:
    """Stands for an owner."""

    name, unwritten = "edge", ()

    def __init__(self) -> None:
        self.synced, self.folding, self.go_on = 0, 0, threading.Event()
        self.wrong: BaseException | None = None

    def sync(self) -> None:
        self.synced += 1
        if self.wrong is not None:
            raise self.wrong

    def fold_if_due(self) -> None:
        self.folding += 1
        self.go_on.wait(SECONDS)


@pytest.fixture
def owner(monkeypatch: pytest.MonkeyPatch) -> Looked:
    for name in ("sync", "fold_if_due"):
        monkeypatch.setattr(f"helioc.runtime.owner.owner.Owner.{name}", getattr(Looked, name))
    return Looked()


@pytest.fixture
def flusher(owner: Looked) -> Iterator[JournalFlusher]:
    made = JournalFlusher(lambda: cast(Any, [owner]))
    made.start()
    yield made
    owner.go_on.set()
    made.stop()


def test_a_snapshot_holds_nobody_up(owner: Looked, flusher: JournalFlusher) -> None:
    flusher.wake()
    until(lambda: owner.folding, "a snapshot is made")
    before = owner.synced
    flusher.wake()
    until(lambda: owner.synced > before, "what was written is brought onto the disk")
    assert owner.folding == 1


@pytest.mark.parametrize("error", [ValueError("of no use"), OSError(5, "Input/output error")])
def test_it_goes_on_after_an_error(
    owner: Looked, flusher: JournalFlusher, error: Exception, caplog: pytest.LogCaptureFixture
) -> None:
    owner.wrong = error
    flusher.wake()
    until(lambda: caplog.records, "it is said")
    owner.wrong, before = None, owner.synced
    flusher.wake()
    until(lambda: owner.synced > before, "it goes on")


@pytest.mark.parametrize("what", ["_written", "_synced"])
def test_it_ends_whenever_it_is_told(owner: Looked, what: str) -> None:
    """Also while a thread forgets what woke it: then it slept on, and all waited for it."""

    class Late(threading.Event):
        reported = threading.Event()

        def set(self) -> None:
            super().set()
            if flusher._ended.is_set():
                self.reported.set()

        def clear(self) -> None:
            if ending.ident is None:
                ending.start()
                assert self.reported.wait(SECONDS)
            super().clear()

    flusher = JournalFlusher(lambda: cast(Any, [owner]))
    setattr(flusher, what, Late())
    ending = threading.Thread(target=flusher.stop, daemon=True)
    owner.go_on.set()
    flusher.start()
    flusher.wake()
    until(lambda: ending.ident is not None and not ending.is_alive(), "it ended")
