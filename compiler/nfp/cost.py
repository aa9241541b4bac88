"""How many NFP instructions a program comes to, as the kernel's driver (nfp/bpf/jit.c) makes them:
each instruction of BPF by itself, but for what the driver merges.

Where the driver knows more than is known here (which ways a packet can really take), this counts
the longer translation.
"""

from __future__ import annotations

from . import values as v
from .flow import ALU, ALU64, ATOMIC, EXIT, JMP, JMP32, LDX, OPERATIONS, SIZES, operand
from .frames import Frame, saves
from .object_file import CALL, LOAD_WIDE, Instruction
from .values import Number, Pointer

AROUND = 2 + 13 + 8  # what stands before and behind every program
SAVED = (9, 9)  # pushing and popping R6 to R9, where a function needs it
_NEAR, _WINDOW = 64, 32  # bytes of the stack that need no pointer; that one pointer reaches
_UNRESTRICTED, _RESTRICTED = 0xFF, 0x7F  # immediates that fit an operand
_ADJUST_HEAD, _ADJUST_TAIL, _RANDOM = 44, 65, 7


def count(frames: dict[str, Frame]) -> tuple[int, dict[str, dict[int, int]]]:
    """NFP instructions of a program in all, and by function and BPF instruction."""
    counted = {name: _count(frame, frames) for name, frame in frames.items()}
    whole = AROUND + sum(sum(each.values()) for each in counted.values())
    if any(saves(frame) for frame in frames.values() if not frame.main):
        whole += sum(SAVED)
    return whole, counted


# ---- one instruction ------------------------------------------------------------------------


def _count(frame: Frame, frames: dict[str, Frame]) -> dict[int, int]:
    found = {}
    for at in frame.facts.states:
        found[at] = _cost(frame, at, frames)
    if not frame.main:
        found[0] = found.get(0, 0) + 1  # the return address is kept
    return found


def _cost(frame: Frame, at: int, frames: dict[str, Frame]) -> int:
    i = frame.facts.function.instructions[at]
    kind = i.code & 7
    if i.code == CALL:
        return _call(frame, at, i, frames)
    if i.code == EXIT:
        return 1 if frame.main else 2
    if i.code == LOAD_WIDE:
        low, high = i.imm & v.MOST32, frame.facts.function.instructions[at + 1].imm & v.MOST32
        return _load(low) + (1 if low == high or i.refers else _load(high))
    if kind in (ALU, ALU64):
        return _alu(frame, at, i)
    if kind in (JMP, JMP32):
        return _jump(i)
    if i.code & 0xE0 == ATOMIC:
        return _add(frame, at, i)
    return _memory(frame, at, i)


def _load(imm: int) -> int:
    """An immediate into a register."""
    fits = not imm & 0xFFFF0000 or not imm & 0xFF0000FF or not imm & 0xFFFF
    other = ~imm & v.MOST32
    fits = fits or not other & 0xFFFF0000 or not other & 0xFF0000FF or not other & 0xFFFF
    return 1 if fits else 2


def _any(imm: int, most: int = _UNRESTRICTED) -> int:
    """An immediate as an operand: no instruction if it fits."""
    return 0 if imm & v.MOST32 <= most else _load(imm & v.MOST32)


def _alu(frame: Frame, at: int, i: Instruction) -> int:
    operation, wide = OPERATIONS[i.code & 0xF0], i.code & 7 == ALU64
    extend = int(at in frame.extends)
    register = bool(i.code & 8)
    if operation == "mov":
        if not register:
            return _load(i.imm & v.MOST32) + (_load(i.imm >> 32 & v.MOST32) if wide else 1)
        if wide and i.src == 10:
            return 2 + _any(frame.words)
        return 2
    if operation == "swap":
        return {16: 3, 32: 3, 64: 5}[i.imm]
    if operation in ("<<", ">>", "s>>"):
        return _shift(frame, at, i, wide) + (0 if wide else extend)
    if operation in ("*", "/"):
        return _multiply(frame, at, i, operation)
    if operation == "neg" or register:
        return 2 if wide else 1 + extend
    return _immediate(operation, i.imm, wide) + (0 if wide else extend)


def _immediate(operation: str, imm: int, wide: bool) -> int:
    if operation in ("+", "-") and imm < 0:
        imm = -imm  # the other operation, with what fits better
    halves = [imm & v.MOST32] + ([imm >> 32 & v.MOST32] if wide else [])
    return sum(_half(operation, half) for half in halves)


def _half(operation: str, imm: int) -> int:
    full = imm == v.MOST32
    if operation == "&" and (not imm or full):
        return 0 if full else 1
    if operation in ("|", "^") and (not imm or full):
        return 1 if full else 0
    return 1 + _any(imm)


def _shift(frame: Frame, at: int, i: Instruction, wide: bool) -> int:
    by = operand(i, frame.facts.states[at])
    signed = OPERATIONS[i.code & 0xF0] == "s>>"
    if isinstance(by, Number) and by.constant is not None:
        if not by.constant:
            return 0
        if not wide:
            return 1 + signed
        return 2 + (signed and by.constant != 32)
    if not wide:
        return 2
    left = OPERATIONS[i.code & 0xF0] == "<<"
    if isinstance(by, Number) and by.high < 32:
        return 5 if left else 4
    return 10 if left else 9


