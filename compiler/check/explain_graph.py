"""What `helioc explain` says about parse graphs."""

from __future__ import annotations

from ...lang.text.explain import Explanation

GRAPH: dict[str, Explanation] = {
    "H0210": Explanation(
        "one name for two headers",
        "A node is an instance of one header. `as` gives it its name, and every edge that "
        "names it leads to that header.",
        "parser {\n"
        "  ethernet -> ipv4 as user when type = 0x0800 on lan\n"
        "  ethernet -> arp as user when type = 0x0806 on wan\n"
        "}",
        "parser {\n"
        "  ethernet -> ipv4 as user when type = 0x0800 on lan\n"
        "  ethernet -> arp when type = 0x0806 on wan\n"
        "}",
    ),
    "H0211": Explanation(
        "the parse graph does not begin at `ethernet`",
        "Every packet starts with the node `ethernet`. Edges lead on from there.",
        "parser {\n}",
        "parser {\n  ethernet -> ipv4 as user when type = 0x0800\n}",
    ),
    "H0212": Explanation(
        "an edge is there twice",
        "Two edges with the same source, target and guard, read on a common port role, are one.",
        "parser {\n"
        "  ethernet -> ipv4 when type = 0x0800\n"
        "  ethernet -> ipv4 when type = 2048 on lan\n"
        "}",
        "parser {\n  ethernet -> ipv4 when type = 0x0800\n}",
    ),
    "H0213": Explanation(
        "two edges overlap",
        "Of the edges that leave a node at most one may fit a packet: parsing never tries a "
        "second. Edges read on different port roles may overlap. Tests of different fields can "
        "always hold together, so two guards must differ in a field that both test.",
        "parser {\n"
        "  ethernet -> ipv4 as outer when type = 0x0800\n"
        "  outer -> udp when protocol = 17\n"
        "  outer -> gre when protocol = 16..47\n"
        "}",
        "parser {\n"
        "  ethernet -> ipv4 as outer when type = 0x0800\n"
        "  outer -> udp when protocol = 17\n"
        "  outer -> gre when protocol = 18..47\n"
        "}",
    ),
    "H0214": Explanation(
        "an edge leads back to `ethernet`",
        "`ethernet` is where every packet starts. An Ethernet header further in is another node.",
        "parser {\n"
        "  ethernet -> ipv4 when type = 0x0800\n"
        "  ipv4 -> ethernet when protocol = 143\n"
        "}",
        "parser {\n"
        "  ethernet -> ipv4 when type = 0x0800\n"
        "  ipv4 -> ethernet as inner when protocol = 143\n"
        "}",
    ),
    "H0215": Explanation(
        "no packet reaches a node",
        "A node is reached if edges lead to it from `ethernet` that are all read on one port "
        "role. Here some edge on every such way is not read where the others are.",
        "parser {\n"
        "  ethernet -> ipv4 when type = 0x0800 on lan\n"
        "  ipv4 -> gre when protocol = 47 on wan\n"
        "}",
        "parser {\n"
        "  ethernet -> ipv4 when type = 0x0800 on lan\n"
        "  ipv4 -> gre when protocol = 47\n"
        "}",
    ),
    "H0216": Explanation(
        "the parse graph goes round",
        "Each node is in a packet at most once, so edges must not lead back to a node. A "
        "header that comes again is another node: give it a name by `as`.",
        "parser {\n"
        "  ethernet -> ipv4 when type = 0x0800\n"
        "  ipv4 -> gre when protocol = 47\n"
        "  gre -> ipv4 when protocol = 0x0800\n"
        "}",
        "parser {\n"
        "  ethernet -> ipv4 when type = 0x0800\n"
        "  ipv4 -> gre when protocol = 47\n"
        "  gre -> ipv4 as inner when protocol = 0x0800\n"
        "}",
    ),
    "H0217": Explanation(
        "the way through the packet is too long",
        "The kernel's verifier follows an offset up to 32,767 octets. The headers of the "
        "longest way, each at its maximum size, must end before that.",
    ),
    "H0218": Explanation(
        "the pipeline is too large",
        "A pipeline has at most 32 nodes and 2,048 ways through them on one port role, and its "
        "actions, inlined, at most 10,000 statements: beyond that neither the kernel's "
        "verifier nor a reader follows it. At each place packets are told apart by the way that "
        "they took through the graph and by the rules found for them, 20,000 sorts at most.",
    ),
    "H0219": Explanation(
        "`write` does not go with the guard",
        "`write` says what a push assigns where the guard allows several values: one value for "
        "each field that the guard tests, and one that it would read again.",
        "parser {\n"
        "  ethernet -> ipv4 when type = 0x0800\n"
        "  ipv4 -> udp when protocol = 17 | 136 write 6\n"
        "}",
        "parser {\n"
        "  ethernet -> ipv4 when type = 0x0800\n"
        "  ipv4 -> udp when protocol = 17 | 136 write 17\n"
        "}",
    ),
    "H0220": Explanation(
        "a value does not fit",
        "The field or element is narrower than the value. Nothing is ever cut off silently.",
        "parser {\n  ethernet -> ipv4 when type = 0x0800\n  ipv4 -> udp when protocol = 1700\n}",
        "parser {\n  ethernet -> ipv4 when type = 0x0800\n  ipv4 -> udp when protocol = 17\n}",
    ),
    "H0221": Explanation(
        "a range is empty",
        "`low..high` contains both ends; the lower stands first.",
        "parser {\n  ethernet -> ipv4 when type = 0x0800\n  ipv4 -> udp when protocol = 20..17\n}",
        "parser {\n  ethernet -> ipv4 when type = 0x0800\n  ipv4 -> udp when protocol = 17..20\n}",
    ),
    "H0222": Explanation(
        "a guard with a mask never holds",
        "`value & mask` compares the bits under the mask with `value`. A bit of the value "
        "outside the mask can never be met.",
        "parser {\n  ethernet -> ipv4 when type = 0x0801 & 0xff00\n}",
        "parser {\n  ethernet -> ipv4 when type = 0x0800 & 0xff00\n}",
    ),
    "H0223": Explanation(
        "a guard tests a field twice",
        "Alternatives of one field stand in one test.",
        "parser {\n  ethernet -> ipv4 when type = 0x0800..0x08ff and type = 0x0800\n}",
        "parser {\n  ethernet -> ipv4 when type = 0x0800\n}",
    ),
    "H0224": Explanation(
        "a field may be left out",
        "Fields in a `when` group are only there if the group's flag is set. A rule can match "
        "them: a packet without the field matches the rules that leave the element out.",
        "stage main {\n  if gre { if gre.key = 7 { drop } }\n  pass\n}",
        "stage main {\n  if gre { if gre.key_present = 1 { drop } }\n  pass\n}",
    ),
    "H0227": Explanation(
        "a stack of headers needs one bound",
        "`-> vlan[2]` leads to up to two VLAN tags in a row. The verifier follows every way "
        "through the parser, so each stack has a bound, of 16 headers at most. Where there is one "
        "more, parsing stops in front of it.",
        "parser {\n"
        "  ethernet -> vlan[100] when type = 0x8100\n"
        "  vlan -> vlan when type = 0x8100\n"
        "}",
        "parser {\n  ethernet -> vlan[2] when type = 0x8100\n  vlan -> vlan when type = 0x8100\n}",
    ),
    "H0228": Explanation(
        "nothing leads on within a stack",
        "What announces the next header of a stack is said by an edge from it to itself.",
        "parser {\n  ethernet -> vlan[2] when type = 0x8100\n}",
        "parser {\n  ethernet -> vlan[2] when type = 0x8100\n  vlan -> vlan when type = 0x8100\n}",
    ),
    "H0229": Explanation(
        "a guard looks too far ahead",
        "`next u4` is the first four bits behind the header; up to `next u32` can be seen. Where "
        "the packet ends before, the test does not hold.",
        "header mpls {\n  label : u20\n  : u3\n  bottom : u1\n  ttl : u8\n}\n"
        "parser {\n"
        "  ethernet -> mpls when type = 0x8847\n"
        "  mpls -> ipv4 when bottom = 1 and next u40 = 4\n"
        "}",
        "header mpls {\n  label : u20\n  : u3\n  bottom : u1\n  ttl : u8\n}\n"
        "parser {\n"
        "  ethernet -> mpls when type = 0x8847\n"
        "  mpls -> ipv4 when bottom = 1 and next u4 = 4\n"
        "}",
    ),
    "H0226": Explanation(
        "a node is given a second name",
        "`HEADER as NAME` makes a node of a header. A node that is there already is named as "
        "it is.",
        "parser {\n"
        "  ethernet -> ipv4 as user when type = 0x0800\n"
        "  ethernet -> vlan when type = 0x8100\n"
        "  vlan -> user as tagged when type = 0x0800\n"
        "}",
        "parser {\n"
        "  ethernet -> ipv4 as user when type = 0x0800\n"
        "  ethernet -> vlan when type = 0x8100\n"
        "  vlan -> user when type = 0x0800\n"
        "}",
    ),
    "H0320": Explanation(
        "where packets start",
        "`start -> ethernet as inner on lan` says where packets start that come in by a port of "
        "that role; without any such line all start at `ethernet`. Each role starts once, without "
        "a test, at an Ethernet header.",
        "parser {\n  start -> ethernet on lan\n  ethernet -> ipv4 as user when type = 0x0800\n}",
        "parser {\n  start -> ethernet\n  ethernet -> ipv4 as user when type = 0x0800\n}",
    ),
}
