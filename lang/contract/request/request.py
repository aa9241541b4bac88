"""A request as a controller wrote it: nothing resolved, every piece with its place.

Named tuples rather than dataclasses: a bulk request has hundreds of thousands of them. Places are
offsets into `Request.source`; a request that was not read from text (decoded, or made by a program)
has no source and empty places.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

from ...text.source import Source, Span

Operation = Literal["create", "update", "delete", "replace"]
Form = Literal["value", "prefix", "mask", "range"]
Place = tuple[int, ...]


class IE(NamedTuple):
    """`(type, length, value)`, or several values: then `value` has all, with commas; `(type,
    value)` has an empty `length`. `type` is the element's name as written, or its number;
    `value` and `other` (prefix length, mask or upper end) are spellings, or numbers already. A
    quoted name keeps its quotes. `at`: start and end of type, length, value, other and the
    whole."""

    type: str
    length: str
    form: Form
    value: str | int
    other: str | int = ""
    at: Place = ()


class RuleItem(NamedTuple):
    """`KIND [id] [name] [items]`. `block`: the items stood in brackets; otherwise what follows in
    the list may belong to it. Without a kind, its elements say of which it is. `at`: start of the
    head, its end, and the end of the whole; a rule without a head ends as the head does."""

    kind: str
    id: int | None = None
    name: str | None = None
    items: tuple[RuleItem | IE, ...] = ()
    block: bool = True
    at: Place = ()


Item = RuleItem | IE


class Change(NamedTuple):
    """`create …`. `at`: start and end of the verb."""

    operation: Operation
    items: tuple[RuleItem | IE, ...]
    at: Place = ()


class Request(NamedTuple):
    """One transaction."""

    changes: tuple[Change, ...]
    source: Source | None = None

    def span(self, start: int, end: int) -> Span:
        assert self.source is not None
        return self.source.span(start, end)


_SEPARATORS = {"value": "", "prefix": "/", "mask": " & ", "range": ".."}


def separator(ie: IE) -> str:
    """What stands between `value` and `other`."""
    return _SEPARATORS[ie.form]


def value_text(ie: IE) -> str:
    """The value as it is written in a request: `10.1.0.0/16`."""
    return f"{ie.value}{_SEPARATORS[ie.form]}{ie.other if ie.form != 'value' else ''}"


def head_text(item: RuleItem) -> str:
    """What stands before its brackets."""
    head = item.kind
    if item.id is not None:
        head += f" {item.id}"
    if item.name is not None:
        head += f" {quoted(item.name)}"
    return head


def item_text(item: RuleItem | IE) -> str:
    """An item as it is written in a request, on one line."""
    if isinstance(item, IE):
        length = f"{item.length}, " if item.length else ""
        return f"({item.type}, {length}{value_text(item)})"
    head = head_text(item)
    if head and not item.block and not item.items:
        return head
    return f"{head}{' ' if head else ''}[{', '.join(map(item_text, item.items))}]"


def request_text(request: Request) -> str:
    """The request as text, a change a line. Reading it again gives the same request, but for
    places."""
    lines = (
        f"{change.operation} {', '.join(map(item_text, change.items))}"
        for change in request.changes
    )
    return ";\n".join(lines) + "\n"


def quoted(name: str) -> str:
    """A name as a request spells it: in quotes unless it is a plain word."""
    from .request_tokens import is_word  # compiles large expressions

    return name if is_word(name) else f'"{name}"'


def is_name(text: str) -> bool:
    """Whether a request can spell it as a name."""
    return text.isprintable() and '"' not in text


def unquoted(text: str) -> str:
    return text[1:-1] if text[:1] == '"' and text[-1:] == '"' and len(text) > 1 else text
