"""What is said where a tool is missing or fails, and of what this release cannot compile."""

from __future__ import annotations

from pathlib import Path

import pytest
from helioc.commands import report
from helioc.compiler.backend.clang import compile_c
from helioc.compiler.check.program import check
from helioc.compiler.driver import lower_pipeline
from helioc.lang.contract.trace.filter_text import read_filter
from helioc.lang.syntax.parser import parse
from helioc.lang.text.diagnostics import Refused
from helioc.lang.text.source import NOWHERE, Source

TOO_MUCH = "".join(f"  ie e{i} = {i}, ip6\n" for i in range(1, 7))
MATCHED = "".join(f"    match e{i} exact given\n" for i in range(1, 7))
KEY = f"""import std.ethernet
pipeline p {{
  ports lan
  parser {{ start -> ethernet on lan }}
{TOO_MUCH}  rule WIDE [16] {{
{MATCHED}  }}
  stage s {{
    find WIDE({", ".join(f"e{i} = 2001:db8::1" for i in range(1, 7))})
    pass
  }}
  run parser -> s
}}
"""


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


def test_a_key_of_six_addresses() -> None:
    with pytest.raises(Refused, match="`WIDE` matches too much") as refused:
        lower_pipeline(check(parse(Source("p.hp", KEY))))
    assert code_of(refused) == "H0303"


ODD = """import std.ethernet, std.ip
header cover { sum : u16 = checksum(header, payload)  next : u16 = 0x800 }
header odd { a : u16  {more}next : u8 = 17 }
pipeline p {
  ports lan
  parser {
    ethernet -> cover when type = 0x9999
    cover -> ipv4 when next = 0x800
    ipv4 -> odd when protocol = 200
    ipv4 -> udp when protocol = 17
    ipv4 -> tcp when protocol = 6
    odd -> udp as inner when next = 17
  }
  stage s {
    if not ipv4 { pass }
    ipv4.{change}
    send back
  }
  run parser -> s
}
"""


@pytest.mark.parametrize(
    ("more", "change", "taken"),
    [("", "src = 10.1.2.3", False), ("pad : u8  ", "src = 10.1.2.3", True), ("", "tos = 4", True)],
)
def test_a_checksum_behind_a_header_of_odd_octets(more: str, change: str, taken: bool) -> None:
    """One in front knows its words where they are aligned."""
    text = ODD.replace("{more}", more).replace("{change}", change)
    pipeline = check(parse(Source("p.hp", text)))
    if taken:
        lower_pipeline(pipeline)
        return
    with pytest.raises(Refused, match="one behind it that may start at an odd octet") as refused:
        lower_pipeline(pipeline)
    assert code_of(refused) == "H0303"
    assert refused.value.diagnostics[0].labels[0].span.text == "ipv4.src = 10.1.2.3"


def test_a_tool_is_missing_and_one_fails(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(report, "_found", lambda _: None)
    with pytest.raises(Refused, match="`dot` is not to be found") as refused:
        report.to_svg("digraph {}")
    assert code_of(refused) == "H0305"
    fails = tmp_path / "dot"
    fails.write_text("#!/bin/sh\ncat >/dev/null\necho no such shape >&2\nexit 1\n")
    fails.chmod(0o755)
    monkeypatch.setattr(report, "_found", lambda _: str(fails))
    with pytest.raises(Refused, match="`dot` failed: no such shape") as refused:
        report.to_svg("digraph {}")
    assert code_of(refused) == "H0306"


def test_a_filter_by_a_node_that_is_none() -> None:
    with pytest.raises(Refused, match="the pipeline has no") as refused:
        read_filter("udp.dst = 53", ())
    assert code_of(refused) == "H0856"
