"""The YAML of packet tests, and of requests: lists, numbers, addresses, words."""

from __future__ import annotations

from collections.abc import Iterable

import yaml

from ...text import literals
from ...text.diagnostics import Diagnostic
from ...text.source import Span
from ...text.yaml_reader import YamlReader, is_null
from . import case_faults as faults

_LONGEST = 1000


class Yaml(YamlReader):
    """A YAML text. Readers collect what is wrong in `found` and return None for it."""

    DEEPEST = 40
    SECOND = "a second document begins here: keep one, in a file of its own"

    def _no_yaml(self, where: Span, problem: str) -> Diagnostic:
        return faults.no_yaml(where, problem)

    def _misshapen(self, where: Span, problem: str) -> Diagnostic:
        return faults.misshapen(where, problem)

    def _wrong_shape(self, where: Span, wanted: str) -> Diagnostic:
        return faults.wrong_shape(where, wanted)

    def _twice(self, first: Span, second: Span, key: str) -> Diagnostic:
        return faults.twice(first, second, key, "the key")

    def _unknown_key(self, where: Span, key: str, of: str, known: list[str]) -> Diagnostic:
        return faults.unknown_key(where, key, of, known)

    def sequence(self, node: yaml.Node | None) -> list[yaml.Node]:
        if node is None or is_null(node):
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
