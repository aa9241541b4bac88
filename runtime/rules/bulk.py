"""Rules by the column: many records, images and keys of one kind at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator, MutableMapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from ...lang.contract.base.lists import bytes_of
from ...lang.contract.manifest.manifest import Match
from ...lang.contract.rules import column_dict
from ...lang.contract.rules.column_dict import Joining
from ...lang.contract.rules.columns import one
from ...lang.contract.rules.interleaving import NONE, YieldPoint, paced
from .directory import bests, unique
from .images import HEAD, LIVE, NAME_SIZE
from .key_hash import hashes_of
from .matches import SEQUENCE_BITS
from .stored import ENTRIES, EPOCHS
from .tables import Step, Table, record_numbers
from .versions import Tuple

if TYPE_CHECKING:
    from ...lang.contract.rules.block import Block
    from ...lang.contract.rules.columns import Column

Array = npt.NDArray[Any]
PlaceOf = Callable[[str, int], int]

_RANGE = 4  # the form of a matcher column
_PLAIN = {"value", "present", "tag", "reference"}
_YOUNGEST = (1 << SEQUENCE_BITS) - 1
#: Keys from which on the kernel takes them in threads of their own, beside all else.
_MANY = 1 << 14
#: Rows whose records and images are made at a time, so that they stay in the cache.
_CHUNK = 1 << 11
#: Keys that are taken out at a time.
_FEW = 256


class Staging:
    """A block of rules on its way into a table. `cells` and `slots`, a row each."""

    def __init__(self, table: Table) -> None:
        self.table = table
        self.cells: Array = np.zeros(0, np.uint32)
        self.slots: Array = np.zeros(0, np.uint32)
        self._keys: Keys | None = None
        self._sequences: _More | None = None
        self._ids: _More | None = None

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

    def stage(self, block: Block, place_of: PlaceOf, pause: YieldPoint = NONE) -> None:
        """Records, images, keys. Raises NoRoom, DirectoryFull, BpfError; then `undo`."""
        table, count = self.table, len(block)
        numbers = (_number(table, to, place_of) for to in paced(block.meant, pause))
        meant = np.fromiter(numbers, np.uint32, len(block.meant))
        pool, given = table.free_cells, block.targets
        self.cells = pool.take_many(count) if given is None else pool.take_all_like(meant[given])
        self.slots = table.free_slots.take_many(count)
        with self._keyed(block, pause) as keyed, _beside(count) as beside:
            packed = _image_type(table)
            records = rows(table.records, table.record_stride)
            images = rows(table.images, table.image_stride)
            for at in range(0, count, _CHUNK):
                pause()
                part = slice(at, min(at + _CHUNK, count))
                written = keyed.write(part, beside, pause) if keyed is not None else []
                cells, slots = self.cells[part], self.slots[part]
                to = record_numbers(table.kind, cells, slots)
                records[to] = _records(table, block, meant, part)
                images[slots] = _images(table, block, cells, part, packed)
                for each in written:
                    each.result()
        sequences = block.sequence + np.arange(count, dtype=np.uint64)
        self._sequences = _joining(table, "sequences", sequences, self.cells, pause)
        self._ids = _joining(table, "ids", block.ids, self.cells, pause)

    @contextmanager
    def _keyed(self, block: Block, pause: YieldPoint) -> Iterator[Keys | None]:
        if self.table.directory is None:
            yield None
            return
        with pause.without_turn():
            self._keys = made = Keys(self.table, block, self.cells)
        with self.table.directory.reserved(made.masks) as tuples:
            with pause.without_turn():
                made.under(tuples)
            made.raise_bounds()
            yield made

    # ---- the transaction's steps ------------------------------------------------------------

    def write_cells(self, epoch: int) -> None:
        self.table.keys_change(epoch)
        cells = np.frombuffer(self.table.cells, "<u8")
        high = np.uint64((epoch & (EPOCHS - 1)) << 48)
        cells[self.cells] = self.slots.astype(np.uint64) << np.uint64(24) | high

    def unwrite(self) -> None:
        """The cells lead nowhere, as before."""
        np.frombuffer(self.table.cells, "<u8")[self.cells] = 0

    def undo(self) -> Iterator[None]:
        """Nothing of it was visible; nothing of it stays: in pieces, and all are to be taken."""
        table = self.table
        if self._keys is not None:
            yield from self._keys.undo()
        table.gone += self.cells.tolist()
        table.free_slots.put_back(self.slots)

    def remember(self) -> int:
        """They are live now; how many cells these are."""
        table = self.table
        table.sequences = _taken(table.sequences, self._sequences)
        table.ids = _taken(table.ids, self._ids)
        return len(self.cells)

    def settle(self) -> list[Step]:
        """After a grace period. None of them went."""
        cells = np.frombuffer(self.table.cells, "<u8")
        words = cells[self.cells]
        cells[self.cells] = words & ~np.uint64(0xFFFFFF) | words >> np.uint64(24) & np.uint64(
            0xFFFFFF
        )
        return []


#: What an attribute of the table is to have more: entries one by one, or joined to its columns.
_More = Joining[int] | dict[int, int]


def _joining(table: Table, what: str, numbers: Array, cells: Array, pause: YieldPoint) -> _More:
    if len(numbers) < column_dict.FEWEST:
        return dict(zip(numbers.tolist(), cells.tolist(), strict=True))
    own = column_dict.with_columns(getattr(table, what))
    setattr(table, what, own)
    return own.joining(numbers, cells, pause.without_turn)


def _taken(own: MutableMapping[int, int], more: _More | None) -> MutableMapping[int, int]:
    if isinstance(more, Joining):
        own = column_dict.with_columns(own)
        own.take(more)
    elif more:
        own.update(more)
    return own


class Keys:
    """The keys of a block's rules. `masks`: each once."""

    def __init__(self, table: Table, block: Block, cells: Array) -> None:
        assert table.directory is not None
        self.table, self.directory = table, table.directory
        found = [_matched(match, column) for match in table.kind.match
                 if (column := block.matchers.get(match.element)) is not None
                 and column.forms is not None]  # fmt: skip
        first, self._group = _distinct(found, len(block))
        self._masks = _key_bytes(table, found, first, len(first), "mask")
        self.masks = [int.from_bytes(mask.tobytes(), "big") for mask in self._masks]
        self._entries = entries = np.zeros(len(block), ENTRIES)
        entries["cell"], entries["priority"] = cells, _priorities(table, block)
        ages = _YOUNGEST - (block.sequence + np.arange(len(block), dtype=np.uint64))
        bits = sum((each.bits for each in found), np.uint64(0))
        entries["rank"] = bits << np.uint64(SEQUENCE_BITS) | ages
        best = bests(self._group, entries["priority"], entries["rank"], len(first))
        self._best = [best(i) for i in range(len(first))]
        self._keys = _key_bytes(table, found, slice(None), len(block), "value")
        self._tuples: list[Tuple] = []
        self._ours: list[int] = []  # of the keys that a tuple has
        self._unique = False
        self._placed: list[slice] = []  # in the hash, or about to be
        self._each: list[tuple[int, list[bytes]]] = []  # or, by cell, one by one

    def under(self, tuples: list[Tuple]) -> None:
        """These are the masks' tuples, which have one key more than they have."""
        self._tuples, self._ours = tuples, [1] * len(tuples)
        self._keys[:, -2:] = np.array([t.number for t in tuples], ">u2").view("2u1")[self._group]
        self._unique = unique(hashes_of(self._keys))

    def raise_bounds(self) -> None:
        for tuple_, best in zip(self._tuples, self._best, strict=True):
            self.directory.raise_bound(tuple_, best)

    def write(
        self, part: slice, beside: ThreadPoolExecutor | None, pause: Callable[[], None]
    ) -> list[Future[int]]:
        """Write the keys of these rows; returns what is to be waited for."""
        keys, directory = self._keys[part], self.directory
        hashes = hashes_of(keys)
        counts = np.bincount(self._group[part], minlength=len(self._tuples)).tolist()
        others = any(t.keys > n for t, n in zip(self._tuples, self._ours, strict=True))
        if not self._unique or not (not others or directory.are_free(keys, hashes)):
            self._write_each(part, pause)
            return []
        self._placed.append(part)
        self._ours = [ours + count for ours, count in zip(self._ours, counts, strict=True)]
        directory.place_many(hashes, zip(self._tuples, counts, strict=True))
        masks = self._masks[self._group[part]]
        return directory.add_many(keys, masks, hashes, self._entries[part], beside)

    def _write_each(self, part: slice, pause: Callable[[], None]) -> None:
        """Where several rules have the same key: each under a tuple in which it is free."""
        self._keys[part, -2:] = 0
        masks = self._masks[self._group[part]]
        all_ = zip(masks, self._keys[part], self._entries[part].tolist(), strict=True)
        for mask, key, entry in paced(all_, pause):
            cell, *bound = entry
            pattern = int.from_bytes(mask.tobytes(), "big"), int.from_bytes(key.tobytes(), "big")
            staged: list[bytes] = []
            self._each.append((cell, staged))
            self.directory.insert(pattern, cell, (bound[0], bound[1]), staged)

    def undo(self) -> Iterator[None]:
        """Take them out, in pieces."""
        for cell, staged in self._each:
            self.table.undo(staged, cell)
            yield
        for part in self._placed:
            for at in range(part.start, part.stop, _FEW):
                some = slice(at, min(at + _FEW, part.stop))
                keys = [key.tobytes() for key in self._keys[some]]
                # of others, perhaps, by now: of those that were not added before there was no room
                cells = self._entries["cell"][some].tolist()
                pairs = zip(keys, cells, strict=True)
                self.directory.remove([k for k, cell in pairs if self.directory.leads(k, cell)])
                for key in keys:
                    self.directory.release(key)
                yield


