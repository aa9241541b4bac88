"""What the agent knows of overlays, for who reads without it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from helioc.runtime.edge import overlay_board as board
from helioc.runtime.edge.overlay_board import Posted, post, posted, remembered, take_down
from helioc.runtime.edge.overlay_health import Quality

HERE = [Posted("OVERLAY", "GRE-1", Quality("dead", 0.25, 0.02, 0.001, 8, 6, 1.5))]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(board, "RUN", tmp_path)
    return tmp_path


def test_it_is_read_as_it_was_written(folder: Path) -> None:
    assert posted("p") == []
    post("p", HERE)
    post("p", HERE)
    assert posted("p") == HERE and posted("q") == []
    assert len(list(folder.iterdir())) == 1
    take_down("p")
    take_down("p")
    assert posted("p") == [] and not list(folder.iterdir())


def test_what_is_old_or_damaged_says_nothing(folder: Path) -> None:
    post("p", HERE)
    (path,) = folder.iterdir()
    then = path.stat().st_mtime - board.AGE - 1
    os.utime(path, (then, then))
    assert posted("p") == []
    ahead = path.stat().st_mtime + 86_400  # the clock was set back since
    os.utime(path, (ahead, ahead))
    assert posted("p") == []
    os.utime(path, (then, then))
    (dead,) = remembered("p")
    assert dead.quality == Quality("dead", since=1.5)
    post("p", [HERE[0]._replace(quality=Quality("alive", 0.25, 0.02, 0.001, 8, 6, 1.5))])
    assert remembered("p") == posted("p")
    os.utime(path, (then, then))
    (unknown,) = remembered("p")
    assert unknown.quality == Quality("unknown", since=then)
    for text in ("", "{", "[1]", '[["OVERLAY", "GRE-1", {"what": 1}]]'):
        path.write_text(text)
        assert posted("p") == remembered("p") == []
