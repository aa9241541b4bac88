"""What a card's programs do, run on the host's kernel, is what the interpreter says."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from helioc.compiler.fuzzing.scenarios import Fuzzed
from helioc.compiler.fuzzing.search import search
from helioc.compiler.interpret import Interpreter
from helioc.compiler.interpreter.environment import Environment, Port
from helioc.compiler.packettests.cases import Case, read_tests
from helioc.compiler.packettests.runs import Interpreted, run_tests
from helioc.compiler.phases import check_file, compile_for_card
from helioc.compiler.requests.rulebook import Plan, RuleBook
from helioc.compiler.requests.spread import jhash
from helioc.lang.diagnostics import Refused
from helioc.lang.parser import read
from helioc.lang.request_parser import parse_request
from helioc.lang.source import Source
from helioc.runtime.card.run import CardRun
from helioc.runtime.loading.bundle import Bundle
from helioc.runtime.testrun import Prepared
from scapy.layers.inet import IP, UDP
from scapy.layers.l2 import Ether
from scapy.packet import Raw

ROOT = Path(__file__).parents[3]
SLICE = ROOT / "pipelines" / "slice.hp"
HERE = Path(__file__).parent
PIPELINES = [SLICE, ROOT / "pipelines" / "linx_offload.hp", *sorted(HERE.glob("*.hp"))]

pytestmark = pytest.mark.usefixtures("kernel")


def on_host(path: Path) -> CardRun:
    bundle = compile_for_card(check_file(path), on_host=True)
    return CardRun(Bundle(bundle.manifest, bundle.object))


@pytest.mark.parametrize("path", PIPELINES, ids=lambda p: p.stem)
def test_agrees_on_packets_that_nobody_wrote(path: Path) -> None:
    with on_host(path) as run:
        found = search(Fuzzed(check_file(path)), run, 300, 3, 60)
    assert found.scenario is None, found


@pytest.mark.parametrize("path", PIPELINES[:2], ids=lambda p: p.stem)
def test_packet_tests_hold(path: Path) -> None:
    pipeline = check_file(path)
    with on_host(path) as run:
        cases = read_tests(pipeline, run.manifest, read(path.with_suffix(".test.yaml")))
        for result in run_tests(pipeline, cases, (Interpreted(pipeline), Card(run))):
            assert result.ok, "\n".join((result.case.name, *result.problems))


@dataclass
class Card:
    """A card's programs as a backend of packet tests."""

    run: CardRun
    name: str = "card"
    shortest: int = 14
    longest: int = 3400

    @contextmanager
    def prepare(self, case: Case) -> Iterator[Prepared]:
        self.run.set_environment(case.environment)
        book = case.opening()
        self.run.set_rules(book)
        yield Prepared(self.run, book)


# ---- rules ----------------------------------------------------------------------------------

HERE_MAC, THERE = "02:00:00:00:00:01", "02:00:00:00:00:09"
VIDEO = "(tunnel, u16, VXLAN), (tenant, u32, 7), (teid, u32, 100), (src_ip, u32, 10.45.0.2), " \
        "(dst_ip, u32, 198.51.100.9), (protocol, u8, UDP), (src_port, u16, 4000)"  # fmt: skip


@pytest.fixture(scope="module")
def card() -> Iterator[CardRun]:
    with on_host(SLICE) as run:
        yield run


def planned(book: RuleBook, text: str) -> Plan:
    return book.plan(parse_request(Source("request", text)))


def asked(run: CardRun, book: RuleBook, text: str) -> None:
    plan = planned(book, text)
    run.apply(plan)
    book.commit(plan)


def new_book(run: CardRun) -> RuleBook:
    run.set_rules(RuleBook(run.manifest, {"NIC": 1}))
    return RuleBook(run.manifest, {"NIC": 1})


def service(number: int, port: int) -> str:
    return (
        f"SERVICE {number} [{VIDEO}, (dst_port, u16, {port}), (queue, u8, 1), (overloaded, u8, NO)]"
    )


def values(run: CardRun, table: str) -> list[bytes]:
    found = run.maps[table]
    return [value for key in list(found.keys()) if (value := found.lookup(key)) is not None]


