"""What the translation of an instruction for the NFP depends on beside itself: how deep the stack
is, whether a result's upper half is read, which reads of the packet are combined."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TypeGuard

from . import values as v
from .flow import ALU, ALU64, EXIT, JMP, JMP32, LDX, OPERATIONS, SIZES, ST, STX, Facts
from .object_file import CALL, LOAD_WIDE, Instruction
from .values import Pointer


@dataclass
class Frame:
    """A function as it is counted: how deep its stack is, its jump targets, what is merged."""

    facts: Facts
    main: bool
    depth: int
    targets: frozenset[int]
    extends: frozenset[int]  # 32-bit results whose upper half is read
    caches: dict[int, tuple[int, int, bool]] = field(default_factory=dict)

    @property
    def words(self) -> int:
        """Bytes of the stack that are used, in whole words."""
        return (self.depth + 3) // 4 * 4

    @property
    def taken(self) -> int:
        """Bytes of the stack that are taken."""
        return (self.depth + 63) // 64 * 64


def frames_of(facts: dict[str, Facts], program: str) -> dict[str, Frame]:
    """Of a program and all that it calls, by function."""
    return {name: frame_of(each, name == program) for name, each in facts.items()}


def frame_of(facts: Facts, main: bool) -> Frame:
    instructions = facts.function.instructions
    targets = {
        at + 1 + i.off for at, i in enumerate(instructions) if jumps(i) and at in facts.states
    }
    frame = Frame(facts, main, 0, frozenset(targets), _extended(facts))
    frame.depth = _depth(facts)
    if not main:
        frame.depth += 4 + 32 * saves(frame)
    frame.caches = _caches(frame)
    return frame


def jumps(i: Instruction) -> bool:
    return i.code & 7 in (JMP, JMP32) and i.code not in (CALL, EXIT)


def saves(frame: Frame) -> bool:
    """Whether the function changes registers that its caller keeps."""
    return any(6 <= i.dst <= 9 for i in frame.facts.function.instructions)


def _depth(facts: Facts) -> int:
    """The lowest byte of the stack that is used."""
    deepest = 0
    for at, i in enumerate(facts.function.instructions):
        state = facts.states.get(at)
        if state is None:
            continue
        if i.code & 7 in (LDX, STX, ST):
            pointer = state.registers[i.src if i.code & 7 == LDX else i.dst]
            deepest = max(deepest, _below(pointer, i.off))
        if i.code == CALL:
            deepest = max(deepest, _below(state.registers[2]))
    return (deepest + 7) // 8 * 8


def _below(value: v.Value, off: int = 0) -> int:
    """How far under the stack's top a pointer leads; 0 of one to something else."""
    return -(value.at or 0) - off if _is(value, "stack") else 0


# ---- upper halves ---------------------------------------------------------------------------


def _extended(facts: Facts) -> frozenset[int]:
    """32-bit results that are read as 64 bits later: the driver zeroes the upper half of those."""
    instructions = facts.function.instructions
    after: dict[int, frozenset[int]] = {}  # registers that are read whole from there on
    changed = True
    while changed:
        changed = False
        for at in sorted(facts.states, reverse=True):
            i = instructions[at]
            needed = frozenset[int]().union(*(after.get(n, frozenset()) for n in _next(at, i)))
            needed = (needed - _written(i)) | _read_whole(i)
            if needed != after.get(at):
                after[at], changed = needed, True
    found = set()
    for at in facts.states:
        i = instructions[at]
        narrow = i.code & 7 == ALU or (i.code & 7 == LDX and i.code & 0x18 != 0x18)
        if narrow and any(i.dst in after.get(n, ()) for n in _next(at, i)):
            found.add(at)
    return frozenset(found)


def _next(at: int, i: Instruction) -> Iterable[int]:
    if i.code == EXIT:
        return ()
    if i.code == LOAD_WIDE:
        return (at + 2,)
    if not jumps(i):
        return (at + 1,)
    return (at + 1 + i.off,) if i.code & 0xF0 == 0 else (at + 1, at + 1 + i.off)


def _written(i: Instruction) -> frozenset[int]:
    if i.code == CALL:
        return frozenset(range(6))
    if i.code & 7 in (ALU, ALU64, LDX) or i.code == LOAD_WIDE:
        return frozenset({i.dst})
    return frozenset()


def _read_whole(i: Instruction) -> frozenset[int]:
    kind = i.code & 7
    if i.code == CALL:
        return frozenset(range(1, 6))
    if i.code == EXIT:
        return frozenset({0})
    found: set[int] = set()
    if kind in (ALU64, JMP):
        found |= {i.src} if i.code & 8 else set()
        moves = kind == ALU64 and OPERATIONS[i.code & 0xF0] == "mov"
        found |= set() if moves or (kind == JMP and i.code & 0xF0 == 0) else {i.dst}
    elif kind == ALU and OPERATIONS[i.code & 0xF0] == "swap" and i.imm == 64:
        found.add(i.dst)
    elif kind == LDX:
        found.add(i.src)
    elif kind in (ST, STX):
        found.add(i.dst)
        if kind == STX and i.code & 0x18 == 0x18:
            found.add(i.src)
    return frozenset(found)


# ---- reads of the packet that are made at once ----------------------------------------------


def _caches(frame: Frame) -> dict[int, tuple[int, int, bool]]:
    """For each read of the packet the bytes that are fetched with it, (first, behind the last),
    and whether it is the one that fetches them."""
    found: dict[int, tuple[int, int, bool]] = {}
    group: list[int] = []
    first = last = 0
    place: object = None

    def close() -> None:
        for n, at in enumerate(group):
            found[at] = first, last, n == 0
        group.clear()

    instructions = frame.facts.function.instructions
    for at in sorted(frame.facts.states):
        i, state = instructions[at], frame.facts.states[at]
        if at in frame.targets:
            close()
        if i.code == CALL or (i.code & 7 in (ST, STX) and _is(state.registers[i.dst], "packet")):
            close()
        if i.code & 7 != LDX:
            continue
        pointer, size = state.registers[i.src], SIZES[i.code & 0x18]
        if not _is(pointer, "packet"):
            close()
            continue
        here = (pointer.base, pointer.at)
        low, high = min(first, i.off), max(last, i.off + size)
        if not group or here != place or high - low > 64:
            close()
            place, low, high = here, i.off, i.off + size
        group.append(at)
        first, last = low, high
    close()
    return found


def _is(value: v.Value, kind: str) -> TypeGuard[Pointer]:
    return isinstance(value, Pointer) and value.kind == kind


# ---- the stack ------------------------------------------------------------------------------


def stack_bytes(frames: dict[str, Frame], program: str) -> int:
    """Of the deepest chain of calls."""

    def deepest(name: str) -> int:
        frame = frames[name]
        called = {i.refers for i in frame.facts.function.instructions if i.calls}
        return frame.taken + max((deepest(each) for each in called if each in frames), default=0)

    return deepest(program)
