"""Errors of the parse graph: H0210 to H0229."""

from __future__ import annotations

from collections.abc import Sequence

from ...lang import tree
from ...lang.text.diagnostics import Diagnostic, listed
from ...lang.text.source import Span
from .faults_files import error


def two_headers(alias: tree.Name, header: str, first: Span, other: str) -> Diagnostic:
    return error(
        "H0210",
        f"`{alias.text}` names two headers",
        (alias.span, f"here it is {header}"),
        (first, f"here it is {other}"),
        help="give one of the two nodes another name",
    )


def not_entered_at_ethernet(span: Span, sources: Sequence[str]) -> Diagnostic:
    return error(
        "H0211",
        "no edge leaves `ethernet`",
        (span, f"begins with {listed(sources)}" if sources else "no edges"),
        help="every packet starts as `ethernet`: import std.ethernet and add `ethernet -> …`",
    )


def duplicate_edge(again: Span, first: Span) -> Diagnostic:
    return error(
        "H0212",
        "this edge is there already",
        (again, "said again"),
        (first, "the same edge"),
        help="remove one of the two",
    )


def overlapping_edges(
    first: Span, second: Span, first_matches: str, second_matches: str, help: str
) -> Diagnostic:
    return error(
        "H0213",
        "these two edges overlap",
        (second, f"also matches {second_matches}"),
        (first, f"matches {first_matches}"),
        help=help,
    )


def enters_ethernet(span: Span) -> Diagnostic:
    return error(
        "H0214",
        "an edge leads back to `ethernet`",
        (span, "enters the node where packets start"),
        help="give an inner Ethernet header a name of its own: `-> ethernet as inner`",
    )


def guarded_start(span: Span) -> Diagnostic:
    return error(
        "H0320",
        "`start` has nothing to test",
        (span, "tests a field, but no header is in front"),
        help="say only where packets start: `start -> ethernet on lan`",
    )


def no_start(target: tree.Name, header: str) -> Diagnostic:
    return error(
        "H0320",
        f"packets do not start with `{header}`",
        (target.span, "a frame of XDP starts with an Ethernet header"),
        help="start at std.ethernet's: `start -> ethernet as inner on lan`",
    )


def two_starts(span: Span, role: str, first: Span) -> Diagnostic:
    return error(
        "H0320",
        f"packets on `{role}` start twice",
        (span, "here"),
        (first, "and here"),
        help="name the roles of each: `start -> ethernet on lan`",
    )


def never_starts(span: Span, role: str) -> Diagnostic:
    return error(
        "H0320",
        f"packets on `{role}` start nowhere",
        (span, "says where those of other roles start"),
        help=f"add `start -> ethernet on {role}`",
    )


def unreachable_node(name: Span, node: str, sources: Sequence[tuple[Span, str]]) -> Diagnostic:
    return error(
        "H0215",
        f"no packet reaches `{node}`",
        (name, "not reached on any port role"),
        *((span, f"`{source}` is not reached where this edge is read") for span, source in sources),
        help="lead an edge to it from a node that is reached on the same ports",
    )


def cycle(edges: Sequence[tuple[Span, str]]) -> Diagnostic:
    return error(
        "H0216",
        "the parse graph goes round in a circle",
        *edges,
        help="give each instance of a header a name of its own, `-> ipv4 as inner`, or bound how "
        "many of a kind stand in a row: `-> vlan[2]`",
    )


def too_deep(span: Span, octets: int, path: Sequence[str], limit: int) -> Diagnostic:
    return error(
        "H0217",
        f"headers may begin up to {octets} octets into the packet",
        (span, f"the longest way: {' -> '.join(path)}"),
        help=f"the kernel's verifier follows {limit} octets at most: shorten the way",
    )


def too_large(span: Span, what: str, count: int, limit: int) -> Diagnostic:
    return error(
        "H0218",
        f"the parse graph has {count} {what}",
        (span, f"at most {limit}"),
        help="leave out what no stage reads, or split the pipeline",
    )


def too_long(action: Span, limit: int) -> Diagnostic:
    return error(
        "H0218",
        f"the actions, inlined, come to more than {limit} statements",
        (action, "applied too often"),
        help="an action stands in each place where it is applied: apply it once, behind the choice",
    )


def too_many_sorts(span: Span, limit: int) -> Diagnostic:
    return error(
        "H0218",
        f"behind this there are more than {limit:,} sorts of packets",
        (span, "told apart by the nodes that they have and the rules that were found"),
        help="every look-up whose `else` goes on doubles them: end the packet there, or let "
        "one kind of rules match what several do",
    )


def wrong_write(span: Span, title: str, guard: Span, says: str, help: str) -> Diagnostic:
    return error("H0219", title, (span, "cannot be written"), (guard, says), help=help)


def does_not_fit(
    span: Span, value: str, what: str, width: int, where: Span | None, shortened: str = ""
) -> Diagnostic:
    """A number, a default, a symbol, a guard's value that its field cannot hold. `shortened`: what
    has its lowest bits only, where it is not known before."""
    labels = [(span, f"needs more than {width} bits")]
    if where is not None:
        labels.append((where, f"{what} is {width} bits wide"))
    return error(
        "H0220",
        f"{value} does not fit into {what}",
        *labels,
        help=f"the largest value of {width} bits is {(1 << width) - 1}"
        + (f"; write `{shortened}` for its lowest {width} bits" if shortened else ""),
    )


def empty_range(span: Span, low: int, high: int) -> Diagnostic:
    return error(
        "H0221",
        "this range is empty",
        (span, f"{low} is above {high}"),
        help=f"write {high}..{low}",
    )


def outside_mask(span: Span, value: int, mask: int) -> Diagnostic:
    return error(
        "H0222",
        "this guard never holds",
        (span, f"{value:#x} has bits that the mask {mask:#x} hides"),
        help=f"write {value & mask:#x} & {mask:#x}",
    )


def tested_twice(again: Span, first: Span, field: str) -> Diagnostic:
    return error(
        "H0223",
        f"`{field}` is tested twice by one guard",
        (again, "tested again"),
        (first, "first tested here"),
        help="join the two tests: `6 | 17` for a set, `6..17` for a range",
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


def no_depth(span: Span, limit: int) -> Diagnostic:
    return error(
        "H0227",
        "a stack of headers has a bound",
        (span, f"from 1 to {limit} of them"),
        help="say how many there are at most, as in `-> vlan[2]`",
    )


def two_depths(again: Span, first: Span, node: str) -> Diagnostic:
    return error(
        "H0227",
        f"the stack `{node}` has two bounds",
        (again, "another bound"),
        (first, "the first"),
        help="write the same bound on each edge that leads to it, or on one of them only",
    )


def stack_of_one(span: Span, node: str) -> Diagnostic:
    return error(
        "H0228",
        f"no edge leads from one `{node}` to the next",
        (span, "a stack"),
        help=f"say what announces another one: `{node} -> {node} when …`",
    )


def too_far_ahead(span: Span, limit: int) -> Diagnostic:
    return error(
        "H0229",
        "a guard looks at most 32 bits ahead",
        (span, "not a number of so many bits"),
        help=f"write `next u1` to `next u{limit}`",
    )


def unneeded_alias(alias: tree.Name, target: tree.Name) -> Diagnostic:
    return error(
        "H0226",
        f"`{target.text}` is a node already",
        (alias.span, f"would give `{target.text}` a second name"),
        (target.span, "a node, not a header"),
        help=f"write `-> {target.text}`, or name a header in front of `as`",
    )
