"""YAML nodes with places; what is wrong with them is collected."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import yaml

from ...lang.contract.request.request import Form
from ...lang.text.diagnostics import Diagnostic, Diagnostics, Refused
from ...lang.text.source import Source, Span
from ...lang.text.yaml_reader import YamlReader, is_null
from . import faults


class Nodes(YamlReader):
    """Readers of one YAML text. They note what is wrong in `found`, and return None for it."""

    DEEPEST, SECOND = 16, "a second document begins, and there may be one"

    def __init__(
        self, source: Source, found: Diagnostics, guide: str = "docs/edge-yaml.md"
    ) -> None:
        """`guide`: where there is an example of what is read."""
        super().__init__(source, found)
        self.guide = guide

    def _no_yaml(self, where: Span, problem: str) -> Diagnostic:
        return faults.no_yaml(where, problem, self.guide)

    def _misshapen(self, where: Span, problem: str) -> Diagnostic:
        return faults.misshapen(where, problem, self.guide)

    def _wrong_shape(self, where: Span, wanted: str) -> Diagnostic:
        return faults.wrong_shape(where, wanted)

    def _twice(self, first: Span, second: Span, key: str) -> Diagnostic:
        return faults.twice(first, second, key)

    def _unknown_key(self, where: Span, key: str, of: str, known: list[str]) -> Diagnostic:
        return faults.unknown_key(where, key, of, known)

    def root(self) -> Any:
        """The document's node. Raises `Refused`."""
        node = self.compose()
        if node is None:
            raise Refused(self.found.found)
        return node

    def text(self, node: Any) -> str | None:
        if not isinstance(node, yaml.ScalarNode) or is_null(node):
            self.found.add(faults.wrong_shape(self.span(node), "a single value"))
            return None
        return str(node.value)

    def number(self, node: Any, what: str, least: int, most: int) -> int | None:
        text = self.text(node)
        if text is None:
            return None
        if not (
            text.isascii() and text.isdigit() and len(text) <= 10 and least <= int(text) <= most
        ):
            self.found.add(faults.bad_number(self.span(node), text, what, least, most))
            return None
        return int(text)

    def word(self, node: Any, what: str, known: Iterable[str]) -> str | None:
        text, known = self.text(node), list(known)
        if text is not None and text not in known:
            self.found.add(faults.unknown_word(self.span(node), text, what, known))
            return None
        return text


def spelled(text: str) -> tuple[Form, str, str]:
    """A value as requests have it: its form, what stands in front, what behind."""
    separators: tuple[tuple[str, Form], ...] = (("..", "range"), ("/", "prefix"), ("&", "mask"))
    for separator, form in separators:
        first, found, second = text.partition(separator)
        if found:
            return form, first.strip(), second.strip()
    return "value", text, ""
