"""Errors that several modules of the checker find."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from ...lang import tree
from ...lang.syntax import foreign_words
from ...lang.syntax.planned import planned
from ...lang.syntax.statement_hints import CASTS
from ...lang.text.diagnostics import Diagnostic, did_you_mean, error, listed
from ...lang.text.field_names import FIELDS, HEADERS
from ...lang.text.source import Span


def not_assigned(
    span: Span, field: str, why: str, where: Span, derived: bool = False
) -> Diagnostic:
    again = "the packet would be another one: pop the header and push it again"
    if "edge" in why:
        again += "; or have no edge test it, but a stage: `if user.type = 8 {…}`"
    if "chain" in why:
        again = (
            "headers of a chain stay in their order, and stay what they are: change other fields"
        )
    if "option" in why:
        again = "an option stays as long as it came, and of its kind: change its other fields"
    return error(
        "H0322",
        f"`{field}` cannot be changed in place",
        (span, "assigned here"),
        (where, why),
        help="leave it out: it is computed, and follows every change" if derived else again,
    )


def unknown(what: str, name: tree.Name, candidates: Iterable[str], otherwise: str) -> Diagnostic:
    """`what` in the user's terms: "header", "node", "field of `user`" …"""
    candidates = list(candidates)
    ours = HEADERS.get(name.text) or FIELDS.get(name.text)
    near = (
        f"here it is called `{ours}`" if ours in candidates else did_you_mean(name.text, candidates)
    )
    if ours not in candidates and " of " not in what:
        near = foreign_words.instead_of(name.text) or near
    if not near and (later := planned(name.span)):
        return later
    sort, _, owner = what.partition(" of ")
    return error(
        "H0203",
        f"there is no {sort} `{name.text}`" + (f" of {owner}" if owner else ""),
        (name.span, "not declared"),
        help=near or otherwise,
    )


def unknown_hook(name: tree.Name, hooks: Iterable[str]) -> Diagnostic:
    help = did_you_mean(name.text, hooks) or f"hooks are {', '.join(hooks)}"
    return error("H0203", f"there is no hook `{name.text}`", (name.span, "not declared"), help=help)


DECLARE_STATE = "declare it: `state NAME [CAPACITY] {…}`"
_DECLARE_KIND = "declare it: `rule NAME [CAPACITY] {…}`"


def unknown_kind(name: tree.Name, kinds: Iterable[str], states: Iterable[str] = ()) -> Diagnostic:
    """A rule kind; `states`: what is looked up in another way."""
    if name.text in states:
        return unknown("rule kind", name, (), f"it is a state: `recall {name.text}(…) else {{…}}`")
    return unknown("rule kind", name, kinds, _DECLARE_KIND)


def unknown_state(name: tree.Name, states: Iterable[str], kinds: Iterable[str]) -> Diagnostic:
    """A state; `kinds`: rules, which are looked up in another way."""
    if name.text in kinds:
        return unknown("state", name, (), f"it is a kind of rules: `find {name.text} else {{…}}`")
    return unknown("state", name, states, DECLARE_STATE)


def declared_twice(what: str, again: tree.Name, first: Span, help: str = "") -> Diagnostic:
    return error(
        "H0204",
        f"{what} `{again.text}` is declared twice",
        (again.span, "declared again"),
        (first, "first declared here"),
        help=help or "remove one of the two, or give it another name",
    )


def name_taken(name: tree.Name, means: str, where: Span | None = None) -> Diagnostic:
    labels = [(name.span, "cannot have this name")]
    if where is not None:
        labels.append((where, f"{name.text} is {means}"))
    return error(
        "H0205",
        f"`{name.text}` already means {means}",
        *labels,
        help="choose another name",
    )


def missing(span: Span, what: str, help: str) -> Diagnostic:
    """The pipeline or the file lacks `what`."""
    return error("H0206", f"{what} is missing", (span, "not in here"), help=help)


def twice_in_pipeline(what: str, again: Span, first: Span) -> Diagnostic:
    return error(
        "H0207",
        f"{what} is said twice",
        (again, "said again"),
        (first, "first said here"),
        help="it can be said once: join the two, or remove one",
    )


