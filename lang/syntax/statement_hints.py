"""What is written another way in a stage, and in a declaration: the help of syntax errors there."""

from __future__ import annotations

import re

from .foreign_words import COUNT
from .syntax_place import Place

FORWARD = "`forward P via A`: P is an element of a rule, a slot, or `p` of an arm `port p`"
ELEMENT = "an element, how it matches, and a field: `match dst exact ipv4.dst`"
SWAP = "two fields are exchanged by `swap a, b`; others are assigned line by line"
CASTS = "there are no casts: how wide a value is follows from its type"
#: What gives a value, and is no statement.
_FUNCTIONS = frozenset(("hash", "random", "min", "max", "pick", "checksum", "reversed", "rest"))
WITH_SLOTS = frozenset(("remember", "recall", "forget", "exchange"))
BRACES = "the block stands in braces: `if a { drop }`"
#: Of statements that are not complete, by the last word.
ALONE = {
    "icmp": "a stage says which error: `reply icmp port_unreachable`, `host_unreachable`, "
    "`no_route` or `admin_prohibited`",
    "count": "write `count NAME`",
    "back": "a verdict stands alone; another port is `bridge P`, or `forward P via A`",
}
_TYPE = re.compile(r"[iu]\d+|u?int\w*|usize")

#: By grammar rule: a declaration as it is written, for where it is not known what was meant.
_DECLARED = {
    "matchLine": ELEMENT,
    "slot": "a name and a type: `a : u32`",
    "edge": "write `ethernet -> ipv4 when type = 0x0800`",
    "element": "an element has a number and a type: `ie dst = 1, ip4`",
    "rule_": "write `rule R [1k] { match dst exact ipv4.dst  gives out }`",
    "state": "write `state S [1k] { match a : ip4  gives n : u32 }`",
    "event": "fields stand with commas: `event E { a : ip4, b : u8 }`",
    "constant": "write `const N = 5`: how wide it is follows from the value",
    "action": "an action has the rule kinds that it reads in brackets: `action a(R) { drop }`",
    "stage": "write `stage s { … }`: it has no arguments",
    "hook": "write `on ttl_expired { drop }`",
}


_GUARD = (
    "a guard says which values announce the header: `= 6`, `= 6 | 17`, `= 16..47`; where none "
    "fits, parsing stops"
)

#: The same of lines of a pipeline that are complete in front of what does not fit.
_LINES = {
    "default": "it is for all packets: `default pass` or `default drop`",
    "ports": "roles alone: `ports lan, wan`; the edge's YAML says which interfaces have them",
    "registers": "all of them are 0 at first; a stage sets one by `R[i] = 5`",
    "run": "stages run one behind the other: `run parser -> s -> t`",
}
_AGES = "entries of a state age: `ages 300`, in seconds, or `ages 300 idle` since their last use"
#: Of rule kinds and states, as tables of P4 and maps have them.
_CLAUSES = {
    "actions": "write `gives action`, and `match R.action {…}` in a stage",
    "const": "rules are the controller's: none stand in the pipeline",
    "default_action": "write `find R else {…}` in a stage",
    "entries": "rules are the controller's: none stand in the pipeline",
    "implementation": "write `spread` for one of several by a hash",
    "key": "write `match` for what is looked up",
    "default": "write `find R else {…}` in a stage",
    "expires": _AGES,
    "idle_timeout": _AGES,
    "lifetime": _AGES,
    "max_entries": "how many there may be stands behind the name: `rule R [1k] {…}`",
    "size": "how many there may be stands behind the name: `rule R [1k] {…}`",
    "support_timeout": _AGES,
    "timeout": _AGES,
    "value": "write `gives` for what is found",
}
#: The same behind a word that is one: `priority 5`.
_BEHIND = {
    "meters": "name elements or slots, which say the numbers: `meters rate, burst`",
    "precedence": "name the element that says it: `ie rank = 9, u32`, and `precedence rank`",
    "priority": "name the element that says it: `ie rank = 9, u32`, and `priority rank`",
}
_RAISES = frozenset(("after", "each"))
_RAISED = "say when a rule raises it: `after 3600 idle`, `after 1G bytes`, `each 100 packets`"
#: Of fields of a header.
_FIELD = "a name, then a type, without commas: `header h { a : u8  b : u16 }`"
_WIDTH = "types are `u1` to `u64`, `mac`, `ip4`, `ip6`: a `bit<16>` is a `u16`"


