"""`helioc lsp` as an editor meets it: through the protocol."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from helioc.compiler.check.resolve import PIPELINES
from lsprotocol import types as t
from pygls.exceptions import JsonRpcException
from pygls.lsp.client import LanguageClient

LINX = PIPELINES / "linx.hp"
Talk = Callable[["Editor"], Awaitable[None]]


class Editor(LanguageClient):
    def __init__(self) -> None:
        super().__init__("test", "1")
        self.published: asyncio.Queue[t.PublishDiagnosticsParams] = asyncio.Queue()
        self.path = Path()

        self.feature(t.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)(lambda p: self.published.put_nowait(p))

    @property
    def document(self) -> t.TextDocumentIdentifier:
        return t.TextDocumentIdentifier(self.path.as_uri())

    async def open(self, path: Path, text: str) -> t.PublishDiagnosticsParams:
        self.path = path
        item = t.TextDocumentItem(path.as_uri(), "helio", 1, text)
        self.text_document_did_open(t.DidOpenTextDocumentParams(item))
        return await self.published.get()

    async def change(self, text: str, version: int = 2) -> t.PublishDiagnosticsParams:
        of = t.VersionedTextDocumentIdentifier(version, self.path.as_uri())
        whole = t.TextDocumentContentChangeWholeDocument(text)
        self.text_document_did_change(t.DidChangeTextDocumentParams(of, [whole]))
        return await self.published.get()


def talked(talk: Talk) -> None:
    """Start the server, say hello, talk, and see it end by itself."""

    async def session() -> None:
        editor = Editor()
        await editor.start_io(sys.executable, "-m", "helioc.commands.helioc", "lsp")
        made = await editor.initialize_async(t.InitializeParams(t.ClientCapabilities()))
        assert made.server_info is not None and made.server_info.name == "helioc"
        try:
            await talk(editor)
        finally:
            await editor.shutdown_async(None)
            editor.exit(None)
            assert editor._server is not None and editor._server.stderr is not None
            logged = await editor._server.stderr.read()
            await editor.stop()  # type: ignore[no-untyped-call]
        assert logged == b""

    asyncio.run(asyncio.wait_for(session(), 60))


def place(text: str, before: str) -> t.Position:
    """Of the character behind `before`, in UTF-16."""
    lines = text[: text.index(before) + len(before)].split("\n")
    return t.Position(len(lines) - 1, len(lines[-1].encode("utf-16-le")) // 2)


def test_errors_come_and_go() -> None:
    text = LINX.read_text()

    async def talk(editor: Editor) -> None:
        assert (await editor.open(LINX, text)).diagnostics == ()
        wrong = text.replace("find PDR", "find PDX", 1)
        (found,) = (await editor.change(wrong)).diagnostics
        assert (found.code, found.source) == ("H0203", "helioc")
        assert found.range.end == place(wrong, "find PDX")
        assert "help: did you mean `PDR`?" in found.message
        assert (await editor.change(text, 3)).diagnostics == ()
        (found,) = (await editor.change("pipeline {", 4)).diagnostics[:1]
        assert str(found.code).startswith("H01")

    talked(talk)


def test_places_behind_wide_characters(tmp_path: Path) -> None:
    text = "header h { a : u8 } // 🦉\nheader g { b : u65 }\n"

    async def talk(editor: Editor) -> None:
        (found,) = (await editor.open(tmp_path / "h.hp", text)).diagnostics
        assert found.range == t.Range(place(text, "b : "), place(text, "u65"))

    talked(talk)


def test_names() -> None:
    text = LINX.read_text()

    async def talk(editor: Editor) -> None:
        await editor.open(LINX, text)
        here = place(text, "find PD")
        hover = await editor.text_document_hover_async(t.HoverParams(editor.document, here))
        assert hover is not None and isinstance(hover.contents, t.MarkupContent)
        assert "rule PDR" in hover.contents.value
        there = await editor.text_document_definition_async(
            t.DefinitionParams(editor.document, here)
        )
        assert isinstance(there, t.Location) and there.uri == LINX.as_uri()
        end = place(text, "rule PDR")
        assert there.range == t.Range(t.Position(end.line, end.character - 3), end)
        there = await editor.text_document_definition_async(
            t.DefinitionParams(editor.document, place(text, "user.sr"))
        )
        assert isinstance(there, t.Location) and there.uri.endswith("/std/ip.hp")
        found = await editor.text_document_completion_async(
            t.CompletionParams(editor.document, place(text, "user."))
        )
        assert isinstance(found, t.CompletionList)
        assert {"src", "dst", "ttl"} <= {item.label for item in found.items}

    talked(talk)


def test_rename_and_format() -> None:
    text = LINX.read_text()

    async def talk(editor: Editor) -> None:
        await editor.open(LINX, text)
        here = place(text, "find PD")
        edit = await editor.text_document_rename_async(
            t.RenameParams(editor.document, here, "DETECTION")
        )
        assert edit is not None and edit.changes is not None
        (edits,) = edit.changes.values()
        lines = text.split("\n")
        for each in sorted(edits, key=lambda e: (e.range.start.line, -e.range.start.character)):
            at = each.range.start
            line = lines[at.line]
            assert line[at.character :].startswith(("PDR", "DETECTION"))
            lines[at.line] = line[: at.character] + each.new_text + line[at.character + 3 :]
        assert (await editor.change("\n".join(lines))).diagnostics == ()
        with pytest.raises(JsonRpcException, match="would be wrong"):
            await editor.text_document_rename_async(t.RenameParams(editor.document, here, "FAR"))
        await editor.change(text.replace("find PDR", "find    PDR", 1), 3)
        options = t.FormattingOptions(tab_size=2, insert_spaces=True)
        made = await editor.text_document_formatting_async(
            t.DocumentFormattingParams(editor.document, options)
        )
        assert made is not None and made[0].new_text == text

    talked(talk)