def unsupported(span: Span, what: str, help: str = "") -> Diagnostic:
    """The language means it, this release does not compile it."""
    return error(
        "H0209",
        f"{what}: not supported yet by this release",
        (span, "cannot be compiled yet"),
        help=help or "say it another way for now",
    )


def does_not_fit(
    span: Span,
    value: str,
    what: str,
    width: int,
    where: Span | None,
    shortened: str = "",
    in_place: str = "",
) -> Diagnostic:
    """A number, a default, a symbol, a guard's value that its field cannot hold. `shortened`: what
    has its lowest bits only, where it is not known before. `in_place`: how it is changed in one
    step, where it follows from what is kept there."""
    labels = [(span, f"needs more than {width} bits")]
    if where is not None:
        labels.append((where, f"{what} is {width} bits wide"))
    most = (1 << width) - 1
    help = f"the largest value of {width} bits is {most}"
    if in_place:
        help = f"change it in place, in one step: `{in_place}`, which stops at {most}"
    elif shortened:
        help += f"; write `{shortened}` for its lowest {width} bits"
        help += f", or `min({span.text}, {most})`" if width < 64 else ""
    return error("H0220", f"{value} does not fit into {what}", *labels, help=help)


LONGEST_FRAME = 32_767
"""Bytes: as far as programs see into a frame."""


def longer_than_frames(span: Span, says: str) -> Diagnostic:
    """What would need a frame that no program sees all of."""
    return error(
        "H0349",
        f"a frame is seen up to {LONGEST_FRAME:,} bytes in, and no further",
        (span, says),
        help=f"ask for {LONGEST_FRAME:,} bytes at most: the kernel shows an XDP program no more "
        "than a page of a packet, some 3,500 bytes",
    )


def may_be_left_out(span: Span, field: str, header: str, where: Span, help: str) -> Diagnostic:
    """A field of an optional group, read where it has to be there."""
    return error(
        "H0224",
        f"`{header}.{field}` may be left out of the packet",
        (span, "read here"),
        (where, "only there when its flag is set"),
        help=help,
    )


TYPES = "u1 … u64, mac, ip4, ip6, bytes[n], bytes[rest], name"
_WRITTEN = {
    "a number": "write a number, such as `17` or `0x11`",
    "an IPv4 address": "write an address, such as `10.0.0.1`",
    "an IPv6 address": "write an address, such as `2001:db8::1`",
    "a MAC address": "write an address, such as `02:00:00:00:00:01`",
}


_WIDER = "128 bits are an IPv6 address, `ip6`, of which bits are computed: `&`, `|`, `^`, `~`"


def _typed(text: str) -> str:
    """What there is in place of types that others have."""
    if text in ("u128", "uint128_t"):
        return _WIDER
    if signed := re.fullmatch(r"i(?:nt)?(\d+)(?:_t)?", text):
        return f"numbers are 0 or more: `u{signed[1]}`"
    if text in ("string", "str", "char"):
        return "there are no texts but domain names, which rules match: `ie qname = 1, name[64]`"
    if text in ("bool", "boolean", "flag"):
        return "a flag is a number of one bit: `u1`"
    return ""


def no_such_type(name: tree.Name, allowed: str, candidates: list[str]) -> Diagnostic:
    near = did_you_mean(name.text, candidates)
    return error(
        "H0230",
        f"there is no type `{name.text}`",
        (name.span, f"types are {allowed}"),
        help=_typed(name.text) or near or f"use one of {allowed}",
    )


def bad_default(span: Span, title: str, why: str, help: str) -> Diagnostic:
    return error("H0236", title, (span, why), help=help)


def overflow(span: Span, title: str, says: str, help: str) -> Diagnostic:
    return error("H0238", title, (span, says), help=help)


def wrong_kind(
    span: Span, found: str, expected: str, where: Span | None = None, help: str = ""
) -> Diagnostic:
    """A value of one kind where another is wanted: an address for a number …"""
    labels = [(span, f"this is {found}")]
    if where is not None:
        labels.append((where, f"this is {expected}"))
    help = help or _WRITTEN.get(expected, f"use {expected} here")
    return error("H0239", f"{found} stands where {expected} is wanted", *labels, help=help)


def no_condition(span: Span, help: str) -> Diagnostic:
    return error(
        "H0240", "this is a value, not a condition", (span, "neither true nor false"), help=help
    )


