"""Records of a log: requests and answers, each with a checksum of its own (docs/journal.md)."""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple
from zlib import crc32

#: A request's wire form, one in packed columns, JSON (a note of the ports' ifindexes; intents), or
#: a request behind the ids that it gave to rules without one (see `allotted`).
IES, PACKED, NOTE, ALLOTTED = 0, 1, 2, 3
_PREFIX = struct.Struct("<II")
_HEAD = struct.Struct("<QBBBI")
_SIZE = struct.Struct("<I")


class Entry(NamedTuple):
    """`key`, `digest` and `answer` are empty without an idempotency key."""

    revision: int
    form: int
    content: bytes
    key: str = ""
    digest: bytes = b""
    answer: bytes = b""


def with_allotted(ids: Mapping[str, Sequence[int]], request: bytes) -> bytes:
    """The content of an ALLOTTED entry: size of JSON u32, JSON, request."""
    said = json.dumps(ids).encode()
    return _SIZE.pack(len(said)) + said + request


def allotted(content: bytes) -> tuple[dict[str, list[int]], bytes]:
    """Ids by kind in the order of the rules, and the request."""
    end = _SIZE.size + _SIZE.unpack_from(content)[0]
    return json.loads(content[_SIZE.size : end]), content[end:]


def encode(entry: Entry) -> bytes:
    revision, form, content, key, digest, answer = entry
    name = key.encode()
    body = b"".join((
        _HEAD.pack(revision, form, len(name), len(digest), len(answer)),
        name, digest, answer, content,
    ))  # fmt: skip
    return _PREFIX.pack(len(body), crc32(body)) + body


def decode(content: bytes, at: int = 0, above: int = -1) -> Iterator[tuple[Entry, int]]:
    """Entries from this byte on and where each ends, up to what is no record, or one whose revision
    is not `above` that of the one before: a note may have the same."""
    view = memoryview(content)
    while at + _PREFIX.size <= len(content):
        length, checksum = _PREFIX.unpack_from(content, at)
        start = at + _PREFIX.size
        at = start + length
        body = view[start:at]
        if len(body) < max(length, _HEAD.size) or crc32(body) != checksum:
            return
        revision, form, keys, digests, answers = _HEAD.unpack_from(body)
        ends = [_HEAD.size, keys, digests, answers]
        for i in range(1, 4):
            ends[i] += ends[i - 1]
        if revision < above + (form != NOTE) or ends[3] > length:
            return
        above = revision
        key, digest, answer = (bytes(body[ends[i] : ends[i + 1]]) for i in range(3))
        yield Entry(revision, form, bytes(body[ends[3] :]), key.decode(), digest, answer), at
