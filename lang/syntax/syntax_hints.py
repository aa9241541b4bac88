"""Diagnostics for syntax errors, in the user's terms instead of the grammar's."""

from __future__ import annotations

from ..text.diagnostics import Diagnostic, Label, did_you_mean
from ..text.source import Span
from ..tree.operators import COMPARISONS, PRECEDENCE
from . import foreign_words
from .foreign_lines import foreign_line
from .lexer import span
from .planned import planned
from .statement_hints import (
    ALONE,
    CASTS,
    ELEMENT,
    FORWARD,
    WITH_SLOTS,
    alone,
    asks_meter,
    casts,
    declared,
    found_behind,
    of_raises,
    of_statements,
)
from .syntax_place import Place

HARD = frozenset(
    "and append as bridge choose clamp copy counts default drop else emit find forward gives ie if"
    " import is match meter mirror not on or pass pipeline pop push recall remember reply rule run"
    " send spread stage swap when".split()
)
"""Words that cannot be names anywhere."""

#: Words by which declarations of a pipeline begin, but for those of a file, too.
_DECLARED = frozenset(
    ("ie", "rule", "stage", "parser", "action", "ports", "registers", "state", "event")
)
_OPERATORS = frozenset((*PRECEDENCE, *COMPARISONS, "and", "or", "in", "is", "gives", "."))

_EVENTS = ("event", "emit")
_IN_PLACE = {"+=", "-=", "+%=", "-%=", "|=", "&=", "^="}

_STATEMENTS = (
    "no statement begins with it: they are `if`, `match`, `find`, `let`, `push`, `forward`, `drop` "
    "and others; a field is assigned to by `user.ttl = 64`"
)
_CALLS = (
    "there are no such calls: `NAME(R)` runs `action NAME(R) {…}` for a rule that was found, and "
    "all else is a statement"
)

# By grammar rule: a token that it expects, and the text for all that it expects then.
_WHOLE = {
    "file": ("header", "`import`, `header` or `pipeline`"),
    "pipeline": ("ie", "a declaration such as `ie`, `rule`, `action`, `stage` or `on`, or a `}`"),
    "header": ("size", "a field such as `ttl : u8`, or a `}`"),
    "member": ("IDENT", "a field such as `ttl : u8`, or a `}`"),
    "fieldRest": ("IDENT", "a field such as `ttl : u8`, or a `}`"),
    "graph": ("IDENT", "an edge such as `user -> udp when protocol = 17`, or a `}`"),
    "tlv": ("IDENT", "an option such as `mss when kind = 2 { value : u16 }`, or a `}`"),
    "chain": ("IDENT", "a header such as `ipv6_fragment when 44`, or a `}`"),
    "rule_": (
        "gives",
        "`match`, `gives`, `spread`, `lists`, `counts`, `meters`, `priority`, `precedence`, `emit` "
        "or a `}`",
    ),
    "block": ("find", "a statement or a `}`"),
    "statement": ("find", "a statement"),
    "matchOn": ("}", "a case such as `DROP => drop`, or a `}`"),
    "hook": ("continue", "`pass`, `drop`, `reply icmp` or `continue`"),
    "verdict": ("pass", "`pass`, `drop`, `default` or `send back`"),
}


def explain(place: Place) -> Diagnostic:
    """The one diagnostic for what stands at `place`."""
    return (
        _planned(place)
        or _foreign_line(place)
        or _foreign_word(place)
        or _misspelt(place)
        or _no_statement(place)
        or _reserved(place)
        or _plain(place)
    )


def _planned(place: Place) -> Diagnostic | None:
    """A word of a later release, at the place or parsed as a name before it."""
    at = place.index
    if place.rule in ("file", "pipeline"):
        return planned(place.span(at))
    begun = (planned(place.span(i)) for i in (at - 1, at) if place.begins(i))
    if "rule_" in place.rules:  # parsed as an element and a match kind
        near = (planned(place.span(i), "clause") for i in range(at - 2, at + 1))
        return next(filter(None, (*near, *begun)), None)
    if not {"block", "graph"} & {*place.rules}:
        return None
    return next(filter(None, begun), None)


