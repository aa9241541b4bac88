"""What the checker accepts loads: LINX by every clang that is installed, staged and fused."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from checked import checked
from helioc.compiler.backend.clang import CANDIDATES
from helioc.compiler.backend.emit import emit
from helioc.compiler.bundle import compile_pipeline
from helioc.compiler.check.program import check
from helioc.compiler.driver import lower_pipeline
from helioc.compiler.lower.unit import Join
from helioc.lang.syntax.parser import parse
from helioc.lang.text.source import Source
from helioc.runtime.kernel.program_stats import measure_object

LINX = Path(__file__).parents[3] / "pipelines" / "linx.hp"
MOST_VERIFIED = 150_000  # instructions: far below the kernel's limit of a million
SHAPES = sorted((Path(__file__).parents[1] / "lower/cases/parses").glob("*.hp"))
MOST_OF_SHAPES = 100_000  # stacks of eight headers, each followed in each of its ways


@pytest.fixture(params=[name for name in CANDIDATES if shutil.which(name)])
def clang(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("HELIOC_CLANG", request.param)
    return str(request.param)


@pytest.mark.usefixtures("kernel", "clang")
@pytest.mark.parametrize("join", ["staged", "fused"])
def test_linx_loads(join: Join) -> None:
    bundle = compile_pipeline(checked(LINX), join)
    measured = measure_object(bundle.object)
    assert not measured.refused and not measured.why_not
    for program in bundle.manifest.programs:
        verified = measured.programs[program.name].verified
        assert verified is not None and 0 < verified < MOST_VERIFIED


@pytest.mark.usefixtures("kernel", "clang")
@pytest.mark.parametrize("join", ["staged", "fused"])
@pytest.mark.parametrize("path", SHAPES, ids=lambda p: p.stem)
def test_headers_of_all_shapes_load(path: Path, join: Join) -> None:
    bundle = compile_pipeline(checked(path), join)
    measured = measure_object(bundle.object)
    assert not measured.refused and not measured.why_not
    for program in bundle.manifest.programs:
        verified = measured.programs[program.name].verified
        assert verified is not None and 0 < verified < MOST_OF_SHAPES


PARTS = """import std.ethernet, std.ip
header parts {
  any_0 : u1  has_0 : u1  count : u3  : u3
  when any_0 or has_0 { f1 : u16 }
  when has_0 { f2 : u24 }
  hops : ip4[count >> 1] max 4
}
pipeline p {
  ports lan
  parser {
    ethernet -> parts when type = 0x102
    parts -> udp when next u8 = 0x43
  }
  default pass
  stage s { pass }
  run parser -> s
}
"""


def test_steps_behind_headers_of_many_parts_are_bounded() -> None:
    """Where clang keeps their size on the stack, Linux 5.10 and 6.1 forget how large it may be: a
    larger pipeline with this header was refused there."""
    text = emit(lower_pipeline(check(parse(Source("p.hp", PARTS)))), lines=False)
    assert text.count("p + (opaque(size) & 0x1f)") == 1
    assert text.count("p += opaque(size) & 0x1f;") == 1


UNREAD = """import std.ethernet, std.ip
pipeline p {
  ports any
  parser {
    ethernet -> ipv4 when type = 0x0800
    ipv4     -> udp  when protocol = 17
    ipv4     -> tcp  when protocol = 6
  }
  stage s {
    if frame.length > 1000 { drop }
    pass
  }
  run parser -> s
}
"""


@pytest.mark.usefixtures("kernel", "clang")
@pytest.mark.parametrize("join", ["staged", "fused"])
def test_a_stage_that_reads_no_header_loads(join: Join) -> None:
    """The row of usual packets (usual_path) forgets no places where none are kept."""
    measured = measure_object(compile_pipeline(check(parse(Source("p.hp", UNREAD))), join).object)
    assert not measured.refused and not measured.why_not
