"""The YAML of packet tests, and of requests: lists, numbers, addresses, words."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import yaml

from ...text import literals
from ...text.diagnostics import Diagnostic, Label, did_you_mean
from ...text.field_names import FIELDS, HEADERS
from ...text.source import Span
from ...text.yaml_reader import YamlReader, as_text, is_null

_LONGEST = 1000
_LONGEST_WORD = 24
NOTHING: Mapping[str, str] = {}


class Yaml(YamlReader):
    """A YAML text. Readers collect what is wrong in `found` and return None for it."""

    DEEPEST = 40
    SECOND = "a second document begins here: keep one, in a file of its own"

    def _no_yaml(self, where: Span, problem: str) -> Diagnostic:
        address = self.source.text.startswith("::", where.start)
        hint = 'an address that begins so stands in quotes: "::1"' if address else ""
        if self.source.text.startswith("\t", where.start):
            hint = "YAML is indented by blanks, not by tabs"
        return _no_yaml(where, problem, hint)

    def _misshapen(self, where: Span, problem: str) -> Diagnostic:
        return _misshapen(where, problem)

    def _wrong_shape(self, where: Span, expected: str, hint: str = "") -> Diagnostic:
        return wrong_shape(where, expected, hint)

    def _twice(self, first: Span, second: Span, key: str) -> Diagnostic:
        return twice(first, second, key, "the key")

    def _unknown_key(self, where: Span, key: str, of: str, known: list[str]) -> Diagnostic:
        return _unknown_key(where, key, of, known)

    def sequence(self, node: yaml.Node | None) -> list[yaml.Node]:
        if node is None or is_null(node):
            return []
        if not isinstance(node, yaml.SequenceNode):
            self.found.add(wrong_shape(self.span(node), "a sequence", _as_sequence(node)))
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
        self.found.add(wrong_shape(self.span(node), f"a list of at most {_LONGEST} items"))
        return items

    def text(self, node: yaml.Node | None) -> str | None:
        if node is None:
            return None
        if not isinstance(node, yaml.ScalarNode):
            self.found.add(wrong_shape(self.span(node), "a single value", as_text(node)))
            return None
        return str(node.value)

    def number(self, node: yaml.Node | None, most: int, least: int = 0) -> int | None:
        text = self.text(node)
        if node is None or text is None:
            return None
        value = literals.number(text)
        if value is None or not least <= value <= most:
            expected = f"a number from {least} to {most}"
            self.found.add(bad_value(self.span(node), text, expected))
            return None
        return value

    def address(self, node: yaml.Node | None, kind: literals.AddressKind) -> int | None:
        text = self.text(node)
        if node is None or text is None:
            return None
        found = literals.address(text)
        if found is None or found[0] != kind:
            expected = {"ip4": "an IPv4 address", "ip6": "an IPv6 address", "mac": "a MAC address"}
            self.found.add(bad_value(self.span(node), text, expected[kind]))
            return None
        return found[1]

    def ip(self, node: yaml.Node | None) -> tuple[literals.AddressKind, int] | None:
        """An IPv4 or IPv6 address, and which of them."""
        text = self.text(node)
        if node is None or text is None:
            return None
        found = literals.address(text)
        if found is None or found[0] == "mac":
            self.found.add(bad_value(self.span(node), text, "an IPv4 or IPv6 address"))
            return None
        return found

    def one_of(
        self,
        node: yaml.Node | None,
        words: Iterable[str],
        what: str,
        others: Mapping[str, str] = NOTHING,
    ) -> str | None:
        """One of some words. `others`: what is meant by words of elsewhere."""
        text = self.text(node)
        words = list(words)
        if node is None or text is None:
            return None
        if text not in words:
            meant = f"write `{others[text]}`" if text in others else ""
            self.found.add(unknown_name(self.span(node), text, what, words, meant))
            return None
        return text


def _as_sequence(node: yaml.Node) -> str:
    """How a list of what is written there looks."""
    if isinstance(node, yaml.ScalarNode) and len(node.value) <= _LONGEST_WORD:
        return f"write `[{node.value}]`"
    return "write a list: each item behind a dash, or `[…, …]`"


# ---- errors ---------------------------------------------------------------------------------


def _no_yaml(where: Span, problem: str, hint: str) -> Diagnostic:
    return Diagnostic("H0501", "this is not YAML", (Label(where, problem),), hint)


def _misshapen(where: Span, problem: str) -> Diagnostic:
    return Diagnostic("H0501", f"this YAML {problem}", (Label(where, "this one"),))


def _unknown_key(where: Span, key: str, of: str, known: Iterable[str]) -> Diagnostic:
    known = list(known)
    ours = FIELDS.get(key) or HEADERS.get(key)
    hint = f"here it is called `{ours}`" if ours in known else did_you_mean(key, known)
    hint = hint or f"{of} has {', '.join(known)}"
    return Diagnostic("H0502", f"{of} has no `{key}`", (Label(where, "not known here"),), hint)


def missing_key(where: Span, key: str, of: str) -> Diagnostic:
    return Diagnostic("H0503", f"{of} lacks `{key}`", (Label(where, f"`{key}` is needed"),))


def wrong_shape(where: Span, expected: str, hint: str = "") -> Diagnostic:
    labels = (Label(where, f"expected {expected}"),)
    return Diagnostic("H0504", f"this must be {expected}", labels, hint)


def bad_value(where: Span, text: str, expected: str, hint: str = "") -> Diagnostic:
    title = f"`{text}` is not {expected}"
    return Diagnostic("H0505", title, (Label(where, f"expected {expected}"),), hint)


def unknown_name(
    where: Span, name: str, what: str, known: Iterable[str], hint: str = ""
) -> Diagnostic:
    known = list(known)
    hint = hint or did_you_mean(name, known)
    hint = hint or (f"known: {', '.join(known)}" if known else f"there is no {what} at all here")
    return Diagnostic("H0506", f"there is no {what} `{name}`", (Label(where, "unknown"),), hint)


def twice(first: Span, second: Span, name: str, what: str) -> Diagnostic:
    labels = (Label(second, "again here"), Label(first, "first here"))
    return Diagnostic("H0507", f"{what} `{name}` is given twice", labels)
