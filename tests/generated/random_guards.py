"""Guards of edges that nobody wrote: single values, sets, ranges, masks, looking ahead; never two
that leave one node for the same packet."""

from __future__ import annotations

from dataclasses import dataclass, field

from chance import Chance

#: Standard headers: the fields that edges test, the first of them always.
SELECTORS: dict[str, list[tuple[str, int]]] = {
    "ethernet": [("type", 16)],
    "vlan": [("type", 16), ("pcp", 3)],
    "ipv4": [("protocol", 8), ("more_fragments", 1), ("dscp", 6)],
    "ipv6": [("next_header", 8), ("flow_label", 20)],
    "gre": [("protocol", 16), ("sequence_present", 1)],
    "udp": [("dst", 16), ("src", 16)],
    "tcp": [("dst", 16), ("syn", 1)],
    "icmp": [("type", 8), ("code", 8)],
    "icmpv6": [("type", 8), ("code", 8)],
    "arp": [("operation", 16)],
    "vxlan": [("vni", 24)],
    "geneve": [("protocol", 16)],
    "srh": [("next_header", 8), ("segments_left", 8)],
    "ipv6_destination": [("next_header", 8)],
    "ipv6_fragment": [("next_header", 8)],
    "gtpu": [("next u4", 4)],
    "pdu_session": [("next u4", 4)],
    "mpls": [("next u4", 4)],
}
#: What every edge that leaves them tests besides.
ALSO = {
    "gtpu": "message = 255 and extension_present = 0",
    "pdu_session": "next_extension = 0",
    "mpls": "bottom = 1",
}
ONLY = {
    ("gtpu", "pdu_session"): "message = 255 and extension_present = 1 and next_extension = 0x85",
    ("mpls", "mpls"): "bottom = 0",
}
#: How the world announces them, which is how they are announced mostly.
_NEXT = {"ipv4": 4, "tcp": 6, "udp": 17, "ipv6": 41, "srh": 43, "ipv6_fragment": 44, "gre": 47,
         "ipv6_destination": 60}  # fmt: skip
USUAL = {
    ("type", "vlan"): 0x8100, ("type", "ipv4"): 0x0800, ("type", "arp"): 0x0806,
    ("type", "ipv6"): 0x86DD, ("type", "mpls"): 0x8847, ("protocol", "ethernet"): 0x6558,
    ("protocol", "icmp"): 1, ("next_header", "icmpv6"): 58,
    ("dst", "vxlan"): 4789, ("dst", "geneve"): 6081, ("dst", "gtpu"): 2152,
    **{(f, name): number for f in ("protocol", "next_header") for name, number in _NEXT.items()},
}  # fmt: skip
_VERSION = {"ipv4": 4, "ipv6": 6}
MATCHED_AHEAD = ("next u4", "next u8", "next u12", "next u16", "next u3", "next u27")


@dataclass
class Leaving:
    """How the packets that leave a node are told apart. `taken`: by role, what edges match already;
    `closed`: roles on which an edge takes all packets."""

    header: str
    selectors: list[tuple[str, int]]
    style: str
    mask: int
    taken: dict[str, list[tuple[int, int]]] = field(default_factory=dict)
    closed: set[str] = field(default_factory=set)

    @property
    def ahead(self) -> bool:
        return self.selectors[0][0].startswith("next u")

    def matched(self, roles: list[str]) -> list[tuple[int, int]]:
        return [r for role in roles for r in self.taken.get(role, [])]

    def take(self, roles: list[str], ranges: list[tuple[int, int]]) -> None:
        for role in roles:
            self.taken.setdefault(role, []).extend(ranges)


def leaving(chance: Chance, header: str, own: list[tuple[str, int]] | None) -> Leaving:
    """`own`: what may be tested of a header that nobody wrote."""
    selectors = own or SELECTORS[header]
    style = chance.one(["values", "values", "values", "values", "mask", "all"])
    if header == "ethernet":
        style = chance.one(["values"] * 9 + ["mask"])
    if header == "vxlan":
        style = "all"
    if own and chance.maybe(0.12):
        word = chance.one(MATCHED_AHEAD)
        selectors, style = [(word, int(word[6:]))], "values"
    width = selectors[0][1]
    mask = chance.number(1, (1 << width) - 1) | 1 << (width - 1)
    return Leaving(header, selectors, "values" if header in ALSO else style, mask)


