"""State tables read and changed from outside: each against what packets left there."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network

import kept
import numpy as np
import pytest
from helioc.lang.contract.manifest.manifest import SEEN, Slot, State
from helioc.lang.text.diagnostics import Refused
from helioc.runtime.states.filters import LONGEST, MOST, Filter, key_of
from helioc.runtime.states.storage import Part, are_old, read_parts
from helioc.runtime.states.table import StateTable
from hypothesis import given, settings
from hypothesis import strategies as st
from kept import FLOW, FORGET, HEARD, SET, Kept, frame
from lab import until

Condition = tuple[tuple[str, str], Callable[[str, int, int, int], bool]]

SOURCES = [f"10.0.{n // 3}.{n}" for n in (1, 2, 5, 9)]
keys = st.tuples(st.sampled_from(SOURCES), st.integers(1, 5))


def values(table: StateTable, where: Sequence[tuple[str, str]] = ()) -> list[tuple[str, ...]]:
    return [tuple(value for _, value in entry.values) for entry in table.entries(where)]


def says(text: str) -> list[tuple[str, str]]:
    return [(slot, value) for slot, _, value in (word.partition("=") for word in text.split())]


def refused(work: Callable[[], object], code: str) -> str:
    with pytest.raises(Refused) as error:
        work()
    found = error.value.diagnostics
    assert all(each.code == code for each in found), found
    return "\n".join(f"{each.title}: {each.help}" for each in found)


# ---- against a model ------------------------------------------------------------------------


@st.composite
def conditions(draw: st.DrawFn) -> Condition:
    """A condition, and whether an entry with this source, mark, count and port fits it."""
    address, low, high = draw(st.sampled_from(SOURCES)), draw(st.integers(0, 9)), 9
    high = draw(st.integers(low, 9))
    bits, mask = draw(st.sampled_from((8, 24, 30, 31, 32))), draw(st.integers(0, 7))
    network = IPv4Network(f"{address}/{bits}", strict=False)
    made: list[Condition] = [
        (("src", address), lambda src, *_: src == address),
        (("src", str(network)), lambda src, *_: IPv4Address(src) in network),
        (("SRC", f"{address}..10.0.3.255"),
         lambda src, *_: IPv4Address(address) <= IPv4Address(src)),
        (("mark", f"{low}..{high}"), lambda _, mark, *__: low <= mark <= high),
        (("mark", f"{low & mask} & {mask}"), lambda _, mark, *__: mark & mask == low & mask),
        (("packets", f"{low}..{high}"), lambda _, __, packets, ___: low <= packets <= high),
        (("packets", f"0x{low:x}"), lambda _, __, packets, ___: packets == low),
        (("out", draw(st.sampled_from(("LAN", '"LAN"')))), lambda *entry: entry[3] == 1),
        (("out", "port.2"), lambda *entry: entry[3] == 2),
        (("hw", "02:00:00:00:00:aa"), lambda *_: True),
        (("lifetime", "128 & 0x80"), lambda *_: False),
    ]  # fmt: skip
    return draw(st.sampled_from(made))


@dataclass(frozen=True)
class Step:
    """`key`, `count` and `port` of a packet, or `where` of a flush."""

    what: str
    key: tuple[str, int] = ("", 0)
    count: int = 0
    port: int = 1
    where: Sequence[Condition] = ()


steps = st.lists(
    st.one_of(
        st.builds(Step, st.sampled_from(("put", "put", "set", "forget", "delete", "get")), keys,
                  st.integers(0, 9), st.integers(1, 2)),
        st.builds(Step, st.sampled_from(("flush", "list", "list")),
                  where=st.lists(conditions(), max_size=3)),
    ),
    max_size=25,
)  # fmt: skip


def shown(key: tuple[str, int], packets: int, port: int) -> tuple[str, ...]:
    return key[0], str(key[1]), str(packets), ("LAN", "WAN")[port - 1], "02:00:00:00:00:aa", "64"


class Model:
    """What the table should hold: by key, packets and port."""

    def __init__(self, tables: Kept) -> None:
        self.tables, self.table = tables, tables.table("FLOW")
        self.entries = dict[tuple[str, int], list[int]]()

    def do(self, step: Step) -> None:
        """The same to both."""
        src, mark = step.key
        where = [condition for condition, _ in step.where]
        meant = {
            key: entry for key, entry in self.entries.items()
            if all(fits(*key, *entry) for _, fits in step.where)
        }  # fmt: skip
        match step.what:
            case "put":
                self.tables.send(frame(FLOW, src, mark), step.port)
                self.entries.setdefault(step.key, [0, step.port])[0] += 1
            case "set":
                self.tables.send(frame(SET, src, mark, step.count))
                if step.key in self.entries:
                    self.entries[step.key][0] = step.count
            case "forget":
                self.tables.send(frame(FORGET, src, mark))
                self.entries.pop(step.key, None)
            case "list":
                expected = [shown(key, *entry) for key, entry in meant.items()]
                assert sorted(values(self.table, where)) == sorted(expected)
            case "flush":
                assert self.table.flush(where) == len(meant)
                self.entries = {k: v for k, v in self.entries.items() if k not in meant}
            case _:
                self.of_key(step, says(f"mark={mark} src={src}"))

    def of_key(self, step: Step, key: list[tuple[str, str]]) -> None:
        if step.key not in self.entries:
            refused(lambda: self.table.entry(key), "H0719")
            refused(lambda: self.table.delete(key), "H0719")
        elif step.what == "get":
            found = tuple(value for _, value in self.table.entry(key).values)
            assert found == shown(step.key, *self.entries[step.key])
        else:
            self.table.delete(key)
            del self.entries[step.key]


@pytest.fixture(scope="module")
def for_all(kernel: None) -> Iterator[Kept]:
    with kept.running() as made:
        yield made


@given(some=steps)
@settings(deadline=None, max_examples=60)
def test_entries_are_those_of_the_model(for_all: Kept, some: list[Step]) -> None:
    model = Model(for_all)
    model.table.flush()
    for step in some:
        model.do(step)
    left = [shown(key, *entry) for key, entry in model.entries.items()]
    assert sorted(values(model.table)) == sorted(left)
    assert model.table.count() == (len(left), 0)


@given(st.lists(st.integers(0, 2**128 - 1), min_size=1, max_size=20), st.data())
@settings(deadline=None)
def test_values_of_any_width_are_compared(numbers: list[int], data: st.DataObject) -> None:
    """Of one to sixteen bytes, in the key and in the entry."""
    type_ = data.draw(st.sampled_from(("u1", "u7", "u24", "u32", "u64", "mac", "ip6")))
    width = {"mac": 48, "ip6": 128}.get(type_) or int(type_[1:])
    size = (width + 7) // 8
    state = State("S", 8, 16, 24, (Slot("k", type_, 0, size),), (Slot("v", type_, 8, size),))
    numbers = [number & ((1 << width) - 1) for number in numbers]
    keys = b"".join(n.to_bytes(size, "big").ljust(16, b"\0") for n in numbers)
    entries = b"".join(bytes(8) + n.to_bytes(size, "big").ljust(16, b"\0") for n in numbers)
    part = Part(np.frombuffer(keys, np.uint8).reshape(-1, 16),
                np.frombuffer(entries, np.uint8).reshape(-1, 24),
                np.zeros((len(numbers), 0), np.uint8))  # fmt: skip
    near = [n + d for n in numbers for d in (-1, 0, 1) if 0 <= n + d < 1 << width]
    low, high = sorted(data.draw(st.tuples(*[st.sampled_from(near)] * 2)))
    bits, slot = data.draw(st.integers(0, width)), data.draw(st.sampled_from(("k", "v")))
    net = low >> (width - bits) << (width - bits)
    cases: list[tuple[str, Callable[[int], bool]]] = [
        (f"{low}", lambda n: n == low), (f"{low}..{high}", lambda n: low <= n <= high),
        (f"{net}/{bits}", lambda n: n >> (width - bits) == net >> (width - bits)),
        (f"{low & high}&{high}", lambda n: n & high == low & high),
    ]  # fmt: skip
    for text, fits in cases:
        found = Filter(state, {}, [(slot, text)], kept.no_rules()).passes(part)
        assert found.tolist() == [fits(n) for n in numbers], text


# ---- the kernel's hash map ------------------------------------------------------------------


def test_entries_of_the_kernels_map(tables: Kept) -> None:
    table = tables.table("HEARD")
    for number in range(40):
        tables.send(frame(HEARD, f"10.0.0.{number}", number, ttl=number), 1 + number % 2)
    assert table.count() == (40, 0)
    found = values(table, says("vni=8..11 port=WAN"))
    assert found == [(str(n), "02:00:00:00:00:aa", "WAN", f"10.0.0.{n}", str(n)) for n in (9, 11)]
    key = says("vni=9 hw=02:00:00:00:00:aa")
    assert dict(table.entry(key).values)["note"] == "9"
    table.delete(key)
    refused(lambda: table.delete(key), "H0719")
    assert table.flush(says("remote=10.0.0.0/29")) == 8
    assert table.count() == (31, 0) and table.flush() == 31 and table.flush() == 0


# ---- age --------------------------------------------------------------------------------------


def test_what_is_too_old_is_not_shown(tables: Kept) -> None:
    """In the kernel's map; deleted it is all the same."""
    table = tables.table("HEARD")
    for number in (1, 2):
        tables.send(frame(HEARD, number=number))
    (part,) = read_parts(tables.map("HEARD"), tables.state("HEARD"))
    at = part.keys.tolist().index(min(part.keys.tolist()))
    now = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
    old = ((now - 301 * 10**9) % 2**64).to_bytes(SEEN, "little") + part.entries[at].tobytes()[SEEN:]
    tables.map("HEARD").update(part.keys[at].tobytes(), old)
    (one,) = table.entries()
    assert dict(one.values)["vni"] == "2" and one.age is not None and 0 <= one.age < 60
    assert table.count() == (2, 1)
    refused(lambda: table.entry(says("vni=1 hw=02:00:00:00:00:aa")), "H0719")
    assert table.flush() == 1 and table.count() == (0, 0)


