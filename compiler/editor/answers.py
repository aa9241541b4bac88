"""Answers to an editor: what is wrong with a text, and what its names are."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

from ...lang.syntax.parser import parse
from ...lang.syntax.printer import format_program
from ...lang.syntax.syntax_hints import HARD
from ...lang.text.diagnostics import Diagnostic, Diagnostics, Refused
from ...lang.text.source import NOWHERE, Source, Span
from ..check.headers import check_header
from ..check.program import check
from ..check.resolve import load_file, visible_headers
from ..driver import fitting
from .index import index
from .symbols import Index, Symbol

#: Words that begin a declaration, a clause or a statement; what may stand where is the parser's.
WORDS = sorted(HARD | {"const", "header", "let", "parser", "ports", "priority", "state", "in"})
_NAME = re.compile(r"[A-Za-z_]\w*\Z", re.ASCII)
_MEMBER = re.compile(r"([A-Za-z_]\w*)(?:\[\d+\])?\.\w*\Z", re.ASCII)


@dataclass
class Document:
    """A file that is open, as it is in the editor. `index` is of the last text that could be
    parsed."""

    path: Path
    text: str = ""
    index: Index = field(default_factory=Index)

    def change(self, text: str) -> None:
        self.text = text
        try:
            program = parse(self.source)
        except Refused:
            return
        known = visible_headers(program, load_file, Diagnostics()).known
        imported = [k.header for k in known.values() if k.imported]
        paths = {header.span.source.path for header in imported}
        constants = [c for path in paths if path for c in load_file(path).constants]
        self.index = index(program, imported, constants)

    @property
    def source(self) -> Source:
        return Source(self.path.name, self.text, self.path)

    # ---- answers -----------------------------------------------------------------------------

    def diagnostics(self, thoroughly: bool) -> list[Diagnostic]:
        """As `helioc check` has them; whether the kernel takes it is only asked `thoroughly`."""
        found = Diagnostics()
        try:
            program = parse(self.source)
            if program.pipelines:
                pipeline = check(program, found=found)
                if thoroughly:
                    fitting(pipeline)
            else:  # a file of headers
                for header in visible_headers(program, load_file, found).known.values():
                    check_header(header, found)
        except Refused as refused:
            found.extend(refused.diagnostics)
        return found.found

    def formatted(self) -> str | None:
        """The canonical text; None where the text cannot be parsed."""
        try:
            return format_program(parse(self.source))
        except Refused:
            return None

    def completions(self, offset: int) -> list[Symbol | str]:
        """What may stand at a place: members behind a dot; else names and words."""
        member = _MEMBER.search(self.text, 0, offset)
        if member is None:
            return [*self.index.known.values(), *self._values(), *WORDS]
        named = self.index.known.get(member[1]) or self._value(member[1])
        return list(named.members.values()) if named else []

    def _values(self) -> list[Symbol]:
        found = (u.symbol for u in self.index.uses if u.symbol.kind == "value")
        return [s for s in dict.fromkeys(found) if s.name not in self.index.known]

    def _value(self, name: str) -> Symbol | None:
        return next((s for s in self._values() if s.name == name), None)

    def renamed(self, offset: int, name: str) -> list[Span] | str:
        """Where a name stands that becomes another; or why it cannot."""
        use = self.index.at(offset)
        if use is None:
            return "there is no name here"
        symbol = use.symbol
        if symbol.declared is NOWHERE:
            return f"`{symbol.name}` is a word of the language"
        if symbol.declared.source.path != self.path:
            return f"`{symbol.name}` is declared in {symbol.declared.source.name}"
        if not _NAME.match(name) or name in HARD:
            return f"`{name}` cannot be a name"
        spans = self.index.of(symbol)
        other = Document(self.path)
        other.text = replaced(self.text, spans, name)
        before, after = (len(_errors(d.diagnostics(False))) for d in (self, other))
        if after > before:
            first = _errors(other.diagnostics(False))[0]
            return f"`{name}` would be wrong: {first.title}"
        return spans


def _errors(found: list[Diagnostic]) -> list[Diagnostic]:
    return [d for d in found if d.severity == "error"]


def replaced(text: str, spans: list[Span], name: str) -> str:
    for span in sorted(spans, key=lambda s: -s.start):
        text = text[: span.start] + name + text[span.end :]
    return text


def hover(symbol: Symbol) -> str:
    """Markdown about a name."""
    shown = f"```helio\n{symbol.shown}\n```"
    return f"{shown}\n\n{symbol.doc}" if symbol.doc else shown
