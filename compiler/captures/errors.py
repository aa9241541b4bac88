"""What several readers of captures find wrong."""

from __future__ import annotations

from ...lang.text.diagnostics import Diagnostic, Refused


def refused(diagnostic: Diagnostic) -> Refused:
    return Refused([diagnostic])


def cut_off(name: str, at: int, what: str) -> Diagnostic:
    title = f"{name} ends within {what}, which begins at byte {at:,}"
    return Diagnostic("H0803", title, (), "what stands in front of it was read")


def damaged(name: str, at: int, what: str) -> Diagnostic:
    title = f"{name} is damaged at byte {at:,}: {what}"
    return Diagnostic("H0804", title, (), "what stands in front of it was read")