def test_each_entry_has_a_lifetime_of_its_own(tables: Kept) -> None:
    """0: for ever. A recall from outside is no use of an entry."""
    table = tables.table("FLOW")
    for number, ttl in enumerate((1, 200, 0)):
        tables.send(frame(FLOW, number=number, ttl=ttl))

    def one_is_gone() -> bool:
        table.entry(says("src=10.0.0.5 mark=1"))
        return len(values(table)) < 3

    until(one_is_gone, "the entry of a second has aged")
    assert [entry[-1] for entry in values(table)] == ["200", "0"]
    assert table.count() == (3, 1)
    refused(lambda: table.delete(says("src=10.0.0.5 mark=0")), "H0719")
    assert table.count() == (2, 0)


@given(st.integers(0, 2**64 - 1), st.integers(0, 2**64 - 1), st.integers(0, 2**16 - 1))
def test_age_is_computed_as_packets_do(now: int, seen: int, seconds: int) -> None:
    slot = Slot("s", "u16", 8, 2)
    state = State("S", 8, 8, 16, (), (slot,), lifetime="s")
    entry = seen.to_bytes(8, "little") + seconds.to_bytes(2, "big") + bytes(6)
    left = (seconds * 10**9 - (now - seen)) % 2**64  # templates/pipeline.bpf.c.j2, NAME_is_old
    expected = (left & -seconds % 2**64) >> 63
    (found,) = are_old(state, np.frombuffer(entry, np.uint8).reshape(1, 16), now)
    assert int(found) == expected


