"""Hypothesis strategies for requests to a LINX edge: overlapping rules over a small world."""

from __future__ import annotations

from ipaddress import IPv4Network

from hypothesis import strategies as st

ACTIONS = ["DROP", "PASS", "REDIRECT"]
INTERFACES = ["GRE-WAN1", "GRE-WAN2", "LAN"]
ADDRESSES = ["10.1.0.10", "10.2.0.5", "10.3.0.5", "10.4.0.1", "10.5.0.1"]
LENGTHS = [8, 14, 15, 16, 24, 31, 32]

#: What there is to begin with: overlays (the first with a key), and fates for PDRs to point at.
BEGINNING = """
create OVERLAY 1 GRE-WAN1 [(local_ip, u32, 192.0.2.1), (remote_ip, u32, 192.0.2.2),
                           (key, u32, 7), (interface, u32, WAN1)];
create OVERLAY 2 GRE-WAN2 [(local_ip, u32, 198.51.100.1), (remote_ip, u32, 198.51.100.2),
                           (interface, u32, WAN2)];
create FAR 1 [(action, u8, REDIRECT), (interface, u32, GRE-WAN1)];
create FAR 2 [(action, u8, REDIRECT), (interface, u32, GRE-WAN2)];
create FAR 3 [(action, u8, REDIRECT), (interface, u32, LAN)];
create FAR 4 [(action, u8, DROP)];
create LBR 1 [FAR 1 [(weight, u16, 3)], FAR 2 [(weight, u16, 1)]];
create LBR 2 [FAR 3];
create LBR 2 [FAR 1, (tos, u8, 184 & 0xfc)]
"""

some_port = st.sampled_from([0, 1, 53, 80, 1023, 1024, 65535]) | st.integers(0, 65535)


@st.composite
def port_range(draw: st.DrawFn) -> str:
    low, high = sorted((draw(some_port), draw(some_port)))
    return draw(st.sampled_from([f"{low}", f"{low}..{high}"]))


@st.composite
def prefix(draw: st.DrawFn) -> str:
    address, length = draw(st.sampled_from(ADDRESSES)), draw(st.sampled_from(LENGTHS))
    return str(IPv4Network(f"{address}/{length}", strict=False))


tos = st.sampled_from(["184", "0", "184 & 0xfc", "1 & 0x03", "0xb8 & 0xe0"])

ELEMENTS = {
    "src_ip": ("u32", prefix()),
    "dst_ip": ("u32", prefix()),
    "protocol": ("u8", st.sampled_from(["TCP", "UDP"])),
    "tos": ("u8", tos),
    "dscp": ("u8", st.sampled_from(["46", "0", "63"])),
    "src_port": ("u16", port_range()),
    "dst_port": ("u16", port_range()),
    "src_mac": ("u64", st.sampled_from(["02:00:00:00:00:0a", "2199023255563"])),
    "vlan_id": ("u16", st.sampled_from(["7", "0", "4095"])),
}


@st.composite
def match_elements(draw: st.DrawFn) -> list[str]:
    names = draw(st.lists(st.sampled_from(sorted(ELEMENTS)), max_size=3, unique=True))
    return [f"({n}, {ELEMENTS[n][0]}, {draw(ELEMENTS[n][1])})" for n in names]


@st.composite
def fate(draw: st.DrawFn) -> str:
    action = draw(st.sampled_from(ACTIONS))
    if action != "REDIRECT":
        return f"(action, u8, {action})"
    return f"(action, u8, REDIRECT), (interface, u32, {draw(st.sampled_from(INTERFACES))})"


fars, lbrs, more = st.integers(1, 4), st.integers(1, 2), st.integers(5, 7)


@st.composite
def change(draw: st.DrawFn) -> str:
    """One change, meaningful more often than not; the rule book may refuse it."""
    match draw(
        st.sampled_from(["PDR"] * 6 + ["LBR", "create", "update", "update", "delete", "anew"])
    ):
        case "PDR":
            shared = st.one_of(fars.map("FAR {}".format), lbrs.map("LBR {}".format))
            goes = draw(st.one_of(shared, fate().map("FAR [{}]".format)))
            return f"create PDR [{', '.join([*draw(match_elements()), goes])}]"
        case "LBR":
            weighed = st.tuples(fars, st.integers(1, 9))
            members = draw(st.lists(weighed, min_size=1, max_size=3, unique_by=lambda m: m[0]))
            said = [f"FAR {far} [(weight, u16, {w})]" for far, w in members]
            return f"create LBR {draw(more)} [{', '.join([*said, f'(tos, u8, {draw(tos)})'])}]"
        case "create":
            return f"create FAR {draw(more)} [{draw(fate())}]"
        case "update":
            return f"update FAR {draw(fars)} [{draw(fate())}]"
        case "anew":
            overlay = draw(st.sampled_from(["GRE-WAN1", "GRE-WAN2"]))
            key = draw(st.sampled_from(["", ", (key, u32, 7)"]))
            return (
                f"delete OVERLAY {overlay}; create OVERLAY {overlay} [(local_ip, u32, 192.0.2.1), "
                f"(remote_ip, u32, 192.0.2.{draw(st.integers(2, 4))}), (interface, u32, WAN1){key}]"
            )
        case _:
            kind = draw(st.sampled_from(["PDR", "PDR", "FAR"]))
            return f"delete {kind} {draw(st.integers(1, 6))}"


requests = st.lists(change(), min_size=1, max_size=3).map(";\n".join)
