"""Faults put into the compiler are found by the comparison of interpreter and kernel. Here a few of
them; `make seeded` takes all."""

from __future__ import annotations

from pathlib import Path

import pytest
from faults import FAULTS
from seeding import ROOT, copy_to, found

FEW = {"limit off by one", "mask bit of a field lost", "TTL by two", "popped nodes still there"}


def test_faults_fit_the_sources() -> None:
    """Each still has a place, and a name of its own."""
    assert len({f.name for f in FAULTS}) == len(FAULTS) >= 50
    for fault in FAULTS:
        assert fault.text in (ROOT / fault.file).read_text(), fault.name


@pytest.mark.usefixtures("kernel")
def test_a_few_are_found(tmp_path: Path) -> None:
    copy_to(tmp_path)
    for fault in FAULTS:
        if fault.name in FEW:
            assert found(fault, tmp_path), fault.name
