"""What a network card cannot do, said at the line that asks for it: H0350 to H0361."""

from __future__ import annotations

from ...lang.text.diagnostics import Diagnostic, Label
from ...lang.text.source import Span
from ..lower import limits

HOST = "or leave it to the host: compile without `--target nfp`"


def _error(code: str, title: str, *labels: tuple[Span, str], help: str) -> Diagnostic:
    return Diagnostic(code, title, tuple(Label(s, t) for s, t in labels), help)


def other_port(span: Span, word: str) -> Diagnostic:
    return _error(
        "H0350", "a card sends packets back or to its host, not out by other ports",
        (span, f"`{word}` leaves by another port"),
        help=f"`send back` it, or `pass` it to the host, whose programs forward it; {HOST}",
    )  # fmt: skip


def not_whole(span: Span, element: str, how: str) -> Diagnostic:
    return _error(
        "H0351", f"a card finds rules by whole keys, and `{element}` matches by `{how}`",
        (span, "of many lengths, masks or values"),
        help=f"match it `exact` or `optional`, or several rules that do; {HOST}",
    )  # fmt: skip


def writes_state(span: Span, state: str) -> Diagnostic:
    return _error(
        "H0352", f"a card's program cannot write its tables, and `{state}` is left by packets",
        (span, "learnt in the data path"),
        help=f"let a controller make rules of what it learns; {HOST}",
    )  # fmt: skip


def spreads(span: Span, group: str) -> Diagnostic:
    return _error(
        "H0353", f"a card has no room for the 256 slots of a group such as `{group}`",
        (span, f"an element of a card's map has {limits.ELEMENT} octets"),
        help="make a kind of rules with `match slot exact given`, of type u4 or u8, and find it by "
        f"`hash(…) & 15`; {HOST}",
    )  # fmt: skip


def ranked(span: Span, kind: str, word: str) -> Diagnostic:
    return _error(
        "H0354", f"a card finds one rule for each key, so that `{word}` cannot choose in `{kind}`",
        (span, "rules of one key and several priorities"),
        help=f"leave the `{word}` out: the most specific rule wins; {HOST}",
    )  # fmt: skip


def arrival(span: Span) -> Diagnostic:
    return _error(
        "H0355", "a card's program cannot tell by which port a packet came in",
        (span, "reads the port of arrival"),
        help=f"tell the roles apart: `if port is ROLE`, a program for each; {HOST}",
    )  # fmt: skip


def element(span: Span, kind: str, key: int, value: int) -> Diagnostic:
    most = f"{limits.KEY} and {limits.VALUE}, {limits.ELEMENT} together"
    return _error(
        "H0356", f"an element of `{kind}` is too large for a card's map",
        (span, f"a key of {key} octets and a value of {value}; at most {most} in steps of 8"),
        help="match or give less, or in several kinds of rules: one that refers to the other",
    )  # fmt: skip


def entries(span: Span, kind: str, wanted: int) -> Diagnostic:
    return _error(
        "H0357", f"a card has room for {limits.ENTRIES:,} entries in all its maps",
        (span, f"`{kind}` takes most of {wanted:,}"),
        help="lower the capacity",
    )  # fmt: skip


def maps(span: Span, wanted: int) -> Diagnostic:
    return _error(
        "H0357", f"a card has {limits.MAPS} maps at most", (span, f"this pipeline needs {wanted}"),
        help="have fewer kinds of rules",
    )  # fmt: skip


def too_deep(span: Span, node: str, reach: int) -> Diagnostic:
    return _error(
        "H0358", f"a card's program sees {limits.REACH:,} octets of a packet",
        (span, f"`{node}` may end {reach:,} octets into it"),
        help="parse less, or bound what is in front: `accept ihl = 5` in a header of your own",
    )  # fmt: skip


def too_long(span: Span, counted: int, costly: list[tuple[Span, int]]) -> Diagnostic:
    return _error(
        "H0359", f"the program is too long for a card: about {counted:,} of its instructions",
        (span, f"at most {limits.INSTRUCTIONS:,}"),
        *((where, f"about {n:,} of them") for where, n in costly),
        help="parse fewer headers, hash less, find fewer kinds of rules; what is done in two "
        "places counts twice",
    )  # fmt: skip


def too_much_stack(span: Span, octets: int) -> Diagnostic:
    return _error(
        "H0359", f"the program needs {octets} octets of stack, and a card has {limits.STACK}",
        (span, "too much is kept at once"), help="match, push or hash less at a time",
    )  # fmt: skip


def not_on_a_card(span: Span, what: str) -> Diagnostic:
    return _error("H0360", f"a card cannot do this: {what}", (span, "asked for here"),
                  help=HOST.removeprefix("or "))  # fmt: skip


def instruction(span: Span, why: str) -> Diagnostic:
    return _error(
        "H0361", f"a card would not run this rightly: {why}", (span, "compiled from here"),
        help="write it another way; if it looks harmless, it is helioc's fault: please report it",
    )  # fmt: skip
