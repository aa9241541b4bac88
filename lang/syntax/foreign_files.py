"""Whole programs in P4-16 or C, which get one message and not one a line."""

from __future__ import annotations

import re

from ..text.diagnostics import Diagnostic, Label
from ..text.source import Source, Span

_OURS = re.compile(r"^[ \t]*pipeline\s+\w+\s*\{", re.MULTILINE)
_FOREIGN = re.compile(
    r"""^[ \t]*(?:
      (?P<P4> \#include\s*[<"][\w/.]+\.p4[>"] | typedef\s+bit\s*< | (?:control|parser)\s+\w+\s*\(
            | header\s+\w+\s*\{\s*bit\s*< | const\s+bit\s*< )
    | (?P<C> \#include\s*[<"][\w/.]+\.h[>"] | SEC\s*\(
            | (?:static\s+)?(?:(?:__always_)?inline\s+)?
              (?:int|void|struct|unsigned|__u\d+)\s+\**\w+\s*[({;=] )
    )""",
    re.MULTILINE | re.VERBOSE,
)
_NAMES = {"P4": "P4-16", "C": "C"}


def foreign_file(source: Source) -> Diagnostic | None:
    """What to say of a file that is none of ours, at the first line that shows it."""
    found = _FOREIGN.search(source.text)
    if found is None or _OURS.search(source.text):
        return None
    start = found.end() - len(found[0].lstrip())
    return _another_language(source.span(start, found.end()), _NAMES[found.lastgroup or "C"])


# ---- errors ---------------------------------------------------------------------------------


def _another_language(where: Span, language: str) -> Diagnostic:
    labels = (Label(where, f"this is {language}"),)
    return Diagnostic(
        "H0447",
        f"this is a program in {language}, and none in Helio",
        labels,
        "write it as headers, `pipeline NAME {…}` and stages: docs/coming-from.md has ten programs "
        "in P4-16, in C and in Helio side by side",
    )
