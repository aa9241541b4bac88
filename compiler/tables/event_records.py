"""How records of events lie in the event ring."""

from __future__ import annotations

from hashlib import sha256

from ...lang.contract.manifest import manifest as m
from ..model import EventField, EventKind, Pipeline

_TAG = 6  # bytes: numbers of JSON are exact to 53 bits


def event_ring(pipeline: Pipeline) -> m.EventRing | None:
    """None of a pipeline that declares no events."""
    kinds = tuple(map(_kind, pipeline.emits))
    if not kinds:
        return None
    buckets = len(kinds) + m.SOURCES * sum(bool(kind.each) for kind in kinds)
    return m.EventRing(m.EVENT_RING, buckets, m.EVENT_FORMAT, kinds)


def _kind(event: EventKind) -> m.EventKind:
    """Fields that tell sources apart stand in front: what is hashed is one run of words."""
    first = [field for field in event.fields if field.name in event.by]
    others = [field for field in event.fields if field.name not in event.by]
    placed, at = dict[str, m.EventField](), m.EVENT_HEAD
    for i, field in enumerate([*first, *others]):
        at = words(at) * 8 if i == len(first) else at
        size = m.IDENTITY if field.rule else (field.width + 7) // 8
        align = min(8, 1 << (size - 1).bit_length())
        at = -(-at // align) * align
        placed[field.name] = m.EventField(field.name, _type(field), at, size, field.rule)
        at += size
    fields = tuple(placed[field.name] for field in event.fields)
    size = words(at) * 8
    tag = _tag(event.name, size, fields)
    return m.EventKind(event.name, tag, size, fields, event.rate, event.each, event.by, event.doc)


def words(size: int) -> int:
    """Whole words of so many bytes."""
    return (size + 7) // 8


def source_words(kind: m.EventKind) -> int:
    """Words behind a record's head that tell sources apart."""
    ends = [field.offset + field.size for field in kind.fields if field.name in kind.by]
    return words(max(ends, default=m.EVENT_HEAD) - m.EVENT_HEAD)


def first_bucket(ring: m.EventRing | None, kind: m.EventKind) -> int:
    """Of those of an event's sources."""
    assert ring is not None
    limited = [each.name for each in ring.kinds if each.each]
    return len(ring.kinds) + m.SOURCES * limited.index(kind.name)


def _type(field: EventField) -> str:
    if field.rule or field.port:
        return "rule" if field.rule else "port"
    return field.kind if field.kind != "uint" else f"u{field.width}"


def _tag(name: str, size: int, fields: tuple[m.EventField, ...]) -> int:
    """The same for the same name and layout, whatever build it is of."""
    said = [f"{f.name}:{f.type}:{f.rule}:{f.offset}:{f.size}" for f in fields]
    digest = sha256("\n".join([str(m.EVENT_FORMAT), name, str(size), *said]).encode())
    return int.from_bytes(digest.digest()[:_TAG], "big")
