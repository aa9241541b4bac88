"""A pipeline's rules as bytes: what its maps hold of them, to be put into fresh maps of the same
build. A few copies by the column, however many rules there are.

    "HLS" 0x01, header u32 (bytes, little-endian), header: JSON, then the arrays it tells, each
    beginning at a multiple of 8:

    for each rule kind  cells    their numbers, u32
                        words    u64 a cell
                        records  record_size a cell, by its slot
                        images   image_size a cell, by its slot
    and for a kind that is looked up
                        root     cell 0, which leads to the directory in force
                        tuples   that directory
                        filled   numbers of the buckets that have any, u32, counted from the first
                                 of the index that is in use, and these:
                        buckets  BUCKET_SIZE each
                        numbers  of the entries that they lead to, u32, and these:
                        taken    entry_size each
    or, in layout 1,    keys     of the hash, and its
                        entries

Of a pipeline on a card: cells and images (loading/card_snapshot.py).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from ...lang.contract.manifest.manifest import BUCKET_SIZE, Manifest, RuleKind
from ..base.errors import refused
from ..kernel.handles import Map
from .bulk import rows
from .entries import entries_of
from .errors import of_tables
from .key_hash import hashes_of
from .pools import NoRoom
from .stored import INDEX_SHIFT, SLOT
from .tables import Table, record_numbers
from .transaction import Writer
from .versions import with_flow_mask

Array = npt.NDArray[Any]

_MAGIC = b"HLS\1"
#: Where `struct next_hop` says that it is resolved.
_RESOLVED = 20


class Misfit(ValueError):
    """The bytes are no snapshot of this build."""


def take(writer: Writer, manifest: Manifest) -> list[bytes]:
    """The live rules, in parts to be written one behind the other. Settles the writer."""
    writer.settle()
    return encode(manifest, {table.kind.name: _arrays(table) for table in writer.tables.values()})


def encode(manifest: Manifest, kinds: Mapping[str, Iterable[tuple[str, Array]]]) -> list[bytes]:
    """Each kind's arrays, by name."""
    header: dict[str, Any] = {"digest": manifest.digest, "kinds": {}}
    arrays: list[Array] = []
    for kind, found in kinds.items():
        described = {}
        for name, array in found:
            described[name] = len(array)
            arrays.append(array)
        header["kinds"][kind] = described
    text = json.dumps(header).encode()
    text += b" " * (-(len(text) + 8) % 8)
    return [_MAGIC, len(text).to_bytes(4, "little"), text, *map(_padded, arrays)]


def _arrays(table: Table) -> Iterator[tuple[str, Array]]:
    kind = table.kind
    words = np.frombuffer(table.cells, "<u8")
    live = np.flatnonzero(words)
    live = live[live > 0]  # the zeroth is the directory's
    slots = words[live] >> np.uint64(24) & np.uint64(SLOT)
    yield "cells", live.astype("<u4")
    yield "words", words[live]
    at = record_numbers(kind, live, slots)
    yield "records", rows(table.records, table.record_stride)[at, : kind.record_size]
    yield "images", rows(table.images, table.image_stride)[slots, : kind.image_size]
    if table.directory is not None and table.entries is not None:
        yield "root", words[:1]
        yield "tuples", np.frombuffer(table.directory.published, np.uint8)
        yield from table.entries.saved().items()


def _padded(array: Array) -> bytes:
    data = array.tobytes()
    return data + bytes(-len(data) % 8)


def put(content: bytes, maps: Mapping[str, Map], manifest: Manifest) -> None:
    """Fill fresh maps, before a writer opens them. Next hops are unresolved: `refresh` them.
    Raises Misfit, BpfError."""
    for kind, found in decode(content, manifest):
        records = found["records"].reshape(-1, kind.record_size).copy()
        for member in kind.record:
            if member.kind == "next_hop":
                records[:, member.offset + _RESOLVED] = 0
        _fill(kind, found | {"records": records}, maps)
        if (entries := entries_of(kind, maps)) is not None:
            entries.restore(found)
            entries.close()


