"""A loaded pipeline's rules at one moment between two transactions, each made when it is asked for.

Of a million rules that costs a copy of their images, and no more until somebody wants to see them.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ...lang.contract.manifest.manifest import Manifest, RuleKind
from ...lang.contract.rules.ie_values import fold
from ...lang.contract.rules.rulekinds import Kind
from ...lang.contract.rules.rules import Reference, Rule
from .images import HEAD, NAME_SIZE, ImageCodec, of_heads
from .stored import EPOCHS, SLOT

Array = npt.NDArray[Any]

_NAME = slice(HEAD.itemsize, HEAD.itemsize + NAME_SIZE)


def slots_at(cells: Array, epoch: int) -> Array:
    """By cell the slot of its record and image at an epoch, 0 without."""
    ahead = ((epoch & (EPOCHS - 1)) - (cells >> np.uint64(48)).astype(np.int64)) % EPOCHS
    slots: Array = np.where(
        ahead < EPOCHS // 2, cells >> np.uint64(24) & np.uint64(SLOT), cells & np.uint64(SLOT)
    )
    slots[0] = 0  # the directory's
    return slots


#: Bytes up to which `sizes` count, with the frame check sequence (RFC 2819, etherStats).
SIZES = 64, 127, 255, 511, 1023, 1518


class Counted(NamedTuple):
    """A rule and what it counted; None where its kind does not count. `sizes`: packets by size, up
    to each of `SIZES` and above, if its kind counts those."""

    rule: Rule
    packets: int | None
    byte_count: int | None
    sizes: Sequence[int] = ()


class Rules:
    """Those of one kind by id, those of an id oldest first. `cells` and `slots`, `ids` and
    `sequences`: of each row. Images are read where they lie until `detach`."""

    def __init__(
        self, manifest: Manifest, kind: RuleKind, cells: Array, slots: Array, images: Array,
        count: Callable[[Array], Array] | None,
    ) -> None:  # fmt: skip
        """`images`: [slot, byte]; `count`: packets and bytes of cells, and sizes."""
        self.kind, self.codec, self._count = kind, ImageCodec(manifest, kind), count
        ids = of_heads("id", images, slots)
        sequences = of_heads("sequence", images, slots)
        order = np.lexsort((sequences, ids))
        self.cells, self.slots = cells[order], slots[order]
        self.ids, self.sequences = ids[order], sequences[order]
        self._images = images

    def __len__(self) -> int:
        return len(self.cells)

    @cached_property
    def owned(self) -> bool:
        """Whether another rule owns one of these. Asked before `detach`."""
        return bool(of_heads("owner", self._images, self.slots).any())

    @cached_property
    def by_sequence(self) -> tuple[Array, Array]:
        """Sequences in order, and the ids of their rules."""
        order = np.argsort(self.sequences)
        return self.sequences[order], self.ids[order]

    def detach(self) -> None:
        """Copy the images: what is written from now on is not seen."""
        self._images = self._images[self.slots, : self.kind.image_size]
        self.slots = np.arange(len(self.cells))

    def rule(self, row: int) -> Rule:
        return self.codec.rule_of(self._images[self.slots[row]].data)[0]

    def counted(self, rows: Sequence[int]) -> Iterator[Counted]:
        """Those of these rows, with what they counted by now."""
        sums = self._count(self.cells[rows]).tolist() if self._count else [(None, None)] * len(rows)
        for row, (packets, byte_count, *sizes) in zip(rows, sums, strict=True):
            yield Counted(self.rule(row), packets, byte_count, sizes)

    def counts(self, rows: Array) -> Array | None:
        """What these rows counted by now: packets, bytes, sizes; None where they do not."""
        return self._count(self.cells[rows]) if self._count is not None else None

    def image_part(self, at: int, count: int, rows: Any = slice(None)) -> Array:
        """So many bytes of each row's image: [row, byte]."""
        found: Array = self._images[self.slots[rows], at : at + count]
        return found

    def head(self, name: str, rows: Array) -> Array:
        """A field of the head of these rows' images."""
        return of_heads(name, self._images, self.slots[rows])

    def said_names(self, rows: Array) -> list[bytes]:
        """The names of these rows, where the kind has any."""
        data = np.ascontiguousarray(self._images[self.slots[rows], _NAME])
        found: list[bytes] = data.view(f"S{NAME_SIZE}")[:, 0].tolist()
        return found

    def rows_of(self, id_: int) -> range:
        """The rules of an id."""
        first, last = np.searchsorted(self.ids, [id_, id_ + 1])
        return range(int(first), int(last))

    @cached_property
    def names(self) -> dict[str, int]:
        """Rows by folded name."""
        if not self.kind.named:
            return {}
        data = np.ascontiguousarray(self._images[self.slots, _NAME])
        names = data.view(f"S{NAME_SIZE}")[:, 0].tolist()
        spelled = (name.decode(errors="replace") for name in names)
        return {fold(name): row for row, name in enumerate(spelled) if name}


