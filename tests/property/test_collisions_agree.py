"""Interpreter and kernel agree where keys meet: with a hash of which tags and buckets are nearly
all the same, in small tables, while rules come and go without a grace period."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network
from pathlib import Path
from random import Random

import pytest
from agreement import JOINS, Both, loaded
from compilations import compile_by
from helioc.compiler.backend import clang
from helioc.compiler.driver import check_file
from helioc.lang.contract.request.request_parser import parse_request
from helioc.lang.contract.rules.rulebook import RuleBook
from helioc.lang.contract.world.environment import Environment, Port
from helioc.lang.text.diagnostics import Refused
from helioc.lang.text.source import Source, Span
from helioc.runtime.rules import key_hash
from scapy.layers.inet import IP
from scapy.layers.inet6 import IPv6
from scapy.layers.l2 import Ether
from scapy.packet import Raw

WORLD = Environment((Port(1, "LAN", "lan", 11, 1500, bytes(6)),))
KINDS = {"EXACT": 64, "MAYBE": 64, "LONG": 64, "RANGE": 32, "WIDE": 64}
#: All keys begin at one bucket, and have one of a few tags; wide keys differ a little more.
WORST = 1


@pytest.fixture(scope="module")
def hashed() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        compiled = clang.compile_c

        def worse(text: str, name: str, span: Span, more: Sequence[str] = ()) -> bytes:
            return compiled(f"#define HASH_FACTOR {WORST}ULL\n{text}", name, span, more)

        compile_by(worse, patch)
        patch.setattr(key_hash, "HASH_FACTOR", WORST)
        patch.setattr(key_hash, "_FACTOR", key_hash._FACTOR.dtype.type(WORST))
        yield


@pytest.fixture(scope="module", params=JOINS)
def both(request: pytest.FixtureRequest, kernel: None, hashed: None) -> Iterator[Both]:
    with loaded(
        check_file(Path(__file__).with_name("collisions.hp")), WORLD, request.param
    ) as made:
        yield made


def address(random: Random) -> str:
    return str(IPv4Address((10 << 24) + random.randrange(4) * 256 + random.randrange(24)))


def address6(random: Random) -> str:
    return str(IPv6Address((0xFD00 << 112) + (random.randrange(3) << 64) + random.randrange(24)))


def prefix(random: Random, lengths: list[int]) -> str:
    return str(IPv4Network(f"{address(random)}/{random.choice(lengths)}", strict=False))


def prefix6(random: Random) -> str:
    length = random.choice([64, 126, 128])
    return str(IPv6Network(f"{address6(random)}/{length}", strict=False))


def rule(random: Random, kind: str) -> str:
    said = {
        "EXACT": lambda: f"(dst, u32, {address(random)})",
        "MAYBE": lambda: f"(src, u32, {address(random)})" + random.choice(["", ", (tos, u8, 4)"]),
        "LONG": lambda: f"(dst, u32, {prefix(random, [22, 24, 27, 30, 31, 32])})",
        "RANGE": lambda: (
            f"(dst, u32, {prefix(random, [24, 31, 32])}), "
            f"(len, u16, {random.randrange(20, 40)}..{random.randrange(40, 61)}), "
            f"(rank, u16, {random.randrange(3)})"
        ),
        "WIDE": lambda: (
            f"(dst6, u128, {prefix6(random)}), "
            f"(src6, u128, {address6(random)})" + random.choice(["", ", (next, u8, 59)"])
        ),
    }
    return said[kind]()


def frame(random: Random) -> bytes:
    ether = Ether(dst="02:00:00:00:00:01", src="02:00:00:00:00:02")
    if random.random() < 0.25:
        return bytes(ether / IPv6(src=address6(random), dst=address6(random), nh=59))
    ip = IP(src=address(random), dst=address(random), tos=random.choice([0, 4]),
            proto=random.randrange(1, 5))  # fmt: skip
    return bytes(ether / ip / Raw(bytes(random.randrange(41))))


def requests(random: Random, book: RuleBook) -> Iterator[str]:
    """Some rules come, some go: towards a table that is nearly full, and away from it."""
    said, filling = [], random.random() < 0.75
    for kind, capacity in KINDS.items():
        ids = [r.id for r in book.rules(kind)]
        room = capacity - len(ids)
        for _ in range(random.randrange(min(room, 12) + 1) if filling else 0):
            said.append(f"create {kind} [{rule(random, kind)}]")
        gone = random.sample(ids, random.randrange(min(len(ids), 2 if filling else 12) + 1))
        said += [f"delete {kind} {id_}" for id_ in gone]
    random.shuffle(said)
    while said:
        few = random.randrange(1, 5)
        yield "; ".join(said[:few])
        del said[:few]


@pytest.mark.parametrize("seed", range(12))
def test_they_agree(both: Both, seed: int) -> None:
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
