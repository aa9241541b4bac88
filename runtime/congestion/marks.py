"""Turns a verdict into a request that marks a pipeline's rules."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ...lang.contract.request.request import IE, Change, Request, RuleItem
from ...lang.contract.rules.rules import Matcher, Rule
from ..edge.congestion_settings import Shape
from ..loading.any_loaded import AnyLoaded
from ..owner import host
from .decide import PARTS, Verdict

_QUEUES = 256


def queue_cpus(loaded: AnyLoaded) -> dict[int, int]:
    """The CPU of each receive queue; empty where a pipeline steers nothing, or nobody knows."""
    if loaded.mode == "offload":
        return host.cpus_of_queues(port.interface for port in loaded.ports)
    table = loaded.maps.get("queues")
    if table is None:
        return {}
    found = ((queue, table.lookup(queue.to_bytes(4, "little"))) for queue in range(_QUEUES))
    return {queue: int.from_bytes(cpu, "little") for queue, cpu in found if cpu is not None}


def request_for(
    verdict: Verdict, loaded: AnyLoaded, shape: Shape, cpus: Mapping[int, int]
) -> Request:
    """What brings the rules in line with a verdict; without changes where they are."""
    desired = ((shape.element, Matcher("value", 1)),) if verdict.congested else None
    flags = list(loaded.book.rules(shape.flag))
    wrong = [
        flag for flag in flags if flag.match != desired
    ]  # also one that says 0, by somebody else
    changes: list[Change] = []
    if wrong:
        gone = tuple(RuleItem(shape.flag, flag.id, None, (), False) for flag in wrong)
        changes.append(Change("delete", gone))
    if desired and len(wrong) == len(flags):
        flag = RuleItem(shape.flag, None, None, (IE(shape.element, "", "value", 1),))
        changes.append(Change("create", (flag,)))
    for kind in shape.marked:
        marked = tuple(_marks(verdict, list(loaded.book.rules(kind)), cpus))
        changes += [Change("update", marked)] if marked else []
    return Request(tuple(changes))


def _marks(verdict: Verdict, rules: list[Rule], cpus: Mapping[int, int]) -> Iterator[RuleItem]:
    """Rules whose mark is to change. Of a CPU's rules the youngest go elsewhere first."""
    by_cpu: dict[int, list[Rule]] = {}
    for rule in rules:
        queue = dict(rule.values).get("queue", 0)
        by_cpu.setdefault(cpus.get(queue, -1), []).append(rule)
    for cpu, own in by_cpu.items():
        count = -(-len(own) * verdict.levels.get(cpu, 0) // PARTS)
        for place, rule in enumerate(sorted(own, key=lambda r: -r.sequence)):
            desired = int(place < count)
            if dict(rule.values).get("overloaded", 0) != desired:
                mark = IE("overloaded", "", "value", desired)
                yield RuleItem(rule.kind, rule.id, None, (mark,))