def spoken_of(manifest: Manifest, kinds: Collection[str]) -> set[str]:
    """The kinds that the texts of rules of these kinds may speak of, and those with names."""
    found = {kind.name for kind in manifest.rules if kind.named}
    more = set(kinds)
    while more:
        found |= more
        rules = [rule for rule in manifest.rules if rule.name in more]
        more = {to for rule in rules for to in _references(manifest, rule)} - found
    return found


def _references(manifest: Manifest, kind: RuleKind) -> Iterator[str]:
    yield from kind.alternatives
    if kind.spread is not None:
        yield kind.spread.kind
    for name in kind.gives:
        yield from (to for to in manifest.element(name).references if to != "port")


def _may_own(kind: RuleKind, kinds: Collection[str]) -> bool:
    """Whether a rule of this kind may own one of these."""
    spread = (kind.spread.kind,) if kind.spread is not None else ()
    return any(each in kinds for each in (*kind.alternatives, *spread))


class Moment:
    """All of them, or those of some kinds, and what texts need: `get`, `group`, `by_name`, `kinds`
    and `port_names`, as a rule book has them."""

    def __init__(
        self, manifest: Manifest, revision: int, ports: Mapping[str, int],
        read: Callable[[RuleKind], Rules], kinds: Collection[str] = (),
    ) -> None:  # fmt: skip
        """`read`: those of a kind; `kinds`: of these only."""
        self.manifest, self.revision = manifest, revision
        self.tables = {k.name: read(k) for k in manifest.rules if not kinds or k.name in kinds}
        owned = {name for name, table in self.tables.items() if table.owned}
        # Of the kinds of their owners no more than ids and sequences are read.
        self._owners = [
            self.tables[k.name] if k.name in self.tables else read(k)
            for k in manifest.rules if _may_own(k, owned)
        ]  # fmt: skip
        self.kinds = {r.name: Kind(manifest, r, ports) for r in manifest.rules}
        self.port_names = {number: name for name, number in ports.items()}

    def __len__(self) -> int:
        return sum(map(len, self.tables.values()))

    def __iter__(self) -> Iterator[Counted]:
        """By kind and id."""
        for table in self.tables.values():
            yield from table.counted(range(len(table)))

    def detach(self) -> Moment:
        """Let nothing that is written from now on be seen."""
        for table in self.tables.values():
            table.detach()
        return self

    def get(self, kind: str, id_: int) -> Rule | None:
        """The rule of that id; of a grouped kind the oldest of that id."""
        table = self.tables.get(kind)
        rows = table.rows_of(id_) if table is not None else ()
        return table.rule(rows[0]) if table is not None and rows else None

    def owner_of(self, rule: Rule) -> Reference | None:
        """The rule that owns it."""
        for table in self._owners if rule.owner else ():
            sequences, ids = table.by_sequence
            at = int(np.searchsorted(sequences, np.uint64(rule.owner)))
            if at < len(sequences) and int(sequences[at]) == rule.owner:
                return Reference(table.kind.name, int(ids[at]))
        return None

    def owners_of(self, sequences: Array) -> Iterator[tuple[str, Array, Array]]:
        """By kind the ids of the rules of these sequences, and where there are any."""
        for table in self._owners:
            known, ids = table.by_sequence
            if len(known):
                at = np.minimum(np.searchsorted(known, sequences), len(known) - 1)
                yield table.kind.name, ids[at].astype(np.uint64), known[at] == sequences

    def group(self, kind: str, id_: int) -> list[Rule]:
        """The rules of that id, oldest first."""
        table = self.tables.get(kind)
        return [table.rule(row) for row in table.rows_of(id_)] if table is not None else []

    def by_name(self, kind: str, name: str) -> Rule | None:
        table = self.tables.get(kind)
        row = table.names.get(fold(name)) if table is not None else None
        return table.rule(row) if table is not None and row is not None else None
