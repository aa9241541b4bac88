"""A pipeline that several tests compile is compiled once."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from compilations import kept_in
from helioc.compiler.backend import clang
from helioc.compiler.bundle import compile_for_card, compile_pipeline
from helioc.compiler.check.resolve import PIPELINES
from helioc.compiler.driver import check_file
from helioc.compiler.model import Pipeline
from helioc.lang.text.source import Span


@pytest.fixture
def runs(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The C file of each run of clang."""
    seen: list[str] = []
    run = clang._run

    def noted(command: list[str], *others: Any) -> tuple[int, str]:
        if command[-1].endswith(".c"):  # it is also asked what it is
            seen.append(command[-1])
        return run(command, *others)

    monkeypatch.setattr(clang, "_run", noted)
    return seen


@pytest.fixture
def slice_() -> Pipeline:
    return check_file(PIPELINES / "slice_offload.hp")


def test_what_is_the_same_is_compiled_once(
    runs: list[str], slice_: Pipeline, tmp_path: Path
) -> None:
    with kept_in(tmp_path / "objects"):
        first = compile_pipeline(slice_), compile_for_card(slice_)
        assert len(runs) == 2
        assert (compile_pipeline(slice_), compile_for_card(slice_)) == first
        assert len(runs) == 2
        assert compile_pipeline(slice_, "fused") != first[0]
        assert len(runs) == 3


def test_too_deep_is_said_again(runs: list[str], slice_: Pipeline, tmp_path: Path) -> None:
    deep = """#include "helio.bpf.h"
        int f(struct xdp_md *c) { volatile char kept[600]; kept[c->data] = 1; return kept[9]; }"""
    span = Span(slice_.span.source, 0, 1)
    with kept_in(tmp_path / "objects"):
        for _ in range(2):
            with pytest.raises(clang.TooDeep):
                clang.compile_c(deep, "deep", span)
    assert len(runs) == 1


def test_objects_stay_for_later_runs(request: pytest.FixtureRequest) -> None:
    cache = request.config.cache
    assert cache is not None, "the plug-in of pytest that keeps things is there"
    builds = Path(os.environ["XDG_CACHE_HOME"], "helio", "builds")
    assert builds.resolve() == cache.mkdir("helio-builds").resolve()


@pytest.mark.usefixtures("compiled_anew")
def test_tests_of_the_compiler_compile(runs: list[str], slice_: Pipeline) -> None:
    assert compile_pipeline(slice_) == compile_pipeline(slice_)
    assert len(runs) == 2