def _foreign_line(place: Place) -> Diagnostic | None:
    """What other languages write so."""
    found = foreign_line(place)
    return _foreign_error(found.where, found.hint) if found else None


def _foreign_word(place: Place) -> Diagnostic | None:
    """A word of another language that was parsed as a name, or begins a declaration."""
    text = place.token.text
    if (
        place.rule in ("file", "pipeline")
        and place.token.first
        and text in foreign_words.DECLARATIONS
    ):
        return _misspelt_error(place.span(place.index), text, foreign_words.DECLARATIONS[text])
    if "block" not in place.rules:
        return None
    at = place.index
    near = [i - 1 for i in (at - 1, at - 2) if place.tokens[i].text == "("]  # `word(`, `word(a`
    near += [at - 1, *[at] * (not place.token.first)]
    word = next((i for i in near if place.tokens[i].text in foreign_words.WORDS), None)
    if word is None:
        return None
    where = place.span(word)
    instead = foreign_words.WORDS[where.text]
    if where.text == "by" and found_behind(place):
        instead = foreign_words.LOOKED_UP
    return _misspelt_error(where, where.text, instead)


def _misspelt(place: Place) -> Diagnostic | None:
    """A misspelt word of the language, at the place or parsed as a name just before."""
    for index in (place.index, place.index - 1):
        token = place.tokens[index] if index >= 0 else None
        if token is None or token.kind != "IDENT":
            continue
        candidates = sorted(w for w in place.seen.get(index, ()) if w.isalpha() and w.islower())
        suggestion = _nearest(token.text, candidates)
        if suggestion:
            return _misspelt_error(span(place.source, token), token.text, suggestion)
    return None


def _no_statement(place: Place) -> Diagnostic | None:
    """A word that begins no statement: `yield`, `output 3`, `foo(1, 2)`."""
    at, words = place.index - 1, [token.text for token in place.tokens[: place.index]]
    if "statement" not in place.rules[:2] or len(words) < 2 or _hint(place):
        return None
    if {"(", "="} <= place.expected and place.tokens[at].kind == "IDENT" and words[-2] != ".":
        hint = foreign_words.DECLARATIONS.get(words[-1], _STATEMENTS)
        return _misspelt_error(place.span(at), words[-1], hint)
    if words[-1] == "(" and "IDENT" in place.expected and place.tokens[at - 1].kind == "IDENT":
        hint = alone(words[-2]) or _CALLS
        return _misspelt_error(place.span(at - 1), words[-2], hint)
    return None


def _reserved(place: Place) -> Diagnostic | None:
    token = place.token
    before = place.tokens[place.index - 1] if place.index else token
    if token.kind == ":" and before.kind in HARD and before.kind not in ("else", "default"):
        return _reserved_error(span(place.source, before), "a name")
    if (
        "IDENT" not in place.expected
        or token.kind not in HARD
        or _whole(place.rule, place.expected)
    ):
        return None
    if token.first or token.kind in ("and", "or", "is", "gives"):
        return None  # more likely something is missing before it
    if _hint(place) or ("matchLine" in place.rules and declared(place) != ELEMENT):
        return None
    return _reserved_error(span(place.source, token), in_words(place.rule, place.expected))


def _plain(place: Place) -> Diagnostic:
    token, source = place.token, place.source
    expected = in_words(place.rule, place.expected)
    if place.index and token.first and not _whole(place.rule, place.expected):
        end = place.tokens[place.index - 1].stop
        return _incomplete(source.span(end, end), expected, _behind(place))
    found = f"`{token.text}`" if token.text else "the end of the file"
    before = place.tokens[place.index - 1].text if place.index else ""
    hint = _hint(place) or ALONE.get(before) or declared(place)
    return _unexpected(span(source, token), found, expected, hint)


