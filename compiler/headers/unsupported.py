"""What is not compiled yet."""

from __future__ import annotations

from ...lang.text.source import Span


class Unsupported(Exception):
    """The pipeline needs something that is not compiled yet; `span` is what asks for it."""

    def __init__(self, what: str, span: Span | None = None) -> None:
        super().__init__(what)
        self.span = span
