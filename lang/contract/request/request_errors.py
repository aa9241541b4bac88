"""Errors of a request's text."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator

from ...text.diagnostics import FEW, Diagnostic, Label, did_you_mean
from ...text.source import Source, Span
from .foreign_requests import instead
from .request_tokens import BAD, STRAY, VERBS, Tokens

#: Brackets within brackets; a rule in a rule in a rule is three.
DEPTH = 16
#: Tokens of an entry: a rule of a thousand elements.
LONGEST = 8192


_EXAMPLE = "say for example: create FAR [(action, DROP)]"
_FORM_OF_IE = (
    "an element is (name, value), for example (tos, 184); its length may be said: (tos, u8, 184)"
)
_FORM_OF_RULE = (
    "a rule has its items in [ ], parted by commas: FAR 1 [(action, DROP)]; or behind a colon: "
    "LBR: FAR 1, FAR 2"
)
_EVERYTHING = "an element that may have any value is left out"
#: What is meant by characters of other notations.
_OTHERS = {
    "=": _FORM_OF_IE,
    "{": _FORM_OF_RULE,
    "}": _FORM_OF_RULE,
    "<": _FORM_OF_IE,
    ">": _FORM_OF_IE,
    "*": _EVERYTHING,
    "|": "an element has one value, range, prefix or value & mask: make a rule of each",
    "-": 'numbers are 0 or more, a range is 80..90; a name with a - first stands in quotes: "-x"',
    "#": "a comment begins with //",
    "'": 'a name stands in double quotes: "my WAN"',
}
#: What is meant by verbs of elsewhere.
_CREATE, _DELETE = "did you mean `create`?", "did you mean `delete`?"
_ASKS = "a request changes rules; `helioctl show` lists them"
_MEANT = {
    "add": _CREATE, "append": _CREATE, "insert": _CREATE, "new": _CREATE, "table_add": _CREATE,
    "put": _CREATE, "post": _CREATE,
    "del": _DELETE, "drop": _DELETE, "remove": _DELETE, "rm": _DELETE, "table_delete": _DELETE,
    "change": "did you mean `update`?", "edit": "did you mean `update`?",
    "modify": "did you mean `update`?", "set": "did you mean `update`?",
    "table_modify": "did you mean `update`?",
    "clear": "all rules of a kind go by `replace KIND`",
    "flush": "all rules of a kind go by `replace KIND`",
    "get": _ASKS, "list": _ASKS, "show": _ASKS, "dump": _ASKS, "read": _ASKS,
}  # fmt: skip


def span(source: Source, found: Tokens, index: int) -> Span:
    if index >= len(found.starts):
        end = len(source.text.rstrip())
        return source.span(max(0, end - 1), end)
    return source.span(found.starts[index], found.ends[index])


def index(found: Tokens, diagnostic: Diagnostic) -> int:
    return bisect_left(found.starts, diagnostic.span.start) if diagnostic.span else -1


def unreadable(source: Source, found: Tokens) -> Iterator[Diagnostic]:
    if BAD not in found.kinds and STRAY not in found.kinds:
        return
    shown, told, last = 0, set[str](), -1
    for i, kind in enumerate(found.kinds):
        if kind not in (BAD, STRAY) or shown >= FEW:
            continue
        behind, last = found.starts[i] == last, found.ends[i]
        if behind:
            continue  # of one that was reported
        if kind == BAD:
            title, help_ = (
                f"`{found.texts[i]}` is neither a number nor an address",
                (
                    "numbers are decimal or 0x…, addresses 10.0.0.1; "
                    'a name that begins with a digit stands in quotes: "1st"'
                ),
            )
        elif found.texts[i] == '"':
            title, help_ = "this quote is not closed", 'a name in quotes ends on its line: "my WAN"'
        else:
            title = f"{_spoken(found.texts[i])} has no meaning in a request"
            help_ = _OTHERS.get(
                found.texts[i], 'a name with other characters stands in quotes: "Zürich"'
            )
        help_ = instead(source, found.starts[i], found.ends[i]) or help_
        if kind == STRAY and help_ in told:
            continue  # of one habit, a sign at each end, one is enough
        told.add(help_)
        shown += 1
        yield Diagnostic("H0401", title, (Label(span(source, found, i)),), help_)


def _spoken(character: str) -> str:
    """Bytes of the command line that are no UTF-8 come as surrogates: PEP 383."""
    if "\udc80" <= character <= "\udcff":
        return f"the byte {ord(character) & 0xFF:#04x}"
    return f"the character {character!r}"


def empty(source: Source) -> Diagnostic:
    return Diagnostic(
        "H0404",
        "the request is empty",
        (Label(source.span(0, min(1, len(source.text))), "nothing is asked for here"),),
        _EXAMPLE,
    )


def no_verb(source: Source, found: Tokens, index: int) -> Diagnostic:
    word = found.texts[index]
    help_ = _MEANT.get(word.lower()) or did_you_mean(word, VERBS)
    if not help_ and found.kinds[index + 1 : index + 2] and found.kinds[index + 1] in "[n(:":
        help_ = f"say what is done first: create {word} …"
    help_ = help_ or _EXAMPLE
    label = Label(span(source, found, index), "expected create, update, delete or replace")
    return Diagnostic("H0405", f"`{word}` is nothing a request can do", (label,), help_)


def _verb_behind_verb(source: Source, found: Tokens, index: int) -> Diagnostic:
    """`create create PDR …`, where `index` is the second."""
    one, two = found.texts[index - 1 : index + 1]
    title = f"no rule stands between `{one}` and `{two}`"
    place = span(source, found, index - 1).to(span(source, found, index))
    help_ = f"a change begins with one of create, update, delete and replace: leave out `{one}`"
    return Diagnostic("H0402", title, (Label(place, "two verbs in a row"),), help_)


def _comma_between(source: Source, found: Tokens, index: int) -> Diagnostic:
    """`create …, create …`"""
    label = Label(span(source, found, index), "a change ends here")
    return Diagnostic("H0402", "changes are parted by `;`", (label,), "write `;` in place of `,`")


def too_deep(span: Span) -> Diagnostic:
    return Diagnostic(
        "H0403",
        f"rules are nested more than {DEPTH} deep",
        (Label(span, "one bracket too many"),),
        "a rule of another kind may stand within a rule; close the brackets before the next one",
    )


def too_long(source: Source, found: Tokens, start: int, end: int) -> Diagnostic:
    """Of a text in which a bracket is not closed, all the rest is one rule."""
    unclosed = list[int]()
    for i in range(start, end):
        if found.kinds[i] == "[":
            unclosed.append(i)
        elif found.kinds[i] == "]" and unclosed:
            unclosed.pop()
    place = span(source, found, unclosed[-1] if unclosed else start)
    says = "this bracket is not closed" if unclosed else "it begins here"
    help_ = "close its brackets" if unclosed else "make several rules of it"
    title = f"a rule has more than {LONGEST} words, numbers and marks"
    return Diagnostic("H0406", title, (Label(place, says),), help_)


_HELP = {
    "element": _FORM_OF_IE,
    "type": _FORM_OF_IE,
    "length": "lengths are u8, u16, u32, u64 (u48 for MAC, u128 for IPv6 addresses)",
    "value": "a value is a number, an address or a name; prefix /16, mask & 0xfc, range ..2000",
    "literal": "a value is a number, an address or a name; prefix /16, mask & 0xfc, range ..2000",
    "block": _FORM_OF_RULE,
}


def start_of(found: Tokens, end: int) -> int:
    """Where the change that ends there begins: at its verb."""
    return max(i for i in range(end) if found.kinds[i] in VERBS.values())


def syntax(
    source: Source, found: Tokens, end: int, index: int, rule: str, expected: str
) -> Diagnostic:
    at_end = index >= end
    verbs = [kind for kind in found.kinds[end - 1 : end + 1] if kind in VERBS.values()]
    if at_end and len(verbs) == 2:
        return _verb_behind_verb(source, found, end)
    if at_end and len(verbs) == 1 and found.texts[end - 1] == ",":
        return _comma_between(source, found, end - 1)
    place = span(source, found, end - 1 if at_end else index)
    what = "the change ends here" if at_end else f"expected {expected}, not `{found.texts[index]}`"
    title = f"expected {expected}"
    if not at_end and found.kinds[index] == ";":
        while found.kinds[index] == ";":
            index += 1
        place = span(source, found, index)
        title = f"`{found.texts[index]}` does not begin a change"
        what = "expected create, update, delete or replace"
        return Diagnostic(
            "H0405", title, (Label(place, what),), did_you_mean(found.texts[index], VERBS)
        )
    help_ = instead(source, place.start, place.end) or _HELP.get(rule, _FORM_OF_RULE)
    if at_end and end - start_of(found, end) == 1:
        help_ = _EXAMPLE
    return Diagnostic("H0402", title, (Label(place, what),), help_)
