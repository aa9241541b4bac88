"""What is said where clang is missing, or does not take the C."""

from __future__ import annotations

import pytest
from helioc.compiler.backend.clang import compile_c
from helioc.lang.text.diagnostics import Refused
from helioc.lang.text.source import NOWHERE


def test_clang_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HELIOC_CLANG", "clang-that-is-none")
    with pytest.raises(Refused, match="`clang-that-is-none` is not to be found") as refused:
        compile_c("int a;", "p", NOWHERE)
    assert [d.code for d in refused.value.diagnostics] == ["H0301"]


def test_clang_does_not_take_the_c() -> None:
    with pytest.raises(Refused) as refused:
        compile_c("this is no C", "p", NOWHERE)
    assert [d.code for d in refused.value.diagnostics] == ["H0302"]
    assert "error" in refused.value.diagnostics[0].labels[0].text
