"""The desired state of a fleet: the rules of each edge and pipeline, and where each is written."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import accumulate
from pathlib import Path
from typing import Any, NamedTuple

import yaml
from helioc.lang.contract.request.request import Request
from helioc.lang.contract.request.request_parser import parse_request
from helioc.lang.text.diagnostics import Diagnostic, Diagnostics, Label
from helioc.lang.text.source import Source
from helioc.runtime.base.files import read_source
from helioc.runtime.edge.yaml_nodes import Nodes

GUIDE = "docs/controller.md"


class Piece(NamedTuple):
    """Rules in request text, with or without `create`. `origin`: where they are written."""

    origin: str
    text: str


@dataclass(frozen=True)
class Rules:
    """All rules of a pipeline. `kinds`: those that this is about, see `Client.difference`."""

    pieces: tuple[Piece, ...] = ()
    kinds: tuple[str, ...] = ()

    @cached_property
    def request(self) -> Request:
        """One request of all. Raises `Refused`, places in the pieces."""
        text = "\n;\n".join(self._texts())
        return parse_request(Source("desired state", text)) if text else Request(())

    def placed(self, found: Diagnostic) -> Diagnostic:
        """A finding about the request, with its places in the pieces."""
        return replace(found, labels=tuple(map(self._placed, found.labels)))

    def _texts(self) -> list[str]:
        return [_with_verb(piece.text) for piece in self.pieces if piece.text.strip()]

    def _placed(self, label: Label) -> Label:
        span, texts = label.span, self._texts()
        starts = [0, *accumulate(len(text) + 3 for text in texts)]
        pieces = [piece for piece in self.pieces if piece.text.strip()]
        for piece, text, start in zip(pieces, texts, starts, strict=False):
            if start <= span.start <= start + len(text):
                source = Source(piece.origin, text)
                return Label(source.span(span.start - start, span.end - start), label.text)
        return label


def _with_verb(text: str) -> str:
    """Rules alone are rules to be created."""
    text = text.strip().rstrip(";")
    verb = text.split(None, 1)[0].lower() if text else ""
    return text if verb in ("create", "update", "delete", "replace") else f"create {text}"


@dataclass(frozen=True)
class Edge:
    """`address`: of its agent; empty: what it has announced."""

    address: str = ""
    pipelines: Mapping[str, Rules] = field(default_factory=dict)


#: Edges by name.
DesiredState = Mapping[str, Edge]


def read_file(path: Path) -> DesiredState:
    """A desired state from YAML:

        edges:
          edge1:
            address: 192.0.2.1:50051          # if it did not announce itself
            pipelines:
              guard:                          # or {kinds: [BLOCK], rules: …}
                - BLOCK 1 [(src_ip, u32, 10.0.0.0/24)]

    Rules are a list of texts, or one text. Raises `Refused`."""
    found = Diagnostics()
    nodes = Nodes(read_source(path), found, GUIDE)
    top = nodes.mapping(nodes.root(), "the file", ["edges"])
    edges = nodes.mapping(top["edges"].value, "edges", None) if "edges" in top else {}
    desired = {name: _edge(nodes, entry.value) for name, entry in edges.items()}
    found.stop_if_errors()
    return desired


def _edge(nodes: Nodes, node: Any) -> Edge:
    keys = nodes.mapping(node, "an edge", ["address", "pipelines"])
    address = nodes.text(keys["address"].value) if "address" in keys else ""
    pipelines = nodes.mapping(keys["pipelines"].value, "", None) if "pipelines" in keys else {}
    rules = {name: _rules(nodes, entry.value) for name, entry in pipelines.items()}
    return Edge(address or "", rules)


def _rules(nodes: Nodes, node: Any) -> Rules:
    if not isinstance(node, yaml.MappingNode):
        return Rules(_pieces(nodes, node))
    keys = nodes.mapping(node, "a pipeline", ["kinds", "rules"])
    kinds = _items(keys["kinds"].value) if "kinds" in keys else []
    names = tuple(name for kind in kinds if (name := nodes.text(kind)))
    return Rules(_pieces(nodes, keys["rules"].value) if "rules" in keys else (), names)


def _pieces(nodes: Nodes, node: Any) -> tuple[Piece, ...]:
    pieces = []
    for item in _items(node):
        if (text := nodes.text(item)) is not None:
            pieces.append(Piece(f"{nodes.source.name}:{item.start_mark.line + 1}", text))
    return tuple(pieces)


def _items(node: Any) -> list[Any]:
    if isinstance(node, yaml.SequenceNode):
        return list(node.value)
    empty = isinstance(node, yaml.ScalarNode) and node.tag.endswith(":null")
    return [] if empty else [node]
