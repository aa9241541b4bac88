"""Power fails on a block device with ext4: what was acknowledged is there, and nobody reports a
loss. A cut leaves what came before the last flush, and any sectors of what came later.

`HELIO_DEVICE_CUTS` says how often; without fdatasync the same cuts lose requests.
"""

from __future__ import annotations

import os
import random
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from block_device import Cuts, device, mounted
from journal_work import Work, judge
from lab import command

CUTS = int(os.environ.get("HELIO_DEVICE_CUTS", "30"))
#: Of one device's.
_EACH = 50


@pytest.fixture
def place() -> Iterator[Path]:
    with TemporaryDirectory(dir="/dev/shm") as folder:
        yield Path(folder)


def cuts(place: Path, many: int) -> Iterator[tuple[str, list[str]]]:
    """Each cut, and what is wrong behind it."""
    chance = random.Random(many)
    for seed in range(-(-many // _EACH)):
        with TemporaryDirectory(dir=place) as folder:
            with device(Path(folder)) as made:
                state = made.root / "state"
                state.mkdir()
                command("sync", "--file-system", str(made.root))
                begun = made.now()
                work, ended = Work(state, made.now, seed), made.now()
                entries = [each for each in made.read() if each[0] <= ended]
            moments = [at for at, _, _ in entries if begun <= at] or [ended]
            left = Cuts(entries)
            for at in sorted(chance.choices([*moments, ended], k=min(_EACH, many))):
                promised = [p for p in work.promises if p.at <= at][-1]
                with mounted(left.cut(at, chance), Path(folder)) as root:
                    yield f"seed {seed}, cut at {at}", judge(root / "state", promised)


@pytest.mark.usefixtures("kernel")
def test_a_cut_loses_nothing(place: Path) -> None:
    for what, wrong in cuts(place, CUTS):
        assert not wrong, what


@pytest.mark.usefixtures("kernel")
def test_without_fdatasync_cuts_lose_requests(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """So that the test above can fail."""
    for name in ("fdatasync", "fsync"):
        monkeypatch.setattr(os, name, lambda descriptor: None)
    assert sum(bool(wrong) for _, wrong in cuts(place, 10)) > 5
