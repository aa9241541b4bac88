"""Explains a program that an older kernel refuses, by the verifier's log."""

from __future__ import annotations

import os
import re

from ...lang.text.diagnostics import Diagnostic

#: What the verifier says, what that means, and what to do.
_SIGNS = (
    (
        r"unknown opcode|BPF_\w+ uses reserved fields",
        "it does not know an instruction of it",
        "compile the pipeline again without HELIOC_CPU: Linux 5.10 knows what helioc builds then; "
        "v4 takes 6.6",
    ),
    (
        r"combined stack size of \d+ calls is (\d+)",
        "its calls take {0} bytes of stack, and 512 is all there is",
        "newer kernels count less for each call (6.12 does); or let fewer header stacks be "
        "answered by `reply icmp` in one stage",
    ),
    (
        r"(?:unknown|invalid) func (\w+)",
        "it lacks the function {0}",
        "a newer kernel has it",
    ),
    (
        r"BPF program is too large|is too complex|too many states",
        "it is too long for its verifier",
        "newer kernels follow fewer ways through a program: 6.1 and later; or split the stage",
    ),
)


def too_old(program: str, log: str) -> Diagnostic | None:
    """A program refused for what this kernel lacks; None where the log says nothing of that."""
    for pattern, why, fix in _SIGNS:
        if found := re.search(pattern, log):
            title = f"this kernel cannot run `{program}`: {why.format(*found.groups())}"
            return Diagnostic("H0728", title, (), f"{fix}; this one is {os.uname().release}")
    return None
