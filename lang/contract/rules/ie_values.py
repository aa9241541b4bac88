"""Values of information elements: a request's spelling to canonical matchers, and back.

Everything wrong with an element is a `Fault`: it knows which part of the IE is meant, not where
that stands; `fault_places.py` turns it into a diagnostic.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from ipaddress import IPv6Address
from socket import AF_INET, inet_pton
from typing import Any

from ...text.diagnostics import did_you_mean
from ..base.lists import packed, unpacked
from ..manifest.manifest import Element, Reserved
from ..request.request import IE, Form, quoted, unquoted
from .rules import Matcher

_BETWEEN = re.compile(r"\s*,\s*|\s+")
LENGTHS = {"u8": 8, "u16": 16, "u32": 32, "u48": 48, "u64": 64, "u128": 128}
#: Kinds of elements whose values say by themselves how long they are.
NO_LENGTH = ("bytes", "name")

#: A plain ToS or traffic class value leaves ECN alone, which is not the sender's to set
#: (RFC 3168 section 5); who means all eight bits says `184 & 0xff`.
IMPLIED_MASKS = {"tos": 0xFC, "trafficclass": 0xFC}

_FORM_NAMES: dict[Form, str] = {
    "value": "a value", "prefix": "a prefix", "mask": "a value under a mask", "range": "a range",
}  # fmt: skip
_FORMS_ALLOWED: dict[str, tuple[Form, ...]] = {
    "exact": ("value",),
    "optional": ("value",),
    "lpm": ("value", "prefix", "mask"),
    "ternary": ("value", "mask", "prefix"),
    "range": ("value", "range"),
}
#: The form in which one value alone is spelled where a plain value is not read as that.
_WHOLE: dict[str, Form] = {"lpm": "prefix", "ternary": "mask", "range": "range"}
_FORM_HELP = {
    "exact": "an `exact` element takes one value",
    "optional": "an `optional` element takes one value, or is left out",
    "lpm": "an `lpm` element takes a value or a prefix: 10.1.0.0/16",
    "ternary": "a `ternary` element takes a value, a prefix, or a value under a mask: 184 & 0xfc",
    "range": "a `range` element takes a value or a range: 1000..2000",
}


Matching = Callable[[str | int, str | int], Matcher | None]
"""Makes a matcher, or None for one that matches anything."""


class Fault(Exception):
    """Something wrong with a rule. `part`: type, length, value, other, values (value and other),
    ie, kind, id or rule. `ie` and `node` say which element of which rule, once somebody knows."""

    def __init__(self, code: str, title: str, part: str, text: str = "", help: str = "") -> None:
        super().__init__(title)
        self.code, self.title, self.part, self.text, self.help = code, title, part, text, help
        self.ie: IE | None = None
        self.node: Any = None


_new = tuple.__new__  # a third of what a named tuple's own takes
_FOLD = str.maketrans("", "", " -_")


def fold(name: str) -> str:
    """Names ignore case, spaces, `-` and `_`."""
    return name.translate(_FOLD).lower()


@cache
def _prefixes_of(width: int) -> dict[str | int, tuple[int, int]]:
    """Length and host bits of a prefix, by its length as it is usually spelled."""
    return {
        spelled: (length, (1 << width - length) - 1)
        for length in range(1, width)
        for spelled in (length, str(length))
    }


#: Elements by which a spread is steered that say a part of all, in thousandths (docs/steering.md).
PER_MILLE = ("max_loss",)


class Codec:
    """One element's values. `lengths` are the IE lengths that fit it, the usual one first. `full`:
    the largest value, which of one that is `per_mille` is all."""

    __slots__ = ("_prefixes", "element", "full", "implied_mask", "kind", "lengths", "name",
                 "range", "reserved", "symbols", "values", "width")  # fmt: skip

    def __init__(self, element: Element, per_mille: bool = False) -> None:
        self.element = element
        self.name, self.width, self.kind = element.name, element.width, element.kind
        self.full = 1000 if per_mille else (1 << element.width) - 1
        self.range = "is per mille" if per_mille else f"has {element.width} bits"
        self.symbols = {fold(name): value for name, value in element.symbols.items()}
        self.values = frozenset(element.symbols.values())
        self.reserved: dict[str | int, Reserved] = {}  # by folded name, and by value
        for each in element.reserved:
            self.reserved[fold(each.name)] = self.reserved[each.value] = each
        self.lengths = _lengths(element)
        implied = IMPLIED_MASKS.get(fold(element.name)) if element.width == 8 else None
        self.implied_mask = implied
        self._prefixes = _prefixes_of(self.width)

    @property
    def size(self) -> int:
        """Of a value on the wire and in images."""
        return LENGTHS[self.lengths[0]] // 8

    def check_length(self, length: str) -> None:
        if length in self.lengths or not length:  # YAML leaves lengths to the manifest
            return
        if length.lower() in self.lengths:
            return
        if self.kind in NO_LENGTH:
            title = f"`{self.name}` has no length to write"
            raise Fault("H0414", title, "length", "leave it out", f"write ({self.name}, …)")
        expected = " or ".join(f"`{name}`" for name in self.lengths)
        title = f"`{self.name}` has length {expected}, not `{length}`"
        help_ = f"write ({self.name}, {self.lengths[0]}, …)"
        if length.isdecimal() and length not in ("8", "16", "32", "64", "48", "128"):
            help_ = f"an element has one value, ({self.name}, {length}): make a rule of each"
        elif length.lower() not in LENGTHS:
            help_ += "; lengths are u8, u16, u32, u64, u48 and u128"
        raise Fault("H0414", title, "length", f"expected {expected}", help_)

    def number(self, literal: str | int, part: str = "value", enumerated: bool = True) -> int:
        """The value of a literal: decimal, 0x, an address of the element's kind, or a symbol."""
        value = literal if isinstance(literal, int) else self._parse(literal, part)
        if not 0 <= value <= self.full:
            title = f"{short(literal)} does not fit `{self.name}`, which {self.range}"
            raise Fault("H0416", title, part, "too large", f"the largest is {self.full}")
        if enumerated and self.values and value not in self.values:
            if value in self.reserved:
                raise self._refused(self.reserved[value], part)
            names = ", ".join(f"{n} = {v}" for n, v in self.element.symbols.items())
            title = f"{self._written(literal)} is none of the values of `{self.name}`"
            raise Fault("H0417", title, part, "not in the enumeration", f"it takes {names}")
        return value

    def _parse(self, text: str, part: str) -> int:
        if self.kind == "ip4" and (value := _ip4(text)) is not None:
            return value
        if text[:1].isdigit() or ":" in text:
            value = literal_number(text, self.kind)
            if value is not None:
                return value
        else:
            name = unquoted(text)
            symbol = self.element.symbols.get(name, self.symbols.get(fold(name)))
            if symbol is not None:
                return symbol
        raise self._not_one(text, part)

    def _not_one(self, text: str, part: str) -> Fault:
        is_name = not (text[:1].isdigit() or ":" in text)
        if is_name and fold(unquoted(text)) in self.reserved:
            return self._refused(self.reserved[fold(unquoted(text))], part)
        text = short(text)
        if is_name and self.symbols:
            names = ", ".join(self.element.symbols)
            help_ = did_you_mean(unquoted(text), self.element.symbols) or f"it takes {names}"
            title = f"`{text}` is none of the values of `{self.name}`"
            return Fault("H0417", title, part, "not in the enumeration", help_)
        what, example = {
            "ip4": ("an IPv4 address", "10.1.0.1, or 167837697"),
            "ip6": ("an IPv6 address", "2001:db8::1"),
            "mac": ("a MAC address", "02:00:00:00:00:01, or a number"),
        }.get(self.kind, ("a number", "46, or 0x2e"))
        title = f"`{text}` is not {what}, which `{self.name}` takes"
        help_ = f"write for example {example}"
        if text.lower() in ("any", "all"):
            help_ = "an element that may have any value is left out"
        return Fault("H0415", title, part, f"expected {what}", help_)

    def _refused(self, reserved: Reserved, part: str) -> Fault:
        title = f"`{reserved.name}` is a reserved value of `{self.name}`: no rule can have it yet"
        help_ = reserved.reason or f"it takes {', '.join(self.element.symbols)}"
        return Fault("H0427", title, part, "reserved by the pipeline", help_)

    def _written(self, literal: str | int) -> str:
        """As a text has it."""
        return spell(self.kind, literal) if isinstance(literal, int) else literal

    def format(self, value: int) -> str:
        """The canonical spelling."""
        for name, known in self.element.symbols.items():
            if known == value:
                return quoted(name)
        return spell(self.kind, value)

    # ---- matchers ---------------------------------------------------------------------------

    def matcher(self, kind: str, form: Form, value: str | int, other: str | int) -> Matcher | None:
        """The canonical matcher, or None for one that matches anything."""
        return self.matching(kind, form)(value, other)

    def matching(self, kind: str, form: Form) -> Matching:
        """What makes the matchers of a form, out of the IE's `value` and `other`."""
        if form not in _FORMS_ALLOWED[kind]:
            title = f"`{self.name}` does not match {_FORM_NAMES[form]}"
            raise Fault("H0418", title, "values", f"this is {_FORM_NAMES[form]}", _FORM_HELP[kind])
        if form == "value":
            implied = kind == "ternary" and self.implied_mask is not None
            return self._implied if implied else self._value
        if form == "prefix":
            return self._ternary_prefix if kind == "ternary" else self._prefix
        if form == "range":
            return self._range
        return self._lpm_mask if kind == "lpm" else self._mask

    def _value(self, value: str | int, _: str | int) -> Matcher | None:
        return _new(Matcher, ("value", self.number(value), 0))

    def _implied(self, value: str | int, _: str | int) -> Matcher | None:
        assert self.implied_mask is not None
        return _masked(self.number(value), self.implied_mask, self.full)

    def _prefix(self, value: str | int, other: str | int) -> Matcher | None:
        length, host = self._prefixes.get(other, (0, 0))
        low = value if isinstance(value, int) else _ip4(value) if self.kind == "ip4" else None
        if length and low is not None and 0 <= low <= self.full and not low & host:
            return _new(Matcher, ("prefix", low, length))  # plainly right: the commonest
        return self._any_prefix(self.number(value, enumerated=False), other)

    def _ternary_prefix(self, value: str | int, other: str | int) -> Matcher | None:
        """A prefix is a mask, too."""
        self._any_prefix(self.number(value, enumerated=False), other)  # which says what is wrong
        mask = self.full & ~((1 << (self.width - self.prefix_length(other))) - 1)
        return _masked(self.number(value, enumerated=False), mask, self.full)

    def _mask(self, value: str | int, other: str | int) -> Matcher | None:
        number = self.number(value, enumerated=False)
        return _masked(number, self.number(other, "other", enumerated=False), self.full)

    def _lpm_mask(self, value: str | int, other: str | int) -> Matcher | None:
        number = self.number(value, enumerated=False)
        mask = self.number(other, "other", enumerated=False)
        host = self.full ^ mask
        if host & (host + 1):
            title = f"the mask of `{self.name}` is not contiguous"
            raise Fault("H0423", title, "other", "ones and zeros mixed", _FORM_HELP["lpm"])
        return self._any_prefix(number & mask, mask.bit_count())

    def _range(self, value: str | int, other: str | int) -> Matcher | None:
        low = self.number(value, enumerated=False)
        high = self.number(other, "other", enumerated=False)
        if low > high:
            begin, end = self._written(value), self._written(other)
            title = f"the range {begin}..{end} is empty"
            what = "the upper end is below the lower"
            raise Fault("H0422", title, "values", what, f"write {end}..{begin}")
        if low == high:
            return Matcher("value", low)
        return None if low == 0 and high == self.full else Matcher("range", low, high)

    def ignores(self, kind: str, form: Form) -> bool:
        """Whether a matcher of this form may leave bits of its value out of the comparison."""
        return form == "mask" or (form, kind, self.implied_mask is None) == (
            "value",
            "ternary",
            False,
        )

    def ignored(self, kind: str, form: Form, value: str | int, other: str | int) -> Fault | None:
        """A warning where bits of the value are not compared: those outside its mask, and the ECN
        bits of a ToS without one. The values must be right."""
        if not self.ignores(kind, form):
            return None
        number, mask = self.number(value, enumerated=False), self.implied_mask or 0
        if form == "mask":
            mask = self.number(other, "other", enumerated=False)
        lost = number & ~mask
        if not lost:
            return None
        meant, given = self.format(number & mask), self.format(number)
        if form == "value":
            title = f"`{self.name}` {given} has ECN bits, which are not compared"
            text = f"this matches {meant}..{number & mask | self.full & ~mask}"
            help_ = f"write {given} & {self.full:#x} to compare them, or {meant}"
        else:
            title = f"`{self.name}` {given} has bits outside its mask, which are not compared"
            written = self.spellings(form, number, other)[2] if isinstance(other, int) else other
            text = f"this matches {meant} & {written}" if mask else "this matches any value"
            help_ = f"write {meant} & {written}, or set these bits in the mask"
        return Fault("H0426", title, "values", text, help_)

    def prefix_length(self, other: str | int) -> int:
        length = other if isinstance(other, int) else literal_number(other, "uint")
        if length is None or not 0 <= length <= self.width:
            help_ = f"a prefix of `{self.name}` has 0 to {self.width} bits"
            if (bits := _ones_of(other)) is not None:
                help_ = f"write it as a prefix: /{bits}"
            title = f"/{short(other)} is no prefix length"
            raise Fault("H0420", title, "other", "out of range", help_)
        return length

    def _any_prefix(self, value: int, other: str | int) -> Matcher | None:
        length = self.prefix_length(other)
        host = (1 << (self.width - length)) - 1
        if value & host:
            network = f"{self.format(value & ~host)}/{length}"
            title = f"{self.format(value)}/{length} has bits set behind the prefix"
            help_ = f"write {network}, or {self.format(value)} for the one address"
            raise Fault("H0421", title, "values", f"the prefix is {network}", help_)
        if length == self.width:
            return Matcher("value", value)
        return Matcher("prefix", value, length) if length else None

    def spelled(self, kind: str, matcher: Matcher) -> tuple[Form, str, str]:
        """Form, value and other of the IE that a matcher is read from again."""
        form, value, other = matcher
        plain = self.implied_mask if kind == "ternary" else None
        named = not self.values or value in self.values
        if form == "value" and (plain is not None or not named):
            form, other = _WHOLE[kind], {"range": value, "lpm": self.width}.get(kind, self.full)
        elif form == "mask" and other == plain and named:
            form = "value"
        return self.spellings(form, value, other)

    def spellings(self, form: Form, value: int, other: int) -> tuple[Form, str, str]:
        """The spellings of an IE's numbers, which need not fit the element."""
        if not 0 <= value <= self.full:
            return form, str(value), str(other)
        if form == "value":
            return form, self.format(value), ""
        first, second = spell(self.kind, value), str(other)
        if form != "prefix" and 0 <= other <= self.full:
            bits = form == "mask" and self.kind == "uint"
            second = f"{other:#x}" if bits else spell(self.kind, other)
        return form, first, second


