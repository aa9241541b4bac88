"""A pipeline in a world of its own, run by interpreter and kernel, which must agree; and frames
with every length and checksum made again by scapy."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from helioc.compiler.interpret import Interpreter
from helioc.compiler.interpreter.environment import Environment, Outcome
from helioc.compiler.lower import Join
from helioc.compiler.phases import check_file, compile_pipeline
from helioc.compiler.requests.rulebook import RuleBook
from helioc.lang.request_parser import parse_request
from helioc.lang.source import Source
from helioc.runtime.bundle import Bundle
from helioc.runtime.testrun import PrivateRun
from hypothesis import HealthCheck, settings
from scapy.layers.inet import IP, TCP, UDP
from scapy.layers.l2 import GRE, Ether
from scapy.packet import NoPayload, Packet

PIPELINES = Path(__file__).parents[1] / "compiler" / "lower"
SHORTEST = 14  # the kernel test-runs nothing shorter
quick = settings(deadline=None, database=None, suppress_health_check=list(HealthCheck))


class Bench:
    """Close it."""

    def __init__(self, path: Path, world: Environment, requests: str, join: Join) -> None:
        self.pipeline = check_file(path)
        bundle = compile_pipeline(self.pipeline, join)
        self.kernel = PrivateRun(Bundle(bundle.manifest, bundle.object))
        self.kernel.set_environment(world)
        numbers = {p.name: p.number for p in world.ports}
        self.book = RuleBook(bundle.manifest, numbers, {p.number: p.ifindex for p in world.ports})
        self.book.commit(self.book.plan(parse_request(Source("requests", requests))))
        self.kernel.set_rules(self.book)
        self.interpreter = Interpreter(self.pipeline, world)

    def close(self) -> None:
        self.kernel.close()

    def agree(self, frame: bytes, port: int) -> Outcome:
        """What both make of a frame."""
        expected = self.interpreter.run(self.book, frame, port)
        if len(frame) >= SHORTEST:
            got = self.kernel.run(frame, port)
            assert _said(got) == _said(expected), f"port {port}: {frame.hex()}\n{expected.trace}"
        return expected


def _said(outcome: Outcome) -> tuple[object, ...]:
    return (
        outcome.verdict,
        outcome.frame.hex() if outcome.frame is not None else None,
        outcome.egress,
        Counter(outcome.events),
        Counter(outcome.counted),
    )


def rebuilt(frame: bytes) -> bytes:
    """The frame with every length and checksum made by scapy; UDP's 0 stays what it is."""
    packet: Packet = Ether(frame)
    layer = packet
    while not isinstance(layer, NoPayload):
        if isinstance(layer, IP | TCP | UDP) or (isinstance(layer, GRE) and layer.chksum_present):
            if not isinstance(layer, UDP) or layer.chksum:
                del layer.chksum
            if "len" in layer.fields:
                del layer.len
        layer = layer.payload
    return bytes(packet)
