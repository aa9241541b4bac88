"""Errors of what changes packets in place or carries them whole: H0321 to H0329."""

from __future__ import annotations

from ...lang.diagnostics import Diagnostic
from ...lang.source import Span
from .faults_files import error


def no_link(span: Span, push: str) -> Diagnostic:
    return error(
        "H0321",
        "the packet has no link header of its own here",
        (span, f"behind `{push}`, its frame is what the tunnel carries"),
        help="send it on with `forward`, which gives it the link header of the egress port",
    )
