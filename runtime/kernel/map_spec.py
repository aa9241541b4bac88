"""What a kernel map looks like, and whether one can be reused."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import IntEnum
from errno import EINVAL

from .libbpf import BpfError

BPF_F_NO_PREALLOC, BPF_F_ZERO_SEED, BPF_F_RDONLY_PROG, BPF_F_MMAPABLE = 1, 64, 128, 1024


class MapType(IntEnum):
    """enum bpf_map_type, as far as packet processing has use for it."""

    HASH = 1
    ARRAY = 2
    PROG_ARRAY = 3
    PERCPU_HASH = 5
    PERCPU_ARRAY = 6
    LRU_HASH = 9
    LRU_PERCPU_HASH = 10
    LPM_TRIE = 11
    ARRAY_OF_MAPS = 12
    HASH_OF_MAPS = 13
    DEVMAP = 14
    CPUMAP = 16
    XSKMAP = 17
    DEVMAP_HASH = 25
    RINGBUF = 27


_DEVMAPS = {MapType.DEVMAP, MapType.DEVMAP_HASH}
_TRAITS = ("type", "key_size", "value_size", "max_entries", "flags")


@dataclass(frozen=True)
class MapSpec:
    """What a map is: sizes in bytes, capacity in entries, `BPF_F_*` flags."""

    type: int
    key_size: int
    value_size: int
    max_entries: int
    flags: int = 0
    name: str = ""

    def differences(self, other: MapSpec) -> list[str]:
        """`key_size 4 instead of 8`, for each trait in which `other` is not like this one."""
        mine, theirs = self._comparable(), other._comparable()
        pairs = [(trait, getattr(mine, trait), getattr(theirs, trait)) for trait in _TRAITS]
        return [f"{t} {_word(t, b)} instead of {_word(t, a)}" for t, a, b in pairs if a != b]

    def _comparable(self) -> MapSpec:
        # The kernel sets this flag on every devmap by itself.
        extra = BPF_F_RDONLY_PROG if self.type in _DEVMAPS else 0
        return replace(self, flags=self.flags & ~extra)

    @property
    def stride(self) -> int:
        """Bytes from one value to the next in an mmapped array, and between per-CPU values."""
        return (self.value_size + 7) & ~7


def _word(trait: str, value: int) -> str:
    if trait == "type":
        return MapType(value).name if value in set(MapType) else f"number {value}"
    return hex(value) if trait == "flags" else str(value)


class IncompatibleMap(BpfError):
    """A map is not what its user needs; `differences` says in what."""

    def __init__(self, name: str, differences: list[str]) -> None:
        super().__init__(
            f"reuse map `{name}`", EINVAL, fix="unload the old pipeline, or keep its sizes"
        )
        self.differences = differences

    def __str__(self) -> str:
        return f"{self.operation}: it has {', '.join(self.differences)}; {self.fix}"