# ---- what is asked for --------------------------------------------------------------------------

WRONG = [
    ("flags=1", "H0735", "`flags` is no slot of `FLOW`: it has `src`, `mark`, `packets`"),
    ("sorc=10.0.0.1", "H0735", "did you mean `src`?"),
    ("src=10.0.0.256", "H0415", "`10.0.0.256` is not an IPv4 address, which `src` takes"),
    ("src=10.0.0.1/8", "H0421", "write 10.0.0.0/8"),
    ("src=10.0.0.0/33", "H0420", "a prefix of `src` has 0 to 32 bits"),
    ("mark=65536", "H0416", "65536 does not fit `mark`, which has 16 bits"),
    ("mark=9..2", "H0422", "write 2..9"), ("mark=-1", "H0415", "is not a number"),
    ("mark=1&2&3", "H0415", "`2&3` is not a number"), ("mark=..", "H0415", "is not a number"),
    ("hw=02:00", "H0415", "is not a MAC address"), ("hw=::1", "H0415", "is not a MAC address"),
    ("out=LANN", "H0736", "`LANN` is no port of the pipeline: did you mean `LAN`?"),
    ("out=port.x", "H0736", "it has `LAN`, `WAN`"),
    ("out=port.99999999999999999999", "H0736", "is no port"),
    ("src=" + "1" * 101, "H0735", f"has 101 characters: {LONGEST} at most"),
    ("mark=" + "9" * 90, "H0416", "does not fit"), ("mark=0x" + "f" * 90, "H0416", "does not fit"),
    ("\0=1", "H0735", "is no slot"), (f"{'x' * 60000}=1", "H0735", "is no slot"),
    (" ".join(["mark=1"] * (MOST + 1)), "H0735", "these are 65 conditions: 64 at most"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "code", "why"), WRONG, ids=[text[:20] for text, *_ in WRONG])
