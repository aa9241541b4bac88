"""YAML with positions: a value knows where it stands, so that errors read like the language's."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import yaml

from ...lang import literals
from ...lang.diagnostics import Diagnostics
from ...lang.source import Source, Span
from ...lang.yaml_tree import misshapen, too_deep
from . import faults as faults

_DEEPEST = 40
_LONGEST = 1000


class Entry(NamedTuple):
    """A key of a mapping with its value."""

    key: yaml.ScalarNode
    value: yaml.Node


class Yaml:
    """A YAML text. Readers collect what is wrong in `found` and return None for it."""

    def __init__(self, source: Source, found: Diagnostics) -> None:
        self.source = source
        self.found = found

    def root(self) -> yaml.Node | None:
        """The document's node; None (with a diagnostic) if there is none."""
        where = self.source.span(0, 0)
        try:
            node = yaml.compose(self.source.text, Loader=yaml.SafeLoader)
        except yaml.MarkedYAMLError as error:
            mark = error.problem_mark or error.context_mark
            at = min(mark.index, len(self.source.text)) if mark else 0
            where = self.source.span(at, at + 1)
            problem = error.problem or "cannot be read"
            if problem == "but found another document":
                problem = "a second document begins here: keep one, in a file of its own"
            self.found.add(faults.no_yaml(where, problem))
            return None
        except RecursionError:
            at, problem = too_deep(self.source.text, _DEEPEST)
            self.found.add(faults.misshapen(self.source.span(at, at + 1), problem))
            return None
        except (yaml.YAMLError, ValueError):
            self.found.add(faults.no_yaml(where, "cannot be read"))
            return None
        if node is None:
            self.found.add(faults.no_yaml(where, "the file is empty"))
            return None
        if (wrong := misshapen(node, _DEEPEST)) is not None:
            self.found.add(faults.misshapen(self.span(wrong[0]), wrong[1]))
            return None
        return node

    def span(self, node: yaml.Node) -> Span:
        """Where a node stands; of one that goes on over several lines, the first."""
        start, end = node.start_mark.index, node.end_mark.index
        line_end = self.source.text.find("\n", start)
        if 0 <= line_end < end:
            end = line_end
        return self.source.span(start, end)

    def mapping(
        self, node: yaml.Node | None, of: str, known: Iterable[str] | None = None
    ) -> dict[str, Entry]:
        """Entries by key; with `known`, no others. An absent (null) mapping is an empty one."""
        if node is None or _is_null(node):
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
                self.found.add(faults.twice(first, self.span(key), key.value, "the key"))
            elif known is not None and key.value not in known:
                self.found.add(faults.unknown_key(self.span(key), key.value, of, known))
            else:
                entries[key.value] = Entry(key, value)
        return entries

    def sequence(self, node: yaml.Node | None) -> list[yaml.Node]:
        if node is None or _is_null(node):
            return []
        if not isinstance(node, yaml.SequenceNode):
            self.found.add(faults.wrong_shape(self.span(node), "a sequence"))
            return []
        return list(node.value)

    def flat(self, node: yaml.Node) -> list[yaml.Node]:
        """A sequence, sequences in it (aliases mostly) joined in."""
        items: list[yaml.Node] = []
        todo = self.sequence(node)[::-1]
        for _ in range(_LONGEST):
            if not todo:
                return items
            item = todo.pop()
            if isinstance(item, yaml.SequenceNode):
                todo += item.value[::-1]
            else:
                items.append(item)
        self.found.add(faults.wrong_shape(self.span(node), f"a list of at most {_LONGEST} items"))
        return items

    def text(self, node: yaml.Node | None) -> str | None:
        if node is None:
            return None
        if not isinstance(node, yaml.ScalarNode):
            self.found.add(faults.wrong_shape(self.span(node), "a single value"))
            return None
        return str(node.value)

    def number(self, node: yaml.Node | None, most: int, least: int = 0) -> int | None:
        text = self.text(node)
        if node is None or text is None:
            return None
        value = literals.number(text)
        if value is None or not least <= value <= most:
            wanted = f"a number from {least} to {most}"
            self.found.add(faults.bad_value(self.span(node), text, wanted))
            return None
        return value

    def address(self, node: yaml.Node | None, kind: literals.AddressKind) -> int | None:
        text = self.text(node)
        if node is None or text is None:
            return None
        found = literals.address(text)
        if found is None or found[0] != kind:
            wanted = {"ip4": "an IPv4 address", "ip6": "an IPv6 address", "mac": "a MAC address"}
            self.found.add(faults.bad_value(self.span(node), text, wanted[kind]))
            return None
        return found[1]

    def ip(self, node: yaml.Node | None) -> tuple[literals.AddressKind, int] | None:
        """An IPv4 or IPv6 address, and which of them."""
        text = self.text(node)
        if node is None or text is None:
            return None
        found = literals.address(text)
        if found is None or found[0] == "mac":
            self.found.add(faults.bad_value(self.span(node), text, "an IPv4 or IPv6 address"))
            return None
        return found

    def one_of(self, node: yaml.Node | None, words: Iterable[str], what: str) -> str | None:
        text = self.text(node)
        words = list(words)
        if node is None or text is None:
            return None
        if text not in words:
            self.found.add(faults.unknown_name(self.span(node), text, what, words))
            return None
        return text


def _is_null(node: yaml.Node) -> bool:
    return isinstance(node, yaml.ScalarNode) and node.tag == "tag:yaml.org,2002:null"
