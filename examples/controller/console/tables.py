"""What agents say at one moment, as tables: items by quantities, with facts about each item.

A table of the group "overlay" has a row an overlay and a column a quantity (delay, jitter …),
float32, NaN where nobody knows. Names come from agents: they are text, and never anything else.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]


class Key(NamedTuple):
    """A table of an edge: `pipeline` is empty for what is the agent's."""

    pipeline: str
    group: str


class Series(NamedTuple):
    """One line of a plot."""

    pipeline: str
    group: str
    item: str
    quantity: str

    @property
    def key(self) -> Key:
        return Key(self.pipeline, self.group)


#: The quantities of each group, with their units, and what facts its items have.
QUANTITIES: Mapping[str, Mapping[str, str]] = {
    "port": {"rx_packets": "packets/s", "rx_bits": "bit/s", "rx_drops": "packets/s",
             "tx_packets": "packets/s", "tx_bits": "bit/s", "tx_drops": "packets/s"},
    "overlay": {"delay": "s", "jitter": "s", "loss": "ratio", "packets": "packets/s",
                "bits": "bit/s", "share": "ratio"},
    "session": {"forward": "s", "backward": "s", "round_trip": "s", "jitter": "s", "loss": "ratio",
                "sent": "packets/s"},
    "counter": {"packets": "packets/s"},
    "kind": {"packets": "packets/s", "bits": "bit/s"},
    "rule": {"packets": "packets/s", "bits": "bit/s"},
    "slice": {"packets": "packets/s", "bits": "bit/s"},
    "queue": {"diverted": "ratio"},
    "emitted": {"emitted": "1/s", "suppressed": "1/s", "unwritten": "1/s"},
    "state": {"entries": "entries"},
}  # fmt: skip
FACTS: Mapping[str, tuple[str, ...]] = {
    "port": ("role", "interface", "state"),
    "overlay": ("kind", "id", "state", "since", "by"),
    "session": ("ssid", "reflector", "running", "sent", "answered", "lost", "late", "duplicates",
                "reordered", "invalid", "why"),
    "counter": ("total",),
    "kind": ("rules", "capacity", "read"),
    "rule": (),
    "slice": ("state", "why"),
    "queue": (),
    "emitted": ("total",),
    "state": ("capacity",),
}  # fmt: skip


#: Letters of a name or a text of an agent: each is shown, sent and kept shortened to that.
LONGEST = 400


def shortened(told: Any) -> Any:
    """What an agent said, of which no text is longer, however deep it stands."""
    if isinstance(told, str):
        return told if len(told) <= LONGEST else f"{told[: LONGEST - 1]}…"
    if isinstance(told, dict):
        return {shortened(key): shortened(value) for key, value in told.items()}
    if isinstance(told, list | tuple):
        return type(told)(map(shortened, told))
    return told


@dataclass(frozen=True)
class Table:
    """`items` are distinct; `values` has a row for each, a column a quantity; `facts` a tuple."""

    items: tuple[str, ...]
    values: Array
    facts: Sequence[tuple[Any, ...]]


def table(group: str, items: Sequence[str], values: Any, facts: Sequence[tuple[Any, ...]]) -> Table:
    """`values`: a row for each item, in the order of `QUANTITIES`. Of two items with the same name
    the first counts."""
    items, facts = shortened([*items]), shortened([*facts])
    rows = np.asarray(values, np.float32).reshape(len(items), len(QUANTITIES[group]))
    first = {item: n for n, item in reversed(list(enumerate(items)))}
    if len(first) < len(items):
        kept = sorted(first.values())
        return table(group, [items[n] for n in kept], rows[kept], [facts[n] for n in kept])
    return Table(tuple(items), rows, facts)


class Rates:
    """Rates from counts that only grow. What shrinks was counted anew: its rate is not known."""

    def __init__(self) -> None:
        self._last: dict[Key, tuple[float, dict[str, int], Array]] = {}

    def of(self, key: Key, items: Sequence[str], counts: Array, now: float) -> Array:
        """A second of time in which each count grew; NaN of what was not there at the last look.
        `now`: seconds of a clock that nobody sets."""
        rates = np.full(counts.shape, np.nan, np.float32)
        before = self._last.get(key)
        self._last[key] = now, {item: row for row, item in enumerate(items)}, counts
        if before is None or not len(items) or now <= before[0]:
            return rates
        then, rows, last = before
        if last.shape[1:] != counts.shape[1:]:
            return rates
        here = [row for row, item in enumerate(items) if item in rows]
        there = [rows[items[row]] for row in here]
        grown = (counts[here] - last[there]) / (now - then)
        rates[here] = np.where(grown >= 0, grown, np.nan)
        return rates

    def keep(self, keys: set[Key]) -> None:
        """Forget all others."""
        self._last = {key: last for key, last in self._last.items() if key in keys}
