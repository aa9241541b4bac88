"""Where the probes of an overlay go, by its rule and the edge's YAML."""

from __future__ import annotations

from collections.abc import Mapping
from ipaddress import IPv4Address

from ...lang.contract.rules.rules import Rule
from ..edge.liveness_settings import Liveness, Shape
from ..loading.loader import Loaded
from .echo import Path


def path_of(loaded: Loaded, rule: Rule, settings: Liveness, shape: Shape) -> Path | None:
    """None where its port is not there."""
    values: Mapping[str, int] = {**dict(rule.values), **{e: m.value for e, m in rule.match}}
    to = dict(rule.references).get(shape.port)
    port = next((p for p in loaded.ports if to is not None and p.number == to.id), None)
    target = settings.targets.get(rule.name)
    if port is None or not {shape.local, shape.remote} <= values.keys():
        return None
    local, remote = (IPv4Address(values[end]).packed for end in (shape.local, shape.remote))
    return Path(
        port.neighbours_of, local, remote, values.get(shape.key),
        IPv4Address(settings.source).packed if settings.source else local,
        IPv4Address(target).packed if target else remote,
    )  # fmt: skip
