"""Counts the instructions that a packet takes through a compiled program: no timing, so that a busy
machine changes nothing. Instructions are those of the object; of each look-up in an array the
kernel makes some eight.

Maps are read from the kernel when the program comes to them; what it writes stays here.
"""

from __future__ import annotations

import io
import struct
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from elftools.elf.elffile import ELFFile
from elftools.elf.relocation import RelocationSection
from helioc.runtime.kernel.handles import Map

Word = Any  # a number, or the name of a map
_INSTRUCTION = struct.Struct("<BBhi")
_SIZES = {0x00: 4, 0x08: 2, 0x10: 1, 0x18: 8}  # of loads and stores, by BPF_SIZE
_HEADROOM, _STACK, _MOST = 256, 512, 1_000_000
_M64, _M32 = (1 << 64) - 1, (1 << 32) - 1
_REDIRECT = 4


class NotSimulated(Exception):
    """The program does what this cannot."""


class Code:
    """The programs of an object file: sections of instructions, and what they refer to."""

    def __init__(self, elf: bytes) -> None:
        file = ELFFile(io.BytesIO(elf))
        self.sections = list(file.iter_sections())
        symbols = file.get_section_by_name(".symtab")
        self.functions = {
            s.name: (s["st_shndx"], s["st_value"])
            for s in symbols.iter_symbols() if s["st_info"]["type"] == "STT_FUNC"
        }  # fmt: skip
        self.references = {
            section["sh_info"]: {
                each["r_offset"]: symbols.get_symbol(each["r_info_sym"])
                for each in section.iter_relocations()
            }
            for section in self.sections if isinstance(section, RelocationSection)
        }  # fmt: skip


@dataclass
class Run:
    """A packet on its way. `counted`: instructions by section and offset; `called`: helpers of the
    kernel, by number."""

    code: Code
    maps: Mapping[str, Map]
    programs: Mapping[int, str]  # names by the kernel's numbers
    frame: bytes
    counted: Counter[tuple[int, int]] = field(default_factory=Counter)
    called: Counter[int] = field(default_factory=Counter)
    _regions: list[bytearray] = field(default_factory=list)
    _found: dict[tuple[str, bytes], int] = field(default_factory=dict)
    _next: str | None = None

    def through(self, program: str) -> int:
        """The verdict. Raises NotSimulated."""
        first = self._region(bytearray(_HEADROOM) + self.frame) + _HEADROOM
        self._data, self._end = first, first + len(self.frame)
        self._context = self._region(bytearray())
        while True:
            section, at = self.code.functions[program]
            verdict = self._call(section, at, [0, self._context, *[0] * 9])
            if self._next is None:
                return int(verdict)
            program, self._next = self._next, None

    @property
    def instructions(self) -> int:
        return sum(self.counted.values())

    # ---- memory

    def _region(self, content: bytearray) -> int:
        self._regions.append(content)
        return len(self._regions) << 32

    def _memory(self, address: int, size: int) -> tuple[bytearray, int]:
        memory, at = self._regions[(address >> 32) - 1], address & _M32
        if at + size > len(memory):
            raise NotSimulated(f"an access of {size} bytes at {at} of {len(memory)}")
        return memory, at

    def _load(self, address: int, size: int) -> int:
        if address >> 32 == self._context >> 32:
            return {0: self._data, 4: self._end, 12: 1}.get(address & _M32, 0)
        memory, at = self._memory(address, size)
        return int.from_bytes(memory[at : at + size], "little")

    def _store(self, address: int, size: int, value: int) -> None:
        memory, at = self._memory(address, size)
        memory[at : at + size] = (value & ((1 << 8 * size) - 1)).to_bytes(size, "little")

    def _bytes(self, address: int, size: int) -> bytes:
        memory, at = self._memory(address, size)
        return bytes(memory[at : at + size])

    # ---- instructions

    def _call(self, section: int, at: int, registers: list[Word]) -> Word:
        code, registers = self.code.sections[section].data(), registers[:]
        registers[10] = self._region(bytearray(_STACK)) + _STACK
        for _ in range(_MOST):
            op, both, offset, number = _INSTRUCTION.unpack_from(code, at)
            to, source = both & 15, both >> 4
            self.counted[section, at] += 1
            here, at = at, at + 8
            kind = op & 7
            if op == 0x18:
                registers[to], at = self._constant(section, here, code, number), at + 8
            elif kind in (4, 7):
                registers[to] = _computed(op, registers[to], registers[source], number)
            elif kind == 1:
                registers[to] = self._load(registers[source] + offset & _M64, _SIZES[op & 0x18])
            elif kind in (2, 3):
                address, size = registers[to] + offset & _M64, _SIZES[op & 0x18]
                value = registers[source] if kind == 3 else number
                if op & 0xE0 == 0xC0:  # an atomic addition
                    value += self._load(address, size)
                self._store(address, size, value)
            elif op == 0x95 or self._next is not None:
                return registers[0]
            elif op == 0x85:
                registers[0] = self._called(section, here, source, number, registers)
            elif op in (0x05, 0x06):
                at += (offset if op == 0x05 else number) * 8
            elif _taken(op, registers[to], registers[source], number):
                at += offset * 8
        raise NotSimulated("a loop without end")

    def _constant(self, section: int, at: int, code: bytes, number: int) -> Word:
        symbol = self.code.references.get(section, {}).get(at)
        if symbol is not None:
            return symbol.name
        return number & _M32 | (_INSTRUCTION.unpack_from(code, at + 8)[3] & _M32) << 32

    def _called(
        self, section: int, at: int, source: int, number: int, registers: list[Word]
    ) -> Word:
        if source != 1:
            self.called[number] += 1
            return self._helper(number, registers)
        symbol = self.code.references[section][at]
        begins = symbol["st_value"] if symbol.name else (number + 1) * 8
        return self._call(symbol["st_shndx"], begins, registers)

    # ---- the kernel

    def _helper(self, number: int, r: list[Word]) -> Word:
        match number:
            case 1:
                return self._look_up(r[1], self._bytes(r[2], self.maps[r[1]].key_size))
            case 12:
                found = self.maps[r[2]].lookup((r[3] & _M32).to_bytes(4, "little"))
                if found is not None:
                    self._next = self.programs[int.from_bytes(found, "little")]
                return 0
            case 28:
                return self._difference(r)
            case 44:
                by = r[2] & _M32
                self._data += by - (1 << 32) if by >> 31 else by
                return 0
            case 51:
                return _REDIRECT
            case 2 | 93 | 94:  # an update, locks
                return 0
            case 5 | 7 | 8 | 118 | 160:  # clocks, chance, the CPU
                return 1
        raise NotSimulated(f"helper {number} of the kernel")

    def _look_up(self, name: str, key: bytes) -> int:
        if (name, key) not in self._found:
            found = self.maps[name].lookup(key)
            self._found[name, key] = 0 if found is None else self._region(bytearray(found))
        return self._found[name, key]

    def _difference(self, r: list[Word]) -> int:
        """bpf_csum_diff."""
        words = [~w & _M32 for w in self._words(r[1], r[2])] + list(self._words(r[3], r[4]))
        total = (r[5] & _M32) + sum(words)
        while total >> 32:
            total = (total & _M32) + (total >> 32)
        return total

    def _words(self, address: int, size: int) -> Iterator[int]:
        if size & _M32:
            yield from struct.unpack(f"<{(size & _M32) // 4}I", self._bytes(address, size & _M32))


