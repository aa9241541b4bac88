"""Values of elements that are no numbers: runs of bytes, and domain names. And what makes the codec
of any element."""

from __future__ import annotations

from ..base.domain_names import LONGEST_LABEL
from ..manifest.manifest import Element
from ..request.request import IE, Form, unquoted
from .ie_values import Codec, Fault, ListCodec, Matching, short
from .rules import Matcher

_ANY_LABEL = "*."


class RunCodec(Codec):
    """A run of bytes of fixed size, `bytes[16]`: text in quotes, or two hexadecimal digits a byte
    behind `0x`. A prefix is that of so many bits, and need not be written further."""

    __slots__ = ()

    @property
    def size(self) -> int:
        return self.width // 8

    def number(self, literal: str | int, part: str = "value", enumerated: bool = True) -> int:
        if isinstance(literal, int):
            return super().number(literal, part, enumerated)
        data = self._bytes(literal, part)
        if len(data) != self.size:
            title = f"`{self.name}` has {self.size} bytes, and {short(literal)} {len(data)}"
            help_ = "write all of them, or a prefix where it may be one: 0x474554/24"
            raise Fault("H0467", title, part, f"{len(data)} bytes", help_)
        return int.from_bytes(data, "big")

    def _bytes(self, text: str, part: str) -> bytes:
        digits = text.lower()
        if not digits.startswith("0x"):
            return unquoted(text).encode()
        try:
            return bytes.fromhex(digits[2:])
        except ValueError:
            title = f"{short(text)} is no run of bytes: it has an odd number of digits"
            raise Fault("H0467", title, part, "two digits a byte", "write 0x0a, not 0xa") from None

    def _filled(self, value: str | int, other: str | int) -> str | int:
        """A value in front of a prefix length, with zeros for the bytes that are not written."""
        if isinstance(value, int):
            return value
        data = self._bytes(value, "value")
        if len(data) * 8 < self.prefix_length(other):
            title = f"{short(value)} has {len(data) * 8} bits, and its prefix {other}"
            raise Fault("H0467", title, "value", "too short", "write the prefix whole")
        return f"0x{data.ljust(self.size, bytes(1)).hex()}"

    def _prefix(self, value: str | int, other: str | int) -> Matcher | None:
        return super()._prefix(self._filled(value, other), other)

    def _ternary_prefix(self, value: str | int, other: str | int) -> Matcher | None:
        return super()._ternary_prefix(self._filled(value, other), other)

    def format(self, value: int) -> str:
        data = value.to_bytes(self.size, "big")
        text = data.decode("latin-1")
        plain = text.isascii() and text.isprintable() and '"' not in text
        return f'"{text}"' if plain else f"0x{data.hex()}"

    def spellings(self, form: Form, value: int, other: int) -> tuple[Form, str, str]:
        if form == "value" or not 0 <= value <= self.full:
            return super().spellings(form, value, other)
        if form == "prefix":
            data = value.to_bytes(self.size, "big")[: -(-other // 8)]
            return form, f"0x{data.hex()}", str(other)
        first, second = (f"0x{n.to_bytes(self.size, 'big').hex()}" for n in (value, other))
        return form, first, second

    # ---- on the wire ------------------------------------------------------------------------

    def wire_value(self, ie: IE) -> bytes:
        value = self._filled(ie.value, ie.other) if ie.form == "prefix" else ie.value
        return self.number(value).to_bytes(self.size, "big")


class NameCodec(Codec):
    """A domain name, without regard to case: `ads.example.org`; where a kind matches it `ternary`,
    `*.example.org` is all names below that one. A number is that of `base/domain_names.py`."""

    __slots__ = ()

    @property
    def size(self) -> int:
        return self.width // 8

    def number(self, literal: str | int, part: str = "value", enumerated: bool = True) -> int:
        if isinstance(literal, int):
            return super().number(literal, part, enumerated)
        return self._number(self._text(literal, part), literal, part)

    def _number(self, text: str, literal: str, part: str) -> int:
        """`text`: without the last dot."""
        for label in text.split(".") if text else ():
            wrong = _wrong_label(label)
            if wrong:
                title = f"{short(literal)} is no domain name"
                raise Fault("H0468", title, part, wrong, "write for example www.example.org")
        return int.from_bytes(text.encode(), "big")

    def _text(self, literal: str, part: str) -> str:
        text = unquoted(literal).lower().removesuffix(".")
        if len(text) > self.size:
            title = f"{short(literal)} is too long for `{self.name}`"
            help_ = f"`{self.name}` takes names of up to {self.size} characters"
            raise Fault("H0469", title, part, f"{len(text)} characters", help_)
        return text

    def matching(self, kind: str, form: Form) -> Matching:
        if form != "value":
            title = f"`{self.name}` takes a name"
            help_ = (
                "write a name; all names below one are *.example.org, where it matches `ternary`"
            )
            raise Fault("H0418", title, "values", "no name", help_)
        return self._below if kind == "ternary" else self._value

    def _below(self, value: str | int, _: str | int) -> Matcher | None:
        """A name, or all names below one."""
        if isinstance(value, int) or not unquoted(value).startswith(_ANY_LABEL):
            return self._value(value, "")
        text = self._text(value, "value").removeprefix("*")
        if text in ("", "."):
            return None
        number = self._number(text[1:], value, "value") | ord(".") << 8 * (len(text) - 1)
        return Matcher("mask", number, (1 << 8 * len(text)) - 1)

    def _value(self, value: str | int, _: str | int) -> Matcher | None:
        return Matcher("value", self.number(value))

    def format(self, value: int) -> str:
        text = value.to_bytes(self.size, "big").lstrip(b"\0")
        return f'"{text.decode("latin-1") or "."}"'

    def spellings(self, form: Form, value: int, other: int) -> tuple[Form, str, str]:
        if form == "mask" and 0 <= value <= self.full:
            return "value", f'"*{self.format(value)[1:]}', ""
        return super().spellings(form, value, other)

    # ---- on the wire ------------------------------------------------------------------------

    def wire_value(self, ie: IE) -> bytes:
        text = self.format(ie.value) if isinstance(ie.value, int) else str(ie.value)
        return unquoted(text).encode()


ByteCodec = RunCodec | NameCodec


def _wrong_label(label: str) -> str:
    """What is wrong with a label of a name; "" if nothing is."""
    if not label:
        return "a label is empty"
    if len(label) > LONGEST_LABEL:
        return f"a label has more than {LONGEST_LABEL} characters"
    if label == "*":
        return "`*` stands only in front of the whole name, where it matches `ternary`"
    if not all("!" <= c <= "~" and c not in '*"\\' for c in label):
        return "labels have letters, digits and marks of ASCII; of others write the form xn--…"
    return ""


def codec_of(element: Element) -> Codec:
    if element.kind == "bytes":
        return RunCodec(element)
    if element.kind == "name":
        return NameCodec(element)
    return ListCodec(element) if element.most else Codec(element)
