"""Entries deleted beside packets: nothing that came later goes, and no packet is credited to
another key."""

from __future__ import annotations

import os
import random
import signal
import threading
from collections.abc import Callable, Iterable, Iterator
from errno import EINTR
from functools import partial

import kept
import numpy as np
import pytest
from at_once import at_once
from helioc.lang.contract.manifest.manifest import Slot, State
from helioc.runtime.kernel.handles import BpfError, Program
from helioc.runtime.states.filters import Filter
from helioc.runtime.states.removal import load_remover, remove_lines
from helioc.runtime.states.storage import Part, read_key, read_parts, words_of
from kept import COUNT, FEW, FLOW, HEARD, RECALL, Kept, frame

pytestmark = pytest.mark.usefixtures("kernel")

PACKETS = 200_000


def slot(state: State, entries: np.ndarray, name: str) -> list[int]:
    found = next(s for s in state.gives if s.name == name)
    numbers: list[int] = words_of(entries[:, found.offset : found.offset + found.size])[-1].tolist()
    return numbers


def key_numbers(part: Part) -> list[int]:
    numbers: list[int] = words_of(part.keys[:, :4])[-1].tolist()
    return numbers


def whole(tables: Kept, name: str) -> Part:
    parts = read_parts(tables.map(name), tables.state(name))
    return Part(*map(np.concatenate, zip(*parts, strict=True)))


class LineRemover:
    """Of a state. `given`: see `load_remover`."""

    def __init__(self, tables: Kept, name: str, given: Iterable[Slot] = ()) -> None:
        self._state = tables.state(name)
        self._program = load_remover(tables.map(name), self._state, given)

    def remove(self, lines: np.ndarray) -> int:
        return remove_lines(self._program, self._state, lines)

    def __enter__(self) -> LineRemover:
        return self

    def __exit__(self, *_: object) -> None:
        self._program.close()


# ---- what was read is not there any more --------------------------------------------------------


def test_a_line_that_is_anothers_by_now_stays(tables: Kept) -> None:
    """Eight lines, and eighty keys one after the other."""
    for number in range(8):
        tables.send(frame(FEW, number=number))
    before = whole(tables, "FEW")
    with LineRemover(tables, "FEW") as remover:
        for number in range(100, 180):
            tables.send(frame(FEW, number=number))
        left = whole(tables, "FEW")
        assert remover.remove(before.lines) == 0
        assert (whole(tables, "FEW").lines == left.lines).all()
        # The same keys again, in other lines or later: they are other entries.
        for number in range(8):
            tables.send(frame(FEW, number=number))
        assert remover.remove(before.lines) == 0
        assert sorted(key_numbers(whole(tables, "FEW"))) == list(range(8))
        assert remover.remove(whole(tables, "FEW").lines) == 8
        assert remover.remove(whole(tables, "FEW").lines) == 0


def test_a_line_whose_slots_changed_stays(tables: Kept) -> None:
    """Of those slots that were asked for only."""
    tables.send(frame(FLOW, number=1))
    state, before = tables.state("FLOW"), whole(tables, "FLOW")
    tables.send(frame(FLOW, number=1), times=3)
    packets, lifetime = (
        next(s for s in state.gives if s.name == n) for n in ("packets", "lifetime")
    )
    for given, removed in ((packets, 0), (lifetime, 1)):
        with LineRemover(tables, "FLOW", [given]) as remover:
            assert remover.remove(before.lines) == removed


def test_every_slot_can_be_asked_for(tables: Kept) -> None:
    """Of any size and place: the program loads, and compares all of it."""
    for name in ("FLOW", "COUNT", "FEW"):
        state = tables.state(name)
        tables.send(frame({"FLOW": FLOW, "COUNT": COUNT, "FEW": FEW}[name]))
        before = whole(tables, name)
        for given in state.gives:
            for byte in range(given.size):
                changed = before.lines.copy()
                at = changed.shape[1] - state.entry_size + given.offset + byte
                changed[:, at] ^= 1
                with LineRemover(tables, name, [given]) as remover:
                    assert remover.remove(changed) == 0
        with LineRemover(tables, name, state.gives) as remover:
            assert remover.remove(before.lines) == 1