def _signed(value: int, bits: int) -> int:
    return value - (1 << bits) if value >> (bits - 1) else value


_OPERATIONS: dict[int, Callable[[int, int, int], int]] = {
    0x00: lambda a, b, _: a + b, 0x10: lambda a, b, _: a - b, 0x20: lambda a, b, _: a * b,
    0x30: lambda a, b, _: a // b if b else 0, 0x40: lambda a, b, _: a | b,
    0x50: lambda a, b, _: a & b, 0x60: lambda a, b, bits: a << (b & (bits - 1)),
    0x70: lambda a, b, bits: a >> (b & (bits - 1)), 0x80: lambda a, _, __: -a,
    0x90: lambda a, b, _: a % b if b else a, 0xA0: lambda a, b, _: a ^ b,
    0xC0: lambda a, b, bits: _signed(a, bits) >> (b & (bits - 1)),
}  # fmt: skip


def _computed(op: int, to: Word, source: Word, number: int) -> Word:
    operation, bits = op & 0xF0, 64 if op & 7 == 7 else 32
    if operation == 0xD0:  # so many bits, in an order of bytes
        value = to & ((1 << number) - 1)
        return int.from_bytes(value.to_bytes(number // 8, "little"), "big") if op & 8 else value
    by = source if op & 8 else number & _M64
    if operation == 0xB0:
        return by if not isinstance(by, int) else by & ((1 << bits) - 1)
    ones = (1 << bits) - 1
    return _OPERATIONS[operation](to & ones, by & ones, bits) & ones


_TESTS: dict[int, Callable[[int, int], bool]] = {
    0x10: int.__eq__, 0x20: int.__gt__, 0x30: int.__ge__, 0x40: lambda a, b: bool(a & b),
    0x50: int.__ne__, 0xA0: int.__lt__, 0xB0: int.__le__,
}  # fmt: skip
_SIGNED: dict[int, Callable[[int, int], bool]] = {
    0x60: int.__gt__, 0x70: int.__ge__, 0xC0: int.__lt__, 0xD0: int.__le__,
}  # fmt: skip


def _taken(op: int, a: int, source: int, number: int) -> bool:
    """Whether a jump is taken."""
    bits = 64 if op & 7 == 5 else 32
    ones = (1 << bits) - 1
    a, b, test = a & ones, (source if op & 8 else number) & ones, op & 0xF0
    if test in _SIGNED:
        return _SIGNED[test](_signed(a, bits), _signed(b, bits))
    return _TESTS[test](a, b)