def test_rules_come_change_and_go(card: CardRun) -> None:
    book = new_book(card)
    asked(card, book, f"create {service(1, 80)}, {service(2, 81)}")
    assert len(values(card, "service_entries")) == 2
    asked(card, book, "update SERVICE 1 [(queue, u8, 9)]")
    records = sorted(value[0] for value in values(card, "service_entries"))
    assert records == [1, 9]
    asked(card, book, "delete SERVICE 1")
    assert [value[0] for value in values(card, "service_entries")] == [1]
    asked(card, book, f"replace {service(2, 90)}; delete SERVICE 2")
    assert not values(card, "service_entries")


def flow(source: str, queue: int) -> str:
    """A service of that user, at the port 80."""
    match = f"{VIDEO.replace('10.45.0.2', source)}, (dst_port, u16, 80)"
    return f"[{match}, (queue, u8, {queue}), (overloaded, u8, NO)]"


def nested(source: str) -> bytes:
    """A packet of that user: VXLAN 7, TEID 100."""
    user = bytes(IP(src=source, dst="198.51.100.9") / UDP(sport=4000, dport=80))
    gtpu = bytes((0x30, 255)) + len(user).to_bytes(2, "big") + (100).to_bytes(4, "big")
    tenant = Ether(src=THERE, dst=HERE_MAC) / IP(src="192.168.7.2", dst="192.168.7.1")
    inside = bytes(tenant / UDP(sport=2152, dport=2152) / Raw(gtpu + user))
    vxlan = bytes((8, 0, 0, 0, 0, 0, 7, 0))
    outer = Ether(src=THERE, dst=HERE_MAC) / IP(dst="10.0.0.1") / UDP(sport=50000, dport=4789)
    return bytes(outer / Raw(vxlan + inside))


def whole_key(run: CardRun, source: str) -> bytes:
    """What a rule for that user matches, as its octets lie in the key."""
    book = RuleBook(run.manifest, {"NIC": 1})
    (rule,) = planned(book, f"create SERVICE 1 {flow(source, 1)}").created
    found = run.writer.tables["SERVICE"].key(rule)
    assert found is not None
    return found[0]


def colliding(run: CardRun) -> tuple[str, str]:
    """Two users whose flows have one hash."""
    pattern = whole_key(run, "10.45.0.2")
    at = pattern.index(bytes((10, 45, 0, 2)))
    seen: dict[int, str] = {}
    for number in range(1 << 20):
        address = (0x0A000000 + number * 2654435761 % (1 << 24)).to_bytes(4, "big")
        text = ".".join(map(str, address))
        hashed = jhash(pattern[:at] + address + pattern[at + 4 :])
        if seen.setdefault(hashed, text) != text:
            return seen[hashed], text
    raise AssertionError("no two of a million hashes are the same")


ENVIRONMENT = Environment((Port(1, "NIC", "nic", 1, 1500, bytes(6)),))


def test_a_collision_gains_nothing(card: CardRun) -> None:
    book = new_book(card)
    card.set_environment(ENVIRONMENT)
    one, other = colliding(card)
    asked(card, book, f"create SERVICE 1 {flow(one, 5)}")
    with pytest.raises(Refused) as refused:
        asked(card, book, f"create SERVICE 2 {flow(other, 6)}")
    assert [d.code for d in refused.value.diagnostics] == ["H0750"]
    reference = Interpreter(check_file(SLICE), ENVIRONMENT)
    for source, queue in ((one, 5), (other, None)):
        frame = nested(source)
        assert card.run(frame, 1).queue == reference.run(book, frame, 1).queue == queue


def test_the_control_plane_hashes_as_packets_are(card: CardRun) -> None:
    book = new_book(card)
    card.set_environment(ENVIRONMENT)
    for number in range(1, 30):
        source = f"10.{number * 7 % 256}.{number * 13 % 256}.{number * 29 % 256}"
        asked(card, book, f"create SERVICE {number} {flow(source, number)}")
        assert card.run(nested(source), 1).queue == number
