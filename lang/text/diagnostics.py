"""A diagnostic as data; `render.py` makes text of it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Literal

from .source import Span

#: Errors that are shown for a request or an edge's file.
FEW = 20
Severity = Literal["error", "warning"]
_LONGEST_WORD, _LONGEST_TITLE = 64, 280


@dataclass(frozen=True)
class Label:
    """A place in a source and a text about it. The first label is the place of the error."""

    span: Span
    text: str = ""


@dataclass(frozen=True)
class Diagnostic:
    """One finding. `code` is stable (`H0213`); `helioc explain` says more about it."""

    code: str
    title: str
    labels: tuple[Label, ...]
    help: str = ""
    severity: Severity = "error"

    def __post_init__(self) -> None:
        if len(self.title) > _LONGEST_TITLE:  # it quotes the input
            begin, end = self.title[: _LONGEST_TITLE - 80], self.title[-80:]
            object.__setattr__(self, "title", f"{begin} … {end}")

    @property
    def span(self) -> Span | None:
        return self.labels[0].span if self.labels else None


def error(
    code: str, title: str, *labels: tuple[Span, str], help: str = "", severity: Severity = "error"
) -> Diagnostic:
    """A diagnostic with these labels, the place of the error first."""
    return Diagnostic(code, title, tuple(Label(*label) for label in labels), help, severity)


@dataclass
class Diagnostics:
    """The findings of a pass. Checkers collect; the entry points print and exit. At `most`
    errors `add` raises them."""

    found: list[Diagnostic] = field(default_factory=list)
    most: int = 200

    def __post_init__(self) -> None:
        self._known = set(self.found)
        self._errors = len(self.errors)

    def add(self, diagnostic: Diagnostic) -> None:
        if diagnostic not in self._known:
            self._known.add(diagnostic)
            self.found.append(diagnostic)
            self._errors += diagnostic.severity == "error"
            if self._errors >= self.most:
                raise Refused(self.found)

    def extend(self, more: Iterable[Diagnostic]) -> None:
        for diagnostic in more:
            self.add(diagnostic)

    @property
    def errors(self) -> list[Diagnostic]:
        return [d for d in self.found if d.severity == "error"]

    def stop_if_errors(self) -> None:
        """Raise what was found, if any of it is an error."""
        if self.errors:
            raise Refused(self.found)


class Refused(Exception):
    """The input is not accepted; `diagnostics` say why, in source order."""

    def __init__(self, diagnostics: Sequence[Diagnostic]) -> None:
        super().__init__("; ".join(f"{d.code}: {d.title}" for d in diagnostics))
        self.diagnostics = list(diagnostics)


def listed(words: Iterable[str], joint: str = "and") -> str:
    """`a`, `b` and `c`."""
    all_ = [f"`{w}`" for w in words]
    return f" {joint} ".join([", ".join(all_[:-1]), all_[-1]] if len(all_) > 1 else all_)


def ticked(words: Iterable[str]) -> str:
    """`a`, `b`, `c`."""
    return ", ".join(f"`{word}`" for word in words)


def did_you_mean(word: str, candidates: Iterable[str]) -> str:
    """`did you mean …?` for the nearest of `candidates`, or an empty string."""
    if len(word) > _LONGEST_WORD:  # comparing takes quadratic time
        return ""
    by_folded = {c.lower(): c for c in candidates}
    near = get_close_matches(word.lower(), by_folded, n=1, cutoff=0.6)
    return f"did you mean `{by_folded[near[0]]}`?" if near else ""
