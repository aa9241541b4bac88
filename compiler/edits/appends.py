"""`append`, as it is carried out at the verdict.

The frame is made as long as it will be, what was appended is written at its end, and the headers in
front follow: lengths, the field that announces, and checksums.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext

from ...lang.text.frozen import Frozen
from ..headers import groups
from ..headers.frame import DATA, END, packet_at
from ..headers.stores import put_summed, put_value
from ..ir.expr import CTX, ZERO, Call, Cast, Expr, Frame, Name, NotNull, load, not_
from ..ir.expr_builders import both, first_of, total
from ..ir.types import BYTES, U16, U32, raw
from ..ir.values import Value, constant
from ..model import Derived, Field, Header
from ..model.checksums import NETWORK, UPPER_LAYER, is_checksum, is_sum_of_header
from ..model.parse_graph import surely_present
from .context import EditContext
from .put_headers import network_place, put_headers, seal_headers
from .shape import constant_size

BEGIN, TOTAL = Name("begin", BYTES), Name("total")


class _Front(Frozen):
    """A header in front of what is appended: where it starts (0: the packet lacks it) and where it
    ends; `sure`: no packet lacks it. `optional`: the same of its groups with checksums."""

    node: str
    header: Header
    at: Name
    behind: Name
    sure: bool
    optional: dict[str, Name]

    def place(self, field: Field) -> Name:
        """Where the header, or the group, starts that has the field."""
        return self.at if field.group is None else self.optional[field.group]

    def where_there(self, site: EditContext) -> AbstractContextManager[None]:
        return nullcontext() if self.sure else site.writer.when(self.at)


def put_appended(site: EditContext, no_room: Callable[[], None]) -> None:
    """Make of the frame what it is to be. `no_room` ends the way of a frame that cannot grow."""
    w, appended = site.writer, site.shape.appended
    assert appended is not None
    fronts = [_front(site, node) for node in site.in_front(appended.behind)]
    begins = w.let(U32, "from", fronts[0].behind)
    whole = w.let(U32, TOTAL.name, begins + total(h.size() for h in appended.headers))
    with w.when(site.head.set_length(whole)):
        no_room()
    w.let(BYTES, BEGIN.name, Frame("data"))
    w.let(BYTES, END.name, Frame("data_end"))
    w.let(BYTES, DATA.name, packet_at(BEGIN, begins))
    w.assume_not(DATA + constant_size(appended.headers) > END)
    put_headers(w, appended.headers, 0, ZERO)
    for front in fronts:
        _write(site, front, appended.writes if front.node == appended.behind else ())
    seal_headers(w, appended.headers, begins, 0)
    for front in fronts:
        _seal(site, front, fronts)


def _front(site: EditContext, node: str) -> _Front:
    """Where a header is, while the pointers to the packet are good."""
    w, header, appended = site.writer, site.header(node), site.shape.appended
    assert appended is not None
    sure = _is_sure(site, node)
    pointer = site.node(node) if sure else site.pointer(node)
    assert header.extent is None or _lengths(header), "H0338"
    at, behind = w.fresh(f"{node}_at"), w.fresh(f"{node}_behind")
    size = groups.size(site, header, pointer)
    optional = {
        f.group: w.fresh(f"{node}_{f.group}")
        for f in header.fields
        if is_checksum(f) and f.group is not None
    }
    starts = w.let(U32, at, site.offset(node) if sure else ZERO)
    ends = w.let(U32, behind, starts + size if sure else ZERO)
    places = {group: w.let(U32, name, ZERO) for group, name in optional.items()}
    with nullcontext() if sure else w.when(NotNull(pointer)):
        if not sure:
            w.set(starts, site.offset(node))
            w.set(ends, starts + size)
        for group, place in places.items():
            there = groups.present(header, header.group(group), pointer)
            begin = groups.start(site, header, group, pointer)
            with w.when(there):
                w.set(place, starts + begin)
    return _Front(node, header, starts, ends, sure, places)


def _is_sure(site: EditContext, node: str) -> bool:
    appended = site.shape.appended
    assert appended is not None
    return node in surely_present(site.graph, site.role, appended.behind)


def _lengths(header: Header) -> list[tuple[Field, Derived]]:
    """The fields that follow how long the payload is."""
    return [
        (f, f.default)
        for f in header.fields
        if isinstance(f.default, Derived) and f.default.what == "length"
    ]


def _sealed(header: Header) -> list[tuple[Field, Derived]]:
    """The checksums over more than the header."""
    return [
        (f, f.default)
        for f in header.fields
        if is_checksum(f) and isinstance(f.default, Derived) and not is_sum_of_header(f)
    ]


def _write(site: EditContext, front: _Front, writes: tuple[tuple[str, int], ...]) -> None:
    """Lengths, what announces, and the checksum of the header over itself; the others become 0."""
    w, header = site.writer, front.header
    new: list[tuple[Field, Value]] = [
        (header.field(name), constant(known, header.field(name).width)) for name, known in writes
    ]
    for field, derived in _lengths(header):
        start = front.at if "header" in derived.over else front.behind
        length = Cast(U16, TOTAL - start + (derived.plus or 0))
        new.append((field, Value(length, field.width)))
    assert all(f.group is None for f, _ in new), "H0322, H0339"
    sealed = _sealed(header)
    for field, _ in sealed:
        w.let(raw(16), _had(front, field).name, ZERO)
    if new:
        with front.where_there(site), w.block():
            _put_all(site, front, _begin(site, front.node, front.at, header.fixed // 8), new)
    for field, _ in sealed:
        size = (header.fixed if field.group is None else header.group(field.group).width) // 8
        with _where_there(site, front, field):
            pointer, at = _begin(site, front.node, front.place(field), size), field.offset // 8
            w.set(_had(front, field), load(pointer, at, 16))
            w.store(pointer, at, 16, 0)


def _begin(site: EditContext, node: str, at: Expr, size: int) -> Name:
    """A pointer to so many bytes of the frame."""
    pointer = site.writer.local(BYTES, node, packet_at(BEGIN, at))
    site.writer.assume_not(pointer + size > END)
    return pointer


def _where_there(site: EditContext, front: _Front, field: Field) -> AbstractContextManager[None]:
    w = site.writer
    return w.block() if _is_there(front, field) else w.when(front.place(field))


def _is_there(front: _Front, field: Field) -> bool:
    return front.sure and field.group is None


def _had(front: _Front, field: Field) -> Name:
    """What a checksum was."""
    return Name(f"{front.at.name}_{field.name}", raw(16))


def _put_all(
    site: EditContext, front: _Front, pointer: Expr, new: list[tuple[Field, Value]]
) -> None:
    w, header = site.writer, front.header
    sums = [f for f in header.fields if is_sum_of_header(f)]
    for field, value in new:
        if not sums:
            put_value(w, pointer, field, value)
            continue
        change = put_summed(w, pointer, header, field, value)
        for f in sums:
            if f.group is None:
                w.do("checksum_follow", pointer + f.offset // 8, change)
                continue
            with w.when(front.place(f)):
                group = _begin(site, front.node, front.place(f), header.group(f.group).width // 8)
                w.do("checksum_follow", group + f.offset // 8, change)


def _seal(site: EditContext, front: _Front, fronts: list[_Front]) -> None:
    """Compute the checksums over the payload; UDP's stays 0 where there was none."""
    w = site.writer
    outer = fronts[fronts.index(front) + 1 :]
    for field, derived in _sealed(front.header):
        pseudo: Expr = ZERO
        if "pseudo" in derived.over:
            upper = UPPER_LAYER.get(front.header.protocol, 0)
            pseudo = _network(outer) | upper << 16
        start = front.at if "header" in derived.over else front.behind
        end = TOTAL if "payload" in derived.over else front.behind
        place = front.place(field) + field.offset // 8
        failed = not_(Call("seal", (CTX, pseudo, start, end - start, place)))
        udp = front.header.protocol == "udp"
        there = _had(front, field) if udp else front.place(field)
        sure = _is_there(front, field) and not udp
        w.assume_not(failed if sure else both((there, failed)))


def _network(outer: list[_Front]) -> Expr:
    """Where the nearest IP header in front is that the packet has, as `seal` asks."""
    found: list[tuple[Expr | None, Expr]] = []
    routing = list[_Front]()
    for front in outer:
        if front.header.protocol == "srh":
            routing.append(front)
        if front.header.protocol in NETWORK:
            routed = first_of([(each.at, each.at - front.at) for each in routing])
            at = network_place(front.header, front.at, routed if routing else None)
            found.append((None if front.sure else front.at, at))
            if front.sure:
                break
    return first_of(found)
