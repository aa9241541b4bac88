"""A loaded pipeline seen from outside, while whoever writes it goes on."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from contextlib import ExitStack
from ipaddress import ip_address
from typing import NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from ..compiler.manifest import (
    SEEN,
    Counter,
    Manifest,
    ManifestError,
    RuleKind,
    Slot,
    State,
    from_json,
)
from ..compiler.requests.rulebook import RuleBook
from ..compiler.requests.rules import Rule
from . import faults
from .handles import BpfError, Map
from .images import ImageCodec
from .releases import pick, read_about, release_of
from .report import Entry
from .sums import read_sums
from .tables import EPOCHS, SLOT

_ATTEMPTS = 100
_Result = TypeVar("_Result")


class Counted(NamedTuple):
    """A rule and what it counted; None where its kind does not count."""

    rule: Rule
    packets: int | None
    octets: int | None


class Reader:
    """Reads only, and needs no lock. Close it."""

    def __init__(self, name: str = "") -> None:
        """`name` may be left out if one pipeline is loaded. Raises `Refused`."""
        self.name = pick(name)
        self._owned = ExitStack()
        self._maps: dict[str, Map] = {}
        self._views: dict[str, memoryview] = {}
        try:
            about = read_about(self.name)
            self._maps_at = release_of(self.name, about["release"]) / "maps"
            self.manifest: Manifest = from_json(about["manifest"])
            self.port_numbers = {p["name"]: p["number"] for p in about["ports"]}
            self.interfaces = {p["name"]: p["interface"] for p in about["ports"]}
        except BpfError as error:
            doing = f"read the pipeline `{self.name}`"
            raise faults.refused(faults.of_kernel(error, doing)) from error
        except ManifestError as error:
            raise faults.refused(faults.damaged(self.name, str(error))) from None

    def close(self) -> None:
        """May be called again."""
        self._owned.close()

    def __enter__(self) -> Reader:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def map(self, name: str) -> Map:
        """One of the pipeline's maps, by its whole name; owned by this."""
        if name not in self._maps:
            self._maps[name] = self._owned.enter_context(Map.open_pinned(self._maps_at / name))
        return self._maps[name]

    # ---- what there is ----------------------------------------------------------------------

    def events(self) -> list[tuple[Counter, int]]:
        """Every event's count, summed over the CPUs."""
        sums = read_sums(self.map("events"), len(self.manifest.counters))[:, 0].tolist()
        return list(zip(self.manifest.counters, sums, strict=True))

    def rules(self) -> list[Counted]:
        """Every rule of one moment between two transactions, by kind and id, with its counters."""
        return self.moment()[1]

    def moment(self) -> tuple[int, list[Counted]]:
        """The revision of a moment, and its rules."""
        return self._consistent(
            lambda epoch: [c for kind in self.manifest.rules for c in self._of(kind, epoch)]
        )

    def occupancy(self) -> tuple[int, dict[str, int]]:
        """The revision of a moment, and how many rules each kind had."""
        return self._consistent(
            lambda epoch: {
                kind.name: int(np.count_nonzero(self._slots(kind, epoch)))
                for kind in self.manifest.rules
            }
        )

    def _consistent(self, read: Callable[[int], _Result]) -> tuple[int, _Result]:
        """What `read` finds in maps that nobody changed meanwhile."""
        control = self.map("control").mmap().cast("Q")
        try:
            for _ in range(_ATTEMPTS):
                epoch = control[0]
                found = read(epoch)
                if control[0] == epoch:
                    break
            return epoch, found
        finally:
            control.release()

    def entries(self, state: State) -> list[Entry]:
        """What packets left in a state table, each with its age in seconds (None: it has none)."""
        now = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
        found = []
        for key, entry in self.map(f"{state.prefix}_state").items():
            slots = [(s, key[s.offset : s.offset + s.size]) for s in state.match]
            slots += [(s, entry[s.offset : s.offset + s.size]) for s in state.gives]
            seen = int.from_bytes(entry[:SEEN], "little")
            values = tuple((s.name, self._shown(s, octets)) for s, octets in slots)
            found.append(Entry(values, (now - seen) / 1e9 if state.ages else None))
        return sorted(found)

    def _shown(self, slot: Slot, octets: bytes) -> str:
        if slot.type == "port":
            number = int.from_bytes(octets, sys.byteorder)
            return next((n for n, p in self.port_numbers.items() if p == number), str(number))
        number = int.from_bytes(octets, "big")
        if slot.type == "mac":
            return number.to_bytes(6, "big").hex(":")
        if slot.type in ("ip4", "ip6"):
            return str(ip_address(octets))
        return str(number)

    def book(self, rules: list[Counted]) -> RuleBook:
        """A rule book of these, for names and texts."""
        book = RuleBook(self.manifest, self.port_numbers)
        book.restore(c.rule for c in rules)
        return book

    def _slots(self, kind: RuleKind, epoch: int) -> npt.NDArray[np.uint64]:
        """By cell the slot of its rule, 0 without."""
        cells = np.frombuffer(self._memory(f"{kind.prefix}_cells"), dtype="<u8").copy()
        cells[0] = 0  # the directory's
        ahead = ((epoch & (EPOCHS - 1)) - (cells >> 48).astype(np.int64)) % EPOCHS
        return np.where(ahead < EPOCHS // 2, cells >> 24 & SLOT, cells & SLOT)

    def _of(self, kind: RuleKind, epoch: int) -> list[Counted]:
        slots = self._slots(kind, epoch)
        live = np.flatnonzero(slots)
        if not len(live):
            return []
        sums = None
        if kind.counts:
            sums = read_sums(self.map(f"{kind.prefix}_counts"), int(live[-1]) + 1)
        codec, images = ImageCodec(self.manifest, kind), self._memory(f"{kind.prefix}_images")
        stride = self.map(f"{kind.prefix}_images").spec.stride
        found = []
        for cell in live.tolist():
            at = int(slots[cell]) * stride
            try:
                rule, _ = codec.rule_of(images[at : at + kind.image_size])
            except (ValueError, IndexError):
                continue  # overtaken by a writer: this round is read again
            packets, octets = sums[cell].tolist() if sums is not None else (None, None)
            found.append(Counted(rule, packets, octets))
        return sorted(found, key=lambda c: (c.rule.id, c.rule.sequence))

    def _memory(self, name: str) -> memoryview:
        if name not in self._views:
            self._views[name] = self.map(name).mmap()
        return self._views[name]
