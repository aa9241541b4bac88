"""For tests of pipelines with pytest and hypothesis: packets and rules out of a pipeline's own
parse graph and rule kinds, and whether interpreter and kernel agree on them.

    from hypothesis import HealthCheck, given, settings
    from helioc.testing import Tested

    guard = Tested("guard.hp")

    @settings(deadline=None, suppress_health_check=list(HealthCheck))
    @given(guard.scenarios())
    def test_guard(scenario):
        guard.agree(scenario)

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

from .compiler.fuzzing.packets import Drawn
from .compiler.fuzzing.report import disagreement
from .compiler.fuzzing.scenarios import Fuzzed, Meeting, Scenario
from .compiler.interpreter.environment import Environment, Outcome
from .compiler.lower import Join
from .compiler.phases import check_file, compile_pipeline
from .runtime.loading.bundle import Bundle
from .runtime.testrun import PrivateRun

__all__ = ["Drawn", "Environment", "Meeting", "Outcome", "Scenario", "Tested"]


class Tested:
    """A pipeline, checked and (from `with`, or the first `agree`, on) loaded for test runs. Nothing
    is attached."""

    __test__ = False  # its name is no test's

    def __init__(self, file: str | Path, join: Join = "staged") -> None:
        """Raises `Refused` with what is wrong with the file."""
        self.pipeline = check_file(Path(file))
        self._fuzzed = Fuzzed(self.pipeline)
        self._join: Join = join
        self._run: PrivateRun | None = None
        self._unload: Callable[[], object] = lambda: None

    @property
    def environment(self) -> Environment:
        """The ports, addresses and neighbours among which packets are run."""
        return self._fuzzed.world.environment

    def packets(self) -> SearchStrategy[Drawn]:
        """Packets for the pipeline: `frame` are its octets, `port` the number of the port that it
        arrives by. Most are whole; some are cut off, damaged or padded."""
        return self._fuzzed.packets()

    def scenarios(self) -> SearchStrategy[Scenario]:
        """Requests (rules that are created, updated, replaced, deleted, one by one or several at
        once) and packets of which many meet these rules, in turn: `steps`, or apart `requests` and
        `packets`."""
        return self._fuzzed.scenarios()

    def agree(self, scenario: Scenario) -> list[Outcome]:
        """What becomes of the scenario's packets (those of 14 octets and more). Raises
        `AssertionError` where interpreter and kernel differ, with a packet test that shows it."""
        outcomes = []
        for meeting in self._fuzzed.meetings(scenario, self._loaded()):
            if not meeting.agree:
                lines, text = disagreement(self._fuzzed, scenario, meeting)
                raise AssertionError("\n".join([*lines, "", text]))
            outcomes.append(meeting.expected)
        return outcomes

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
            bundle = compile_pipeline(self.pipeline, self._join)
            self._run = PrivateRun(Bundle(bundle.manifest, bundle.object))
            self._unload = weakref.finalize(self, self._run.close)
            self._run.set_environment(self.environment)
        return self._run
