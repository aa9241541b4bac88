"""Words and signs of P4, C and Rust, and what this language says in their place."""

from __future__ import annotations

COUNT = "write `S.n += 1` for a slot of a state, `a.b = a.b + 1` for a field"
_BIT = "a condition stands alone or behind `not`; a bit is compared: `= 1`"
_LEAVES = "write `forward P via A`, as a router does, or `bridge P`, as a switch does"
_LOOP = "there are no loops: every packet runs through the stages once"
_PARSER = "the parse graph says what is parsed: `ethernet -> ipv4 when type = 0x0800`"
_PRESENT = "the name of a node asks whether a packet has it: `if udp {…}`"
_TELLS = "declare what is told, `event E { a : u8 }`, and write `emit E { a = … }`"
_REST = "all other values are the last arm: `_ => {…}`"
_VERDICT = "`pass` and `drop` end the packet; at the end of a stage it goes on to the next"
_SLOT = "`+= -= +%= -%= |= &= ^=` change a slot in place; for else write `a.b = a.b * 2`"
_ATOMIC = "a change in place is one step, whatever other CPUs do: `S.n += 1`"
_TYPED = "write `let NAME = VALUE`: how wide it is follows from the value"
_PRINTED = "`count NAME` counts packets; `helioctl trace` shows the way of some"
_ORDER = "values are numbers, in no byte order; a field is written in network order by itself"
_LENGTH = "`frame.length` is that of the frame; others are fields, such as `user.total_length`"
_SUMS = "checksums follow each change by themselves"
_ENDS = "write `push a {…} before x` or `append a {…} behind x`, and `pop to x`"
_ARRIVAL = "write `port is lan`; a rule tells ports of a role apart: `match in exact port`"
_FLAG = "each flag is a field of one bit: `tcp.syn = 1`"
_HASHED = "write `hash(a, b)`, of 32 bits"
_ALONE = "a verdict stands alone, without `()`"
_ONCE = "every packet runs through the stages once"
_COPIES = "`mirror P` sends a copy out by P, `copy { push …  forward P via A }` one with headers"
_FLOODS = "`each PEER p in NETWORK { mirror p.port }` makes a copy for each that a rule lists"
_NODES = "headers have the names of the parse graph alone: `user.ttl`"
LOOKED_UP = "`find R` compares what R's `match` says; all else is asked by an `if`"
_REWRITTEN = "a field is assigned to, `user.dst = 10.0.0.1`, and its checksums follow"
_WAITS = "a packet never waits: `meter R is red` asks whether it comes too fast, `ages` forgets"
_METERED = "a rule kind has a meter, `meters rate, burst`: then `if meter R is red { drop }`"
_EMPTY = "what does nothing is an empty block: `{}`"
BYTES = "bytes are read as fields: declare `header h {…}`, and an edge that leads to it"
_JUMPS = "stages run in the order of `run`; a branch is `if`"
_KEPT = "a value of this packet is named by `let`, at the top of a stage for later ones, too"

#: Of two tokens that follow each other: signs, words of the language, or classes of tokens.
SIGNS = {
    "= =": "a comparison is written with one `=`",
    "& &": "write `and`",
    "| |": "write `or`",
    "| +|": "write `+|`, which stops at the greatest value",
    "| -|": "write `-|`, which stops at 0",
    "= <": "write `<=`",
    "< >": "two values that differ are asked for by `!=`",
    "* *": "there are no powers: write `a * a`, and `1 << n` for those of 2",
    ".. .": "a range has two dots: `1..10`",
    "= [": "a set stands in braces: `{ 6, 17 }`",
    ": =": "write `=`; a value is named by `let x = …`",
    "is NUMBER": "a number is compared: `a = 1`",
    "is ADDRESS": "an address is compared: `a = 10.0.0.1`",
    "count NUMBER": "write `count NAME`",
    "- -": "write `S.n -= 1` for a slot of a state, `a.b = a.b -| 1` for a field",
    "drop (": _ALONE,
    "pass (": _ALONE,
    "count (": "write `count NAME`",
    "swap (": "write `swap a, b`, without brackets",
    "* =": _SLOT,
    "/ =": _SLOT,
    "% =": _SLOT,
    "<< =": _SLOT,
    ">> =": _SLOT,
    "< <=": _SLOT,
    "> >=": _SLOT,
    "default :": _REST,
    "default =>": _REST,
    ".. =": "a range has both its ends: `1..10`",
    "in [": "a set stands in braces: `a in { 6, 17 }`",
    "send (": "write `forward P via A`, as a router does, `bridge P`, or `send back`",
    "in {": "a condition asks for a set, `if a in { 6, 17 }`; a guard lists values, `a = 6 | 17`",
    "is not": "write `not` in front: `not user.dst is local`",
    "not in": "write `not` in front: `not a in { 6, 17 }`",
    "=> }": "an arm that does nothing is `{}`, as in `_ => {}`",
    "via ADDRESS": "a next hop is a field, or an element of a rule: `forward P via user.dst`",
}