def test_wrong_conditions_are_told(tables: Kept, text: str, code: str, why: str) -> None:
    table = tables.table("FLOW")
    tables.send(frame(FLOW))
    for work in (lambda: list(table.entries(says(text))), lambda: table.flush(says(text))):
        assert why in refused(work, code)
    assert table.count() == (1, 0)


def test_all_that_is_wrong_is_told(tables: Kept) -> None:
    with pytest.raises(Refused) as error:
        tables.table("FLOW").flush(says("src=x mark=65536 what=1 out=NO"))
    codes = [each.code for each in error.value.diagnostics]
    assert codes == ["H0415", "H0416", "H0735", "H0736"]


@given(st.lists(st.tuples(st.sampled_from(("src", "mark", "packets", "out", "hw", "S R C", "é")),
                          st.text(max_size=30)), max_size=4))  # fmt: skip
def test_any_text_is_understood_or_refused(where: list[tuple[str, str]]) -> None:
    state = kept.compiled().manifest.states[0]
    for make in (
        lambda: Filter(state, {"LAN": 1}, where, kept.no_rules()),
        lambda: key_of(state, {}, where, kept.no_rules()),
    ):
        try:
            make()
        except Refused as error:
            assert error.diagnostics


KEYS = [
    ("src=10.0.0.1", "`mark` is missing"), ("mark=1", "`src` is missing"),
    ("packets=1", "`packets` is what an entry holds"),
    ("packets=1", "`src` and `mark` are missing: a key says each once: src=VALUE mark=VALUE"),
    ("src=10.0.0.0/8 mark=1", "`src` is to have one value"),
    ("src=0.0.0.0/0 mark=1", "`src` is to have one value"),
    ("src=10.0.0.1 mark=0..65535", "`mark` is to have one value"),
    ("src=10.0.0.1 mark=1 mark=2", "`mark` is said twice"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "why"), KEYS)
def test_a_key_is_whole(tables: Kept, text: str, why: str) -> None:
    table = tables.table("FLOW")
    tables.send(frame(FLOW, "10.0.0.1", 1))
    for work in (lambda: table.entry(says(text)), lambda: table.delete(says(text))):
        assert why in refused(work, "H0718")
    assert table.count() == (1, 0)
