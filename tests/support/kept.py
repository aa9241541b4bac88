"""State tables of both kinds of storage (`kept.hp`), in maps of a test's own, and packets that
write them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

from helioc.compiler.bundle import Bundle as Compiled
from helioc.compiler.bundle import compile_pipeline
from helioc.compiler.driver import check_file
from helioc.lang.contract.manifest.manifest import State
from helioc.lang.contract.world.environment import Environment, Port
from helioc.runtime.kernel.handles import Map
from helioc.runtime.loading.bundle import Bundle
from helioc.runtime.states.kept_rules import KeptRules
from helioc.runtime.states.storage import SEED
from helioc.runtime.states.table import StateTable
from helioc.runtime.testrun.private_run import PrivateRun
from scapy.layers.inet import IP
from scapy.layers.l2 import Ether

FLOW, FORGET, HEARD, SET, RECALL, COUNT, FEW = 1, 2, 3, 4, 5, 6, 7  # protocols
LAN = Port(1, "LAN", "lan", 1, 1500, bytes.fromhex("020000000001"))
WAN = Port(2, "WAN", "wan", 2, 1500, bytes.fromhex("020000000002"))
#: As one is chosen at a load: the same each time, and so are the places of entries.
SEED_OF_KEYS = 0x5EED1234


def frame(
    protocol: int, src: str = "10.0.0.5", number: int = 0, ttl: int = 64, tos: int = 0,
    mac: str = "02:00:00:00:00:aa",
) -> bytes:  # fmt: skip
    header = IP(src=src, dst="10.0.0.9", proto=protocol, id=number, ttl=ttl, tos=tos)
    return bytes(Ether(src=mac, dst="02:00:00:00:00:01") / header)


class Kept:
    """The pipeline, and its tables."""

    def __init__(self, private: PrivateRun) -> None:
        self.private = private
        self.ports = {"LAN": 1, "WAN": 2}
        private.maps["control"].mmap().cast("Q")[SEED] = SEED_OF_KEYS

    def send(self, frame: bytes, port: int = 1, times: int = 1) -> None:
        self.private.entry(port).test_run(frame, ingress_ifindex=1, repeat=times)

    def state(self, name: str) -> State:
        return next(s for s in self.private.manifest.states if s.name == name)

    def map(self, name: str) -> Map:
        return self.private.maps[f"{name.lower()}_state"]

    def table(self, name: str) -> StateTable:
        rules = KeptRules(self.private.manifest, self.private.maps)
        return StateTable(self.map(name), self.state(name), self.ports, SEED_OF_KEYS, rules)

    def events(self) -> Counter[tuple[str, str]]:
        """Since they were asked for last."""
        return Counter(self.private._counted_events())


@cache
def compiled() -> Compiled:
    return compile_pipeline(check_file(Path(__file__).with_suffix(".hp")))


@contextmanager
def running() -> Iterator[Kept]:
    """Empty tables."""
    made = compiled()
    with PrivateRun(Bundle(made.manifest, made.object)) as private:
        private.set_environment(Environment((LAN, WAN)))
        yield Kept(private)


def no_rules() -> KeptRules:
    """Of the pipeline, whose entries keep none."""
    return KeptRules(compiled().manifest, {})