def guard(chance: Chance, source: Leaving, head: str, roles: list[str]) -> str | None:
    """Text that overlaps with no other guard of these roles; None if there is no room."""
    if (source.header, head) in ONLY:
        return _only(source, head, roles)
    field_, width = source.selectors[0]
    taken = source.matched(roles)
    if source.style == "all" and not taken and source.header != "ethernet":
        source.closed.update(roles)
        return ""
    if source.style == "mask":
        return _masked(chance, source, roles)
    ranges = _ranges(chance, field_, width, head, taken)
    if not ranges:
        return None
    source.take(roles, ranges)
    said = " | ".join(f"{a:#x}" if a == b else f"{a}..{b}" for a, b in ranges)
    text, writes = f" when {_also(source)}{field_} = {said}", list[str]()
    if source.ahead:
        return text
    writes.append(str(chance.number(*chance.one(ranges))))
    single = len(ranges) == 1 and ranges[0][0] == ranges[0][1]
    if len(source.selectors) > 1 and chance.maybe(0.2):
        other, bits = source.selectors[-1]
        value = chance.number(0, (1 << bits) - 1) if bits > 1 else 0
        text += f" and {other} = {value}"
        writes.append(str(value))
    if not single and chance.maybe(0.8):
        text += f" write {', '.join(writes)}"
    return text


def exact(chance: Chance, source: Leaving, head: str, roles: list[str]) -> str | None:
    """For one value only, so that it can be written."""
    if (source.header, head) in ONLY:
        return _only(source, head, roles)
    field_, width = source.selectors[0]
    if source.style == "all" and not source.matched(roles):
        source.closed.update(roles)
        return ""
    if source.ahead:
        return guard(chance, source, head, roles)
    mask = source.mask if source.style == "mask" else (1 << width) - 1
    for i in range(9):
        value = chance.value(width) & mask
        value = USUAL.get((field_, head), value) & mask if i == 0 else value
        if _free((value, value), source.matched(roles)):
            source.take(roles, [(value, value)])
            under = f" & {mask:#x} write {value}" if source.style == "mask" else ""
            return f" when {field_} = {value:#x}{under}"
    return None


def _only(source: Leaving, head: str, roles: list[str]) -> str | None:
    """Of these there is one edge."""
    said = ONLY[source.header, head]
    marked = source.matched(roles)
    if (-1, -1) in marked:
        return None
    source.take(roles, [(-1, -1)])
    return f" when {said}"


def _also(source: Leaving) -> str:
    return f"{ALSO[source.header]} and " if source.header in ALSO else ""


def _ranges(
    chance: Chance, field_: str, width: int, head: str, taken: list[tuple[int, int]]
) -> list[tuple[int, int]]:
    full = (1 << width) - 1
    usual = USUAL.get((field_, head))
    if usual is not None and chance.maybe(0.8) and _free((usual, usual), taken):
        return [(usual, usual)]
    if field_.startswith("next u") and head in _VERSION:
        low = (_VERSION[head] << width) >> 4
        version = (low, low | ((1 << width) - 1) >> 4)
        return [version] if _free(version, taken) else []
    found: list[tuple[int, int]] = []
    for _ in range(chance.one((1, 1, 1, 2, 3))):
        low = chance.value(width)
        high = min(full, low + chance.number(1, 1 + full // 8)) if chance.maybe(0.25) else low
        if _free((low, high), taken + found):
            found.append((low, high))
    return found


def _masked(chance: Chance, source: Leaving, roles: list[str]) -> str | None:
    field_, width = source.selectors[0]
    taken = source.matched(roles)
    values = [v for v in {chance.value(width) & source.mask for _ in range(6)}
              if _free((v, v), taken)]  # fmt: skip
    if not values:
        return None
    picked = sorted(values)[: chance.one((1, 1, 2))]
    source.take(roles, [(v, v) for v in picked])
    said = " | ".join(f"{v:#x} & {source.mask:#x}" for v in picked)
    write = f" write {picked[0]}" if chance.maybe(0.8) else ""
    return f" when {field_} = {said}{write}"


def _free(one: tuple[int, int], taken: list[tuple[int, int]]) -> bool:
    return all(one[1] < low or high < one[0] for low, high in taken)
