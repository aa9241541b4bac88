"""Small pipelines that read (`parses`) and push (`pushes`) headers of all shapes: interpreter and
kernel write the same bytes."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from helioc.compiler.backend.emit import TEMPLATES
from helioc.compiler.edits.put_headers import OTHERS
from helioc.compiler.lower.unit import Join
from packet_cases import packet_cases_hold

HERE = Path(__file__).parent / "cases"
PIPELINES = sorted(
    [
        *HERE.glob("parses/*.hp"),
        *HERE.glob("pushes/*.hp"),
        HERE / "assigns/elements.hp",
        HERE / "assigns/groups.hp",
    ]
)


@pytest.mark.usefixtures("kernel")
@pytest.mark.parametrize("join", ["staged", "fused"])
@pytest.mark.parametrize("path", PIPELINES, ids=lambda p: p.stem)
def test_pushes_agree(path: Path, join: Join) -> None:
    packet_cases_hold(path, join)


def test_blocks_are_not_called_like_functions_of_the_templates() -> None:
    """A pushed header `icmp` is written by a block of its name, which may become a function."""
    text = (TEMPLATES / "helio.bpf.h").read_text()
    named = set(re.findall(r"\bput_(\w+)\(", text))
    assert named and named <= OTHERS
