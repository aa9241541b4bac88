"""Headers with other values: bytes in, bytes out. What follows from a value, lengths and
checksums, is kept right (docs/semantics.md#changing-a-packet).
"""

from __future__ import annotations

from collections.abc import Sequence

from ..model import Derived, Header
from ..model.checksums import is_checksum, is_sum_of_header
from .build_packet import with_sums
from .header_view import HeaderView, put, updated

_MSS_KIND, _MSS_LENGTH, _NOP = 2, 4, 1


def find_mss(tcp: bytes) -> int | None:
    """Byte of the value of the MSS option in a TCP header with its options."""
    at = 20
    while at + 2 <= len(tcp) and tcp[at]:
        length = 1 if tcp[at] == _NOP else tcp[at + 1]
        if tcp[at] == _MSS_KIND and length == _MSS_LENGTH:
            return at + 2 if at + 4 <= len(tcp) else None
        if tcp[at] != _NOP and length < 2:
            return None
        at += length
    return None


def over(frame: bytes, at: int, data: bytes) -> bytes:
    return frame[:at] + data + frame[at + len(data) :]


def of_length(view: HeaderView, length: int) -> HeaderView:
    """The header with its lengths as they are where it and its payload have `length` bytes."""
    for field in view.header.fields:
        derived = field.default
        if isinstance(derived, Derived) and derived.what == "length":
            own = 0 if "header" in derived.over else len(view.data)
            view = assigned(view, field.name, length - own + derived.plus)
    return view


def summed(outer: Sequence[HeaderView], view: HeaderView, payload: bytes) -> HeaderView:
    """The header with its checksums over more than itself computed; one of UDP's that is 0 stays
    so."""
    optional = view.header.protocol == "udp"
    sums = [
        (field, field.default)
        for field in view.header.fields
        if isinstance(field.default, Derived) and is_checksum(field) and not is_sum_of_header(field)
        if view.offset(field) is not None and not (optional and not view.number(field.name))
    ]
    return HeaderView(view.header, with_sums(outer, view, payload, sums))


def grown(view: HeaderView, added: int) -> bytes:
    """The header with `added` bytes more behind it."""
    for field in view.header.fields:
        if isinstance(field.default, Derived) and field.default.what == "length":
            view = assigned(view, field.name, view.number(field.name) + added)
    return view.data


def assigned(view: HeaderView, field: str, value: int) -> HeaderView:
    new = with_value(view.header, view.data, field, value)
    words = changed_words(view.data, new)
    for other in view.header.fields:
        if is_sum_of_header(other) and other.name != field:
            total = updated(view.number(other.name), *words)
            new = with_value(view.header, new, other.name, total)
    return HeaderView(view.header, new)


def with_value(header: Header, data: bytes, field: str, value: int) -> bytes:
    found = header.field(field)
    at = HeaderView(header, data).offset(found)
    return data if at is None else put(data, at, found.width, value)


def changed_words(old: bytes, new: bytes) -> tuple[bytes, bytes]:
    """The 16-bit words in which two headers of the same length differ."""
    differ = [i for i in range(0, len(old), 2) if old[i : i + 2] != new[i : i + 2]]
    pick = (b"".join(data[i : i + 2] for i in differ) for data in (old, new))
    before, after = pick
    return before, after
