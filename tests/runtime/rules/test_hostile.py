"""Requests that come in each other's rests, and keys that were chosen to meet."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext

import numpy as np
import pytest
from helioc.lang.contract.rules.csv_columns import read_csv
from helioc.lang.contract.rules.interleaving import YieldPoint
from helioc.lang.text.diagnostics import Refused
from helioc.lang.text.source import Source
from helioc.runtime.rules import snapshot
from helioc.runtime.rules.key_hash import hashes_of
from helioc.runtime.rules.recovery import recover
from helioc.runtime.rules.transaction import Writer
from linx_maps import Nowhere, Rules, bare_maps, bundle, keys_in, written

pytestmark = pytest.mark.usefixtures("kernel")


class Rest(YieldPoint):
    """Others do something in the first rest."""

    def __init__(self, others: Callable[[], object]) -> None:
        self._others: Callable[[], object] | None = others

    def __call__(self) -> None:
        """Nobody else comes."""

    def without_turn(self) -> AbstractContextManager[None]:
        return nullcontext()

    def rest(self) -> None:
        others, self._others = self._others, None
        if others is not None:
            others()


def prefix(i: int) -> str:
    return f"10.{i >> 8}.{i & 255}.0/24"


def test_undoing_a_request_leaves_the_keys_of_others() -> None:
    """Of keys for which there was no room, another request took one meanwhile."""
    with bare_maps(pdr_index=64) as maps, written(maps) as rules:
        rules.tell("create FAR 1 [(action, u8, DROP)]")
        table = rules.writer.tables["PDR"]
        rows = "".join(f"{prefix(i)},1\n" for i in range(600))  # of 64 * 6 places
        columns = read_csv(Source("x.csv", f"dst_ip,FAR\n{rows}"), rules.book.kinds["PDR"])
        plan = rules.book.plan_columns(columns)

        def others() -> None:
            with pytest.raises(Refused):
                for i in range(256, 600):
                    before = len(keys_in(table))
                    rules.tell(f"create PDR {1000 + i} [(dst_ip, u32, {prefix(i)}), FAR 1]")
                    assert len(keys_in(table)) == before + 1

        with pytest.raises(Refused):
            rules.writer.try_apply(plan, Rest(others))
        made = len(list(rules.book.rules("PDR")))
        assert made and len(keys_in(table)) == made
        rules.agree()


def test_who_is_killed_owes_what_came_in_a_rest() -> None:
    """Rules that are reaped in pieces: in a rest another goes, and then the writer dies."""
    with bare_maps() as maps:
        writer = Writer(bundle().manifest, maps, Nowhere())
        recover(writer)
        rules = Rules(writer)
        rules.tell("create FAR 1 [(action, u8, DROP)]")
        for i in range(1, 2101):
            rules.tell(f"create PDR {i} [(dst_ip, u32, {prefix(i)}), FAR 1]")
        writer.settle()
        table = writer.tables["PDR"]
        cell = np.array([table.ids[4]])
        assert table.counters is not None
        table.counters.carry(cell, np.array([[77, 7777]], np.uint64))
        rules.tell("delete " + ", ".join(f"PDR {i}" for i in range(1, 2101) if i != 4))
        writer.settle(Rest(lambda: rules.tell("delete PDR 4")))
        assert writer.control[2]
        writer._broken = True  # killed here
        writer.close()
        again = Writer(bundle().manifest, maps, Nowhere())
        recover(again)
        counters = again.tables["PDR"].counters
        assert counters is not None and not counters.sums(cell).any()
        again.close()


def chosen(key: bytes, at: int, count: int) -> list[str]:
    """Addresses whose keys all begin at one bucket of 2^16."""
    addresses = (10 << 24) + np.arange(1 << 24, dtype=np.uint32)
    found = list[np.ndarray[tuple[int], np.dtype[np.uint32]]]()
    for some in np.split(addresses, 16):
        keys = np.repeat(np.frombuffer(key, np.uint8)[None], len(some), 0)
        keys[:, at : at + 4] = some.astype(">u4").view(np.uint8).reshape(-1, 4)
        found.append(some[hashes_of(keys) >> np.uint64(48) == 1000])
    return [".".join(map(str, int(x).to_bytes(4, "big"))) for x in np.concatenate(found)[:count]]


def test_keys_that_were_chosen_to_meet_have_places_and_are_restored() -> None:
    """More than 32 buckets hold: the others are under another number of the mask."""
    with bare_maps() as maps, written(maps) as rules:
        rules.tell("create FAR 1 [(action, u8, DROP)]")
        rules.tell("create PDR 1 [(dst_ip, u32, 1.2.3.4), FAR 1]")
        table = rules.writer.tables["PDR"]
        (key,) = keys_in(table)
        addresses = chosen(key, key.index(b"\1\2\3\4"), 220)
        for address in addresses:
            rules.tell(f"create PDR [(dst_ip, u32, {address}), FAR 1]")
        assert len(keys_in(table)) == len(addresses) + 1 > 6 * 32
        rules.agree()
        saved = b"".join(map(bytes, snapshot.take(rules.writer, bundle().manifest)))
        with bare_maps() as fresh:
            snapshot.put(saved, fresh, bundle().manifest)
            with written(fresh) as restored:
                assert keys_in(restored.writer.tables["PDR"]) == keys_in(table)
