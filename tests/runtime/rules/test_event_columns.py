"""A look by columns does what a look rule by rule does, whichever cells rules lie in and come to;
what it knows is in a file that another process, and another build, go on with."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from helioc.compiler.driver import check_file, lower_pipeline
from helioc.compiler.manifest import manifest_of
from helioc.lang.contract.manifest.manifest import Manifest
from helioc.lang.contract.rules.rules import Rule
from helioc.lang.contract.world.moment import SECOND, Moment
from helioc.lang.contract.world.rule_events import RuleEvents
from helioc.runtime.base import rule_memory
from helioc.runtime.base.rule_memory import PACKETS, TOLD, USED, columns_of, memory_of
from helioc.runtime.rules.event_columns import KindColumns
from helioc.runtime.rules.images import ImageCodec
from hypothesis import given, settings
from hypothesis import strategies as st

TEXT = """import std.ethernet, std.ip
pipeline p {
  ports lan
  parser { ethernet -> ipv4 as user when type = 0x0800 }
  ie src      = 1, ip4
  ie quota    = 2, u64
  ie step     = 3, u16
  ie patience = 4, u8
  event E { of : K, packets : u64, volume : u64 } limit 100k per second
  rule K [8] {
    match  src exact user.src
    gives  quota, step, patience
    counts packets, bytes
    emit   E { of = K, packets = K.packets, volume = K.bytes } after quota bytes
    emit   E { of = K, packets = K.packets, volume = K.bytes } each step packets
    emit   E { of = K, packets = K.packets, volume = K.bytes } after patience idle
    emit   E { of = K, packets = K.packets, volume = K.bytes } after 3 packets
  }
  stage s {
    find K else { drop }
    pass
  }
  run parser -> s
}
"""
START = Moment().now


def manifest(folder: Path, text: str = TEXT) -> Manifest:
    file = folder / "p.hp"
    file.write_text(text.replace("find K", "if not user { pass }\n    find K"))
    pipeline = check_file(file)
    return manifest_of(pipeline, lower_pipeline(pipeline))


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Manifest:
    return manifest(tmp_path_factory.mktemp("built"))


class World:
    """Rules in cells, with what they counted."""

    def __init__(self, manifest: Manifest) -> None:
        self.kind = manifest.rule("K")
        self.codec = ImageCodec(manifest, self.kind)
        self.slots = np.zeros(self.kind.cells, np.uint64)
        self.images = np.zeros((self.kind.records, self.kind.image_size), np.uint8)
        self.counts = np.zeros((self.kind.cells, 2), np.uint64)
        self.there: dict[int, Rule] = {}
        self.sequence = 0

    def put(self, cell: int, **values: int) -> None:
        """Another rule in that cell."""
        self.sequence += 1
        self.counts[cell] = 0
        self.change(cell, self.sequence, values)

    def change(self, cell: int, sequence: int, values: dict[str, int]) -> None:
        given = tuple((name, values[name]) for name in self.kind.gives if name in values)
        rule = Rule("K", cell, sequence, "", 0, 0, (), given, (), None, ())
        self.there[cell], self.slots[cell] = rule, cell
        match = bytes(self.codec.match_end - self.codec.match_at)
        self.codec.write(memoryview(self.images[cell]), 0, rule, cell, match)

    def remove(self, cell: int) -> None:
        self.slots[cell] = 0
        self.there.pop(cell, None)

    def rules(self, _: str) -> list[Rule]:
        return list(self.there.values())

    def counted(self, _: str, sequence: int) -> tuple[int, int]:
        cell = next(c for c, rule in self.there.items() if rule.sequence == sequence)
        packets, octets = self.counts[cell].tolist()
        return packets, octets

    def sums(self, cells: Any) -> Any:
        return self.counts[cells]


def look(columns: KindColumns, world: World, now: int, before: int) -> list[tuple[int, ...]]:
    """Number of the event, sequence, packets and bytes of each that is due."""
    found = []
    for due in columns.look(0, world.slots.copy, world.images, world, now, before):  # type: ignore[arg-type]
        rows = zip(due.sequences.tolist(), due.counts.tolist(), strict=True)
        found += [(sequence, *counts) for sequence, counts in rows]
        columns.mark(due, len(due.cells))
    return found


STEP = st.one_of(
    st.tuples(st.just("packet"), st.integers(1, 4), st.integers(1, 5)),
    st.tuples(st.just("wait"), st.integers(0, 3), st.just(0)),
    st.tuples(st.just("put"), st.integers(1, 4), st.integers(0, 4)),
    st.tuples(st.just("change"), st.integers(1, 4), st.integers(0, 4)),
    st.tuples(st.just("remove"), st.integers(1, 4), st.just(0)),
)


@settings(max_examples=200, deadline=None, database=None)
@given(steps=st.lists(st.lists(STEP, max_size=4), max_size=12))
def test_columns_are_as_rules(made: Manifest, steps: list[list[tuple[str, int, int]]]) -> None:
    world, now, looked = World(made), START, START
    reference = RuleEvents(made.rules, made.events.kinds if made.events else (), world.counted)
    kind = made.rule("K")
    columns = KindColumns(made, kind, np.zeros((columns_of(kind), kind.cells), np.uint64))
    for some in steps:
        for what, cell, by in some:
            values = {"quota": 100 * by, "step": by, "patience": by}
            match what:
                case "packet" if cell in world.there:
                    world.counts[cell] += np.array([by, 60 * by], np.uint64)
                case "wait":
                    now += cell * SECOND + cell
                case "put":
                    world.put(cell, **values)
                case "change" if cell in world.there:
                    world.change(cell, world.there[cell].sequence, values)
                case "remove":
                    world.remove(cell)
        reference.look(world, now)
        expected = [(v >> 32, *rest) for _, (v, *rest) in reference._due]
        reference._due = []
        assert look(columns, world, now, looked) == expected
        looked = now


def test_a_writer_that_is_faster_changes_nothing(made: Manifest) -> None:
    """Between the slots and the look at them again another rule came into the cell."""
    world, kind = World(made), made.rule("K")
    columns = KindColumns(made, kind, np.zeros((columns_of(kind), kind.cells), np.uint64))
    world.put(1, quota=50)
    world.counts[1] = 1, 100
    seen = iter((world.slots.copy(), np.zeros_like(world.slots)))
    found = columns.look(0, lambda: next(seen), world.images, world, START, START)  # type: ignore[arg-type]
    assert not list(found) and not columns.words.any()
    assert look(columns, world, START, START) == [(1, 1, 100)]
    assert columns.rule_of(world.images[1].data, 2) is None


def about(incarnation: str = "a", release: int = 1) -> dict[str, Any]:
    return {"incarnation": incarnation, "release": release}


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(rule_memory, "RUN", tmp_path)
    return tmp_path


def nothing(_: str) -> Any:
    return np.zeros(0, np.int64), np.zeros(0, np.uint64)


def test_another_process_goes_on(made: Manifest, run: Path) -> None:
    first = memory_of("p", about(), made, nothing)
    first.kinds["K"][USED, 3], first.events[0] = 77, (5, 2)
    second = memory_of("p", about(), made, nothing)
    assert second.kinds["K"][USED, 3] == 77
    assert rule_memory.raised_by_rules("p", "a") == {"E": (5, 2)}
    assert rule_memory.raised_by_rules("p", "b") == {}
    assert not memory_of("p", about("b"), made, nothing).kinds["K"].any()
    assert [path.name for path in run.iterdir()] == ["p.rules"]


def header(value: Any, words: int = 0) -> bytes:
    """A file of that header, and so many words behind it."""
    text = (value if isinstance(value, bytes) else json.dumps(value).encode()).ljust(8)
    text += b" " * (-len(text) % 8)
    return len(text).to_bytes(8, "little") + text + bytes(8 * words)


def written(events: Any, kinds: Any) -> dict[str, Any]:
    return {"incarnation": "a", "release": 2, "events": events, "kinds": kinds}


@pytest.mark.parametrize(
    "damage",
    [
        b"", b"\xff" * 64, b"\x08" + bytes(7) + b'{"a": 1}',
        *map(header, ([], 5, None, "x", {}, b"[" * 100_000, written([], None), written(None, {}),
                      written([], {"K": 5}), written([], {"K": ["a", []]}),
                      written([], {"K": [2, None]}))),
        header(written({"E": 1}, {}), 2), header(written([["E"]], {}), 2),
        header(written([], {"K": [2.0, ["a"]]}), 8), header(written([], {"K": [-2, ["a"]]})),
        header({"release": 2, "events": [], "kinds": {}}),
    ],
)  # fmt: skip
def test_a_damaged_file_is_as_none(made: Manifest, run: Path, damage: bytes) -> None:
    memory_of("p", about(), made, nothing).kinds["K"][USED, 3] = 77
    (run / "p.rules").write_bytes(damage)
    assert rule_memory.raised_by_rules("p", "a") == {}
    assert not memory_of("p", about(), made, nothing).kinds["K"].any()
    assert not memory_of("p", about(release=2), made, nothing).kinds["K"].any()


def test_any_words_may_be_behind_a_header(made: Manifest) -> None:
    """The highest number, too, which no rule has."""
    kind = replace(made.rule("K"), priority=("priority", "quota"))
    words = np.full((columns_of(kind), kind.cells), (1 << 64) - 1, np.uint64)
    columns = KindColumns(made, kind, words)
    columns.begin(0)
    columns._take_new(np.array([1]), np.array([5], np.uint64), 77)
    assert words[:TOLD, 1].tolist() == [5, 0, 77]


def test_without_room_it_is_known_to_this_process(
    made: Manifest, run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "no space left on device")

    monkeypatch.setattr(rule_memory, "os", SimpleNamespace(posix_fallocate=full))
    assert memory_of("p", about(), made, nothing).kinds["K"].shape[0] == TOLD + 4
    assert not list(run.iterdir())


def test_another_build_knows_the_same_rules(made: Manifest, run: Path, tmp_path: Path) -> None:
    """In other cells, of a kind with another name, with another event beside."""
    first = memory_of("p", about(), made, nothing)
    first.kinds["K"][:, 2] = (9, 4, 55, 100, 2, 0, 3)  # sequence 9
    first.kinds["K"][:, 5] = (8, 1, 44, 0, 0, 0, 0)
    first.events[0] = 6, 0
    text = TEXT.replace("K", "OTHER").replace(" [8]", " [80]").replace(
        "after 3 packets", "after 4 bytes"
    )  # fmt: skip
    build = manifest(tmp_path, text)
    second = memory_of(
        "p", about(release=2), build, lambda _: (np.array([7, 30]), np.array([9, 12], np.uint64))
    )
    words = second.kinds["OTHER"]
    assert words[:, 7].tolist() == [9, 4, 55, 100, 2, 0, 0]
    assert not np.delete(words, 7, axis=1).any()
    assert second.events.tolist() == [[6, 0]]
    assert words[PACKETS, 7] == 4
