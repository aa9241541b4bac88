"""What the kernel shows of a program is in the user's own lines."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from helioc.compiler.backend.clang import compile_c
from helioc.compiler.backend.emit import emit
from helioc.compiler.bundle import compile_pipeline
from helioc.compiler.driver import check_file, lower_pipeline
from helioc.runtime.kernel.handles import Object
from helioc.runtime.kernel.libbpf import BpfError

LINX = Path(__file__).parents[3] / "pipelines" / "linx.hp"


@pytest.fixture(scope="module")
def built() -> bytes:
    return compile_pipeline(check_file(LINX)).object


@pytest.mark.usefixtures("kernel")
def test_the_verifier_quotes_the_pipeline() -> None:
    """A bound left out of the generated C: the refusal names the edge that reads too far."""
    pipeline = check_file(LINX)
    c = emit(lower_pipeline(pipeline), lines=True)
    broken = c.replace("(unlikely(p + 20 > end || at + 20 > limit))", "(unlikely(at + 20 > limit))")
    assert broken != c
    with (
        Object.open(compile_c(broken, "linx", pipeline.span)) as loading,
        pytest.raises(BpfError) as refused,
    ):
        loading.load()
    text = LINX.read_text()
    number = next(n for n, line in enumerate(text.splitlines(), 1) if "-> tcp" in line)
    assert re.search(rf"user +-> tcp +when protocol = 6 @ linx.hp:{number}", refused.value.log)


@pytest.mark.usefixtures("kernel")
def test_bpftool_shows_lines_of_the_pipeline(built: bytes) -> None:
    bpftool = shutil.which("bpftool", path="/usr/sbin:/sbin:/usr/bin")
    assert bpftool, "bpftool is installed by `make test`"
    with Object.open(built) as loading:
        loading.load()
        number = loading.programs()["linx_wan_forwarder"].id
        command = [bpftool, "prog", "dump", "xlated", "id", str(number), "linum"]
        shown = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert "pop to user" in shown and "linx.hp line_num:" in shown