def move(table: Table, kind: RuleKind, maps: Mapping[str, Map]) -> None:
    """Fill the fresh maps of a kind with the rules of a table that differs from it in where they
    lie, and perhaps in its name: they keep their places. The table's writer is settled. Raises
    `Refused`, BpfError."""
    found = dict(_arrays(table))
    found["cells"] = found["cells"] % table.places
    if "root" in found:  # its own index says where keys are
        found["root"] = found["root"] & np.uint64((1 << INDEX_SHIFT) - 1)
    _fill(kind, found, maps)
    if table.entries is None or (entries := entries_of(kind, maps)) is None:
        return
    keys, leading = table.entries.read_all()
    leading = leading.copy()  # read-only where a system call read it
    leading["cell"] %= table.places
    try:
        entries.add_many(keys, hashes_of(keys), leading, None)
    except NoRoom as error:
        raise refused(of_tables(error, {kind.name: kind})) from error
    entries.close()


def decode(content: bytes, manifest: Manifest) -> Iterator[tuple[RuleKind, dict[str, Array]]]:
    """Each kind's arrays, by name. Raises Misfit."""
    header, at = _header(content)
    if header.get("digest") != manifest.digest:
        raise Misfit("it is another build's")
    for kind in manifest.rules:
        found: dict[str, Array] = {}
        for name, count in header["kinds"][kind.name].items():
            dtype, width = _shape(name, kind)
            size = count * width * np.dtype(dtype).itemsize
            if at + size > len(content):
                raise Misfit("it is cut short")
            array: Array = np.frombuffer(content, dtype, count * width, at)
            found[name] = array.reshape(count, width) if width > 1 else array
            at += size + -size % 8
        yield kind, found


def _header(content: bytes) -> tuple[dict[str, Any], int]:
    end = 8 + int.from_bytes(content[4:8], "little")
    if content[:4] != _MAGIC or end > len(content):
        raise Misfit("it is no snapshot")
    try:
        header = json.loads(content[8:end])
    except ValueError:
        raise Misfit("its header is damaged") from None
    return dict(header), end


def _shape(name: str, kind: RuleKind) -> tuple[str, int]:
    """Type, and how many of it to an element."""
    widths = {"records": kind.record_size, "images": kind.image_size, "taken": kind.entry_size,
              "buckets": BUCKET_SIZE}  # fmt: skip
    types = {"cells": "<u4", "words": "<u8", "root": "<u8", "numbers": "<u4",
             "filled": "<u4"}  # fmt: skip
    return types.get(name, "u1"), widths.get(name, 1)


def _fill(kind: RuleKind, found: Mapping[str, Array], maps: Mapping[str, Map]) -> None:
    words = found["words"]
    slots = words >> np.uint64(24) & np.uint64(SLOT)
    cells = np.frombuffer(maps[f"{kind.prefix}_cells"].mmap(), "<u8")
    records, images = (
        rows(table.mmap(), table.spec.stride)
        for table in (maps[f"{kind.prefix}_records"], maps[f"{kind.prefix}_images"])
    )
    at = record_numbers(kind, found["cells"], slots)
    records[at, : kind.record_size] = found["records"].reshape(len(words), kind.record_size)
    images[slots, : kind.image_size] = found["images"].reshape(len(words), kind.image_size)
    if "tuples" in found:
        tuples = maps[f"{kind.prefix}_tuples"]
        version = int(found["root"][0]) >> 24 & SLOT
        stride = tuples.spec.stride
        written = with_flow_mask(kind, found["tuples"].tobytes(), stride)
        rows(tuples.mmap(), stride)[version] = np.frombuffer(written, np.uint8)
        cells[0] = found["root"][0]
    cells[found["cells"]] = words
