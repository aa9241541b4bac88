"""Packets counted by their size: RFC 2819, etherStatsPkts64Octets and its sisters."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from helioc.compiler.bundle import compile_pipeline
from helioc.compiler.driver import check_file
from helioc.lang.contract.request.request_parser import parse_request
from helioc.lang.contract.rules.rulebook import RuleBook
from helioc.lang.contract.world.environment import Environment, Port
from helioc.lang.text.source import Source
from helioc.runtime.loading.bundle import Bundle
from helioc.runtime.rules.moment import SIZES
from helioc.runtime.testrun.private_run import PrivateRun

HP = Path(__file__).with_name("sizes.hp")
FCS = 4  # bytes of the frame check sequence, which XDP does not see
RULE = "create TYPE [(type, u16, 0x0800)]"


@pytest.fixture
def run(kernel: None) -> Iterator[PrivateRun]:
    compiled = compile_pipeline(check_file(HP))
    book = RuleBook(compiled.manifest)
    book.commit(book.plan(parse_request(Source("request", RULE))))
    with PrivateRun(Bundle(compiled.manifest, compiled.object)) as made:
        made.set_environment(Environment((Port(1, "A", "any", 1, 1500, bytes(6)),)))
        made.set_rules(book)
        yield made


def counted(run: PrivateRun, sizes: list[int]) -> list[int]:
    """The words of the only rule after frames of these sizes."""
    for size in sizes:
        run.run(bytes(12) + b"\x08\x00" + bytes(size - FCS - 14), 1)
    table = run.writer.tables["TYPE"]
    (cell,) = table.sequences.values()
    assert table.counters is not None
    words: list[int] = table.counters.sums(np.array([cell]))[0].tolist()
    return words


def test_each_class_ends_where_it_says(run: PrivateRun) -> None:
    at = [size for bound in SIZES for size in (bound, bound + 1)]
    packets, length, *sizes, _ = counted(run, [18, *at])
    assert (packets, length) == (13, sum(at) + 18 - 13 * FCS)
    assert sizes == [2, 2, 2, 2, 2, 2]  # and one above
