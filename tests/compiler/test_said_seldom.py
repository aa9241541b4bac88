"""What is said where a tool is missing or fails."""

from __future__ import annotations

from pathlib import Path

import pytest
from helioc.commands import files
from helioc.compiler.backend.clang import compile_c
from helioc.lang.contract.trace.filter_text import read_filter
from helioc.lang.text.diagnostics import Refused
from helioc.lang.text.source import NOWHERE


def code_of(refused: pytest.ExceptionInfo[Refused]) -> str:
    (found,) = refused.value.diagnostics
    return found.code


def test_clang_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HELIOC_CLANG", "clang-that-is-none")
    with pytest.raises(Refused, match="`clang-that-is-none` is not to be found") as refused:
        compile_c("int a;", "p", NOWHERE)
    assert code_of(refused) == "H0301"


def test_clang_does_not_take_the_c() -> None:
    with pytest.raises(Refused) as refused:
        compile_c("this is no C", "p", NOWHERE)
    assert code_of(refused) == "H0302"
    assert "error" in refused.value.diagnostics[0].labels[0].text


def test_a_tool_is_missing_and_one_fails(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(files, "_found", lambda _: None)
    with pytest.raises(Refused, match="`dot` is not to be found") as refused:
        files.to_svg("digraph {}")
    assert code_of(refused) == "H0305"
    fails = tmp_path / "dot"
    fails.write_text("#!/bin/sh\ncat >/dev/null\necho no such shape >&2\nexit 1\n")
    fails.chmod(0o755)
    monkeypatch.setattr(files, "_found", lambda _: str(fails))
    with pytest.raises(Refused, match="`dot` failed: no such shape") as refused:
        files.to_svg("digraph {}")
    assert code_of(refused) == "H0306"


def test_a_filter_by_a_node_that_is_none() -> None:
    with pytest.raises(Refused, match="the pipeline has no") as refused:
        read_filter("udp.dst = 53", ())
    assert code_of(refused) == "H0856"
