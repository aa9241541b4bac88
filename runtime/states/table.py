"""A state table of a loaded pipeline, as it is read and changed from outside."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager

import numpy as np

from ...lang.contract.manifest.manifest import Manifest, Slot, State
from ...lang.contract.rules.ie_values import fold, spell
from ..base.errors import of_kernel, refused
from ..kernel.handles import BpfError, Map, Program
from . import errors, registers
from .entry import Entry, Where
from .filters import Filter, key_of, slot_bytes, words_at
from .kept_rules import KeptRules
from .removal import load_remover, remove_lines
from .storage import SEED, Array, Part, are_old, read_key, read_parts, seen_of

#: Attempts to delete the entry of a key, which may become another one meanwhile.
_ATTEMPTS = 100


class StateTable:
    """While packets use it. Every method may raise `Refused`, about what is asked, and BpfError."""

    def __init__(
        self, table: Map, state: State, ports: Mapping[str, int], seed: int, rules: KeptRules
    ) -> None:
        """`ports`: numbers by name; `seed`: of the keys' hash; `rules`: that entries keep."""
        self._table, self.state, self._ports, self._seed = table, state, ports, seed
        self._rules = rules

    def count(self) -> tuple[int, int]:
        """Entries, and how many of them are too old to be found."""
        entries = expired = 0
        for part in read_parts(self._table, self.state):
            entries += len(part.keys)
            expired += int(np.count_nonzero(are_old(self.state, part.entries, _now())))
        return entries, expired

    def entries(self, where: Where = ()) -> Iterator[Entry]:
        """Those that packets find and that are meant: some thousands at a time, these by key."""
        meant = Filter(self.state, self._ports, where, self._rules)
        for part in read_parts(self._table, self.state):
            found = self._found(part)
            found = found.only(meant.passes(found))
            yield from self._shown(found.only(_by_key(found.keys)))

    def entry(self, where: Where) -> Entry:
        """The entry of a key. Raises `Refused` where there is none, too."""
        key = key_of(self.state, self._ports, where, self._rules)
        found = list(self._shown(self._found(self._of_key(key))))
        if not found:
            raise refused(errors.no_such_entry(self.state))
        return found[0]

    def delete(self, where: Where, program: Program | None = None) -> None:
        """Delete the entry of a key. `program`: of `remover`, if there is one by now. Raises
        `Refused` where packets find none, too."""
        key = key_of(self.state, self._ports, where, self._rules)
        with self._removing(program) as remove:
            for _ in range(_ATTEMPTS):
                part = self._of_key(key)
                if not len(part.keys) or remove(part):
                    break
            # Of all attempts: each one that was there is gone, by packets or by this.
        if not len(self._found(part).keys):
            raise refused(errors.no_such_entry(self.state))

    def flush(self, where: Where = (), program: Program | None = None) -> int:
        """Delete the entries that are meant. Returns how many packets could find; those that are
        too old go, too. `program`: as above, for the same."""
        meant, deleted = Filter(self.state, self._ports, where, self._rules), 0
        with self._removing(program, meant.given) as remove:
            for part in read_parts(self._table, self.state):
                fits, old = meant.passes(part), are_old(self.state, part.entries, _now())
                deleted += remove(part.only(fits & ~old))
                remove(part.only(fits & old))
        return deleted

    def remover(self, where: Where = ()) -> Program | None:
        """The program that deletes entries for which this is said, where it takes one. Close it."""
        given = Filter(self.state, self._ports, where, self._rules).given
        if not self.state.in_place:
            return None
        with self._deleting():
            return load_remover(self._table, self.state, given)

    # ---- parts ------------------------------------------------------------------------------

    def _of_key(self, key: bytes) -> Part:
        return read_key(self._table, self.state, key, self._seed)

    def _found(self, part: Part) -> Part:
        """Those that packets find."""
        return part.only(~are_old(self.state, part.entries, _now()))

    @contextmanager
    def _removing(
        self, program: Program | None, given: Iterable[Slot] = ()
    ) -> Iterator[Callable[[Part], int]]:
        """What deletes entries that were read, and says how many."""
        state = self.state
        with ExitStack() as owned, self._deleting():
            if state.shape:
                yield lambda part: registers.clear(self._table, part.lines)
                return
            if not state.in_place:
                yield lambda part: self._table.delete_batch(part.keys.tobytes())
                return
            run = program or owned.enter_context(load_remover(self._table, state, given))
            yield lambda part: remove_lines(run, state, part.lines)

    @contextmanager
    def _deleting(self) -> Iterator[None]:
        """Raises `Refused` in the place of BpfError."""
        try:
            yield
        except BpfError as error:
            raise refused(of_kernel(error, f"delete entries of `{self.state.name}`")) from error

    def _shown(self, part: Part) -> Iterator[Entry]:
        state, now = self.state, _now()
        slots = [(s, False) for s in state.match] + [(s, True) for s in state.gives]
        columns = [
            self._rules.named(s, slot_bytes(part, s, given))
            if s.type == "rule"
            else self._texts(s, words_at(part, s, given))
            for s, given in slots
        ]
        names = [slot.name for slot, _ in slots]
        ages = [(now - seen) / 1e9 for seen in seen_of(part.entries).tolist()]
        for age, *values in zip(ages, *columns, strict=True):
            yield Entry(tuple(zip(names, values, strict=True)), age if state.aging else None)

    def _texts(self, slot: Slot, words: list[Array]) -> Iterator[str]:
        """As the language writes them."""
        numbers = words[-1].tolist()
        if len(words) > 1:
            upper = words[0].tolist()
            numbers = [high << 64 | low for high, low in zip(upper, numbers, strict=True)]
        if slot.type == "port":
            names = {number: name for name, number in self._ports.items()}
            return (names.get(number, f"port.{number}") for number in numbers)
        return (spell(slot.type, number) for number in numbers)


def table_of(
    manifest: Manifest, maps: Mapping[str, Map], ports: Mapping[str, int], name: str
) -> StateTable:
    """By its name in any spelling, of a loaded pipeline. Raises `Refused`."""
    states = manifest.states
    found = next((s for s in states if fold(s.name) == fold(name)), None)
    if found is None:
        raise refused(errors.no_such_state(name, [s.name for s in states]))
    control = maps["control"].lookup(bytes(4)) or b""
    seed = int.from_bytes(control[8 * SEED : 8 * SEED + 8], "little")
    rules = KeptRules(manifest, maps)
    return StateTable(maps[f"{found.prefix}_state"], found, ports, seed, rules)


def _by_key(keys: Array) -> Array:
    """The order of rows by their bytes."""
    return np.argsort(np.ascontiguousarray(keys).view(f"S{keys.shape[1]}")[:, 0], kind="stable")


def _now() -> int:
    """Nanoseconds. Read behind entries: none is of the future."""
    return time.clock_gettime_ns(time.CLOCK_MONOTONIC)
