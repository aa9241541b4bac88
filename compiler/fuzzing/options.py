"""Bytes of options, such as a header's walk takes far, and some that it does not take."""

from __future__ import annotations

from ...lang.text.frozen import kept
from ..interpret.evaluate import evaluate
from ..interpret.header_view import put
from ..model import Expr, Options, Own
from ..model.walk import walk

_LENGTHS = 320  # of a name's text, and what stands around it


def kinds(options: Options) -> list[int]:
    """Kinds of each named option, at the ends of their ranges, and of those that stand alone."""
    found = {end for group in options.groups for pair in group.kinds for end in pair}
    return sorted(found | {*options.bare} | {*options.end})


def says_size(options: Options, field: str) -> bool:
    """Whether an option's size is computed of this field of it, `length` or `mark.length`."""
    read = {part.field for part in walk(options.size) if isinstance(part, Own)}
    return field.rpartition(".")[2] in read


def least(options: Options, kind: int) -> int:
    """Bytes that an option of this kind has with all its fields."""
    group = options.named(kind)
    return group.width // 8 if group else options.heading.minimum


def option(options: Options, kind: int, size: int, content: bytes) -> bytes:
    """An option of that kind that says that it has `size` bytes (or whatever it can say), and has
    these behind its heading."""
    if kind in options.bare or kind in options.end:
        return bytes([kind])
    heading, lengths = options.heading, _lengths(options)
    data = bytes(heading.minimum)
    for name, value in ("kind", kind), ("length", lengths.get(size, size)):
        field = heading.field(name)
        data = put(data, field.offset, field.width, value)
    return data + content


@kept
def _lengths(options: Options) -> dict[int, int]:
    """What `length` says for each size of an option that may be drawn, where nothing else has a
    part in it."""
    found: dict[int, int] = {}
    for length in range(min(_LENGTHS, 1 << options.heading.field("length").width)):

        def read(expr: Expr, length: int = length) -> int:
            assert isinstance(expr, Own)
            return length if expr.field == "length" else 0

        found.setdefault(evaluate(options.size, read), length)
    return found


def filled(options: Options, data: bytes) -> bytes:
    """Behind these options what fills them up to a length that the header can say."""
    sizes = _sizes(options)
    room = next((n - len(data) for n in sizes if n >= len(data)), 0)
    if not room:
        return data
    if options.bare:
        return data + bytes(options.bare[:1]) * room
    least = options.heading.minimum
    room = next((n - len(data) for n in sizes if n >= len(data) + least), room)
    most = (1 << options.heading.field("kind").width) - 1
    return data + option(options, most, room, bytes(max(room - least, 0)))


@kept
def _sizes(options: Options) -> tuple[int, ...]:
    """Bytes of options that the header's own field can say; none where nothing is said of them."""
    if options.within is None:
        return ()
    within, found = options.within, set[int]()
    for said in range(_LENGTHS):

        def read(_: Expr, said: int = said) -> int:
            return said

        found.add(evaluate(within, read))
    return tuple(sorted(found))
