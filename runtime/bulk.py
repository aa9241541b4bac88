"""Rules by the column: many records, images and keys of one kind at a time."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ..compiler.requests.lists import octets_of
from .directory import Directory, Tuple
from .images import NAME_OCTETS
from .matches import SEQUENCE_BITS, Bound
from .tables import Pool, Table

if TYPE_CHECKING:
    from ..compiler.requests.block import Block
    from ..compiler.requests.columns import Column

Array = npt.NDArray[Any]
CellOf = Callable[[str, int], int]

_ENTRY = np.dtype([("cell", "<u4"), ("priority", "<u4"), ("rank", "<u8")])
_RANGE = 4  # the form of a matcher column
_PLAIN = {"value", "present", "tag", "reference"}
_YOUNGEST = (1 << SEQUENCE_BITS) - 1


class Staging:
    """A block of rules on its way into a table. `cells` and `slots`, a row each."""

    def __init__(self, table: Table) -> None:
        self.table = table
        self.cells: Array = np.zeros(0, np.int64)
        self.slots: Array = np.zeros(0, np.int64)
        self.keys: list[bytes] = []
        self._sequences: list[int] = []
        self._ids: list[int] = []

    @staticmethod
    def takes(block: Block) -> bool:
        """Whether the block can be staged by the column: no ranges, no next hops."""
        rule = block.kind.rule
        if any(member.kind not in _PLAIN for member in rule.record) or rule.spread or rule.grouped:
            return False
        return all(
            match.width + match.position % 8 <= 64
            and not _has_ranges(block.matchers.get(match.element))
            for match in rule.match
        )

    def stage(self, block: Block, cell_of: CellOf) -> None:
        """Records, images, keys. Raises NoRoom, DirectoryFull, BpfError; then `undo`."""
        table, count = self.table, len(block)
        self.cells = _take(table.free_cells, count)
        self.slots = _take(table.free_slots, count)
        meant = np.array([_number(table, r, cell_of) for r in block.meant], np.uint32)
        rows(table.records, table.record_stride)[self.slots] = _records(table, block, meant)
        rows(table.images, table.image_stride)[self.slots] = _images(table, block, self.cells)
        if table.directory is not None:
            self._insert(block, table.directory)
        self._sequences = list(range(block.sequence, block.sequence + count))
        self._ids = block.ids.tolist()

    def _insert(self, block: Block, directory: Directory) -> None:
        table = self.table
        assert table.entries is not None
        masks, keys, bits = _patterns(table, block)
        entries = np.zeros(len(block), _ENTRY)
        entries["cell"] = self.cells
        entries["priority"] = priorities = _priorities(table, block)
        ages = _YOUNGEST - (block.sequence + np.arange(len(block), dtype=np.uint64))
        entries["rank"] = ranks = bits.astype(np.uint64) << np.uint64(SEQUENCE_BITS) | ages
        first, group = _distinct(masks)
        wanted = [int.from_bytes(masks[row].tobytes(), "big") for row in first.tolist()]
        with directory.reserved(wanted) as tuples:
            numbers = np.array([t.number for t in tuples], ">u2").view(np.uint8).reshape(-1, 2)
            keys[:, -2:] = numbers[group]
            octets, size = keys.tobytes(), table.kind.key_size
            found = [octets[at : at + size] for at in range(0, len(octets), size)]
            if len(set(found)) == len(found) and directory.taken.keys().isdisjoint(found):
                self.keys = found  # before they are taken, so that `undo` misses none
                directory.place_many(found, self.cells.tolist())
                _raise_bounds(directory, tuples, group, priorities, ranks)
            else:
                bounds = list(zip(priorities.tolist(), ranks.tolist(), strict=True))
                self._place_each(directory, masks, keys, bounds)
        table.entries.update_batch(b"".join(self.keys), entries.view(np.uint8).data)

    def _place_each(
        self, directory: Directory, masks: Array, keys: Array, bounds: list[Bound]
    ) -> None:
        """Where several rules have the same key: each under a tuple in which it is free."""
        for row, (cell, bound) in enumerate(zip(self.cells.tolist(), bounds, strict=True)):
            mask = int.from_bytes(masks[row].tobytes(), "big")
            plain = int.from_bytes(keys[row].tobytes(), "big") >> 16 << 16
            self.keys.append(directory.place((mask, plain), cell, bound))

    # ---- the transaction's steps ------------------------------------------------------------

    def write_cells(self, epoch: int) -> None:
        cells = np.frombuffer(self.table.cells, "<u8")
        cells[self.cells] = self.slots.astype(np.uint64) << np.uint64(24) | np.uint64(epoch << 48)

    def undo(self) -> None:
        """Nothing of it was visible; nothing of it stays."""
        table = self.table
        np.frombuffer(table.cells, "<u8")[self.cells] = 0
        if self.keys and table.entries is not None and table.directory is not None:
            table.entries.delete_batch(b"".join(self.keys))
            for key in self.keys:
                table.directory.release(key)
        table.free_cells.back.extend(self.cells.tolist()[::-1])
        table.free_slots.back.extend(self.slots.tolist()[::-1])

    def remember(self) -> None:
        """They are live now."""
        table, cells = self.table, self.cells.tolist()
        table.sequences.update(zip(self._sequences, cells, strict=True))
        table.ids.update(zip(self._ids, cells, strict=True))

    def settle(self) -> None:
        """After a grace period."""
        cells = np.frombuffer(self.table.cells, "<u8")
        words = cells[self.cells]
        cells[self.cells] = words & ~np.uint64(0xFFFFFF) | words >> np.uint64(24) & np.uint64(
            0xFFFFFF
        )


def _has_ranges(column: Column | None) -> bool:
    return column is not None and column.forms is not None and bool((column.forms == _RANGE).any())


def rows(memory: memoryview, stride: int) -> Array:
    """An mmapped array as octets: [slot, octet]."""
    return np.frombuffer(memory, np.uint8).reshape(-1, stride)


def _take(pool: Pool, count: int) -> Array:
    reused, fresh = pool.take_many(count)
    return np.concatenate([np.array(reused, np.int64), np.arange(fresh.start, fresh.stop)])


def _number(table: Table, reference: Any, cell_of: CellOf) -> int:
    if reference is None:
        return 0
    return int(reference.id) if table.codec.direct(reference.kind) else cell_of(*reference)


# ---- records and images ---------------------------------------------------------------------


def _records(table: Table, block: Block, meant: Array) -> Array:
    out = np.zeros((len(block), table.record_stride), np.uint8)
    for member in table.kind.record:
        at = slice(member.offset, member.offset + member.size)
        if member.kind in ("tag", "reference"):
            to = block.references.get(member.element) if member.element else block.targets
            if to is None:
                continue
            if member.kind == "reference":
                out[:, at] = meant[to].astype("<u4").view(np.uint8).reshape(-1, 4)
            else:
                tags = [0 if r is None else 1 + member.choices.index(r.kind) for r in block.meant]
                out[:, member.offset] = np.array(tags, np.uint8)[to]
            continue
        column = block.values.get(member.element) or block.matchers.get(member.element)
        if column is None or column.forms is None:
            continue
        if member.kind == "present":
            out[:, member.offset] = column.forms != 0
        else:
            values = np.where(column.forms != 0, column.values, 0)
            out[:, at] = _big(values, member.size)
    return out


def _images(table: Table, block: Block, cells: Array) -> Array:
    kind = table.kind
    fields: list[tuple[str, Any]] = [
        ("sequence", "<u8"), ("owner", "<u8"), ("id", "<u4"), ("priority", "<u4"),
        ("flags", "<u4"), ("cell", "<u4"),
    ]  # fmt: skip
    fields += [("name", f"S{NAME_OCTETS}")] if kind.named else []
    for i, match in enumerate(kind.match):
        wide = _unsigned(octets_of(match.width))
        fields += [(f"form{i}", "u1"), (f"value{i}", wide), (f"other{i}", wide)]
    for name in kind.gives:
        fields += [
            (f"tag {name}", "u1"),
            (f"given {name}", _unsigned(table.image_codec.given[name].octets)),
        ]
    fields += [("target_tag", "u1"), ("target", "<u4")] if kind.alternatives else []
    packed = np.dtype(fields)
    out = np.zeros(len(block), _padded(packed, table.image_stride))
    out["sequence"] = block.sequence + np.arange(len(block), dtype=np.uint64)
    out["id"], out["flags"], out["cell"] = block.ids, 1, cells
    if block.priorities is not None:
        out["priority"] = block.priorities
    if block.names:
        out["name"] = [name.encode() for name in block.names]
    for i, match in enumerate(kind.match):
        column = block.matchers.get(match.element)
        if column is not None and column.forms is not None and column.others is not None:
            out[f"form{i}"], present = column.forms, column.forms != 0
            out[f"value{i}"] = np.where(present, column.values, 0)
            out[f"other{i}"] = np.where(present, column.others, 0)
    _given(table, block, out)
    octets: Array = out.view(np.uint8).reshape(len(block), table.image_stride)
    return octets


def _given(table: Table, block: Block, out: Array) -> None:
    numbers = np.array([0 if r is None else r.id for r in block.meant], np.uint32)
    for name in table.kind.gives:
        column, to = block.values.get(name), block.references.get(name)
        if column is not None and column.forms is not None:
            out[f"tag {name}"] = column.forms != 0
            out[f"given {name}"] = np.where(column.forms != 0, column.values, 0)
        elif to is not None:
            kinds = table.image_codec.given[name].references
            tags = [0 if r is None else 2 + _index(kinds, r.kind) for r in block.meant]
            out[f"tag {name}"] = np.array(tags, np.uint8)[to]
            out[f"given {name}"] = numbers[to]
    if block.targets is not None:
        kinds = table.kind.alternatives
        tags = [0 if r is None else 1 + _index(kinds, r.kind) for r in block.meant]
        out["target_tag"] = np.array(tags, np.uint8)[block.targets]
        out["target"] = numbers[block.targets]


def _index(kinds: tuple[str, ...], kind: str) -> int:
    """Of a kind among those that one element may refer to; `meant` has other elements', too."""
    return kinds.index(kind) if kind in kinds else 0


