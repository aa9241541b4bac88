"""The existence filter never says of a key that is in the hash that it is not."""

from __future__ import annotations

import random

import numpy as np
import pytest
from helioc.lang.contract.rules.csv_columns import read_csv
from helioc.lang.text.diagnostics import Refused
from helioc.lang.text.source import Source
from helioc.runtime.rules.bloom import Filter
from helioc.runtime.rules.key_hash import Hashes, KeyHash, hashes_of
from helioc.runtime.rules.pools import NoRoom
from helioc.runtime.rules.recovery import recover
from helioc.runtime.rules.steps import Steps
from helioc.runtime.rules.tables import Table
from helioc.runtime.rules.transaction import Writer
from linx_maps import Nowhere, Rules, bare_maps, bundle, keys_in, written


def _filter() -> tuple[Filter, bytearray]:
    kind = bundle().manifest.rule("PDR")
    memory = bytearray(kind.filter // 8)
    return Filter(kind, memoryview(memory)), memory


def _set(memory: bytes | bytearray | memoryview) -> set[int]:
    return set(np.flatnonzero(np.unpackbits(np.frombuffer(memory, np.uint8), bitorder="little")))


def _keys(count: int) -> list[bytes]:
    size = bundle().manifest.rule("PDR").key_size
    dice = random.Random(1)
    return [dice.randbytes(size) for _ in range(count)]


def _hashes(keys: list[bytes]) -> Hashes:
    return hashes_of(np.frombuffer(b"".join(keys), np.uint8).reshape(len(keys), -1))


def test_one_and_many_keys_have_the_same_bits() -> None:
    keys = _keys(2000)
    filter_, memory = _filter()
    assert [filter_.bit(key) for key in keys] == filter_.bits(b"".join(keys)).tolist()
    for key in keys:
        filter_.add(KeyHash(len(key)).of(key))
    other, same = _filter()
    other.add_many(_hashes(keys))
    assert memory == same and len(_set(memory)) > 1900


def test_a_bit_stays_while_any_key_has_it() -> None:
    keys = _keys(60_000)
    filter_, memory = _filter()
    filter_.add_many(_hashes(keys))
    assert len(_set(memory)) < len(keys)
    for key in keys[1000:]:
        filter_.remove(key)
    assert _set(memory) == {filter_.bit(key) for key in keys[:1000]}
    filter_.rebuild(_hashes(keys[:500]))
    for key in keys[:500]:
        filter_.remove(key)
    assert not any(memory)


def test_addresses_in_a_row_have_bits_of_their_own() -> None:
    """Neither one end of a prefix nor the other falls on few bits."""
    filter_, _ = _filter()
    size = bundle().manifest.rule("PDR").key_size
    for shift in (0, 3, 8, 13):
        for word in (4, 8):
            keys = [(i << shift).to_bytes(word, "big").ljust(size, b"\0") for i in range(20_000)]
            assert len(set(filter_.bits(b"".join(keys)).tolist())) > 19_000


# ---- over the maps' life ----------------------------------------------------------------------


def _bits_wanted(table: Table) -> set[int]:
    assert table.entries is not None and table.filter is not None
    return {table.filter.bit(key) for key in keys_in(table)}


def _check(writer: Writer, exactly: bool = False) -> None:
    for table in writer.tables.values():
        if table.filter is not None:
            has, expected = _set(bytes(table.filter.words)), _bits_wanted(table)
            assert expected <= has, table.kind.name
            assert not exactly or expected == has


def _csv(rules: Rules, rows: list[str]) -> None:
    source = Source("rules.csv", "\n".join(["src_ip,dst_ip,FAR", *rows]) + "\n")
    plan = rules.book.plan_columns(read_csv(source, rules.book.kinds["PDR"]))
    rules.writer.try_apply(plan)
    rules.book.commit(plan)


@pytest.mark.usefixtures("kernel")
def test_it_follows_rules_that_come_and_go() -> None:
    dice = random.Random(2)
    with bare_maps() as maps, written(maps) as rules:
        rules.tell("create FAR 1 [(action, u8, DROP)], LBR 3 [FAR 1]")
        rules.tell("create LBR 3 [FAR 1, (tos, u8, 184 & 0xfc)]")
        for turn in range(40):
            rows = [f"10.{turn}.{i}.0/24,10.0.0.0/{dice.randrange(8, 20)},1" for i in range(30)]
            _csv(rules, rows if turn % 3 else rows[:1])
            ids = [rule.id for rule in rules.book.rules("PDR")]
            dice.shuffle(ids)
            rules.tell("delete " + ", ".join(f"PDR {i}" for i in ids[: 1 + len(ids) // 2]))
            rules.tell(f"create PDR [(src_port, u16, {turn}..900), FAR 1]")
            _check(rules.writer)
            if turn % 5 == 0:
                rules.writer.settle()
                _check(rules.writer, exactly=True)


@pytest.mark.usefixtures("kernel")
def test_what_is_undone_leaves_it_as_it_was() -> None:
    with bare_maps(pdr_index=2) as maps, written(maps) as rules:
        rules.tell("create FAR 1 [(action, u8, DROP)]")
        _csv(rules, [f",10.{i}.0.0/16,1" for i in range(10)])
        rules.writer.settle()
        with pytest.raises(Refused):
            _csv(rules, [f",10.{i}.0.0/16,1" for i in range(10, 40)])
        _check(rules.writer, exactly=True)
        with pytest.raises(Refused):
            rules.tell("create PDR [(src_port, u16, 1..65534), FAR 1]")
        _check(rules.writer, exactly=True)


@pytest.mark.usefixtures("kernel")
@pytest.mark.parametrize(
    ("of", "step", "text"),
    [
        (Writer, "_publish_directories", "create PDR [(dst_ip, u32, 10.77.0.0/17), FAR 1]"),
        (Steps, "write_cells", "create PDR [(src_port, u16, 5..900), FAR 1]"),
        (Steps, "remember", "delete PDR 1, PDR 2, PDR 3"),
    ],
)
def test_the_next_writer_puts_it_right(
    of: type, step: str, text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def die(*_: object) -> None:
        raise SystemExit

    with bare_maps() as maps, written(maps) as rules:
        rules.tell("create FAR 1 [(action, u8, DROP)]")
        _csv(rules, [f",10.{i}.0.0/16,1" for i in range(50)])
        rules.writer.settle()
        with monkeypatch.context() as patched, pytest.raises(SystemExit):
            patched.setattr(of, step, die)
            patched.setattr(Writer, "_undo", lambda *_: None)
            rules.tell(text)
        _check(rules.writer)
        after = Writer(bundle().manifest, maps, Nowhere())
        recover(after)
        _check(after, exactly=True)
        after.close()


@pytest.mark.usefixtures("kernel")
def test_a_key_that_is_refused_leaves_no_bit(monkeypatch: pytest.MonkeyPatch) -> None:
    with bare_maps() as maps, written(maps) as rules:
        rules.tell("create FAR 1 [(action, u8, DROP)]")
        table = rules.writer.tables["PDR"]
        assert table.entries is not None

        def refuse(*_: object) -> None:
            raise NoRoom("PDR", "keys")

        with monkeypatch.context() as patched, pytest.raises(Refused):
            patched.setattr(type(table.entries), "add", refuse)
            rules.tell("create PDR [(dst_ip, u32, 10.77.0.0/17), FAR 1]")
        _check(rules.writer, exactly=True)
