"""The syntax errors of `.hp` files: one function for each code, and what `helioc explain` adds."""

from __future__ import annotations

from ..text import literals
from ..text.diagnostics import Diagnostic, Label, did_you_mean
from ..text.source import Source, Span

_INSTEAD = {
    ";": "a line needs no `;` at its end",
    "#": "a comment begins with `//`",
    '"': "names and values stand without quotes",
    "'": "names and values stand without quotes",
    "`": "names and values stand without quotes",
    "!": "write `not` for a negation, `!=` for a comparison",
    "~": "write `not` for a negation",
    "?": "write `if` … `else` …",
    "\ufeff": "a byte order mark may only stand at the beginning of the file",
    "\u00a0": "this is a no-break space: write an ordinary one",
    "\u2013": "write `-`",
    "→": "write `->`",
    "⇒": "write `=>`",
    "…": "write `..`",
    "≤": "write `<=`",
    "≥": "write `>=`",
    "≠": "write `!=`",
}


def unexpected(where: Span, found: str, wanted: str, hint: str = "") -> Diagnostic:
    """`found` stands where the grammar wants `wanted`, both in words."""
    labels = (Label(where, f"expected {wanted}"),)
    return Diagnostic("H0101", f"{found} does not fit here", labels, hint)


def misspelt(where: Span, word: str, suggestion: str) -> Diagnostic:
    labels = (Label(where, "not a word that fits here"),)
    return Diagnostic("H0101", f"`{word}` does not fit here", labels, suggestion)


def incomplete(where: Span, wanted: str) -> Diagnostic:
    """The line ends at `where`, and the next one does not go on with it."""
    return Diagnostic("H0101", "this line is not complete", (Label(where, f"expected {wanted}"),))


def unclosed(opener: Span, end: Span, bracket: str, closer: str) -> Diagnostic:
    what = "the file ends" if not end.text else f"`{end.text}` comes"
    labels = (Label(opener, "opened here"), Label(end, f"{what} before the `{closer}`"))
    return Diagnostic("H0102", f"this `{bracket}` is never closed", labels, f"add a `{closer}`")


def nothing_to_close(
    where: Span, opener: Span | None = None, closer: Span | None = None
) -> Diagnostic:
    """`closer` is what looks as if it were one too many, `opener` what it closes."""
    labels = [Label(where, "nothing is open that it could close")]
    if opener and closer:
        labels.append(Label(closer, f"this one has closed the `{{` of line {opener.line}"))
    title, hint = f"this `{where.text}` closes nothing", "remove it, or add its beginning"
    return Diagnostic("H0103", title, tuple(labels), hint)


def bad_number(where: Span) -> Diagnostic:
    text = where.text
    hint = "write decimal `17`, hexadecimal `0x11`, or binary thousands `4k` (4096) and `1M`"
    if text[:2].lower() in ("0b", "0o"):
        hint = "write it as a decimal or hexadecimal (`0x…`) number"
    elif text[:2] == "0X":
        hint = f"did you mean `0x{text[2:]}`?"
    elif text[-1:] in "Km" and text[:-1].isdigit():
        hint = f"did you mean `{text.swapcase()}`?"
    elif literals.looks_like_number(text):
        hint = "the largest number is 128 bits wide"
    return Diagnostic("H0104", "this is not a number", (Label(where, "cannot be read"),), hint)


def bad_address(where: Span) -> Diagnostic:
    hint = "write IPv4 as `10.0.0.1`, IPv6 as `2001:db8::1`, MAC as `02:00:00:00:00:01`"
    return Diagnostic("H0105", "this is not an address", (Label(where, "cannot be read"),), hint)


def stray_character(where: Span) -> Diagnostic:
    character = where.text[0]
    shown = f"`{character}`" if character.isprintable() else f"the character U+{ord(character):04X}"
    what = f"{shown} means nothing here" if len(where.text) == 1 else "these mean nothing here"
    hint = _INSTEAD.get(character, "")
    if not hint and character.isalpha():
        hint = "names are made of the letters a-z and A-Z, digits and `_`"
    return Diagnostic("H0106", what, (Label(where, "not part of the language"),), hint)


def reserved(where: Span, what: str) -> Diagnostic:
    word = where.text
    labels = (Label(where, f"expected {what}"),)
    return Diagnostic(
        "H0107",
        f"`{word}` is a word of the language and cannot be a name",
        labels,
        f"take another name, such as `{word}_`",
    )


