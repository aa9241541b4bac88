"""Power fails at any moment: what was acknowledged is there, and nobody reports a loss.

`HELIO_CUTS` says how often; without fdatasync the same cuts lose requests.
"""

from __future__ import annotations

import os
import random
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from journal_work import Work, judge
from power import Disk

CUTS = int(os.environ.get("HELIO_CUTS", "400"))


@pytest.fixture
def place() -> Iterator[Path]:
    with TemporaryDirectory(dir="/dev/shm") as folder:
        yield Path(folder)


def cuts(place: Path, many: int, synced: bool = True) -> Iterator[tuple[str, list[str]]]:
    """Each cut, and what is wrong behind it."""
    chance, each = random.Random(many), 40
    for seed in range(-(-many // each)):
        directory = place / f"state-{seed}"
        directory.mkdir()
        disk = Disk(directory, synced)
        with disk.recording():
            work = Work(directory, partial(len, disk.ops), seed)
        for number in range(each):
            at = chance.randrange(len(disk.ops))
            left = place / f"left-{seed}-{number}"
            left.mkdir()
            disk.cut(at, random.Random(number), left)
            promised = [p for p in work.promises if p.at <= at][-1]
            yield f"seed {seed}, cut {number} behind {at}", judge(left, promised)


def test_a_cut_loses_nothing(place: Path) -> None:
    for what, wrong in cuts(place, CUTS):
        assert not wrong, what


def test_without_fdatasync_cuts_lose_requests(place: Path) -> None:
    """So that the test above can fail."""
    assert sum(bool(wrong) for _, wrong in cuts(place, 80, synced=False)) > 20
