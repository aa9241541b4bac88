"""Types and defaults of header fields."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations

from ...lang import tree
from ...lang.text.diagnostics import Diagnostic, Diagnostics, did_you_mean, error
from ...lang.text.source import Span
from .. import model
from ..model.checksums import is_checksum
from . import errors
from .values import WIDEST, fits, literal

_FIXED: dict[str, tuple[model.Kind, int]] = {
    "mac": ("mac", 48),
    "ip4": ("ip4", 32),
    "ip6": ("ip6", 128),
}
_OVER = {"header", "payload", "pseudo"}


def scalar(name: str) -> tuple[model.Kind, int] | None:
    """Kind and width in bits of `u12`, `mac`, `ip4`, `ip6`; None for any other word."""
    if name in _FIXED:
        return _FIXED[name]
    digits = name[1:]
    if name[:1] == "u" and digits.isdecimal() and digits[:1] != "0" and 1 <= int(digits) <= WIDEST:
        return "uint", int(digits)
    return None


def type_of(found: Diagnostics, member: tree.Field) -> tuple[model.Kind, int] | None:
    """Kind and width in bits; 0 for `bytes[rest]`; None if it has been reported."""
    type_ = member.type
    name = type_.name.text
    if name == "bytes":
        return bytes_type(found, type_)
    if name == "name":
        return name_type(found, member)
    if (known := scalar(name)) is None:
        candidates = ["mac", "ip4", "ip6", "bytes", "name", "u8", "u16", "u32", "u64"]
        found.add(errors.no_such_type(type_.name, errors.TYPES, candidates))
        return None
    if type_.count is not None and (member.parts or member.default):
        found.add(
            errors.unsupported(
                (member.default or member.parts[0]).span,
                "a default for the elements of an array, or their parts",
                "leave it out",
            )
        )
        return None
    return known


def name_type(found: Diagnostics, member: tree.Field) -> tuple[model.Kind, int] | None:
    """A name's bytes, one by one."""
    wrong = member.type.maximum or member.default or (member.parts[0] if member.parts else None)
    if wrong is not None:
        found.add(
            errors.unsupported(
                wrong.span,
                "a bound, a default or parts of a name",
                "write `name`, whose labels say how long it is, or `name[FIELD]` of its text",
            )
        )
        return None
    return ("text" if member.type.count else "name"), 8


def text_length(
    found: Diagnostics, type_: tree.Type, above: Sequence[model.Field]
) -> model.Field | None:
    """The field that says how many bytes the text of a name has."""
    count = type_.count
    known = {f.name: f for f in above if f.kind == "uint" and f.name[0] != "_"}
    field = known.get(count.text) if isinstance(count, tree.Path) else None
    if field is None and count is not None:
        found.add(_no_text_length(count.span, list(known)))
    return field


def _no_text_length(where: Span, known: list[str]) -> Diagnostic:
    help = did_you_mean(where.text, known) or (
        f"write the field in front of it, such as `name[{known[-1]}]`"
        if known
        else "declare a field in front of it, `length : u16`; of labels, which say it themselves, "
        "the type is `name` alone"
    )
    return error(
        "H0400",
        "the bytes of a name's text are what a field in front of it says",
        (where, "no number that stands in front of it"),
        help=help,
    )


def bytes_type(found: Diagnostics, type_: tree.Type) -> tuple[model.Kind, int] | None:
    count = type_.count
    if isinstance(count, tree.Path) and count.text == "rest":
        return "bytes", 0
    if isinstance(count, tree.Number) and 1 <= count.value <= 1024:
        return "bytes", count.value * 8
    if isinstance(count, tree.Number) or count is None:
        found.add(errors.no_such_type(type_.name, "bytes[1] … bytes[1024], bytes[rest]", []))
    else:
        found.add(
            errors.unsupported(
                type_.span, "bytes counted by a field", "use `bytes[rest]` and a `size` clause"
            )
        )
    return None


def default(
    found: Diagnostics, member: tree.Field, kind: model.Kind, width: int
) -> int | model.Derived | None:
    match member.default:
        case None:
            return None
        case tree.Call() as call:
            return derived(found, member, call, kind, width)
        case tree.Binary(operator="+" | "-", left=tree.Call() as call, right=tree.Number() as more):
            made = derived(found, member, call, kind, width)
            if made is None or made.what == "length":
                plus = more.value if member.default.operator == "+" else -more.value
                return replace(made, plus=plus) if made else None
            found.add(
                errors.bad_default(
                    more.span, "nothing can be added to a checksum", "not a length", "leave it out"
                )
            )
            return None
        case tree.Number() | tree.Address() as constant:
            value = literal(constant)
            what = f"`{member.name.text}`" if member.name else "these bits"
            if kind == "bytes":
                found.add(errors.unsupported(constant.span, "a default for bytes"))
                return None
            if not fits(value, width, kind, what, member.type.span, found):
                return None
            if member.name is None and value.low:
                found.add(
                    errors.bad_default(
                        constant.span,
                        "reserved bits are always written as 0",
                        "not 0",
                        "give the bits a name",
                    )
                )
                return None
            return value.low
        case other:
            found.add(
                errors.bad_default(
                    other.span,
                    "a default is a number, an address, `length(…)` or `checksum(…)`",
                    "none of these",
                    "write the value itself",
                )
            )
            return None


def derived(
    found: Diagnostics, member: tree.Field, call: tree.Call, kind: model.Kind, width: int
) -> model.Derived | None:
    name = call.function.text
    if name not in ("length", "checksum"):
        found.add(errors.no_such_function(call.function, ["length", "checksum"]))
        return None
    over = set()
    for argument in call.arguments:
        word = argument.text if isinstance(argument, tree.Path) else ""
        if word not in _OVER or (word == "pseudo" and name == "length") or word in over:
            found.add(
                errors.bad_default(
                    argument.span,
                    f"`{name}` cannot be taken over this",
                    "not a part of the packet, or named twice",
                    did_you_mean(word, _OVER)
                    or "name `header`, `payload`" + (" or `pseudo`" if name != "length" else ""),
                )
            )
            return None
        over.add(word)
    if not over or kind != "uint" or (name == "checksum" and width != 16) or member.name is None:
        found.add(
            errors.bad_default(
                call.span,
                f"this field cannot be a {name}",
                "a checksum is 16 bits wide"
                if name == "checksum"
                else "a length is a number over something",
                "write `u16 = checksum(header)` or `u16 = length(header, payload)`",
            )
        )
        return None
    return model.Derived("length" if name == "length" else "checksum", frozenset(over))


def check_sums(
    found: Diagnostics, fields: Sequence[model.Field], groups: Sequence[model.Group]
) -> None:
    """A checksum that covers another of its header is wrong as soon as that changes, and of two
    that cover each other none is ever right; only groups of other flags may be alternatives."""
    optional = {g.name for g in groups if g.flags}
    sums = [f for f in fields if is_checksum(f)]
    for first, second in combinations(sums, 2):
        alternatives = first.group != second.group and {first.group, second.group} <= optional
        if not alternatives and (_covers_header(first) or _covers_header(second)):
            covering, other = (first, second) if _covers_header(first) else (second, first)
            found.add(
                errors.bad_default(
                    second.span,
                    f"the checksum `{covering.name}` covers the checksum `{other.name}`",
                    f"`{first.name}` is a checksum of this header as well",
                    "a header has one checksum over itself; alternatives stand in groups of "
                    "different flags",
                )
            )


def _covers_header(field: model.Field) -> bool:
    return isinstance(field.default, model.Derived) and "header" in field.default.over