def no_such_function(name: tree.Name, candidates: list[str]) -> Diagnostic:
    cast = CASTS if re.fullmatch(r"u?(?:int)?\d+(?:_t)?", name.text) else ""
    return planned(name.span) or error(
        "H0242",
        f"there is no function `{name.text}` here",
        (name.span, f"known here: {', '.join(candidates)}" if candidates else "no functions here"),
        help=cast
        or did_you_mean(name.text, candidates)
        or foreign_words.WORDS.get(name.text, "use one of the known functions"),
    )


def is_state(name: tree.Name) -> Diagnostic:
    """A state where a condition or a value is wanted."""
    return error(
        "H0242",
        f"`{name.text}` is a state",
        (name.span, "no condition, and no function"),
        help=f"`recall {name.text}(…) else {{…}}` finds an entry, then read `{name.text}.SLOT`;"
        f" `if recall {name.text}(…) {{…}}` asks whether there is one",
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


def _in_full(text: str) -> str:
    """What `k` and `M` behind a number make of it, where its end does not show that."""
    units = {"k": 1 << 10, "M": 1 << 20}
    if text[:-1].isdigit() and text[-1] in units:
        return f"{int(text[:-1]) * units[text[-1]]:,}, "
    return ""


def number_out_of_range(
    number: Span, what: str, least: int, most: int, shown: str = ""
) -> Diagnostic:
    """Numbers of elements, capacities, bounds of a spread."""
    return error(
        "H0251",
        f"{what} cannot be {number.text}",
        (number, f"{_in_full(number.text)}out of {least}..{shown or most}"),
        help=f"write a number from {least} to {shown or most}",
    )


Labels = Sequence[tuple[Span, str]]


def not_bound(span: Span, kind: str, ever: Span | None) -> Diagnostic:
    labels = [(span, "no rule on some way that leads here")]
    first = "look it up first, and"
    if ever is not None:
        labels.append((ever, "looked up here, but a miss goes on"))
        first = f"read it in `if {kind} {{ … }}`, or"
    help = f"{first} end the packet on a miss: `find {kind} else {{ default }}`"
    return error(
        "H0271",
        f"`{kind}` may not be bound to a rule",
        *labels,
        help=help,
    )


def bound_already(span: Span, kind: str) -> Diagnostic:
    return error(
        "H0279",
        f"`{kind}` is bound to another rule here",
        (span, f"would bind `{kind}` a second time"),
        help="use the rule that is bound, or take this out of the block that binds it",
    )


def no_edge(
    span: Span, source: str, target: str, edges: Labels, what: str, chain: str = ""
) -> Diagnostic:
    """`chain`: what the target is of."""
    edge = f"{source} -> {target}"
    help = f"add an edge `{edge} when …` to the parser (`on` one role is enough)"
    if edges:
        help = f"say what to write: `{edge} when … write VALUE`"
    if chain:
        help = f"say what to write where `{chain}` names it: `… as {target} when … write VALUE`"
    return error(
        "H0284",
        f"no edge says how `{source}` announces `{target}`",
        (span, what),
        *edges,
        help=help,
    )


def two_edges(span: Span, source: str, target: str, edges: Labels) -> Diagnostic:
    return error(
        "H0285",
        f"two edges say how `{source}` announces `{target}`",
        (span, "which of them is written?"),
        *edges,
        help="let both write the same: `when … write VALUE`",
    )


def changed_unlike(span: Span, role: str, several: Iterable[str]) -> Diagnostic:
    return error(
        "H0269",
        "packets that were changed unlike meet behind this",
        (span, f"on {role}: {'; '.join(several)}"),
        help="end the packet where it was changed, or change it on every way",
    )


def pushed_read(span: Span, node: str, push: Span) -> Diagnostic:
    return error(
        "H0288",
        f"`{node}` is only written when the packet leaves",
        (span, "read here"),
        (push, "pushed here"),
        help="read what the push was given instead, or read in front of the push",
    )


def verdict_misplaced(span: Span, where: str, allowed: Sequence[str]) -> Diagnostic:
    return error(
        "H0294",
        f"`{span.text}` cannot be said {where}",
        (span, "not here"),
        help=f"say {listed(allowed, 'or')}",
    )