def _behind(place: Place) -> str:
    """Where the line before is not complete."""
    if "block" in place.rules and casts(place):
        return CASTS
    if hint := of_raises(place):
        return hint
    _, second, before = _behind_which(place)
    if before in ALONE or second in WITH_SLOTS:
        return ALONE.get(before) or f"an entry has a key: `{second} {before}(a = …)`"
    for token in reversed(place.tokens[: place.index]):
        if token.text == "if" and "block" in place.rules and not token.first:
            return "the condition stands in front: `if a { drop }`"
        if token.text == "forward" and place.expected <= {".", "via"}:
            return FORWARD
        if token.first or token.text in ("{", "}"):
            break
    return declared(place)


def _whole(rule: str, expected: set[str]) -> str:
    word, text = _WHOLE.get(rule, ("", ""))
    return text if word in expected else ""


def in_words(rule: str, expected: set[str]) -> str:
    """The expected tokens in words."""
    if whole := _whole(rule, expected):
        return whole
    words = []
    if {"IDENT", "NUMBER", "("} <= expected:
        words.append("a value")
    elif {"NUMBER", "ADDRESS"} <= expected:
        words.append("a number or an address")
    elif "IDENT" in expected:
        words.append("a name")
    elif "NUMBER" in expected:
        words.append("a number")
    rest = expected - {"IDENT", "NUMBER", "ADDRESS", "EOF", "~"}
    if "IDENT" in expected:
        rest = {w for w in rest if not w.isalpha() and w != "("}
    if "=" in rest:
        rest -= _IN_PLACE
    if rest == {"from", "is"}:  # behind `meter PDR`, of which few have a colour already
        rest = {"is"}
    if rest - _OPERATORS:
        rest -= _OPERATORS
    words.extend(f"`{w}`" for w in sorted(rest))
    if "EOF" in expected:
        words.append("the end of the file")
    return words[0] if len(words) == 1 else ", ".join(words[:-1]) + " or " + words[-1]


def _of_types(place: Place) -> str:
    """What is written another way of names, runs of bytes and options."""
    token, (third, second, before) = place.token.text, _behind_which(place)
    if token == "[" and before in ("name", "bytes") and second == ":":
        return "states keep no names and no runs of bytes: match them in a rule, and keep its id"
    if "tlv" in (second, before) and token != "(":
        return "say what each option begins with: `tlv(kind : u8, length : u8) max 40 {…}`"
    if token == "within" and place.expected == {"{"}:
        return "`within` stands in front of `max`: `tlv(…) within words * 4 max 8 {…}`"
    if place.expected == {"max"}:
        return "say how many there may be: `max 8`"
    if before == "when" and place.token.kind == "NUMBER":
        return f"write `when {'type' if 'edge' in place.rules else 'kind'} = {token}`"
    if token == "," and third == "tlv":
        return f"each has a name: `kind : {before}`"
    return ""


def _behind_which(place: Place) -> tuple[str, str, str]:
    """The three words in front."""
    words = [token.text for token in place.tokens[max(0, place.index - 3) : place.index]]
    third, second, before = [*[""] * (3 - len(words)), *words]
    return third, second, before


