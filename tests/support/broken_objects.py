"""Object files that came to harm."""

from __future__ import annotations

import struct
from io import BytesIO
from random import Random

from elftools.elf.elffile import ELFFile

#: Offset and length of a section header's fields.
_FIELDS = ((0, 4), (4, 4), (8, 8), (16, 8), (24, 8), (32, 8), (40, 4), (44, 4), (48, 8), (56, 8))
_VAR = 14  # BTF_KIND_VAR
#: Bytes behind a type's head (struct btf_type) by its kind, and for each of its members.
_BEHIND = {1: 4, 3: 12, 14: 4, 17: 4}
_MEMBER = {4: 12, 5: 12, 6: 8, 13: 8, 15: 12, 19: 12}


def pointing_nowhere(elf: bytes) -> bytes:
    """Its variables have a type that there is not: libbpf 1.1 follows that to nowhere (SIGSEGV)."""
    made = bytearray(elf)
    start = section(elf, ".BTF")[0]
    header, types, length = struct.unpack_from("<III", elf, start + 4)
    at = start + header + types
    end = at + length
    while at < end:
        info = struct.unpack_from("<I", elf, at + 4)[0]
        kind, count = info >> 24 & 31, info & 0xFFFF
        if kind == _VAR:
            struct.pack_into("<I", made, at + 8, 0x7FFFFFFF)
        at += 12 + _BEHIND.get(kind, 0) + _MEMBER.get(kind, 0) * count
    return bytes(made)


def section(elf: bytes, name: str) -> tuple[int, int]:
    """Where it begins, and its length."""
    found = ELFFile(BytesIO(elf)).get_section_by_name(name)
    return found["sh_offset"], found["sh_size"]


def mutated(elf: bytes, seed: int) -> bytes:
    """Bits that flipped, anywhere or where libbpf reads most; an end that is missing; a section
    header that says something else."""
    chance, made = Random(seed), bytearray(elf)
    harm = chance.randrange(5)
    if harm == 0:
        del made[chance.randrange(len(made)) :]
    elif harm == 1:
        header = ELFFile(BytesIO(elf)).header
        for _ in range(chance.randint(1, 2)):
            offset, size = chance.choice(_FIELDS)
            at = header.e_shoff + header.e_shentsize * chance.randrange(header.e_shnum) + offset
            value = chance.choice((0, 1, 1 << 16, chance.randrange(len(elf)), (1 << 8 * size) - 1))
            made[at : at + size] = (value % (1 << 8 * size)).to_bytes(size, "little")
    else:
        names = (".BTF", ".BTF.ext", ".rel.BTF.ext", ".symtab", ".strtab", ".relxdp", ".maps")
        start, length = 0, len(elf)
        if harm > 2:
            start, length = section(elf, chance.choice(names))
        for _ in range(chance.choice((1, 1, 2, 8))):
            made[start + chance.randrange(length)] ^= 1 << chance.randrange(8)
    return bytes(made)
