"""Errors of headers.py."""

from __future__ import annotations

from ...lang.text.diagnostics import Diagnostic, error
from ...lang.text.source import Span

# ---- errors ---------------------------------------------------------------------------------


def parts_do_not_fill(span: Span, whole: int, parts: int, first: Span) -> Diagnostic:
    off = f"{abs(whole - parts)} bits {'are missing' if parts < whole else 'are too many'}"
    return error(
        "H0231",
        f"the parts are {parts} bits wide, the whole is {whole}",
        (first, off),
        (span, f"{whole} bits"),
        help="name reserved bits too: `: u2`",
    )


def not_octets(span: Span, what: str, bits: int) -> Diagnostic:
    return error(
        "H0232",
        f"{what} is not a whole number of octets",
        (span, f"{bits} bits: {-bits % 8} bits short of {(bits + 7) // 8} octets"),
        help=f"add reserved bits: `: u{-bits % 8}`",
    )


def misaligned(span: Span, kind: str, offset: int) -> Diagnostic:
    return error(
        "H0233",
        f"this {kind} does not begin at an octet",
        (span, f"begins at bit {offset}"),
        help="check the widths of the fields in front of it",
    )


def bad_flag(flag: Span, why: str, where: Span | None, help: str) -> Diagnostic:
    labels = [(flag, why)]
    if where is not None:
        labels.append((where, "this field"))
    return error(
        "H0234", f"`{flag.text}` cannot say whether these fields are there", *labels, help=help
    )


def out_of_place(span: Span, what: str, why: str, before: Span | None, help: str) -> Diagnostic:
    """A field behind what must come last, `bytes[rest]` without `size` …"""
    labels = [(span, why)]
    if before is not None:
        labels.append((before, "this comes first"))
    return error("H0235", f"{what} cannot stand here", *labels, help=help)


def too_big_header(span: Span, octets: int, limit: int) -> Diagnostic:
    return error(
        "H0244",
        f"this header may be {octets} octets long",
        (span, f"at most {limit}"),
        help="narrow the field that gives the size",
    )
