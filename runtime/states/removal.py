"""Deletes lines of a state that is changed in place, beside the packets that use it.

Only a program can hold a set's lock while it looks at a line and empties it. It is made for a
state, and run by BPF_PROG_TEST_RUN on packets that never were on a wire: a head (HEAD), and lines
as `Part.lines` has them. Each run does the next one of them, so that no lock is held for more than
one line. Programs of the type SCHED_CLS may hold a lock, write to their packet, and be run so, on
Linux 5.10, too.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator
from errno import EINTR

import numpy as np

from ...lang.contract.manifest.manifest import (
    GENERATION,
    STATE_HEAD,
    STATE_LINES,
    TAGS_AT,
    Slot,
    State,
)
from ..kernel import libbpf
from ..kernel.handles import BpfError, Map, Program
from .storage import PLACE, Array

#: An Ethernet header, then u32: the number of the next line, and how many were emptied.
HEAD = struct.Struct("=16x2I")
_NEXT, _EMPTIED = 16, 20
#: Bytes of a packet: with what the kernel puts around it, it is to fit a page (bpf_test_init).
_PACKET = 3072
_DATA, _DATA_END = 76, 80  # of struct __sk_buff
_LOOK_UP, _LOCK, _UNLOCK = 1, 93, 94  # enum bpf_func_id
_WIDTHS = ((8, 0x79), (4, 0x61), (2, 0x69), (1, 0x71))  # bytes, and the code that loads these


def load_remover(table: Map, state: State, given: Iterable[Slot] = ()) -> Program:
    """The program. `given`: slots of an entry that must hold what they held, or its line stays.
    Takes what loading a pipeline takes, and running it CAP_BPF alone. Raises BpfError."""
    same = [(0, GENERATION + state.key_size)]
    same += [(GENERATION + state.key_size + slot.offset, slot.size) for slot in given]
    code = _program(table, state.line_size, _most(state), same)
    fd = libbpf.load_classifier("delete_entries", code)
    return Program(libbpf.check(fd, "load a program that deletes entries"))


def remove_lines(program: Program, state: State, lines: Array) -> int:
    """Empty the lines that are what they were when they were read. Returns how many were. Raises
    BpfError."""
    most = _most(state)
    return sum(_run(program, lines[at : at + most]) for at in range(0, len(lines), most))


def _run(program: Program, lines: Array) -> int:
    packet = HEAD.pack(0, 0) + np.ascontiguousarray(lines).tobytes()
    while True:
        try:
            left = program.test_run(packet, repeat=len(lines)).data
            return int(HEAD.unpack_from(left)[1])
        except BpfError as error:
            if error.errno != EINTR:
                raise
        # By a signal that ends nothing: what was emptied is not found again, nor counted.


def _most(state: State) -> int:
    """Lines in a packet."""
    return (_PACKET - HEAD.size) // (PLACE + state.line_size)


# ---- the program --------------------------------------------------------------------------------

_INSN = struct.Struct("<BBhi")  # code, source << 4 | destination, offset, immediate
_insn = _INSN.pack


#: Where a jump leads, as its offset until that is known: past everything, or to the unlocking.
_OUT, _MISS = 0x7FFF, 0x7FFE


def _program(table: Map, line_size: int, most: int, same: list[tuple[int, int]]) -> bytes:
    """`same`: begin and length of what must not have changed of a line."""
    code = [*_find(table.fileno(), PLACE + line_size, most), *_lock(line_size), *_compare(same)]
    code += _empty()
    miss = len(code)
    code += _insn(0xBF, 0x91, 0, 0), _insn(0x85, 0x00, 0, _UNLOCK)  # r1 = r9
    ends = {_MISS: miss, _OUT: len(code)}
    code += _insn(0xB7, 0x00, 0, 0), _insn(0x95, 0x00, 0, 0)  # r0 = 0
    return b"".join(_landed(each, at, ends) for at, each in enumerate(code))


def _landed(code: bytes, at: int, ends: dict[int, int]) -> bytes:
    kind, registers, offset, immediate = _INSN.unpack(code)
    there = ends[offset] - at - 1 if offset in ends else offset
    return _insn(kind, registers, there, immediate)


def _find(table: int, size: int, most: int) -> Iterator[bytes]:
    """r6 = the packet; r7 = what it says of the next line; r8 = that one's number; r9 = its set."""
    yield _insn(0x61, 0x16, _DATA, 0)
    yield _insn(0x61, 0x18, _DATA_END, 0)
    yield _insn(0xBF, 0x61, 0, 0)  # r1 = r6
    yield _insn(0x07, 0x01, 0, HEAD.size)
    yield _insn(0x2D, 0x81, _OUT, 0)  # if r1 > r8
    yield _insn(0x61, 0x67, _NEXT, 0)
    yield _insn(0x25, 0x07, _OUT, most - 1)  # if r7 > most - 1
    yield _insn(0xBF, 0x71, 0, 0)
    yield _insn(0x07, 0x01, 0, 1)
    yield _insn(0x63, 0x16, _NEXT, 0)
    yield _insn(0x27, 0x07, 0, size)
    yield _insn(0x0F, 0x67, 0, 0)  # r7 += r6
    yield _insn(0x07, 0x07, 0, HEAD.size)
    yield _insn(0xBF, 0x71, 0, 0)
    yield _insn(0x07, 0x01, 0, size)
    yield _insn(0x2D, 0x81, _OUT, 0)  # if r1 > r8
    yield _insn(0x61, 0x78, 4, 0)
    yield _insn(0x25, 0x08, _OUT, STATE_LINES - 1)
    yield _insn(0x61, 0x71, 0, 0)
    yield _insn(0x63, 0x1A, -4, 0)
    yield _insn(0xBF, 0xA2, 0, 0)
    yield _insn(0x07, 0x02, 0, -4)
    yield from (_insn(0x18, 0x11, 0, table), _insn(0, 0, 0, 0))  # r1 = the table
    yield _insn(0x85, 0x00, 0, _LOOK_UP)
    yield _insn(0x15, 0x00, _OUT, 0)
    yield _insn(0xBF, 0x09, 0, 0)


