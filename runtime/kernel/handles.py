"""Loads object files into programs and maps, and exports all owner classes of kernel resources."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import ExitStack
from errno import EINVAL
from pathlib import Path
from typing import ClassVar

from . import libbpf
from .isolated_loader import IsolatedObject
from .libbpf import BpfError, LibbpfMissing
from .map_spec import IncompatibleMap, MapSpec, MapType
from .maps import Map
from .objects import OpenObject, RawObject
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

    #: Whether objects are opened and loaded by another process, so that one that crashes libbpf
    #: does not end this one: for servers.
    isolated: ClassVar[bool] = False

    def __init__(self, elf: bytes, name: str, log_level: int) -> None:
        self.name, self._log_level = name, log_level
        self._opened: OpenObject | None = (IsolatedObject if self.isolated else RawObject)(
            elf, name
        )
        self._program_names = list(self._opened.programs)
        self._reused: set[str] = set()
        self._owned = ExitStack()
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
        return {name: MapSpec(*spec, name) for name, spec in self._open().specs().items()}

    def new_maps(self) -> dict[str, MapSpec]:
        """Those that `load` is going to create: all that are not reused."""
        return {n: spec for n, spec in self.map_specs().items() if n not in self._reused}

    def program_names(self) -> list[str]:
        """In file order."""
        return list(self._program_names)

    def set_max_entries(self, name: str, entries: int) -> None:
        """Give a map its capacity."""
        self._open().set_max_entries(name, entries)

    def set_inner(self, name: str, pattern: Map) -> None:
        """Say what the maps in a map of maps look like."""
        self._open().set_inner(name, pattern.fileno())

    def reuse(self, name: str, existing: Map) -> None:
        """Use `existing` instead of creating the map. Raises IncompatibleMap; `existing` stays the
        caller's to close."""
        spec = self.map_specs().get(name)
        if spec is not None and (differences := spec.differences(existing.spec)):
            raise IncompatibleMap(name, differences)
        self._open().reuse(name, existing.fileno())
        self._reused.add(name)

    def skip(self, program: str) -> None:
        """Do not load this program."""
        self._open().skip(program)

    def bind(self, programs: Mapping[str, int]) -> None:
        """Load these programs for the devices with these indices, which are one card's, and create
        the maps there; programs that are not named are left out."""
        self._open().bind(programs)

    def load(self) -> None:
        """Create the maps and load the programs: all, or none. Raises BpfError with the refused
        `program` and the verifier's `log`. An object loads once."""
        opened, self._opened = self._open(), None
        programs, maps = opened.load(self._log_level)
        with ExitStack() as unowned:
            for descriptor in (*maps.values(), *(fd for fd, _ in programs.values())):
                unowned.callback(os.close, descriptor)
            try:
                for name, fd in maps.items():
                    self._maps[name] = self._owned.enter_context(Map(duplicate_fd(fd)))
                for name, (fd, log) in programs.items():
                    program = Program(duplicate_fd(fd), name, log)
                    self._programs[name] = self._owned.enter_context(program)
            except BaseException:
                self.close()
                raise

    def programs(self) -> dict[str, Program]:
        """The loaded programs by name, owned by this object."""
        return dict(self._programs)

    def maps(self) -> dict[str, Map]:
        """The maps by name, owned by this object; internal ones (`.rodata`) included."""
        return dict(self._maps)

    def _open(self) -> OpenObject:
        if self._opened is None:
            raise ValueError(f"object `{self.name}` is loaded or closed: configure it before")
        return self._opened

    def close(self) -> None:
        """Close everything handed out. May be called again."""
        opened, self._opened = self._opened, None
        if opened is not None:
            opened.close()
        self._owned.close()

    def __enter__(self) -> Object:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
