"""What is written another way in a stage, and in a declaration: the help of syntax errors there."""

from __future__ import annotations

from .syntax_place import Place

FORWARD = "`forward P via A`: P is an element of a rule, a slot, or `p` of an arm `port p`"
#: What gives a value, and is no statement.
_FUNCTIONS = frozenset(("hash", "random", "min", "max", "checksum", "reversed", "rest"))
_WITH_SLOTS = frozenset(("remember", "recall", "forget", "exchange"))

#: By grammar rule: a declaration as it is written, for where it is not known what was meant.
_DECLARED = {
    "matchLine": "an element, how it matches, and a field: `match dst exact ipv4.dst`",
    "slot": "a name and a type: `a : u32`",
    "edge": "write `ethernet -> ipv4 when type = 0x0800`",
    "element": "an element has a number and a type: `ie dst = 1, ip4`",
    "rule_": "write `rule R [1k] { match dst exact ipv4.dst  gives out }`",
    "state": "write `state S [1k] { match a : ip4  gives n : u32 }`",
    "event": "write `event E { a : u8 }`",
    "constant": "write `const N = 5`: how wide it is follows from the value",
    "action": "an action has the rule kinds that it reads in brackets: `action a(R) { drop }`",
    "stage": "write `stage s { … }`: it has no arguments",
    "hook": "write `on ttl_expired { drop }`",
}


#: The same of lines of a pipeline that are complete in front of what does not fit.
_LINES = {
    "default": "it is for all packets: `default pass` or `default drop`",
    "ports": "roles alone: `ports lan, wan`; the edge's YAML says which interfaces have them",
    "run": "stages run one behind the other: `run parser -> s -> t`",
}
#: Of rule kinds and states, as tables of P4 and maps have them.
_CLAUSES = {
    "actions": "write `gives action`, and `match R.action {…}` in a stage",
    "const": "rules are the controller's: none stand in the pipeline",
    "default_action": "write `find R else {…}` in a stage",
    "entries": "rules are the controller's: none stand in the pipeline",
    "implementation": "write `spread` for one of several by a hash",
    "key": "write `match` for what is looked up",
    "max_entries": "how many there may be stands behind the name: `rule R [1k] {…}`",
    "size": "how many there may be stands behind the name: `rule R [1k] {…}`",
    "value": "write `gives` for what is found",
}


def declared(place: Place) -> str:
    """The innermost declaration, as it is written. Not within its block of statements."""
    rule, token = place.rule, place.token
    if rule in ("rule_", "state") and token.text in _CLAUSES:
        return _CLAUSES[token.text]
    if rule == "pipeline" and not token.first:
        line = next((t for t in reversed(place.tokens[: place.index]) if t.first), token)
        return _LINES.get(line.text, "")
    for each in place.rules:
        if each == "block" and place.expected != {"{"}:
            return ""
        if each in _DECLARED:
            return _DECLARED[each]
    return ""


def of_statements(place: Place) -> str:
    """What is written another way in a stage."""
    token, before = place.token.text, place.tokens[place.index - 1].text
    if token == "as":
        return "what was found has its kind's or its state's name: `R.element`, `S.slot`"
    if place.expected == {"{"} and token == ":":
        return "the block stands in braces: `if a { drop }`"
    if token == "," and (place.expected == {"{"} or "member_" in place.rules):
        return "several values stand in braces: `a in { 6, 17 }`"
    if place.expected == {"{"} and before == ")":
        return "there are no casts: how wide a value is follows from its type"
    if token == "{" and place.tokens[place.index - 2].text in _WITH_SLOTS:
        return "slots stand in round brackets: `remember S(a = user.src, n = 1)`"
    if token in ("in", "from", "(") and (kind := _found_behind(place)):
        return f"the rule that an entry keeps is found without more: `find {kind} from S.slot`"
    match place.rule:
        case "assign" if place.expected & {"="} and token in (",", ")"):
            return "slots and elements are named: `S(src = user.src, n = 1)`"
        case "place":
            return "recall an entry by its key, `recall S(…) else {…}`; then change it: `S.n += 1`"
        case "statement" if before == "]" and token == "[":
            return "an array of registers has one length or two: `R[0][i] += 1`"
        case "statement" if place.expected == {")"} and _called(place) in _FUNCTIONS:
            return "a value alone does nothing: name it, `let x = hash(…)`"
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
        case "block" if token == ",":
            return "each statement stands alone, on a line or behind a blank"
        case "statement" if place.expected <= {".", "via"}:
            return FORWARD
    return ""


def _called(place: Place) -> str:
    """The word in front of the bracket that is open."""
    opened = (i for i in range(place.index - 1, 0, -1) if place.tokens[i].text == "(")
    return place.tokens[next(opened, 1) - 1].text


def _found_behind(place: Place) -> str:
    """The kind that a `find` in front on the same line is about, if more was said of it."""
    for at in range(place.index, 0, -1):
        token = place.tokens[at]
        if token.kind == "find":
            return place.tokens[at + 1].text if at + 1 < place.index else ""
        if token.first or token.text in ("{", "}"):
            break
    return ""


def asks_meter(place: Place) -> bool:
    """`meter PDR` without a colour."""
    return place.index > 1 and place.tokens[place.index - 2].kind == "meter"
