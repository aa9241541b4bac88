"""What arrays of headers that are written hold: values of a rule's element."""

from __future__ import annotations

from dataclasses import dataclass

from ...lang.text.source import Span
from ..model import Group, Header, PushElement
from .fields import pieces
from .headers_out import ListOut
from .shape import Unsupported
from .site import Kept, Site
from .values import value


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
    record = value(site, items.source).text
    count = w.local("u32", "count", f"RAW8({record}, {octets * items.most})")
    first = w.local("void *", "list", f"(void *){record} + {octets * items.skip}")
    if items.skip:
        w.put(f"{count} = {count} > {items.skip} ? {count} - {items.skip} : 0;")
    w.put(f"if ({count} > {most})", f"\t{count} = {most};")
    return ListOut(count, first, most, items.backwards)


@dataclass
class Room:
    """Words of the scratch record that hold what is written later, taken one after the other."""

    kept: Kept
    taken: int = 0

    def take(self, octets: int) -> int:
        """The first word of so many octets."""
        first = self.taken
        self.taken += (octets + 7) // 8
        self.kept.words = max(self.kept.words, self.taken)
        return first


def carried_list(site: Site, listed: ListOut, octets: int, room: Room) -> ListOut:
    """The same list as later stages find it, in the scratch record: how many values of so many
    octets, then these."""
    w, at = site.writer, room.take(8 + listed.most * octets)
    w.put(f"{site.words}[{at}] = {listed.count};")
    elements = w.fresh("list")
    w.put(f"void *{elements} = &{site.words}[{at + 1}];")
    for start in range(0, listed.most * octets, octets):
        _copy(site, listed.first, elements, start, octets)
    most = (1 << listed.most.bit_length()) - 1  # a bound that the verifier sees
    count, first = f"((u32){site.words}[{at}] & {most})", f"((void *)&{site.words}[{at + 1}])"
    return ListOut(count, first, listed.most, listed.backwards)


def _copy(site: Site, source: str, target: str, at: int, octets: int) -> None:
    for done, size in pieces(octets, most=16):
        read = f"RAW{size * 8}({source}, {at + done})"
        site.writer.put(f"PUT{size * 8}({target}, {at + done}, {read});")


def _array(header: Header, what: str, span: Span | None) -> Group | None:
    """The array of a header that can be written."""
    if len(header.arrays) > 1:
        raise Unsupported(f"{what}: it has more arrays than one", span)
    return header.arrays[0] if header.arrays else None
