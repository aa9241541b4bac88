"""Rules of a kind that entries of states keep and that has priorities: each is one rule at its
place, in the one of two cells or the other."""

from __future__ import annotations

import os
import random
import select
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from itertools import count
from pathlib import Path

import numpy as np
import pytest
from helioc.compiler.bundle import compile_pipeline
from helioc.compiler.driver import check_file
from helioc.lang.contract.rules.rules import Matcher, Reference, Rule
from helioc.lang.contract.world.environment import Environment, Port
from helioc.runtime.kernel.grace import online_cpus_grace
from helioc.runtime.loading.bundle import Bundle
from helioc.runtime.rules import directory, snapshot, vectors, versions
from helioc.runtime.rules.plans import Changes
from helioc.runtime.rules.pools import NoRoom, Pairs
from helioc.runtime.rules.recovery import recover
from helioc.runtime.rules.tables import Table
from helioc.runtime.rules.transaction import Writer
from helioc.runtime.testrun.private_run import PrivateRun
from linx_maps import Nowhere, hash_keys, udp, wanted_keys
from packets_beside import packets

WORLD = Environment((Port(1, "LAN", "lan", 11, 1500, bytes(6), 0x0A000001),))
FRAME = udp("10.1.0.10", "10.2.3.4")
KEEP = FRAME[:15] + b"\x04" + FRAME[16:]
NET = 0x0A000000


@cache
def bundle() -> Bundle:
    made = compile_pipeline(check_file(Path(__file__).with_name("two_cells.hp")))
    return Bundle(made.manifest, made.object)


def way(number: int, sequence: int, rank: int, mark: int = 1, net: int = NET) -> Rule:
    match = (("src", Matcher("prefix", net, 8)),)
    return Rule("WAY", number, sequence, "", 0, rank, match, (("mark", mark),))


def client(to: int) -> Rule:
    match = (("src", Matcher("value", 0x0A01000A, 0)),)
    return Rule("CLIENT", 1, 900, match=match, target=Reference("WAY", to))


@contextmanager
def running(*rules: Rule) -> Iterator[PrivateRun]:
    with PrivateRun(bundle()) as run:
        run.set_environment(WORLD)
        run.writer._grace = online_cpus_grace
        run.writer.apply(Changes(created=rules))
        yield run


