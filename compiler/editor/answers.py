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
from .symbols import Index, Symbol, Use

#: Words that begin a declaration, a clause or a statement; what may stand where is the parser's.
WORDS = sorted(
    HARD
    | {"const", "header", "let", "parser", "ports", "priority", "registers", "state", "event", "in"}
)
_NAME = re.compile(r"[A-Za-z_]\w*\Z", re.ASCII)
_MEMBER = re.compile(r"([A-Za-z_]\w*)(?:\[\d+\])?\.(?:([A-Za-z_]\w*)\.)?\w*\Z", re.ASCII)


@dataclass
class Document:
    """A file that is open, as it is in the editor. `index` is of the last text that could be
    parsed."""

    path: Path
    text: str = ""
    index: Index = field(default_factory=Index)
    readable: bool = False

    def change(self, text: str) -> None:
        self.text, self.readable = text, False
        try:
            program = parse(self.source)
        except Refused:
            return
        self.readable = True
        visible = visible_headers(program, load_file, Diagnostics())
        imported = [k.header for k in visible.known.values() if k.imported]
        self.index = index(program, imported, visible.constants)

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
        if named and member[2]:  # of an option
            named = named.members.get(member[2])
        return list(named.members.values()) if named else []

    def _values(self) -> list[Symbol]:
        found = (u.symbol for u in self.index.uses if u.symbol.kind == "value")
        return [s for s in dict.fromkeys(found) if s.name not in self.index.known]

    def _value(self, name: str) -> Symbol | None:
        return next((s for s in self._values() if s.name == name), None)

    def at(self, offset: int) -> Use | None:
        """The name at a place; None where the text cannot be parsed: it is not where it was."""
        return self.index.at(offset) if self.readable else None

    def renamed(self, offset: int, name: str) -> list[Span] | str:
        """Where a name stands that becomes another; or why it cannot."""
        use = self.at(offset)
        if use is None:
            return "there is no name here" if self.readable else "the text cannot be parsed"
        symbol = use.symbol
        if symbol.declared is NOWHERE:
            return f"`{symbol.name}` is a word of the language"
        if symbol.declared.source.path != self.path:
            return f"`{symbol.name}` is declared in {symbol.declared.source.name}"
        if not _NAME.match(name) or name in HARD:
            return f"`{name}` cannot be a name"
        spans = self.index.of(symbol)
        other = Document(self.path)
        other.change(replaced(self.text, spans, name))
        before = {d.title for d in _errors(self.diagnostics(False))}
        for new in _errors(other.diagnostics(False)):
            if new.title.replace(name, symbol.name) not in before and new.title not in before:
                return f"`{name}` would be wrong: {new.title}"
        if not _alike(self.index, other.index):
            return f"`{name}` would be wrong: it means something else in some of these places"
        return spans


def _alike(one: Index, other: Index) -> bool:
    """Whether in both texts the same places stand for the same things."""
    mine, theirs = (sorted(i.uses, key=lambda u: u.span.start) for i in (one, other))
    pairs = {(a.symbol, b.symbol) for a, b in zip(mine, theirs, strict=False)}
    return len(mine) == len(theirs) and all(
        len({pair[side] for pair in pairs}) == len(pairs) for side in (0, 1)
    )


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