@pytest.mark.parametrize("changed", range(24), ids=lambda at: f"byte {at}")
def test_what_names_no_line_deletes_none(tables: Kept, changed: int) -> None:
    """Of the place, the generation and the key: also sets and lines that there are not."""
    tables.send(frame(FLOW, "1.2.3.4", 5))
    lines = whole(tables, "FLOW").lines.copy()
    if changed in (
        22,
        23,
    ):  # behind the key's slots: in front of the entry, part of the key's words
        assert not lines[:, changed].any()
    lines[:, changed] ^= 0xFF
    with LineRemover(tables, "FLOW") as remover:
        assert remover.remove(lines) == 0
    assert tables.table("FLOW").count() == (1, 0)


def test_a_signal_loses_nothing(tables: Kept, monkeypatch: pytest.MonkeyPatch) -> None:
    """That ends nothing: the kernel gives up the runs, and they are begun again."""
    for number in range(20):
        tables.send(frame(FLOW, number=number))
    real, interrupted = Program.test_run, list[int]()

    def run(program: Program, data: bytes, *, repeat: int) -> object:
        if len(interrupted) < 3:
            interrupted.append(1)
            if len(interrupted) == 2:
                real(program, data, repeat=repeat)  # and is told too late
            raise BpfError("run", EINTR)
        return real(program, data, repeat=repeat)

    monkeypatch.setattr(Program, "test_run", run)
    assert tables.table("FLOW").flush() < 20 and tables.table("FLOW").count() == (0, 0)


# ---- two CPUs -----------------------------------------------------------------------------------


