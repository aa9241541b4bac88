"""How overlays are probed: `liveness` in the edge's YAML."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from ipaddress import IPv4Address
from typing import TYPE_CHECKING, Any

from ...lang.contract.manifest.manifest import Manifest, RuleKind
from ...lang.text.diagnostics import Diagnostic, Label, did_you_mean
from ...lang.text.source import Span
from . import errors
from .sections import Around, Section

if TYPE_CHECKING:  # `helioctl` starts without YAML
    from ...lang.text.yaml_reader import Entry
    from .yaml_nodes import Nodes

_KEYS = ("interval", "multiplier", "hold_down", "from", "to", "stamp")


@dataclass(frozen=True)
class Liveness:
    """Seconds; `multiplier`: probes in a row. `source`: inside the tunnel, empty: the
    overlay's own end. `targets`: likewise, by the overlay's name; empty: it is not probed; without
    an entry: its far end. `stamp`: by the overlay's name, the session that measures its path."""

    interval: float = 1.0
    multiplier: int = 3
    hold_down: float = 10.0
    source: str = ""
    targets: Mapping[str, str] = field(default_factory=dict)
    stamp: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Shape:
    """The rule kind that can be probed, and its elements: GRE between two IPv4 addresses."""

    kind: str
    port: str
    local: str
    remote: str
    key: str


def shape_of(manifest: Manifest) -> Shape | None:
    """None where the pipeline has no such kind: one with names that keeps a next hop, and whose
    `local_ip` and `remote_ip` are the addresses of an IPv4 header in front of GRE; its `key`, if it
    has one, GRE's. Probes are ICMP in GRE: no peer of another tunnel answers them."""
    for kind in manifest.rules:
        for member in kind.record if kind.named and not kind.grouped else ():
            if member.kind == "next_hop" and _has_gre_ends(manifest, kind):
                port, remote = member.element.split(" via ")
                key = "key" if any(match.element == "key" for match in kind.match) else ""
                if remote == "remote_ip":
                    return Shape(kind.name, port, "local_ip", remote, key)
    return None


def _has_gre_ends(manifest: Manifest, kind: RuleKind) -> bool:
    if manifest.anatomy is None:
        return False
    exact = {match.element for match in kind.match if match.kind == "exact"}
    ends = {
        reading.element: reading.fields
        for reading in manifest.anatomy.readings
        if reading.rule == kind.name and reading.element in exact
    }
    protocols = {layer.name: layer.protocol for layer in manifest.anatomy.layers}
    return any(
        (protocols[step.source], protocols[step.target]) == ("ipv4", "gre")
        and ends.get("local_ip") == ((step.source, "dst"),)
        and ends.get("remote_ip") == ((step.source, "src"),)
        for step in manifest.anatomy.steps
    )


def _read(around: Around, entry: Entry) -> Liveness | None:
    nodes, host, shape = around.nodes, around.addresses, shape_of(around.manifest)
    if shape is None:
        return None
    within = around.keys.get(f"{around.manifest.rule(shape.kind).prefix}s")
    overlays = nodes.mapping(within.value, "", None) if within else {}
    given, usual = nodes.mapping(entry.value, "`liveness`", _KEYS), Liveness()
    interval, hold_down, multiplier, source = usual.interval, usual.hold_down, usual.multiplier, ""
    if "interval" in given:
        interval = nodes.seconds(given["interval"].value, 0.1, 60.0) or interval
    if "multiplier" in given:
        multiplier = nodes.number(given["multiplier"].value, "multiplier", 1, 100) or multiplier
    if "hold_down" in given:
        found = nodes.seconds(given["hold_down"].value, 0.0, 3600.0)
        hold_down = hold_down if found is None else found
    if "from" in given:
        source = _address(nodes, given["from"].value) or ""
        if source and IPv4Address(source).packed not in host:
            have = [str(IPv4Address(address)) for address in sorted(host) if len(address) == 4]
            where = nodes.span(given["from"].value)
            nodes.found.add(_no_such_source(where, source, have))
    targets = _targets(nodes, given["to"], overlays) if "to" in given else {}
    sessions = _sessions(nodes, given["stamp"], overlays) if "stamp" in given else {}
    return Liveness(interval, multiplier, hold_down, source, targets, sessions)


def _sessions(nodes: Nodes, entry: Entry, overlays: Mapping[str, Entry]) -> dict[str, str]:
    found = {}
    for name, each in nodes.mapping(entry.value, "`stamp`", None).items():
        if name not in overlays:
            nodes.found.add(_overlay_elsewhere(nodes.span(each.key), name, overlays))
        if (session := nodes.text(each.value)) is not None:
            found[name] = session
    return found


def _targets(nodes: Nodes, entry: Entry, overlays: Mapping[str, Entry]) -> dict[str, str]:
    found = {}
    for name, each in nodes.mapping(entry.value, "`to`", None).items():
        if name not in overlays:
            nodes.found.add(_overlay_elsewhere(nodes.span(each.key), name, overlays))
        none = nodes.text(each.value) == "none"
        address = "" if none else _address(nodes, each.value)
        if address is not None:
            found[name] = address
    return found


def _address(nodes: Nodes, node: Any) -> str | None:
    text = nodes.text(node)
    if text is None:
        return None
    try:
        return str(IPv4Address(text))
    except ValueError:
        nodes.found.add(errors.bad_address(nodes.span(node), text))
        return None


LIVENESS = Section("liveness", Liveness, _read, lambda m: shape_of(m) is not None)


# ---- errors ---------------------------------------------------------------------------------


def _overlay_elsewhere(where: Span, name: str, known: Iterable[str]) -> Diagnostic:
    help_ = did_you_mean(name, known) or "it counts once a request creates a rule of that name"
    labels = (Label(where, "not among its rules"),)
    return Diagnostic("H0618", f"this file has no overlay `{name}`", labels, help_, "warning")


def _no_such_source(where: Span, address: str, have: Iterable[str]) -> Diagnostic:
    help_ = did_you_mean(address, have) or "answers to it would not come here"
    return Diagnostic("H0619", f"the host does not have the address {address}",
                      (Label(where, "not an address of it"),), help_)  # fmt: skip