@contextmanager
def _beside(count: int) -> Iterator[ThreadPoolExecutor | None]:
    """Threads for the kernel's work, of which none goes on when this is over; None for few keys."""
    if count < _MANY:
        yield None
        return
    with ThreadPoolExecutor(2) as made:
        yield made


def _has_ranges(column: Column | None) -> bool:
    return column is not None and column.forms is not None and bool((column.forms == _RANGE).any())


def rows(memory: memoryview, stride: int) -> Array:
    """An mmapped array as bytes: [slot, byte]."""
    return np.frombuffer(memory, np.uint8).reshape(-1, stride)


def _number(table: Table, reference: Any, place_of: PlaceOf) -> int:
    if reference is None:
        return 0
    return int(reference.id) if table.codec.direct(reference.kind) else place_of(*reference)


# ---- records and images ---------------------------------------------------------------------


def _records(table: Table, block: Block, meant: Array, part: slice) -> Array:
    out = np.zeros((part.stop - part.start, table.record_stride), np.uint8)
    for member in table.kind.record:
        at = slice(member.offset, member.offset + member.size)
        if member.kind in ("tag", "reference"):
            to = block.references.get(member.element) if member.element else block.targets
            if to is None:
                continue
            if member.kind == "reference":
                out[:, at] = meant[to[part]].astype("<u4").view(np.uint8).reshape(-1, 4)
            else:
                tags = [0 if r is None else 1 + member.choices.index(r.kind) for r in block.meant]
                out[:, member.offset] = np.array(tags, np.uint8)[to[part]]
            continue
        column = block.values.get(member.element) or block.matchers.get(member.element)
        if column is None or column.forms is None:
            continue
        present = column.forms[part] != 0
        if member.kind == "present":
            out[:, member.offset] = present
        else:
            out[:, at] = _big(np.where(present, column.values[part], 0), member.size)
    return out


