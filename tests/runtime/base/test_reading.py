"""A file that is not text says which byte it is, and what makes it text."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from helioc.lang.text.diagnostics import Refused
from helioc.runtime.base.files import MIB, read_source

SAID = "create FAR 1 [(action, u8, DROP)];\n// für alle\n"


@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
def test_text(tmp_path: Path, mark: bytes) -> None:
    file = tmp_path / "rules.req"
    file.write_bytes(mark + SAID.encode())
    assert read_source(file, MIB).text == SAID


@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
def test_a_byte_that_is_not_utf8(tmp_path: Path, mark: bytes) -> None:
    file = tmp_path / "my rules.req"
    file.write_bytes(mark + SAID.encode("latin-1"))
    with pytest.raises(Refused) as caught:
        read_source(file)
    (found,) = caught.value.diagnostics
    assert found.code == "H0740" and str(found.span) == f"{file}:2:5"
    assert found.labels[0].text == "the byte 0xfc stands here"
    _, command = found.help.split("convert it: ")
    subprocess.run(command, shell=True, check=True)
    assert read_source(Path(f"{file}.utf8")).text.endswith(SAID) or mark
