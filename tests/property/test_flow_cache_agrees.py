"""Interpreter and kernel agree where packets repeat themselves, and look-ups go by the flow cache:
while rules come, change and go, and requests fail half-way."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from random import Random

import numpy as np
import pytest
from agreement import JOINS, Both, loaded
from compilations import compiled_with
from helioc.compiler.driver import check_file
from helioc.lang.contract.request.request_parser import parse_request
from helioc.lang.contract.rules.rulebook import RuleBook
from helioc.lang.text.diagnostics import Refused
from helioc.lang.text.source import Source
from helioc.runtime.rules import vectors, versions
from helioc.runtime.rules.steps import Steps
from small_tables import WORLD, frame, requests


class Interrupted(Exception):
    pass


@pytest.fixture(scope="module")
def asking() -> Iterator[None]:
    """Each packet asks, whether or not that helped before it."""
    with compiled_with(TURNS=1):
        yield


@pytest.fixture(scope="module", params=JOINS)
def both(request: pytest.FixtureRequest, kernel: None, asking: None) -> Iterator[Both]:
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(before)})  # one CPU's lines
    try:
        with loaded(
            check_file(Path(__file__).with_name("collisions.hp")), WORLD, request.param
        ) as made:
            made.kernel.maps["flows"].mmap()  # which stays until the end
            yield made
    finally:
        os.sched_setaffinity(0, before)


@pytest.fixture(params=[0, versions.UNCACHED], ids=["always", "many masks"])
def uncached(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    """Up to so many masks the cache is not asked."""
    monkeypatch.setattr(versions, "UNCACHED", request.param)
    monkeypatch.setattr(vectors, "LOADS_OF_A_MASK", 0)  # or those are asked
    return int(request.param)


def apply(both: Both, book: RuleBook, text: str) -> bool:
    """Whether it was possible."""
    with suppress(Refused):  # equal matches of more rules than there are numbers for
        plan = book.plan(parse_request(Source("request", text)))
        both.kernel.writer.try_apply(plan)
        book.commit(plan)
        return True
    return False


@pytest.mark.parametrize("seed", range(8))
def test_they_agree(both: Both, uncached: int, seed: int) -> None:
    random, book = Random(seed), both.empty()
    frames = [frame(random) for _ in range(24)]
    for _ in range(12):
        for text in requests(random, book):
            apply(both, book, text)
            for data in random.choices(frames, k=4):
                both.agree(book, data, 1)


def test_what_the_cache_says_is_believed(both: Both, uncached: int) -> None:
    """Else the test above shows nothing: a line that says something else misleads packets."""
    book = both.empty()
    prefixes = "; ".join(f"create LONG [(dst, u32, 10.0.0.0/{n})]" for n in range(8, 16))
    apply(both, book, prefixes)
    random = Random(1)
    frames = [d for d in (frame(random) for _ in range(64)) if d[23] == 3]
    memory = np.frombuffer(both.kernel.maps["flows"].mmap(), "<u4")
    table = memory.reshape(-1, both.kernel.manifest.flows // 4)
    table[:] = 0
    for data in frames:
        both.agree(book, data, 1)
    ours = np.flatnonzero(table[:, 3])
    assert len(ours) == 1  # of an address the first 15 bits count; no rule asks for the others
    table[ours, 3] = 0
    with pytest.raises(AssertionError):
        both.agree(book, frames[0], 1)
    apply(both, book, "create LONG [(dst, u32, 10.128.0.0/9)]")  # the lines hold no more
    for data in frames:
        both.agree(book, data, 1)


def test_kinds_are_told_apart(both: Both, uncached: int) -> None:
    """Also where all that any rule asks for of their packets is equal: nothing."""
    book, random = both.empty(), Random(2)
    apply(
        both, book, "create LONG []; create RANGE [(rank, u16, 2)]; create RANGE [(rank, u16, 1)]"
    )
    for data in [frame(random) for _ in range(12)] * 2:
        both.agree(book, data, 1)


def test_a_request_that_fails_changes_no_keys(both: Both) -> None:
    """At the last moment: packets ask the cache as before, also those of its epoch's number."""
    book, writer = both.empty(), both.kernel.writer
    apply(both, book, "create LONG [(dst, u32, 10.0.0.0/8)]")
    found, written = writer.tables["LONG"].directory, Steps.write_cells
    assert found is not None and found.since == writer.epoch

    def fail(self: Steps, epoch: int) -> None:
        written(self, epoch)
        assert found.since == writer.epoch + 1
        raise Interrupted

    plan = book.plan(parse_request(Source("request", "create LONG [(dst, u32, 10.1.0.0/16)]")))
    with pytest.MonkeyPatch.context() as patch, pytest.raises(Interrupted):
        patch.setattr(Steps, "write_cells", fail)
        writer.apply(plan)
    assert found.since == writer.epoch
