"""Entries of state tables as they are shown, as text and as JSON; quick to import."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from ...lang.contract.manifest.manifest import State


#: Slots and what they are to be, as text.
Where = Sequence[tuple[str, str]]


class Entry(NamedTuple):
    """An entry of a state table: names and values, and how many seconds ago it was remembered
    (None where that is not kept)."""

    values: tuple[tuple[str, str], ...]
    age: float | None


class StateCount(NamedTuple):
    """How full a state table is. `entries`: also those that are too old to be found, which are
    `expired`. `evicted`, `lost`: see semantics.md; None where they are not counted."""

    state: str
    entries: int
    capacity: int
    expired: int = 0
    evicted: int | None = None
    lost: int | None = None


def entry_lines(entries: Iterable[Entry]) -> Iterator[str]:
    """A head, and a line an entry, with a column a slot. Some are looked at to see how wide these
    are; what comes later may be wider."""
    there, some = iter(entries), list[Sequence[str]]()
    for entry in there:
        if not some:
            names = [name for name, _ in entry.values]
            some.append(names + [_age_key(names)] * (entry.age is not None))
        some.append(_cells(entry))
        if len(some) > _SOME:
            break
    widths = [max(map(len, column)) for column in zip(*some, strict=True)]
    for cells in chain(some, map(_cells, there)):
        yield "  ".join(map(str.ljust, cells, widths)).rstrip()
    if not some:
        yield "no entries"


_SOME = 1000


def _cells(entry: Entry) -> Sequence[str]:
    values = [value for _, value in entry.values]
    return values + ([f"{entry.age:.0f} s"] if entry.age is not None else [])


def entry_json(entry: Entry, state: State) -> dict[str, Any]:
    """Its slots by name, numbers as such; addresses and ports as text."""
    slots = (*state.match, *state.gives)
    numbers = {slot.name for slot in slots if slot.type[0] == "u"}
    made: dict[str, Any] = {
        name: int(value) if name in numbers else value for name, value in entry.values
    }
    if entry.age is not None:
        made[_age_key(slot.name for slot in slots)] = round(entry.age, 1)
    return made


def _age_key(names: Iterable[str]) -> str:
    """What an entry's own age is called, where a slot may have that name: no slot has a dot."""
    return "age" if "age" not in names else "entry.age"


def state_rows(counts: Sequence[StateCount], states: Sequence[State]) -> list[Sequence[str]]:
    """A row a state table: what `STATE_HEAD` says."""
    ages = {state.name: _ages(state) for state in states}
    return [
        (c.state, f"{c.entries:,}", f"{c.expired:,}", f"{c.capacity:,}", _count(c.evicted),
         _count(c.lost), ages.get(c.state, ""))
        for c in counts
    ]  # fmt: skip


STATE_HEAD = ("state", "entries", "expired", "of", "evicted", "lost", "ages")


def _count(value: int | None) -> str:
    return "-" if value is None else f"{value:,}"


def _ages(state: State) -> str:
    if not state.aging:
        return "-"
    return (state.lifetime or f"{state.ages:,} s") + " idle" * state.idle


def state_json(count: StateCount, state: State) -> dict[str, Any]:
    """What there is of it, and how it is declared."""
    return count._asdict() | {
        "match": [slot.name for slot in state.match],
        "gives": [slot.name for slot in state.gives],
        "ages": state.lifetime or state.ages or None,
        "idle": state.idle,
        **({"shape": list(state.shape)} if state.shape else {}),
    }