#: Where statements may stand, read as a name.
WORDS = {
    "assert": "write `if not a { drop }`",
    "any": "leave the comparison out: what it leaves open holds for all packets",
    "debug": _PRINTED,
    "delay": _WAITS,
    "do": _LOOP,
    "echo": _PRINTED,
    "foreach": _LOOP,
    "iif": _ARRIVAL,
    "iifname": _ARRIVAL,
    "info": _PRINTED,
    "length": _LENGTH,
    "load": BYTES,
    "load_byte": BYTES,
    "load_half": BYTES,
    "load_word": BYTES,
    "next": _VERDICT,
    "NoAction": _EMPTY,
    "noop": _EMPTY,
    "nop": _EMPTY,
    "packet": _LENGTH,
    "panic": "write `drop`; `count NAME` counts such packets",
    "payload": BYTES,
    "pkt": _LENGTH,
    "police": _METERED,
    "println": _PRINTED,
    "printk": _PRINTED,
    "puts": _PRINTED,
    "range": "a range is written with two dots: `a in 1..5`",
    "rate_limit": _METERED,
    "skb": _LENGTH,
    "sleep": _WAITS,
    "trace": _PRINTED,
    "usleep": _WAITS,
    "wait": _WAITS,
    "warn": _PRINTED,
    "decap": _ENDS,
    "dnat": _REWRITTEN,
    "encap": _ENDS,
    "masquerade": _REWRITTEN,
    "mark": _KEPT,
    "nat": _REWRITTEN,
    "set": _REWRITTEN,
    "snat": _REWRITTEN,
    "strip": _ENDS,
    "XDP_ABORTED": "write `drop`",
    "XDP_DROP": "write `drop`",
    "XDP_PASS": "write `pass`",
    "XDP_REDIRECT": _LEAVES,
    "XDP_TX": "write `send back`",
    "accept": "write `pass`",
    "__sync_fetch_and_add": _ATOMIC,
    "__u16": _TYPED,
    "__u32": _TYPED,
    "__u64": _TYPED,
    "__u8": _TYPED,
    "action_run": "write `match R.element { A => … }`: what a rule gives says what is done",
    "apply": "write `find R else {…}` to look up a rule; stages run in the order of `run`",
    "atomic_add": _ATOMIC,
    "auto": _TYPED,
    "bit": _TYPED,
    "bpf_csum_diff": _SUMS,
    "bpf_fib_lookup": _LEAVES,
    "bpf_l3_csum_replace": _SUMS,
    "bpf_l4_csum_replace": _SUMS,
    "bpf_map_delete_elem": "write `forget S(…)` for an entry of a state",
    "bpf_map_lookup_elem": "write `find R else {…}` for a rule, `recall S(…) else {…}` for a state",
    "bpf_map_update_elem": "write `remember S(…)`",
    "bpf_printk": _PRINTED,
    "between": "write `a in 1..5`",
    "bpf_get_prandom_u32": "write `random(n)`, which is 0 to n - 1",
    "bpf_htonl": _ORDER,
    "bpf_htons": _ORDER,
    "bpf_ktime_get_ns": "write `now`",
    "bpf_perf_event_output": _TELLS,
    "bpf_ringbuf_output": _TELLS,
    "bpf_redirect": _LEAVES,
    "bpf_redirect_map": _LEAVES,
    "bpf_spin_lock": _ATOMIC,
    "bpf_xdp_adjust_head": _ENDS,
    "bpf_xdp_adjust_tail": _ENDS,
    "ACK": _FLAG,
    "FIN": _FLAG,
    "RST": _FLAG,
    "SYN": _FLAG,
    "break": _VERDICT,
    "by": "`count NAME` counts one packet; a sum is kept in `registers`, or in a slot: `S.n += 2`",
    "case": "an arm is `6 => drop` or `6 | 17 => {…}`",
    "const": "constants stand beside the stages; a value of the packet is named by `let`",
    "continue": _VERDICT,
    "crc16": _HASHED,
    "crc32": _HASHED,
    "delete": "write `forget S(…)` for an entry of a state; rules are the controller's",
    "digest": _TELLS,
    "exit": _VERDICT,
    "extract": _PARSER,
    "false": _BIT,
    "for": _LOOP,
    "goto": _JUMPS,
    "jump": _JUMPS,
    "call": _JUMPS,
    "insert": "write `remember S(…)`; with `else {…}` for where there is an entry already",
    "ingress_port": _ARRIVAL,
    "in_port": _ARRIVAL,
    "int": _TYPED,
    "is_valid": _PRESENT,
    "isValid": _PRESENT,
    "jhash": _HASHED,
    "len": _LENGTH,
    "lock": _ATOMIC,
    "log": _PRINTED,
    "lookup": "write `find R else {…}` for a rule, `recall S(…) else {…}` for a state",
    "loop": _LOOP,
    "hit": "write `if find R {…} else {…}`",
    "htonl": _ORDER,
    "htons": _ORDER,
    "ingress_global_timestamp": "write `now`",
    "mark_to_drop": "write `drop`",
    "mut": _TYPED,
    "ntohl": _ORDER,
    "ntohs": _ORDER,
    "mod": "write `a % b`",
    "null": _PRESENT,
    "print": _PRINTED,
    "printf": _PRINTED,
    "redirect": _LEAVES,
    "reject": "write `drop`, or `reply icmp admin_prohibited` to tell the sender",
    "remove": "write `forget S(…)` for an entry of a state, `pop to X` for headers",
    "return": _VERDICT,
    "send_back": "write `send back`",
    "setInvalid": "`pop to X` removes what is in front of X, `pop vlan` a link header",
    "setValid": "`push a {…}` puts a header in front of what came",
    "sizeof": _LENGTH,
    "standard_metadata": _ARRIVAL,
    "struct": "headers are read by their names, `ipv4.src`; a value is named by `let`",
    "switch": "write `match R.element { A => … }`, or `if`",
    "then": "the block stands in braces: `if a { drop }`",
    "time": "write `now`, in ns, or `now(utc)`",
    "timestamp": "write `now`, in ns, or `now(utc)`",
    "true": _BIT,
    "u16": _TYPED,
    "u32": _TYPED,
    "u64": _TYPED,
    "u8": _TYPED,
    "u128": "128 bits are an IPv6 address: `ip6`",
    "unless": "write `if not a {…}`",
    "update_checksum": _SUMS,
    "update": "recall the entry, then change it in place: `S.n += 1`",
    "valid": _PRESENT,
    "var": _TYPED,
    "where": LOOKED_UP,
    "uint8_t": _TYPED,
    "uint16_t": _TYPED,
    "uint32_t": _TYPED,
    "uint64_t": _TYPED,
    "unsigned": _TYPED,
    "bool": _TYPED,
    "size_t": _TYPED,
    "resubmit": _ONCE,
    "recirculate": _ONCE,
    "clone": _COPIES,
    "flood": _FLOODS,
    "hdr": _NODES,
    "headers": _NODES,
    "meta": _KEPT,
    "metadata": _KEPT,
    "exists": _PRESENT,
    "present": _PRESENT,
    "saturating_add": "write `a +| b`",
    "saturating_sub": "write `a -| b`",
    "wrapping_add": "write `a +% b`",
    "wrapping_sub": "write `a -% b`",
    "wrapping_mul": "write `a *% b`",
    "abs": "write `max(a, b) -| min(a, b)`",
    "abs_diff": "write `max(a, b) -| min(a, b)`",
    "while": _LOOP,
    "with": LOOKED_UP,
    "using": LOOKED_UP,
    "xor": "write `a ^ b`",
}