def _image_type(table: Table) -> Any:
    """An image (images.py) as a structure."""
    kind = table.kind
    fields: list[tuple[str, Any]] = [(name, HEAD[name]) for name in HEAD.names or ()]
    fields += [("name", f"S{NAME_SIZE}")] if kind.named else []
    for i, match in enumerate(kind.match):
        wide = _unsigned(bytes_of(match.width))
        fields += [(f"form{i}", "u1"), (f"value{i}", wide), (f"other{i}", wide)]
    for name in kind.gives:
        fields += [
            (f"tag {name}", "u1"),
            (f"given {name}", _unsigned(table.image_codec.given[name].size)),
        ]
    fields += [("target_tag", "u1"), ("target", "<u4")] if kind.alternatives else []
    return _padded(np.dtype(fields), table.image_stride)


def _images(table: Table, block: Block, cells: Array, part: slice, packed: Any) -> Array:
    out = np.zeros(len(cells), packed)
    out["sequence"] = block.sequence + np.arange(part.start, part.stop, dtype=np.uint64)
    out["id"], out["flags"], out["cell"] = block.ids[part], LIVE, cells
    if block.priorities is not None:
        out["priority"] = block.priorities[part]
    if block.names:
        out["name"] = [name.encode() for name in block.names[part]]
    for i, match in enumerate(table.kind.match):
        column = block.matchers.get(match.element)
        if column is not None and column.forms is not None and column.others is not None:
            out[f"form{i}"] = forms = column.forms[part]
            out[f"value{i}"] = np.where(forms != 0, column.values[part], 0)
            out[f"other{i}"] = np.where(forms != 0, column.others[part], 0)
    _given(table, block, out, part)
    data: Array = out.view(np.uint8).reshape(len(cells), table.image_stride)
    return data


def _given(table: Table, block: Block, out: Array, part: slice) -> None:
    numbers = np.array([0 if r is None else r.id for r in block.meant], np.uint32)
    for name in table.kind.gives:
        column, to = block.values.get(name), block.references.get(name)
        if column is not None and column.forms is not None:
            out[f"tag {name}"] = present = column.forms[part] != 0
            out[f"given {name}"] = np.where(present, column.values[part], 0)
        elif to is not None:
            kinds = table.image_codec.given[name].references
            tags = [0 if r is None else 2 + _index(kinds, r.kind) for r in block.meant]
            out[f"tag {name}"] = np.array(tags, np.uint8)[to[part]]
            out[f"given {name}"] = numbers[to[part]]
    if block.targets is not None:
        kinds = table.kind.alternatives
        tags = [0 if r is None else 1 + _index(kinds, r.kind) for r in block.meant]
        out["target_tag"] = np.array(tags, np.uint8)[block.targets[part]]
        out["target"] = numbers[block.targets[part]]


