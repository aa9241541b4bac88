"""`helioc lsp`: speaks the Language Server Protocol (3.17) on standard input and output."""

from __future__ import annotations

import logging
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from urllib.parse import unquote, urlparse

from lsprotocol import types as t
from pygls.exceptions import JsonRpcInvalidParams
from pygls.lsp.server import LanguageServer
from pygls.protocol import json_rpc
from pygls.workspace import TextDocument

from ..compiler.editor.answers import Document, hover
from ..compiler.editor.symbols import Symbol
from ..lang.text.diagnostics import Diagnostic, Label
from ..lang.text.source import Source, Span

_SEVERITY = {"error": t.DiagnosticSeverity.Error, "warning": t.DiagnosticSeverity.Warning}
_KINDS = {
    "action": t.CompletionItemKind.Function, "constant": t.CompletionItemKind.Constant,
    "element": t.CompletionItemKind.Property, "event": t.CompletionItemKind.Event,
    "field": t.CompletionItemKind.Field,
    "header": t.CompletionItemKind.Struct, "node": t.CompletionItemKind.Struct,
    "option": t.CompletionItemKind.Struct,
    "role": t.CompletionItemKind.Interface, "rule": t.CompletionItemKind.Class,
    "slot": t.CompletionItemKind.Field, "stage": t.CompletionItemKind.Module,
    "state": t.CompletionItemKind.Class, "symbol": t.CompletionItemKind.EnumMember,
    "value": t.CompletionItemKind.Variable,
}  # fmt: skip


class Helio(LanguageServer):
    """Keeps the documents that are open."""

    def __init__(self, number: str) -> None:
        super().__init__("helioc", number, text_document_sync_kind=t.TextDocumentSyncKind.Full)
        self.documents: dict[str, Document] = {}

    def changed(self, uri: str, thoroughly: bool) -> None:
        """Read the editor's text again, and say what is wrong with it."""
        text = self.workspace.get_text_document(uri)
        document = self.documents.setdefault(uri, Document(_path(uri)))
        document.change(text.source)
        found = [_diagnostic(text, d) for d in document.diagnostics(thoroughly) if d.labels]
        self.text_document_publish_diagnostics(
            t.PublishDiagnosticsParams(uri=uri, diagnostics=found, version=text.version)
        )

    def place(self, uri: str, position: t.Position) -> tuple[Document, TextDocument, int]:
        """What a position is in, and how many characters stand in front of it."""
        text = self.workspace.get_text_document(uri)
        lines = text.source.split("\n")
        at = text.position_codec.position_from_client_units(lines, position)
        offset = sum(len(line) + 1 for line in lines[: at.line]) + at.character
        return self.documents[uri], text, offset


def _range(text: TextDocument, span: Span) -> t.Range:
    """A span in the editor's lines and columns."""
    source = span.source
    start, end = (source.position(offset) for offset in (span.start, span.end))
    made = t.Range(t.Position(start[0] - 1, start[1] - 1), t.Position(end[0] - 1, end[1] - 1))
    return text.position_codec.range_to_client_units(source.text.split("\n"), made)


def _path(uri: str) -> Path:
    return Path(unquote(urlparse(uri).path))


def _uri(span: Span, text: TextDocument) -> str:
    path = span.source.path
    return text.uri if path is None or path == _path(text.uri) else path.resolve().as_uri()


def _diagnostic(text: TextDocument, d: Diagnostic) -> t.Diagnostic:
    first, *others = d.labels
    if _uri(first.span, text) != text.uri:  # of an imported file: said at the imports
        start = max(0, text.source.find("import"))
        here = Label(Source("", text.source, _path(text.uri)).span(start, start + len("import")))
        first, others = replace(here, text=f"in {first.span}"), [first, *others]
    said = [d.title, *filter(None, [first.text]), *([f"help: {d.help}"] if d.help else [])]
    related = [
        t.DiagnosticRelatedInformation(
            t.Location(_uri(label.span, text), _range(text, label.span)), label.text or d.title
        )
        for label in others
    ]
    return t.Diagnostic(
        range=_range(text, first.span),
        severity=_SEVERITY[d.severity],
        code=d.code,
        source="helioc",
        message="\n".join(said),
        related_information=related,
    )


