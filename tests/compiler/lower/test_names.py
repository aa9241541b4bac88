"""Names in C that every kernel's BTF takes."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from helioc.compiler.emit import emit
from helioc.compiler.lowered import function_name
from helioc.compiler.phases import check_file, lower_pipeline

ROOT = Path(__file__).parents[3]
#: KSYM_NAME_LEN of Linux 5.10, the octet that ends a name counted.
KSYM_NAME_LEN = 128


@pytest.mark.parametrize("path", sorted((ROOT / "pipelines").glob("*.hp")), ids=lambda p: p.stem)
def test_no_function_of_what_ships_has_too_long_a_name(path: Path) -> None:
    text = emit(lower_pipeline(check_file(path)), lines=False)
    names = re.findall(r"^\w[\w ]*?[ *](\w+)\(", text, re.M)
    assert names
    assert [name for name in names if len(name) >= KSYM_NAME_LEN] == []


def test_long_names_stay_different() -> None:
    """Their beginnings are the same."""
    one, other = function_name("a" * 300 + "b"), function_name("a" * 300 + "c")
    assert one != other
    assert one[:40] == other[:40]
    assert function_name("reply_lan_to_user") == "reply_lan_to_user"
