"""Errors of what changes packets in place or carries them whole: H0321 to H0326, H0331."""

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


def not_assigned(span: Span, field: str, why: str, where: Span) -> Diagnostic:
    return error(
        "H0322",
        f"`{field}` cannot be changed in place",
        (span, "assigned here"),
        (where, why),
        help="the packet would be another one: pop the header and push it again",
    )


def unlike(left: tuple[Span, str], right: tuple[Span, str], a: str, b: str) -> Diagnostic:
    return error(
        "H0323",
        f"{a} and {b} cannot be exchanged",
        (right[0], f"this is {right[1]}"),
        (left[0], f"this is {left[1]}"),
        help="swap fields of one type and width",
    )


def not_covered(span: Span, node: str, what: str, role: str, where: Span) -> Diagnostic:
    return error(
        "H0324",
        f"a packet on {role} may have a checksum over `{node}` that nobody reads",
        (span, "changes what it covers"),
        (where, f"no edge leads on to {what}"),
        help=f"lead edges from `{node}` to {what}, or narrow with `if NODE {{…}}` to what is read",
    )


def not_by_itself(span: Span, node: str, why: str) -> Diagnostic:
    return error(
        "H0325",
        f"`{node}` cannot be popped by itself",
        (span, why),
        help=f"`pop NODE` takes a tag away that stands behind another link header; `pop to {node}` "
        "removes what is in front of it",
    )


def not_told(
    span: Span, front: str, field: str, node: str, where: Span, help: str = ""
) -> Diagnostic:
    return error(
        "H0326",
        f"`{node}` has no `{field}` to say what follows it",
        (span, f"`{front}` says by its `{field}` what stands behind it"),
        (where, "this header has no such field of that width"),
        help=help or f"give `{node}` a field `{field}` as `{front}` has it",
    )


def tag_behind(span: Span, node: str, push: str) -> Diagnostic:
    return error(
        "H0331",
        f"`{node}` would stay behind what was pushed",
        (span, f"the egress port's link header replaces what stands in front of `{push}` only"),
        help=f"`pop {node}` before the push, or send the packet on with `bridge`",
    )
