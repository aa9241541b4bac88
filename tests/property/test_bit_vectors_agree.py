"""Interpreter and kernel agree where packets are matched by bit vectors: whatever the masks,
however many rules match, and while there come to be too many rules for them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from ipaddress import IPv4Network
from itertools import product
from pathlib import Path
from random import Random

import numpy as np
import pytest
from agreement import JOINS, Both, loaded
from helioc.compiler.driver import check_file
from helioc.compiler.tables import layout
from helioc.lang.contract.request.request_parser import parse_request
from helioc.lang.contract.rules.rulebook import RuleBook
from helioc.lang.text.diagnostics import Refused
from helioc.lang.text.source import Source
from helioc.runtime.rules import vectors
from scapy.layers.inet import IP
from scapy.layers.l2 import Ether
from scapy.packet import Raw
from small_tables import WORLD, frame, requests

COLLISIONS = Path(__file__).with_name("collisions.hp")
CACHED = ("LONG", "RANGE", "WIDE")


@pytest.fixture(scope="module", params=product(JOINS, (1, layout.VECTOR_PAIRS)), ids=str)
def both(request: pytest.FixtureRequest, kernel: None) -> Iterator[Both]:
    join, pairs = request.param
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(vectors, "LOADS_OF_A_MASK", 1000)
        patch.setattr(layout, "VECTOR_PAIRS", pairs)
        with loaded(check_file(COLLISIONS), WORLD, join) as made:
            yield made
            made.kernel.writer.close()


def tell(both: Both, book: RuleBook, text: str) -> None:
    with suppress(Refused):  # equal matches of more rules than there are numbers for
        plan = book.plan(parse_request(Source("request", text)))
        both.kernel.writer.try_apply(plan)
        book.commit(plan)


def used(both: Both) -> list[bool]:
    tables = both.kernel.writer.tables
    return [v.used for name in CACHED if (v := tables[name].vectors) is not None]


@pytest.mark.parametrize("seed", range(8))
def test_they_agree(both: Both, seed: int) -> None:
    random, book, asked = Random(seed), both.empty(), 0
    for _ in range(12):
        for text in requests(random, book):
            tell(both, book, text)
            both.agree(book, frame(random), 1)
            asked += sum(used(both))
        if random.random() < 0.2:
            both.reopen()
    assert asked > 100


def test_all_that_match(both: Both) -> None:
    """More than packets compare: the best one, among equals the first."""
    random, book = Random(1), both.empty()
    for n in range(17, 0, -1):
        tell(both, book, f"create RANGE [(rank, u16, {n % 7}), (dst, u32, 10.0.0.0/{n + 7})]")
        tell(both, book, f"create LONG [(dst, u32, 0.0.0.0/{n % 3})]")
        for data in [frame(random) for _ in range(4)]:
            both.agree(book, data, 1)
    assert all(used(both)[:2])


def test_the_best_may_be_in_any_pair(kernel: None) -> None:
    """Also behind one that has only worse keys."""
    with loaded(check_file(Path(__file__).with_name("prefixes.hp")), WORLD, "staged") as both:
        book = both.empty()
        table = both.kernel.writer.tables["ROUTE"].vectors
        assert table is not None and table.room == 512
        for length in 16, 12:  # each fills a pair
            for n in range(128):
                prefix = IPv4Network((n << 32 - length, length))
                tell(both, book, f"create ROUTE {length * 1000 + n} [(dst, u32, {prefix})]")
        data = bytes(Ether() / IP(dst="0.1.1.1") / Raw(bytes(20)))
        both.agree(book, data, 1)
        for change in "create ROUTE 1 [(dst, u32, 0.1.1.1)]", "delete ROUTE 1":
            tell(both, book, change)
            both.agree(book, data, 1)
            assert table.used


def test_too_many_rules_and_few_again(both: Both) -> None:
    """Each range of nearly all lengths takes many keys."""
    random, book = Random(2), both.empty()
    table = both.kernel.writer.tables["RANGE"].vectors
    assert table is not None
    seen = set()
    for _ in range(3):
        for n in range(28):
            few = f"(dst, u32, 10.0.0.{n}), (len, u16, 1..{65000 - n})"
            text = f"create RANGE [{few}, (rank, u16, 1)]"
            tell(both, book, text)
            both.agree(book, frame(random), 1)
            seen.add(table.used)
        tell(both, book, "; ".join(f"delete RANGE {r.id}" for r in book.rules("RANGE")))
        tell(both, book, "create RANGE [(rank, u16, 1)]")
        both.kernel.writer.settle()
        both.agree(book, frame(random), 1)
        assert table.used
    room = both.kernel.manifest.rule("RANGE").vectors
    assert room == 256 or seen == {True, False}


def test_what_the_bits_say_is_believed(both: Both) -> None:
    """Else the tests above show nothing; and whoever opens the maps makes the bits again."""
    random, book = Random(3), both.empty()
    tell(both, book, "create LONG [(dst, u32, 10.0.0.0/8)]")
    tell(both, book, "create LONG [(dst, u32, 10.0.0.0/9)]")
    kind = both.kernel.manifest.rule("LONG")
    data = next(
        d for d in (frame(random) for _ in range(64)) if d[12:14] == b"\x08\0" and d[23] == 3
    )
    both.agree(book, data, 1)
    memory = np.frombuffer(both.kernel.maps["long_filter"].mmap(), np.uint8)
    memory[kind.filter // 8 + 16 :] = 0
    with pytest.raises(AssertionError):
        both.agree(book, data, 1)
    both.reopen()
    both.agree(book, data, 1)
