"""Of a long chain of branches clang compiles each piece by itself: all in one took minutes for 511,
in more than the square of its length."""

from __future__ import annotations

from resource import RUSAGE_CHILDREN, getrusage

import pytest
from helioc.compiler.backend.clang import compile_c
from helioc.compiler.backend.emit import emit
from helioc.compiler.check.program import check
from helioc.compiler.driver import lower_pipeline
from helioc.lang.syntax.parser import parse
from helioc.lang.text.source import Source

LONGEST = 511  # `else if` in a row, behind the `if`
MOST = 10  # seconds of a CPU; on the machine where this was written it takes one

FILE = """import std.ethernet, std.ip
pipeline long {
  ports outside
  parser {
    ethernet -> ipv4 when type = 0x0800
    ipv4 -> udp when protocol = 17
  }
  default pass
  stage all {
    if not ipv4 { pass }
    %s
    drop
  }
  run parser -> all
}
"""


@pytest.mark.usefixtures("compiled_anew")
@pytest.mark.parametrize("behind", ["else ", ""], ids=["chain", "in a row"])
def test_branches_on_what_is_in_memory_compile(behind: str) -> None:
    branches = f"\n    {behind}".join(
        f"if l4.dst = {n} {{ {'drop' if n % 2 else 'pass'} }}" for n in range(LONGEST)
    )
    pipeline = check(parse(Source("long.hp", FILE % branches)))
    text = emit(lower_pipeline(pipeline, "staged"), lines=True)
    before = getrusage(RUSAGE_CHILDREN).ru_utime
    assert compile_c(text, "long", pipeline.span)
    assert getrusage(RUSAGE_CHILDREN).ru_utime - before < MOST