def _lock(line_size: int) -> Iterator[bytes]:
    """Take the lock, which is the set's first word; r5 = the line, r8 = its tag."""
    yield _insn(0xBF, 0x91, 0, 0)
    yield _insn(0x85, 0x00, 0, _LOCK)
    yield _insn(0xBF, 0x85, 0, 0)
    yield _insn(0x27, 0x05, 0, line_size)
    yield _insn(0x0F, 0x95, 0, 0)
    yield _insn(0x67, 0x08, 0, 1)  # r8 <<= 1
    yield _insn(0x0F, 0x98, 0, 0)


def _compare(same: list[tuple[int, int]]) -> Iterator[bytes]:
    """What the packet says of the line with what it is."""
    for at, left in same:
        while left:
            width, load = next(each for each in _WIDTHS if each[0] <= left)
            yield _insn(load, 0x71, PLACE + at, 0)
            yield _insn(load, 0x52, STATE_HEAD + at, 0)
            yield _insn(0x5D, 0x21, _MISS, 0)  # if r1 != r2
            at, left = at + width, left - width


def _empty() -> Iterator[bytes]:
    """As NAME_forget does, and count it."""
    yield _insn(0xB7, 0x01, 0, 0)
    yield _insn(0x6B, 0x18, TAGS_AT, 0)
    yield _insn(0x79, 0x51, STATE_HEAD, 0)
    yield _insn(0x07, 0x01, 0, 1)
    yield _insn(0x7B, 0x15, STATE_HEAD, 0)
    yield _insn(0x61, 0x61, _EMPTIED, 0)
    yield _insn(0x07, 0x01, 0, 1)
    yield _insn(0x63, 0x16, _EMPTIED, 0)
