"""What `helioc explain` says about pushes, pops and ways out."""

from __future__ import annotations

from ...lang.text.explain import Explanation

_TAGS = """parser {
  ethernet -> vlan as service when type = 0x88a8
  ethernet -> vlan            when type = 0x8100
  service  -> vlan            when type = 0x8100
  service  -> ipv4 as user    when type = 0x0800
  vlan     -> ipv4 as user    when type = 0x0800
}
ie hop = 40, ip4
ie way = 41, port
rule NEXT [16] {
  match dst_ip exact user.dst
  gives way, hop
}
stage main {
  if not user or service { pass }
  find NEXT else { pass }
"""
_TUNNEL = """header box { kind : u16 = 7 }
parser {
  start -> ethernet as inner on lan
  start -> ethernet on wan
  ethernet -> ipv4 as outer when type = 0x0800
  outer -> box when protocol = 200
  box -> inner when kind = 7
}
stage main {
  if port is lan and inner {
    push outer { src = 10.0.0.1, dst = 10.0.0.2 } / box
"""

CHANGES: dict[str, Explanation] = {
    "H0269": Explanation(
        "packets that were changed unlike meet",
        "Behind a branch, all packets that came in by one port role must have had the same "
        "pops and pushes: what comes later is compiled once for each role. Give a verdict in "
        "the branch that changes the packet, or change it in every branch.",
        "stage main {\n"
        "  if not user { pass }\n"
        "  if port is wan { if user.tos = 1 { pop to user } }\n"
        "  pass\n"
        "}",
        "stage main {\n"
        "  if not user { pass }\n"
        "  if port is wan { if user.tos = 1 { pop to user  pass } }\n"
        "  pass\n"
        "}",
    ),
    "H0284": Explanation(
        "no edge can be written",
        "A header is announced by a field of the one in front: what to write there is read off "
        "the edge between them. It needs an edge whose guard leaves one value, or that says "
        "`write`. Writing ignores the roles that an edge is read on.",
        "parser {\n"
        "  ethernet -> ipv4 as user when type = 0x0800 on lan\n"
        "  ethernet -> ipv4 as outer when type = 0x0800 on wan\n"
        "  outer -> user when protocol = 4 | 94\n"
        "}\n"
        "stage main {\n"
        "  if port is wan or not user { pass }\n"
        "  push outer { src = 10.0.0.1, dst = 10.0.0.2 }\n"
        "  pass\n"
        "}",
        "parser {\n"
        "  ethernet -> ipv4 as user when type = 0x0800 on lan\n"
        "  ethernet -> ipv4 as outer when type = 0x0800 on wan\n"
        "  outer -> user when protocol = 4 | 94 write 4\n"
        "}\n"
        "stage main {\n"
        "  if port is wan or not user { pass }\n"
        "  push outer { src = 10.0.0.1, dst = 10.0.0.2 }\n"
        "  pass\n"
        "}",
    ),
    "H0285": Explanation(
        "two edges could be written",
        "Two edges lead from one node to the other and would write different values.",
        "parser {\n"
        "  ethernet -> ipv4 as user when type = 0x0800 on lan\n"
        "  ethernet -> ipv4 as outer when type = 0x0800 on wan\n"
        "  outer -> gre when protocol = 47\n"
        "  gre -> user when protocol = 0x0800 on wan\n"
        "  gre -> user when protocol = 0x0801 on lan\n"
        "}\n"
        "stage main {\n"
        "  if port is wan { pass }\n"
        "  if not user { pass }\n"
        "  push outer { src = 10.0.0.1, dst = 10.0.0.2 } / gre\n"
        "  pass\n"
        "}",
        "parser {\n"
        "  ethernet -> ipv4 as user when type = 0x0800 on lan\n"
        "  ethernet -> ipv4 as outer when type = 0x0800 on wan\n"
        "  outer -> gre when protocol = 47\n"
        "  gre -> user when protocol = 0x0800 on wan\n"
        "  gre -> user when protocol = 0x0801 write 0x0801 on lan\n"
        "}\n"
        "stage main {\n"
        "  pass\n"
        "}",
    ),
    "H0286": Explanation(
        "a node that is there cannot be pushed",
        "A packet has each node once. Where some packets that get to the push have it already, "
        "end or narrow those, or `pop` the node first.",
        "stage main {\n"
        "  if not user { pass }\n"
        "  push outer { src = 10.0.0.1, dst = 10.0.0.2 } / gre\n"
        "  drop\n"
        "}",
        "stage main {\n"
        "  if not user { pass }\n"
        "  if port is wan { pop to user }\n"
        "  push outer { src = 10.0.0.1, dst = 10.0.0.2 } / gre\n"
        "  drop\n"
        "}",
    ),
    "H0287": Explanation(
        "there is no place for a push",
        "A push goes in front of a link header or of the first node behind these: the one named "
        "by `before`, or the outermost one that the last pushed header has an edge to; or behind a "
        "link header, whatever follows it. Every packet must have it, and it must be the same one.",
        "stage main {\n"
        "  if port is wan { pass }\n"
        "  push outer { src = 10.0.0.1, dst = 10.0.0.2 } / gre\n"
        "  drop\n"
        "}",
        "stage main {\n"
        "  if port is wan { pass }\n"
        "  if not user { pass }\n"
        "  push outer { src = 10.0.0.1, dst = 10.0.0.2 } / gre\n"
        "  drop\n"
        "}",
    ),
    "H0288": Explanation(
        "a pushed header is read",
        "Pushes are carried out when the packet leaves: until then there is nothing to read.",
        "stage main {\n"
        "  if port is wan { pass }\n"
        "  if not user { pass }\n"
        "  push outer { src = 10.0.0.1, dst = 10.0.0.2 } / gre\n"
        "  if outer.src = 10.0.0.1 { drop }\n"
        "  drop\n"
        "}",
        "stage main {\n"
        "  if port is wan { pass }\n"
        "  if not user { pass }\n"
        "  push outer { src = 10.0.0.1, dst = 10.0.0.2 } / gre\n"
        "  drop\n"
        "}",
    ),
    "H0289": Explanation(
        "the link header cannot announce what follows",
        "`forward` builds a new link header. Everything else keeps the one that the packet "
        "came with: its type must say what a pop or push has put behind it, and that is read "
        "off an edge.",
        "stage main {\n"
        "  if port is wan { pass }\n"
        "  if not user { pass }\n"
        "  push outer { src = 10.0.0.1, dst = 10.0.0.2 } / gre\n"
        "  pass\n"
        "}",
        "stage main {\n"
        "  if port is wan { pass }\n"
        "  if not user or vlan { pass }\n"
        "  push outer { src = 10.0.0.1, dst = 10.0.0.2 } / gre\n"
        "  pass\n"
        "}",
    ),
    "H0290": Explanation(
        "a push leaves a field without a value",
        "A field of a pushed header has the value that the push gives, that the edge to the "
        "next header writes, or its default. One has none of them.",
        "stage main {\n"
        "  if port is wan { pass }\n"
        "  if not user { pass }\n"
        "  push outer { src = 10.0.0.1 } / gre\n"
        "  drop\n"
        "}",
        "stage main {\n"
        "  if port is wan { pass }\n"
        "  if not user { pass }\n"
        "  push outer { src = 10.0.0.1, dst = 10.0.0.2 } / gre\n"
        "  drop\n"
        "}",
    ),
    "H0291": Explanation(
        "a field is kept right by the compiler",
        "Lengths, checksums, the field that tells the header's size and the flags of optional "
        "groups follow from the rest. A group is there when one of its fields is given; one that "
        "several flags announce, when a push sets one of them. So a divided field with such flags "
        "in it is not given as a whole: a push gives its other parts by their names.",
        "stage main {\n"
        "  if port is wan { pass }\n"
        "  if not user { pass }\n"
        "  push outer { src = 10.0.0.1, dst = 10.0.0.2 } / gre { key_present = 1 }\n"
        "  drop\n"
        "}",
        "stage main {\n"
        "  if port is wan { pass }\n"
        "  if not user { pass }\n"
        "  push outer { src = 10.0.0.1, dst = 10.0.0.2 } / gre { key = 7 }\n"
        "  drop\n"
        "}",
    ),
    "H0292": Explanation(
        "`forward` needs a port",
        "A port is bound by an arm (`port p => …`) or is what an element refers to. Which "
        "rules must refer to a port follows, and is asked of the controller.",
        "stage main {\n"
        "  if port is wan { pass }\n"
        "  if not user { pass }\n"
        "  forward lan via user.dst\n"
        "}",
        "action apply(FAR) {\n"
        "  forward FAR.interface via user.dst\n"
        "}\n"
        "stage main {\n"
        "  if not user { pass }\n"
        "  find PDR else { default }\n"
        "  if port is wan { pop to user }\n"
        "  if PDR gives FAR { apply(FAR) }\n"
        "  drop\n"
        "}",
    ),
    "H0293": Explanation(
        "`forward` needs an IPv4 packet",
        "`forward` decrements the time to live of the outermost IPv4 header that came with the "
        "packet, so every packet must have one there.",
        "parser {\n"
        "  ethernet -> arp when type = 0x0806\n"
        "}\n"
        "ie way = 20, port\n"
        "ie hop = 21, ip4\n"
        "ie peer = 22, ip4\n"
        "rule NEXT [16] {\n"
        "  match peer exact arp.target_ip\n"
        "  gives way, hop\n"
        "}\n"
        "stage main {\n"
        "  if not arp { pass }\n"
        "  find NEXT else { pass }\n"
        "  forward NEXT.way via NEXT.hop\n"
        "}",
        "parser {\n"
        "  ethernet -> ipv4 when type = 0x0800\n"
        "}\n"
        "ie way = 20, port\n"
        "ie hop = 21, ip4\n"
        "ie peer = 22, ip4\n"
        "rule NEXT [16] {\n"
        "  match peer exact ipv4.dst\n"
        "  gives way, hop\n"
        "}\n"
        "stage main {\n"
        "  if not ipv4 { pass }\n"
        "  find NEXT else { pass }\n"
        "  forward NEXT.way via NEXT.hop\n"
        "}",
    ),
    "H0321": Explanation(
        "the packet has no link header of its own",
        "A push in front of the first link header makes the whole frame the payload of a tunnel. "
        "Only `forward` writes the link header of an egress port; `pass`, `bridge` and `send back` "
        "would send a packet that starts with an IP header.",
        _TUNNEL + "    pass\n  }\n  drop\n}",
        _TUNNEL + "    drop\n  }\n  drop\n}",
    ),
    "H0322": Explanation(
        "a field that says what the packet is",
        "Fields that edges test, that say how long a header is or how it is read, and fields "
        "that are derived are not assigned: what was parsed would no longer be what is there. "
        "All others may be changed in place; checksums follow. So may the ports of TCP and UDP, "
        "and a tested field where nothing stands behind its header.",
        "stage main {\n  if user { user.protocol = 17 }\n  pass\n}",
        "stage main {\n  if user { user.ttl = 17 }\n  pass\n}",
    ),
    "H0323": Explanation(
        "two fields that cannot be exchanged",
        "`swap` exchanges two fields of one type and width.",
        "stage main {\n  if user { swap user.src, user.ttl }\n  pass\n}",
        "stage main {\n  if user { swap user.src, user.dst }\n  pass\n}",
    ),
    "H0324": Explanation(
        "a checksum that nobody reads covers this address",
        "The checksums of TCP and UDP cover the addresses of the IP header. Where one of these is "
        "changed they follow, but only in packets whose TCP or UDP header the parse graph reads. "
        "So it is with an SRH's first segment, the packet's last destination.",
        "parser {\n"
        "  ethernet -> ipv4 as user when type = 0x0800\n"
        "}\n"
        "stage main {\n  if user { user.dst = 10.0.0.1 }\n  pass\n}",
        "parser {\n"
        "  ethernet -> ipv4 as user when type = 0x0800\n"
        "  user -> tcp when protocol = 6\n"
        "  user -> udp when protocol = 17\n"
        "}\n"
        "stage main {\n  if user { user.dst = 10.0.0.1 }\n  pass\n}",
    ),
    "H0325": Explanation(
        "this header cannot be popped by itself",
        "`pop NODE` takes one link header away from behind another, a VLAN tag behind Ethernet, "
        "say: what it says of what follows it, the header in front of it says then. All others are "
        "removed by `pop to X`, which names what is left.",
        "stage main {\n  if user { pop user }\n  pass\n}",
        "stage main {\n  if vlan { pop vlan  pass }\n  pass\n}",
    ),
    "H0326": Explanation(
        "a tag that does not say what follows it",
        "A header that is pushed behind a link header, or popped from behind one, may stand in "
        "front of anything. What the link header says of it (Ethernet by its `type`) is moved as "
        "it is: the tag has to have a field of that name and width.",
        "header note { kind : u8 = 1 }\n"
        "parser {\n"
        "  ethernet -> note when type = 0x88b5\n"
        "  ethernet -> ipv4 as user when type = 0x0800\n"
        "}\n"
        "stage main {\n  if note { drop }\n  push note behind ethernet\n  pass\n}",
        "header note { kind : u8 = 1  type : u16 }\n"
        "parser {\n"
        "  ethernet -> note when type = 0x88b5\n"
        "  ethernet -> ipv4 as user when type = 0x0800\n"
        "}\n"
        "stage main {\n  if note { drop }\n  push note behind ethernet\n  pass\n}",
    ),
    "H0331": Explanation(
        "a tag that came stays behind one that was pushed",
        "`forward` gives a packet the link header of the egress port, in place of those that it "
        "came with; what was pushed stands behind it. A tag that came cannot stay behind that.",
        _TAGS + "  push service { id = 2 } before vlan\n  forward NEXT.way via NEXT.hop\n}",
        _TAGS + "  pop vlan\n  push service { id = 2 } before user\n"
        "  forward NEXT.way via NEXT.hop\n}",
    ),
    "H0332": Explanation(
        "a push that would be read as something else",
        "What a push writes, the pipeline's own parser must read back as what was pushed: the "
        "tests of the edges between its headers must hold, and so must what its headers `accept`, "
        "`require` and say by `payload when`; `extent` and `payload to` must reach to the end of "
        "what stands behind, as a computed length does: `= length(header, payload)`. A value that "
        "comes from a packet or a rule must be known to be right: leave it out, so that the push "
        "writes what the edge asks for, write a number, or test it further up. An edge that is "
        "there to be written only says `on push`.",
        "header note { class : u8 }\n"
        "parser {\n"
        "  ethernet -> note when type = 0x9000 and next u8 = 5\n"
        "  ethernet -> ipv4 as user when type = 0x0800\n"
        "  note -> user\n"
        "}\n"
        "stage main {\n  if note or not user { drop }\n  push note { class = 9 }\n  pass\n}",
        "header note { class : u8 }\n"
        "parser {\n"
        "  ethernet -> note when type = 0x9000 and next u8 = 5\n"
        "  ethernet -> ipv4 as user when type = 0x0800\n"
        "  note -> user\n"
        "}\n"
        "stage main {\n  if note or not user { drop }\n  push note\n  pass\n}",
    ),
    "H0333": Explanation(
        "a push makes a fragment without the rest",
        "A header that is pushed carries all that stands behind it. Where it says `more_fragments` "
        "or a `fragment_offset`, the receiver waits for the rest of the packet, which nobody "
        "sends, and drops what it has. This is a warning: a packet for a test may need it.",
        "stage main {\n  if not user or outer or vlan { pass }\n"
        "  push outer { src = 10.0.0.1, dst = 10.0.0.2, more_fragments = 1 } / gre before user\n"
        "  send back\n}",
        "stage main {\n  if not user or outer or vlan { pass }\n"
        "  push outer { src = 10.0.0.1, dst = 10.0.0.2 } / gre before user\n  send back\n}",
    ),
}
