"""Words and signs of P4, C and Rust, and what this language says in their place."""

from __future__ import annotations

_COUNT = "say the value: `a.b = a.b + 1`"
_BIT = "a condition stands alone or behind `not`; a bit is compared: `= 1`"
_LEAVES = "write `forward P via A`, as a router does, or `bridge P`, as a switch does"
_LOOP = "there are no loops: every packet runs through the stages once"
_PARSER = "the parse graph says what is parsed: `ethernet -> ipv4 when type = 0x0800`"
_PRESENT = "the name of a node asks whether a packet has it: `if udp {…}`"
_TELLS = "declare what is told, `event E { a : u8 }`, and write `emit E { a = … }`"
_VERDICT = "`pass` and `drop` end the packet; at the end of a stage it goes on to the next"
_ALONE = "a verdict stands alone, without `()`"

#: Of two tokens that follow each other: signs, words of the language, or classes of tokens.
SIGNS = {
    "= =": "a comparison is written with one `=`",
    "& &": "write `and`",
    "| |": "write `or`",
    "+ +": _COUNT,
    "- -": _COUNT,
    "drop (": _ALONE,
    "pass (": _ALONE,
    "count (": "write `count NAME`",
    "in {": "a condition asks for a set, `if a in { 6, 17 }`; a guard lists values, `a = 6 | 17`",
    "is not": "write `not` in front: `not user.dst is local`",
    "not in": "write `not` in front: `not a in { 6, 17 }`",
    "=> }": "an arm that does nothing is `{}`, as in `_ => {}`",
    "via ADDRESS": "a next hop is a field, or an element of a rule: `forward P via user.dst`",
}

#: Where statements may stand, read as a name.
WORDS = {
    "XDP_ABORTED": "write `drop`",
    "XDP_DROP": "write `drop`",
    "XDP_PASS": "write `pass`",
    "XDP_REDIRECT": _LEAVES,
    "XDP_TX": "write `send back`",
    "accept": "write `pass`",
    "apply": "write `find R else {…}` to look up a rule; stages run in the order of `run`",
    "bpf_get_prandom_u32": "write `random(n)`, which is 0 to n - 1",
    "bpf_ktime_get_ns": "write `now`",
    "bpf_perf_event_output": _TELLS,
    "bpf_ringbuf_output": _TELLS,
    "break": _VERDICT,
    "const": "constants stand beside the stages; a value of the packet is named by `let`",
    "continue": _VERDICT,
    "digest": _TELLS,
    "exit": _VERDICT,
    "extract": _PARSER,
    "false": _BIT,
    "for": _LOOP,
    "goto": "stages run in the order of `run`; a branch is `if`",
    "isValid": _PRESENT,
    "loop": _LOOP,
    "ingress_global_timestamp": "write `now`",
    "mark_to_drop": "write `drop`",
    "null": _PRESENT,
    "redirect": _LEAVES,
    "reject": "write `drop`",
    "return": _VERDICT,
    "send_back": "write `send back`",
    "setInvalid": "`pop to X` removes what is in front of X, `pop vlan` a link header",
    "setValid": "`push a {…}` puts a header in front of what came",
    "switch": "write `match R.element { A => … }`, or `if`",
    "true": _BIT,
    "valid": _PRESENT,
    "while": _LOOP,
}
