"""What is wrong with a chain of headers, in words: see chains.py."""

from __future__ import annotations

from ...lang import tree
from ...lang.text.diagnostics import Diagnostic, did_you_mean, error
from ...lang.text.source import Span
from .. import model


def lacking(chain: tree.Chain, header: str, where: Span) -> Diagnostic:
    by = chain.by.text
    return error(
        "H0380",
        f"`{header}` does not say what follows it by `{by}`",
        (where, f"has no field `{by}`"),
        (chain.by.span, f"what announces the next header of `{chain.name.text}`"),
        help=f"declare `{by}` in it, or name a field that all of them have: "
        f"`chain {chain.name.text} by FIELD`",
    )


def no_number(chain: tree.Chain, header: str, where: Span, field: Span, limit: int) -> Diagnostic:
    return error(
        "H0380",
        f"`{header}.{chain.by.text}` cannot say what follows",
        (where, f"not a number of at most {limit} bits"),
        (field, "declared here"),
        help="a chain goes by a field such as `next_header : u8`",
    )


def not_always(chain: tree.Chain, member: tree.Name, field: Span) -> Diagnostic:
    return error(
        "H0380",
        f"some `{member.text}` do not say what follows them",
        (member.span, f"may lack `{chain.by.text}`"),
        (field, "in an optional group"),
        help=f"declare `{chain.by.text}` outside of the group",
    )


def two_widths(chain: tree.Chain, where: tree.Name, field: model.Field, width: int) -> Diagnostic:
    return error(
        "H0380",
        f"`{chain.by.text}` has two widths in the chain `{chain.name.text}`",
        (where.span, f"{field.width} bits here, {width} in front"),
        (field.span, "declared here"),
        help="a value announces the same header behind each header: declare it with one width",
    )


def same_value(first: tree.ChainMember, second: tree.ChainMember) -> Diagnostic:
    spans = [_test_span(m) for m in (second, first)]
    return error(
        "H0381",
        f"what announces `{first.node.text}` announces `{second.node.text}` as well",
        (spans[0], "overlaps"),
        (spans[1], f"announces `{first.node.text}`"),
        help="give each header of a chain values of its own",
    )


def _test_span(member: tree.ChainMember) -> Span:
    return member.alternatives[0].span.to(member.alternatives[-1].span)


def no_bound(span: Span, limit: int) -> Diagnostic:
    return error(
        "H0382",
        "a chain of headers has a bound",
        (span, f"from 1 to {limit} of them"),
        help="say how many headers are walked at most, repeated ones among them: `max 8`",
    )


def two_bounds(span: Span, chain: tree.Chain) -> Diagnostic:
    return error(
        "H0382",
        f"the chain `{chain.name.text}` has a bound already",
        (span, "another bound"),
        (chain.most.span, "the chain's"),
        help=f"lead the edge to `{chain.name.text}`",
    )


def empty(name: tree.Name) -> Diagnostic:
    return error(
        "H0383",
        f"the chain `{name.text}` has no headers",
        (name.span, "nothing can follow"),
        help="name its headers and what announces each: `ipv6_fragment when 44`",
    )


def not_led_to(name: tree.Name) -> Diagnostic:
    return error(
        "H0383",
        f"no edge leads to the chain `{name.text}`",
        (name.span, "no packet has it"),
        help=f"say behind which header it may stand: `user -> {name.text}`",
    )


def not_left(name: tree.Name, by: str) -> Diagnostic:
    return error(
        "H0383",
        f"no edge leaves the chain `{name.text}`",
        (name.span, "nothing is parsed behind it"),
        help=f"say what may stand behind its last header: `{name.text} -> udp when {by} = 17`",
    )


def tested_by_chain(field: tree.Name, chain: tree.Chain) -> Diagnostic:
    return error(
        "H0384",
        f"`{field.text}` says which header of the chain `{chain.name.text}` follows",
        (field.span, "is tested by the chain"),
        (chain.by.span, "the chain goes by it"),
        help="leave the test out: the chain says what announces each of its headers",
    )


def twice(name: tree.Name, first: Span) -> Diagnostic:
    return error(
        "H0384",
        f"the chain has `{name.text}` twice",
        (name.span, "again"),
        (first, "the first"),
        help="join the values that announce it, `when 0x01 | 0x40`, or name another node: "
        f"`{name.text} as other`",
    )


def leads_to_itself(span: Span, chain: tree.Chain) -> Diagnostic:
    return error(
        "H0384",
        f"the chain `{chain.name.text}` goes on by itself",
        (span, "is not needed"),
        help="leave the edge out: each header of a chain may be followed by any of them",
    )


def one_of_a_chain(name: tree.Name, chain: tree.Name) -> Diagnostic:
    return error(
        "H0384",
        f"`{name.text}` stands in the chain `{chain.text}`",
        (name.span, "any header of the chain may be there"),
        (chain.span, "the chain"),
        help=f"write the edge of `{chain.text}`: it leads to each of its headers, and leaves each",
    )


def second_name(alias: tree.Name, chain: tree.Name) -> Diagnostic:
    return error(
        "H0384",
        f"`{chain.text}` is a chain, not a header",
        (alias.span, "would give it a second name"),
        (chain.span, "the chain"),
        help=f"lead the edge to `{chain.text}`; headers have their names in the chain",
    )


def other_field(field: tree.Name, chain: tree.Chain) -> Diagnostic:
    near = did_you_mean(chain.by.text, [field.text])
    return error(
        "H0385",
        f"what stands behind the chain is not said by `{field.text}`",
        (field.span, "any header of the chain may be the last"),
        (chain.by.span, "what all of them say the next one by"),
        help=near or f"test `{chain.by.text}`, or what follows: `next u4 = 4`",
    )


def unfit_header(name: tree.Name, why: str) -> Diagnostic:
    return error(
        "H0386",
        f"`{name.text}` cannot stand in a chain",
        (name.span, why),
        help="lead an edge to it in front of the chain, or behind it",
    )


def behind_link(span: Span, front: str) -> Diagnostic:
    return error(
        "H0386",
        f"a chain cannot follow the link header `{front}`",
        (span, "link headers are exchanged when the packet leaves"),
        help="tags in a row are a stack, as in `-> vlan[2]`",
    )