def _item(what: Symbol | str) -> t.CompletionItem:
    if isinstance(what, str):
        return t.CompletionItem(what, kind=t.CompletionItemKind.Keyword)
    documentation = t.MarkupContent(t.MarkupKind.Markdown, hover(what))
    detail = what.shown.split("\n")[0]
    return t.CompletionItem(
        what.name, kind=_KINDS[what.kind], detail=detail, documentation=documentation
    )


def _no_refusal(record: logging.LogRecord) -> bool:
    """Whether it is no request that was refused: the editor shows why, and nothing went wrong."""
    return not (record.exc_info and isinstance(record.exc_info[1], JsonRpcInvalidParams))


def server() -> Helio:
    """A server that has not begun to listen."""
    logging.getLogger(json_rpc.__name__).addFilter(_no_refusal)
    made = Helio(version("helioc"))

    @made.feature(t.TEXT_DOCUMENT_DID_OPEN)
    def opened(ls: Helio, params: t.DidOpenTextDocumentParams) -> None:
        ls.changed(params.text_document.uri, thoroughly=True)

    @made.feature(t.TEXT_DOCUMENT_DID_CHANGE)
    def changed(ls: Helio, params: t.DidChangeTextDocumentParams) -> None:
        ls.changed(params.text_document.uri, thoroughly=False)

    @made.feature(t.TEXT_DOCUMENT_DID_SAVE)
    def saved(ls: Helio, params: t.DidSaveTextDocumentParams) -> None:
        ls.changed(params.text_document.uri, thoroughly=True)

    @made.feature(t.TEXT_DOCUMENT_DID_CLOSE)
    def closed(ls: Helio, params: t.DidCloseTextDocumentParams) -> None:
        ls.documents.pop(params.text_document.uri, None)

    @made.feature(t.TEXT_DOCUMENT_HOVER)
    def hovered(ls: Helio, params: t.HoverParams) -> t.Hover | None:
        document, text, offset = ls.place(params.text_document.uri, params.position)
        use = document.at(offset)
        if use is None:
            return None
        return t.Hover(
            t.MarkupContent(t.MarkupKind.Markdown, hover(use.symbol)), _range(text, use.span)
        )

    @made.feature(t.TEXT_DOCUMENT_DEFINITION)
    def declared(ls: Helio, params: t.DefinitionParams) -> t.Location | None:
        document, text, offset = ls.place(params.text_document.uri, params.position)
        use = document.at(offset)
        if use is None:
            return None
        span = use.symbol.declared
        return t.Location(_uri(span, text), _range(text, span))

    @made.feature(t.TEXT_DOCUMENT_REFERENCES)
    def used(ls: Helio, params: t.ReferenceParams) -> list[t.Location]:
        document, text, offset = ls.place(params.text_document.uri, params.position)
        use = document.at(offset)
        spans = document.index.of(use.symbol) if use else []
        return [t.Location(text.uri, _range(text, span)) for span in spans]

    @made.feature(t.TEXT_DOCUMENT_COMPLETION, t.CompletionOptions(trigger_characters=["."]))
    def completed(ls: Helio, params: t.CompletionParams) -> t.CompletionList:
        document, _, offset = ls.place(params.text_document.uri, params.position)
        return t.CompletionList(False, [_item(each) for each in document.completions(offset)])

    @made.feature(t.TEXT_DOCUMENT_RENAME)
    def renamed(ls: Helio, params: t.RenameParams) -> t.WorkspaceEdit:
        document, text, offset = ls.place(params.text_document.uri, params.position)
        spans = document.renamed(offset, params.new_name)
        if isinstance(spans, str):
            raise JsonRpcInvalidParams(spans)
        edits = [t.TextEdit(_range(text, span), params.new_name) for span in spans]
        return t.WorkspaceEdit({text.uri: edits})

    @made.feature(t.TEXT_DOCUMENT_FORMATTING)
    def formatted(ls: Helio, params: t.DocumentFormattingParams) -> list[t.TextEdit]:
        document = ls.documents[params.text_document.uri]
        text = ls.workspace.get_text_document(params.text_document.uri)
        made = document.formatted()
        if made is None or made == document.text:
            return []
        return [t.TextEdit(_range(text, Span(document.source, 0, len(document.text))), made)]

    return made
