"""What `helioc explain` says about information elements and rule kinds."""

from __future__ import annotations

from ...lang.text.explain import Explanation

RULES: dict[str, Explanation] = {
    "H0250": Explanation(
        "two elements have one number",
        "The number is the element's name on the wire: no two may share it.",
        "ie colour = 40, u8\nie shade = 40, u8",
        "ie colour = 40, u8\nie shade = 41, u8",
    ),
    "H0251": Explanation(
        "a number is out of bounds",
        "Elements have the numbers 1 to 65535, rule kinds a capacity of 1 to 4M, and a spread "
        "1 to 255 members, the lower bound first.",
        "rule CLASS [0] {\n  gives weight\n}",
        "rule CLASS [16] {\n  gives weight\n}",
    ),
    "H0252": Explanation(
        "an element is a value and a reference",
        "An element has one type of value, or refers to a rule of one of several kinds or a port.",
        "ie way = 40, u32 | port",
        "ie way = 40, FAR | port",
    ),
    "H0253": Explanation(
        "an element cannot have symbols",
        "Symbols name numbers: addresses and references have none.",
        "ie peer = 40, ip4 { HUB = 1 }",
        "ie peer = 40, u8 { HUB = 1 }",
    ),
    "H0254": Explanation(
        "two symbols have one value",
        "An element's symbols stand for different numbers, so that each value is shown by one "
        "name.",
        "ie mode = 40, u8 { FAST = 1, SLOW = 1 }",
        "ie mode = 40, u8 { FAST = 1, SLOW = 2 }",
    ),
    "H0255": Explanation(
        "an element does not go with the field it matches",
        "The element and the field have the same kind and the same width.",
        "rule CLASS [16] {\n  match src_port exact user.protocol\n}",
        "rule CLASS [16] {\n  match protocol exact user.protocol\n}",
    ),
    "H0256": Explanation(
        "there is no such match kind",
        "`exact`, `lpm` (longest prefix), `optional` (exact or any), `ternary` (value and "
        "mask) and `range` are the ways to match.",
        "rule CLASS [16] {\n  match protocol precise user.protocol\n}",
        "rule CLASS [16] {\n  match protocol exact user.protocol\n}",
    ),
    "H0257": Explanation(
        "a match kind does not go with the type",
        "MAC addresses have neither prefixes nor ranges, and ranges end at 64 bits.",
        "ie station = 40, mac\nrule CLASS [16] {\n  match station range ethernet.src\n}",
        "ie station = 40, mac\nrule CLASS [16] {\n  match station ternary ethernet.src\n}",
    ),
    "H0258": Explanation(
        "a rule has an element twice",
        "An element means one thing in a rule: it is matched, given, or orders the rules.",
        "rule CLASS [16] {\n  match tos exact user.tos\n  gives tos, weight\n}",
        "rule CLASS [16] {\n  match tos exact user.tos\n  gives weight\n}",
    ),
    "H0259": Explanation(
        "rule kinds refer to each other",
        "What a rule gives, and the members of a spread, lead one way: a chain of rules has an "
        "end.",
        "rule ONE [16] { gives TWO }\nrule TWO [16] { gives ONE }",
        "rule ONE [16] { gives TWO }\nrule TWO [16] { gives weight }",
    ),
    "H0260": Explanation(
        "elements and rule kinds in one list",
        "`gives a, b` says what a rule carries, `gives X | Y` to which rule it leads. A rule "
        "kind may say both, in two clauses.",
        "rule CLASS [16] {\n  gives weight, FAR\n}",
        "rule CLASS [16] {\n  gives weight\n  gives FAR\n}",
    ),
    "H0261": Explanation(
        "the wrong separator in `gives`",
        "Elements are separated by commas (a rule may have all), rule kinds by `|` (a rule "
        "leads to one).",
        "rule CLASS [16] {\n  gives FAR, LBR\n}",
        "rule CLASS [16] {\n  gives FAR | LBR\n}",
    ),
    "H0262": Explanation(
        "an element cannot order or weigh",
        "Priorities and weights are numbers of up to 32 bits.",
        "rule CLASS [16] {\n  match tos exact user.tos\n  priority local_ip\n}",
        "rule CLASS [16] {\n  match tos exact user.tos\n  priority weight\n}",
    ),
    "H0263": Explanation(
        "a group's rule is reached on its own",
        "`choose … from PDR.LBR` makes LBR a group: several rules share an id and are told "
        "apart by their match. No single one of them can be bound by `find`, `gives` or a "
        "match arm.",
        "stage main {\n"
        "  if not user { pass }\n"
        "  find LBR else { default }\n"
        "  find PDR else { default }\n"
        "  choose FAR from PDR.LBR\n"
        "  pass\n"
        "}",
        "stage main {\n"
        "  if not user { pass }\n"
        "  find PDR else { default }\n"
        "  choose FAR from PDR.LBR\n"
        "  pass\n"
        "}",
    ),
    "H0264": Explanation(
        "a kind without `match` is looked up",
        "`find` asks which rule matches the packet. A kind that matches nothing is reached by "
        "reference.",
        "stage main {\n  find FAR else { default }\n  pass\n}",
        "stage main {\n"
        "  if not user { pass }\n"
        "  find PDR else { default }\n"
        "  if PDR gives FAR { drop }\n"
        "  pass\n"
        "}",
    ),
    "H0225": Explanation(
        "a look-up never finds a rule",
        "Each rule of the kind matches a field (`exact`), and no packet that gets here has its "
        "header. Behind a `find` that found a rule, the packet surely has what the rule matched.",
        "stage main {\n  if port is lan { find OVERLAY else { default } drop }\n  pass\n}",
        "stage main {\n  if port is wan { find OVERLAY else { default } drop }\n  pass\n}",
    ),
    "H0265": Explanation(
        "a rule cannot count this",
        "Rules count `packets`, `bytes`, and `sizes`: packets by size.",
        "rule CLASS [16] {\n  gives weight\n  counts octets\n}",
        "rule CLASS [16] {\n  gives weight\n  counts bytes\n}",
    ),
    "H0266": Explanation(
        "a `find` gives what its kind does not match",
        "`find KIND(element = value)` says what the look-up matches in place of the packet's own "
        "field: each element is one that the kind's `match` names.",
        "stage main {\n  if not user { pass }\n  find PDR(weight = 1) else { default }\n  pass\n}",
        "stage main {\n"
        "  if not user { pass }\n"
        "  find PDR(protocol = 6) else { default }\n"
        "  pass\n"
        "}",
    ),
    "H0267": Explanation(
        "a look-up lacks a value",
        "An element that matches `given` is no field of the packet: every `find` of the kind says "
        "its value.",
        "rule CLASS [16] {\n  match weight exact given\n}\n"
        "stage main {\n  find CLASS else { default }\n  pass\n}",
        "rule CLASS [16] {\n  match weight exact given\n}\n"
        "stage main {\n  find CLASS(weight = 3) else { default }\n  pass\n}",
    ),
    "H0328": Explanation(
        "a rule found by a hash does not match exactly",
        "`by hash` says that a target which has to hash by itself, as network cards do, finds "
        "these rules by the jhash of all that they match, and compares it afterwards. A prefix, "
        "a mask, a range or an element that may be left out has no hash.",
        "rule FLOW [16] by hash {\n  match src_ip lpm user.src\n}",
        "rule FLOW [16] by hash {\n  match src_ip exact user.src\n}",
    ),
    "H0329": Explanation(
        "a rule found by a hash matches nothing",
        "`by hash` is about what the kind matches.",
        "rule FLOW [16] by hash {\n  gives action\n}",
        "rule FLOW [16] by hash {\n  match src_ip exact user.src\n  gives action\n}",
    ),
}