def _multiply(frame: Frame, at: int, i: Instruction, operation: str) -> int:
    state = frame.facts.states[at]
    left, right = state.registers[i.dst], operand(i, state)
    largest = max(x.high if isinstance(x, Number) else v.MOST for x in (left, right))
    extra = 0 if i.code & 8 else _any(i.imm)
    if operation == "/":
        return 14
    if largest <= 0xFFFF:
        return 4 + extra
    return 7 + extra


def _jump(i: Instruction) -> int:
    test, wide = i.code & 0xF0, i.code & 7 == JMP
    if test == 0:
        return 1
    low, high = i.imm & v.MOST32, i.imm >> 32 & v.MOST32
    if i.code & 8:
        if test in (0x10, 0x50, 0x40):  # equal, not equal, bits set
            return 4 if wide else 2
        return 3 if wide else 2
    if test == 0x10:
        if not wide:
            return 2 + _any(low)
        return 2 + (1 + _any(low) if low else 0) + (1 + _any(high) if high else 0)
    if test == 0x50:
        if not i.imm:
            return 2
        return 2 + _any(low) + (2 + _any(high) if wide else 0)
    if test == 0x40:
        return 2 + _any(low) + (1 if wide and high else 0)
    if i.imm < 0 and test in (0x30, 0x70, 0xA0, 0xC0):
        low, high = -i.imm & v.MOST32, 0
    return 2 + _any(low) + (1 + _any(high) if wide else 0)


def _memory(frame: Frame, at: int, i: Instruction) -> int:
    state, size, loads = frame.facts.states[at], SIZES[i.code & 0x18], i.code & 7 == LDX
    pointer = state.registers[i.src if loads else i.dst]
    extend = int(loads and size < 8 and at in frame.extends)
    kind = pointer.kind if isinstance(pointer, Pointer) else "packet"
    if kind == "ctx":
        return 2 if loads else 5
    if isinstance(pointer, Pointer) and kind == "stack":
        return _stack(frame, pointer, i.off, size) + extend
    words = 2 if size == 8 else 1
    if kind == "value":
        return (2 + _any(i.off, _RESTRICTED) if i.off else 0) + 1 + words + extend
    if not loads:
        return _any(i.off, _RESTRICTED) + words + 1
    return _packet(frame, at, i, size) + extend


def _packet(frame: Frame, at: int, i: Instruction, size: int) -> int:
    first, last, fetches = frame.caches.get(at, (i.off, i.off + size, True))
    cost = 0
    if fetches:
        cost += _any(first, _RESTRICTED) + 1 + (last - first > 32)
    inside = (i.off - first) % 4
    if not inside:
        return cost + (2 if size == 8 else 1)
    if size <= 4 - inside:
        return cost + 1
    return cost + (2 if size <= 4 else 4)


def _stack(frame: Frame, pointer: Pointer, off: int, size: int) -> int:
    if pointer.at is None:
        return 12
    off += frame.words + pointer.at
    cost, stepping = 0, False
    if off + size > _NEAR:
        stepping = off // _WINDOW != (off + size - 1) // _WINDOW
        base = off // 4 * 4 if stepping else off // _WINDOW * _WINDOW
        cost += 2 + _any(base) + 3
        off = off % _WINDOW if not stepping else off
    return cost + _pieces(off, size)


def _pieces(off: int, size: int) -> int:
    """Moves of parts that lie in one word of the stack and in one of the register."""
    cost, register = 0, 0
    while size:
        part = min(size, 4 - register, 4 - off % 4)
        cost += 1
        if part < 4 and off // 4 > 7:
            cost += 1
        register = (register + part) % 4
        size, off = size - part, off + part
    return cost


def _add(frame: Frame, at: int, i: Instruction) -> int:
    """Atomic: by an immediate of 16 bits, by a register, or by whichever it turns out to be."""
    state, wide = frame.facts.states[at], i.code & 0x18 == 0x18
    by = state.registers[i.src]
    small = isinstance(by, Number) and by.low <= 0xFFFF
    large = not isinstance(by, Number) or by.high > 0xFFFF
    cost = (2 + _any(i.off) if i.off else 0) + 3 * small + (2 + wide) * large
    return cost + (5 if small and large else 0)


def _call(frame: Frame, at: int, i: Instruction, frames: dict[str, Frame]) -> int:
    if i.calls:
        around = 2 * (2 + _any(frame.taken)) + 3 if frame.taken else 0
        return around + (3 if saves(frames[i.refers]) else 2)
    if i.imm == _ADJUST_HEAD:
        return 16
    if i.imm == _ADJUST_TAIL:
        return 11
    if i.imm == _RANDOM:
        return 3
    key = frame.facts.states[at].registers[2]
    lowest = isinstance(key, Pointer) and key.kind == "stack" and -(key.at or 0) == frame.words
    return 3 if lowest else 8
