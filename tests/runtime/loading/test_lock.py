"""The files in /run/helio: who holds them, and that they go with their pipeline."""

from __future__ import annotations

import os
import subprocess
from contextlib import closing, suppress
from pathlib import Path

import pytest
from helioc.lang.text.diagnostics import Refused
from helioc.runtime.base import file_lock
from helioc.runtime.base.paths import RUN
from helioc.runtime.loading import lock as locking
from helioc.runtime.loading.lock import Exclusive, Lock
from helioc.runtime.tracing.swap import _alone

pytestmark = pytest.mark.usefixtures("kernel")
NAME = f"ht{os.getpid()}-lock"


def left() -> list[Path]:
    return list(RUN.glob(f"{NAME}*"))


def test_what_a_trace_left_goes_with_the_pipeline() -> None:
    with _alone(NAME):
        pass
    with closing(Lock(NAME)) as lock:
        (RUN / f"{NAME}.trace").touch()
        for posted in ("overlays", "steering", "rules"):  # by an agent that was killed
            (RUN / f"{NAME}.{posted}").touch()
        lock.remove()
    assert not left()


def test_a_trace_keeps_its_file_while_it_goes_on() -> None:
    """Another one would remove what it has pinned."""
    with closing(Lock(NAME)) as lock, _alone(NAME):
        lock.remove()
        assert left() == [RUN / f"{NAME}.trace"]
        with pytest.raises(BlockingIOError):
            Exclusive(left()[0])
    assert not left()


def test_who_holds_a_file_that_was_removed_takes_the_new_one(tmp_path: Path) -> None:
    path = tmp_path / "held"
    with Exclusive(path) as first:
        first.remove()
        with Exclusive(path):
            assert path.exists()


def test_a_pipeline_is_locked_where_run_is_full(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody is told by whom."""
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "none", tmp_path], check=True)
    try:
        with suppress(OSError):
            (tmp_path / "filler").write_bytes(bytes(1 << 17))
        monkeypatch.setattr(locking, "RUN", tmp_path)
        monkeypatch.setattr(file_lock, "PATIENCE", 0.0)
        for _ in range(2):
            with closing(Lock(NAME)), pytest.raises(Refused, match="H0709: another program is"):
                Lock(NAME)
    finally:
        subprocess.run(["umount", "--lazy", tmp_path], check=True)
