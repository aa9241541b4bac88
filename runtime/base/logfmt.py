"""Formats records as one line of text, `key=value key="a value"`, whatever the values hold."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import TypeVar

#: Characters of a value; a longer one is cut there, and ends in "...".
LONGEST = 128
_BARE = re.compile(r"[!#-<>-\[\]-~]+")


_Value = TypeVar("_Value")


def cut(value: _Value) -> _Value | str:
    """Cut a text to the length that is ever shown."""
    return value[: LONGEST + 1] if isinstance(value, str) else value


def escaped(value: object) -> str:
    """Printable ASCII: quotes, backslashes and all else as JSON escapes it."""
    text = str(value)
    if len(text) > LONGEST:
        text = text[:LONGEST] + "..."
    return json.dumps(text)[1:-1]


def logfmt(fields: Mapping[str, object]) -> str:
    """The fields in their order; values are quoted where they have a space, an equals sign, a quote
    or a backslash, or are empty."""
    texts = ((name, escaped(value)) for name, value in fields.items())
    return " ".join(f"{n}={t}" if _BARE.fullmatch(t) else f'{n}="{t}"' for n, t in texts)
