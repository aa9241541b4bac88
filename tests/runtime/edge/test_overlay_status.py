"""What the agent knows of overlays, for who reads without it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from helioc.runtime.base import published
from helioc.runtime.edge.overlay_health import Quality
from helioc.runtime.edge.overlay_status import (
    AGE,
    OverlayStatus,
    last_overlay_status,
    read_overlay_status,
    remove_overlay_status,
    write_overlay_status,
)

HERE = [OverlayStatus("OVERLAY", "GRE-1", Quality("dead", 0.25, 0.02, 0.001, 8, 6, 1.5))]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(published, "RUN", tmp_path)
    return tmp_path


def test_it_is_read_as_it_was_written(folder: Path) -> None:
    assert read_overlay_status("p") == []
    write_overlay_status("p", HERE)
    write_overlay_status("p", HERE)
    assert read_overlay_status("p") == HERE and read_overlay_status("q") == []
    assert len(list(folder.iterdir())) == 1
    remove_overlay_status("p")
    remove_overlay_status("p")
    assert read_overlay_status("p") == [] and not list(folder.iterdir())


def test_what_is_old_or_damaged_says_nothing(folder: Path) -> None:
    write_overlay_status("p", HERE)
    (path,) = folder.iterdir()
    then = path.stat().st_mtime - AGE - 1
    os.utime(path, (then, then))
    assert read_overlay_status("p") == []
    ahead = path.stat().st_mtime + 86_400  # the clock was set back since
    os.utime(path, (ahead, ahead))
    assert read_overlay_status("p") == []
    os.utime(path, (then, then))
    (dead,) = last_overlay_status("p")
    assert dead.quality == Quality("dead", since=1.5)
    write_overlay_status(
        "p", [HERE[0]._replace(quality=Quality("alive", 0.25, 0.02, 0.001, 8, 6, 1.5))]
    )
    assert last_overlay_status("p") == read_overlay_status("p")
    os.utime(path, (then, then))
    (unknown,) = last_overlay_status("p")
    assert unknown.quality == Quality("unknown", since=then)
    for text in ("", "{", "[1]", '[["OVERLAY", "GRE-1", {"what": 1}]]', "[" * 100_000,
                 '[["OVERLAY", ["GRE-1"], {"state": "dead"}]]', '[["OVERLAY", "GRE-1", 5]]',
                 '[["OVERLAY", "GRE-1", {"state": "gone"}]]',
                 '[["OVERLAY", "GRE-1", {"state": "dead", "loss": "much"}]]'):  # fmt: skip
        path.write_text(text)
        assert read_overlay_status("p") == last_overlay_status("p") == []
