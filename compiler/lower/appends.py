"""`append`, as it is carried out at the verdict.

The frame is made as long as it will be, what was appended is written at its end, and the headers in
front follow: lengths, the field that announces, and checksums.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext

from ...lang.text.frozen import Frozen
from ..model import Derived, Field, Header
from ..model.parse_graph import surely_present
from ..model.sums import NETWORK, UPPER_LAYER, is_checksum, is_sum_of_header
from . import groups
from .fields import Value
from .headers_out import put_headers, seal_headers, told_network
from .shape import Unsupported, constant_size, in_front
from .site import Site
from .stores import put_summed, put_value


class _Front(Frozen):
    """A header in front of what is appended. C text of where it starts (0: the packet lacks it) and
    where it ends; `sure`: no packet lacks it. `optional`: the same of its groups with checksums."""

    node: str
    header: Header
    at: str
    behind: str
    sure: bool
    optional: dict[str, str]

    def place(self, field: Field) -> str:
        """Where the header, or the group, starts that has the field."""
        return self.at if field.group is None else self.optional[field.group]

    def where_there(self, site: Site) -> AbstractContextManager[None]:
        return nullcontext() if self.sure else site.writer.nest(f"if ({self.at}) {{")


def put_appended(site: Site, no_room: Callable[[], None]) -> None:
    """Make of the frame what it is to be. `no_room` ends the way of a frame that cannot grow."""
    w, appended = site.writer, site.shape.appended
    assert appended is not None
    fronts = [_front(site, node) for node in in_front(site, appended.behind)]
    size = " + ".join(h.size_text() for h in appended.headers)
    w.put(f"u32 from = {fronts[0].behind}, total = from + {size};")
    with w.nest("if (bpf_xdp_adjust_tail(ctx, (int)total - (int)frame_length(ctx))) {"):
        no_room()
    w.put(
        "void *begin = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;",
        "void *data = packet_at(begin, from);",
    )
    w.never(f"data + {constant_size(appended.headers)} > end")
    put_headers(w, appended.headers, 0, "0")
    for front in fronts:
        _write(site, front, appended.writes if front.node == appended.behind else ())
    seal_headers(w, appended.headers, "from", "0")
    for front in fronts:
        _seal(site, front, fronts)


def _front(site: Site, node: str) -> _Front:
    """Where a header is, while the pointers to the packet are good."""
    w, header, appended = site.writer, site.header(node), site.shape.appended
    assert appended is not None
    pointer, sure = site.pointer(node), _is_sure(site, node)
    if header.extent is not None and not _lengths(header):
        what = f"appending behind `{node}`, whose extent no `length(…)` follows"
        raise Unsupported(what, w.span)
    at, behind = w.fresh(f"{node}_at"), w.fresh(f"{node}_behind")
    size = groups.size(site, header, pointer)
    optional = {
        f.group: w.fresh(f"{node}_{f.group}")
        for f in header.fields
        if is_checksum(f) and f.group is not None
    }
    if sure:
        pointer = site.node(node)
        w.put(f"u32 {at} = {site.offset(node)}, {behind} = {at} + {size};")
    else:
        w.put(f"u32 {at} = 0, {behind} = 0;")
    w.put(*(f"u32 {place} = 0;" for place in optional.values()))
    with nullcontext() if sure else w.nest(f"if (there({pointer})) {{"):
        if not sure:
            w.put(f"{at} = {site.offset(node)};", f"{behind} = {at} + {size};")
        for group, place in optional.items():
            there = groups.present(header, header.group(group), pointer)
            start = groups.start(site, header, group, pointer)
            w.put(f"if ({there})", f"\t{place} = {at} + {start};")
    return _Front(node, header, at, behind, sure, optional)


def _is_sure(site: Site, node: str) -> bool:
    appended = site.shape.appended
    assert appended is not None
    return node in surely_present(site.pipeline.graph, site.role, appended.behind)


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


def _write(site: Site, front: _Front, writes: tuple[tuple[str, int], ...]) -> None:
    """Lengths, what announces, and the checksum of the header over itself; the others become 0."""
    w, header = site.writer, front.header
    new: list[tuple[Field, Value]] = [
        (header.field(name), Value(f"{number:#x}", header.field(name).width))
        for name, number in writes
    ]
    for field, derived in _lengths(header):
        start = front.at if "header" in derived.over else front.behind
        new.append((field, Value(f"(u16)(total - {start} + {derived.plus})", field.width)))
    if any(f.group is not None for f, _ in new):
        what = f"appending behind `{front.node}`, whose optional fields would follow"
        raise Unsupported(what, w.span)
    sealed = _sealed(header)
    w.put(*(f"u16 {_had(front, f)} = 0;" for f, _ in sealed))
    if new:
        with front.where_there(site), w.nest("{"):
            _put_all(site, front, _begin(site, front.node, front.at, header.fixed // 8), new)
    for field, _ in sealed:
        octets = (header.fixed if field.group is None else header.group(field.group).width) // 8
        with _where_there(site, front, field):
            pointer, at = _begin(site, front.node, front.place(field), octets), field.offset // 8
            w.put(f"{_had(front, field)} = RAW16({pointer}, {at});", f"PUT16({pointer}, {at}, 0);")


def _begin(site: Site, node: str, at: str, octets: int) -> str:
    """C name of a pointer to so many octets of the frame."""
    pointer = site.writer.fresh(node)
    site.writer.put(f"void *{pointer} = packet_at(begin, {at});")
    site.writer.never(f"{pointer} + {octets} > end")
    return pointer


def _where_there(site: Site, front: _Front, field: Field) -> AbstractContextManager[None]:
    return site.writer.nest("{" if _is_there(front, field) else f"if ({front.place(field)}) {{")


def _is_there(front: _Front, field: Field) -> bool:
    return front.sure and field.group is None


def _had(front: _Front, field: Field) -> str:
    """C name of what a checksum was."""
    return f"{front.at}_{field.name}"


def _put_all(site: Site, front: _Front, pointer: str, new: list[tuple[Field, Value]]) -> None:
    w, header = site.writer, front.header
    sums = [f for f in header.fields if is_sum_of_header(f)]
    for field, value in new:
        if not sums:
            put_value(w, pointer, field, value)
            continue
        change = put_summed(w, pointer, header, field, value)
        for f in sums:
            if f.group is None:
                w.put(f"checksum_follow({pointer} + {f.offset // 8}, {change});")
                continue
            with w.nest(f"if ({front.place(f)}) {{"):
                group = _begin(site, front.node, front.place(f), header.group(f.group).width // 8)
                w.put(f"checksum_follow({group} + {f.offset // 8}, {change});")


def _seal(site: Site, front: _Front, fronts: list[_Front]) -> None:
    """Compute the checksums over the payload; UDP's stays 0 where there was none."""
    w = site.writer
    outer = fronts[fronts.index(front) + 1 :]
    for field, derived in _sealed(front.header):
        pseudo = "0"
        if "pseudo" in derived.over:
            upper = UPPER_LAYER.get(front.header.protocol, 0)
            pseudo = f"({_network(outer)}) | {upper} << 16"
        start = front.at if "header" in derived.over else front.behind
        end = "total" if "payload" in derived.over else front.behind
        place = f"{front.place(field)} + {field.offset // 8}"
        call = f"seal(ctx, {pseudo}, {start}, {end} - {start}, {place})"
        udp = front.header.protocol == "udp"
        there = _had(front, field) if udp else front.place(field)
        sure = _is_there(front, field) and not udp
        w.never(f"{'' if sure else f'{there} && '}!{call}")


def _network(outer: list[_Front]) -> str:
    """C text of where the nearest IP header in front is that the packet has, as `seal` asks."""
    text, routing = "", list[_Front]()
    for front in outer:
        if front.header.protocol == "srh":
            routing.append(front)
        if front.header.protocol in NETWORK:
            routed = "".join(f"{each.at} ? {each.at} - {front.at} : " for each in routing)
            at = told_network(front.header, front.at, f"{routed}0" if routed else "")
            text += at if front.sure else f"{front.at} ? {at} : "
            if front.sure:
                return text
    return f"{text}0"
