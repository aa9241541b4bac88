"""Errors of headers, and of expressions anywhere: H0230 to H0249."""

from __future__ import annotations

from collections.abc import Sequence

from ...lang import tree
from ...lang.syntax import habits
from ...lang.syntax.planned import planned
from ...lang.text.diagnostics import Diagnostic, did_you_mean, listed
from ...lang.text.source import Span
from .faults_files import either, error

TYPES = "u1 … u64, mac, ip4, ip6, bytes[n], bytes[rest]"


_WRITTEN = {
    "a number": "write a number, such as `17` or `0x11`",
    "an IPv4 address": "write an address, such as `10.0.0.1`",
    "an IPv6 address": "write an address, such as `2001:db8::1`",
    "a MAC address": "write an address, such as `02:00:00:00:00:01`",
}


def no_such_type(name: tree.Name, allowed: str, candidates: list[str]) -> Diagnostic:
    return error(
        "H0230",
        f"there is no type `{name.text}`",
        (name.span, f"types are {allowed}"),
        help=either(did_you_mean(name.text, candidates), f"use one of {allowed}"),
    )


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


def bad_default(span: Span, title: str, why: str, help: str) -> Diagnostic:
    return error("H0236", title, (span, why), help=help)


def clause_reads(span: Span, what: str, why: str, help: str) -> Diagnostic:
    """A clause of a header reads what it cannot know."""
    return error("H0237", f"a clause of a header cannot read {what}", (span, why), help=help)


def overflow(span: Span, title: str, says: str, help: str) -> Diagnostic:
    return error("H0238", title, (span, says), help=help)


def wrong_kind(
    span: Span, found: str, wanted: str, where: Span | None = None, help: str = ""
) -> Diagnostic:
    """A value of one kind where another is wanted: an address for a number …"""
    labels = [(span, f"this is {found}")]
    if where is not None:
        labels.append((where, f"this is {wanted}"))
    help = help or _WRITTEN.get(wanted, f"use {wanted} here")
    return error("H0239", f"{found} stands where {wanted} is wanted", *labels, help=help)


def no_condition(span: Span, help: str) -> Diagnostic:
    return error(
        "H0240", "this is a value, not a condition", (span, "neither true nor false"), help=help
    )


def no_value(span: Span) -> Diagnostic:
    return error(
        "H0241",
        "this is a condition, not a value",
        (span, "true or false"),
        help="use it in `if`, `accept` or `require`",
    )


def no_such_function(name: tree.Name, candidates: list[str]) -> Diagnostic:
    return planned(name.span) or error(
        "H0242",
        f"there is no function `{name.text}` here",
        (name.span, f"known here: {', '.join(candidates)}" if candidates else "no functions here"),
        help=either(
            did_you_mean(name.text, candidates),
            habits.WORDS.get(name.text, "use one of the known functions"),
        ),
    )


def no_option(span: Span) -> Diagnostic:
    return error(
        "H0327",
        "`first` takes fields of the packet and elements of rules",
        (span, "neither, or one of more than 64 bits"),
        help="name fields of headers that the packet may have: `first(vxlan.vni, gre.key)`",
    )


def never_differs(span: Span, value: str, what: str, low: int, high: int) -> Diagnostic:
    """A comparison whose outcome is known."""
    return error(
        "H0243",
        f"this comparison with {value} is always the same",
        (span, f"{what} is always {low} to {high}"),
        help="compare with a value in that range, or leave the comparison out",
    )


def not_there(span: Span, node: str, field: str, flags: Sequence[str]) -> Diagnostic:
    """A push gives a field of a group that it does not write."""
    return error(
        "H0245",
        f"this push does not write `{node}.{field}`",
        (span, f"only there if {listed(flags, 'or')} is set"),
        help=f"set one of its flags: `{flags[0]} = 1`",
    )


def whole_array(span: Span, path: str, where: Span) -> Diagnostic:
    return error(
        "H0246",
        f"`{path}` is an array",
        (span, "which of its elements?"),
        (where, "declared here"),
        help=f"name one: `{path}[0]` is the first",
    )


def no_element(span: Span, says: str, where: Span) -> Diagnostic:
    return error(
        "H0248",
        "there is no such element",
        (span, "never there"),
        (where, says),
        help="an index counts the elements of an array from 0: `srh.segments[0]`",
    )


def no_list(span: Span, says: str, where: Span | None = None) -> Diagnostic:
    return error(
        "H0248",
        "there is no list here",
        (span, says),
        *([(where, "declared here")] if where is not None else []),
        help="an element that holds several values is declared so: `ie sids = 9, ip6[8]`",
    )


def too_many(span: Span, most: int, array: str, bound: int, where: Span) -> Diagnostic:
    return error(
        "H0249",
        f"there may be more values than `{array}` takes",
        (span, f"up to {most}"),
        (where, f"`{array}` has at most {bound} elements"),
        help="declare the element with fewer: `ip6[4]`",
    )


def no_bound(span: Span, limit: int) -> Diagnostic:
    return error(
        "H0247",
        "an array has a bound",
        (span, f"from 1 to {limit} elements"),
        help="say how many there are at most, as in `ip6[last_entry + 1] max 8`",
    )


def too_big_header(span: Span, octets: int, limit: int) -> Diagnostic:
    return error(
        "H0244",
        f"this header may be {octets} octets long",
        (span, f"at most {limit}"),
        help="narrow the field that gives the size",
    )
