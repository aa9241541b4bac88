"""What is wrong with characters, literals and brackets, in words: see lexer.py."""

from __future__ import annotations

import re

from ..text import literals
from ..text.diagnostics import Diagnostic, Label
from ..text.source import Span
from .foreign_words import instead_of

#: By the beginning of what is left of the line.
_LINES = {
    "#define": "write `const NAME = VALUE`",
    "#include": "write `import std.ethernet`",
    "#if": "there is no preprocessor: write two pipelines, or a `const` and an `if`",
    "@": "there are no annotations: what a kind or a stage does stands in it",
}
_INSTEAD = {
    "#": "a comment begins with `//`",
    "!": "write `not` for a negation, `!=` for a comparison",
    "?": "`a ? b : c` is `pick(a, b, c)`",
    "$": "names are made of the letters a-z and A-Z, digits and `_`",
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


def unclosed_error(opener: Span, end: Span, bracket: str, closer: str) -> Diagnostic:
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


QUOTES = "\"'`"
CALLED = f"{QUOTES}!"
"""What may stand in a call as other languages have it, but not here."""
_WORD = re.compile(r"[A-Za-z_]\w*|[0-9a-fA-F][0-9a-fA-F.:x]*", re.ASCII)
DIVIDED = re.compile(r"[0-9]+\.[0-9]+[a-zA-Z]?")
"""`1.5`, which is no address either."""
#: A number as C, Rust and Python write it: binary, with `_` in it, with its type.
_ELSEWHERE = re.compile(r"(0[bBoOxX]\w+?|[1-9][\d_]*?)_?(?:[uUlL]+|[iu](?:8|16|32|64|128|size))?")
_TIME = re.compile(r"\d+(?:ns|us|ms|s|m|min|h|d)")


def bad_number(where: Span) -> Diagnostic:
    text = where.text
    hint = "write decimal `17`, hexadecimal `0x11`, or binary thousands `4k` (4096) and `1M`"
    if DIVIDED.fullmatch(text):
        hint = "numbers are whole: a part of one is computed, `a * 3 / 2` is one and a half of `a`"
    elif text[:2] == "0X":
        hint = f"did you mean `0x{text[2:]}`?"
    elif text[-1:] in "Km" and text[:-1].isdigit() and not _ages(where):
        hint = f"did you mean `{text.swapcase()}`?"
    elif text.isdecimal() and text[0] == "0":
        octal = f", or `{int(text, 8):#x}` if it is octal" if set(text) <= set("01234567") else ""
        hint = f"a number does not begin with 0: write `{text.lstrip('0') or 0}`{octal}"
    elif _TIME.fullmatch(text):
        hint = "a time is a number of its own unit: `ages 30` are seconds, `now` counts nanoseconds"
    elif literals.looks_like_number(text):
        hint = "the largest number is 128 bits wide"
    elif (known := _elsewhere(text)) is not None:
        hint = f"write `{known}`" + (f", or `{known:#x}`" if text[0] == "0" else "")
    return Diagnostic("H0104", "this is not a number", (Label(where, "cannot be read"),), hint)


def _elsewhere(text: str) -> int | None:
    """The number that other languages write so."""
    found = _ELSEWHERE.fullmatch(text)
    if found is None:
        power = re.fullmatch(r"(\d)[eE](\d{1,2})", text)
        return int(power[1]) * 10 ** int(power[2]) if power else None
    try:
        return int(found[1], 0)
    except ValueError:  # no digits of that base
        return None


def _ages(where: Span) -> bool:
    """Whether it stands where a time does."""
    return where.source.text[: where.start].rstrip(" \t").endswith("ages")


def bad_address(where: Span) -> Diagnostic:
    behind = where.source.text[where.end : where.end + 2]
    parts = where.text.split(".")
    if behind in (".*", ".x") and len(parts) < 4:
        network = ".".join([*parts, *["0"] * (4 - len(parts))])
        hint = f"all addresses of a network are a prefix: `user.src in {network}/{8 * len(parts)}`"
        return Diagnostic(
            "H0105", "this is not an address", (Label(where, "cannot be read"),), hint
        )
    hint = "write IPv4 as `10.0.0.1`, IPv6 as `2001:db8::1`, MAC as `02:00:00:00:00:01`"
    return Diagnostic("H0105", "this is not an address", (Label(where, "cannot be read"),), hint)


def stray_ends(ends: list[Span]) -> Diagnostic:
    more = f"; {len(ends) - 1} more in this file" if len(ends) > 1 else ""
    labels = (Label(ends[0], "not part of the language"),)
    hint = f"a line needs no `;` at its end{more}"
    return Diagnostic("H0106", f"`{ends[0].text}` means nothing here", labels, hint)


def stray_character(where: Span) -> Diagnostic:
    character = where.text[0]
    shown = f"`{character}`" if character.isprintable() else f"the character U+{ord(character):04X}"
    what = f"{shown} means nothing here" if len(where.text) == 1 else "these mean nothing here"
    line = where.source.text[where.start :].partition("\n")[0]
    hint = next((h for begun, h in _LINES.items() if line.startswith(begun)), "")
    hint = hint or _INSTEAD.get(character, "")
    if not hint and character.isalpha():
        hint = "names are made of the letters a-z and A-Z, digits and `_`"
    return Diagnostic("H0106", what, (Label(where, "not part of the language"),), hint)


def stray_quotes(where: Span) -> Diagnostic:
    """A text in quotes, or a quote that nothing ends."""
    inside = where.text[1:-1]
    hint = 'names and values stand without quotes; only rules match a text: `(qname, "a.example")`'
    if where.source.text[: where.start].rstrip(" \t").endswith("import"):
        hint = "a module is named: `import std.ethernet`; `import other` is `other.hp` beside it"
    elif _WORD.fullmatch(inside):
        hint = f"names and values stand without quotes: `{inside}`"
    labels = (Label(where, "not part of the language"),)
    return Diagnostic("H0106", f"`{where.text[0]}` means nothing here", labels, hint)


def foreign_call(where: Span, macro: bool) -> Diagnostic | None:
    """`log("x")`, `println!("x")`: the word says more than the quotes. None of words that are not
    known, if it is no macro."""
    hint = instead_of(where.text) or ("there are no macros" if macro else "")
    if not hint:
        return None
    labels = (Label(where, "not a word that fits here"),)
    return Diagnostic("H0101", f"`{where.text}` does not fit here", labels, hint)


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


def block_comment(where: Span, ended: bool) -> Diagnostic:
    begins = "this begins no comment"
    label = begins if ended else f"{begins}, and no `*/` ends it: nothing behind it is read"
    hint = "begin each line of it with `//`"
    title = "comments go to the end of the line"
    return Diagnostic("H0112", title, (Label(where, label),), hint)
