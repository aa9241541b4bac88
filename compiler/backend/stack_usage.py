"""How much stack the programs of an object take, and how many instructions: clang alone decides."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from functools import cache
from typing import NamedTuple

from ...lang.text.diagnostics import Diagnostic, Label
from ..ir.unit import Unit
from ..model import Pipeline

MOST = 512  # bytes, of a program and the deepest chain of functions that it calls
ROUNDED = 32  # each counts as a multiple of this, and as one at least; newer kernels round to 16

_CALL, _TO_FUNCTION = 0x85, 0x10
_COPY, _ADD = 0xBF, 0x07  # of 64-bit registers; of a number to one
_LOAD, _STORES = 1, (2, 3)
_FRAME = 10  # the register that leads to the end of a function's stack


def depths(data: bytes) -> dict[str, int]:
    """Bytes of stack by program of an object that clang built for BPF."""
    functions = {(f.section, f.start): f for f in _functions(data)}

    @cache
    def depth(place: tuple[int, int]) -> int:
        f = functions[place]
        own = -(-max(1, f.frame) // ROUNDED) * ROUNDED
        return own + max((depth(each) for each in f.calls if each in functions), default=0)

    return {f.name: depth(place) for place, f in functions.items() if not f.called}


def instructions(data: bytes) -> dict[str, int]:
    """Those of each program of an object, with the functions that it calls, as it is loaded."""
    functions = {(f.section, f.start): f for f in _functions(data)}

    def reached(place: tuple[int, int], found: set[tuple[int, int]]) -> set[tuple[int, int]]:
        found.add(place)
        for each in functions[place].calls:
            if each in functions and each not in found:
                reached(each, found)
        return found

    return {
        f.name: sum(functions[each].size // 8 for each in reached(place, set()))
        for place, f in functions.items()
        if not f.called
    }


def too_deep(pipeline: Pipeline, unit: Unit, found: dict[str, int]) -> list[Diagnostic]:
    """What is wrong with the programs of a unit, given the bytes of stack by program; one of which
    clang does not say how many is not in `found`."""
    refused = []
    for program in unit.programs:
        used = found.get(program.name, MOST + 1)
        if used <= MOST:
            continue
        if unit.join == "fused":
            what, span = "all stages in one program", pipeline.span
            help_ = "leave out `--fuse`: each stage has a stack of its own then"
        else:
            stage = next(s for s in pipeline.stages if s.name == program.functions[-1].stage)
            what, span = f"stage `{stage.name}`", stage.span
            help_ = "divide it into stages, or what it says into shorter statements"
            if unit.traced is not None:
                help_ += "; with `--no-trace` it may fit"
        says = f"{used} bytes" if program.name in found else "more"
        title = f"{what} needs more stack than the kernel has"
        end = span.start + len(span.text.split("\n")[0].split(" {")[0])
        label = Label(span.source.span(span.start, end), f"{says}; there are {MOST}")
        refused.append(Diagnostic("H0336", title, (label,), help_))
    return refused


# ---- the object -----------------------------------------------------------------------------


class _Function(NamedTuple):
    """`start`, `size` and the places of what it `calls` in bytes of a section; `frame`: bytes of
    its own stack. `called`: it is no program."""

    name: str
    section: int
    start: int
    size: int
    frame: int
    calls: tuple[tuple[int, int], ...]
    called: bool


class _Section(NamedTuple):
    name: int
    type: int
    flags: int
    address: int
    offset: int
    size: int
    link: int
    info: int


class _Symbol(NamedTuple):
    name: int
    info: int
    other: int
    section: int
    value: int
    size: int


_SYMBOLS, _RELOCATIONS, _OF_FUNCTION = 2, 9, 2  # SHT_SYMTAB, SHT_REL, STT_FUNC


def _functions(data: bytes) -> Iterator[_Function]:
    """All of an object: ELF of 64 bits, little endian, as clang writes it."""
    (at,) = struct.unpack_from("<Q", data, 40)
    count, named_by = struct.unpack_from("<HH", data, 60)
    sections = [_Section(*struct.unpack_from("<IIQQQQII", data, at + 64 * i)) for i in range(count)]

    def rows(section: _Section, layout: str) -> Iterator[tuple[int, ...]]:
        return struct.iter_unpack(layout, data[section.offset :][: section.size])

    def text(strings: _Section, at: int) -> str:
        start = strings.offset + at
        return data[start : data.index(b"\0", start)].decode()

    table = next(s for s in sections if s.type == _SYMBOLS)
    symbols = [_Symbol(*row) for row in rows(table, "<IBBHQQ")]
    led = {
        (s.info, offset): symbols[info >> 32]
        for s in sections
        if s.type == _RELOCATIONS
        for offset, info in rows(s, "<QQ")
    }
    for symbol in symbols:
        if symbol.info & 15 == _OF_FUNCTION:
            section = sections[symbol.section]
            frame, calls = _looked_through(data, section, symbol, led)
            called = text(sections[named_by], section.name) == ".text"
            name = text(sections[table.link], symbol.name)
            yield _Function(name, symbol.section, symbol.value, symbol.size, frame, calls, called)


def _looked_through(
    data: bytes, section: _Section, symbol: _Symbol, led: dict[tuple[int, int], _Symbol]
) -> tuple[int, tuple[tuple[int, int], ...]]:
    """Bytes of a function's own stack: the lowest that is read, written, or pointed to, as clang
    does by a copy of the register and an addition to that; and the places of what it calls."""
    lowest, copied, calls = 0, -1, []
    begin = section.offset + symbol.value
    rows = struct.iter_unpack("<BBhi", data[begin : begin + symbol.size])
    for at, (code, registers, off, imm) in enumerate(rows):
        target, source, kind = registers & 15, registers >> 4, code & 7
        if (kind == _LOAD and source == _FRAME) or (kind in _STORES and target == _FRAME):
            lowest = min(lowest, off)
        elif code == _ADD and target == copied:
            lowest = min(lowest, imm)
        elif code == _CALL and registers == _TO_FUNCTION:
            place = symbol.value + at * 8
            to = led.get((symbol.section, place))
            if to is None:
                calls.append((symbol.section, place + 8 + imm * 8))
            else:  # a global function by its name, a static one by its section and its place there
                named = to.info & 15 == _OF_FUNCTION
                calls.append((to.section, to.value + (0 if named else (imm + 1) * 8)))
        copied = target if code == _COPY and source == _FRAME else -1
    return -lowest, tuple(calls)
