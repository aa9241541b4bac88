"""Programs that try one construct each, for the checker and for the kernel's own."""

from __future__ import annotations

import subprocess
from pathlib import Path

from helioc.compiler.backend.clang import find_clang, flags

CASES = Path(__file__).parent / "nfp_probes.c"

#: What the checker says of each case; "" where a card runs it.
EXPECTED = {
    "adjust_head": "", "adjust_tail": "", "bswap64": "", "div_const": "", "elem_64": "",
    "entries_3": "", "loop": "", "mul_u32": "", "pkt_var": "", "pkt_write": "", "prandom": "",
    "shift_var64": "", "subprog": "", "write_rxq": "", "xadd32": "", "xadd64": "",
    "memcpy_map_to_pkt": "", "count_either": "", "look_in_either": "",
    "verdict_on_stack": "",
    "adjust_meta": "calls helper 54", "csum_diff": "calls helper 28", "ktime": "calls helper 5",
    "redirect": "calls helper 23", "map_update": "calls helper 2", "map_delete": "calls helper 3",
    "tail_call_helper": "calls helper 12", "perf_event": "calls helper 25",
    "atomic_or": "only additions are atomic", "xadd_fetch": "only additions are atomic",
    "xadd_stack": "adds atomically to the stack",
    "xadd_then_read": "both read and counted in",
    "bss": "global data in `.bss`", "rodata": "global data in `.rodata`",
    "printk": "global data in `.rodata`", "const_initialiser": "global data in `.rodata.cst16`",
    "devmap": "neither HASH nor ARRAY", "lru": "neither HASH nor ARRAY",
    "percpu": "neither HASH nor ARRAY", "lpm": "neither HASH nor ARRAY",
    "map_in_map": "neither HASH nor ARRAY", "tail_call": "neither HASH nor ARRAY",
    "map_flags": "has flags", "elem_72": "too large: 72 bytes",
    "entries_2048001": "more than 2,048,000 entries",
    "div_var": "divides by what is no fixed number", "mod_const": "there is no remainder",
    "mul_u64": "more than 32 bits", "mul_swapped": "more than 32 bits",
    "map_store": "cannot write into maps",
    "pkt_key": "a key must lie on the stack", "value_key": "a key must lie on the stack",
    "unaligned_key": "aligned to 4 bytes",
    "ptr_mixed": "different kinds of memory", "stack_var": "a place on the stack varies",
    "value_var": "a place in a map's value varies",
    "read_ifindex": "only its begin and end", "read_rxq": "only its begin and end",
    "read_meta": "only its begin and end",
    "ret_99": "its verdict may be another", "ret_redirect": "its verdict may be another",
    "too_long": "", "stack_subprog": "", "stack_448": "", "pkt_1900": "",
}  # fmt: skip

#: Bytes of stack, and of the packet, that a case reaches; a card has 512 and sees 1888.
STACK = {"stack_448": 448, "stack_subprog": 576}
REACH = {"pkt_1900": 1900}

#: Wrong all the same, though the kernel's driver takes them: they fail while packets are handled.
ONLY_OURS = {"ret_99", "ret_redirect"}
TOO_LONG = "too_long"
TOO_MUCH = {TOO_LONG, "stack_subprog"}  # of what is counted: the reports say so


def build(case: str, out: Path, *more: str) -> bytes:
    """The object of a case."""
    clang = find_clang()
    assert clang is not None
    command = [clang, *flags(), "-w", *more, f"-DCASE_{case}", str(CASES), "-o", str(out)]
    subprocess.run(command, check=True, capture_output=True, text=True)
    return out.read_bytes()
