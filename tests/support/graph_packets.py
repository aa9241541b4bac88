"""Packets of any parse graph: a way through it, header by header, with any values."""

from __future__ import annotations

from functools import cache

from helioc.compiler.interpret.build_packet import Heading, build
from helioc.compiler.interpret.header_view import Value
from helioc.compiler.model import Edge, Field, Graph, Header, Own, Test
from helioc.compiler.model.walk import walk
from hypothesis import strategies as st

LONGEST = 12  # headers
_BYTES = st.one_of(st.sampled_from((0, 1, 0xFF)), st.integers(0, 255))
#: Bytes: what the kernel test-runs in one piece. Of longer frames a program sees the first part.
_ONE_PIECE = 3400


def frames(graph: Graph, role: str) -> st.SearchStrategy[bytes]:
    """Frames that arrive on `role`: most of their headers are whole, some of their values lie."""

    @st.composite
    def drawn(draw: st.DrawFn) -> bytes:
        frame = _frame(draw, graph, role)
        return (_mutated(draw, frame) if draw(st.integers(0, 3)) == 0 else frame)[:_ONE_PIECE]

    return drawn()


def _frame(draw: st.DrawFn, graph: Graph, role: str) -> bytes:
    headings: list[Heading] = []
    node, values = graph.entry(role), dict[str, Value]()
    for _ in range(LONGEST):
        edges = graph.leaving(node.name, role)
        edge = draw(st.sampled_from((*edges, None))) if edges else None
        values = _values(draw, node.header, edge)
        headings.append(Heading(node.name, node.header, values, ()))
        if edge is None:
            break
        node = graph.node(edge.target)
    content = draw(st.binary(max_size=40))
    return build(headings, content) + content


def _mutated(draw: st.DrawFn, frame: bytes) -> bytes:
    """The frame cut off, or with bytes changed."""
    if draw(st.booleans()):
        return frame[: draw(st.integers(14, max(14, len(frame))))]
    changed = bytearray(frame)
    for _ in range(draw(st.integers(1, 3))):
        at = draw(st.integers(0, len(frame) - 1))
        changed[at] = draw(_BYTES)
    return bytes(changed)


def _values(draw: st.DrawFn, header: Header, edge: Edge | None) -> dict[str, Value]:
    """Values of fields: those that the edge tests as it wants them, flags, and some of the rest."""
    tests = {t.field: t for t in edge.tests} if edge else {}
    found: dict[str, Value] = {}
    lot = _Lot(draw(_lots(header)))
    telling = _telling(header) if lot.number(1) > 25 else set()
    for field in header.fields:
        if field.name in telling:
            continue
        if field.name in tests:
            found[field.name] = _passing(draw, tests[field.name], field)
            if field.group is not None:
                found |= dict.fromkeys(header.group(field.group).flags[:1], 1)
        elif field.name not in found and _free(header, field, lot):
            found[field.name] = (
                draw(st.binary(max_size=12)) if not field.width else _any(header, field, lot)
            )
    return found


class _Lot:
    """Bytes that decide, one behind the other: one draw for a header, as each takes its time. Of
    fewer than are asked for the last ones are 0."""

    def __init__(self, content: bytes) -> None:
        self._content, self._at = content, 0

    def number(self, size: int) -> int:
        self._at += size
        return int.from_bytes(self._content[self._at - size : self._at].ljust(size, b"\0"), "big")


@cache
def _lots(header: Header) -> st.SearchStrategy[bytes]:
    size = 1 + sum(2 + (f.width + 7) // 8 for f in header.fields)
    return st.binary(min_size=size, max_size=2 * size)


def _telling(header: Header) -> set[str]:
    """Fields that say how large the header is: they are worked out where nobody gives them."""
    counts = [g.count for g in header.groups]
    parts = walk((header.size, header.extent, header.reach, *counts))
    return {part.field for part in parts if isinstance(part, Own)}


def _free(header: Header, field: Field, lot: _Lot) -> bool:
    """Whether the field gets a value of its own: what headers are accepted by seldom does."""
    if field.name.startswith("_") or field.part_of:
        return False
    if not field.width or header.array(field) or field.name in header.flags:
        return lot.number(1) > 127
    return field.default is None and lot.number(1) > 85


def _any(header: Header, field: Field, lot: _Lot) -> Value:
    array = header.array(field)
    if array:
        count = lot.number(1) % (array.most + 1)
        return tuple(_one(field, lot) for _ in range(count))
    return _one(field, lot)


def _one(field: Field, lot: _Lot) -> int:
    """Any number, as often as not 0, 1 or the largest."""
    most, which = (1 << field.width) - 1, lot.number(1)
    return (0, 1, most)[which % 3] if which < 128 else lot.number((field.width + 7) // 8) & most


def _passing(draw: st.DrawFn, test: Test, field: Field) -> int:
    low, high = draw(st.sampled_from(test.ranges))
    value = draw(st.integers(low, high))
    if test.mask is None:
        return value
    return value | draw(st.integers(0, (1 << field.width) - 1)) & ~test.mask
