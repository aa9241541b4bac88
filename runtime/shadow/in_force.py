"""A loaded pipeline as a shadow run sees it: read beside its writer, without a lock."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from ipaddress import ip_address
from typing import Self

from ...lang.contract.rules.rules import Rule
from ..base import errors
from ..kernel.netlink import Netlink
from ..loading.bundle import Bundle
from ..loading.reader import Reader
from ..loading.releases import pick, release_of
from ..ports.ports import NextHopCache, Port, find_ports, local_addresses
from ..rules.left_out import LeftOut
from ..tracing.swap import traced_build


@dataclass(frozen=True)
class Book:
    """The rules of one moment."""

    kinds: Mapping[str, list[Rule]] = field(default_factory=dict)

    def rules(self, kind: str) -> Iterable[Rule]:
        return self.kinds.get(kind, [])

    def count(self, kind: str) -> int:
        return len(self.kinds.get(kind, []))

    def all(self) -> Iterable[Rule]:
        return (rule for rules in self.kinds.values() for rule in rules)


@dataclass(frozen=True)
class Host:
    """The host around a pipeline: what its programs find in maps, and its rules' next hops."""

    ports: list[Port]
    local: frozenset[bytes]
    neighbours: Mapping[tuple[int, bytes], bytes]
    next_hops: NextHopCache = field(compare=False)


class InForce:
    """Close it. `book`: as it was read last."""

    def __init__(self, name: str = "") -> None:
        """Of the pipeline of that name, or the only one. Raises `Refused`."""
        self.name = pick(name)
        self._owned = ExitStack()
        with ExitStack() as opening:
            self.reader = opening.enter_context(Reader(self.name))
            self.netlink = opening.enter_context(Netlink())
            if not self.reader.here:
                raise errors.refused(errors.elsewhere(self.name))
            self.manifest = self.reader.manifest
            about = self.reader.about
            self.default: str | None = about["default"] or None
            self.release: int = about["release"]
            self.port_configs, self.port_numbers = self.reader.ports, self.reader.port_numbers
            self.live = self.reader.map("control").mmap().cast("Q")
            opening.callback(self.live.release)
            self.book = self._rules()
            self._owned = opening.pop_all()

    @property
    def revision(self) -> int:
        """Of the rules in force."""
        return self.reader.revision

    @property
    def ended(self) -> bool:
        """Whether it was unloaded or upgraded."""
        return not self.reader.in_force

    @property
    def build(self) -> Bundle:
        """The traced build in force, in place of a plain one. Raises `Refused`."""
        traced = traced_build(self.name, release_of(self.name, self.release))
        return Bundle(self.manifest, b"", traced)

    def read_rules(self) -> Book:
        """As they are now. Raises `Refused`."""
        self.book = self._rules()
        return self.book

    def left_out(self) -> LeftOut:
        """What spreads leave out of the rules that were read, as it is now."""
        spreads = (
            (kind.spread.kind, rule)
            for kind in self.manifest.rules if kind.spread is not None and not kind.spread.listed
            for rule in self.book.rules(kind.name)
        )  # fmt: skip
        return self.reader.left_out(spreads)

    def _rules(self) -> Book:
        kinds: dict[str, list[Rule]] = {}
        for counted in self.reader.snapshot():
            kinds.setdefault(counted.rule.kind, []).append(counted.rule)
        return Book(kinds)

    def host(self) -> Host:
        """As it is now."""
        links, addresses = self.netlink.links(), self.netlink.addresses()
        ports = find_ports(self.port_configs, links, addresses)
        local = set(local_addresses(addresses))
        if control := self.reader.about["control"]:
            local.add(ip_address(control[1]).packed)
        next_hops = NextHopCache(self.netlink, ports)
        return Host(ports, frozenset(local), next_hops.by_port(), next_hops)

    def close(self) -> None:
        """May be called again."""
        self._owned.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