@pytest.mark.usefixtures("kernel")
@pytest.mark.parametrize("how", ["by masks", "by the flow cache", "by bit vectors"])
@pytest.mark.parametrize("kept", [1, 2])
def test_no_packet_sees_half_a_change(how: str, kept: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two rules change places and what they say, 400 times, while packets come: to each the
    better one says 1 and the other one 2, whichever it finds by its key, by a reference and by an
    entry."""
    monkeypatch.setattr(versions, "UNCACHED", 0 if "flow" in how else directory.MOST_NUMBERS)
    of_a_mask = directory.MOST_NUMBERS if "bit" in how else 0
    monkeypatch.setattr(vectors, "LOADS_OF_A_MASK", of_a_mask)
    ways = [way(kept, 1, 20, 1), way(3 - kept, 2, 10, 2)]
    with running(*ways, client(1)) as run:
        run.entry(1).test_run(KEEP, ingress_ifindex=1)
        with packets(run, FRAME, "drop") as enough:
            for i in range(400):
                turned = [
                    rule._replace(
                        priority=30 - rule.priority, values=(("mark", 1 + (i + n + 1) % 2),)
                    )
                    for n, rule in enumerate(ways)
                ]
                run.writer.apply(Changes(changed=tuple(zip(ways, turned, strict=True))))
                ways = turned
            assert enough() > 1000


def places(table: Table) -> list[int]:
    return [cell % table.places for cell in table.sequences.values()]


@pytest.mark.usefixtures("kernel")
def test_a_full_kind_changes_all_its_priorities_and_is_replaced() -> None:
    ways = [way(n, n, n, net=n << 24) for n in range(1, 9)]
    with running(*ways) as run:
        writer, table = run.writer, run.writer.tables["WAY"]
        before = places(table)
        for round_ in range(1, 4):
            turned = [rule._replace(priority=rule.priority + round_) for rule in ways]
            writer.apply(Changes(changed=tuple(zip(ways, turned, strict=True))))
            ways = turned
            assert places(table) == before
            assert all((cell >= table.places) == round_ % 2 for cell in table.sequences.values())
        others = tuple(way(n, 10 + n, n, net=n << 24) for n in range(1, 9))
        writer.apply(Changes(created=others, removed=tuple(ways)))
        assert not {*places(table)} & {*before}
        turned = [rule._replace(priority=99) for rule in others]
        writer.apply(Changes(changed=tuple(zip(others, turned, strict=True))))
        again = tuple(way(n, 20 + n, n, net=n << 24) for n in range(1, 9))
        writer.apply(Changes(created=again, removed=tuple(turned)))
        assert {*places(table)} == {*before}
        assert sorted(writer.rules()) == sorted(again)


@pytest.mark.usefixtures("kernel")
def test_counts_stay_with_the_place_and_go_with_the_rule() -> None:
    one, other = way(1, 1, 20), way(2, 2, 10)
    with running(one, other) as run:
        writer, table = run.writer, run.writer.tables["WAY"]

        def counted(sequence: int) -> int:
            assert table.counters is not None
            cells = np.array([table.sequences[sequence]])
            return int(table.counters.sums(cells)[0, 0])

        run.entry(1).test_run(KEEP, ingress_ifindex=1, repeat=5)
        moved = one._replace(priority=30)
        writer.apply(Changes(changed=((one, moved),)))
        assert counted(1) == 5  # at once
        writer.settle()
        run.entry(1).test_run(KEEP, ingress_ifindex=1, repeat=5)
        assert counted(1) == 10
        writer.apply(Changes(removed=(moved,)))
        writer.settle()
        new = [way(n, 10 + n, n, net=n << 24) for n in range(3, 7)]
        writer.apply(Changes(created=tuple(new)))
        assert [counted(rule.sequence) for rule in new] == [0, 0, 0, 0]


@pytest.mark.usefixtures("kernel")
def test_a_snapshot_has_each_rule_in_its_cell() -> None:
    one, other = way(1, 1, 20), way(2, 2, 10)
    moved = one._replace(priority=5)
    with running(one, other, client(1)) as run, PrivateRun(bundle()) as fresh:
        run.writer.apply(Changes(changed=((one, moved),)))
        was = run.writer.tables["WAY"]
        assert was.sequences[1] >= was.places
        content = b"".join(snapshot.take(run.writer, bundle().manifest))
        fresh.writer.close()
        snapshot.put(content, fresh.maps, bundle().manifest)
        fresh.writer = Writer(bundle().manifest, fresh.maps, Nowhere())
        recover(fresh.writer)
        assert sorted(fresh.writer.rules()) == sorted([moved, other, client(1)])
        assert fresh.writer.tables["WAY"].sequences == was.sequences
        assert hash_keys(fresh.writer) == hash_keys(run.writer)
        fresh.writer.apply(Changes(changed=((moved, one),)))
        assert fresh.writer.tables["WAY"].sequences[1] == was.sequences[1] - was.places


def test_a_place_is_free_when_both_its_cells_are() -> None:
    pool = Pairs("K", "cells", 4)
    assert [pool.take_like(n) for n in (2, 2, 0)] == [2, 1, 3]
    with pytest.raises(NoRoom):
        pool.take_like(0)
    assert pool.take_beside(2) == 6
    with pytest.raises(NoRoom):
        pool.take_beside(6)
    pool.give_many([2])
    assert len(pool) == 0 and pool.take_beside(6) == 2
    pool.give_many([6, 2])
    assert len(pool) == 1 and pool.take_many(1).tolist() == [2]
    pool.all_but(np.array([5, 3]))
    assert len(pool) == 1 and pool.take_beside(3) == 7
    with pytest.raises(NoRoom):
        pool.take_beside(7)


# ---- writers that are killed ----------------------------------------------------------------


def _step(number: int, rules: dict[int, Rule]) -> Changes:
    """Transaction `number`: what it does depends on nothing but its number and the rules."""
    dice = random.Random(number)
    created, changed, removed = list[Rule](), list[tuple[Rule, Rule]](), list[Rule]()
    for id_ in dice.sample(range(2, 8), dice.randrange(1, 4)):
        old, sequence = rules.get(id_), 1000 + 10 * number + id_
        if old is None:
            created.append(way(id_, sequence, dice.randrange(3), net=id_ << 24))
        elif dice.random() < 0.7:
            changed.append((old, old._replace(priority=dice.randrange(5))))
        else:
            removed.append(old)
            if dice.random() < 0.5:
                created.append(way(id_, sequence, dice.randrange(3), net=id_ << 24))
    return Changes(created, changed, removed)


def _after(step: Changes, rules: dict[int, Rule]) -> None:
    for rule in step.removed:
        del rules[rule.id]
    for rule in [*step.created, *(new for _, new in step.changed)]:
        rules[rule.id] = rule


@pytest.mark.usefixtures("kernel")
def test_a_killed_writer_loses_nothing_and_shows_nothing() -> None:
    dice, rules = random.Random(1), dict[int, Rule]()
    with PrivateRun(bundle()) as run:
        run.writer.close()
        done, dirty = run.writer.epoch, 0
        for _ in range(60):
            _killed_while_writing(run, dict(rules), done, dice.uniform(0.0, 0.012))
            writer = run.writer = Writer(bundle().manifest, run.maps, Nowhere())
            dirty += writer.control[2]
            recover(writer)
            for number in range(done + 1, writer.epoch + 1):
                _after(_step(number, rules), rules)
            done = writer.epoch
            assert {rule.id: rule for rule in writer.rules()} == rules
            assert {k: len(v) for k, v in hash_keys(writer).items()} == wanted_keys(writer)
            table = writer.tables["WAY"]
            assert len({*places(table)}) == len(rules)
            assert len(table.free_cells) == table.places - 1 - len(rules)
            writer.close()
        assert done > 60 and dirty > 20


def _killed_while_writing(
    run: PrivateRun, rules: dict[int, Rule], done: int, seconds: float
) -> None:
    ready_read, ready_write = os.pipe()
    child = os.fork()
    if not child:
        try:
            writer = Writer(bundle().manifest, run.maps, Nowhere())
            recover(writer)
            os.write(ready_write, b"!")
            for number in count(done + 1):
                step = _step(number, rules)
                writer.apply(step)
                _after(step, rules)
        finally:
            os._exit(1)
    try:
        os.read(ready_read, 1)
        select.select([], [], [], seconds)
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        os.close(ready_read)
        os.close(ready_write)
