"""BTF (Documentation/bpf/btf.rst) as far as an object's maps and line numbers need it."""

from __future__ import annotations

import struct
from dataclasses import dataclass

_HEADER = struct.Struct("<HBBIIIII")
_EXT = struct.Struct("<HBBIIIII")
_MAGIC = 0xEB9F
_PTR, _ARRAY, _STRUCT, _UNION, _VAR, _DATASEC = 2, 3, 4, 5, 14, 15
_INT, _ENUM, _FORWARDS, _FUNC_PROTO = 1, 6, (8, 9, 10, 11, 18), 13
#: Bytes behind a type's head: (fixed, for each member).
_MORE = {1: (4, 0), 3: (12, 0), 4: (0, 12), 5: (0, 12), 6: (0, 8), 13: (0, 8), 14: (4, 0),
         15: (0, 12), 17: (4, 0), 19: (0, 12)}  # fmt: skip


@dataclass(frozen=True)
class MapSpec:
    """A map as the object asks for it. `type` is enum bpf_map_type, sizes in bytes."""

    name: str
    type: int
    key: int
    value: int
    entries: int
    flags: int


@dataclass(frozen=True)
class _Type:
    kind: int
    name: str
    size: int  # or the type referred to
    words: tuple[int, ...]  # what stands behind the head


class Btf:
    """An object's types."""

    def __init__(self, section: bytes) -> None:
        head = _HEADER.unpack_from(section)
        if head[0] != _MAGIC:
            raise ValueError("no BTF")
        start, types_at, types, strings_at, strings = head[3], *head[4:8]
        self._strings = section[start + strings_at : start + strings_at + strings]
        self._types = [_Type(0, "", 0, ())]
        at, end = start + types_at, start + types_at + types
        while at < end:
            name, info, size = struct.unpack_from("<III", section, at)
            kind, count = info >> 24 & 31, info & 0xFFFF
            fixed, each = _MORE.get(kind, (0, 0))
            more = fixed + each * count
            words = struct.unpack_from(f"<{more // 4}I", section, at + 12)
            self._types.append(_Type(kind, self.string(name), size, words))
            at += 12 + more

    def string(self, offset: int) -> str:
        return self._strings[offset : self._strings.index(b"\0", offset)].decode()

    def maps(self) -> list[MapSpec]:
        """What the section `.maps` declares."""
        found = []
        for section in self._types:
            if section.kind == _DATASEC and section.name == ".maps":
                for variable in section.words[::3]:
                    found.append(self._map(self._types[variable]))
        return found

    def _map(self, variable: _Type) -> MapSpec:
        declared = self._types[variable.size]
        said = {"type": 0, "max_entries": 0, "map_flags": 0, "key_size": 0, "value_size": 0}
        for name, type_ in zip(declared.words[::3], declared.words[1::3], strict=True):
            member, target = self.string(name), self._types[self._types[type_].size]
            if member in ("key", "value"):
                said[f"{member}_size"] = self._size(self._types[type_].size)
            elif target.kind == _ARRAY:  # __uint: a pointer to an array of so many
                said[member] = target.words[2]
        return MapSpec(variable.name, said["type"], said["key_size"], said["value_size"],
                       said["max_entries"], said["map_flags"])  # fmt: skip

    def _size(self, number: int) -> int:
        found = self._types[number]
        if found.kind == _PTR:
            return 8
        if found.kind == _ARRAY:
            return self._size(found.words[0]) * found.words[2]
        return self._size(found.size) if found.kind in _FORWARDS else found.size


def line_numbers(btf: Btf, section: bytes) -> dict[tuple[str, int], tuple[str, int]]:
    """File and line by section and instruction, out of `.BTF.ext`."""
    magic, _, _, head, _, _, lines_at, lines = _EXT.unpack_from(section)
    if magic != _MAGIC or not lines:
        return {}
    at, end = head + lines_at, head + lines_at + lines
    size = struct.unpack_from("<I", section, at)[0]
    at, found = at + 4, {}
    while at < end:
        name, count = struct.unpack_from("<II", section, at)
        where, at = btf.string(name), at + 8
        for _ in range(count):
            offset, file, _, line = struct.unpack_from("<IIII", section, at)
            found[where, offset // 8] = btf.string(file), line >> 10
            at += size
    return found
