"""What differs between the versions of IP where packets are forwarded, answered and wrapped."""

from __future__ import annotations

from collections.abc import Callable

from ...lang.text.frozen import Frozen
from ..headers.fragments import FRAGMENT
from ..ir.expr import Expr, NotNull, load, number
from ..ir.expr_builders import first_of, swap
from .context import EditContext


class Version(Frozen):
    """`size`: bytes of the header without options. `ttl`: the byte of the time to live, `left`
    that field's name. `source`: the byte where the source address starts, `address` its bytes.
    `spends`, `marks`: C functions that lower the time to live and set ECN. `errors`: ICMP
    type and code by event; `added`: bytes in front of what an error quotes. `parts`: fields that
    say what ECN is."""

    protocol: str
    size: int
    ttl: int
    left: str
    source: int
    address: int
    spends: str
    marks: str
    errors: dict[str, tuple[int, int]]
    added: int
    parts: frozenset[str]

    def extent(self, pointer: Expr) -> Expr:
        """The bytes of header and payload."""
        if self.protocol == "ipv4":
            return swap(load(pointer, 2, 16))
        return self.size + swap(load(pointer, 4, 16))

    def ecn(self, pointer: Expr) -> Expr:
        """The ECN field."""
        byte = load(pointer, 1, 8)
        return byte & 3 if self.protocol == "ipv4" else byte >> 4 & 3


VERSIONS = {
    "ipv4": Version(
        "ipv4", 20, 8, "ttl", 12, 4, "decrement_ttl", "set_ecn",
        {"ttl_expired": (11, 0), "too_big": (3, 4), "no_route": (3, 0), "host_unreachable": (3, 1),
         "port_unreachable": (3, 3), "admin_prohibited": (3, 13)}, 20 + 8,
        frozenset({"tos", "dscp", "ecn"}),
    ),
    "ipv6": Version(
        "ipv6", 40, 7, "hop_limit", 8, 16, "decrement_hop_limit", "set_ecn6",
        {"ttl_expired": (3, 0), "too_big": (2, 0), "no_route": (1, 0), "admin_prohibited": (1, 1),
         "host_unreachable": (1, 3), "port_unreachable": (1, 4)}, 40 + 8,
        frozenset({"traffic_class", "dscp", "ecn"}),
    ),
}  # fmt: skip


def version_of(site: EditContext, node: str) -> Version | None:
    """None for a node that is no IP header."""
    return VERSIONS.get(site.header(node).protocol)


def fragment(site: EditContext, node: str) -> Expr:
    """Whether the payload of the innermost IP header in front of `node` is a fragment."""
    return _innermost(site, node, FRAGMENT)


def header_size(site: EditContext, node: str) -> Expr:
    """The bytes of the innermost IP header in front of `node`, without options."""
    return _innermost(site, node, {name: _size_of(version) for name, version in VERSIONS.items()})


def _size_of(version: Version) -> Callable[[Expr], Expr]:
    return lambda pointer: number(version.size)


def _innermost(site: EditContext, node: str, said: dict[str, Callable[[Expr], Expr]]) -> Expr:
    """What is said of the header that stands last of those in front of `node`."""
    graph = site.graph
    found: list[tuple[Expr | None, Expr]] = []  # test (None: surely), what is said
    for each in reversed(graph.nodes[: graph.nodes.index(graph.node(node))]):
        name = each.name
        if each.header.protocol not in said or name not in site.reachable:
            continue
        pointer = site.found(name)
        own = said[each.header.protocol](pointer)
        # Two versions say the same of it: clang would ask for both pointers at once.
        found.append((None if name in site.known else NotNull(pointer), own))
        if name in site.known:
            break
    return first_of(found)
