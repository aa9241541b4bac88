"""Why a transaction could not be staged, in the user's terms."""

from __future__ import annotations

from dataclasses import replace
from errno import E2BIG, EPERM

import pytest
from helioc.runtime.kernel.libbpf import BpfError
from helioc.runtime.rules.errors import of_tables
from helioc.runtime.rules.images import TooLong
from helioc.runtime.rules.pools import NoRoom
from helioc.runtime.rules.transaction import Dangling
from linx_manifest import PDR

KINDS = {"PDR": PDR, "PDR_LONGER": replace(PDR, name="PDR_LONGER")}


@pytest.mark.parametrize(
    ("error", "code", "words"),
    [
        (NoRoom("PDR", "cells"), "H0732", "no free cells"),
        (Dangling("FAR", 7), "H0733", "there is no FAR 7"),
        (TooLong("a" * 65), "H0734", "longer than 64 bytes"),
        (NoRoom("PDR", "keys"), "H0730", "lookup table of PDR"),
        (NoRoom("PDR_LONGER", "keys"), "H0730", "table of PDR_LONGER"),
        (BpfError("anything", E2BIG, map="far_entries"), "H0722", "change a table: anything"),
        (BpfError("write map `pdr_entries`", EPERM, map="pdr_entries"), "H0720", "change a table"),
    ],
)
def test_why_not(error: Exception, code: str, words: str) -> None:
    found = of_tables(error, KINDS)
    assert found.code == code
    assert words in f"{found.title} {found.help}"
