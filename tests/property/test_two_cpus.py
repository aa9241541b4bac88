"""Entries changed in place by two CPUs at once: no update is lost, none hits another key."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
from at_once import at_once
from helioc.compiler.bundle import compile_pipeline
from helioc.compiler.driver import check_file
from helioc.lang.contract.manifest.manifest import State
from helioc.lang.contract.world.environment import Environment, Port
from helioc.runtime.loading.bundle import Bundle
from helioc.runtime.states.storage import count_entries, read_entries
from helioc.runtime.testrun.private_run import PrivateRun
from scapy.layers.inet import IP
from scapy.layers.l2 import Ether

pytestmark = pytest.mark.usefixtures("kernel")

LAN = Port(1, "LAN", "lan", 1, 1500, bytes.fromhex("020000000001"))
PACKETS = 60_000  # of each CPU
ALL = 1 << 16  # packets, each with another number
ENTRY, FORGET, SEEN, MANY, FEW = 1, 2, 3, 4, 5


class Run:
    """The pipeline, and what became of it."""

    def __init__(self, private: PrivateRun) -> None:
        self.private = private
        self.program = private.entry(LAN.number)

    def send(self, frame: bytes, times: int = 1) -> None:
        self.program.test_run(frame, ingress_ifindex=1, repeat=times)

    def state(self, name: str) -> State:
        return next(s for s in self.private.manifest.states if s.name == name)

    def entries(self, name: str) -> dict[int, dict[str, int]]:
        """By key."""
        state = self.state(name)
        found = {}
        for key, entry in read_entries(self.private.maps[f"{state.prefix}_state"], state):
            slots = {s.name: entry[s.offset : s.offset + s.size] for s in state.gives}
            number = int.from_bytes(key[: state.match[0].size], "big")
            assert number not in found, "a key has one entry"
            found[number] = {name: int.from_bytes(data, "big") for name, data in slots.items()}
        return found

    def events(self) -> Counter[tuple[str, str]]:
        return Counter(self.private._counted_events())


@pytest.fixture(scope="module")
def bundle() -> Bundle:
    compiled = compile_pipeline(check_file(Path(__file__).with_name("two_cpus.hp")))
    return Bundle(compiled.manifest, compiled.object)


@pytest.fixture
def run(bundle: Bundle) -> Iterator[Run]:
    with PrivateRun(bundle) as private:
        private.set_environment(Environment((LAN,)))
        yield Run(private)


def frame(protocol: int, number: int = 0, tos: int = 0, src: str = "10.0.0.5") -> bytes:
    header = IP(src=src, dst="10.0.0.9", proto=protocol, id=number, tos=tos)
    return bytes(Ether(src="02:00:00:00:00:02", dst="02:00:00:00:00:01") / header)


def test_no_update_is_lost(run: Run) -> None:
    run.send(frame(ENTRY, 7))
    at_once(*[partial(run.send, frame(ENTRY, number), PACKETS) for number in (7, 9)])
    packets = 2 * PACKETS + 1
    (entry,) = run.entries("FLOW").values()
    assert (entry["packets"], entry["sum"]) == (packets, 7 * (PACKETS + 1) + 9 * PACKETS)
    events = run.events()
    assert (entry["next"], events["count", "around"]) == (packets % 0x10000, packets // 0x10000)
    assert events["count", "first"] == 1 and not events["lost", "FLOW"]


def test_one_at_a_time_holds_what_is_exchanged(run: Run) -> None:
    at_once(*[partial(run.send, frame(ENTRY), PACKETS)] * 2)
    events = run.events()
    assert 0 < events["count", "won"] <= 2 * PACKETS and not events["count", "stolen"]


def test_one_of_two_is_the_first(run: Run) -> None:
    """Both bring the same keys in the same order."""
    at_once(*[partial(run.send, frame(SEEN), ALL)] * 2)
    events = run.events()
    assert events["count", "first"] == len(run.entries("SEEN")) + events["evicted", "SEEN"]
    assert len(run.entries("SEEN")) > ALL - 100


def test_an_update_of_what_is_forgotten_meanwhile_is_counted(run: Run) -> None:
    """Each packet that sums up is in the entry that is left, in one that was forgotten, or lost."""
    rounds, events = 0, Counter[tuple[str, str]]()
    while events["count", "first"] <= 1 and rounds < 20:  # a busy host runs one behind the other
        at_once(
            partial(run.send, frame(ENTRY), PACKETS),
            partial(run.send, frame(FORGET), PACKETS),
        )
        rounds, events = rounds + 1, events + run.events()
    assert events["count", "first"] > 1
    assert all(entry["packets"] <= rounds * PACKETS for entry in run.entries("FLOW").values())
    assert events["lost", "FLOW"] <= 4 * rounds * PACKETS


def keys_of(start: int, packets: int, tos: int) -> Iterator[int]:
    """The keys of a run of packets, as the pipeline computes them."""
    number = start
    for _ in range(packets):
        number = (number * 25173 + 13849) & 0xFFFF
        yield 1001 + 2 * (number % (1 + 4 * tos))


@pytest.mark.parametrize("tos", [15, 160], ids=["as it is declared", "ten times over-full"])
def test_an_update_hits_its_own_key_or_is_lost_and_counted(run: Run, tos: int) -> None:
    """Each key adds a number of its own, which no other is a multiple of."""
    starts = 0, 0x8000
    at_once(*[partial(run.send, frame(MANY, start, tos), ALL) for start in starts])
    generated = Counter(key for start in starts for key in keys_of(start, ALL, tos))
    events, found = run.events(), run.entries("MANY")
    assert not events["count", "another"] and not events["count", "wrong"]
    for key, entry in found.items():
        assert entry["key_again"] == key and entry["sum"] % key == 0
        assert entry["sum"] // key <= generated[key]
    gone = 2 * ALL - sum(entry["sum"] // key for key, entry in found.items())
    assert len(found) == count_entries(run.private.maps["many_state"], run.state("MANY"))
    assert gone >= events["lost", "MANY"]
    if not events["evicted", "MANY"]:
        assert len(found) == len(generated) and gone == 0
    if tos > 16:
        assert len(found) <= 2 * 64 and events["evicted", "MANY"] > ALL // 2


def test_what_has_left_is_not_changed(run: Run) -> None:
    """Sixty-four keys, some of them forgotten, in a set of eight lines: many a line becomes another
    key's between two statements of a packet."""
    for _ in range(20):
        at_once(*[partial(run.send, frame(FEW, start), 8 * ALL) for start in (0, 0x8000)])
        events = run.events()
        assert not events["count", "another"] and not events["count", "wrong"]
        if events["lost", "FEW"]:
            return
    pytest.fail("nothing was lost: the two were never at work at once")


def test_the_least_recently_used_leaves(run: Run) -> None:
    """Of the lines of a set, one that is used goes on."""
    used = frame(ENTRY, 3, src="10.0.0.1")
    for number in range(500):
        run.send(used)
        run.send(frame(ENTRY, src=f"10.0.{1 + number // 250}.{number % 250}"))
    assert run.entries("FLOW")[0x0A000001]["sum"] == 3 * 500
    assert run.events()["evicted", "FLOW"] >= 500 - 32


def test_what_is_read_is_whole(run: Run) -> None:
    """While packets write, the control plane sees entries of one moment each."""
    seen, stop = list[dict[int, dict[str, int]]](), threading.Event()

    def read() -> None:
        while not stop.is_set():
            seen.append(run.entries("MANY"))

    def write() -> None:
        run.send(frame(MANY, 0, 160), 8 * ALL)
        stop.set()

    at_once(write, read)
    assert len(seen) > 5
    for found in seen:
        assert all(e["key_again"] == key and e["sum"] % key == 0 for key, e in found.items())
