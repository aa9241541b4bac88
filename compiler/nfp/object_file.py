"""Reads a compiled object: programs with what they call, maps, sections of data."""

from __future__ import annotations

import io
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

from .btf import Btf, MapSpec, line_numbers

_INSTRUCTION = struct.Struct("<BBhi")
PSEUDO_CALL = 1  # src_reg of a call to another function
CALL = 0x85
LOAD_WIDE = 0x18


class Instruction(NamedTuple):
    """One of BPF. `refers` is the name of the map that a wide load leads to, or of the function
    that a call does."""

    code: int
    dst: int
    src: int
    off: int
    imm: int
    refers: str = ""

    @property
    def calls(self) -> bool:
        """Whether it calls another function of the object."""
        return self.code == CALL and self.src == PSEUDO_CALL


@dataclass(frozen=True)
class Function:
    """`lines`: file and line by instruction, where the debug information has them."""

    name: str
    instructions: tuple[Instruction, ...]
    lines: dict[int, tuple[str, int]]


@dataclass(frozen=True)
class ObjectFile:
    """`functions` by name, with all that programs call; `data` are sections that would be maps.
    `kinds` are the sections of programs, which say what they are for."""

    programs: tuple[str, ...]
    functions: dict[str, Function]
    maps: dict[str, MapSpec]
    data: tuple[str, ...]
    kinds: frozenset[str] = frozenset({"xdp"})


def read_object(data: bytes) -> ObjectFile:
    """Read an object. Raises ValueError where it is not one for BPF with BTF."""
    from elftools.common.exceptions import ELFError
    from elftools.elf.elffile import ELFFile

    try:
        elf = ELFFile(io.BytesIO(data))
        btf_section = elf.get_section_by_name(".BTF")
        if elf["e_machine"] != "EM_BPF" or btf_section is None:
            raise ValueError("no BPF object with BTF")
        btf = Btf(btf_section.data())
        ext = elf.get_section_by_name(".BTF.ext")
        lines = line_numbers(btf, ext.data()) if ext is not None else {}
        places = list(_functions(elf))
    except (ELFError, struct.error, IndexError) as error:
        raise ValueError(str(error)) from None
    names = {(p.section, p.start): p.name for p in places}
    functions = {p.name: _function(elf, p, names, lines) for p in places}
    programs = tuple(p.name for p in places if p.section != ".text")
    maps = {spec.name: spec for spec in btf.maps()}
    kinds = frozenset(p.section for p in places if p.section != ".text")
    return ObjectFile(programs, functions, maps, tuple(_data(elf)), kinds)


class _Place(NamedTuple):
    name: str
    section: str
    start: int  # instructions
    length: int


def _functions(elf: Any) -> Iterator[_Place]:
    for symbol in elf.get_section_by_name(".symtab").iter_symbols():
        if symbol["st_info"]["type"] == "STT_FUNC":
            section = elf.get_section(symbol["st_shndx"]).name
            yield _Place(symbol.name, section, symbol["st_value"] // 8, symbol["st_size"] // 8)


def _data(elf: Any) -> Iterator[str]:
    """Sections that libbpf makes maps of."""
    for section in elf.iter_sections():
        if section["sh_size"] and section.name.startswith((".rodata", ".data", ".bss")):
            yield section.name


def _function(
    elf: Any,
    place: _Place,
    names: dict[tuple[str, int], str],
    lines: dict[tuple[str, int], tuple[str, int]],
) -> Function:
    code = elf.get_section_by_name(place.section).data()
    found = []
    refers = _relocations(elf, place.section)
    for number in range(place.start, place.start + place.length):
        op, registers, off, imm = _INSTRUCTION.unpack_from(code, number * 8)
        name = refers.get(number, "")
        if op == CALL and registers >> 4 == PSEUDO_CALL:
            name = _callee(elf, place.section, number, imm, refers, names)
        found.append(Instruction(op, registers & 15, registers >> 4, off, imm, name))
    own: dict[int, tuple[str, int]] = {}
    for at in range(place.length):  # a line holds until the next one
        line = lines.get((place.section, place.start + at)) or own.get(at - 1)
        if line is not None:
            own[at] = line
    return Function(place.name, tuple(found), own)


def _relocations(elf: Any, section: str) -> dict[int, str]:
    """The symbol's name (a section's where the symbol is that) by instruction."""
    table = elf.get_section_by_name(f".rel{section}")
    if table is None:
        return {}
    symbols = elf.get_section(table["sh_link"])
    found = {}
    for relocation in table.iter_relocations():
        symbol = symbols.get_symbol(relocation["r_info_sym"])
        name = symbol.name or elf.get_section(symbol["st_shndx"]).name
        found[relocation["r_offset"] // 8] = name
    return found


def _callee(
    elf: Any,
    section: str,
    number: int,
    imm: int,
    refers: dict[int, str],
    names: dict[tuple[str, int], str],
) -> str:
    """A static function is called by its section and place, a global one by its name."""
    target = refers.get(number)
    if target is None:
        return names[section, number + imm + 1]
    if elf.get_section_by_name(target) is not None:
        return names[target, imm + 1]
    return target
