"""What differs between the versions of IP where packets are forwarded, answered and wrapped."""

from __future__ import annotations

from ...lang.text.frozen import Frozen
from .site import Site


class Version(Frozen):
    """`size`: octets of the header without options. `ttl`: the octet of the time to live, `left`
    that field's name. `source`: the octet where the source address starts, `address` its octets.
    `spends`, `marks`: C functions that lower the time to live and set ECN. `errors`: ICMP
    type and code by event; `added`: octets in front of what an error quotes. `parts`: fields that
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

    def extent(self, pointer: str) -> str:
        """C text of the octets of header and payload."""
        if self.protocol == "ipv4":
            return f"bpf_ntohs(RAW16({pointer}, 2))"
        return f"{self.size} + bpf_ntohs(RAW16({pointer}, 4))"

    def ecn(self, pointer: str) -> str:
        """C text of the ECN field."""
        octet = f"RAW8({pointer}, 1)"
        return f"({octet} & 3)" if self.protocol == "ipv4" else f"({octet} >> 4 & 3)"


VERSIONS = {
    "ipv4": Version(
        "ipv4", 20, 8, "ttl", 12, 4, "decrement_ttl", "set_ecn",
        {"ttl_expired": (11, 0), "too_big": (3, 4)}, 20 + 8, frozenset({"tos", "dscp", "ecn"}),
    ),
    "ipv6": Version(
        "ipv6", 40, 7, "hop_limit", 8, 16, "decrement_hop_limit", "set_ecn6",
        {"ttl_expired": (3, 0), "too_big": (2, 0)}, 40 + 8,
        frozenset({"traffic_class", "dscp", "ecn"}),
    ),
}  # fmt: skip


def version_of(site: Site, node: str) -> Version | None:
    """None for a node that is no IP header."""
    return VERSIONS.get(site.header(node).protocol)


#: Of which headers a packet is a fragment, and not a whole one (RFC 6946): C on the header at {}.
FRAGMENT = {
    "ipv4": "RAW16({}, 6) & bpf_htons(0x3fff)",
    "ipv6_fragment": "RAW16({}, 2) & bpf_htons(0xfff9)",
    "ipv6": "0",
}


def fragment(site: Site, node: str) -> str:
    """C text of whether the payload of the innermost IP header in front of `node` is a fragment."""
    return _innermost(site, node, FRAGMENT)


def header_size(site: Site, node: str) -> str:
    """C text of the octets of the innermost IP header in front of `node`, without options."""
    return _innermost(site, node, {name: str(v.size) for name, v in VERSIONS.items()})


def _innermost(site: Site, node: str, said: dict[str, str]) -> str:
    """What is said of the header that stands last of those in front of `node`."""
    graph = site.pipeline.graph
    text = ""
    for each in reversed(graph.nodes[: graph.nodes.index(graph.node(node))]):
        name = each.name
        if each.header.protocol not in said or name not in site.reachable:
            continue
        own = said[each.header.protocol].format(site.pointer(name))
        if name in site.known:
            return f"({text}{own})" if text else own
        # Two versions say the same of it: clang would ask for both pointers at once.
        text += f"there({site.pointer(name)}) ? {own} : "
    return f"({text}0)"