def declared(place: Place) -> str:
    """The innermost declaration, as it is written. Not within its block of statements."""
    rule, token = place.rule, place.token
    before = place.tokens[place.index - 1].text if place.index else ""
    if hint := _of_clauses(place, before):
        return hint
    if rule == "pipeline" and not token.first:
        line = next((t for t in reversed(place.tokens[: place.index]) if t.first), token)
        return _WIDTH if token.text == "<" else _LINES.get(line.text, "")
    if "header" in place.rules:
        return _WIDTH if token.text == "<" else _FIELD
    for each in place.rules:
        if each == "block" and place.expected != {"{"}:
            return ""
        if each == "statement" and place.expected == {"{"}:
            return BRACES
        if each in _DECLARED:
            return _DECLARED[each]
    return ""


def _of_clauses(place: Place, before: str) -> str:
    """Of rule kinds, states, edges and defaults: what is written another way."""
    rule, token = place.rule, place.token.text
    within = rule in ("rule_", "state") or "matchLine" in place.rules
    if within and (token in _CLAUSES or before in _CLAUSES):
        return _CLAUSES.get(token) or _CLAUSES[before]
    if "rule_" in place.rules and before in _BEHIND:
        return _BEHIND[before]
    if rule == "rule_" and token == ",":
        return "elements that match stand below each other, without commas"
    if rule == "event" and place.expected == {"per"}:
        return "say how many there may be in a second: `limit 10 per second`"
    if rule == "state" and token == "=":
        return "an entry holds what `remember S(…)` says"
    if "graph" in place.rules and token in (",", "{", "!=", "<", ">", "<=", ">=", "or"):
        return _GUARD
    if "fallback" in place.rules:
        return _LINES["default"]
    return ""


def of_raises(place: Place) -> str:
    """Of events that a rule raises: behind how much."""
    words = [token.text for token in place.tokens[max(0, place.index - 2) : place.index]]
    if "rule_" not in place.rules:
        return ""
    if _RAISES & set(words):
        return _RAISED
    if words[-1:] == ["}"] and place.token.text == "if":
        return "say behind how much: `after 1k packets`, `each 1M bytes`; else `emit` in a stage"
    return ""


