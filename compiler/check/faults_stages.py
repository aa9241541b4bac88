"""Errors of stages, actions and hooks: H0270 to H0299."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ...lang import tree
from ...lang.syntax.planned import planned
from ...lang.text.diagnostics import Diagnostic, did_you_mean, listed
from ...lang.text.source import Span
from .faults_files import either, error

Labels = Sequence[tuple[Span, str]]


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


def not_bound(span: Span, kind: str, ever: Span | None) -> Diagnostic:
    labels = [(span, "no rule on some way that leads here")]
    if ever is not None:
        labels.append((ever, "looked up here, but a miss goes on"))
    return error(
        "H0271",
        f"`{kind}` may not be bound to a rule",
        *labels,
        help=f"look it up first, and end the packet on a miss: `find {kind} else {{ default }}`",
    )


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
        help=either(near, hint),
    )


def no_single_value(span: Span, what: str, kind: str, where: Span) -> Diagnostic:
    return error(
        "H0273",
        f"`{what}` has no single value",
        (span, "read as a value"),
        (where, f"matched by `{kind}`"),
        help="match it `exact`, or give the rule another element for the value",
    )


def not_exhaustive(span: Span, what: str, missing: Sequence[str], where: Span) -> Diagnostic:
    return error(
        "H0274",
        f"this match does not say what happens for {listed(missing)}",
        (span, f"{', '.join(missing)} missing"),
        (where, f"`{what}` is declared here"),
        help=f"add arms for {listed(missing)}, or `_ => …` for the rest",
    )


def duplicate_arm(again: Span, first: Span) -> Diagnostic:
    return error(
        "H0275",
        "this arm is never taken",
        (again, "covered already"),
        (first, "by this arm"),
        help="remove one of the two",
    )


def cannot_match(span: Span, why: str, where: Span | None) -> Diagnostic:
    labels = [(span, why)]
    if where is not None:
        labels.append((where, "declared here"))
    return error(
        "H0276",
        f"`{span.text}` cannot be matched on",
        *labels,
        help="match an element with symbols, or one that is a reference; compare others by `if`",
    )


def arm_binding(binding: tree.Name, pattern: str) -> Diagnostic:
    return error(
        "H0277",
        f"the arm `{pattern}` binds nothing",
        (binding.span, "a symbol stands for a number"),
        help="only a reference is bound by its arm, as in `port p => …`: remove the name",
    )


def does_not_give(
    span: Span, giver: str, given: str, where: Span, kinds: Sequence[str]
) -> Diagnostic:
    return error(
        "H0278",
        f"`{giver}` does not lead to `{given}`",
        (span, "never holds"),
        (where, f"`{giver}` leads to {listed(kinds) if kinds else 'no other rule'}"),
        help=f"add it to the rule: `gives … | {given}`" if given not in kinds else "",
    )


def bound_already(span: Span, kind: str) -> Diagnostic:
    return error(
        "H0279",
        f"`{kind}` is bound to another rule here",
        (span, f"would bind `{kind}` a second time"),
        help="use the rule that is bound, or take this out of the block that binds it",
    )


def unreachable(span: Span, ending: Span) -> Diagnostic:
    return error(
        "H0280",
        "this is never reached",
        (span, "the packet is gone by now"),
        (ending, "every way through this gives a verdict"),
        help="remove it, or move it in front",
    )


def no_verdict(stage: tree.Name, end: Span, worlds: str) -> Diagnostic:
    return error(
        "H0281",
        f"the last stage `{stage.text}` may end without a verdict",
        (end, f"reached by {worlds}"),
        (stage.span, "no stage follows this one"),
        help="end it with `pass`, `drop`, `default` or `forward …`",
    )


def recursion(call: Span, chain: Sequence[str], declared: Span) -> Diagnostic:
    return error(
        "H0282",
        f"the action `{chain[-1]}` applies itself",
        (call, " -> ".join(chain)),
        (declared, "this action"),
        help="an action is inlined: it cannot contain itself",
    )


def wrong_argument(
    argument: Span, found: str, action: str, parameter: Span, kind: str
) -> Diagnostic:
    return error(
        "H0283",
        f"the action `{action}` takes a rule of kind `{kind}`",
        (argument, f"this is {found}"),
        (parameter, "declared here"),
        help=f"apply it to a `{kind}`",
    )


def no_edge(span: Span, source: str, target: str, edges: Labels, what: str) -> Diagnostic:
    mend = f"{source} -> {target}"
    help = (
        f"say what to write: `{mend} when … write VALUE`"
        if edges
        else f"add an edge `{mend} when …` to the parser (`on` one role is enough)"
    )
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


def present_already(
    span: Span, node: str, always: bool, roles: Sequence[str], where: Span
) -> Diagnostic:
    says = "every packet has it" if always else "some packets have it"
    return error(
        "H0286",
        f"`{node}` cannot be pushed: it is there already",
        (span, f"{says} here on {', '.join(roles)}"),
        (where, "this node"),
        help=f"`pop` it first, or name another in the parser: `-> … as new_{node} when … on push`",
    )


def bad_before(span: Span, why: str, help: str) -> Diagnostic:
    return error("H0287", "there is no place for this push", (span, why), help=help)


def changed_unlike(span: Span, role: str, several: Sequence[str]) -> Diagnostic:
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


def not_announced(span: Span, source: str, target: str, change: Span, hooks: Labels) -> Diagnostic:
    says = f"the packet leaves behind the `{source}` that it came with"
    else_ = ", or `forward` the packet"
    if span.text.startswith("forward"):
        says = f"a packet that cannot be forwarded is passed behind its own `{source}`"
        else_ = ""
    stack = source.partition("[")[0]
    return error(
        "H0289",
        f"`{source}` has no way to announce `{target}`",
        (span, says),
        (change, f"puts `{target}` behind `{source}`"),
        *hooks,
        help=f"add an edge `{stack} -> {target} when …` to the parser{else_}",
    )


def value_missing(span: Span, node: str, fields: Sequence[str], where: Span) -> Diagnostic:
    return error(
        "H0290",
        f"this push does not say {listed(fields)} of `{node}`",
        (span, f"{', '.join(fields)} missing"),
        (where, "has no default"),
        help=f"write `{node} {{ {fields[0]} = … }}`",
    )


def kept_right(
    name: tree.Name, node: str, why: str, where: Span, mend: str = "leave it out"
) -> Diagnostic:
    return error(
        "H0291",
        f"`{node}.{name.text}` is kept right by the compiler",
        (name.span, "cannot be given"),
        (where, why),
        help=mend,
    )


def by_its_parts(
    name: tree.Name, node: str, flags: Sequence[str], parts: Sequence[str], where: Span
) -> Diagnostic:
    """A push gives a divided field as a whole that holds flags of optional groups."""
    say = ", ".join(f"{part} = …" for part in parts)
    return error(
        "H0291",
        f"`{node}.{name.text}` is given by its parts",
        (name.span, "not as a whole"),
        (where, f"{listed(flags, 'and')} in it: which optional fields are there"),
        help=f"write `{node} {{ {say} }}`" if parts else "leave it out",
    )


def not_a_port(span: Span, found: str) -> Diagnostic:
    return error(
        "H0292",
        "`forward` needs a port",
        (span, f"this is {found}"),
        help="name a port bound by an arm (`port p => …`) or an element that refers to `port`",
    )


def not_ip(span: Span, roles: Sequence[str]) -> Diagnostic:
    return error(
        "H0293",
        "`forward` needs an IP packet",
        (span, f"some packets on {', '.join(roles)} have no IP header here"),
        help="narrow with `if NODE {…}`, where NODE is an `ipv4` or `ipv6` of the parse graph",
    )


def verdict_misplaced(span: Span, where: str, allowed: Sequence[str]) -> Diagnostic:
    return error(
        "H0294",
        f"`{span.text}` cannot be said {where}",
        (span, "not here"),
        help=f"say {listed(allowed, 'or')}",
    )


def never_used(name: tree.Name, what: str, help: str) -> Diagnostic:
    return error(
        "H0295",
        f"{what} `{name.text}` is never used",
        (name.span, "not used"),
        help=help,
        severity="warning",
    )


def run_twice(again: tree.Name, first: Span) -> Diagnostic:
    return error(
        "H0296",
        f"the stage `{again.text}` runs twice",
        (again.span, "again"),
        (first, "first here"),
        help="a packet goes through each stage once: write an action for what is done twice",
    )


def parser_first(span: Span) -> Diagnostic:
    return error(
        "H0297",
        "a packet is parsed before the first stage, and only there",
        (span, "`parser` comes first"),
        help="write `run parser -> …`",
    )


def never_holds(span: Span, holds: bool) -> Diagnostic:
    return error(
        "H0298",
        f"this condition {'always' if holds else 'never'} holds here",
        (span, "known beforehand"),
        help="take the condition out"
        if holds
        else "take the `if` out, or check the ways that lead here",
        severity="warning",
    )


def empty_else(span: Span) -> Diagnostic:
    return error(
        "H0299",
        "this `else` does nothing",
        (span, "goes on without a rule"),
        help="say what becomes of the packet, or leave the `else` out: that drops and counts it",
    )


def has_no(subject: Span, what: str, wanted: str, candidates: Iterable[str] = ()) -> Diagnostic:
    """`x is local` of something that is no address, `x is fragment` of no IPv4 node …"""
    names = list(candidates)
    return error(
        "H0268",
        f"only {wanted} can be `{what}`",
        (subject, f"this is not {wanted}"),
        help=f"choose among {listed(names)}" if names else "ask something else of it",
    )
