"""The way into the kernel: an object file becomes programs and maps. Every owner class of a kernel
resource can be imported from here."""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import ExitStack
from errno import EINVAL, ENOENT
from pathlib import Path

from . import libbpf
from .libbpf import BpfError, LibbpfMissing
from .maps import IncompatibleMap, Map, MapSpec, MapType
from .pins import Descriptor, Pin, duplicate_fd, ensure_bpffs
from .programs import Link, LinkInfo, Program, ProgramInfo, RunResult, VerifierStats, XdpMode

__all__ = [
    "BpfError",
    "Descriptor",
    "IncompatibleMap",
    "LibbpfMissing",
    "Link",
    "LinkInfo",
    "Map",
    "MapSpec",
    "MapType",
    "Object",
    "Pin",
    "Program",
    "ProgramInfo",
    "RunResult",
    "VerifierStats",
    "XdpMode",
    "ensure_bpffs",
]


class Object:
    """An object file on its way into the kernel, then its programs and maps.

    Configure between `open` and `load`. Closing closes every Program and Map handed out; what is
    pinned, attached or `duplicate`d survives.
    """

    def __init__(self, elf: bytes, name: str, log_level: int) -> None:
        self.name, self._log_level = name, log_level
        self._pointer = libbpf.open_object(elf, name)
        self._owned = ExitStack()
        self._program_pointers = libbpf.members(self._pointer, "program")
        self._map_pointers = libbpf.members(self._pointer, "map")
        self._skipped: set[str] = set()
        self._programs: dict[str, Program] = {}
        self._maps: dict[str, Map] = {}

    @classmethod
    def open(
        cls, source: bytes | Path, *, name: str = "", log_level: int = libbpf.LOG_ON_FAILURE
    ) -> Object:
        """Read an ELF object. At LOG_ON_FAILURE a refused program's full log is there all the same;
        LOG_STATS gives `Program.stats`, and a refused program only the last words of its log."""
        if isinstance(source, bytes):
            return cls(source, name or "object", log_level)
        try:
            elf = source.read_bytes()
        except OSError as error:
            raise BpfError(f"read `{source}`", error.errno or EINVAL) from None
        return cls(elf, name or source.name.partition(".")[0], log_level)

    def map_specs(self) -> dict[str, MapSpec]:
        """Each map as it is going to be created, by name, in BTF's order. Before `load`."""
        return {name: self._map_spec(name) for name in self._map_pointers}

    def _map_spec(self, name: str) -> MapSpec:
        pointer, lib = self._map(name), libbpf.lib()
        return MapSpec(
            lib.bpf_map__type(pointer),
            lib.bpf_map__key_size(pointer),
            lib.bpf_map__value_size(pointer),
            lib.bpf_map__max_entries(pointer),
            lib.bpf_map__map_flags(pointer),
            name,
        )

    def program_names(self) -> list[str]:
        """In file order."""
        return list(self._program_pointers)

    def set_max_entries(self, name: str, entries: int) -> None:
        """Give a map its capacity."""
        result = libbpf.lib().bpf_map__set_max_entries(self._map(name), entries)
        libbpf.check(result, f"size map `{name}`")

    def set_inner(self, name: str, pattern: Map) -> None:
        """Say what the maps in a map of maps look like."""
        result = libbpf.lib().bpf_map__set_inner_map_fd(self._map(name), pattern.fileno())
        libbpf.check(result, f"set the inner map of `{name}`")

    def reuse(self, name: str, existing: Map) -> None:
        """Use `existing` instead of creating the map. Raises IncompatibleMap; `existing` stays the
        caller's to close."""
        if differences := self._map_spec(name).differences(existing.spec):
            raise IncompatibleMap(name, differences)
        with libbpf.captured() as said:
            result = libbpf.lib().bpf_map__reuse_fd(self._map(name), existing.fileno())
        libbpf.check(result, f"reuse map `{name}`", "\n".join(said))

    def skip(self, program: str) -> None:
        """Do not load this program."""
        pointer = self._program_pointers[program]
        libbpf.check(libbpf.lib().bpf_program__set_autoload(pointer, False), f"skip `{program}`")
        self._skipped.add(program)

    def bind(self, programs: Mapping[str, int]) -> None:
        """Load these programs for the devices with these indices, which are one card's, and create
        the maps there; programs that are not named are left out."""
        lib = libbpf.lib()
        for name, pointer in self._program_pointers.items():
            if name in programs:
                lib.bpf_program__set_ifindex(pointer, programs[name])
            else:
                self.skip(name)
        card = next(iter(programs.values()))
        for name, pointer in self._map_pointers.items():
            libbpf.check(lib.bpf_map__set_ifindex(pointer, card), f"bind map `{name}` to a card")

    def load(self) -> None:
        """Create the maps and load the programs: all, or none. Raises BpfError with the refused
        `program` and the verifier's `log`. An object loads once."""
        logs = {n: libbpf.LogBuffer() for n in self._program_pointers if n not in self._skipped}
        lib = libbpf.lib()
        for name, buffer in logs.items():
            pointer = self._program_pointers[name]
            lib.bpf_program__set_log_buf(pointer, buffer.address, buffer.size)
            lib.bpf_program__set_log_level(pointer, self._log_level)
        with libbpf.captured() as said:
            result = lib.bpf_object__load(self._open_pointer())
        texts = {name: buffer.take() for name, buffer in logs.items()}
        if result < 0:
            self.close()
            raise _load_error(self.name, -result, said, texts)
        self._adopt(texts)

    def _adopt(self, logs: dict[str, str]) -> None:
        """Own descriptors of everything; then libbpf's object, some hundred kilobytes, can go."""
        lib = libbpf.lib()
        try:
            for name, pointer in self._map_pointers.items():
                fd = lib.bpf_map__fd(pointer)
                if fd >= 0:
                    self._maps[name] = self._owned.enter_context(Map(duplicate_fd(fd)))
            for name, log in logs.items():
                fd = duplicate_fd(lib.bpf_program__fd(self._program_pointers[name]))
                self._programs[name] = self._owned.enter_context(Program(fd, name, log))
        except BaseException:
            self.close()
            raise
        self._close_object()

    def programs(self) -> dict[str, Program]:
        """The loaded programs by name, owned by this object."""
        return dict(self._programs)

    def maps(self) -> dict[str, Map]:
        """The maps by name, owned by this object; internal ones (`.rodata`) included."""
        return dict(self._maps)

    def _open_pointer(self) -> int:
        if not self._pointer:
            raise ValueError(f"object `{self.name}` is loaded or closed: configure it before")
        return self._pointer

    def _map(self, name: str) -> int:
        self._open_pointer()
        if name not in self._map_pointers:
            have = ", ".join(self._map_pointers)
            raise BpfError(
                f"find map `{name}` in object `{self.name}`", ENOENT, mend=f"it has {have}"
            )
        return self._map_pointers[name]

    def _close_object(self) -> None:
        pointer, self._pointer = self._pointer, 0
        if pointer:
            libbpf.lib().bpf_object__close(pointer)

    def close(self) -> None:
        """Close everything handed out. May be called again."""
        self._close_object()
        self._owned.close()

    def __enter__(self) -> Object:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _load_error(name: str, errno: int, said: list[str], logs: dict[str, str]) -> BpfError:
    """Names the program that libbpf could not load, and quotes its verifier log or else libbpf."""
    text = "\n".join(said)
    refused = re.search(r"prog '([^']+)': (?:BPF program load failed|failed to load)", text)
    if not refused:
        return BpfError(f"load object `{name}`", errno, text)
    program = refused[1]
    log = logs.get(program, "")
    return BpfError(f"load program `{program}`", errno, log or text, program=program)
