"""`liveness` in the edge's YAML."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from ipaddress import IPv4Address
from typing import Any

from ...lang.text.diagnostics import Diagnostic, Label, did_you_mean
from ...lang.text.source import Span
from ...lang.text.yaml_reader import Entry
from . import errors
from .liveness_settings import Liveness
from .yaml_nodes import Nodes

_KEYS = ("interval", "multiplier", "hold_down", "from", "to")
_TIME = re.compile(r"([0-9]{1,6}(?:\.[0-9]{1,6})?) ?(ms|s|min)?")
_UNITS = {"ms": 0.001, "s": 1.0, "min": 60.0}


def read_liveness(
    nodes: Nodes, entry: Entry, overlays: Mapping[str, Entry], host: Collection[bytes]
) -> Liveness:
    """`overlays`: those that the file names; `host`: the host's addresses. Notes what is wrong."""
    given, usual = nodes.mapping(entry.value, "`liveness`", _KEYS), Liveness()
    interval, hold_down, multiplier, source = usual.interval, usual.hold_down, usual.multiplier, ""
    if "interval" in given:
        interval = read_time(nodes, given["interval"].value, 0.1, 60.0) or interval
    if "multiplier" in given:
        multiplier = nodes.number(given["multiplier"].value, "multiplier", 1, 100) or multiplier
    if "hold_down" in given:
        found = read_time(nodes, given["hold_down"].value, 0.0, 3600.0)
        hold_down = hold_down if found is None else found
    if "from" in given:
        source = _address(nodes, given["from"].value) or ""
        if source and IPv4Address(source).packed not in host:
            have = [str(IPv4Address(address)) for address in sorted(host) if len(address) == 4]
            where = nodes.span(given["from"].value)
            nodes.found.add(_no_such_source(where, source, have))
    targets = _targets(nodes, given["to"], overlays) if "to" in given else {}
    return Liveness(interval, multiplier, hold_down, source, targets)


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


def read_time(nodes: Nodes, node: Any, least: float, most: float) -> float | None:
    """Seconds."""
    text = nodes.text(node)
    if text is None:
        return None
    found = _TIME.fullmatch(text.strip())
    seconds = float(found[1]) * _UNITS[found[2] or "s"] if found else -1.0
    if not least <= seconds <= most:
        nodes.found.add(_bad_time(nodes.span(node), text, least, most))
        return None
    return seconds


# ---- errors ---------------------------------------------------------------------------------


def _bad_time(where: Span, text: str, least: float, most: float) -> Diagnostic:
    bounds = f"{least:g} s to {most:g} s"
    return Diagnostic("H0617", f"`{text}` is no time", (Label(where, bounds),),
                      f"write it as 1 s or 500 ms, {bounds}")  # fmt: skip


def _overlay_elsewhere(where: Span, name: str, known: Iterable[str]) -> Diagnostic:
    help_ = did_you_mean(name, known) or "it counts once a request creates a rule of that name"
    labels = (Label(where, "not among its rules"),)
    return Diagnostic("H0618", f"this file has no overlay `{name}`", labels, help_, "warning")


def _no_such_source(where: Span, address: str, have: Iterable[str]) -> Diagnostic:
    help_ = did_you_mean(address, have) or "answers to it would not come here"
    return Diagnostic("H0619", f"the host does not have the address {address}",
                      (Label(where, "not an address of it"),), help_)  # fmt: skip
