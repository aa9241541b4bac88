"""The errors of packet tests (`X.test.yaml`): one function for each code, and its explanation."""

from __future__ import annotations

from collections.abc import Iterable

from ...text.diagnostics import Diagnostic, Label, did_you_mean
from ...text.source import Span


def no_yaml(where: Span, problem: str) -> Diagnostic:
    return Diagnostic("H0501", "this is not YAML", (Label(where, problem),))


def misshapen(where: Span, problem: str) -> Diagnostic:
    return Diagnostic("H0501", f"this YAML {problem}", (Label(where, "this one"),))


def unknown_key(where: Span, key: str, of: str, known: Iterable[str]) -> Diagnostic:
    known = list(known)
    hint = did_you_mean(key, known) or f"{of} has {', '.join(known)}"
    return Diagnostic("H0502", f"{of} has no `{key}`", (Label(where, "not known here"),), hint)


def missing_key(where: Span, key: str, of: str) -> Diagnostic:
    return Diagnostic("H0503", f"{of} lacks `{key}`", (Label(where, f"`{key}` is needed"),))


def wrong_shape(where: Span, wanted: str) -> Diagnostic:
    return Diagnostic("H0504", f"this must be {wanted}", (Label(where, f"expected {wanted}"),))


def bad_value(where: Span, text: str, wanted: str, hint: str = "") -> Diagnostic:
    title = f"`{text}` is not {wanted}"
    return Diagnostic("H0505", title, (Label(where, f"expected {wanted}"),), hint)


def unknown_name(
    where: Span, name: str, what: str, known: Iterable[str], hint: str = ""
) -> Diagnostic:
    known = list(known)
    hint = did_you_mean(name, known) or hint or f"known: {', '.join(known) or 'none'}"
    return Diagnostic("H0506", f"there is no {what} `{name}`", (Label(where, "unknown"),), hint)


def twice(first: Span, second: Span, name: str, what: str) -> Diagnostic:
    labels = (Label(second, "again here"), Label(first, "first here"))
    return Diagnostic("H0507", f"{what} `{name}` is given twice", labels)


def out_of_place(where: Span, what: str, rule: str) -> Diagnostic:
    return Diagnostic("H0508", f"{what} is out of place", (Label(where, rule),))
