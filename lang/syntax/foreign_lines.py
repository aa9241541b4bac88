"""Lines as other languages write them, and what this language says in their place.

A word alone often does not say what was meant: `let` is ours, `if let Some(x) = …` is Rust's. So
these are looked for in the text of the line, at the place where parsing stopped.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from ..text.source import Span
from .foreign_words import BYTES
from .statement_hints import BRACES, CASTS, SWAP
from .syntax_place import Place

_ASKS = "a header is asked for by its name, `if udp {…}`, a rule by `if find R {…}`, an entry of a "
_ASKS += "state by `if recall S(…) {…}`; `else {…}` is for where there is none"
_CONDITION = "a condition is no value, and has no name: ask it where it decides, `if a = 3 {…}`"
_SET = "`in` asks for a set, a prefix or a range: `user.dst in 10.0.0.0/8`"
_COUNTED = (
    "what a rule counts it counts by itself: `counts packets, bytes`, then `if R.packets > 3`"
)
_CHANGED = (
    "a slot is changed by a statement of its own and read behind it: `S.n += 1`, then `if S.n > 3`"
)
_COUNTS = "write `count NAME`; a sum is kept in `registers`, `R[i] += 1`, or in a slot: `S.n += 1`"
_POINTER = "there are no pointers: a field is read and written by its name, `user.ttl`"
_ALONE = "a verdict stands alone; `if` says of which packets it is: `if a { drop }`"
_BACK = "`send back` stands alone: the packet leaves by the port that it came by"
_FIRST = "a condition stands in front of the block, `else if a {…}`; `else {…}` is for all others"
_FUNCTION = "there are no functions: write `stage NAME {…}` for what is done with each packet, "
_FUNCTION += "`action NAME(R) {…}` for what is done with a rule that was found"
_FILTER = "a test is of a field: `if ipv4.src in 10.0.0.0/8 { drop }`, `if tcp { if tcp.dst = 80 "
_FILTER += "{ drop } }`; what a controller may change is a `rule`"
_TRIED = "nothing fails on the way: `if` asks, and `else {…}` is for where a look-up finds nothing"
_FOUND = "what was found has its kind's or its state's name: `find R else {…}`, then `R.element`"
_LET = "a value is named by `let NAME = VALUE`: how wide it is follows from the value"
_QUERY = "rules are looked up by `find R else {…}`, which compares what R's `match` says"
_IMPORT = "write `import std.ip`, with a dot; several stand with commas: `import std.ip, std.gre`"
_AS = "headers keep their names; the parse graph calls them otherwise: `outer -> ipv4 as inner`"
_CHAIN = "a chain stands within `parser {…}`, beside the edges that lead to it"
_EDGE = "an edge leads from one header to one other: `ethernet -> ipv4 when type = 0x0800`"
_SIGNS = "two values are compared by a sign: `=`, `!=`, `<`, `<=`, `>`, `>=`"
_OPTION = r"\b(?:Some|None|Ok|Err)\b\s*(?:\(|=>)"

#: By what is being read (a rule of the grammar): how a line looks (`at`: the part that is meant).
LINES: dict[str, dict[str, str]] = {
    "block": {
        r"\bif\s+let\b": _ASKS,
        r"\bis\s+(?:not\s+)?in\b": _SET,
        r"=\s*not\b": f"{_CONDITION}; all bits of a value are turned by `~a`",
        r"\blet\s+\w+\s*=(?!\s*(?:if|match|find|recall|remember)\b)[^={}]*?"
        r"(?P<at>(?<!\bbit)(?<![<>!=-])[<>]=?(?![<>])|!=|=|\b(?:is|in|and|or)\b)": _CONDITION,
        r"\b\w+\.(?:packets|bytes)\s*(?:\+\+|\+=)": _COUNTED,
        r"\bif\s.*?(?P<at>\+\+|--)\s*(?:[<>=!&|){]|$)": _CHANGED,
        r"^\s*(?P<at>count\s*(?:\+?=(?!=)|\+\+))": _COUNTS,
        r"^\s*(?P<at>\*+\s*\w+[.\w]*)\s*=": _POINTER,
        r"(?P<at>\bsend\s+back\s+(?:to\s+)?\w+)\s*(?:\}|$)": _BACK,
        r"(?P<at>\b(?:pass|drop|default|reply\s+icmp)\s+(?:when\b|\w+\s*(?:\}|$)))": _ALONE,
        r"\b(?:if|while)\s*(?P<at>\{)": _FIRST,
        r"\s(?P<at>eq|ne|lt|le|gt|ge|equals|not\s+equal|is\s*[<>=]+|~=)\s": _SIGNS,
        r"\s(?P<at>like|matches)\s": _SET,
        r"\b(?:and|or)\s+(?P<at>[<>=!]=?)": "a comparison says both its sides: `a > 3 and a < 5`",
        r"^\s*(?P<at>(?:async\s+)?(?:pub\s+)?(?:fn|def|func|function|sub|void)\s+\w+)\s*\(":
            _FUNCTION,
        r"^\s*(?P<at>(?:local|my|static|dim|final|val|declare)\s+\w+)\s*(?:=|$)": _LET,
        r"^\s*(?P<at>let\s*=|let\s+\d\w*)": _LET,
        r"^\s*(?P<at>(?:permit|deny|allow|block|access-list)\b.*)": _FILTER,
        r"^\s*(?P<at>(?:ip6?|tcp|udp|icmp|ether|vlan|iif(?:name)?|oif(?:name)?|meta|ct)"
        r"\s+\w+\s+[{\w].*)": _FILTER,
        r"\bif\s+(?P<at>(?:(?:src|dst|tcp|udp)\s+)?(?:host|net|port)\s+[\w.]+)": _FILTER,
        r"(?P<at>\d\s+mask)\s+\d":
            "a mask is a prefix's length: `user.src in 10.0.0.0/8`; other masks are computed: "
            "`user.src & 255.0.255.0 = 10.0.3.0`",
        r"^\s*(?P<at>(?:try|catch|except|finally|throw|raise|defer)\b)": _TRIED,
        r"\b(?:let|var)?\s*\w+\s*=\s*(?P<at>(?:find|recall|remember)\s+\w+)": _FOUND,
        r"\blet\s+\w+\s*=\s*(?P<at>match)\b":
            "`match` is a statement, and gives no value: write in each of its arms what is done",
        r"\bfind\s+\w+\s+(?P<at>or)\b":
            "what is done on a miss stands behind `else`: `find R else { drop }`",
        r"\bfind\s+\w+\s*(?P<at>,)":
            "each kind is looked up by itself: `find R else {…} find Q else {…}`",
        r"\b(?P<at>\w+\.(?:find|get|lookup|contains|has)\s*\()":
            "a rule is looked up by `find R else {…}`, an entry of a state by `recall S(…) "
            "else {…}`",
        r"\b(?P<at>\w+\.(?:put|set|remember|forget|insert|add|remove|delete|inc|incr|increment)\s*\()":
            "what is done to a state is a statement: `remember S(…)`, `S.n += 1`, `forget S(…)`",
        r"\b(?P<at>\w+\.(?:read|write)\s*\()":
            "a register is read as `R[i]`, added to by `R[i] += 1` and set by `R[i] = 1`",
        r"\b(?P<at>(?:packet|pkt|frame|data|payload|skb|buf)\[[^\]]*:[^\]]*\])": BYTES,
        r"^\s*(?P<at>(?:select|update|delete)\b.*\b(?:from|set|where)\b)": _QUERY,
        r"^\s*(?P<at>(?:from\s+[\w.]+\s+)?import\b)": "imports stand at the beginning of the file",
        r"^\s*(?P<at>chain\s+\w+\s+by)\b": _CHAIN,
        r"^\s*(?P<at>when\b)":
            "a statement asks by `if`: `if user.ttl = 1 { drop }`; `when` is of edges",
        r"^\s*(?P<at>[\w.]+\s*=>)": "arms stand within `match V {…}`; a condition is an `if`",
        r"\bif\s*\((?!\s*\w+(?:<\d+>)?\s*\))[^{]*\)\s*(?P<at>[a-z]\w*)": BRACES,
        r"(?P<at>\((?:bit<\d+>|[iu]\d+|u?int\d*(?:_t)?)\))\s*[\w(]": CASTS,
        r"^\s*(?P<at>\([\w.]+\s*,[^()]*\))\s*=": SWAP,
        r"\bif\s+(?P<at>[\w.]+\s*,)": "two conditions are joined by `and` or `or`",
        r"\belse\s*(?P<at>:)": "a block stands in braces: `else { drop }`",
        r"(?P<at>(?<!\w)\d+\s*%)\s*(?:[{)]|$)":
            "there are no per cents: `random(100) < 5` holds for 5 of 100",
        r"=\s*(?P<at>\([^()]*,)": "a name has one value: `let a = …  let b = …`",
        r"=\s*(?P<at>\{)\s*\w+\s*[:=]":
            "a value is a number or an address; several are named one by one",
        r"\bswap\s+(?P<at>[\w.]+\s+[\w.]+)": "write `swap a, b`, with a comma",
        r"\bswap\b.*?(?P<at>\w+\.\w+\[)":
            "elements of an array are assigned: `let a = h.list[0]`, `h.list[0] = h.last`, "
            "`h.last = a`",
        r"(?P<at>\b(?:self|this)\.)":
            "fields have the names of the parse graph alone: `user.ttl`; a verdict stands alone",
        r"\bpush\b.*\{[^}]*?(?P<at>\w+\s*:)": "a value stands behind `=`: `push vlan { id = 5 }`",
        r"\b(?:push|append|emit)\b.*\{[^{}]*=[^{},]*\s(?P<at>\w+\s*=(?!>))":
            "fields stand with commas: `{ src = 10.0.0.1, ttl = 64 }`",
        r"\bemit\s+\w+\s*\{\s*(?P<at>[\w.]+)\s*[,}]": "fields are named: `emit E { a = 1 }`",
        r"\bforward\s+(?:to\s+)?(?P<at>\d[\w.]*|\w+\s+\d+)":
            "a number is no port: `forward P via A`, where P is an element of a rule, a slot, "
            "or `p` of an arm `port p`, and A the next hop",
        r"(?P<at>\bsend\s+(?:to\s+)?\w+)":
            "write `forward P via A` or `bridge P` for a port, `send back` for the one that it "
            "came by",
    },
    "arm": {
        _OPTION: _ASKS,
    },
    "matchOn": {
        _OPTION: _ASKS,
        r"\bmatch\s+(?P<at>find\s+\w+|recall\s+\w+)":
            "it is looked up first: `find R else {…}`, then `match R.action { DROP => drop }`",
        r"(?P<at>\bmatch\s*\([^)]*,)":
            "a `match` is of one value: the second one stands in an `if` or a `match` of its "
            "own, within the arms",
    },
    "graph": {
        r"->\s*\w+\s*(?P<at>->)": _EDGE,
        r"->\s*(?P<at>\{)": _EDGE,
        r"^\s*(?P<at>\w+\.\w+)": _EDGE,
        r"(?:^|\{)\s*(?P<at>(?:state\s+)?\w+\s*(?=\{))":
            "there are no states to go through: an edge says what comes next, `ethernet -> "
            "ipv4 when type = 0x0800`",
        r"->.*\b(?P<at>if|on)\s+\w+\s*=":
            "what announces a header stands behind `when`: `when type = 0x0800`",
        r"\b(?P<at>else)\b":
            "where no edge fits, parsing stops; stages ask what is there: `if ipv4 {…} else "
            "{…}`",
        r"\bwhen\s+(?P<at>\w+\.)\w+":
            "a guard is about the header that the edge leaves: `when type = 0x0800`",
    },
    "pipeline": {
        r"^\s*(?P<at>(?:async\s+)?(?:pub\s+)?(?:fn|def|func|function|sub|void)\s+\w+)": _FUNCTION,
        r"^\s*(?P<at>[\w.\[\]]+\s*(?:=|\+=|\+\+))":
            "statements stand in a stage: `stage s {…}`; a value that never changes is a "
            "`const NAME = VALUE`",
        r"^\s*(?P<at>default\s*:)": "it is for all packets: `default pass` or `default drop`",
        r"^\s*(?P<at>(?:permit|deny|allow|block|access-list|ip|tcp|udp)\b.*)": f"{_FILTER}",
        r"\bie\s.*(?P<at>\()": "names of values stand in braces: `ie action = 1, u8 { DROP = 1 }`",
    },
    "element": {
        r"\{\s*(?P<at>\d+\s*=)": "the name comes first: `{ DROP = 1, PASS = 2 }`",
        r"\{\s*(?P<at>\w+)\s*[,}]": "each name has its number: `{ DROP = 1, PASS = 2 }`",
    },
    "registers": {
        r"(?P<at>\w+(?:\[\w*\])+)\s*$": "a register has a type: `registers R[4096] : u32`",
    },
    "rule_": {
        r"\bgives\s+(?P<at>drop|pass|forward|default|send)\b":
            "a rule gives elements, and a stage acts by them: `ie action = 1, u8 { DROP = 1 "
            "}`, `gives action`, `match R.action { DROP => drop }`",
        r"\bgives\b.*(?P<at>:)":
            "an element has its type where it is declared: `ie action = 1, u8`",
        r"(?P<at>\bcounts)\s*(?:\}|$)": "say what: `counts packets, bytes`",
        r"(?:^|\{)\s*(?P<at>if)\b":
            "a rule says what is compared, `match dst lpm ipv4.dst`; a stage acts: `find R "
            "else {…}`",
        r"\bmatch\s+(?P<at>\w+\.\w+)":
            "the element comes first, the field last: `match dst exact ipv4.dst`, with `ie dst "
            "= 1, ip4`",
        r"\b(?:exact|lpm|ternary|range|optional)\s+(?P<at>\d[\w.:/]*)":
            "a value is what a controller's rule says; here stands the field that it is "
            "compared with: `match dst exact ipv4.dst`",
    },
    "file": {
        r"^\s*import\s+[\w.]+\s+(?P<at>as\s+\w+)": _AS,
        r"^\s*(?P<at>from\s+[\w.]+\s+import)": _IMPORT,
        r"^\s*(?P<at>import\s+\w+(?:/|::|\.\*|\.\{).*)": _IMPORT,
        r"^\s*(?P<at>(?:async\s+)?(?:pub\s+)?(?:fn|def|func|function|sub|void)\s+\w+)": _FUNCTION,
    },
    "importLine": {
        r"^\s*(?P<at>import\s+\w+(?:/|::|\.\*|\.\{).*)": _IMPORT,
    },
    "header": {
        r"\b(?P<at>u\d+\s+[a-z]\w*)": "the name comes first: `a : u8`",
    },
}  # fmt: skip
_COMPILED = {
    rule: [(re.compile(pattern), hint) for pattern, hint in lines.items()]
    for rule, lines in LINES.items()
}


class ForeignLine(NamedTuple):
    """What of a line is written another way here."""

    where: Span
    hint: str


def foreign_line(place: Place) -> ForeignLine | None:
    """What is known of the line in which parsing stopped, if it is about that place."""
    near = [place.index]
    if place.token.first and place.index:  # what is missing stands at the end of the line before
        near.append(place.index - 1)
    patterns = next((_COMPILED[rule] for rule in place.rules if rule in _COMPILED), [])
    for token in (place.tokens[at] for at in near):
        text = place.source.text
        start = text.rfind("\n", 0, token.start) + 1
        line = text[start:].partition("\n")[0].partition("//")[0].rstrip()
        for pattern, hint in patterns:
            for found in pattern.finditer(line):
                behind = len(line) - len(line[found.end() :].lstrip())
                if start + found.start() <= token.stop and token.start <= start + behind:
                    first, last = found.span("at" if "at" in pattern.groupindex else 0)
                    first = last - len(line[first:last].lstrip())
                    return ForeignLine(Span(place.source, start + first, start + last), hint)
    return None
