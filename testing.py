"""For tests of pipelines with pytest and hypothesis: packets and rules out of a pipeline's own
parse graph and rule kinds, and whether interpreter and kernel agree on them.

    from hypothesis import HealthCheck, given, settings
    from helioc.testing import Scenario, Tested

    guard = Tested("guard.hp")

    @settings(deadline=None, suppress_health_check=list(HealthCheck))
    @given(guard.scenarios())
    def test_guard(scenario):
        guard.agree(scenario)

A frame and rules of one's own are steps of a scenario as well:

    def test_dns_from_a_blocked_prefix():
        frame = guard.packet(bytes.fromhex(
            "0200000000010200000000020800"  # Ethernet, from the destination address on
            "4500001c000000004011b6cfc00002070a000001"  # IPv4: 192.0.2.7 to 10.0.0.1
            "3039003500080000"  # UDP: port 12345 to 53
        ))
        rule = guard.request("create BLOCK 1 [(src_ip, u32, 192.0.2.0/24), (dst_port, u16, 53)]")
        before, after = guard.agree(Scenario((frame, rule, frame)))
        assert (before.verdict, after.verdict) == ("pass", "drop")

The pipeline is loaded when `agree` is first called, for this process alone and until it ends; that
needs root. Within `with Tested("guard.hp") as guard:` it is loaded at once, and unloaded at the
end: what pytest calls later belongs into a fixture, as in `examples/fuzz/test_guard.py`. Needs
hypothesis: `pip install 'helioc[fuzz]'`.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from pathlib import Path
from types import TracebackType

from hypothesis.strategies import SearchStrategy

from .compiler.bundle import compile_for_test_runs
from .compiler.driver import check_file
from .compiler.fuzzing.packets import Drawn
from .compiler.fuzzing.report import disagreement
from .compiler.fuzzing.scenarios import Fuzzed, Meeting, Scenario
from .compiler.lower.unit import Join
from .lang.contract.request.request import Request
from .lang.contract.request.request_parser import parse_request
from .lang.contract.world.environment import Environment, Outcome
from .lang.text.source import Source
from .runtime.loading.bundle import Bundle
from .runtime.testrun.kernel_backend import KernelBackend
from .runtime.testrun.private_run import PrivateRun
from .runtime.testrun.tc_run import private_run

__all__ = ["Drawn", "Environment", "Meeting", "Outcome", "Scenario", "Tested"]


class Tested:
    """A pipeline, checked and (from `with`, or the first `agree`, on) loaded for test runs. Nothing
    is attached."""

    __test__ = False  # its name is no test's

    def __init__(self, file: str | Path, join: Join = "staged") -> None:
        """Raises `Refused` with what is wrong with the file."""
        self.pipeline = check_file(Path(file))
        self._fuzzed = Fuzzed(self.pipeline, join)
        self._join: Join = join
        self._run: PrivateRun | None = None
        self._unload: Callable[[], object] = lambda: None

    @property
    def environment(self) -> Environment:
        """The ports, addresses and neighbours among which packets are run."""
        return self._fuzzed.world.environment

    def packets(self) -> SearchStrategy[Drawn]:
        """Packets for the pipeline: `frame` are its bytes, `port` the number of the port that it
        arrives by. Most are whole; some are cut off, damaged or padded."""
        return self._fuzzed.packets()

    def scenarios(self) -> SearchStrategy[Scenario]:
        """Requests (rules that are created, updated, replaced, deleted, one by one or several at
        once) and packets of which many meet these rules, in turn: `steps`, or apart `requests` and
        `packets`."""
        return self._fuzzed.scenarios()

    def packet(self, frame: bytes, port: str | int | None = None) -> Drawn:
        """A packet of these bytes, from the Ethernet destination address on and without a frame
        check sequence (`bytes(...)` of a scapy packet, `bytes.fromhex(...)`). `port`: the name or
        number of one of `environment.ports`; None is the first. Raises `ValueError` for another
        port, and for fewer than 14 or more than 3,400 bytes, which the kernel cannot test-run."""
        known = self.environment.ports
        found = next((p for p in known if port in (None, p.name, p.number)), None)
        if found is None:
            raise ValueError(f"no port {port!r}: there are {', '.join(p.name for p in known)}")
        shortest, longest = KernelBackend.shortest, KernelBackend.longest
        if not shortest <= len(frame) <= longest:
            raise ValueError(
                f"{len(frame):,} bytes: the kernel test-runs {shortest} to {longest:,}"
            )
        return Drawn(found.number, (), frame)

    def request(self, text: str) -> Request:
        """A request as text, as a controller writes it. Raises `Refused` for what is none. One that
        the rules at its place of a scenario do not allow changes nothing there."""
        return parse_request(Source("request", text))

    def agree(self, scenario: Scenario) -> list[Outcome]:
        """What becomes of the scenario's packets (those of 14 bytes and more). Raises
        `AssertionError` where interpreter, intermediate representation and kernel differ, with a
        packet test that shows it."""
        outcomes = []
        for meeting in self._fuzzed.meetings(scenario, self._loaded()):
            if not meeting.agree:
                lines, text = disagreement(self._fuzzed, scenario, meeting)
                raise AssertionError("\n".join([*lines, "", text]))
            outcomes.append(meeting.expected)
        return outcomes

    def unreached(self) -> list[str]:
        """What no packet of `agree` has reached so far: edges of the parse graph, statements, the
        hit or the miss of a look-up (each with its file and line), hooks. Of statements one after
        the other, the first. As `helioc fuzz` reports it."""
        return self._fuzzed.coverage.unreached()

    def __enter__(self) -> Tested:
        self._loaded()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:  # fmt: skip
        self._unload()
        self._run = None

    def _loaded(self) -> PrivateRun:
        if self._run is None:
            bundle = compile_for_test_runs(self.pipeline, self._join)
            self._run = private_run(Bundle(bundle.manifest, bundle.object))
            self._unload = weakref.finalize(self, self._run.close)
            self._run.set_environment(self.environment)
        return self._run
