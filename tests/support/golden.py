"""Texts that are compared byte for byte with what tests/golden holds."""

from __future__ import annotations

import difflib
from collections.abc import Callable
from pathlib import Path

import pytest

GOLDEN = Path(__file__).parents[1] / "golden"

Golden = Callable[[str, str], None]


def compare(name: str, text: str, update: bool) -> None:
    """Fail with a diff where `text` is not what tests/golden/NAME holds; write it to `update`."""
    path = GOLDEN / name
    if update:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    elif not path.exists():
        pytest.fail(f"no tests/golden/{name}: write it with --update-golden", pytrace=False)
    elif (kept := path.read_text()) != text:
        lines = difflib.unified_diff(
            kept.splitlines(), text.splitlines(), f"tests/golden/{name}", "now", lineterm=""
        )
        reason = "\n".join(lines) or "they differ in the newline at the end only"
        pytest.fail(f"{reason}\n(if this is meant: --update-golden)", pytrace=False)
