"""Domain names (RFC 1035 section 3.1), as packets have them and as rules are compared with them.

What is compared is a number of so many bytes: the name's text without the last dot, its letters in
lower case (RFC 4343), and zeros in front of it. So a name that ends in `.example.org` is one whose
last bytes are these.
"""

from __future__ import annotations

import re

LONGEST = 255  # bytes of a name in a packet, with the length of each label and the root's 0
LONGEST_LABEL = 63
#: What `bytes_of_name` says of what is no name.
NO_NAME = LONGEST + 1
#: In front of the last bytes of a text that is longer than what rules are compared with.
_LONGER = 0xFF
_DECIMAL = re.compile(r"[01]\d\d|2[0-4]\d|25[0-5]", re.ASCII)


def bytes_of_name(data: bytes) -> int:
    """Bytes of the name at the front of `data`; more than `data` has where it ends within; NO_NAME
    where it is longer than names are, or has anything but labels (compression, say)."""
    at = 0
    while at < LONGEST:
        if at >= len(data):
            return at + 1
        if not data[at]:
            return at + 1
        if data[at] > LONGEST_LABEL:
            return NO_NAME
        at += 1 + data[at]
    return NO_NAME


def labels_of(name: bytes) -> list[bytes]:
    """The labels of a whole name."""
    found, at = [], 0
    while name[at]:
        found.append(name[at + 1 : at + 1 + name[at]])
        at += 1 + name[at]
    return found


def compared(name: bytes, size: int) -> int:
    """The number of `size` bytes that rules are compared with: of a longer text the last bytes
    behind one that no rule has. All ones, which no rule is either, where a label has a dot or a 0
    among these."""
    text = name[1:-1][-size:]
    lengths, at = [], name[0] + 1
    while at < len(name) - 1:
        lengths.append(at - 1)
        at += name[at] + 1
    dots = {at - (len(name[1:-1]) - len(text)) for at in lengths}
    if any(byte in b".\0" for at, byte in enumerate(text) if at not in dots):
        return (1 << 8 * size) - 1
    text = bytes(ord(".") if at in dots else byte for at, byte in enumerate(text))
    return _number(text, len(name) - 2 > size)


def compared_plain(text: bytes, size: int) -> int:
    """The same of a name that a packet has as text, perhaps with a last dot; all ones where that
    has a 0 among the last bytes."""
    text = text.removesuffix(b".")
    last = text[-size:]
    return (1 << 8 * size) - 1 if 0 in last else _number(last, len(text) > size)


def compared_as(kind: str, data: bytes, size: int) -> int:
    """`data`: of a field of that kind, `name` (labels) or `text`."""
    return (compared if kind == "name" else compared_plain)(data, size)


def _number(text: bytes, longer: bool) -> int:
    return int.from_bytes((bytes([_LONGER]) + text[1:] if longer else text).lower(), "big")


def compared_text(number: int) -> str:
    """What rules are compared with, as text: `…` stands for what was longer."""
    text = number.to_bytes(-(-number.bit_length() // 8), "big")
    if text and not text.strip(b"\xff"):
        return "a name that no rule has"
    longer = text[:1] == bytes([_LONGER])
    return ("…" + _printed(text[1:]) if longer else _printed(text)) or "."


def shown_as(kind: str, data: bytes) -> str:
    """`data`: of a field of that kind, `name` (labels) or `text`."""
    return shown(data) if kind == "name" else _printed(data)


def shown(name: bytes) -> str:
    """A name of a packet as text; other bytes than letters, digits and marks as `\\DDD` (RFC 1035
    section 5.1)."""
    labels = (_printed(label).replace(".", "\\046") for label in labels_of(name))
    return ".".join(labels) or "."


def _printed(text: bytes) -> str:
    return "".join(chr(b) if 0x21 <= b <= 0x7E and b not in b'\\"' else f"\\{b:03}" for b in text)


def wire(text: str) -> bytes | None:
    """The bytes of a name that is written so; None where it is none."""
    made = b""
    for label in [] if text in ("", ".") else text.removesuffix(".").split("."):
        data = plain(label)
        if data is None or not 1 <= len(data) <= LONGEST_LABEL:
            return None
        made += bytes([len(data)]) + data
    return made + b"\0" if len(made) < LONGEST else None


def plain(text: str) -> bytes | None:
    """A label's bytes, or those of a name's text; `\\DDD` is one of them."""
    first, *others = text.split("\\")
    if not text.isascii() or not all(_DECIMAL.match(each) for each in others):
        return None
    parts = (bytes([int(each[:3])]) + each[3:].encode() for each in others)
    return first.encode() + b"".join(parts)
