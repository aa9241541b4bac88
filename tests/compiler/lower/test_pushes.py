"""Small pipelines that read (`parses`) and push (`pushes`) headers of all shapes: interpreter and
kernel write the same octets."""

from __future__ import annotations

from pathlib import Path

import pytest
from helioc.compiler.lower import Join
from helioc.compiler.packettests.cases import read_tests
from helioc.compiler.packettests.runs import Interpreted, run_tests
from helioc.compiler.phases import check_file, compile_pipeline
from helioc.lang.diagnostics import Refused
from helioc.lang.parser import read
from helioc.runtime.bundle import Bundle
from helioc.runtime.testrun import KernelBackend

HERE = Path(__file__).parent
PIPELINES = sorted([*HERE.glob("parses/*.hp"), *HERE.glob("pushes/*.hp")])
PUSH = """import std.ethernet, std.ip
{headers}
pipeline p {{
  ports a
  parser {{
    ethernet -> ipv4 as o when type = 0x0800
    o -> {header} when protocol = 200
    {header} -> ipv4 as i when next = 4
    ethernet -> i when type = 0x86dd
  }}
  stage s {{
    if not i {{ pass }}
    if o {{ pass }}
    push o {{ src = i.src, dst = i.dst }} / {header} {{ {given} }}
    pass
  }}
  run parser -> s
}}
"""


@pytest.mark.usefixtures("kernel")
@pytest.mark.parametrize("join", ["staged", "fused"])
@pytest.mark.parametrize("path", PIPELINES, ids=lambda p: p.stem)
def test_pushes_agree(path: Path, join: Join) -> None:
    pipeline = check_file(path)
    bundle = compile_pipeline(pipeline, join)
    cases = read_tests(pipeline, bundle.manifest, read(path.with_suffix(".test.yaml")))
    with KernelBackend(Bundle(bundle.manifest, bundle.object)) as kernel:
        for result in run_tests(pipeline, cases, (Interpreted(pipeline), kernel)):
            assert result.ok, "\n".join(result.problems)


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        ("wide : ip6 = 2001:db8::1", "its `wide` is over 64 bits"),
    ],
)
def test_what_cannot_be_written_is_refused(tmp_path: Path, fields: str, why: str) -> None:
    """By `check`, at the push; not by clang or the kernel."""
    header = f"header shim {{ next : u8  pad : u8 = 0  {fields} }}"
    path = tmp_path / "p.hp"
    path.write_text(PUSH.format(headers=header, header="shim", given=""))
    with pytest.raises(Refused) as refused:
        check_file(path)
    (found,) = refused.value.diagnostics
    assert (found.code, found.title) == ("H0303", f"`shim` cannot be pushed: {why}")
    assert found.span is not None and found.span.text.startswith("push o")
