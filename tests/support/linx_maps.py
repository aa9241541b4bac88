"""LINX as tests of the runtime use it: a bundle, maps without programs, rules, frames."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import cache
from pathlib import Path

from helioc.compiler import bundle as bundles
from helioc.compiler.driver import check_file
from helioc.lang.contract.manifest.manifest import RuleKind
from helioc.lang.contract.request.request_parser import parse_request
from helioc.lang.contract.rules.rulebook import RuleBook
from helioc.lang.contract.rules.rules import Matcher, Reference, Rule
from helioc.lang.text.source import Source
from helioc.runtime.kernel.handles import Map, Object
from helioc.runtime.loading.bundle import Bundle
from helioc.runtime.loading.install import prepare_object
from helioc.runtime.rules.plans import Changes, Plan
from helioc.runtime.rules.recovery import recover
from helioc.runtime.rules.tables import Table
from helioc.runtime.rules.transaction import Writer

HP = Path(__file__).parents[2] / "pipelines" / "linx.hp"
LAN, WAN1, WAN2 = 1, 2, 3
DROP, PASS = 3, 2  # the values of `action`


@cache
def compiled() -> bundles.Bundle:
    return bundles.compile_pipeline(check_file(HP))


@cache
def bundle() -> Bundle:
    return Bundle(compiled().manifest, compiled().object)


def write(directory: Path) -> Path:
    """The bundle on disk."""
    bundles.write_bundle(compiled(), directory)
    return directory


class Nowhere:
    """Next hops that nobody knows."""

    def next_hop(self, port: int, address: bytes) -> bytes:
        return bytes(24)


@contextmanager
def bare_maps(**entries: int) -> Iterator[dict[str, Map]]:
    """LINX's maps without its programs; `pdr_index=8` gives that map another size."""
    with Object.open(bundle().object, name="linx") as loaded:
        for program in loaded.program_names():
            loaded.skip(program)
        prepare_object(bundle().manifest, loaded)
        for name, size in entries.items():
            loaded.set_max_entries(name, size)
        loaded.load()
        yield loaded.maps()


class Rules:
    """A writer with a rule book, told in request text."""

    def __init__(self, writer: Writer) -> None:
        self.writer = writer
        self.book = RuleBook(bundle().manifest, {"LAN": LAN, "WAN1": WAN1, "WAN2": WAN2})

    def tell(self, text: str) -> Plan:
        plan = self.book.plan(parse_request(Source("<test>", text)))
        self.writer.try_apply(plan)
        self.book.commit(plan)
        return plan

    def agree(self) -> None:
        """What the maps hold is what the book says."""
        in_maps = sorted(self.writer.rules(), key=lambda rule: rule.sequence)
        assert in_maps == self.book.save()


def _as_loaded(kind: RuleKind, maps: dict[str, Map]) -> RuleKind:
    """With one index, if `bare_maps` gave it another size."""
    index = maps.get(f"{kind.prefix}_index")
    if index is None or index.spec.max_entries == kind.index_size:
        return kind
    return replace(kind, buckets=index.spec.max_entries, small_indexes=0, spare_buckets=0)


@contextmanager
def written(maps: dict[str, Map]) -> Iterator[Rules]:
    manifest = bundle().manifest
    kinds = tuple(_as_loaded(kind, maps) for kind in manifest.rules)
    writer = Writer(replace(manifest, rules=kinds), maps, Nowhere())
    recover(writer)
    try:
        yield Rules(writer)
    finally:
        writer.close()


def keys_in(table: Table) -> set[bytes]:
    """Those that lead to a kind's rules."""
    assert table.entries is not None
    return {key.tobytes() for key in table.entries.read_all()[0]}


def hash_keys(writer: Writer) -> dict[str, set[bytes]]:
    """Every key in every lookup table."""
    return {
        name: keys_in(table) for name, table in writer.tables.items() if table.entries is not None
    }


def wanted_keys(writer: Writer) -> dict[str, int]:
    """How many keys the live rules come to."""
    return {
        name: sum(len(table.matches.of(rule).patterns) for rule in table.rules())
        for name, table in writer.tables.items()
        if table.entries is not None
    }


def far(number: int, sequence: int, action: int) -> Rule:
    return Rule("FAR", number, sequence, values=(("action", action),))


def pdr(number: int, sequence: int, to: int, dst: int, length: int) -> Rule:
    match = (("dst_ip", Matcher("prefix", dst, length)),)
    return Rule("PDR", number, sequence, match=match, target=Reference("FAR", to))


def changes(
    created: tuple[Rule, ...] = (),
    changed: tuple[tuple[Rule, Rule], ...] = (),
    removed: tuple[Rule, ...] = (),
) -> Changes:
    return Changes(created, changed, removed)


def udp(
    src: str, dst: str, sport: int = 1000, dport: int = 2000, payload: bytes = b"x" * 18
) -> bytes:
    """An Ethernet frame of a UDP datagram; its checksums are right (UDP's is absent)."""
    body = struct.pack("!HHHH", sport, dport, 8 + len(payload), 0) + payload
    head = struct.pack("!BBHHHBBH4s4s", 0x45, 0, 20 + len(body), 0, 0, 64, 17, 0, ip(src), ip(dst))
    total = sum(struct.unpack("!10H", head))
    total = (total & 0xFFFF) + (total >> 16)
    total = ~((total & 0xFFFF) + (total >> 16)) & 0xFFFF
    head = head[:10] + struct.pack("!H", total) + head[12:]
    return bytes.fromhex("020000000001 02000000000a 0800") + head + body


def ip(text: str) -> bytes:
    return bytes(map(int, text.split(".")))
