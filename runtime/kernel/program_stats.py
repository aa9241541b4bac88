"""Measures an object's programs in the kernel: instructions, verifier work, stack, maps."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field
from errno import EACCES, EMFILE, ENFILE, ENOMEM, EPERM

from .handles import MapSpec, Object, Program
from .libbpf import LOG_STATS, BpfError, LibbpfMissing


@dataclass(frozen=True)
class ProgramStats:
    """One program with the functions that it calls; `stack`: bytes of its own frame. None where the
    kernel was not asked."""

    instructions: int | None = None
    verified: int | None = None
    stack: int | None = None
    maps: int | None = None


@dataclass(frozen=True)
class ObjectStats:
    """`refused`: the kernel's reason if it did not take the object; `why_not` if it could not be
    asked. `maps`: as a load creates them, none if libbpf cannot be asked."""

    programs: dict[str, ProgramStats] = field(default_factory=dict)
    maps: dict[str, MapSpec] = field(default_factory=dict)
    refused: str = ""
    why_not: str = ""


#: Maps as large as the capacity of a rule kind or a state. The verifier asks how many entries a map
#: has only where a program has a constant index, and into these none has.
_SIZED = re.compile(r"counts|.+_(cells|records|images|entries|index|state)")


def measure_object(content: bytes) -> ObjectStats:
    """Load the object once, unattached and unpinned, and measure it. Its tables have one entry for
    that; `maps` has their real sizes."""
    maps: dict[str, MapSpec] = {}
    try:
        with Object.open(content, log_level=LOG_STATS) as opened:
            maps = opened.map_specs()
            if os.geteuid():
                return ObjectStats(maps=maps, why_not="that needs root")
            shrink(opened)
            opened.load()
            return ObjectStats({name: _of(p) for name, p in opened.programs().items()}, maps)
    except LibbpfMissing as error:
        return ObjectStats(why_not=str(error))
    except BpfError as error:
        lacking = error.errno in (ENOMEM, EMFILE, ENFILE) and not error.too_long
        if lacking or (error.errno in (EPERM, EACCES) and not error.log):
            return ObjectStats(maps=maps, why_not=str(error))
        return ObjectStats(maps=maps, refused=str(error))


def shrink(opened: Object) -> None:
    """Have the object's tables be created with one entry: enough for the verifier."""
    for name in filter(_SIZED.fullmatch, opened.map_specs()):
        opened.set_max_entries(name, 1)


def _of(program: Program) -> ProgramStats:
    info, stats = program.info, program.stats
    stack = stats.stack[0] if stats else None
    return ProgramStats(info.insns, info.verified_insns or None, stack, len(info.map_ids))
