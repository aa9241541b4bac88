"""Bytes that are kept in bpffs: the one element of an array."""

from __future__ import annotations

from pathlib import Path

from .map_spec import MapSpec, MapType
from .maps import Map
from .pins import Pin


def write_bytes(path: Path, data: bytes) -> None:
    """Into a new array, pinned at `path`. Raises BpfError."""
    size = (len(data) + 8 + 7) & ~7
    with Map.create(MapSpec(MapType.ARRAY, 4, size, 1, name=path.name)) as table:
        table.update(bytes(4), (len(data).to_bytes(8, "little") + data).ljust(size, b"\0"))
        Pin.create(table, path)


def read_bytes(path: Path) -> bytes:
    """What `write_bytes` wrote. Raises BpfError."""
    with Map.open_pinned(path) as table:
        content = table.lookup(bytes(4)) or b""
    return content[8 : 8 + int.from_bytes(content[:8], "little")]
