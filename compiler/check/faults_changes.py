"""Errors of what changes packets in place or carries them whole: H0321 to H0326, H0331 to
H0333."""

from __future__ import annotations

from ...lang.text.diagnostics import Diagnostic, listed
from ...lang.text.source import Span
from ..model import Derived, Field, Node
from .faults_files import error
from .lengths import Wrong


def no_link(span: Span, push: str) -> Diagnostic:
    return error(
        "H0321",
        "the packet has no link header of its own here",
        (span, f"behind `{push}`, its frame is what the tunnel carries"),
        help="send it on with `forward`, which gives it the link header of the egress port",
    )


def not_assigned(
    span: Span, field: str, why: str, where: Span, derived: bool = False
) -> Diagnostic:
    again = "the packet would be another one: pop the header and push it again"
    return error(
        "H0322",
        f"`{field}` cannot be changed in place",
        (span, "assigned here"),
        (where, why),
        help="leave it out: it is computed, and follows every change" if derived else again,
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


def part_of_a_packet(span: Span, node: str, field: str) -> Diagnostic:
    return error(
        "H0333",
        f"`{node}` is pushed as a fragment, and nobody sends the rest",
        (span, f"of a whole packet `{field}` is 0"),
        help=f"leave `{field}` out: what is pushed carries all that stands behind it",
        severity="warning",
    )


def begins_otherwise(span: Span, node: str, where: tuple[Span, str], never: bool) -> Diagnostic:
    return error(
        "H0332",
        f"the parser {'does' if never else 'may'} not read `{node}` back as it is pushed",
        (span, f"`{node}` begins with no field that a push may give"),
        where,
        help="let the edge test a field of the header in front",
    )


def not_read_back(
    span: Span,
    node: str,
    field: str,
    says: str,
    where: tuple[Span, str],
    never: bool,
    unsaid: str | None,
) -> Diagnostic:
    """`never`: surely. `unsaid`: what the push writes if it leaves the field out, where it does not
    do that yet."""
    leave = "" if unsaid is None else f"leave `{field}` out, which writes {unsaid}, or "
    known = f"give `{field}` a number that is read"
    test = "" if never else ", or test further up what it is given: `if … = … {…}`"
    return error(
        "H0332",
        f"the parser {'does' if never else 'may'} not read `{node}` back as it is pushed",
        (span, says),
        where,
        help=f"{leave}{known}{test}",
    )


def not_reached(
    span: Span, node: str, field: Field, says: str, where: tuple[Span, str], wrong: Wrong
) -> Diagnostic:
    """`field`: by which a header says how far it reaches."""
    help = "no length that is computed says that: write the edge in front only, `on push`"
    if wrong.plus is not None:
        plus = f" {'-' if wrong.plus < 0 else '+'} {abs(wrong.plus)}" if wrong.plus else ""
        computed = f"`{field.name} : u{field.width} = length(header, payload){plus}`"
        help = f"declare it so that it is right: {computed}"
        if not isinstance(field.default, Derived):
            help = f"let it be computed, and leave it out here: {computed} in the header"
            help = f"it has to be {wrong.right}; or {help}" if wrong.right else help
    return error(
        "H0332",
        f"the parser {'does' if wrong.never else 'may'} not read `{node}` back as it is pushed",
        (span, says),
        where,
        help=help,
    )


def not_taken_over(
    says: tuple[Span, str],
    node: str,
    field: str,
    front: Node,
    where: tuple[Span, str],
    never: bool,
) -> Diagnostic:
    return error(
        "H0332",
        f"the parser {'does' if never else 'may'} not read what came behind `{node}` as it did",
        says,
        where,
        help=f"leave `{field}` out: it is taken over from `{front.name}`",
    )


def no_role_reads(
    span: Span, node: str, first: tuple[Span, str], second: tuple[Span, str]
) -> Diagnostic:
    """The edges in front of `node` and behind it, with the roles that each is read on."""
    return error(
        "H0332",
        "the parser does not read this push back on any port",
        (span, f"no role reads the edges in front of `{node}` and behind it"),
        first,
        second,
        help="read the edges of the path on one role, or write one of them only: `on push`",
    )


def may_stop(span: Span, node: str, field: Field) -> Diagnostic:
    return error(
        "H0332",
        f"the parser may not read what is appended behind `{node}`",
        (span, "`payload when` may say that nothing is read behind it"),
        (field.span, "by this field"),
        help=f"test it further up: `if {node}.{field.name} = … {{…}}`",
    )


def not_counted(
    span: Span, array: str, given: int, counter: Field, source: str, skip: int
) -> Diagnostic:
    """`given`: as many elements as it may be given. `skip`: so many of the values are left out."""
    return error(
        "H0332",
        f"the parser does not read `{array}` back as it is pushed",
        (span, f"may have {given} elements"),
        (counter.span, f"`{counter.name}` cannot say that"),
        help=f"push it only where it has others: `if count({source}) > {given + skip} {{…}}`",
    )


def not_followed(
    span: Span, node: str, fields: list[str], where: tuple[Span, str], never: bool
) -> Diagnostic:
    """`fields`: those that the node begins with; none where a push may not give them either."""
    help_ = f"`{node}` begins with no field that may be tested or given: read it by another edge"
    if fields:
        begin = listed(f"{node}.{field}" for field in fields)
        help_ = f"test further up how it begins, by {begin}: `if {node}.{fields[0]} = … {{…}}`"
    return error(
        "H0332",
        f"the parser {'does' if never else 'may'} not read `{node}` behind what then announces it",
        (span, f"`{node}` stands behind that as it came"),
        where,
        help=help_,
    )
