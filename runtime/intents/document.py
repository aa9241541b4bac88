"""Reads an intent from YAML or JSON, with places: see docs/intents.md."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from math import isfinite
from typing import Any

import yaml

from ...lang.text.diagnostics import FEW, Diagnostic, Diagnostics, Label
from ...lang.text.source import Source, Span
from ...lang.text.yaml_reader import Entry
from ..edge.errors import missing_key
from ..edge.yaml_nodes import Nodes

GUIDE = "docs/intents.md"
MODES = ("native", "generic", "offload")
#: Bytes of a text; flows of an intent, and layers of a flow.
LONGEST, MOST_FLOWS, MOST_LAYERS = 1 << 20, 4096, 32
_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:/-]{0,62}")
_KEYS = ("resourceId", "resources", "action", "parameters")
_PARAMETERS = ("interface", "mode", "start", "duration")
_SPAN = re.compile(r"(\d{1,9}(?:\.\d{1,6})?)\s*(ms|s|m|min|h|d)?")
_UNITS = {"ms": 0.001, "": 1.0, "s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0, "d": 86400.0}


@dataclass(frozen=True)
class LayerSpec:
    """A layer of a flow, and its fields as they are written."""

    name: str
    span: Span
    fields: dict[str, Entry]


@dataclass(frozen=True)
class Document:
    """`action`: elements, but for `rule`, which names a rule kind. `start`: seconds of the Unix
    epoch, None: now. `duration`: seconds, None: until it is removed."""

    nodes: Nodes
    id: str
    flows: tuple[tuple[LayerSpec, ...], ...]
    action: dict[str, Entry]
    action_at: Span
    rule: Entry | None
    interface: Entry | None
    mode: Entry | None
    start: float | None
    duration: float | None
    duration_at: Span


def read_document(source: Source, now: Callable[[], float]) -> Document:
    """Raises `Refused` with all that is wrong. `now`: what a start of `+30s` counts from."""
    found = Diagnostics(most=FEW)
    document = _Reader(Nodes(source, found, GUIDE)).document(now)
    found.stop_if_errors()
    return document


class _Reader:
    def __init__(self, nodes: Nodes) -> None:
        self.nodes, self.found = nodes, nodes.found

    def document(self, now: Callable[[], float]) -> Document:
        nodes = self.nodes
        node = nodes.root()
        root, whole = nodes.mapping(node, "an intent", _KEYS), nodes.span(node)
        examples = "video-17", "[ethernet, ipv4: {dst: 192.0.2.1}]", "{queue: 3}"
        for key, example in zip(_KEYS[:3], examples, strict=True):
            if key not in root and nodes.whole(node, root):
                self.found.add(missing_key(whole, key, "an intent", example))
        flows = self._flows(root["resources"].value) if "resources" in root else ()
        action_entry = root.get("action")
        action = nodes.mapping(action_entry.value, "`action`", None) if action_entry else {}
        given = root.get("parameters")
        parameters = nodes.mapping(given.value, "`parameters`", _PARAMETERS) if given else {}
        mode = parameters.get("mode")
        if mode is not None:
            nodes.word(mode.value, "mode", MODES)
        start, duration = parameters.get("start"), parameters.get("duration")
        return Document(
            nodes,
            self._id(root["resourceId"]) if "resourceId" in root else "",
            flows,
            {name: entry for name, entry in action.items() if name != "rule"},
            nodes.span(action_entry.key) if action_entry else whole,
            action.get("rule"),
            parameters.get("interface"),
            mode,
            self._start(start, now) if start else None,
            self._duration(duration) if duration else None,
            nodes.span(duration.value) if duration else whole,
        )

    def _id(self, entry: Entry) -> str:
        text = self.nodes.text(entry.value)
        if text is not None and not _ID.fullmatch(text):
            self.found.add(_bad_id(self.nodes.span(entry.value), text))
        return text or ""

    # ---- flows ------------------------------------------------------------------------------

    def _flows(self, node: Any) -> tuple[tuple[LayerSpec, ...], ...]:
        """A list of layers, or a list of such lists."""
        nodes = self.nodes
        if not isinstance(node, yaml.SequenceNode) or not node.value:
            self.found.add(_no_flow(nodes.span(node)))
            return ()
        several = isinstance(node.value[0], yaml.SequenceNode)
        flows = node.value if several else [node]
        if len(flows) > MOST_FLOWS:
            self.found.add(_too_long(nodes.span(node), "flows", MOST_FLOWS))
            return ()
        return tuple(self._flow(flow) for flow in flows)

    def _flow(self, node: Any) -> tuple[LayerSpec, ...]:
        if not isinstance(node, yaml.SequenceNode) or not node.value:
            self.found.add(_no_flow(self.nodes.span(node)))
            return ()
        if len(node.value) > MOST_LAYERS:
            self.found.add(_too_long(self.nodes.span(node), "layers", MOST_LAYERS))
            return ()
        layers = [self._layer(each) for each in node.value]
        return tuple(layer for layer in layers if layer is not None)

    def _layer(self, node: Any) -> LayerSpec | None:
        """`udp`, or `udp: {dst: 53}`."""
        nodes = self.nodes
        if isinstance(node, yaml.ScalarNode):
            text = nodes.text(node)
            return LayerSpec(text, nodes.span(node), {}) if text is not None else None
        if not isinstance(node, yaml.MappingNode) or len(node.value) != 1:
            self.found.add(_no_layer(nodes.span(node)))
            return None
        entries = nodes.mapping(node, "a layer", None)
        for name, entry in entries.items():
            fields = nodes.mapping(entry.value, f"`{name}`", None)
            good = {f: e for f, e in fields.items() if nodes.text(e.value) is not None}
            return LayerSpec(name, nodes.span(entry.key), good)
        return None

    # ---- time -------------------------------------------------------------------------------

    def _start(self, entry: Entry, now: Callable[[], float]) -> float | None:
        text = self.nodes.text(entry.value)
        if text is None or text == "now":
            return None
        if text[:1] == "+" and (after := seconds(text[1:].strip())) is not None:
            return now() + after
        try:
            moment = datetime.fromisoformat(text.replace("z", "Z"))
            if moment.tzinfo is not None and isfinite(moment.timestamp()):
                return moment.timestamp()
        except (ValueError, OverflowError):
            pass
        self.found.add(_bad_start(self.nodes.span(entry.value), text))
        return None

    def _duration(self, entry: Entry) -> float | None:
        text = self.nodes.text(entry.value)
        if text is None:
            return None
        found = seconds(text)
        if not found:
            self.found.add(_bad_duration(self.nodes.span(entry.value), text))
        return found


def seconds(text: str) -> float | None:
    """`90`, `90s`, `1.5h`; None: it is no span of time."""
    found = _SPAN.fullmatch(text)
    return float(found[1]) * _UNITS[found[2] or ""] if found else None


# ---- errors ---------------------------------------------------------------------------------


def _no_flow(where: Span) -> Diagnostic:
    help_ = "`resources: [ethernet, ipv4: {dst: 192.0.2.1}]`; of several flows a list of such lists"
    return Diagnostic("H0820", "the headers of a flow are expected here",
                      (Label(where, "not a list of headers"),), help_)  # fmt: skip


def _no_layer(where: Span) -> Diagnostic:
    return Diagnostic("H0820", "one header is expected here", (Label(where, "not one header"),),
                      "`udp`, or `udp: {dst: 53}`, each an item of the list")  # fmt: skip


def _too_long(where: Span, what: str, most: int) -> Diagnostic:
    return Diagnostic("H0820", f"there are more than {most} {what}", (Label(where, "too many"),),
                      "make several intents of it")  # fmt: skip


def _bad_id(where: Span, text: str) -> Diagnostic:
    return Diagnostic("H0821", f"`{text[:80]}` cannot be a `resourceId`", (Label(where, ""),),
                      "1 to 63 letters, digits and . _ : / -, a letter or digit first"
                      )  # fmt: skip


def _bad_start(where: Span, text: str) -> Diagnostic:
    return Diagnostic("H0822", f"`{text[:80]}` is no moment", (Label(where, "no moment"),),
                      "2027-01-31T12:00:00Z (RFC 3339, with its zone), now, or +30s"
                      )  # fmt: skip


def _bad_duration(where: Span, text: str) -> Diagnostic:
    return Diagnostic("H0822", f"`{text[:80]}` is no duration", (Label(where, "no duration"),),
                      "90s, 1.5h, 7d; left out, the intent stays until it is removed"
                      )  # fmt: skip