class ListCodec(Codec):
    """An element that holds several values. Its number is what `lists.packed` makes of them."""

    __slots__ = ("most",)

    def __init__(self, element: Element) -> None:
        super().__init__(element)
        self.most = element.most

    def number(self, literal: str | int, part: str = "value", enumerated: bool = True) -> int:
        """Of literals with commas or spaces between them; a number is taken for a packed list."""
        if isinstance(literal, int):
            return literal
        values = [super(ListCodec, self).number(each, part) for each in _BETWEEN.split(literal)]
        if len(values) > self.most:
            title = f"`{self.name}` holds at most {self.most} values"
            raise Fault("H0416", title, part, f"these are {len(values)}", "leave some out")
        return packed(values, self.width, self.most)

    def values_of(self, number: int) -> list[int]:
        return unpacked(number, self.width, self.most)

    def format(self, value: int) -> str:
        return ", ".join(super(ListCodec, self).format(v) for v in self.values_of(value))


def short(literal: str | int) -> str:
    text = str(literal) if isinstance(literal, str) or literal.bit_length() < 256 else "this"
    return text if len(text) <= 60 else text[:57] + "…"


def _lengths(element: Element) -> tuple[str, ...]:
    """The IE lengths that fit an element; a run of bytes and a name have none but their own."""
    if element.kind in NO_LENGTH:
        return ("",)
    fitting = next(name for name, width in LENGTHS.items() if width >= element.width)
    # Schema 1 has MAC addresses travel as u64.
    return (fitting, "u64") if element.kind == "mac" else (fitting,)


