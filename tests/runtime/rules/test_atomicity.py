"""No packet sees half a request, and a writer that is killed loses and shows nothing."""

from __future__ import annotations

import os
import random
import select
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count

import pytest
from helioc.lang.contract.rules.rules import Reference, Rule
from helioc.lang.contract.world.environment import Environment, Port
from helioc.runtime.kernel.grace import online_cpus_grace
from helioc.runtime.kernel.handles import Map
from helioc.runtime.rules import directory, vectors, versions
from helioc.runtime.rules.plans import Changes
from helioc.runtime.rules.recovery import recover
from helioc.runtime.rules.transaction import Writer
from helioc.runtime.testrun.private_run import PrivateRun
from linx_maps import (
    DROP,
    PASS,
    Nowhere,
    bare_maps,
    bundle,
    changes,
    far,
    hash_keys,
    pdr,
    udp,
    wanted_keys,
)
from packets_beside import packets

pytestmark = pytest.mark.usefixtures("kernel")

WORLD = Environment((Port(1, "LAN", "lan", 11, 1500, bytes(6), 0x0A000001),), default="pass")
FRAME = udp("10.1.0.10", "10.2.3.4")
NET, SUBNET = 0x0A020000, 0x0A020300


@pytest.fixture(autouse=True, params=["by masks", "by the flow cache", "by bit vectors"])
def looked_up(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    by_flow, by_bits = (request.param == way for way in ("by the flow cache", "by bit vectors"))
    monkeypatch.setattr(versions, "UNCACHED", 0 if by_flow else directory.MOST_NUMBERS)
    monkeypatch.setattr(vectors, "LOADS_OF_A_MASK", directory.MOST_NUMBERS if by_bits else 0)


@contextmanager
def running(*rules: Rule) -> Iterator[PrivateRun]:
    with PrivateRun(bundle()) as run:
        run.set_environment(WORLD)
        run.writer._grace = online_cpus_grace
        run.writer.apply(changes(created=rules))
        yield run


def test_no_packet_sees_half_a_request() -> None:
    """Two FARs exchange their actions while the PDR moves from one to the other: at every moment
    between two requests the packet is dropped."""
    fars = [far(1, 1, DROP), far(2, 2, PASS)]
    rule = pdr(1, 3, 1, NET, 16)
    with running(*fars, rule) as run, packets(run, FRAME, "drop") as enough:
        for i in range(3000):
            turned = [f._replace(values=(("action", DROP + PASS - f.values[0][1]),)) for f in fars]
            moved = rule._replace(target=Reference("FAR", 2 - i % 2))
            pairs = tuple(zip([*fars, rule], [*turned, moved], strict=True))
            run.writer.apply(changes(changed=pairs))
            fars, rule = turned, moved
        assert enough() > 1000


def test_a_packet_loop_would_see_half_a_request() -> None:
    """The control: the same changes in two requests are seen half-way."""
    fars = [far(1, 1, DROP), far(2, 2, PASS)]
    rule = pdr(1, 3, 1, NET, 16)
    with (
        pytest.raises(AssertionError, match="saw half"),
        running(*fars, rule) as run,
        packets(run, FRAME, "drop") as enough,
    ):
        for i in range(400):
            turned = [f._replace(values=(("action", DROP + PASS - f.values[0][1]),)) for f in fars]
            moved = rule._replace(target=Reference("FAR", 2 - i % 2))
            run.writer.apply(changes(changed=tuple(zip(fars, turned, strict=True))))
            run.writer.apply(changes(changed=((rule, moved),)))
            fars, rule = turned, moved
        enough()


def test_the_next_best_rule_holds_while_better_ones_come_and_go() -> None:
    """Traffic on a /16 while longer prefixes beneath it are made and removed: no packet misses."""
    fars = [far(1, 1, DROP), far(2, 2, DROP)]
    with running(*fars, pdr(1, 3, 1, NET, 16)) as run, packets(run, FRAME, "drop") as enough:
        sequences = count(4)
        below: list[Rule] = []
        for i in range(3000):
            length = (24, 25, 32)[i % 3]
            address = 0x0A020304 & (0xFFFFFFFF << (32 - length)) & 0xFFFFFFFF
            new = pdr(2 + i % 3, next(sequences), 2, address, length)
            gone = tuple(r for r in below if r.id == new.id)
            if i % 7 == 6:
                run.writer.apply(changes(removed=tuple(below)))
                below, gone = [], ()
            run.writer.apply(changes(created=(new,), removed=gone))
            below = [r for r in below if r not in gone] + [new]
        assert enough() > 1000


# ---- writers that are killed ----------------------------------------------------------------


def _step(number: int, rules: dict[tuple[str, int], Rule]) -> Changes:
    """Transaction `number`: what it does depends on nothing but its number and the rules."""
    dice = random.Random(number)
    created: list[Rule] = []
    changed: list[tuple[Rule, Rule]] = []
    removed: list[Rule] = []
    for i in range(dice.randrange(1, 6)):
        key = ("PDR", dice.randrange(2, 40))
        old = rules.get(key)
        sequence = 1000 + number * 10 + i
        if any(key == (r.kind, r.id) for r in [*created, *removed, *(n for _, n in changed)]):
            continue
        if old is None:
            length = dice.choice((16, 20, 24, 32))
            address = (NET | key[1] << 9) & (0xFFFFFFFF << (32 - length)) & 0xFFFFFFFF
            created.append(pdr(key[1], sequence, 1, address, length))
        elif dice.random() < 0.5:
            changed.append((old, old._replace(target=Reference("FAR", dice.randrange(1, 3)))))
        else:
            removed.append(old)
    return changes(tuple(created), tuple(changed), tuple(removed))


def _after(step: Changes, rules: dict[tuple[str, int], Rule]) -> None:
    for rule in step.removed:
        del rules[rule.kind, rule.id]
    for rule in [*step.created, *(new for _, new in step.changed)]:
        rules[rule.kind, rule.id] = rule


def test_a_killed_writer_loses_nothing_and_shows_nothing() -> None:
    """A writer is killed 120 times, each time the next one finds exactly the last commit."""
    dice = random.Random(1)
    with bare_maps() as maps:
        rules: dict[tuple[str, int], Rule] = {}
        writer = Writer(bundle().manifest, maps, Nowhere())
        first = changes(created=(far(1, 1, DROP), far(2, 2, PASS)))
        writer.apply(first)
        _after(first, rules)
        writer.close()
        done, dirty = 1, 0
        for _ in range(120):
            _killed_while_writing(maps, dict(rules), done, dice.uniform(0.0, 0.012))
            writer = Writer(bundle().manifest, maps, Nowhere())
            dirty += writer.control[2]
            recover(writer)
            for number in range(done + 1, writer.epoch + 1):
                _after(_step(number, rules), rules)
            done = writer.epoch
            found = {(rule.kind, rule.id): rule for rule in writer.rules()}
            assert found == rules
            keys = hash_keys(writer)
            assert {k: len(v) for k, v in keys.items()} == wanted_keys(writer)
            directory = writer.tables["PDR"].directory
            assert directory is not None
            counted = sum(t.keys for same in directory.by_mask.values() for t in same)
            assert counted == len(keys["PDR"])
            writer.close()
        assert done > 120 and dirty > 60


def _killed_while_writing(
    maps: dict[str, Map], rules: dict[tuple[str, int], Rule], done: int, seconds: float
) -> None:
    ready_read, ready_write = os.pipe()
    child = os.fork()
    if not child:
        try:
            writer = Writer(bundle().manifest, maps, Nowhere())
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