def _hint(place: Place) -> str:
    token = place.token
    if hint := _of_types(place) or of_raises(place):
        return hint
    if "& & &" in " ".join(t.kind for t in place.tokens[max(0, place.index - 2) : place.index + 3]):
        return (
            "a mask is one `&`: `user.ttl & 0xf` of a value, `0x40 & 0xf0` in a guard or a request"
        )
    for first in (place.index - 1, place.index):
        pair = " ".join(t.kind for t in place.tokens[max(0, first) : first + 2])
        if pair in foreign_words.SIGNS:
            return foreign_words.SIGNS[pair]
    if token.kind in ("and", "or") and place.expected == {"{"}:
        return "a look-up stands alone behind `if`: ask the rest in an `if` within"
    asked = token.kind if "block" in place.rules else ""
    before = place.tokens[place.index - 1].kind if place.index else ""
    if asked in ("find", "recall", "remember", "exchange") and before in ("and", "or"):
        return f"it stands alone behind `if`: `if a {{ if {asked} … {{…}} }}`"
    if asked in ("find", "recall"):
        whole = "find R" if asked == "find" else "recall S(…)"
        return f"what is done where nothing is found stands behind `else`: `{whole} else {{…}}`"
    if asked in ("remember", "exchange"):
        whole = "S(…)" if asked == "remember" else "S.n from A to B"
        return f"what is done where it was not stands behind `else`: `{asked} {whole} else {{…}}`"
    if token.kind == "meter" and "rule_" in place.rules:
        return "a rule kind's meter is declared by `meters`: `meters rate, burst`"
    if asked == "meter" or asks_meter(place):
        return "a meter is asked in a condition: `if meter PDR is red {…}`"
    if token.kind in _IN_PLACE:
        return f"a slot is changed in place by a statement of its own: `S.n {token.kind} 1`"
    if token.kind == "(" and place.expected == {"{"} and _behind_which(place)[1] in _EVENTS:
        return "its fields stand in braces: `event E { a : u8 }`, `emit E { a = 1 }`"
    if token.kind == "by" and place.rule == "pipeline":
        return "the limit of all comes first: `limit 1k per second, 10 by src`"
    if place.rule == "registers":
        return "an array has one length or two: `registers R[4096] : u32`, `R[4][4096] : u32`"
    if "block" in place.rules and (hint := of_statements(place)):
        return hint
    if place.rule == "block" and token.first and token.text in (*_DECLARED, "run", "on"):
        return f"`{token.text}` stands beside the stages: is a `}}` missing above?"
    if token.kind == "import":
        return "imports stand at the beginning of the file"
    if place.rule == "file" and token.text in _DECLARED:
        return f"`{token.text}` belongs into a `pipeline`: is there a `}}` too many above?"
    return ""


# ---- errors ---------------------------------------------------------------------------------


def _unexpected(where: Span, found: str, expected: str, hint: str = "") -> Diagnostic:
    """`found` stands where `expected` is expected, both in words."""
    labels = (Label(where, f"expected {expected}"),)
    return Diagnostic("H0101", f"{found} does not fit here", labels, hint)


def _misspelt_error(where: Span, word: str, suggestion: str) -> Diagnostic:
    labels = (Label(where, "not a word that fits here"),)
    return Diagnostic("H0101", f"`{word}` does not fit here", labels, suggestion)


def _foreign_error(where: Span, hint: str) -> Diagnostic:
    shown = " ".join(where.text.split())
    labels = (Label(where, "written another way here"),)
    return Diagnostic("H0101", f"`{shown}` does not fit here", labels, hint)


def _incomplete(where: Span, expected: str, hint: str) -> Diagnostic:
    """The line ends at `where`, and the next one does not go on with it."""
    labels = (Label(where, f"expected {expected}"),)
    return Diagnostic("H0101", "this line is not complete", labels, hint)


def _reserved_error(where: Span, what: str) -> Diagnostic:
    word = where.text
    labels = (Label(where, f"expected {what}"),)
    return Diagnostic(
        "H0107",
        f"`{word}` is a word of the language and cannot be a name",
        labels,
        f"take another name, such as `{word}_`",
    )


def _nearest(word: str, candidates: list[str]) -> str:
    """`did you mean …?`, more careful with short words than `did_you_mean` alone."""
    if len(word) < 2:
        return ""
    if word in ("elif", "elseif"):
        return "did you mean `else if`?"
    return did_you_mean(word, [c for c in candidates if abs(len(c) - len(word)) <= 2])