def _masked(value: int, mask: int, full: int) -> Matcher | None:
    if mask == full:
        return Matcher("value", value)
    return Matcher("mask", value & mask, mask) if mask else None


def literal_number(text: str, kind: str) -> int | None:
    """The number that a literal spells, if it is one for elements of this kind."""
    try:
        if ":" in text:
            if kind == "mac" and len(text) == 17 and text.count(":") == 5:
                return int(text.replace(":", ""), 16)
            return int(IPv6Address(text)) if kind == "ip6" else None
        if "." in text:
            return _ip4(text) if kind == "ip4" else None
        if len(text) > 50:
            return 1 << 160
        return int(text, 16) if text[:2] in ("0x", "0X") else int(text)
    except (ValueError, OSError):
        return None


def _ip4(text: str) -> int | None:
    """Of four bytes, each as it must be spelled: without leading zeros, which some read as
    octal."""
    try:
        return int.from_bytes(inet_pton(AF_INET, text), "big")
    except (OSError, ValueError):
        return None


def spell(kind: str, value: int) -> str:
    """A value of an element of this kind: an address as such, anything else in decimal."""
    if kind == "ip4":
        return format_ip4(value)
    if kind == "ip6":
        return _format_ip6(value)
    if kind == "mac":
        return value.to_bytes(6, "big").hex(":")
    return str(value)


def _format_ip6(value: int) -> str:
    """As RFC 5952 has it, but without dotted quads, which requests do not take and Python 3.13
    writes in IPv4-mapped addresses."""
    text = str(IPv6Address(value))
    return text if "." not in text else f"::ffff:{value >> 16 & 0xFFFF:x}:{value & 0xFFFF:x}"


def format_ip4(value: int) -> str:
    return f"{value >> 24}.{value >> 16 & 255}.{value >> 8 & 255}.{value & 255}"


def _ones_of(mask: str | int) -> int | None:
    """The prefix length that an IPv4 netmask says, None where it is none."""
    try:
        bits = int.from_bytes(inet_pton(AF_INET, mask if isinstance(mask, str) else ""), "big")
    except (OSError, ValueError):
        return None
    turned = bits ^ 0xFFFFFFFF
    return None if turned & (turned + 1) else 32 - turned.bit_length()
