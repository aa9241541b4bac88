"""What `helioc explain` says about requests (H04xx). The examples are requests to `linx`."""

from __future__ import annotations

from ...text.explain import Explanation

SPELLING = {
    "H0401": Explanation(
        "unreadable characters",
        "A request is made of words, numbers, addresses and the signs ( ) [ ] , : ; / & and "
        "`..`. Names with other characters, or that begin with a digit, stand in double "
        "quotes.",
        "create OVERLAY 1st [(local_ip, u32, 192.0.2.1)]",
        'create OVERLAY "1st" [(local_ip, u32, 192.0.2.1), (remote_ip, u32, 192.0.2.2), '
        "(interface, u32, wan1)]",
    ),
    "H0402": Explanation(
        "not the form of a request",
        "A request is a list of changes: `create`, `update`, `delete` or `replace`, then "
        "rules. A rule is its kind, perhaps an id or a name, and in brackets its elements, "
        "each (type, length, value), and the rules within it; `FAR 1 [ ]` has none. Behind a "
        "colon they stand without brackets: `LBR: FAR 1, FAR 2`. Commas part the items of a "
        "list; `;` between changes may be left out.",
        "create FAR [(action, u8 DROP)]",
        "create FAR [(action, u8, DROP)]",
    ),
    "H0403": Explanation(
        "nested too deeply",
        "Rules stand within rules at most 16 deep; no pipeline needs more than three.",
        "create PDR [PDR [PDR [PDR [PDR [PDR [PDR [PDR [PDR [PDR [PDR [PDR [PDR [PDR [PDR "
        "[PDR [PDR [PDR []]]]]]]]]]]]]]]]]]",
        "create PDR [LBR [FAR 19]]",
    ),
    "H0404": Explanation(
        "an empty request",
        "The request says nothing, or only comments.",
        "// create FAR",
        "create FAR [(action, u8, DROP)]",
    ),
    "H0405": Explanation(
        "not an operation",
        "A change begins with `create`, `update`, `delete` or `replace`.",
        "creat FAR [(action, u8, DROP)]",
        "create FAR [(action, u8, DROP)]",
    ),
    "H0406": Explanation(
        "a rule that is too long",
        "What stands between two commas of a change, brackets and all, has at most 8,192 words, "
        "numbers and marks. Where a bracket is not closed, all that follows is within it.",
    ),
    "H0410": Explanation(
        "unknown kind of rule",
        "The pipeline declares its kinds of rules; `helioctl show` lists them. Case, `-` and "
        "`_` do not matter.",
        "create FARR [(action, u8, DROP)]",
        "create FAR [(action, u8, DROP)]",
    ),
    "H0411": Explanation(
        "unknown information element",
        "The pipeline declares its elements with `ie`; the first of the tuple is such a name,"
        " or its number.",
        "create FAR [(actoin, u8, DROP)]",
        "create FAR [(action, u8, DROP)]",
    ),
    "H0412": Explanation(
        "an element of other rules",
        "The element exists, but rules of this kind do not have it.",
        "create FAR [(action, u8, DROP), (src_ip, u32, 10.0.0.1)]",
        "create FAR [(action, u8, DROP)]",
    ),
    "H0413": Explanation(
        "an element twice",
        "Each element of a rule is given once; `IP address` means the next one each time.",
        "create FAR [(action, u8, DROP), (action, u8, PASS)]",
        "create FAR [(action, u8, DROP)]",
    ),
    "H0414": Explanation(
        "wrong length",
        "The length of a tuple is that of its element: u8, u16, u32, u64, u48 (MAC, also u64)"
        " or u128 (IPv6). Widths in between, such as u6 and u12, travel in the next of these.",
        "create FAR [(action, u32, DROP)]",
        "create FAR [(action, u8, DROP)]",
    ),
    "H0415": Explanation(
        "not a value of this element",
        "An address element takes addresses or decimals, others numbers or symbols.",
        "create PDR [(src_ip, u32, TCP), FAR 19]",
        "create PDR [(src_ip, u32, 10.0.0.1), FAR 19]",
    ),
    "H0416": Explanation(
        "a value too large",
        "The value has more bits than the element.",
        "create PDR [(dscp, u8, 64), FAR 19]",
        "create PDR [(dscp, u8, 46), FAR 19]",
    ),
    "H0417": Explanation(
        "not in the enumeration",
        "An element with an enumeration takes its values alone, by symbol or number.",
        "create FAR [(action, u8, 9)]",
        "create FAR [(action, u8, 3)]",
    ),
    "H0418": Explanation(
        "a form that the match does not take",
        "`exact` and `optional` elements take a value, `lpm` a value or a prefix, `ternary` a"
        " value or a value under a mask, `range` a value or a range.",
        "create PDR [(protocol, u8, 6 & 0xf), FAR 19]",
        "create PDR [(tos, u8, 184 & 0xfc), FAR 19]",
    ),
    "H0419": Explanation(
        "more than a value",
        "Elements that a rule gives are values; only what it matches has prefixes, masks, "
        "ranges.",
        "create FAR [(action, u8, 1..3)]",
        "create FAR [(action, u8, 3)]",
    ),
    "H0420": Explanation(
        "no prefix length",
        "A prefix has at most as many bits as its element.",
        "create PDR [(src_ip, u32, 10.0.0.0/33), FAR 19]",
        "create PDR [(src_ip, u32, 10.0.0.0/8), FAR 19]",
    ),
    "H0421": Explanation(
        "bits behind the prefix",
        "The bits that a prefix does not cover must be 0: otherwise one of the two numbers is"
        " a slip.",
        "create PDR [(src_ip, u32, 10.1.2.3/16), FAR 19]",
        "create PDR [(src_ip, u32, 10.1.0.0/16), FAR 19]",
    ),
    "H0422": Explanation(
        "an empty range",
        "A range goes from its lower to its upper end, both included.",
        "create PDR [(src_port, u16, 20..10), FAR 19]",
        "create PDR [(src_port, u16, 10..20), FAR 19]",
    ),
    "H0423": Explanation(
        "a mask with holes",
        "An `lpm` element matches prefixes: ones, then zeros.",
        "create PDR [(src_ip, u32, 10.0.0.1 & 255.0.0.255), FAR 19]",
        "create PDR [(src_ip, u32, 10.0.0.0 & 255.0.0.0), FAR 19]",
    ),
    "H0424": Explanation(
        "contradicting elements",
        "Two elements match the same bits of the packet and ask for different values, so that"
        " nothing ever matches.",
        "create PDR [(tos, u8, 0), (dscp, u8, 46), FAR 19]",
        "create PDR [(tos, u8, 184), (dscp, u8, 46), FAR 19]",
    ),
    "H0425": Explanation(
        "an address too many",
        "The n-th `IP address` of a rule is its n-th address element, in the order declared.",
        "create PDR: (IP address, u32, 1), (IP address, u32, 2), (IP address, u32, 3), FAR 19",
        "create PDR: (IP address, u32, 1), (IP address, u32, 2), FAR 19",
    ),
    "H0426": Explanation(
        "bits that are not compared",
        "A warning: the value has bits that the match leaves out, so it matches more than it says. "
        "A ToS or traffic class without a mask leaves ECN out (RFC 3168 section 5), a value under "
        "a mask what lies outside the mask. Write the value without these bits, or a mask that "
        "has them: `7 & 0xff`. Bits behind a prefix are an error (H0421).",
    ),
    "H0427": Explanation(
        "a reserved value",
        "The pipeline names this value, `BUFFER = 4 reserved`, but does not carry it out. The help "
        "says why, and what to write instead.",
        "create FAR [(action, u8, BUFFER)]",
        "create FAR [(action, u8, PASS)]",
    ),
}  # fmt: skip

