"""What `helioc explain` says about headers and expressions."""

from __future__ import annotations

from ...lang.text.explain import Explanation

HEADERS: dict[str, Explanation] = {
    "H0230": Explanation(
        "there is no such type",
        "Fields are numbers of 1 to 64 bits (`u1` … `u64`), addresses (`mac`, `ip4`, `ip6`), "
        "or octets (`bytes[n]`, and `bytes[rest]` for what is left of the header). Elements "
        "have the same types but octets, or refer to rule kinds and `port`.",
        "header mark {\n  colour : uint8\n}",
        "header mark {\n  colour : u8\n}",
    ),
    "H0231": Explanation(
        "parts do not fill the whole",
        "A divided field is as wide as its parts together, reserved bits included.",
        "header mark {\n  tos : u8 { dscp : u6 }\n}",
        "header mark {\n  tos : u8 { dscp : u6  ecn : u2 }\n}",
    ),
    "H0232": Explanation(
        "a header is not whole octets",
        "The fields outside groups fill whole octets, and so does every group.",
        "header mark {\n  colour : u12\n}",
        "header mark {\n  colour : u12\n  : u4\n}",
    ),
    "H0233": Explanation(
        "an address or octets begin within an octet",
        "Only numbers may begin at any bit.",
        "header mark {\n  colour : u4\n  host : ip4\n  : u4\n}",
        "header mark {\n  colour : u4\n  : u4\n  host : ip4\n}",
    ),
    "H0234": Explanation(
        "the flag of a group is no flag",
        "`when FLAG {…}` names a field of one bit that stands above, outside any group.",
        "header mark {\n  has_key : u8\n  when has_key { key : u32 }\n}",
        "header mark {\n  has_key : u1\n  : u7\n  when has_key { key : u32 }\n}",
    ),
    "H0235": Explanation(
        "a field stands in the wrong place",
        "A header has its fixed fields first, then optional groups, then `bytes[rest]`, whose "
        "end `size` tells.",
        "header mark {\n  words : u8\n  options : bytes[rest]\n}",
        "header mark {\n  words : u8\n  options : bytes[rest]\n  size words * 4 + 1\n}",
    ),
    "H0236": Explanation(
        "this cannot be a default",
        "A default is a number or an address of the field's type, `length(…)` over `header` "
        "and `payload`, or `checksum(…)` over these and `pseudo`, in a field of 16 bits. No "
        "checksum may cover another one of its header: of two that cover each other none would "
        "be right. Only groups of different flags may each have one over `header`.",
        "header mark {\n  check : u8 = checksum(header)\n}",
        "header mark {\n  check : u16 = checksum(header)\n}",
    ),
    "H0237": Explanation(
        "a clause reads what it cannot know",
        "`size`, `extent`, `accept`, `require` and `payload` are settled while the header is "
        "parsed: they read its own fixed fields, by their plain names.",
        "header mark {\n  words : u8\n  accept udp.dst = 4000\n}",
        "header mark {\n  words : u8\n  accept words = 4\n}",
    ),
    "H0238": Explanation(
        "a value may leave its range",
        "The compiler follows the least and the greatest value of every expression. Numbers "
        "have no sign and at most 64 bits.",
        "header mark {\n  words : u8\n  options : bytes[rest]\n  size words * 4 - 4\n}",
        "header mark {\n  words : u8\n  options : bytes[rest]\n  size words * 4 + 4\n}",
    ),
    "H0239": Explanation(
        "a value of the wrong kind",
        "Numbers, MAC, IPv4 and IPv6 addresses are different kinds of values; nodes, rules and "
        "ports are no values at all.",
        "stage main {\n  if user { if user.dst = 167772161 { drop } }\n  pass\n}",
        "stage main {\n  if user { if user.dst = 10.0.0.1 { drop } }\n  pass\n}",
    ),
    "H0240": Explanation(
        "a value is no condition",
        "A condition is a comparison, the name of a node (is it there?), `X is …`, or these "
        "joined by `and`, `or`, `not`. A number is not true or false by itself.",
        "stage main {\n  if user { if user.dont_fragment { drop } }\n  pass\n}",
        "stage main {\n  if user { if user.dont_fragment = 1 { drop } }\n  pass\n}",
    ),
    "H0241": Explanation(
        "a condition is no value",
        "What is true or false cannot be reckoned with or assigned.",
        "stage main {\n  if user { if user.ttl = (user.tos = 1) { drop } }\n  pass\n}",
        "stage main {\n  if user { if user.ttl = 1 and user.tos = 1 { drop } }\n  pass\n}",
    ),
    "H0242": Explanation(
        "there is no such function",
        "Stages and spreads know `hash(…)`, defaults of fields `length(…)` and `checksum(…)`.",
        "stage main {\n  if user { if crc(user.src) = 1 { drop } }\n  pass\n}",
        "stage main {\n  if user { if hash(user.src) = 1 { drop } }\n  pass\n}",
    ),
    "H0243": Explanation(
        "the outcome of a comparison is known",
        "One side can never be what the other is: most often the value is too large for the field.",
        "stage main {\n  if user { if user.ttl > 300 { drop } }\n  pass\n}",
        "stage main {\n  if user { if user.ttl > 30 { drop } }\n  pass\n}",
    ),
    "H0245": Explanation(
        "a push gives a field that it does not write",
        "Fields in `when a or b {…}` are written if one of the flags is set: by the push, by the "
        "edge, or by default. (Where a group has one flag, giving its field sets the flag.)",
        "header mark {\n"
        "  has_a : u1 = 0\n"
        "  has_b : u1 = 0\n"
        "  : u6\n"
        "  next : u8\n"
        "  when has_a or has_b { more : u16 }\n"
        "}\n"
        "parser {\n"
        "  ethernet -> ipv4 as user when type = 0x0800\n"
        "  ethernet -> mark when type = 0x88b5\n"
        "  mark -> user when next = 4\n"
        "}\n"
        "stage main {\n"
        "  if mark { drop }\n"
        "  if not user { drop }\n"
        "  push mark { more = 5 }\n"
        "  pass\n"
        "}",
        "header mark {\n"
        "  has_a : u1 = 0\n"
        "  has_b : u1 = 0\n"
        "  : u6\n"
        "  next : u8\n"
        "  when has_a or has_b { more : u16 }\n"
        "}\n"
        "parser {\n"
        "  ethernet -> ipv4 as user when type = 0x0800\n"
        "  ethernet -> mark when type = 0x88b5\n"
        "  mark -> user when next = 4\n"
        "}\n"
        "stage main {\n"
        "  if mark { drop }\n"
        "  if not user { drop }\n"
        "  push mark { has_b = 1, more = 5 }\n"
        "  pass\n"
        "}",
    ),
    "H0246": Explanation(
        "an array stands where one value is wanted",
        "`segments : ip6[n] max 8` is as many fields as its header says. Each is read by its "
        "index, from 0 on; beyond the last it reads 0.",
        "header mark {\n"
        "  count : u8\n"
        "  hops : u16[count] max 4\n"
        "}\n"
        "parser {\n"
        "  ethernet -> mark when type = 0x88b5\n"
        "}\n"
        "stage main {\n"
        "  if mark { if mark.hops = 5 { drop } }\n"
        "  pass\n"
        "}",
        "header mark {\n"
        "  count : u8\n"
        "  hops : u16[count] max 4\n"
        "}\n"
        "parser {\n"
        "  ethernet -> mark when type = 0x88b5\n"
        "}\n"
        "stage main {\n"
        "  if mark { if mark.hops[0] = 5 { drop } }\n"
        "  pass\n"
        "}",
    ),
    "H0247": Explanation(
        "an array has no bound",
        "The verifier must know how far a header can reach: an array says how many elements it has "
        "at most, up to 255. A header with more is not accepted: parsing stops in front of it.",
        "header mark {\n  count : u8\n  hops : u16[count]\n}",
        "header mark {\n  count : u8\n  hops : u16[count] max 4\n}",
    ),
    "H0249": Explanation(
        "a list that the array might not hold",
        "An array has a bound, and the element of a rule that is pushed into it may hold more "
        "values than that. Which rules there will be nobody knows: the element must be declared "
        "with no more.",
        "header mark {\n"
        "  count : u8\n"
        "  next : u8\n"
        "  hops : ip6[count] max 4\n"
        "}\n"
        "ie hops = 40, ip6[8]\n"
        "parser {\n"
        "  ethernet -> mark when type = 0x88b5\n"
        "  mark -> ipv4 when next = 4\n"
        "  ethernet -> ipv4 when type = 0x0800\n"
        "}\n"
        "rule WAY [16] {\n"
        "  match dst_ip lpm ipv4.dst\n"
        "  gives hops\n"
        "}\n"
        "stage main {\n"
        "  if mark or not ipv4 { pass }\n"
        "  find WAY else { pass }\n"
        "  push mark { hops = WAY.hops }\n"
        "  send back\n"
        "}",
        "header mark {\n"
        "  count : u8\n"
        "  next : u8\n"
        "  hops : ip6[count] max 4\n"
        "}\n"
        "ie hops = 40, ip6[4]\n"
        "parser {\n"
        "  ethernet -> mark when type = 0x88b5\n"
        "  mark -> ipv4 when next = 4\n"
        "  ethernet -> ipv4 when type = 0x0800\n"
        "}\n"
        "rule WAY [16] {\n"
        "  match dst_ip lpm ipv4.dst\n"
        "  gives hops\n"
        "}\n"
        "stage main {\n"
        "  if mark or not ipv4 { pass }\n"
        "  find WAY else { pass }\n"
        "  push mark { hops = WAY.hops }\n"
        "  send back\n"
        "}",
    ),
    "H0248": Explanation(
        "an index leads nowhere",
        "Only arrays have elements, and an array never has more than its bound says. So it is with "
        "the values of an element of a rule: `ie sids = 9, ip6[8]` holds one to eight, and "
        "`POLICY.sids[0]` is the first.",
        "header mark {\n"
        "  count : u8\n"
        "  hops : u16[count] max 4\n"
        "}\n"
        "parser {\n"
        "  ethernet -> mark when type = 0x88b5\n"
        "}\n"
        "stage main {\n"
        "  if mark { if mark.hops[4] = 5 { drop } }\n"
        "  pass\n"
        "}",
        "header mark {\n"
        "  count : u8\n"
        "  hops : u16[count] max 4\n"
        "}\n"
        "parser {\n"
        "  ethernet -> mark when type = 0x88b5\n"
        "}\n"
        "stage main {\n"
        "  if mark { if mark.hops[3] = 5 { drop } }\n"
        "  pass\n"
        "}",
    ),
    "H0244": Explanation(
        "a header is too large",
        "A header has at most 32,767 octets, at the greatest value of its `size`.",
        "header mark {\n  words : u16\n  options : bytes[rest]\n  size words * 4\n}",
        "header mark {\n  words : u8\n  options : bytes[rest]\n  size words * 4\n}",
    ),
    "H0327": Explanation(
        "`first` is asked for what cannot be absent",
        "`first(a, b, …)` is the first of these that is there: a field that the packet has, or an "
        "element that a rule says. It is 0 if none is. They have up to 64 bits, and are all of one "
        "kind.",
        "stage s {\n  if first(tcp.src, 5) = 53 { drop }\n  pass\n}",
        "stage s {\n  if first(tcp.src, user.id) = 53 { drop }\n  pass\n}",
    ),
}
