"""Small texts made into whole pipelines, so that a case shows only what it is about.

A fragment is a few declarations as they would stand in a file. What it does not say is added:
imports, ports, the parse graph of LINX, its elements and rule kinds, a stage, the `run` line.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

from helioc.compiler.check.headers import check_header
from helioc.compiler.check.program import check
from helioc.compiler.check.resolve import load_file, visible_headers
from helioc.compiler.model import Header, Pipeline
from helioc.lang import tree
from helioc.lang.syntax.parser import parse
from helioc.lang.text.diagnostics import Diagnostic, Diagnostics, Refused
from helioc.lang.text.source import Source

_HEAD = re.compile(r"^(?:link )?([a-z]\w*)(?: (\w+))?", re.MULTILINE)
_TOP = {"import", "header"}
_USUAL = Path(__file__).with_suffix(".hp").read_text()


def _declarations(text: str) -> list[tuple[str, str, str]]:
    """(word, name, text) of each declaration that begins in column 1."""
    starts = list(_HEAD.finditer(text))
    ends = [m.start() for m in starts[1:]] + [len(text)]
    return [
        (m[1], m[2] or "", text[m.start() : end].rstrip())
        for m, end in zip(starts, ends, strict=True)
    ]


@cache
def _usual() -> tuple[tuple[str, str, str], ...]:
    """The declarations of check_frame.hp."""
    expected = ("ports", "parser", "ie", "rule", "default")
    return tuple(d for d in _declarations(_USUAL) if d[0] in expected)


def framed(fragment: str) -> str:
    """The whole pipeline that a fragment stands for; a text with a `pipeline` is one already."""
    if re.search(r"^pipeline ", fragment, re.MULTILINE):
        return fragment
    said = _declarations(fragment)
    words = {word for word, _, _ in said}
    names = {(word, name.lower()) for word, name, _ in said}
    top = [text for word, _, text in said if word in _TOP]
    inside = [text for word, _, text in said if word not in _TOP]
    missing = [f"import {n}" for n in ("std.ethernet", "std.ip", "std.gre")]
    missing = [line for line in missing if not any(line in t for t in top)]
    usual = [
        text
        for word, name, text in _usual()
        if (word, name.lower()) not in names
        and not (word in ("ports", "parser", "default") and word in words)
        and not ("parser" in words and (word == "rule" or name == "interface"))
    ]
    stages = [name for word, name, _ in said if word == "stage"]
    if not stages:
        stages = ["main"]
        usual.append("stage main {\n  pass\n}")
    if "run" not in words:
        usual.append("run parser -> " + " -> ".join(stages))
    return "\n".join([*missing, *top, "pipeline example {", *inside, *usual, "}"]) + "\n"


@cache
def _loaded(path: Path) -> tree.Program:
    return load_file(path)


def checked(text: str, path: Path | None = None) -> tuple[Pipeline | None, list[Diagnostic]]:
    """The pipeline (None if it is refused) and everything that was found; but not that a fragment
    makes no use of what was added to it."""
    found = Diagnostics()
    try:
        program = parse(Source(path.name if path else "example.hp", text, path))
        return check(program, _loaded, found), _own(found.found)
    except Refused as refused:
        return None, _own(refused.diagnostics)


def _own(found: list[Diagnostic]) -> list[Diagnostic]:
    usual = {name for _, name, _ in _usual()}
    return [d for d in found if d.code != "H0295" or not d.span or d.span.text not in usual]


def headers_of(path: Path) -> list[Header]:
    """The headers of a file that need not have a pipeline. Raises `Refused`."""
    found = Diagnostics()
    _, known, _, _ = visible_headers(load_file(path), load_file, found)
    headers = [check_header(k, found).header for k in known.values() if k.imported is None]
    found.stop_if_errors()
    return headers
