"""YAML nodes with places; what is wrong with them is collected."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import yaml

from ...lang.diagnostics import Diagnostics, Refused
from ...lang.request import Form
from ...lang.source import Source, Span
from ...lang.yaml_tree import misshapen, too_deep
from . import faults

_DEEPEST = 16


class Entry(NamedTuple):
    """A key of a mapping and its value."""

    key: Any
    value: Any


class Nodes:
    """Readers of one YAML text. They note what is wrong in `found`, and return None for it."""

    def __init__(
        self, source: Source, found: Diagnostics, guide: str = "docs/edge-yaml.md"
    ) -> None:
        """`guide`: where there is an example of what is read."""
        self.source, self.found, self.guide = source, found, guide

    def root(self) -> Any:
        text = self.source.text
        where = self.source.span(0, 0)
        try:
            node = yaml.compose(text, Loader=yaml.SafeLoader)
        except yaml.MarkedYAMLError as error:
            mark = error.problem_mark or error.context_mark
            at = min(mark.index, len(text)) if mark else 0
            problem = error.problem or "unclear"
            if problem == "but found another document":
                problem = "a second document begins, and there may be one"
            self.found.add(faults.no_yaml(self.source.span(at, at + 1), problem, self.guide))
            raise Refused(self.found.found) from None
        except RecursionError:
            at, problem = too_deep(text, _DEEPEST)
            where = self.source.span(at, at + 1)
            self.found.add(faults.misshapen(where, problem, self.guide))
            raise Refused(self.found.found) from None
        except (yaml.YAMLError, ValueError) as error:
            self.found.add(faults.no_yaml(where, str(error).splitlines()[0], self.guide))
            raise Refused(self.found.found) from None
        if node is None:
            self.found.add(faults.no_yaml(where, "the file is empty", self.guide))
            raise Refused(self.found.found)
        if (wrong := misshapen(node, _DEEPEST)) is not None:
            self.found.add(faults.misshapen(self.span(wrong[0]), wrong[1], self.guide))
            raise Refused(self.found.found)
        return node

    def span(self, node: Any) -> Span:
        """Of a node over several lines, its first."""
        start, end = node.start_mark.index, node.end_mark.index
        line_end = self.source.text.find("\n", start)
        return self.source.span(start, line_end if 0 <= line_end < end else end)

    def mapping(self, node: Any, of: str, known: Iterable[str] | None) -> dict[str, Entry]:
        if node is None or (isinstance(node, yaml.ScalarNode) and node.tag.endswith(":null")):
            return {}
        if not isinstance(node, yaml.MappingNode):
            self.found.add(faults.wrong_shape(self.span(node), "a mapping"))
            return {}
        known = None if known is None else list(known)
        entries: dict[str, Entry] = {}
        for key, value in node.value:
            if not isinstance(key, yaml.ScalarNode):
                self.found.add(faults.wrong_shape(self.span(key), "a plain word"))
            elif key.value in entries:
                first = self.span(entries[key.value].key)
                self.found.add(faults.twice(first, self.span(key), key.value))
            elif known is not None and key.value not in known:
                self.found.add(faults.unknown_key(self.span(key), key.value, of, known))
            else:
                entries[key.value] = Entry(key, value)
        return entries

    def text(self, node: Any) -> str | None:
        if not isinstance(node, yaml.ScalarNode) or node.tag.endswith(":null"):
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
