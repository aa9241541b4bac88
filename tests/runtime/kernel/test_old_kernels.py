"""What a kernel lacks is said by name, not by the verifier's log."""

from __future__ import annotations

from pathlib import Path

import pytest
from helioc.compiler.bundle import compile_pipeline
from helioc.compiler.driver import check_file
from helioc.lang.text.diagnostics import Refused
from helioc.runtime.base import errors as faults
from helioc.runtime.kernel.handles import Object
from helioc.runtime.kernel.libbpf import BpfError
from helioc.runtime.kernel.program_stats import shrink
from helioc.runtime.loading.install import prepare_object

PIPELINES = Path(__file__).parents[3] / "pipelines"
LINX, SLICE = PIPELINES / "linx_offload.hp", PIPELINES / "slice.hp"
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


def test_a_refusal_has_the_reason_and_not_what_was_counted() -> None:
    log = """; return bpf_map_lookup_elem(tuples, &version); @ slice.hp:64
3830: (79) r2 = *(u64 *)(r0 +16)
R0 unbounded memory access, make sure to bounds check any such access
verification time 5342 usec
stack depth 64+248+64
processed 4242 insns (limit 1000000) max_states_per_insn 4 total_states 99 peak_states 40
"""
    error = BpfError("load program `slice_nic`", 13, log, program="slice_nic")
    found = faults.of_kernel(error, "load it")
    assert found.title.endswith(
        "at slice.hp:64: R0 unbounded memory access, make sure to bounds check any such access"
    )


@pytest.mark.usefixtures("kernel")
def test_what_has_no_words_of_32_bits_loads(monkeypatch: pytest.MonkeyPatch) -> None:
    """-mcpu=v2 shifts where v3 has 32-bit registers, and the verifier then knows less."""
    monkeypatch.setenv("HELIOC_CPU", "v2")
    bundle = compile_pipeline(check_file(SLICE))
    with Object.open(bundle.object, name="slice") as found:
        prepare_object(bundle.manifest, found)
        shrink(found)
        found.load()


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
