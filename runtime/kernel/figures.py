"""What the kernel says of an object's programs: instructions, verifier work, stack, maps."""

from __future__ import annotations

import os
from dataclasses import dataclass, field

from .handles import Object, Program
from .libbpf import LOG_STATS, BpfError, LibbpfMissing


@dataclass(frozen=True)
class Figures:
    """Of one program, with the functions it calls; `stack` is its own frame's octets. None where
    the kernel was not asked."""

    instructions: int | None = None
    verified: int | None = None
    stack: int | None = None
    maps: int | None = None


@dataclass(frozen=True)
class Measured:
    """`refused`: the kernel's reason if it did not take the object; `why_not` if it could not be
    asked."""

    programs: dict[str, Figures] = field(default_factory=dict)
    refused: str = ""
    why_not: str = ""


def figures(content: bytes) -> Measured:
    """Load the object once, unattached and unpinned, and read its figures."""
    if os.geteuid():
        return Measured(why_not="that needs root")
    try:
        with Object.open(content, log_level=LOG_STATS) as opened:
            opened.load()
            return Measured({name: _of(p) for name, p in opened.programs().items()})
    except LibbpfMissing as error:
        return Measured(why_not=str(error))
    except BpfError as error:
        if error.errno in (1, 13) and not error.log:
            return Measured(why_not=str(error))
        return Measured(refused=str(error))


def _of(program: Program) -> Figures:
    info, stats = program.info, program.stats
    stack = stats.stack[0] if stats else None
    return Figures(info.insns, info.verified_insns or None, stack, len(info.map_ids))
