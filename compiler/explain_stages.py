"""What `helioc explain` says about stages, actions and hooks."""

from __future__ import annotations

from ..lang.explain import Explanation

STAGES: dict[str, Explanation] = {
    "H0268": Explanation(
        "something cannot be asked of this",
        "Only an IPv4 address of the packet is `local`, and only an `ipv4` node is a `fragment`.",
        "stage main {\n  if udp { if udp is fragment { drop } }\n  pass\n}",
        "stage main {\n  if udp { if user is fragment { drop } }\n  pass\n}",
    ),
    "H0270": Explanation(
        "a node is not surely present",
        "A field can be read where every packet that gets there has the node, whatever its way "
        "through the parse graph and whatever port it came in by. `if NODE {…}` narrows; so does "
        "`if not NODE { pass }` in front. Behind `pop` the removed nodes are gone.",
        "stage main {\n  if udp.dst = 53 { drop }\n  pass\n}",
        "stage main {\n  if udp { if udp.dst = 53 { drop } }\n  pass\n}",
    ),
    "H0271": Explanation(
        "a rule is not surely bound",
        "`find` and `choose` bind a rule under the name of its kind. On a miss there is none: end "
        "the packet in the `else`, or use the rule only where it was found.",
        "stage main {\n  if not user { pass }\n  find PDR\n  if PDR gives FAR { drop }\n  pass\n}",
        "stage main {\n  if not user { pass }\n  find PDR else { default }\n"
        "  if PDR gives FAR { drop }\n  pass\n}",
    ),
    "H0272": Explanation(
        "a rule has no such element",
        "A rule has the elements that its kind matches and gives.",
        "action apply(FAR) {\n  if FAR.weight = 1 { drop }\n  pass\n}\n"
        "stage main {\n  if not user { pass }\n  find PDR else { default }\n"
        "  if PDR gives FAR { apply(FAR) }\n  pass\n}",
        "action apply(FAR) {\n  if FAR.ifindex = 1 { drop }\n  pass\n}\n"
        "stage main {\n  if not user { pass }\n  find PDR else { default }\n"
        "  if PDR gives FAR { apply(FAR) }\n  pass\n}",
    ),
    "H0273": Explanation(
        "an element has no single value",
        "An element that is matched by a prefix, a mask or a range says what fits, not one value; "
        "an optional one may be left out, so no arm may fit it.",
        "stage main {\n  if not user { pass }\n  find PDR else { default }\n"
        "  if PDR.src_ip = 10.0.0.1 { drop }\n  pass\n}",
        "stage main {\n  if not user { pass }\n  find PDR else { default }\n"
        "  if user.src = 10.0.0.1 { drop }\n  pass\n}",
    ),
    "H0274": Explanation(
        "a match is not exhaustive",
        "A `match` says what happens for every symbol, or for everything that a reference may refer "
        "to. `_ => …` takes the rest.",
        "action apply(FAR) {\n  match FAR.action {\n    DROP => drop\n    PASS => pass\n  }\n}\n"
        "stage main {\n  if not user { pass }\n  find PDR else { default }\n"
        "  if PDR gives FAR { apply(FAR) }\n  pass\n}",
        "action apply(FAR) {\n  match FAR.action {\n    DROP => drop\n    _ => pass\n  }\n}\n"
        "stage main {\n  if not user { pass }\n  find PDR else { default }\n"
        "  if PDR gives FAR { apply(FAR) }\n  pass\n}",
    ),
    "H0275": Explanation(
        "an arm is never taken",
        "An arm above covers the same values.",
        "action apply(FAR) {\n  match FAR.action {\n    DROP => drop\n    DROP => pass\n    _ => pass\n  }\n}\n"
        "stage main {\n  if not user { pass }\n  find PDR else { default }\n"
        "  if PDR gives FAR { apply(FAR) }\n  pass\n}",
        "action apply(FAR) {\n  match FAR.action {\n    DROP => drop\n    _ => pass\n  }\n}\n"
        "stage main {\n  if not user { pass }\n  find PDR else { default }\n"
        "  if PDR gives FAR { apply(FAR) }\n  pass\n}",
    ),
    "H0276": Explanation(
        "this cannot be matched on",
        "`match` is for elements with symbols and for references, where the compiler knows all that "
        "there can be. Compare anything else by `if`.",
        "stage main {\n  if not user { pass }\n  match user.protocol { _ => pass }\n}",
        "stage main {\n  if not user { pass }\n  if user.protocol = 6 { drop }\n  pass\n}",
    ),
    "H0277": Explanation(
        "an arm binds nothing",
        "A symbol stands for a number: there is no rule to bind. Only arms of a reference bind one.",
        "action apply(FAR) {\n  match FAR.action {\n    DROP d => drop\n    _ => pass\n  }\n}\n"
        "stage main {\n  if not user { pass }\n  find PDR else { default }\n"
        "  if PDR gives FAR { apply(FAR) }\n  pass\n}",
        "action apply(FAR) {\n  match FAR.action {\n    DROP => drop\n    _ => pass\n  }\n}\n"
        "stage main {\n  if not user { pass }\n  find PDR else { default }\n"
        "  if PDR gives FAR { apply(FAR) }\n  pass\n}",
    ),
    "H0278": Explanation(
        "a rule does not lead there",
        "`A gives B` and `choose … from A.B` need a kind A that says `gives … | B`; `choose F from "
        "A.B` needs a B that spreads over F.",
        "stage main {\n  if not user { pass }\n  find PDR else { default }\n"
        "  if PDR gives OVERLAY { drop }\n  pass\n}",
        "stage main {\n  if not user { pass }\n  find PDR else { default }\n"
        "  if PDR gives FAR { drop }\n  pass\n}",
    ),
    "H0279": Explanation(
        "a kind is bound already",
        "Within a block that binds a rule under this name, or that knows an element's value from a "
        "match arm, the name cannot be bound to another rule.",
        "stage main {\n  if not user { pass }\n  find PDR else { default }\n"
        "  if PDR gives FAR {\n    if PDR gives FAR { drop }\n  }\n  pass\n}",
        "stage main {\n  if not user { pass }\n  find PDR else { default }\n"
        "  if PDR gives FAR { drop }\n  pass\n}",
    ),
    "H0280": Explanation(
        "a statement is never reached",
        "What stands above gives a verdict on every way, and a verdict ends the packet.",
        "stage main {\n  pass\n  drop\n}",
        "stage main {\n  pass\n}",
    ),
    "H0281": Explanation(
        "the last stage may end without a verdict",
        "A stage that ends hands the packet to the next one. The last must say what becomes of it, "
        "on every way that a packet can take through it.",
        "stage main {\n  if user { pass }\n}",
        "stage main {\n  if user { pass }\n  drop\n}",
    ),
    "H0282": Explanation(
        "an action applies itself",
        "An action is put in place of its application, so it cannot contain itself, not through "
        "others either.",
        "action apply(FAR) {\n  apply(FAR)\n}\n"
        "stage main {\n  if not user { pass }\n  find PDR else { default }\n"
        "  if PDR gives FAR { apply(FAR) }\n  pass\n}",
        "action apply(FAR) {\n  pass\n}\n"
        "stage main {\n  if not user { pass }\n  find PDR else { default }\n"
        "  if PDR gives FAR { apply(FAR) }\n  pass\n}",
    ),
    "H0283": Explanation(
        "an action is applied to the wrong kind of rule",
        "`action NAME(KIND)` takes a rule of that kind.",
        "action apply(FAR) {\n  pass\n}\n"
        "stage main {\n  if not user { pass }\n  find PDR else { default }\n  apply(PDR)\n}",
        "action apply(FAR) {\n  pass\n}\n"
        "stage main {\n  if not user { pass }\n  find PDR else { default }\n"
        "  if PDR gives FAR { apply(FAR) }\n  pass\n}",
    ),
    "H0284": Explanation(
        "no edge can be written",
        "A header is announced by a field of the one in front: what to write there is read off the "
        "edge between them. It needs an edge whose guard leaves one value, or that says `write`. "
        "Writing ignores the roles that an edge is read on.",
        "parser {\n  ethernet -> ipv4 as user when type = 0x0800 on lan\n"
        "  ethernet -> ipv4 as outer when type = 0x0800 on wan\n"
        "  outer -> user when protocol = 4 | 94\n}\n"
        "stage main {\n  if port is wan or not user { pass }\n"
        "  push outer { src = 10.0.0.1, dst = 10.0.0.2 }\n  pass\n}",
        "parser {\n  ethernet -> ipv4 as user when type = 0x0800 on lan\n"
        "  ethernet -> ipv4 as outer when type = 0x0800 on wan\n"
        "  outer -> user when protocol = 4 | 94 write 4\n}\n"
        "stage main {\n  if port is wan or not user { pass }\n"
        "  push outer { src = 10.0.0.1, dst = 10.0.0.2 }\n  pass\n}",
    ),
    "H0285": Explanation(
        "two edges could be written",
        "Two edges lead from one node to the other and would write different values.",
        "parser {\n  ethernet -> ipv4 as user when type = 0x0800 on lan\n"
        "  ethernet -> ipv4 as outer when type = 0x0800 on wan\n  outer -> gre when protocol = 47\n"
        "  gre -> user when protocol = 0x0800 on wan\n  gre -> user when protocol = 0x0801 on lan\n}\n"
        "stage main {\n  if port is wan { pass }\n  if not user { pass }\n"
        "  push outer { src = 10.0.0.1, dst = 10.0.0.2 } / gre\n  pass\n}\n",
        "parser {\n  ethernet -> ipv4 as user when type = 0x0800 on lan\n"
        "  ethernet -> ipv4 as outer when type = 0x0800 on wan\n  outer -> gre when protocol = 47\n"
        "  gre -> user when protocol = 0x0800 on wan\n"
        "  gre -> user when protocol = 0x0801 write 0x0801 on lan\n}\n"
        "stage main {\n  pass\n}\n",
    ),
    "H0286": Explanation(
        "a node that is there cannot be pushed",
        "A packet has each node once. Where some packets that get to the push have it already, end "
        "or narrow those, or `pop` the node first.",
        "stage main {\n  if not user { pass }\n  push outer { src = 10.0.0.1, dst = 10.0.0.2 } / gre\n  drop\n}",
        "stage main {\n  if not user { pass }\n  if port is wan { pop to user }\n"
        "  push outer { src = 10.0.0.1, dst = 10.0.0.2 } / gre\n  drop\n}",
    ),
    "H0287": Explanation(
        "there is no place for a push",
        "A push goes in front of a node behind the link headers: the one named by `before`, or the "
        "outermost one that the last pushed header has an edge to. Every packet must have it, and "
        "it must be the same one.",
        "stage main {\n  if port is wan { pass }\n"
        "  push outer { src = 10.0.0.1, dst = 10.0.0.2 } / gre\n  drop\n}",
        "stage main {\n  if port is wan { pass }\n  if not user { pass }\n"
        "  push outer { src = 10.0.0.1, dst = 10.0.0.2 } / gre\n  drop\n}",
    ),
    "H0288": Explanation(
        "a pushed header is read",
        "Pushes are carried out when the packet leaves: until then there is nothing to read.",
        "stage main {\n  if port is wan { pass }\n  if not user { pass }\n"
        "  push outer { src = 10.0.0.1, dst = 10.0.0.2 } / gre\n"
        "  if outer.src = 10.0.0.1 { drop }\n  drop\n}",
        "stage main {\n  if port is wan { pass }\n  if not user { pass }\n"
        "  push outer { src = 10.0.0.1, dst = 10.0.0.2 } / gre\n  drop\n}",
    ),
    "H0289": Explanation(
        "the link header cannot announce what follows",
        "`forward` builds a new link header. Everything else keeps the one that the packet came "
        "with: its type must say what a pop or push has put behind it, and that is read off an edge.",
        "stage main {\n  if port is wan { pass }\n  if not user { pass }\n"
        "  push outer { src = 10.0.0.1, dst = 10.0.0.2 } / gre\n  pass\n}",
        "stage main {\n  if port is wan { pass }\n  if not user or vlan { pass }\n"
        "  push outer { src = 10.0.0.1, dst = 10.0.0.2 } / gre\n  pass\n}",
    ),
    "H0290": Explanation(
        "a push leaves a field without a value",
        "A field of a pushed header has the value that the push gives, that the edge to the next "
        "header writes, or its default. One has none of them.",
        "stage main {\n  if port is wan { pass }\n  if not user { pass }\n"
        "  push outer { src = 10.0.0.1 } / gre\n  drop\n}",
        "stage main {\n  if port is wan { pass }\n  if not user { pass }\n"
        "  push outer { src = 10.0.0.1, dst = 10.0.0.2 } / gre\n  drop\n}",
    ),
    "H0291": Explanation(
        "a field is kept right by the compiler",
        "Lengths, checksums, the field that tells the header's size and the flags of optional "
        "groups follow from the rest. A group is there when one of its fields is given.",
        "stage main {\n  if port is wan { pass }\n  if not user { pass }\n"
        "  push outer { src = 10.0.0.1, dst = 10.0.0.2 } / gre { key_present = 1 }\n  drop\n}",
        "stage main {\n  if port is wan { pass }\n  if not user { pass }\n"
        "  push outer { src = 10.0.0.1, dst = 10.0.0.2 } / gre { key = 7 }\n  drop\n}",
    ),
    "H0292": Explanation(
        "`forward` needs a port",
        "A port is bound by an arm (`port p => …`) or is what an element refers to. Which rules must "
        "refer to a port follows, and is asked of the controller.",
        "stage main {\n  if port is wan { pass }\n  if not user { pass }\n  forward lan via user.dst\n}",
        "action apply(FAR) {\n  forward FAR.interface via user.dst\n}\n"
        "stage main {\n  if not user { pass }\n  find PDR else { default }\n"
        "  if port is wan { pop to user }\n  if PDR gives FAR { apply(FAR) }\n  drop\n}",
    ),
    "H0293": Explanation(
        "`forward` needs an IPv4 packet",
        "`forward` decrements the time to live of the outermost IPv4 header that came with the "
        "packet, so every packet must have one there.",
        "parser {\n  ethernet -> arp when type = 0x0806\n}\nie way = 20, port\nie hop = 21, ip4\nie peer = 22, ip4\n"
        "rule NEXT [16] {\n  match peer exact arp.target_ip\n  gives way, hop\n}\n"
        "stage main {\n  if not arp { pass }\n  find NEXT else { pass }\n"
        "  forward NEXT.way via NEXT.hop\n}",
        "parser {\n  ethernet -> ipv4 when type = 0x0800\n}\nie way = 20, port\nie hop = 21, ip4\nie peer = 22, ip4\n"
        "rule NEXT [16] {\n  match peer exact ipv4.dst\n  gives way, hop\n}\n"
        "stage main {\n  if not ipv4 { pass }\n  find NEXT else { pass }\n"
        "  forward NEXT.way via NEXT.hop\n}",
    ),
    "H0294": Explanation(
        "a verdict cannot be said here",
        "Hooks pass or drop; `too_big` and `ttl_expired` may also `reply icmp`, which nothing else "
        "may. The default of a miss is `pass` or `drop`.",
        "on malformed { reply icmp }",
        "on ttl_expired { reply icmp }",
    ),
    "H0295": Explanation(
        "a stage or an action is not used (warning)",
        "Only the stages of the `run` line run, and an action does nothing unless it is applied.",
        "action unused(FAR) {\n  pass\n}",
        "",
    ),
    "H0296": Explanation(
        "a stage runs twice",
        "A packet goes through each stage at most once. What is to be done twice is an action.",
        "stage main { drop }\nrun parser -> main -> main",
        "stage main { drop }\nrun parser -> main",
    ),
    "H0297": Explanation(
        "the parser comes first",
        "`run` begins with `parser`: it runs once, in front of all stages.",
        "stage main { drop }\nrun main -> parser",
        "stage main { drop }\nrun parser -> main",
    ),
    "H0298": Explanation(
        "a condition is known beforehand (warning)",
        "Of the packets that get here all or none meet the condition.",
        "stage main {\n  if port is lan { if outer { drop } }\n  pass\n}",
        "stage main {\n  if port is wan { if outer { drop } }\n  pass\n}",
    ),
    "H0299": Explanation(
        "an `else` does nothing",
        "Without a chosen rule the packet would go on with none. Say what becomes of it; without an "
        "`else` it is dropped, and counted.",
        "stage main {\n  if not user { pass }\n  find PDR else { default }\n"
        "  choose FAR from PDR.LBR else { }\n  pass\n}",
        "stage main {\n  if not user { pass }\n  find PDR else { default }\n"
        "  choose FAR from PDR.LBR\n  pass\n}",
    ),
}
