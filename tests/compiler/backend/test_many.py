"""Sets of hundreds of members, and matches of hundreds of arms: what is asked of them grows with
their number, not with its square, and the kernel takes them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from time import process_time

import pytest
from helioc.compiler.bundle import compile_pipeline
from helioc.compiler.driver import check_file
from helioc.runtime.loading.bundle import Bundle
from helioc.runtime.testrun.private_run import PrivateRun

FILE = """import std.ethernet, std.ip
pipeline many {{
  ports lan
  parser {{ ethernet -> ipv4 when type = 0x0800 }}
  default pass
  stage all {{
    if not ipv4 {{ pass }}
    {body}
    send back
  }}
  run parser -> all
}}
"""


def sets(many: int, conditions: int) -> str:
    every = (", ".join(str(7 * i + 3 * n) for i in range(many)) for n in range(conditions))
    return "\n".join(f"if ipv4.id in {{ {each} }} {{ count k{i} }}" for i, each in enumerate(every))


def arms(many: int) -> str:
    lines = "\n".join(f"{97 * i} => {{ ipv4.ttl = {i % 250} }}" for i in range(many))
    return f"match ipv4.id {{\n{lines}\n_ => pass\n}}"


def chain(many: int) -> str:
    return "\nelse ".join(f"if ipv4.id = {97 * i} {{ ipv4.ttl = {i % 250} }}" for i in range(many))


def took(path: Path, body: str) -> float:
    """Seconds of a CPU."""
    file = path / "many.hp"
    file.write_text(FILE.format(body=body))
    before = process_time()
    check_file(file)
    return process_time() - before


@pytest.mark.parametrize("of", [lambda n: sets(n, 14), arms, chain], ids=["sets", "arms", "chain"])
def test_time_grows_with_their_number(of: Callable[[int], str], tmp_path: Path) -> None:
    took(tmp_path, of(10))  # modules, and what is standard
    assert took(tmp_path, of(256)) < 8 * took(tmp_path, of(64))  # 16 times by the square


@pytest.mark.usefixtures("kernel")
@pytest.mark.parametrize("body", [sets(190, 14), arms(511)], ids=["sets", "arms"])
def test_they_load(body: str, tmp_path: Path) -> None:
    file = tmp_path / "many.hp"
    file.write_text(FILE.format(body=body))
    built = compile_pipeline(check_file(file))
    assert len(built.manifest.programs) == 1
    PrivateRun(Bundle(built.manifest, built.object)).close()
