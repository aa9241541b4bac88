"""Rules that entries keep, while requests change their priorities between packets: the interpreter,
the intermediate representation and the kernel say alike which rule it is, and what it counted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from agreement import WAYS, Both, loaded, quick
from helioc.compiler.driver import check_file
from helioc.compiler.interpret.packet import Interpreter
from helioc.compiler.ir.interpreter.machine import Machine
from helioc.lang.contract.world.environment import Environment, Outcome, Port
from helioc.lang.text.diagnostics import Refused
from hypothesis import given, settings
from hypothesis import strategies as st
from outcomes import said
from scapy.layers.inet import IP, UDP
from scapy.layers.l2 import Ether

RANKED = Path(__file__).parents[1] / "compiler" / "lower" / "cases" / "states" / "ranked.hp"
WORLD = Environment((Port(1, "LAN", "lan", 11, 1500, bytes.fromhex("020000000001"), 0x0A010001),))
FIRST = """
create WAY 1 [(src, 10.0.0.0/8), (mark, 1), (rank, 1), (rate, 800), (burst, 100)];
create WAY 2 [(src, 10.0.0.0/8), (mark, 2), (rank, 2), (rate, 800), (burst, 100)];
create WAY 3 [(src, 10.1.0.0/16), (mark, 3), (rank, 2), (rate, 800), (burst, 100)];
create CLIENT 1 [(src, 10.1.0.4), WAY 1];
create BAND 1 [(port, 1..900), (mark, 1), (order, 1)];
create BAND 2 [(port, 500..3000), (mark, 2), (order, 2)]
"""

Step = str | tuple[int, int]
"""A request, or the source and port of a packet; or "": the next process opens the maps."""

packets = st.tuples(st.sampled_from([1, 2, 4]), st.sampled_from([100, 700, 2000]))
ways, ranks = st.integers(1, 3), st.integers(0, 3)


@st.composite
def requests(draw: st.DrawFn) -> str:
    way, rank, mark = draw(ways), draw(ranks), draw(st.integers(0, 255))
    made = f"WAY {way} [(src, 10.{way}.0.0/{draw(st.sampled_from([8, 9, 16]))}), (mark, {mark}), "
    made += f"(rank, {rank}), (rate, 800), (burst, 100)]"
    return draw(
        st.sampled_from([
            f"update WAY {way} [(rank, {rank})]",
            f"update WAY {way} [(rank, {rank}), (mark, {mark})]",
            f"update WAY {way} [(mark, {mark})]",
            f"update WAY {way} [(rank, {rank})]; update WAY {1 + way % 3} [(rank, {rank + 1})]",
            f"update BAND {1 + mark % 2} [(order, {rank})]",
            f"update CLIENT 1 [WAY {way}]",
            f"delete WAY {way}",
            f"create {made}",
            f"delete WAY {way}; create {made}",
            f"delete WAY 2, WAY 3; create {made}",
            f"replace {made}",
        ])
    )  # fmt: skip


steps = st.lists(packets | packets | requests() | st.just(""), min_size=6, max_size=20)


class Sides:
    """All of them from the beginning, with what packets leave behind."""

    def __init__(self, both: Both) -> None:
        self.both, kernel = both, both.kernel
        self.book = both.book(FIRST)
        kernel.forget()
        self.model = Interpreter(both.pipeline, WORLD)
        self.machine = Machine(both.unit, WORLD, both.pipeline.default)
        for each in (kernel, self.machine):
            each.set_moment(self.model.states.moment)

    def take(self, step: Step) -> Outcome | None:
        """The outcome of a packet, said by all."""
        if step == "":
            self.both.reopen()
        elif isinstance(step, str):
            with suppress(Refused):
                self.both.tell(self.book, step)
        else:
            source, port = step
            packet = IP(src=f"10.1.0.{source}", dst="10.9.0.9") / UDP(dport=port)
            frame = bytes(Ether() / packet)
            expected = self.model.run(self.book, frame, 1)
            assert said(self.machine.run(self.book, frame, 1)) == said(expected)
            assert said(self.both.kernel.run(frame, 1)) == said(expected)
            return expected
        return None


@pytest.fixture(scope="module", params=WAYS)
def both(request: pytest.FixtureRequest, kernel: None) -> Iterator[Both]:
    with loaded(check_file(RANKED), WORLD, request.param) as both:
        yield both
        both.kernel.writer.close()


@settings(quick, max_examples=60)
@given(steps)
def test_an_entry_s_rule_is_one_rule(both: Both, taken: list[Step]) -> None:
    sides = Sides(both)
    for step in taken:
        sides.take(step)


def test_the_steps_reach_every_fate(both: Both) -> None:
    seen: Counter[str] = Counter()

    @settings(quick, max_examples=60, derandomize=True)
    @given(steps)
    def look(taken: list[Step]) -> None:
        sides = Sides(both)
        for step in taken:
            if outcome := sides.take(step):
                seen.update(reason for _, reason in outcome.events)

    look()
    for fate in ("WAY", "HELD", "way_gone", "many", "red", "tx"):
        assert seen[fate] >= 3, seen
