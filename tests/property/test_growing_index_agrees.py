"""Interpreter and kernel agree while the keys of a kind go into a larger index: one by one and many
at once, opened again, and where the writer died in the middle of it."""

from __future__ import annotations

from collections.abc import Iterator
from ipaddress import IPv4Address
from pathlib import Path
from random import Random
from typing import Any

import pytest
from agreement import JOINS, Both, loaded
from helioc.compiler.driver import check_file
from helioc.lang.contract.rules.rulebook import RuleBook
from helioc.runtime.rules import vectors, versions
from helioc.runtime.rules.index import Index
from helioc.runtime.rules.transaction import Writer
from scapy.layers.inet import IP
from scapy.layers.l2 import Ether
from scapy.packet import Raw
from small_tables import WORLD

#: Keys up to which the smaller index is used.
FIT = 512


class Killed(BaseException):
    pass


@pytest.fixture(params=["by masks", "by flow", "by bits"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vectors, "LOADS_OF_A_MASK", 1000 if request.param == "by bits" else 0)
    monkeypatch.setattr(versions, "UNCACHED", 0 if request.param == "by flow" else 1000)


@pytest.fixture(params=JOINS)
def both(request: pytest.FixtureRequest, kernel: None, way: None) -> Iterator[Both]:
    path = Path(__file__).with_name("prefixes.hp")
    with loaded(check_file(path), WORLD, request.param) as made:
        assert made.kernel.manifest.rule("HOST").index_logs == (7, 9)
        yield made
        made.kernel.writer.close()


def host(n: int) -> str:
    return f"9.9.{n >> 8}.{n & 255}"


def create(first: int, last: int) -> str:
    """Rules of these numbers, of both kinds."""
    made = []
    for n in range(first, last):
        prefix = f"{IPv4Address(n << 20)}/{12 + n % 20}"
        made += [
            f"create ROUTE {n} [(dst, u32, {prefix})]",
            f"create HOST {n} [(dst, u32, {host(n)})]",
        ]
    return "; ".join(made)


def agree(both: Both, book: RuleBook, random: Random, last: int, count: int) -> None:
    """On packets to some of the rules below `last`, and to none."""
    for _ in range(count):
        n = random.randrange(1, last + 9)
        both.agree(
            book, bytes(Ether() / IP(dst=str(IPv4Address(n << 20)), proto=9) / Raw(b"x" * 20)), 1
        )
        both.agree(book, bytes(Ether() / IP(dst=host(n), proto=1) / Raw(b"x" * 20)), 1)


def logs(both: Both) -> set[int]:
    tables = both.kernel.writer.tables.values()
    return {64 - (table.cells[0] >> 49 & 63) for table in tables}


def test_they_agree(both: Both) -> None:
    random, book = Random(1), both.book(create(1, FIT - 4))
    assert logs(both) == {7}
    agree(both, book, random, FIT, 12)
    for n in range(FIT - 4, FIT + 4):
        both.tell(book, create(n, n + 1))
        agree(both, book, random, FIT, 4)
    assert logs(both) == {9}
    both.reopen()
    both.tell(book, create(FIT + 4, 590))
    agree(both, book, random, 590, 12)
    both.tell(book, "; ".join(f"delete HOST {n}; delete ROUTE {n}" for n in range(1, 500)))
    agree(both, book, random, 590, 12)


def test_a_writer_that_dies(both: Both, monkeypatch: pytest.MonkeyPatch) -> None:
    random, book = Random(2), both.book(create(1, FIT))
    lead_to = Index._lead_to

    def killed(self: Index, number: Any, hashes: Any) -> None:
        lead_to(self, number[:60], hashes[:60])
        raise Killed

    with monkeypatch.context() as patched, pytest.raises(Killed):
        patched.setattr(Index, "_lead_to", killed)
        patched.setattr(Writer, "_undo", lambda *_: None)
        both.tell(book, create(FIT, FIT + 2))
    agree(both, book, random, FIT, 12)
    both.reopen()
    agree(both, book, random, FIT, 12)
    both.tell(book, create(FIT, FIT + 2))
    assert logs(both) == {9}
    agree(both, book, random, FIT, 12)
