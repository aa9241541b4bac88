"""Pushes that a later stage writes: what they took is put into the scratch record."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial

from ..headers.fields import pieces
from ..ir.edits import ArrayValues
from ..ir.expr import ZERO, Address, Cast, Expr, Name, as_bytes, element, load
from ..ir.expr_builders import low_bits
from ..ir.types import BYTES, U8, U32, U64, U128, raw
from ..ir.values import Value
from ..ir.walk import reads
from .context import EditContext, ScratchWords
from .header_out import HeaderOut
from .padding import kept_padding
from .shape import Shape


@dataclass
class Room:
    """Words of the scratch record that hold what is written later, taken one after the other."""

    kept: ScratchWords
    taken: int = 0

    def take(self, size: int) -> int:
        """The first word of so many bytes."""
        first = self.taken
        self.taken += (size + 7) // 8
        self.kept.count = max(self.kept.count, self.taken)
        return first


def carried_over(site: EditContext, shape: Shape) -> Shape:
    """The shape as the next stage finds it: what its pushes took is put into the scratch record.
    What an earlier stage put there stays where it is."""
    assert not shape.appended, "H0337"
    room = Room(site.kept, shape.words)
    new = len(shape.pushed) - shape.carried
    pushed = (*(_kept(site, h, room) for h in shape.pushed[:new]), *shape.pushed[new:])
    return replace(shape, pushed=pushed, carried=len(pushed), words=room.taken)


def address_kept(
    site: EditContext, shape: Shape, via: Expr, family: str, number: Name
) -> tuple[Expr, Shape, Expr]:
    """How a function finds an address that it is given: what is said for its argument `number`, the
    shape with the words that were taken, and the address there."""
    if family == "ipv4":
        return Cast(U32, via), shape, Cast(raw(32), number)
    room = Room(site.kept, shape.words)
    low, high = (_keep(site, room, Cast(U64, as_bytes(via) >> shift)) for shift in (0, 64))
    address = Cast(raw(128), (Cast(U128, high) << 64) | low)
    return ZERO, replace(shape, words=room.taken), address


def _kept(site: EditContext, header: HeaderOut, room: Room) -> HeaderOut:
    """A header to be written whose values are in the scratch record."""
    given = {n: _value_kept(site, v, room) for n, v in header.given.items()}
    padded = header.padded and kept_padding(header.padded, partial(_keep, site, room))
    return _list_kept(site, replace(header, given=given, padded=padded), room)


def _value_kept(site: EditContext, v: Value, room: Room) -> Value:
    if v.is_known or reads(v.expr, site.words):  # there is no need to, or it is there already
        return v
    given = None if v.given is None else Cast(U8, _keep(site, room, v.given))
    if v.size <= 8:
        return replace(v, expr=Cast(v.stored, _keep(site, room, v.expr)), given=given)
    low, high = (_keep(site, room, Cast(U64, as_bytes(v.expr) >> shift)) for shift in (0, 64))
    return replace(v, expr=Cast(v.stored, (Cast(U128, high) << 64) | low), given=given)


def _keep(site: EditContext, room: Room, kept: Expr) -> Expr:
    """The word that holds it from here on."""
    place = element(site.words, room.take(8))
    site.writer.set(place, as_bytes(kept))
    return place


def _list_kept(site: EditContext, header: HeaderOut, room: Room) -> HeaderOut:
    if header.array is None:
        return header
    size = next(g.width for g in header.header.groups if g.count is not None) // 8
    return replace(header, array=_list_carried(site, header.array, size, room))


def _list_carried(site: EditContext, array: ArrayValues, size: int, room: Room) -> ArrayValues:
    """The same list as later stages find it, in the scratch record: how many values of so many
    bytes, then these."""
    w, at = site.writer, room.take(8 + array.most * size)
    w.set(element(site.words, at), array.count)
    elements = w.local(BYTES, "list", Address(element(site.words, at + 1)))
    for start in range(0, array.most * size, size):
        _copy(site, array.first, elements, start, size)
    # with a bound that the verifier sees
    count = low_bits(Cast(U32, element(site.words, at)), array.most.bit_length())
    first = Cast(BYTES, Address(element(site.words, at + 1)))
    return ArrayValues(count, first, array.most, array.backwards)


def _copy(site: EditContext, source: Expr, target: Expr, at: int, size: int) -> None:
    for done, piece in pieces(size, most=16):
        site.writer.store(target, at + done, piece * 8, load(source, at + done, piece * 8))
