"""What a kernel lacks is said by name, not by the verifier's log."""

from __future__ import annotations

from pathlib import Path

import pytest
from helioc.compiler.bundle import compile_pipeline
from helioc.compiler.driver import check_file
from helioc.lang.text.diagnostics import Refused
from helioc.runtime.base import errors as faults
from helioc.runtime.kernel.libbpf import BpfError

LINX = Path(__file__).parents[3] / "pipelines" / "linx_offload.hp"
SAID = {
    "unknown opcode d7\nprocessed 0 insns": "does not know an instruction",
    "BPF_STX uses reserved fields\nprocessed 0 insns": "does not know an instruction",
    "combined stack size of 5 calls is 544. Too large": "take 544 bytes of stack",
    "invalid func bpf_loop#181": "lacks the function bpf_loop",
    "BPF program is too large. Processed 1000001 insn": "too long for its verifier",
}


@pytest.mark.parametrize("log", SAID)
def test_what_the_kernel_lacks(log: str) -> None:
    error = BpfError("load program `linx_lan_parser`", 22, log, program="linx_lan_parser")
    found = faults.of_kernel(error, "load it")
    assert found.code == "H0728" and SAID[log] in found.title and "linx_lan_parser" in found.title
    assert log not in found.title + found.help


def test_what_is_too_long_is_no_lack_of_memory() -> None:
    log = "processed 27 insns\ninsn 27259 cannot be patched due to 16-bit range"
    error = BpfError("load program `p_lan_s`", 12, log, program="p_lan_s")
    found = faults.of_kernel(error, "load it")
    assert error.too_long and (found.code, "16-bit range" in found.title) == ("H0723", True)
    memory = BpfError("load program `p_lan_s`", 12, "", program="p_lan_s")
    assert not memory.too_long and faults.of_kernel(memory, "load it").code == "H0330"


@pytest.mark.parametrize(("clang", "cpu"), [("clang-16", "v4"), ("clang-16", "v9")])
def test_an_instruction_set_that_is_not_known(
    clang: str, cpu: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HELIOC_CLANG", clang)
    monkeypatch.setenv("HELIOC_CPU", cpu)
    with pytest.raises(Refused) as refused:
        compile_pipeline(check_file(LINX))
    (found,) = refused.value.diagnostics
    assert found.code == "H0315" and cpu in found.title and "v3" in found.help
