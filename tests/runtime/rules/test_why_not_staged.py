"""Why a transaction could not be staged, in the user's terms."""

from __future__ import annotations

import pytest
from helioc.runtime.rules.faults import of_tables
from helioc.runtime.rules.images import TooLong
from helioc.runtime.rules.tables import NoRoom
from helioc.runtime.rules.transaction import Dangling
from linx_manifest import PDR

KINDS = {"PDR": PDR}


@pytest.mark.parametrize(
    ("error", "code", "words"),
    [
        (NoRoom("PDR", "cells"), "H0732", "no free cells"),
        (Dangling("FAR", 7), "H0733", "there is no FAR 7"),
        (TooLong("a" * 65), "H0734", "longer than 64 octets"),
    ],
)
def test_why_not(error: Exception, code: str, words: str) -> None:
    found = of_tables(error, KINDS)
    assert found.code == code
    assert words in f"{found.title} {found.help}"
