"""What the checker accepts loads: LINX by every clang that is installed, staged and fused."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from helioc.compiler.clang import CANDIDATES
from helioc.compiler.lower import Join
from helioc.compiler.phases import check_file, compile_pipeline
from helioc.runtime.kernel.figures import figures

LINX = Path(__file__).parents[3] / "pipelines" / "linx.hp"
MOST_VERIFIED = 150_000  # instructions: far below the kernel's limit of a million
SHAPES = sorted((Path(__file__).parent / "parses").glob("*.hp"))
MOST_OF_SHAPES = 100_000  # stacks of eight headers, each followed in each of its ways


@pytest.fixture(params=[name for name in CANDIDATES if shutil.which(name)])
def clang(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("HELIOC_CLANG", request.param)
    return str(request.param)


@pytest.mark.usefixtures("kernel", "clang")
@pytest.mark.parametrize("join", ["staged", "fused"])
def test_linx_loads(join: Join) -> None:
    bundle = compile_pipeline(check_file(LINX), join)
    measured = figures(bundle.object)
    assert not measured.refused and not measured.why_not
    for program in bundle.manifest.programs:
        verified = measured.programs[program.name].verified
        assert verified is not None and 0 < verified < MOST_VERIFIED


@pytest.mark.usefixtures("kernel", "clang")
@pytest.mark.parametrize("join", ["staged", "fused"])
@pytest.mark.parametrize("path", SHAPES, ids=lambda p: p.stem)
def test_headers_of_all_shapes_load(path: Path, join: Join) -> None:
    bundle = compile_pipeline(check_file(path), join)
    measured = figures(bundle.object)
    assert not measured.refused and not measured.why_not
    for program in bundle.manifest.programs:
        verified = measured.programs[program.name].verified
        assert verified is not None and 0 < verified < MOST_OF_SHAPES