RULES = {
    "H0430": Explanation(
        "a missing element",
        "The pipeline reads this element of such a rule, so the rule cannot be carried out "
        "without it.",
        "create FAR [(action, u8, REDIRECT)]",
        "create FAR [(action, u8, REDIRECT), (interface, u32, GRE-WAN1)]",
    ),
    "H0431": Explanation(
        "a missing exact element",
        "What is matched exactly must be given: there is no way to say any.",
        "create OVERLAY W [(local_ip, u32, 192.0.2.1), (interface, u32, wan1)]",
        "create OVERLAY W [(local_ip, u32, 192.0.2.1), (remote_ip, u32, 192.0.2.2), "
        "(interface, u32, wan1)]",
    ),
    "H0432": Explanation(
        "a rule that gives nothing",
        "A warning: packets match the rule, and no rule says what becomes of them. No `if KIND "
        "gives …` of the stages holds for them, and what the pipeline does then differs: `linx` "
        "takes its default, `upf` drops them. `helioc replay --trace` shows it. Let a FAR or LBR "
        "follow the rule, or stand within it.",
    ),
    "H0433": Explanation(
        "a second one",
        "A rule gives one rule. A rule whose kind gives a spread, and rules of the kind that it "
        "spreads over, may hold one beside entries of a spread that it describes itself: the rule "
        "is for packets that no entry takes.",
        "create PDR [(dscp, u8, 1), FAR 19, FAR 18]",
        "create PDR [(dscp, u8, 1), FAR 19]",
    ),
    "H0434": Explanation(
        "a rule that cannot stand here",
        "Within a rule stand only those that it gives or spreads over.",
        "create FAR [(action, u8, DROP), PDR [(dscp, u8, 1)]]",
        "create PDR [(dscp, u8, 1), FAR [(action, u8, DROP)]]",
    ),
    "H0435": Explanation(
        "too few or too many members",
        "A spread declares how many members it has: `spread FAR[1..16]`.",
        "create LBR [(tos, u8, 4)]",
        "create LBR [(tos, u8, 4), FAR 19]",
    ),
    "H0436": Explanation(
        "a member twice",
        "A rule is a member once; its share is its weight.",
        "create LBR [FAR 19, FAR 19]",
        "create LBR [FAR 19 [(weight, u16, 2)]]",
    ),
    "H0437": Explanation(
        "a weight of 0",
        "A member without weight would get no flows. Leave it out, or `delete LBR 7 [FAR 18]`.",
        "create LBR [FAR 19 [(weight, u16, 0)]]",
        "create LBR [FAR 19 [(weight, u16, 1)]]",
    ),
    "H0438": Explanation(
        "an element of no rule",
        "An element stands behind or within the rule that it belongs to. None belongs to a rule "
        "whose brackets are closed.",
        "create FAR [(action, u8, DROP)], (action, u8, PASS)",
        "create FAR [(action, u8, DROP)], [(action, u8, PASS)]",
    ),
    "H0439": Explanation(
        "a rule of no known kind",
        "A list of elements without a kind is a rule of the only kind that has them all. Where "
        "several have them, or none, the kind must be written.",
        "create [(tos, u8, 184), FAR 19]",
        "create LBR [(tos, u8, 184), FAR 19]",
    ),
    "H0440": Explanation(
        "an unknown name",
        "Nothing has this name: neither a rule of a kind the element refers to nor, where it "
        "may, a port.",
        "update FAR 17 [(interface, u32, GRE-WAN9)]",
        "update FAR 17 [(interface, u32, GRE-WAN2)]",
    ),
    "H0441": Explanation(
        "a dangling reference",
        "There is no rule with this id (or port with this number), and the request makes none. "
        "Create it, in the same request if need be.",
        "create PDR [(dscp, u8, 1), FAR 99]",
        "create FAR 99 [(action, u8, DROP)]; create PDR [(dscp, u8, 1), FAR 99]",
    ),
    "H0443": Explanation(
        "an ifindex of another interface",
        "Beside `interface` an `ifindex` may stand: the number of the overlay or port, or the"
        " kernel's of the port under it. It must mean the same interface.",
        "update FAR 17 [(interface, u32, GRE-WAN2), (ifindex, u32, 1)]",
        "update FAR 17 [(interface, u32, GRE-WAN2), (ifindex, u32, 2)]",
    ),
    "H0444": Explanation(
        "a reference to the wrong kind",
        "The pipeline reads this reference as one of certain kinds.",
    ),
    "H0445": Explanation(
        "a rule that belongs to another",
        "A rule described within another without an id is that rule's alone. Give it an id to"
        " share it.",
        "create PDR [(dscp, u8, 1), FAR 1]",
        "create PDR [(dscp, u8, 1), FAR 19]",
    ),
    "H0450": Explanation(
        "no such rule",
        "Rules are found by id, by name, or by all of what they match. A delete that writes members"
        " but no id means the rule that has these members and no others.",
        "update FAR 99 [(action, u8, DROP)]",
        "update FAR 19 [(action, u8, PASS)]",
    ),
    "H0451": Explanation(
        "an id in use",
        "Ids are the controller's, or allotted where none is given.",
        "create FAR 17 [(action, u8, DROP)]",
        "update FAR 17 [(action, u8, DROP)]",
    ),
    "H0452": Explanation(
        "a duplicate",
        "Two rules of a kind cannot match the same at the same priority.",
        "create PDR [(src_ip, u32, 10.9.0.0/16), FAR 19]",
        "update PDR [(src_ip, u32, 10.9.0.0/16), FAR 19]",
    ),
    "H0453": Explanation(
        "a name in use",
        "Names are unique within their kind, and where an element refers to a rule of the kind or "
        "to a port, none is a port's either; case, `-`, `_` and spaces do not count.",
        "create OVERLAY gre_wan1 [(local_ip, u32, 1), (remote_ip, u32, 2), (interface, u32, "
        "wan1)]",
        "create OVERLAY GRE-WAN3 [(local_ip, u32, 1), (remote_ip, u32, 2), (interface, u32, "
        "wan1)]",
    ),
    "H0454": Explanation(
        "a full table",
        "A kind holds as many rules as its declaration says. Nothing of the request took "
        "effect.",
    ),
    "H0455": Explanation(
        "a rule still in use",
        "A rule that others point at cannot be deleted: they must go, or point elsewhere, or the "
        "rule be created anew, before the request ends. A rule that another holds goes with that.",
        "delete FAR 17",
        "update LBR 7 [FAR 19]; delete LBR 7 [FAR 17]; delete FAR 17",
    ),
    "H0456": Explanation(
        "a match cannot change",
        "In an update, elements that are matched say which rule is meant. To match something "
        "else, delete the rule and create another.",
        "update PDR 1 [(src_ip, u32, 10.7.0.0/16), FAR 19]",
        "update PDR 1 [FAR 19]",
    ),
    "H0457": Explanation(
        "several rules are meant",
        "Say the id, and of rules that share an id what they match.",
        "update LBR 7 [FAR [(action, u8, DROP)]]",
        "update FAR 18 [(action, u8, DROP)]",
    ),
    "H0458": Explanation(
        "not an id",
        "Ids are numbers from 1 to 4294967295.",
        "create FAR 0 [(action, u8, DROP)]",
        "create FAR 1000 [(action, u8, DROP)]",
    ),
    "H0459": Explanation(
        "not a name",
        "Kinds declared `named` have names of 1 to 63 octets; rules of other kinds have ids "
        "only.",
        "create FAR drop [(action, u8, DROP)]",
        "create FAR 1000 [(action, u8, DROP)]",
    ),
    "H0460": Explanation(
        "which rule?",
        "An update or a delete says which rule it means: by id, by name, or by all of what it"
        " matches. Without any of these, as the paper's Schema 1 writes it, the only rule of its"
        " kind is updated, and the only one with the values that are said is deleted. Rules that"
        " others hold are not meant so: they go with those, or are meant by id.",
        "update FAR [(action, u8, DROP)]",
        "update FAR 19 [(action, u8, DROP)]",
    ),
    "H0462": Explanation(
        "not what the rule gives",
        "The rule to be deleted gives another rule than the one named within it.",
        "delete PDR 1 [FAR 19]",
        "delete PDR 1 [LBR 7]",
    ),
    "H0463": Explanation(
        "a rule that never matches",
        "A warning: another rule takes the same packets at the same priority by other elements, as "
        "`dscp 46` and `tos 184` do, and of these the older one holds. The same elements twice "
        "are an error (H0452). Rules of a CSV or .hpr file are compared with each other only.",
    ),
    "H0465": Explanation(
        "a rule that matches what no packet has",
        "A warning: it matches fields of two headers of which a packet has one, by the parse graph "
        "of the pipeline: an IPv4 source and an IPv6 source, say. No packet finds the rule.",
    ),
    "H0466": Explanation(
        "a rule for a port that its packets do not come by",
        "A warning: the rule matches the port that a packet came by, and the stages look up rules "
        "of its kind only for packets that come by ports of another role. No packet finds it.",
    ),
    "H0464": Explanation(
        "a rule that says what another says",
        "A warning: rules of this kind match nothing, or the same under several ids, so that only "
        "their ids tell two apart that say the same, members included. Schema 1 of the paper has "
        "no ids: its `update` and `delete` can mean neither of them. A rule that is created with "
        "an id is not warned of. Rules of a CSV or .hpr file are compared with each other only.",
    ),
}  # fmt: skip

CARRIERS = {
    "H0470": Explanation(
        "columns that do not fit",
        "The first line of a CSV names elements of the kind, `id`, `name`, or a kind that it "
        "gives. Rules with members, and rules within rules, are for requests.",
    ),
    "H0471": Explanation(
        "an uneven CSV",
        "Each line has a cell for each name of the header; an element left out is an empty "
        "cell.",
    ),
    "H0472": Explanation(
        "damaged packed rules",
        "The `.hpr` file is cut short, of another version, or no such file. Make it anew from"
        " its CSV.",
    ),
    "H0475": Explanation(
        "not the form of a YAML request",
        "A document is a change or a list of them; a change is `create: {FAR: {action: "
        "DROP}}`; a rule is a mapping of elements, `id`, `name` and rules within it.",
    ),
    "H0480": Explanation(
        "octets cut short",
        "The encoded request ends within a field: the message was truncated, or a length is "
        "wrong.",
    ),
    "H0481": Explanation(
        "octets that say nothing",
        "The encoded request has a number that means nothing to this pipeline. Do both sides "
        "have the same manifest?",
    ),
}  # fmt: skip

EXPLANATIONS: dict[str, Explanation] = {**SPELLING, **RULES, **CARRIERS}