def _padded(packed: Any, size: int) -> Any:
    """The same fields in elements of `size` octets."""
    described: Any = {
        "names": list(packed.names),
        "formats": [packed.fields[name][0] for name in packed.names],
        "offsets": [packed.fields[name][1] for name in packed.names],
        "itemsize": size,
    }
    return np.dtype(described)


def _unsigned(octets: int) -> str:
    return f"<u{octets}" if octets <= 8 else f"V{octets}"


def _big(values: Array, size: int) -> Array:
    """Each value as `size` octets in network order."""
    wide = values.astype(">u8").view(np.uint8).reshape(-1, 8)
    if size <= 8:
        return wide[:, 8 - size :]
    return np.pad(wide, ((0, 0), (size - 8, 0)))


# ---- keys -----------------------------------------------------------------------------------


def _patterns(table: Table, block: Block) -> tuple[Array, Array, Array]:
    """Masks and keys, an octet a column, and how many bits each rule pins down."""
    size, count = table.kind.key_size, len(block)
    masks, keys = np.zeros((count, size), np.uint8), np.zeros((count, size), np.uint8)
    bits = np.zeros(count, np.int64)
    for match in table.kind.match:
        column = block.matchers.get(match.element)
        if column is None or column.forms is None:
            continue
        values, mask, pinned = _matched(column, match.width)
        bits += pinned
        shift = match.position % 8
        octets = (match.width + shift + 7) // 8
        end = size - match.position // 8
        at = slice(end - octets, end)
        masks[:, at] |= _big(mask << np.uint64(shift), 8)[:, 8 - octets :]
        keys[:, at] |= _big(values << np.uint64(shift), 8)[:, 8 - octets :]
        if match.presence is not None:
            present = (column.forms != 0).astype(np.uint8) << (match.presence % 8)
            masks[:, size - 1 - match.presence // 8] |= present
            keys[:, size - 1 - match.presence // 8] |= present
    return masks, keys, bits


def _matched(column: Column, width: int) -> tuple[Array, Array, Array]:
    """Value, mask and number of pinned bits of each row."""
    assert column.forms is not None and column.others is not None
    forms, others = column.forms, column.others.astype(np.uint64)
    full = np.uint64((1 << width) - 1)
    host = np.where(others >= width, 0, full >> np.minimum(others, np.uint64(63)))
    which = [forms == 1, forms == 2, forms == 3]
    mask = np.select(which, [full, full ^ host.astype(np.uint64), others], 0).astype(np.uint64)
    ones = np.bitwise_count(others).astype(np.int64)
    pinned = np.select(which, [width, others.astype(np.int64), ones], 0)
    values = np.where(forms != 0, column.values.astype(np.uint64), 0).astype(np.uint64)
    return values, mask, pinned


def _priorities(table: Table, block: Block) -> Array:
    if table.kind.priority is None or block.priorities is None:
        fill = table.matches.priority_of(0)
        return np.full(len(block), fill, np.uint64)
    values = block.priorities.astype(np.uint64)
    return 0xFFFFFFFF - values if table.kind.priority[0] == "precedence" else values


def _distinct(masks: Array) -> tuple[Array, Array]:
    """The first row of each distinct mask, and of each row which of them it has."""
    padded = np.pad(masks, ((0, 0), (0, -masks.shape[1] % 8)))
    words = padded.view(np.uint64).reshape(len(masks), -1)
    # Sorting whole rows is slow: sort a hash of each, and see that it lost nothing.
    odd = [0x9E3779B97F4A7C15 * (2 * i + 1) % 2**64 | 1 for i in range(words.shape[1])]
    factors = np.array(odd, np.uint64)
    mixed = words ^ words >> np.uint64(29)
    hashes = (mixed * factors).sum(axis=1, dtype=np.uint64)
    _, first, group = np.unique(hashes, return_index=True, return_inverse=True)
    if not np.array_equal(masks[first[group]], masks):
        _, first, group = np.unique(masks, axis=0, return_index=True, return_inverse=True)
    return first, group.reshape(-1)


def _raise_bounds(
    directory: Directory, tuples: list[Tuple], group: Array, priorities: Array, ranks: Array
) -> None:
    order = np.lexsort((ranks, priorities, group))
    last = np.flatnonzero(np.diff(group[order], append=-1))
    for at in last.tolist():
        row = order[at]
        directory.raise_bound(tuples[group[row]], (int(priorities[row]), int(ranks[row])))
