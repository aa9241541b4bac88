"""How what the parser reads of a push is told: by which edge, of which field, in which notation."""

from __future__ import annotations

import re
from collections.abc import Sequence
from ipaddress import IPv4Address, IPv6Address

from ...lang.text.source import Span
from .. import model
from ..model import guards
from ..model.walk import walk
from .contents import Contents
from .written import Written


def shown(field: model.Field, hexadecimal: bool, value: int) -> str:
    """A field's value as users write it."""
    match field.kind, field.width:
        case "ip4", 32:
            return str(IPv4Address(value))
        case "ip6", 128:
            return str(IPv6Address(value))
        case "mac", 48:
            return value.to_bytes(6, "big").hex(":")
    return f"0x{value:0{-(-field.width // 4)}x}" if hexadecimal else str(value)


def begin(header: model.Header, bits: int) -> list[str]:
    """The fields that a header begins with, so far."""
    fields = (f for f in header.fields if f.group is None and not f.part_of and f.width)
    return [f.name for f in fields if f.offset < bits and f.name[0] != "_"]


def read_by(edge: model.Edge, test: model.Test) -> tuple[Span, str]:
    return edge.span, f"this edge reads it where `{test.field} = {_as_written(edge, test)}`"


def in_hexadecimal(edge: model.Edge, test: model.Test) -> bool:
    return _as_written(edge, test).startswith("0x")


def _as_written(edge: model.Edge, test: model.Test) -> str:
    """A test's alternatives as the edge has them."""
    text = re.sub(r"//.*", "", edge.span.text)
    found = re.search(rf"\b{test.field} *=(.*?)(\b(and|write|on)\b|$)", text, re.DOTALL)
    return " ".join(found[1].split()) if found else guards.shown(test)


def own_fields(part: object) -> list[str]:
    """The header's fields that one of its clauses reads."""
    return [p.field for p in walk(part) if isinstance(p, model.Own)]


def same_bits(header: model.Header, name: str) -> list[str]:
    """A field, what it is a part of, and its parts."""
    field = header.field(name)
    parts = [f.name for f in header.fields if f.part_of == name]
    return [name, *([field.part_of] if field.part_of else []), *parts]


def culprit(w: Written, contents: Contents, names: Sequence[str]) -> str:
    """Which of some fields the push says, or else what is not known."""
    said = [n for n in names if w.spans.keys() & set(same_bits(w.header, n))]
    open_ = [n for n in names if contents.of(n)[0] != contents.of(n)[1]]
    both = [n for n in said if n in open_]
    return (both or said or open_ or list(names))[0]
