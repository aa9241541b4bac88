"""Reads values of YAML nodes; errors are collected with their places."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

import yaml

from ...lang.contract.request.request import Form
from ...lang.text.diagnostics import Diagnostic, Diagnostics, Label, Refused, did_you_mean, ticked
from ...lang.text.source import Source, Span
from ...lang.text.yaml_reader import YamlReader, as_text, is_null

_TIME = re.compile(r"([0-9]{1,6}(?:\.[0-9]{1,6})?) ?(ms|s|min)?")
#: Keys, as other tools call them.
_MEANT = {
    "dev": "interface", "device": "interface", "iface": "interface", "ifname": "interface",
    "interfaces": "ports", "nics": "ports", "tunnels": "overlays", "policy": "default",
    "default_action": "default", "xdp_mode": "mode", "pipeline": "bundle", "program": "bundle",
    "local": "local_ip", "remote": "remote_ip", "tag": "vlan", "vlan_id": "vlan",
}  # fmt: skip
_UNITS = {"ms": 0.001, "s": 1.0, "min": 60.0}


class Nodes(YamlReader):
    """Readers of one YAML text. They add errors to `found`, and return None then."""

    DEEPEST, SECOND = 16, "a second document begins, and there may be one"

    def __init__(
        self, source: Source, found: Diagnostics, guide: str = "docs/edge-yaml.md"
    ) -> None:
        """`guide`: where there is an example of what is read."""
        super().__init__(source, found)
        self.guide = guide

    def _no_yaml(self, where: Span, problem: str) -> Diagnostic:
        return _no_yaml(where, problem, self.guide)

    def _misshapen(self, where: Span, problem: str) -> Diagnostic:
        return _misshapen(where, problem, self.guide)

    def _wrong_shape(self, where: Span, expected: str, hint: str = "") -> Diagnostic:
        return _wrong_shape(where, expected, hint)

    def _twice(self, first: Span, second: Span, key: str) -> Diagnostic:
        return _twice(first, second, key)

    def _unknown_key(self, where: Span, key: str, of: str, known: list[str]) -> Diagnostic:
        return _unknown_key(where, key, of, known)

    def root(self) -> Any:
        """The document's node. Raises `Refused`."""
        node = self.compose()
        if node is None:
            raise Refused(self.found.found)
        return node

    def text(self, node: Any) -> str | None:
        if not isinstance(node, yaml.ScalarNode) or is_null(node):
            hint = "" if is_null(node) else as_text(node)
            self.found.add(_wrong_shape(self.span(node), "a single value", hint))
            return None
        return str(node.value)

    def number(self, node: Any, what: str, least: int, most: int) -> int | None:
        text = self.text(node)
        if text is None:
            return None
        if not (
            text.isascii() and text.isdigit() and len(text) <= 10 and least <= int(text) <= most
        ):
            self.found.add(_bad_number(self.span(node), text, what, least, most))
            return None
        return int(text)

    def seconds(self, node: Any, least: float, most: float) -> float | None:
        """Of `1 s`, `500 ms`, `2 min`, or a number of seconds."""
        text = self.text(node)
        if text is None:
            return None
        found = _TIME.fullmatch(text.strip())
        seconds = float(found[1]) * _UNITS[found[2] or "s"] if found else -1.0
        if not least <= seconds <= most:
            self.found.add(_bad_time(self.span(node), text, least, most))
            return None
        return seconds

    def word(self, node: Any, what: str, known: Iterable[str]) -> str | None:
        text, known = self.text(node), list(known)
        if text is not None and text not in known:
            self.found.add(_unknown_word(self.span(node), text, what, known))
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


# ---- errors ---------------------------------------------------------------------------------


def _no_yaml(where: Span, problem: str, guide: str = "docs/edge-yaml.md") -> Diagnostic:
    return Diagnostic("H0601", f"this is no YAML: {problem}", (Label(where, "here"),),
                      f"{guide} has an example")  # fmt: skip


def _misshapen(where: Span, problem: str, guide: str) -> Diagnostic:
    return Diagnostic("H0601", f"this YAML {problem}", (Label(where, "this one"),),
                      f"{guide} has an example")  # fmt: skip


def _wrong_shape(where: Span, expected: str, hint: str = "") -> Diagnostic:
    labels = (Label(where, f"not {expected}"),)
    return Diagnostic("H0602", f"{expected} is expected here", labels, hint)


def _twice(first: Span, second: Span, key: str) -> Diagnostic:
    labels = (Label(second, "again"), Label(first, "first here"))
    return Diagnostic("H0603", f"`{key}` stands twice", labels, "remove one of them")


def _unknown_key(where: Span, key: str, of: str, known: Iterable[str]) -> Diagnostic:
    known = list(known)
    meant = f"write `{_MEANT[key]}`" if _MEANT.get(key) in known else did_you_mean(key, known)
    help_ = meant or f"the keys are {ticked(known)}"
    return Diagnostic("H0604", f"{of} has no key `{key}`", (Label(where, "unknown"),), help_)


def _unknown_word(where: Span, word: str, what: str, known: Iterable[str]) -> Diagnostic:
    known = list(known)
    help_ = did_you_mean(word, known) or f"one of {ticked(known)}"
    return Diagnostic("H0606", f"`{word}` is no {what}", (Label(where, f"no {what}"),), help_)


def _bad_number(where: Span, text: str, what: str, least: int, most: int) -> Diagnostic:
    labels = (Label(where, f"{least} to {most}"),)
    return Diagnostic(
        "H0609", f"`{text}` is no {what}", labels, f"write a number, {least} to {most}"
    )


def _bad_time(where: Span, text: str, least: float, most: float) -> Diagnostic:
    bounds = f"{least:g} s to {most:g} s"
    return Diagnostic("H0617", f"`{text}` is no time", (Label(where, bounds),),
                      f"write it as 1 s or 500 ms, {bounds}")  # fmt: skip
