"""What spreads are steered to, for who reads without the agent."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from helioc.runtime.base import published
from helioc.runtime.edge.overlay_status import AGE
from helioc.runtime.edge.path_quality import Measured
from helioc.runtime.edge.steering_status import (
    SteeredMember,
    SteeredSpread,
    last_steering,
    read_steering,
    remove_steering,
    shown,
    steered_rows,
    write_steering,
)

SEEN = Measured(0.0812, 0.0004, 0.0)
OUT = SteeredMember("FAR", 1, "GRE-1", 3, 0, "delay 81.2 ms, at most 50 ms", 1.5, SEEN)
IN = SteeredMember("FAR", 2, "", 1, 1, "", 0.0, Measured())
HERE = [SteeredSpread("LBR", 9, "LBR 9", 1, [OUT, IN], 2.5)]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(published, "RUN", tmp_path)
    return tmp_path


def test_it_is_read_as_it_was_written(folder: Path) -> None:
    assert read_steering("p") == []
    write_steering("p", HERE)
    assert read_steering("p") == HERE and read_steering("q") == []
    write_steering("p", [])
    remove_steering("p")
    assert read_steering("p") == [] and not list(folder.iterdir())


def test_what_is_old_or_damaged_says_nothing(folder: Path) -> None:
    write_steering("p", HERE)
    path = folder / "p.steering"
    for moved in (-2 * AGE, 2 * AGE):
        os.utime(path, (path.stat().st_atime, path.stat().st_mtime + moved))
        assert read_steering("p") == []
        # The agent was killed, and packets go on as it had them.
        (spread,) = last_steering("p")
        assert spread.members[0] == OUT._replace(seen=Measured()) and spread.due == 0
        os.utime(path)
    member = '["FAR", 1, "GRE-1", "3", 0, "", 0, [null, null, null]]'
    seen = '["FAR", 1, "GRE-1", 3, 0, "", 0, [null, "1", null]]'
    for text in ("", "{", "null", "7", "[1]", "[[]]", "[[1, 2, 3, 4, [[1]]]]", '{"a": 1}', '"ab"',
                 "[" * 100_000, '[["LBR", 9, null, 1, [], 0]]', '[["LBR", 9, "LBR 9", 1, []]]',
                 f'[["LBR", 9, "LBR 9", 1, [{member}], 0]]',
                 f'[["LBR", 9, "LBR 9", 1, [{seen}], 0]]'):  # fmt: skip
        path.write_text(text)
        assert read_steering("p") == last_steering("p") == []


def test_numbers() -> None:
    values = 0.0, 0.00004, 0.0812, 0.9996, 4294.967295
    assert [shown("delay", v) for v in values] == ["0 ms", "0.04 ms", "81.2 ms", "1,000 ms",
                                                   "4,294,967 ms"]  # fmt: skip
    assert [shown("loss", v) for v in (0.005, 1.0, None)] == ["0.5 %", "100 %", "-"]


def test_a_table_says_what_is_asked_and_what_is_in_force() -> None:
    assert steered_rows(HERE) == [
        ("LBR 9", "FAR 1", "0 of 3", "81.2 ms", "0.4 ms", "0 %", "GRE-1", OUT.why),
        ("", "FAR 2", "1", "-", "-", "-", "-", ""),
    ]
