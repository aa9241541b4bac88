"""Interpreter and kernel agree where keys meet: with a hash of which tags, buckets and lines of the
flow cache are nearly all the same, in small tables, while rules come and go without a grace
period."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from random import Random

import pytest
from agreement import JOINS, Both, loaded
from compilations import compiled_with
from helioc.compiler.driver import check_file
from helioc.lang.contract.request.request_parser import parse_request
from helioc.lang.text.diagnostics import Refused
from helioc.lang.text.source import Source
from helioc.runtime.rules import key_hash, vectors, versions
from helioc.runtime.rules.directory import MOST_NUMBERS
from small_tables import KINDS, WORLD, frame, requests

#: All keys begin at one bucket, and have one of a few tags; wide keys differ a little more.
WORST = 1


@pytest.fixture(scope="module")
def hashed() -> Iterator[None]:
    with compiled_with(HASH_FACTOR=WORST, TURNS=1) as patch:
        patch.setattr(key_hash, "HASH_FACTOR", WORST)
        patch.setattr(key_hash, "_FACTOR", key_hash._FACTOR.dtype.type(WORST))
        yield


@pytest.fixture(scope="module", params=JOINS)
def both(request: pytest.FixtureRequest, kernel: None, hashed: None) -> Iterator[Both]:
    with loaded(
        check_file(Path(__file__).with_name("collisions.hp")), WORLD, request.param
    ) as made:
        yield made


@pytest.mark.parametrize("way", ["by bits", "by flow", "by masks"])
@pytest.mark.parametrize("seed", range(8))
def test_they_agree(both: Both, seed: int, way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vectors, "LOADS_OF_A_MASK", MOST_NUMBERS if way == "by bits" else 0)
    monkeypatch.setattr(versions, "UNCACHED", 0 if way == "by flow" else MOST_NUMBERS)
    random, book = Random(seed), both.empty()
    made = most = 0
    for _ in range(16):
        for text in requests(random, book):
            with suppress(Refused):  # equal matches of more rules than there are numbers for
                plan = book.plan(parse_request(Source("request", text)))
                both.kernel.writer.try_apply(plan)
                book.commit(plan)
                made += 1
            for _ in range(3):
                both.agree(book, frame(random), 1)
        most = max(most, sum(1 for kind in KINDS for _ in book.rules(kind)))
    assert made > 40 and most > 60


def test_the_hash_is_as_bad_as_it_is_meant_to_be(both: Both) -> None:
    """Else the test above shows nothing: keys go past full buckets, and tags meet."""
    random = Random(1)
    texts = [f"create EXACT [(dst, u32, 10.0.{i & 3}.{i})]" for i in range(60)]
    book = both.book("; ".join(texts))
    table = both.kernel.writer.tables["EXACT"]
    assert table.entries is not None
    saved = table.entries.saved()["buckets"]
    pasts = saved.view("<u2").reshape(-1, 16)[:, 3]
    tags = saved.reshape(-1, 32)[:, :6]
    assert pasts.max() >= 50 and len(set(tags[tags > 0].tolist())) <= 4
    for _ in range(60):
        both.agree(book, frame(random), 1)
