"""How rules lie in maps that a card has: HASH and ARRAY, of small elements."""

from __future__ import annotations

from dataclasses import replace

from ...lang.contract.manifest import manifest as m
from ..model import RuleKind
from .fixed import FIXED_MOST
from .layout import Table

#: Masks in use at a time, of kinds whose rules can lie under more than can be asked one by one. A
#: packet is looked for under each of them.
MASKS_MOST = 16
#: Values of a match element that index an array, where the kind has room for all of them.
INDEXED_MOST = 1 << 12


def offloaded(tables: tuple[Table, ...]) -> tuple[Table, ...]:
    """The tables as a card keeps them. Kinds that it cannot find at all keep a description that
    nothing uses: `nfp.py` refuses them."""
    referred = {choice for t in tables for member in t.manifest.record for choice in member.choices}
    return tuple(_offloaded(table, table.rule.name in referred) for table in tables)


def _offloaded(table: Table, referred: bool) -> Table:
    kind, rule = table.manifest, table.rule
    way = _way(table)
    ranked = way == "masked" or (way == "hash" and _ties(kind))
    at = kind.record_size
    rank_at = at if ranked else None
    at += 8 * ranked
    cell_at, at = at, at + 4
    key_at = at if way == "hashed" else None
    at += kind.key_size * (way == "hashed")
    size = (at + 7) // 8 * 8
    described = m.Offload(way, size, cell_at, rank_at, key_at, referred and not rule.grouped)
    entries = {"hash": rule.capacity, "hashed": rule.capacity, "masked": rule.capacity, "none": 0}
    if way == "array":
        entries["array"] = 1 << kind.match[0].width
    return replace(
        table,
        manifest=replace(
            kind, cells=rule.capacity + 1, records=rule.capacity + 1, entries=entries[way],
            filter=0, counts_at=None, meters_at=None, by_cell=False, halves=False, buckets=0,
            two_cells=False, small_indexes=0, spare_buckets=0, vectors=0, offload=described,
            tuples=MASKS_MOST if way == "masked" else kind.tuples,
        ),
    )  # fmt: skip


def _way(table: Table) -> m.Way:
    kind = table.manifest
    if not kind.match:
        return "none"
    if table.rule.hashed:
        return "hashed"
    if 1 << sum(match.kind == "optional" for match in table.rule.match) > FIXED_MOST:
        return "masked"
    return "array" if _indexed(table.rule) else "hash"


def _indexed(rule: RuleKind) -> bool:
    """Whether a value's number is its place in an array."""
    (first, *more) = rule.match
    values = 1 << first.element.width
    return not more and first.kind == "exact" and values <= min(rule.capacity, INDEXED_MOST)


def _ties(kind: m.RuleKind) -> bool:
    """Whether rules under two masks may be as specific, so that the older one wins."""
    from .fixed import fixed_tuples

    tuples = fixed_tuples(kind)
    return any(not t.last for t in tuples)


def maps_of(tables: tuple[Table, ...]) -> list[tuple[Table, str, int, int, int]]:
    """(kind, map name's suffix, key bytes, value bytes, entries) of each map of a rule kind."""
    found = []
    for table in tables:
        kind, how = table.manifest, table.manifest.offload
        assert how is not None
        if how.way != "none":
            key = 4 if how.way in ("array", "hashed") else kind.key_size
            found.append((table, "entries", key, how.size, kind.entries))
        if how.way == "masked":
            found.append((table, "masks", 4, (kind.key_size + 7) // 8 * 8 + 8, kind.tuples))
        if how.referred:
            found.append((table, "records", 4, how.size, kind.cells))
        if kind.counts:
            found.append((table, "counts", 4, 16, kind.cells))
    return found