def long_name(where: Span, limit: int) -> Diagnostic:
    labels = (Label(where, f"{len(where.text)} letters, digits and `_`"),)
    hint = f"a name has at most {limit}, such as `{where.text[:24].rstrip('_')}`"
    return Diagnostic("H0118", "this name is too long", labels, hint)


def too_deep(where: Span, limit: int) -> Diagnostic:
    labels = (Label(where, f"this is level {limit + 1}"),)
    return Diagnostic(
        "H0108",
        "this is nested too deeply",
        labels,
        f"at most {limit} levels are read: split it into stages, actions or shorter expressions",
    )


def too_many_branches(where: Span, limit: int) -> Diagnostic:
    labels = (Label(where, f"this is branch {limit + 1}"),)
    hint = f"at most {limit} are read: rules of a table may say which case it is"
    return Diagnostic("H0108", "this has too many `else if`", labels, hint)


def unreadable(source: Source, why: str, hint: str = "") -> Diagnostic:
    return Diagnostic("H0109", f"cannot read {source.name}: {why}", (), hint)


def not_utf8(where: Span, byte: int) -> Diagnostic:
    labels = (Label(where, f"the byte 0x{byte:02x} stands here"),)
    return Diagnostic("H0110", "this file is not UTF-8 text", labels, "save it as UTF-8")


def too_large(source: Source, octets: int, limit: int) -> Diagnostic:
    return Diagnostic(
        "H0111",
        f"{source.name} is too large: {octets} bytes",
        (),
        f"a pipeline file has at most {limit} bytes",
    )


def too_many_words(where: Span, limit: int) -> Diagnostic:
    labels = (Label(where, f"word {limit + 1}"),)
    title = "this file is too large"
    return Diagnostic(
        "H0111", title, labels, f"a pipeline file has at most {limit} words and signs"
    )


def block_comment(where: Span) -> Diagnostic:
    labels = (Label(where, "this begins no comment"),)
    return Diagnostic(
        "H0112", "comments go to the end of the line", labels, "begin each line of it with `//`"
    )


def chained(where: Span, first: Span) -> Diagnostic:
    labels = (Label(where, "a second one"), Label(first, "the first comparison"))
    return Diagnostic(
        "H0113",
        "comparisons cannot be chained",
        labels,
        "join two comparisons with `and`: `1 <= n and n <= 4`",
    )


def subject(where: Span, verb: str) -> Diagnostic:
    wanted = "a rule, such as `PDR gives FAR`" if verb == "gives" else "such as `user.dst is local`"
    labels = (Label(where, f"must be a name, {wanted}"),)
    return Diagnostic("H0114", f"`{verb}` can only be said of a name", labels)


def second_else(where: Span, first: Span) -> Diagnostic:
    labels = (Label(where, "this can never run"), Label(first, "the last branch"))
    return Diagnostic("H0115", "nothing can follow a plain `else`", labels, "remove one of them")


def misplaced_index(where: Span) -> Diagnostic:
    labels = (Label(where, "neither a node of a stack nor an element of an array"),)
    return Diagnostic(
        "H0116",
        "an index cannot stand here",
        labels,
        "write a number behind a node, as in `vlan[1].id`, or the index last: `srh.segments[0]`",
    )


def not_next(where: Span) -> Diagnostic:
    labels = (Label(where, "expected `next`, or nothing between the field and its `=`"),)
    return Diagnostic(
        "H0117",
        f"`{where.text}` cannot be followed by a type",
        labels,
        "write `FIELD = VALUE`, or `next u4 = VALUE` for the bits behind the header",
    )


def not_in_this_release(where: Span, label: str, instead: str) -> Diagnostic:
    """See planned.py."""
    title = f"`{where.text}` is not in this release"
    return Diagnostic("H0119", title, (Label(where, label),), instead)


def nearest(word: str, candidates: list[str]) -> str:
    """`did you mean …?`, more careful with short words than `did_you_mean` alone."""
    if len(word) < 2:
        return ""
    if word in ("elif", "elseif"):
        return "did you mean `else if`?"
    return did_you_mean(word, [c for c in candidates if abs(len(c) - len(word)) <= 2])
