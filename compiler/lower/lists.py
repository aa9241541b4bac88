"""What arrays of headers that are written hold: values of a rule's element."""

from __future__ import annotations

from dataclasses import dataclass

from ...lang.text.source import Span
from ..ir.expr import Address, Cast, Expr, choose, element, load, low_bits
from ..ir.types import BYTES, U32
from ..model import Group, Header, PushElement
from .fields import pieces
from .headers_out import ListOut
from .shape import Unsupported
from .site import ScratchWords, Site
from .values import list_of


def pushed_list(site: Site, header: Header, element: PushElement) -> ListOut | None:
    """What the array of a pushed header is to hold. Refuses sizes that are not known here."""
    w, what = site.writer, f"`{header.name}` cannot be pushed"
    array = _array(header, what, w.span)
    if array is None:
        return None
    if not element.lists:
        raise Unsupported(f"{what}: nothing is said of what its array holds", w.span)
    ((_, items),) = element.lists
    most, octets = items.most - items.skip, array.width // 8
    values = list_of(site, items.source)
    count = w.capture(U32, "count", load(values, octets * items.most, 8))
    first = w.capture(BYTES, "list", Cast(BYTES, values) + octets * items.skip)
    if items.skip:
        w.set(count, choose(count > items.skip, count - items.skip, 0))
    with w.when(count > most):
        w.set(count, most)
    return ListOut(count, first, most, items.backwards)


@dataclass
class Room:
    """Words of the scratch record that hold what is written later, taken one after the other."""

    kept: ScratchWords
    taken: int = 0

    def take(self, octets: int) -> int:
        """The first word of so many octets."""
        first = self.taken
        self.taken += (octets + 7) // 8
        self.kept.count = max(self.kept.count, self.taken)
        return first


def carried_list(site: Site, listed: ListOut, octets: int, room: Room) -> ListOut:
    """The same list as later stages find it, in the scratch record: how many values of so many
    octets, then these."""
    w, at = site.writer, room.take(8 + listed.most * octets)
    w.set(element(site.words, at), listed.count)
    elements = w.local(BYTES, "list", Address(element(site.words, at + 1)))
    for start in range(0, listed.most * octets, octets):
        _copy(site, listed.first, elements, start, octets)
    # with a bound that the verifier sees
    count = low_bits(Cast(U32, element(site.words, at)), listed.most.bit_length())
    first = Cast(BYTES, Address(element(site.words, at + 1)))
    return ListOut(count, first, listed.most, listed.backwards)


def _copy(site: Site, source: Expr, target: Expr, at: int, octets: int) -> None:
    for done, size in pieces(octets, most=16):
        site.writer.store(target, at + done, size * 8, load(source, at + done, size * 8))


def _array(header: Header, what: str, span: Span | None) -> Group | None:
    """The array of a header that can be written."""
    if len(header.arrays) > 1:
        raise Unsupported(f"{what}: it has more arrays than one", span)
    return header.arrays[0] if header.arrays else None