def _index(kinds: tuple[str, ...], kind: str) -> int:
    """Of a kind among those that one element may refer to; `meant` has other elements', too."""
    return kinds.index(kind) if kind in kinds else 0


def _padded(packed: Any, size: int) -> Any:
    """The same fields in elements of `size` bytes."""
    described: Any = {
        "names": list(packed.names),
        "formats": [packed.fields[name][0] for name in packed.names],
        "offsets": [packed.fields[name][1] for name in packed.names],
        "itemsize": size,
    }
    return np.dtype(described)


def _unsigned(size: int) -> str:
    return f"<u{size}" if size <= 8 else f"V{size}"


def _big(values: Array, size: int) -> Array:
    """Each value as `size` bytes in network order."""
    wide = values.astype(">u8").view(np.uint8).reshape(-1, 8)
    if size <= 8:
        return wide[:, 8 - size :]
    return np.pad(wide, ((0, 0), (size - 8, 0)))


# ---- keys -----------------------------------------------------------------------------------


class _Matched(NamedTuple):
    """What the rules match of one element, a row each or one for all: value, mask, whether there is
    any, and how many bits it pins down."""

    match: Match
    value: Array
    mask: Array
    present: Array
    bits: Array


def _matched(match: Match, column: Column) -> _Matched:
    assert column.forms is not None and column.others is not None
    forms, others = one(column.forms), one(column.others).astype(np.uint64)
    full = np.uint64((1 << match.width) - 1)
    host = np.where(others >= match.width, 0, full >> np.minimum(others, np.uint64(63)))
    which = [forms == 1, forms == 2, forms == 3]
    mask = np.select(which, [full, full ^ host.astype(np.uint64), others], 0).astype(np.uint64)
    ones = np.bitwise_count(others).astype(np.uint64)
    bits = np.select(which, [np.uint64(match.width), others, ones], np.uint64(0))
    present = forms != 0
    value = column.values if present.all() else np.where(present, column.values, 0)
    return _Matched(match, value.astype(np.uint64), mask, present, bits)


def _key_bytes(
    table: Table, found: list[_Matched], at: Array | slice, count: int,
    what: Literal["value", "mask"],
) -> Array:  # fmt: skip
    """Masks or keys of these `count` rows: [row, byte]."""
    size = table.kind.key_size
    out = np.zeros((count, size), np.uint8)
    for each in found:
        match = each.match
        values = each.mask if what == "mask" else each.value
        values = values if len(values) == 1 else values[at]
        shift = match.position % 8
        length = (match.width + shift + 7) // 8
        end = size - match.position // 8
        out[:, end - length : end] |= _big(values << np.uint64(shift), 8)[:, 8 - length :]
        if match.presence is not None:
            present = each.present if len(each.present) == 1 else each.present[at]
            bit = present.astype(np.uint8) << (match.presence % 8)
            out[:, size - 1 - match.presence // 8] |= bit
    return out


def _priorities(table: Table, block: Block) -> Array:
    if table.kind.priority is None or block.priorities is None:
        fill = table.matches.priority_of(0)
        return np.full(len(block), fill, np.uint64)
    values = block.priorities.astype(np.uint64)
    return 0xFFFFFFFF - values if table.kind.priority[0] == "precedence" else values


def _distinct(found: list[_Matched], count: int) -> tuple[Array, Array]:
    """The first row of each distinct mask, and of each row which of them it has."""
    masks = [each.mask for each in found] + [each.present for each in found]
    masks = [mask for mask in masks if len(mask) > 1]
    if not masks:
        return np.zeros(1, np.intp), np.zeros(count, np.intp)
    # Sorting whole rows is slow: sort a hash of each, and see that it lost nothing.
    hashes = np.zeros(count, np.uint64)
    for i, mask in enumerate(masks):
        odd = np.uint64(0x9E3779B97F4A7C15 * (2 * i + 1) % 2**64 | 1)
        mixed = mask.astype(np.uint64)
        hashes += (mixed ^ mixed >> np.uint64(29)) * odd
    _, first, group = np.unique(hashes, return_index=True, return_inverse=True)
    if any((mask[first][group] != mask).any() for mask in masks):
        whole = np.stack([mask.astype(np.uint64) for mask in masks], axis=1)
        _, first, group = np.unique(whole, axis=0, return_index=True, return_inverse=True)
    return first, group.reshape(-1)
