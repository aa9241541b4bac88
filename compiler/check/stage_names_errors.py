"""Errors of stage_names.py."""

from __future__ import annotations

from collections.abc import Sequence

from ...lang import tree
from ...lang.syntax.planned import planned
from ...lang.text.diagnostics import Diagnostic, did_you_mean, error
from ...lang.text.source import Span

# ---- errors ---------------------------------------------------------------------------------


def no_option(span: Span) -> Diagnostic:
    return error(
        "H0327",
        "`first` takes fields of the packet and elements of rules",
        (span, "neither, or one of more than 64 bits"),
        help="name fields of headers that the packet may have: `first(vxlan.vni, gre.key)`",
    )


def no_list(span: Span, says: str, where: Span | None = None) -> Diagnostic:
    return error(
        "H0248",
        "there is no list here",
        (span, says),
        *([(where, "declared here")] if where is not None else []),
        help="an element that holds several values is declared so: `ie sids = 9, ip6[8]`",
    )


def maybe_absent(span: Span, node: str, roles: Sequence[str], absent_always: bool) -> Diagnostic:
    where = f" on {', '.join(roles)}" if roles else ""
    if absent_always:
        says, help = (
            f"no packet has `{node}` here{where}",
            f"read it where the packet has it: `if {node} {{…}}` further up",
        )
    else:
        says, help = f"some packets have no `{node}` here{where}", f"narrow with `if {node} {{…}}`"
    return error("H0270", f"`{node}` is not surely present", (span, says), help=help)


def not_given(
    name: tree.Name, kind: str, where: Span, elements: Sequence[str], declared: bool
) -> Diagnostic:
    near = "" if declared else did_you_mean(name.text, elements)
    if not (declared or near) and (later := planned(name.span)):
        return later
    hint = f"add `{name.text}` to the `gives` of `{kind}`"
    return error(
        "H0272",
        f"a rule of kind `{kind}` has no `{name.text}`",
        (name.span, "not an element of the rule"),
        (where, f"has {', '.join(elements) or 'no elements'}"),
        help=near or hint,
    )


def no_single_value(span: Span, what: str, kind: str, where: Span) -> Diagnostic:
    return error(
        "H0273",
        f"`{what}` has no single value",
        (span, "read as a value"),
        (where, f"matched by `{kind}`"),
        help="match it `exact`, or give the rule another element for the value",
    )


def not_recalled(span: Span, state: str, ever: Span | None) -> Diagnostic:
    labels = [(span, "nothing was recalled on some way that leads here")]
    if ever is not None:
        labels.append((ever, "recalled here: known in this stage, where it was no miss"))
    return error(
        "H0314",
        f"`{state}` may hold nothing here",
        *labels,
        help=f"recall it in this stage: `recall {state}(…) else {{ … }}`",
    )
