"""What a card's programs do, run on the host's kernel, is what the interpreter says."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from ipaddress import IPv6Address
from itertools import combinations
from pathlib import Path

import pytest
from card_run import CardRun
from helioc.compiler.bundle import compile_for_card
from helioc.compiler.driver import check_file, lower_pipeline
from helioc.compiler.fuzzing.scenarios import Fuzzed
from helioc.compiler.fuzzing.search import search
from helioc.compiler.interpret.packet import Interpreter
from helioc.compiler.nfp.nfp import without_sizes
from helioc.compiler.packettests.cases import Case, read_tests
from helioc.compiler.packettests.runs import Interpreted, run_tests
from helioc.compiler.tables.offloaded import MASKS_MOST
from helioc.lang.contract.request.request_parser import parse_request
from helioc.lang.contract.rules.rulebook import Plan, RuleBook
from helioc.lang.contract.rules.spread import jhash
from helioc.lang.contract.world.environment import Environment, Port
from helioc.lang.syntax.parser import read
from helioc.lang.text.diagnostics import Refused
from helioc.lang.text.source import Source
from helioc.runtime.loading.bundle import Bundle
from helioc.runtime.loading.card_writer import CardWriter
from helioc.runtime.testrun.kernel_backend import PreparedCase
from scapy.layers.inet import IP, UDP
from scapy.layers.inet6 import IPv6
from scapy.layers.l2 import Ether
from scapy.packet import Raw

ROOT = Path(__file__).parents[3]
SLICE = ROOT / "pipelines" / "slice_offload.hp"
STEERING, TUNNELS = (Path(__file__).with_name(f"{name}.hp") for name in ("steering", "tunnels"))
PIPELINES = [SLICE, ROOT / "pipelines" / "linx_offload.hp", STEERING, TUNNELS]

pytestmark = pytest.mark.usefixtures("kernel")


def on_host(path: Path) -> CardRun:
    bundle = compile_for_card(check_file(path), on_host=True)
    return CardRun(Bundle(bundle.manifest, bundle.object))


@pytest.mark.parametrize("path", PIPELINES, ids=lambda p: p.stem)
def test_agrees_on_packets_that_nobody_wrote(path: Path) -> None:
    """Nor does the intermediate representation differ."""
    pipeline = check_file(path)
    fuzzed = Fuzzed(pipeline)
    fuzzed.unit = lower_pipeline(without_sizes(pipeline), target="nfp")
    with on_host(path) as run:
        found = search(fuzzed, run, 300, 3, 60)
    assert found.scenario is None, found
    assert found.lowered == found.packets


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
    def prepare(self, case: Case) -> Iterator[PreparedCase]:
        self.run.set_environment(case.environment)
        book = case.opening()
        self.run.set_rules(book)
        yield PreparedCase(self.run, book)


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


def whole_key(run: CardRun, source: str) -> bytes:
    """What a rule for that source matches, as its bytes lie in the key."""
    (rule,) = planned(RuleBook(run.manifest, {"LAN": 1}), f"create {peer(1, source, 1)}").created
    found = run.writer.tables["PEER"].key(rule)
    assert found is not None
    return found[0]


def peer(number: int, source: str, queue: int) -> str:
    return f"PEER {number} [(src6, u128, {source}), (queue, u8, {queue})]"


def from_(source: str) -> bytes:
    return bytes(Ether(src=THERE, dst=HERE_MAC) / IPv6(src=source, dst="2001:db8::2") / UDP())


def colliding(run: CardRun) -> tuple[str, str]:
    """Two sources that have one hash."""
    network = IPv6Address("2001:db8::").packed[:12]
    pattern = whole_key(run, str(IPv6Address(network + bytes(4))))
    at = pattern.index(network) + 12
    seen: dict[int, str] = {}
    for number in range(1 << 20):
        host = (number * 2654435761 % (1 << 32)).to_bytes(4, "big")
        text = str(IPv6Address(network + host))
        hashed = jhash(pattern[:at] + host + pattern[at + 4 :])
        if seen.setdefault(hashed, text) != text:
            return seen[hashed], text
    raise AssertionError("no two of a million hashes are the same")


@pytest.fixture(scope="module")
def tunnels() -> Iterator[CardRun]:
    with on_host(TUNNELS) as run:
        run.set_environment(LAN)
        yield run


LAN = Environment((Port(1, "LAN", "lan", 1, 1500, bytes(6)),))
ENVIRONMENT = Environment((Port(1, "NIC", "nic", 1, 1500, bytes(6)),))


def test_a_collision_gains_nothing(tunnels: CardRun) -> None:
    book = new_book(tunnels)
    one, other = colliding(tunnels)
    asked(tunnels, book, f"create {peer(1, one, 5)}")
    with pytest.raises(Refused) as refused:
        asked(tunnels, book, f"create {peer(2, other, 6)}")
    assert [d.code for d in refused.value.diagnostics] == ["H0750"]
    reference = Interpreter(check_file(TUNNELS), LAN)
    for source, queue in ((one, 5), (other, None)):
        frame = from_(source)
        assert tunnels.run(frame, 1).queue == reference.run(book, frame, 1).queue == queue


def test_the_control_plane_hashes_as_packets_are(tunnels: CardRun) -> None:
    book = new_book(tunnels)
    for number in range(1, 30):
        source = f"2001:db8:{number * 7:x}:{number * 13:x}::{number * 29:x}"
        asked(tunnels, book, f"create {peer(number, source, number)}")
        assert tunnels.run(from_(source), 1).queue == number


# ---- masks ----------------------------------------------------------------------------------

#: A value that the packets of `nested` have, by element.
HAVE = {"tunnel": "VXLAN", "tenant": "7", "teid": "100", "src_ip": "10.45.0.2",
        "dst_ip": "198.51.100.9", "protocol": "UDP", "src_port": "4000"}  # fmt: skip
TYPES = {"tunnel": "u16", "protocol": "u8", "src_port": "u16"}
SETS = [some for size in range(len(HAVE)) for some in combinations(HAVE, size)]


def nested() -> bytes:
    """A packet of a user: VXLAN 7, TEID 100."""
    user = bytes(IP(src=HAVE["src_ip"], dst=HAVE["dst_ip"]) / UDP(sport=4000, dport=80))
    gtpu = bytes((0x30, 255)) + len(user).to_bytes(2, "big") + (100).to_bytes(4, "big")
    tenant = Ether(src=THERE, dst=HERE_MAC) / IP(src="192.168.7.2", dst="192.168.7.1")
    inside = bytes(tenant / UDP(sport=2152, dport=2152) / Raw(gtpu + user))
    vxlan = bytes((8, 0, 0, 0, 0, 0, 7, 0))
    outer = Ether(src=THERE, dst=HERE_MAC) / IP(dst="10.0.0.1") / UDP(sport=50000, dport=4789)
    return bytes(outer / Raw(vxlan + inside))


def some_of(number: int, elements: tuple[str, ...]) -> str:
    """A service that says these elements."""
    match = "".join(f"({name}, {TYPES.get(name, 'u32')}, {HAVE[name]}), " for name in elements)
    return f"SERVICE {number} [{match}(queue, u8, {number}), (overloaded, u8, NO)]"


def in_use(run: CardRun) -> int:
    """Masks that a packet is looked for under."""
    elements = values(run, "service_masks")
    return next((n for n, each in enumerate(elements) if not any(each[-8:])), len(elements))


def test_any_subset_of_the_elements_finds_a_rule(card: CardRun) -> None:
    """Each by itself, and the better of each two, as the interpreter says."""
    card.set_environment(ENVIRONMENT)
    reference, frame = Interpreter(check_file(SLICE), ENVIRONMENT), nested()
    for number, elements in enumerate(SETS, 1):
        book = new_book(card)
        asked(card, book, f"create {some_of(number, elements)}")
        assert card.run(frame, 1).queue == number and in_use(card) == 1
        other = SETS[(7 * number) % len(SETS)]
        if other != elements:
            asked(card, book, f"create {some_of(200, other)}")
            assert card.run(frame, 1).queue == reference.run(book, frame, 1).queue


def test_masks_are_as_many_as_are_in_use(card: CardRun) -> None:
    card.set_environment(ENVIRONMENT)
    book, few = new_book(card), SETS[:MASKS_MOST]
    for number, elements in enumerate(few, 1):
        asked(card, book, f"create {some_of(number, elements)}")
    assert in_use(card) == MASKS_MOST
    with pytest.raises(Refused) as refused:
        asked(card, book, f"create {some_of(99, SETS[MASKS_MOST])}")
    (found,) = refused.value.diagnostics
    assert found.code == "H0731" and "16 different masks" in found.title
    # A mask that is not needed any more makes room for another, in its place or at the end.
    for gone in (4, MASKS_MOST):
        asked(card, book, f"delete SERVICE {gone}")
        asked(card, book, f"create {some_of(99, SETS[MASKS_MOST])}")
        assert in_use(card) == MASKS_MOST
        for sought in (99, 1):
            alone = [rule for rule in book.rules("SERVICE") if rule.id == sought]
            (match,) = [rule.match for rule in alone]
            assert len(match) == len(SETS[MASKS_MOST] if sought == 99 else few[0])
        assert card.run(nested(), 1).queue == Interpreter(
            check_file(SLICE), ENVIRONMENT
        ).run(book, nested(), 1).queue  # fmt: skip
        asked(card, book, "delete SERVICE 99")
        asked(card, book, f"create {some_of(gone, few[gone - 1])}")
    asked(card, book, "; ".join(f"delete SERVICE {n}" for n in range(2, MASKS_MOST + 1)))
    assert in_use(card) == 1 and card.run(nested(), 1).queue == 1
    asked(card, book, "delete SERVICE 1")
    assert in_use(card) == 0 and card.run(nested(), 1).queue is None


def test_a_writer_that_opens_a_card_knows_its_masks(card: CardRun) -> None:
    card.set_environment(ENVIRONMENT)
    book = new_book(card)
    asked(card, book, ", ".join([f"create {some_of(1, ('teid',))}", some_of(2, ("tenant",)),
                                 some_of(3, ("src_ip", "teid"))]))  # fmt: skip
    asked(card, book, "delete SERVICE 1")
    before = values(card, "service_masks")
    again = CardWriter(card.manifest, card.maps, card.writer.images)
    assert sorted(rule.id for rule in again.restore()) == [2, 3]
    assert values(card, "service_masks") == before
    plan = planned(book, f"delete SERVICE 3; create {some_of(4, ('dst_ip',))}")
    again.apply(plan)
    book.commit(plan)
    assert card.run(nested(), 1).queue == 2  # as specific, and older
    again.apply(planned(book, "delete SERVICE 2"))
    assert card.run(nested(), 1).queue == 4