def of_statements(place: Place) -> str:
    """What is written another way in a stage."""
    token, before = place.token.text, place.tokens[place.index - 1].text
    if token == "as" and _TYPE.fullmatch(place.tokens[place.index + 1].text):
        return CASTS
    if token == "as":
        return "what was found has its kind's or its state's name: `R.element`, `S.slot`"
    if (token == "->" and place.rule not in ("arm", "matchOn")) or token.startswith("::"):
        return "a field stands behind a dot: `user.ttl`"
    if token == "=>" and "{" in place.expected:
        return "`=>` stands in an arm of a `match`; write `if a { drop }`, or `>=` to compare"
    if place.rule == "elseBranch":
        return "a block stands in braces: `else { drop }`, `else if a { drop }`"
    if before in ("=", ",", "(") and token in ("&", "*"):
        return "there are no pointers: a field is read and written by its name, `user.ttl`"
    if place.expected == {"from"} and "exchange" not in words_of_line(place):
        return "a member is chosen from a group that a rule leads to: `choose M from K.POOL`"
    if place.expected in ({"from"}, {"to"}):
        return "write `exchange S.n from A to B`"
    if token == "if" and place.rule == "arm":
        return "an arm has no condition: ask for more by an `if` in its block"
    if token == "if" and {"IDENT", "NUMBER"} <= place.expected:
        return "`if` is a statement: assign in each of its blocks, or write `min(…)`, `max(…)`"
    if place.expected == {"{"} and token == ":":
        return BRACES
    if token == "," and (place.expected == {"{"} or "member_" in place.rules):
        return "several values stand in braces: `a in { 6, 17 }`"
    if place.expected == {"{"} and before == ")":
        return CASTS
    if token == "{" and place.tokens[place.index - 2].text in WITH_SLOTS:
        return "slots stand in round brackets: `remember S(a = user.src, n = 1)`"
    if token in ("in", "from", "(") and (kind := found_behind(place)):
        return f"the rule that an entry keeps is found without more: `find {kind} from S.slot`"
    if token == ":" and "index" in place.rules:
        return "bits are taken by a mask: `user.ttl & 0xf`, `user.ttl >> 4 & 0xf`"
    if before == "+" and token == "+" and "sum" in place.rules:
        return "bits are joined by shifts: `user.ttl << 8 | user.tos`"
    if token == "+" and ("=" in place.expected or place.rule == "block"):
        return COUNT
    if before == "bridge":
        return FORWARD.replace("forward P via A", "bridge P")
    if token == "{" and place.tokens[place.index - 2].kind == "find":
        return f"`find {before} else {{…}}` is for a miss, `if find {before} {{…}}` for a rule"
    if token == "-" and {"sum", "atom"} & {*place.rules}:
        return "numbers are 0 or more; what may become less stops there by `-|`: `a -| b`"
    if token == "in" and place.rule == "matchOn":
        return "write `if a in { 6, 17 } {…}`; arms of a `match` list values: `6 | 17 => {…}`"
    if place.expected == {"{"} and "statement" in place.rules:
        return "the block stands in braces: `if a { drop }`, `find R else { drop }`"
    match place.rule:
        case "statement" if token == "," and "=" in place.expected:
            return SWAP
        case "statement" if casts(place):
            return CASTS
        case "assign" if place.expected & {"="} and token == ":":
            return "a value stands behind `=`: `emit E { a = 1 }`"
        case "assign" if place.expected & {"="} and token in (",", ")"):
            return "slots and elements are named: `S(src = user.src, n = 1)`"
        case "place":
            return "recall an entry by its key, `recall S(…) else {…}`; then change it: `S.n += 1`"
        case "statement" if before == "]" and token == "[":
            return "an array of registers has one length or two: `R[0][i] += 1`"
        case "statement" if place.expected == {")"} and (hint := alone(_called(place))):
            return hint
        case "statement" if before == "]" or place.expected == {")"}:
            return "recall an entry by its key, `recall S(…) else {…}`; then change it: `S.n += 1`"
        case "statement" if token == "(" and place.tokens[place.index - 2].text == ".":
            return "what is done to a state is a statement: `recall S(…)`, `remember S(…)`"
        case "statement" if token == ":" and place.tokens[place.index - 2].text != "let":
            return "a value is named by `let x = …`"
        case "statement" if token == ":":
            return "no type is written: how wide it is follows from the value"
        case "arm" if token in ("{", "->", ":") or before == ":":
            return "an arm is `6 => drop` or `6 | 17 => {…}`"
        case "block" if token == "{" and before == ")":
            return "values stand in the brackets; `else {…}` may follow"
        case "block" if token == "(" and place.tokens[place.index - 2].text in ("push", "/"):
            return "fields stand in braces: `push vlan { id = 5 }`"
        case "block" if token == "(" and place.tokens[place.index - 2].text == ".":
            return "values have no methods: write an operator, or a function such as `min(a, b)`"
        case "block" if token == ",":
            return "each statement stands alone, on a line or behind a blank"
        case "statement" if place.expected <= {".", "via"}:
            return FORWARD
    return ""


def words_of_line(place: Place) -> list[str]:
    """The words in front on the same line."""
    words: list[str] = []
    for token in reversed(place.tokens[: place.index]):
        words.append(token.text)
        if token.first:
            break
    return words


def alone(function: str) -> str:
    """Of a function whose value nobody takes."""
    if function not in _FUNCTIONS:
        return ""
    within = "100" if function == "random" else "…"
    return f"a value alone does nothing: name it, `let x = {function}({within})`"


def casts(place: Place) -> bool:
    """Whether what stands in front of the value is `= (u16)`."""
    words = [token.text for token in place.tokens[: place.index]]
    while words and words[-1] not in (")", "{", "}"):
        words.pop()
    return len(words) > 3 and words[-4] == "=" and words[-3] == "("


def _called(place: Place) -> str:
    """The word in front of the bracket that is open."""
    opened = (i for i in range(place.index - 1, 0, -1) if place.tokens[i].text == "(")
    return place.tokens[next(opened, 1) - 1].text


def found_behind(place: Place) -> str:
    """The kind that a `find` in front on the same line is about, if more was said of it."""
    for at in range(place.index, 0, -1):
        token = place.tokens[at]
        if token.kind == "find":
            return place.tokens[at + 1].text if at + 1 < place.index else ""
        if token.first or token.text in ("{", "}"):
            break
    return ""


def asks_meter(place: Place) -> bool:
    """`meter PDR` without a colour, or `meter(PDR)`."""
    near = place.tokens[max(0, place.index - 2) : place.index]
    return any(token.kind == "meter" for token in near)
