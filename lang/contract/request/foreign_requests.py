"""Requests as other tools write them, and what is written here: by the text of the line."""

from __future__ import annotations

import re

from ...text.source import Source

_ONE_VALUE = "an element has one value, range, prefix or value & mask: make a rule of each"
_ID = "an id stands behind the kind: FAR 30 [(action, DROP)]"
_ALL = "all rules of a kind go by `replace KIND`"
_KIND = "each rule has its kind: FAR 17, FAR 18"
_WEIGHT = "a weight is an item of the member: FAR 17 [(weight, 3)]"
_COMMA = "leave the comma out: an item stands in front of each and behind it"
_RANGE = "a range has two dots: 80..90"
_WORDS = "no words stand between: update FAR 17 [(action, DROP)], delete FAR 17; "
_WORDS += "a rule is named by its id or its content"
_OTHERS = "a rule says what it matches: the exception is a rule of its own that wins, by a higher "
_OTHERS += "priority or a more specific match"
_ENDS = "a change ends with `;`: create FAR 30 [(action, DROP)]; create FAR 31 [(action, DROP)]"

#: How the text looks around what does not fit (`at`: that); the first that fits.
LINES = {
    r"(?P<at>\b(?:where|from|set|values)\b.*)": _WORDS,
    r"\(\s*[\w -]+,\s*(?:u\d+\s*,\s*)?(?!u\d+\b)[a-z_]\w*\s+(?P<at>[\w-]+)\s*\)":
        "a rule is named by its id, or by its name alone: (interface, 4), (interface, GRE-WAN1)",
    r"\(\s*[\w -]+,[^()\[\]]*(?P<at>\])": "close the element first: [(action, DROP)]",
    r"\b(?P<at>or)\b|(?P<too>\|)": _ONE_VALUE,
    r"(?P<at>\bnot\b\s*\S*|!)": _OTHERS,
    r"\)\s*(?P<at>and\b)": "elements hold all together: part them by commas",
    r"\d+(?P<at>:)\d+\s*\)": _RANGE,
    r"\d+\s*(?P<at>-)\s*\d": f"{_RANGE}, 10.0.0.1..10.0.0.9",
    r"\d+\.\d+\.\d+\.\d+\s+(?P<at>\d+\.\d+\.\d+\.\d+)":
        "a network is a prefix, 10.0.0.0/8; other masks stand behind `&`: 10.0.0.0 & 255.0.255.0",
    r"(?P<at>\b\d+(?:\.\d+){0,2}\.[*x])": "a network is a prefix: 10.0.0.0/24",
    r"\b(?:create|update|delete|replace)\s+[a-z]\w*\s*\[\s*(?P<at>\d+)\s*\]": _ID,
    r"\b[a-z]\w*\s*(?P<at>#\s*\d+|id\s*=\s*\d+)": _ID,
    r"\b[a-z]\w*\s*:\s*(?P<at>\d+)\b": _ID,
    r"\b(?:delete)\s+(?:[a-z]\w*\s+)?(?P<at>\*)": _ALL,
    r",\s*(?P<at>\d+\s*(?:\[|,|;|$))": _KIND,
    r"\b[a-z]\w*\s+\d+\s+(?:weight\s*=?\s*)?(?P<at>\d+)": _WEIGHT,
    r"(?P<at>,\s*,|,\s*$|,\s*[\])])": _COMMA,
    r"(?P<at>&&|\|\||\+)": _ENDS,
}  # fmt: skip
_COMPILED = [(re.compile(pattern, re.IGNORECASE), hint) for pattern, hint in LINES.items()]


def instead(source: Source, start: int, end: int) -> str:
    """What to write in place of what stands at `start` to `end`; "" where nothing is known."""
    text = source.text
    first = text.rfind("\n", 0, start) + 1
    line = text[first : len(text) if (last := text.find("\n", start)) < 0 else last]
    for pattern, hint in _COMPILED:
        for found in pattern.finditer(line[:_LONGEST]):
            part = next((g for g in ("at", "too") if found.groupdict().get(g)), 0)
            low, high = found.span(part)
            if low < end - first and start - first < high:
                return hint
    return ""


_LONGEST = 2_000
"""Characters of a line that are looked at."""
