"""What a network card cannot do, said at the line that asks for it: H0350 to H0361."""

from __future__ import annotations

from ...lang.text.diagnostics import Diagnostic, Label
from ...lang.text.explain import Explanation
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


EXPLANATIONS: dict[str, Explanation] = {
    "H0350": Explanation(
        "a card cannot send packets out by other ports",
        "A program on a network card (`--target nfp`) has three ways out: drop, pass to the "
        "host, and back out by the port that the packet came in by. What redirects drops there,"
        " without a word. `pass` the packet: the host's programs, which are compiled beside, "
        "may forward it.",
    ),
    "H0351": Explanation(
        "a card cannot find rules by parts of keys",
        "A card's maps are hash tables and arrays: no prefixes and no ranges. Rules whose "
        "elements are `exact` or `optional` are found by whole keys, under each mask that is in "
        "use: of a kind with more than two `optional` elements 16 of these at a time.",
        "match src_ip lpm user.src",
        "match src_ip optional user.src",
    ),
    "H0352": Explanation(
        "a card's program cannot write tables",
        "The firmware lets programs read maps and add to counters, and nothing else; nor is "
        "there a clock, which the age of entries needs. So `remember`, and with it `recall`, is"
        " the host's.",
    ),
    "H0353": Explanation(
        "a card has no room for a group's slots",
        "`choose` picks a member out of 256 slots that lie in the group's record: 1,024 octets."
        " An element of a card's map has 64, key and value together. A kind of rules that is "
        "found by a few bits of a hash does the same: one rule for each slot.",
    ),
    "H0354": Explanation(
        "priorities need several rules of one key",
        "A card's map holds one rule for each key. Of rules that are less specific than others "
        "the more specific wins, as ever.",
    ),
    "H0355": Explanation(
        "a card cannot tell the port of arrival",
        "Of a packet's context a program on a card reads where the packet begins and ends. Each"
        " port role has a program of its own, so `if port is ROLE` costs nothing and works.",
    ),
    "H0356": Explanation(
        "a rule does not fit an element of a card's map",
        "Key and value have 56 octets each at most, and 64 together, each rounded up to 8. The "
        "key is what the kind matches, with 2 octets for the mask; the value what stages read "
        "of the rule, and 4 octets for its place. A kind that is found `by hash` has a key of 4"
        " octets and the whole key in the value.",
    ),
    "H0357": Explanation(
        "there is no room for so many rules",
        "A card has room for 2,048,000 entries in at most 128 maps. A kind of rules takes its "
        "capacity, once more if it counts, and once more if other rules refer to it.",
    ),
    "H0358": Explanation(
        "a card does not see so much of a packet",
        "The first 1,888 octets are in the memory that programs reach. Where the MTU is larger,"
        " a program that might look further is not attached. Headers with options count with "
        "the most that their size can say.",
    ),
    "H0359": Explanation(
        "the program is too long for a card",
        "A card's program has 2,560 instructions. `helioc compile --target nfp` counts them as "
        "the kernel's driver will, stage by stage, and shows the lines that take most. The "
        "stack has 512 octets.",
    ),
    "H0360": Explanation(
        "something that is not for cards",
        "Checksums over a packet's payload, for instance, are summed by the kernel's help, "
        "which a card does not have.",
    ),
    "H0361": Explanation(
        "an instruction that a card does not translate rightly",
        "The compiled program is held against what the kernel's driver takes, and against what "
        "it takes but carries out wrongly: multiplications of more than 32 bits, places on the "
        "stack that vary, words that are read and counted in, verdicts beyond XDP_TX.",
    ),
}
