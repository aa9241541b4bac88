"""Opens, configures and loads an object file by libbpf; the result is bare descriptors.

`handles.Object` owns them. libbpf 1.1 crashes on some damaged files, so isolated_loader.py does the
same in another process.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from errno import ENOENT
from typing import NamedTuple, Protocol

from . import libbpf
from .libbpf import BpfError

#: Type, bytes of a key and of a value, entries, flags.
Spec = tuple[int, int, int, int, int]


class LoadedParts(NamedTuple):
    """Descriptors, which the receiver closes: of programs, each with the verifier's log, and of
    maps."""

    programs: dict[str, tuple[int, str]]
    maps: dict[str, int]


class OpenObject(Protocol):
    """An object that is open. Every method raises BpfError."""

    programs: list[str]

    def specs(self) -> dict[str, Spec]: ...
    def set_max_entries(self, name: str, entries: int) -> None: ...
    def set_inner(self, name: str, pattern: int) -> None: ...
    def reuse(self, name: str, existing: int) -> None: ...
    def skip(self, program: str) -> None: ...
    def bind(self, programs: Mapping[str, int]) -> None: ...
    def load(self, log_level: int) -> LoadedParts: ...
    def close(self) -> None: ...


class RawObject:
    """`OpenObject` in this process."""

    def __init__(self, elf: bytes, name: str) -> None:
        self.name, self._pointer = name, libbpf.open_object(elf, name)
        self._programs = libbpf.members(self._pointer, "program")
        self._maps = libbpf.members(self._pointer, "map")
        self._skipped: set[str] = set()
        self.programs = list(self._programs)

    def close(self) -> None:
        """May be called again."""
        pointer, self._pointer = self._pointer, 0
        if pointer:
            libbpf.lib().bpf_object__close(pointer)

    def specs(self) -> dict[str, Spec]:
        """In BTF's order."""
        lib = libbpf.lib()
        return {
            name: (
                lib.bpf_map__type(pointer), lib.bpf_map__key_size(pointer),
                lib.bpf_map__value_size(pointer), lib.bpf_map__max_entries(pointer),
                lib.bpf_map__map_flags(pointer),
            )
            for name, pointer in self._maps.items()
        }  # fmt: skip

    def set_max_entries(self, name: str, entries: int) -> None:
        result = libbpf.lib().bpf_map__set_max_entries(self._map(name), entries)
        libbpf.check(result, f"size map `{name}`")

    def set_inner(self, name: str, pattern: int) -> None:
        result = libbpf.lib().bpf_map__set_inner_map_fd(self._map(name), pattern)
        libbpf.check(result, f"set the inner map of `{name}`")

    def reuse(self, name: str, existing: int) -> None:
        with libbpf.captured() as printed:
            result = libbpf.lib().bpf_map__reuse_fd(self._map(name), existing)
        libbpf.check(result, f"reuse map `{name}`", "\n".join(printed))

    def skip(self, program: str) -> None:
        if program not in self._programs:
            raise BpfError(f"find program `{program}` in object `{self.name}`", ENOENT)
        pointer = self._programs[program]
        libbpf.check(libbpf.lib().bpf_program__set_autoload(pointer, False), f"skip `{program}`")
        self._skipped.add(program)

    def bind(self, programs: Mapping[str, int]) -> None:
        lib = libbpf.lib()
        for name, pointer in self._programs.items():
            if name in programs:
                lib.bpf_program__set_ifindex(pointer, programs[name])
            else:
                self.skip(name)
        card = next(iter(programs.values()))
        for name, pointer in self._maps.items():
            libbpf.check(lib.bpf_map__set_ifindex(pointer, card), f"bind map `{name}` to a card")

    def load(self, log_level: int) -> LoadedParts:
        """All, or none. Frees libbpf's memory, some hundred kilobytes."""
        logs = {name: libbpf.LogBuffer() for name in self._programs if name not in self._skipped}
        lib = libbpf.lib()
        for name, buffer in logs.items():
            pointer = self._programs[name]
            lib.bpf_program__set_log_buf(pointer, buffer.address, buffer.size)
            lib.bpf_program__set_log_level(pointer, log_level)
        with libbpf.captured() as printed:
            result = lib.bpf_object__load(self._pointer)
        texts = {name: buffer.take() for name, buffer in logs.items()}
        try:
            if result < 0:
                raise _load_error(self.name, -result, printed, texts)
            return self._parts(texts)
        finally:
            self.close()

    def _parts(self, logs: Mapping[str, str]) -> LoadedParts:
        lib = libbpf.lib()
        programs = {n: (os.dup(lib.bpf_program__fd(self._programs[n])), logs[n]) for n in logs}
        maps = {name: lib.bpf_map__fd(pointer) for name, pointer in self._maps.items()}
        return LoadedParts(programs, {name: os.dup(fd) for name, fd in maps.items() if fd >= 0})

    def _map(self, name: str) -> int:
        if name not in self._maps:
            raise BpfError(f"find map `{name}` in object `{self.name}`", ENOENT,
                           fix=f"it has {', '.join(self._maps)}")  # fmt: skip
        return self._maps[name]


def _load_error(name: str, errno: int, printed: list[str], logs: Mapping[str, str]) -> BpfError:
    """Names the program that libbpf could not load, and quotes its verifier log or else libbpf."""
    text = "\n".join(printed)
    refused = re.search(r"prog '([^']+)': (?:BPF program load failed|failed to load)", text)
    if not refused:
        return BpfError(f"load object `{name}`", errno, text)
    program = refused[1]
    log = logs.get(program, "")
    return BpfError(f"load program `{program}`", errno, log or text, program=program)
