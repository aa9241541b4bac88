"""What the watcher counts, as Prometheus reads it."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from http import HTTPStatus

from prometheus_client import CollectorRegistry, Histogram
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.exposition import choose_encoder
from prometheus_client.registry import Collector

from ..observe.http_server import Answer
from .agent import Agent
from .api import Reflector
from .cache import Cache

PREFIX = "helio_services_"
_BOUNDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)


class Counts(Collector):
    """Of one watcher."""

    def __init__(
        self, cache: Cache, reflectors: Sequence[Reflector], agent: Agent,
        in_step: Callable[[], bool],
    ) -> None:  # fmt: skip
        self._cache, self._reflectors = cache, reflectors
        self._agent, self._in_step = agent, in_step
        self.registry = CollectorRegistry(auto_describe=False)
        self._events, self._lists = Counter[str](), Counter[str]()
        self._answers: dict[str, bool] = {}
        self.refused = 0
        self._planning = Histogram(f"{PREFIX}planning_seconds", "What planning a batch took.",
                                   registry=self.registry, buckets=_BOUNDS)  # fmt: skip
        self._delay = Histogram(f"{PREFIX}delay_seconds", "From an event's arrival until its rules "
                                "were in force.", registry=self.registry,
                                buckets=_BOUNDS)  # fmt: skip
        self.registry.register(self)

    def listed(self, resource: str) -> None:
        self._lists[resource] += 1

    def event(self, resource: str) -> None:
        self._events[resource] += 1

    def server(self, resource: str, answers: bool) -> None:
        self._answers[resource] = answers

    def planned(self, seconds: float) -> None:
        self._planning.observe(seconds)

    def sent(self, events: Iterable[float], changed: int) -> None:
        now = time.monotonic()
        for at in events if changed else ():
            self._delay.observe(now - at)

    def collect(self) -> Iterable[Metric]:
        cache, agent = self._cache, self._agent
        yield _labelled(CounterMetricFamily, "events", "resource", "Changes of objects.",
                        self._events)  # fmt: skip
        yield _labelled(CounterMetricFamily, "lists", "resource", "Lists of all objects.",
                        self._lists)  # fmt: skip
        failures = {each.resource.name: each.failures for each in self._reflectors}
        yield _labelled(CounterMetricFamily, "failures", "resource",
                        "Calls of the API server that failed.", failures)  # fmt: skip
        yield _labelled(GaugeMetricFamily, "api_server_up", "resource",
                        "Whether the API server answers.", self._answers)  # fmt: skip
        objects = {"Service": len(cache.services), "EndpointSlice": len(cache.slices)}
        yield _labelled(
            GaugeMetricFamily, "objects", "resource", "Objects that are known.", objects
        )
        kinds = Counter(kind for kind, _ in list(cache.wanted))
        yield _labelled(GaugeMetricFamily, "rules", "kind", "Rules that are wanted.", kinds)
        for name, help_, value in (
            ("requests", "Requests to the agent.", agent.requests),
            ("rules_changed", "Rules that they changed.", agent.changed),
            ("refused", "Attempts that the agent refused or did not answer.", self.refused),
        ):
            yield CounterMetricFamily(PREFIX + name, help_, value=value)
        yield GaugeMetricFamily(f"{PREFIX}in_step", "Whether the agent's rules follow the API "
                                "server's objects.", value=self._in_step())  # fmt: skip

    def page(self, path: str, accept: str) -> Answer:
        """For `HttpServer`."""
        if path.partition("?")[0] != "/metrics":
            return Answer(HTTPStatus.NOT_FOUND, b"there is only /metrics\n")
        encode, kind = choose_encoder(accept)
        return Answer(HTTPStatus.OK, encode(self.registry), kind)


_Family = type[CounterMetricFamily] | type[GaugeMetricFamily]


def _labelled(
    family: _Family, name: str, label: str, help_: str, values: dict[str, int] | dict[str, bool]
) -> Metric:  # fmt: skip
    made = family(PREFIX + name, help_, labels=[label])
    for key, value in list(values.items()):
        made.add_metric([key], value)
    return made
