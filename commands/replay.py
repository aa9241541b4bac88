"""Runs a capture's packets through a pipeline, and writes what leaves: `helioc replay`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from ..compiler.captures.pcap import PcapWriter
from ..compiler.captures.reading import read_capture
from ..compiler.decoding.replay import Beside, Replay, Replayed, surroundings
from ..compiler.model import Pipeline
from ..lang.contract.manifest.manifest import Manifest
from ..lang.contract.world.environment import Environment, Port
from ..lang.text.atomic_write import written_whole
from ..lang.text.diagnostics import Diagnostic, Refused, did_you_mean

MTU = 1500  # of ports of which nothing is said


def replay_capture(
    prepared: Replay,
    capture: Path,
    out: Path | None,
    say: Callable[[Replayed], None],
    comparison: Comparison | None = None,
) -> None:
    """Say of each packet what became of it; what leaves or passes is written to `out`, and
    `comparison` counts. Raises `Refused`."""
    with ExitStack() as stack:
        writer = PcapWriter(stack.enter_context(written_whole(out))) if out else None
        for packet in read_capture(capture):
            replayed = prepared.run(packet)
            say(replayed)
            if comparison:
                comparison.add(replayed)
            if writer and replayed.frame is not None and replayed.whole is not None:
                writer.write(replayed.frame, packet.time, len(replayed.whole))


@contextmanager
def beside_kernel(prepared: Replay) -> Iterator[Comparison]:
    """Also run its packets on the kernel, and count in how many both differ. Raises `Refused`."""
    from ..compiler.bundle import compile_for_test_runs
    from ..runtime.loading.bundle import Bundle
    from ..runtime.testrun.kernel_backend import KernelBackend
    from ..runtime.testrun.tc_run import private_run
    from .packet_runs import require_kernel

    require_kernel("run packets", prepared.pipeline.span)
    bundle = compile_for_test_runs(prepared.pipeline)
    with private_run(Bundle(bundle.manifest, bundle.object)) as run:
        run.set_environment(prepared.environment)
        run.set_rules(prepared.book)
        prepared.beside = Beside(run, run.shortest, KernelBackend.longest)
        yield Comparison()


class Comparison:
    """What came of packets that interpreter and kernel ran."""

    def __init__(self) -> None:
        self._left_out: Counter[str] = Counter()
        self._compared = self._differ = 0

    def add(self, replayed: Replayed) -> None:
        if replayed.differences is None:
            reason = f" ({replayed.reason})" if replayed.left_out == "refused" else ""
            self._left_out[f"{replayed.left_out}{reason}"] += 1
        else:
            self._compared += 1
            self._differ += bool(replayed.differences)

    @property
    def agree(self) -> bool:
        """On all packets that were run, if any was."""
        return self._compared > 0 and not self._differ

    def summary(self) -> str:
        """For people: a line, and one where packets were not run."""
        number = f"{self._compared:,} packet{'s' * (self._compared != 1)}"
        first = f"{number}: interpreter and kernel agree"
        if self._differ:
            first = f"interpreter and kernel disagree on {self._differ:,} of {number}"
        elif not self._compared:
            first = "nothing was compared"
        left_out = ", ".join(f"{count:,} {why}" for why, count in sorted(self._left_out.items()))
        return f"{first}\nnot run: {left_out}" if left_out else first


def prepare_replay(
    pipeline: Pipeline,
    manifest: Manifest,
    rules: Path | None,
    edge: Path | None,
    around: Path | None,
    port: str | None,
    local: Sequence[str],
) -> Replay:
    """The pipeline under the edge's rules and those of a file. `around`: what a packet test file
    says of ports, addresses and neighbours, laid over the edge's. Without either there is a port
    of each role, by its name. `local`: the host's addresses. Raises `Refused`."""
    from ..compiler.packettests.cases import read_surroundings
    from ..lang.contract.request.request import Request
    from ..lang.contract.rules.rulebook import RuleBook
    from ..lang.syntax.parser import read
    from ..runtime.base.files import read_source
    from ..runtime.base.request_files import read_request
    from ..runtime.edge.icmp_settings import ICMP
    from ..runtime.edge.offline import ports_of, read_anywhere

    given, keys, asked = Environment(()), frozenset[str](), list[Any]()
    interfaces: dict[str, Port] = {}
    if edge is not None:
        config = read_anywhere(read_source(edge), manifest)
        ports, interfaces = ports_of(config, manifest)
        asked = list(config.requests)
        given = Environment(ports, default=config.default, icmp=ICMP.of(config.settings))
    if around is not None:
        over, keys = read_surroundings(pipeline, read(around), given.ports)
        given = replace(over, default=over.default or given.default, icmp=given.icmp)
    if not given.ports:
        given = replace(given, ports=_a_port_of_each_role(pipeline))
    ports = given.ports
    numbers = {p.name: p.number for p in ports}
    book = RuleBook(manifest, numbers, {p.number: p.ifindex for p in ports})
    for request in asked:
        book.commit(book.plan(request))
    if rules is not None:
        content = read_request(rules, manifest, book.kinds, "")
        if isinstance(content, Request):
            book.commit(book.plan(content))
        else:
            book.commit(book.plan_columns(content))
    arriving = next((p for p in ports if p.name == port), ports[0] if port is None else None)
    if arriving is None:
        help_ = did_you_mean(port or "", numbers) or f"its ports: {', '.join(numbers)}"
        raise Refused([Diagnostic("H0813", f"there is no port `{port}`", (), help_)])
    ip4, ip6 = _addresses(local)
    given = replace(given, local=given.local | ip4, local6=given.local6 | ip6)
    named = {p.name: p for p in ports}
    return Replay(
        pipeline,
        surroundings(given, "neighbours" in keys),
        book,
        arriving,
        {interface: named[p.name] for interface, p in interfaces.items()},
    )


def _a_port_of_each_role(pipeline: Pipeline) -> tuple[Port, ...]:
    return tuple(
        Port(n, role, role, n, MTU, bytes((2, 0, 0, 0, 0, n)))
        for n, role in enumerate(pipeline.roles, start=1)
    )


def _addresses(texts: Sequence[str]) -> tuple[frozenset[int], frozenset[int]]:
    from ..lang.text import literals

    known = [(text, literals.address(text)) for text in texts]
    for text, found in known:
        if found is None or found[0] == "mac":
            raise Refused([Diagnostic("H0814", f"`{text}` is not an IPv4 or IPv6 address", ())])
    pairs = [found for _, found in known if found is not None]
    ip4, ip6 = (frozenset(a for kind, a in pairs if kind == k) for k in ("ip4", "ip6"))
    return ip4, ip6