class Sending:
    """Packets on one CPU, while there is `work` on another."""

    def __init__(self, tables: Kept, work: Callable[[], None]) -> None:
        self._tables, self._work, self._ended = tables, work, threading.Event()
        self.rounds = 0

    def go(self, frame: bytes, times: int = 10) -> int:
        """Returns how many packets there were."""
        at_once(partial(self._send, frame, times), self._change)
        return times * PACKETS // 10

    def _send(self, frame: bytes, times: int) -> None:
        try:
            for _ in range(times):
                self._tables.send(frame, times=PACKETS // 10)
        finally:
            self._ended.set()

    def _change(self) -> None:
        while not self._ended.is_set():
            self._work()
            self.rounds += 1


def test_every_packet_is_in_an_entry_or_was_deleted_with_one(tables: Kept) -> None:
    """To the last: what was deleted held, in that moment, what it was deleted for holding. Of 81
    keys some have no packet between being read and being deleted."""
    state, table, deleted = tables.state("COUNT"), tables.map("COUNT"), list[int]()
    keys = [key.to_bytes(4, "big") + bytes(4) for key in range(1001, 1163, 2)]

    with LineRemover(tables, "COUNT", [state.gives[0]]) as remover:

        def delete() -> None:
            for key in random.sample(keys, len(keys)):
                found = read_key(table, state, key, kept.SEED_OF_KEYS)
                if len(found.lines) and remover.remove(found.lines):
                    (sum_,) = slot(state, found.entries, "n")
                    deleted.append(sum_ // int.from_bytes(key[:4], "big"))

        sending = Sending(tables, delete)
        packets = sending.go(frame(COUNT, tos=5), 100)
    part, events = whole(tables, "COUNT"), tables.events()
    sums, numbers = slot(state, part.entries, "n"), key_numbers(part)
    assert slot(state, part.entries, "key_again") == numbers
    assert all(n % key == 0 for n, key in zip(sums, numbers, strict=True))
    assert not events["count", "another"] and not events["count", "wrong"]
    assert len(deleted) > 100 and not events["evicted", "COUNT"]
    left = sum(n // key for n, key in zip(sums, numbers, strict=True))
    assert left + sum(deleted) + events["lost", "COUNT"] == packets


@pytest.mark.parametrize("where", [(), (("key", "0..0x7fff"),), (("n", "5000..9999999"),)],
                         ids=["all", "by key", "by what they hold"])  # fmt: skip
def test_a_flush_beside_packets(tables: Kept, where: tuple[tuple[str, str], ...]) -> None:
    """No packet is credited to another key, and what is there at the end goes by the next flush."""
    table, flushed = tables.table("COUNT"), list[int]()
    sending = Sending(tables, lambda: flushed.append(table.flush(where)))
    sending.go(frame(COUNT, tos=200))
    events, part, state = tables.events(), whole(tables, "COUNT"), tables.state("COUNT")
    assert not events["count", "another"] and not events["count", "wrong"]
    # On a slow machine what an entry holds may never stay for as long as it takes.
    assert sum(flushed) > 0 or "n" in dict(where)
    assert slot(state, part.entries, "key_again") == key_numbers(part)
    assert table.flush() == len(part.keys) and table.count() == (0, 0)


def test_the_entry_of_a_key_is_deleted_beside_its_packets(tables: Kept) -> None:
    """Which put it there again: it is there or not, and counts its own packets only."""
    table, key, gone = tables.table("FEW"), [("key", "7")], list[bool]()

    def delete() -> None:
        try:
            table.delete(key)
            gone.append(True)
        except Exception as error:
            assert "H0719" in str(error)

    Sending(tables, delete).go(frame(FEW, number=7))
    assert len(gone) > 3 and len(whole(tables, "FEW").keys) <= 1


def test_a_flush_of_the_kernels_map_beside_packets(tables: Kept) -> None:
    table, flushed = tables.table("HEARD"), list[int]()
    sending = Sending(tables, lambda: flushed.append(table.flush([("vni", "9")])))
    tables.send(frame(HEARD, number=8))
    sending.go(frame(HEARD, number=9))
    assert sum(flushed) > 3
    tables.send(frame(RECALL, number=8))
    assert tables.events()["count", "heard"] == 1, "another key's entry stays"


def test_entries_are_read_whole_beside_packets(tables: Kept) -> None:
    table, seen = tables.table("COUNT"), list[int]()

    def read() -> None:
        found = [dict(entry.values) for entry in table.entries([("key", "1..2000000")])]
        assert all(each["key"] == each["key_again"] for each in found)
        assert all(int(each["n"]) % int(each["key"]) == 0 for each in found)
        seen.append(len(found))

    Sending(tables, read).go(frame(COUNT, tos=5))
    assert len(seen) > 5 and max(seen) > 50


# ---- killed -------------------------------------------------------------------------------------


@pytest.fixture
def child() -> Iterator[Callable[[Callable[[], object]], int]]:
    """Begins a process that does something again and again."""
    begun = list[int]()

    def begin(work: Callable[[], object]) -> int:
        pid = os.fork()
        if not pid:
            try:
                while True:
                    work()
            finally:
                os._exit(1)
        begun.append(pid)
        return pid

    yield begin
    for pid in begun:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)


def test_who_deletes_may_be_killed(
    tables: Kept, child: Callable[[Callable[[], object]], int]
) -> None:
    """Half-way, at any place: no lock is held, and what is left is whole."""
    table, state = tables.table("COUNT"), tables.state("COUNT")
    pids = [child(table.flush) for _ in range(5)]
    for pid in pids:
        tables.send(frame(COUNT, tos=200), times=PACKETS // 10)
        os.kill(pid, signal.SIGKILL)
        tables.send(frame(COUNT, tos=200), times=PACKETS // 10)
    events = tables.events()
    assert not events["count", "another"] and not events["count", "wrong"]
    part = whole(tables, "COUNT")
    assert slot(state, part.entries, "key_again") == key_numbers(part)
    assert table.flush() == len(part.keys) > 100


def test_conditions_of_a_filter_are_those_of_the_entry(tables: Kept) -> None:
    """And what fits any value is asked for nowhere."""
    state = tables.state("FLOW")
    made = Filter(
        state,
        {},
        [("src", "10.0.0.1"), ("packets", "0..7"), ("lifetime", "0..255")],
        kept.no_rules(),
    )
    assert {each.name for each in made.given} == {"packets"}
