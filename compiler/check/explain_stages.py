"""What `helioc explain` says about stages, actions and hooks."""

from __future__ import annotations

from ...lang.text.explain import Explanation

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
        "through the parse graph and whatever port it came in by. `if NODE {…}` narrows; so "
        "does `if not NODE { pass }` in front. Behind `pop` the removed nodes are gone.",
        "stage main {\n  if udp.dst = 53 { drop }\n  pass\n}",
        "stage main {\n  if udp { if udp.dst = 53 { drop } }\n  pass\n}",
    ),
    "H0271": Explanation(
        "a rule is not surely bound",
        "`find` and `choose` bind a rule under the name of its kind. On a miss there is none: "
        "end the packet in the `else`, or use the rule only where it was found.",
        "stage main {\n  if not user { pass }\n  find PDR\n  if PDR gives FAR { drop }\n  pass\n}",
        "stage main {\n"
        "  if not user { pass }\n"
        "  find PDR else { default }\n"
        "  if PDR gives FAR { drop }\n"
        "  pass\n"
        "}",
    ),
    "H0272": Explanation(
        "a rule has no such element",
        "A rule has the elements that its kind matches and gives.",
        "action apply(FAR) {\n"
        "  if FAR.weight = 1 { drop }\n"
        "  pass\n"
        "}\n"
        "stage main {\n"
        "  if not user { pass }\n"
        "  find PDR else { default }\n"
        "  if PDR gives FAR { apply(FAR) }\n"
        "  pass\n"
        "}",
        "action apply(FAR) {\n"
        "  if FAR.ifindex = 1 { drop }\n"
        "  pass\n"
        "}\n"
        "stage main {\n"
        "  if not user { pass }\n"
        "  find PDR else { default }\n"
        "  if PDR gives FAR { apply(FAR) }\n"
        "  pass\n"
        "}",
    ),
    "H0273": Explanation(
        "an element has no single value",
        "An element that is matched by a prefix, a mask or a range says what fits, not one "
        "value; an optional one may be left out, so no arm may fit it.",
        "stage main {\n"
        "  if not user { pass }\n"
        "  find PDR else { default }\n"
        "  if PDR.src_ip = 10.0.0.1 { drop }\n"
        "  pass\n"
        "}",
        "stage main {\n"
        "  if not user { pass }\n"
        "  find PDR else { default }\n"
        "  if user.src = 10.0.0.1 { drop }\n"
        "  pass\n"
        "}",
    ),
    "H0274": Explanation(
        "a match is not exhaustive",
        "A `match` says what happens for every symbol, or for everything that a reference may "
        "refer to. `_ => …` takes the rest.",
        "action apply(FAR) {\n"
        "  match FAR.action {\n"
        "    DROP => drop\n"
        "    PASS => pass\n"
        "  }\n"
        "}\n"
        "stage main {\n"
        "  if not user { pass }\n"
        "  find PDR else { default }\n"
        "  if PDR gives FAR { apply(FAR) }\n"
        "  pass\n"
        "}",
        "action apply(FAR) {\n"
        "  match FAR.action {\n"
        "    DROP => drop\n"
        "    _ => pass\n"
        "  }\n"
        "}\n"
        "stage main {\n"
        "  if not user { pass }\n"
        "  find PDR else { default }\n"
        "  if PDR gives FAR { apply(FAR) }\n"
        "  pass\n"
        "}",
    ),
    "H0275": Explanation(
        "an arm is never taken",
        "An arm above covers the same values.",
        "action apply(FAR) {\n"
        "  match FAR.action {\n"
        "    DROP => drop\n"
        "    DROP => pass\n"
        "    _ => pass\n"
        "  }\n"
        "}\n"
        "stage main {\n"
        "  if not user { pass }\n"
        "  find PDR else { default }\n"
        "  if PDR gives FAR { apply(FAR) }\n"
        "  pass\n"
        "}",
        "action apply(FAR) {\n"
        "  match FAR.action {\n"
        "    DROP => drop\n"
        "    _ => pass\n"
        "  }\n"
        "}\n"
        "stage main {\n"
        "  if not user { pass }\n"
        "  find PDR else { default }\n"
        "  if PDR gives FAR { apply(FAR) }\n"
        "  pass\n"
        "}",
    ),
    "H0276": Explanation(
        "this cannot be matched on",
        "`match` is for elements with symbols and for references, where the compiler knows all "
        "that there can be. Compare anything else by `if`.",
        "stage main {\n  if not user { pass }\n  match user.protocol { _ => pass }\n}",
        "stage main {\n  if not user { pass }\n  if user.protocol = 6 { drop }\n  pass\n}",
    ),
    "H0277": Explanation(
        "an arm binds nothing",
        "A symbol stands for a number: there is no rule to bind. Only arms of a reference bind "
        "one.",
        "action apply(FAR) {\n"
        "  match FAR.action {\n"
        "    DROP d => drop\n"
        "    _ => pass\n"
        "  }\n"
        "}\n"
        "stage main {\n"
        "  if not user { pass }\n"
        "  find PDR else { default }\n"
        "  if PDR gives FAR { apply(FAR) }\n"
        "  pass\n"
        "}",
        "action apply(FAR) {\n"
        "  match FAR.action {\n"
        "    DROP => drop\n"
        "    _ => pass\n"
        "  }\n"
        "}\n"
        "stage main {\n"
        "  if not user { pass }\n"
        "  find PDR else { default }\n"
        "  if PDR gives FAR { apply(FAR) }\n"
        "  pass\n"
        "}",
    ),
    "H0278": Explanation(
        "a rule does not lead there",
        "`A gives B` and `choose … from A.B` need a kind A that says `gives … | B`; `choose F "
        "from A.B` needs a B that spreads over F.",
        "stage main {\n"
        "  if not user { pass }\n"
        "  find PDR else { default }\n"
        "  if PDR gives OVERLAY { drop }\n"
        "  pass\n"
        "}",
        "stage main {\n"
        "  if not user { pass }\n"
        "  find PDR else { default }\n"
        "  if PDR gives FAR { drop }\n"
        "  pass\n"
        "}",
    ),
    "H0279": Explanation(
        "a kind is bound already",
        "Within a block that binds a rule under this name, or that knows an element's value "
        "from a match arm, the name cannot be bound to another rule.",
        "stage main {\n"
        "  if not user { pass }\n"
        "  find PDR else { default }\n"
        "  if PDR gives FAR {\n"
        "    if PDR gives FAR { drop }\n"
        "  }\n"
        "  pass\n"
        "}",
        "stage main {\n"
        "  if not user { pass }\n"
        "  find PDR else { default }\n"
        "  if PDR gives FAR { drop }\n"
        "  pass\n"
        "}",
    ),
    "H0280": Explanation(
        "a statement is never reached",
        "What stands above gives a verdict on every way, and a verdict ends the packet.",
        "stage main {\n  pass\n  drop\n}",
        "stage main {\n  pass\n}",
    ),
    "H0281": Explanation(
        "the last stage may end without a verdict",
        "A stage that ends hands the packet to the next one. The last must say what becomes of "
        "it, on every way that a packet can take through it.",
        "stage main {\n  if user { pass }\n}",
        "stage main {\n  if user { pass }\n  drop\n}",
    ),
    "H0282": Explanation(
        "an action applies itself",
        "An action is put in place of its application, so it cannot contain itself, not "
        "through others either.",
        "action apply(FAR) {\n"
        "  apply(FAR)\n"
        "}\n"
        "stage main {\n"
        "  if not user { pass }\n"
        "  find PDR else { default }\n"
        "  if PDR gives FAR { apply(FAR) }\n"
        "  pass\n"
        "}",
        "action apply(FAR) {\n"
        "  pass\n"
        "}\n"
        "stage main {\n"
        "  if not user { pass }\n"
        "  find PDR else { default }\n"
        "  if PDR gives FAR { apply(FAR) }\n"
        "  pass\n"
        "}",
    ),
    "H0283": Explanation(
        "an action is applied to the wrong kind of rule",
        "`action NAME(KIND)` takes a rule of that kind.",
        "action apply(FAR) {\n"
        "  pass\n"
        "}\n"
        "stage main {\n"
        "  if not user { pass }\n"
        "  find PDR else { default }\n"
        "  apply(PDR)\n"
        "}",
        "action apply(FAR) {\n"
        "  pass\n"
        "}\n"
        "stage main {\n"
        "  if not user { pass }\n"
        "  find PDR else { default }\n"
        "  if PDR gives FAR { apply(FAR) }\n"
        "  pass\n"
        "}",
    ),
    "H0294": Explanation(
        "a verdict cannot be said here",
        "Hooks pass or drop; `too_big` and `ttl_expired` may also `reply icmp`, which nothing "
        "else may. `malformed` and `tiny_fragment` may also `continue`: the stages get the packet "
        "without the header at which parsing stopped. What rules look for is not in a tiny "
        "fragment, so it never passes them. The default of a miss is `pass` or `drop`.",
        "on malformed { reply icmp }",
        "on ttl_expired { reply icmp }",
    ),
    "H0295": Explanation(
        "a stage or an action is not used (warning)",
        "Only the stages of the `run` line run, and an action does nothing unless it is applied.",
        "action unused(FAR) {\n  pass\n}",
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
        "Of the packets that get here all or none meet the condition: by what was asked before, "
        "or as its own comparisons exclude each other (`a = 5 and a = 6`) or leave nothing out "
        "(`a != 5 or a != 6`).",
        "stage main {\n  if port is lan { if outer { drop } }\n  pass\n}",
        "stage main {\n  if port is wan { if outer { drop } }\n  pass\n}",
    ),
    "H0299": Explanation(
        "an `else` does nothing",
        "Without a chosen rule the packet would go on with none. Say what becomes of it; "
        "without an `else` it is dropped, and counted.",
        "stage main {\n"
        "  if not user { pass }\n"
        "  find PDR else { default }\n"
        "  choose FAR from PDR.LBR else { }\n"
        "  pass\n"
        "}",
        "stage main {\n"
        "  if not user { pass }\n"
        "  find PDR else { default }\n"
        "  choose FAR from PDR.LBR\n"
        "  pass\n"
        "}",
    ),
}
