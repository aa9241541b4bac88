"""Domain names, and runs of bytes, that nobody wrote: a header that has both, rules about them, and
what packets have in their place. All draws are of their own: all else stays what it would be."""

from __future__ import annotations

from chance import Chance
from helioc.lang.contract.base.domain_names import wire

NODE = "label"
_FRONT = "header label {\n  kind : u8\n  id : bytes[5]\n"
_OPTION = "    host when kind = 1 { bytes : u8  name : name[bytes] }\n"
#: The header: with a name of labels, with the text of one, and with that in an option.
FORMS = (
    f"{_FRONT}  host : name\n}}\n",
    (f"{_FRONT}  host : name\n}}\n"),
    (f"{_FRONT}  size : u8\n  host : name[size]\n}}\n"),
    (f"{_FRONT}  all : u8\n  notes : tlv(kind : u8, length : u8, end 0, size length + 2) within all"
     f" max 4 {{\n{_OPTION}  }}\n}}\n"),
)  # fmt: skip
#: As rules say them, where they fit; some below others.
NAMES = ("a.example", "example", "b.a.example", "xa.example", "org", ".", "a-b.c", "1.2.3")
RUNS = (0x4745542031, 0x4745540000, 0, (1 << 40) - 1)
SIZES = (8, 16, 24)


def host(chance: Chance) -> tuple[int, ...]:
    """What a packet has: a known name, in any case, one below it, or what is none."""
    name = wire(chance.one(NAMES)) or b""
    for _ in range(chance.one((0, 0, 0, 1, 3))):
        name = (
            chance.one((b"\x01a", b"\x02.x", b"\x01\0", b"\x3f" + b"q" * 63, b"\x2e" + b"." * 46))
            + name
        )
    if chance.maybe(0.3):
        name = name.upper()
    if chance.maybe(0.1):
        name = name[:-1] + chance.one((b"", b"\xc0\x0c", b"\x40", b"\x3f"))
    return tuple(name)


def text(chance: Chance) -> tuple[int, ...]:
    """The same as text, perhaps with a last dot."""
    name = chance.one(NAMES).removesuffix(".").encode()
    for _ in range(chance.one((0, 0, 0, 1, 3))):
        name = chance.one((b"a.", b".", b"\0.", b"x", b"q" * 63 + b".")) + name
    if chance.maybe(0.3):
        name = name.upper()
    return tuple(name + chance.one((b"", b"", b".", b"..", b"\0"))[: 255 - len(name)])


def in_option(chance: Chance) -> tuple[bytes, int]:
    """The same with its length in front, and the size of the option that has both."""
    name = bytes(text(chance))
    says = len(name) if chance.maybe(0.9) else chance.one((0, 3, len(name) + 1, 255))
    return bytes([min(says, 255)]) + name, len(name) + 3


def said(chance: Chance, how: str, size: int) -> str:
    """A name in a rule."""
    text = chance.one([name for name in NAMES if len(name) + 2 <= size])
    below = how == "ternary" and text != "." and chance.maybe(0.5)
    return f'"{"*." * below}{text}"'


def run(chance: Chance, how: str) -> str:
    """A run of bytes in a rule."""
    value = f"{chance.one(RUNS):#012x}"
    if how == "ternary" and chance.maybe(0.5):
        return f"{value} & 0x{chance.one(('ffff000000', 'ff000000ff', '00000000f0'))}"
    if how in ("lpm", "ternary") and chance.maybe(0.6):
        size = chance.one((1, 2, 3))
        return f"{value[: 2 + 2 * size]}/{8 * size}"
    return value