def instead_of(word: str) -> str:
    """What to write in place of a word that is read as a name, `True` and `NULL` among them; ""
    of others."""
    return WORDS.get(word) or WORDS.get(word.lower(), "")


_RULES = "write `rule R [1k] { match … gives … }` for what a controller fills"
_STATE = "write `state S [1k] { match … gives n : u64 }` for what packets leave, and `S.n += 1`"
_CONST = "a value of the packet is named within a stage; write `const NAME = VALUE` here"
_IMPORT = "write `import std.ip`"
_HEADER = "headers stand beside the pipeline, in front of it: `header h { a : u8 }`"

#: Words by which declarations of other languages begin.
DECLARATIONS = {
    "chain": "a chain stands within `parser {…}`, beside the edges that lead to it",
    "control": "write `stage s {…}`, and its place in `run parser -> s`",
    "counter": "rules count by `counts packets, bytes`; a statement `count NAME` counts events",
    "digest": _TELLS,
    "enum": "an element's values have names: `ie action = 1, u8 { DROP = 1, PASS = 2 }`",
    "header": _HEADER,
    "let": _CONST,
    "map": f"{_RULES}, a `state` for what packets leave",
    "meter": "a rule kind's meter is declared in it: `meters rate, burst`",
    "meters": "a rule kind's meter is declared in it: `meters rate, burst`",
    "register": "write `registers R[4096] : u32`, and `R[i] += 1` in a stage",
    "struct": _HEADER,
    "table": _RULES,
    "typedef": "types have no names of their own: write `u16`, `ip4`",
    "include": _IMPORT,
    "package": _IMPORT,
    "require": _IMPORT,
    "static": _CONST,
    "use": _IMPORT,
    "using": _IMPORT,
    "var": _CONST,
}
