"""How a traced program writes down what happens: the contract beside the manifest, `trace.json`.

For each packet that is traced the program leaves one record in the ring buffer `trace_ring`:

    head            see `HEAD`
    node            u16 for each node of the schema: the byte where it starts, plus one; 0: absent
    frame           the first SNAP bytes of the frame as it arrived
    word            u64 each: the steps, one behind the other
    rest            where the frame was asked for whole, and is longer: REST bytes more, behind
                    room for all words and four more

All in host order. A step's first word has a point's index in its lower half; those that the point
promises follow. Two points are the same in every schema: EVENT has the index of a counter in its
upper half, EGRESS the number of the port that the packet leaves by.
"""

from __future__ import annotations

import json
import struct
import zlib
from dataclasses import asdict

from ...text.frozen import Frozen
from ..manifest.typed_json import Misfit, build
from .steps import What

FORMAT = 1
EVENT, EGRESS = 0, 1
#: Bytes of a frame that a record has, and words for steps.
SNAP, WORDS = 256, 512
#: More of the frame, behind room for all words and four more, where it was asked for.
REST = 3328
#: What a filter may consist of in the data path: tests of fields, and conjunctions of them.
TESTS, TERMS = 16, 16
#: time (ns of CLOCK_MONOTONIC), length on arrival, port of arrival, enum xdp_action, words used (of
#: which the first `WORDS` were written); then four bytes that mean nothing outside, and
#: how many bytes of the frame were kept, where it was asked for whole.
HEAD = struct.Struct("<QIIII4xI")


class Field(Frozen):
    """`offset` in bits, from the start of the header or of its group."""

    name: str
    offset: int
    width: int
    kind: str
    group: str = ""


class Group(Frozen):
    """Fields that are there if one of the flags is set, behind the groups before it."""

    name: str
    flags: tuple[str, ...]
    width: int


class Node(Frozen):
    """`fixed`: bits in front of the groups. Fields in arrays and behind them are left out."""

    name: str
    link: bool
    fixed: int
    fields: tuple[Field, ...]
    groups: tuple[Group, ...] = ()


class Slot(Frozen):
    """A value that follows: u64 words, the lowest first. `given`: in front of it one more word, 0
    where there is none."""

    name: str
    width: int
    kind: str = "uint"
    given: bool = False

    @property
    def words(self) -> int:
        return (self.width + 63) // 64 + self.given


class Point(Frozen):
    """What a place in a program records. `kind`: the rule kind of a `rule`, whose three words are
    the rule's sequence, its id with its priority above, and the slot of its record. A `look` is
    followed by the key's words, a `remember` by its state's key and entry, a `recall` or
    `forget` by the key, a `recalled` by the entry: as the manifest has them. Others by `slots`."""

    what: What
    name: str
    kind: str = ""
    slots: tuple[Slot, ...] = ()
    nodes: tuple[str, ...] = ()


def places(nodes: int) -> int:
    """Entries of the node table: a multiple of four, so that what follows is aligned."""
    return (nodes + 3) // 4 * 4


FIRST = (Point("event", "event"), Point("leave", "egress"))  # EVENT, EGRESS


class Schema(Frozen):
    """`digest` is that of the traced object, `plain` of the one whose place it takes (SHA-256,
    hex). `tc` and `tc_size`: digest and bytes of the one for ports at tc, where the bundle has a
    second object; the JSON says them where there is one."""

    format: int
    pipeline: str
    digest: str
    plain: str
    nodes: tuple[Node, ...]
    points: tuple[Point, ...]
    tc: str = ""
    tc_size: int = 0

    def to_json(self) -> str:
        said = asdict(self)
        if not self.tc:
            del said["tc"], said["tc_size"]
        return json.dumps(said, indent=1)


class TracedBuild(Frozen):
    """An object with the same programs as the plain one, which record what happens to packets;
    `tc`: one for ports at tc."""

    object: bytes
    schema: Schema
    tc: bytes = b""

    def pack(self) -> bytes:
        """All of it, for `unpack`."""
        text = self.schema.to_json().encode()
        return zlib.compress(len(text).to_bytes(4, "little") + text + self.object + self.tc)


class SchemaError(Exception):
    """The text is no schema of this format; says what is wrong."""


#: Bytes of a traced build: some hundred times those of the largest that there are.
_LARGEST = 64 << 20


def unpack(packed: bytes) -> TracedBuild:
    """What `TracedBuild.pack` gave. Raises `SchemaError`."""
    try:
        inflated = zlib.decompressobj()
        data = inflated.decompress(packed, _LARGEST)
        if not inflated.eof:
            raise SchemaError("it is cut short, or too large")
        end = 4 + int.from_bytes(data[:4], "little")
        text = data[4:end].decode()
    except (zlib.error, UnicodeDecodeError):
        raise SchemaError("it is damaged") from None
    schema = from_json(text)
    second = max(end, len(data) - schema.tc_size)
    return TracedBuild(data[end:second], schema, data[second:])


def from_json(text: str) -> Schema:
    """Read a schema. Raises `SchemaError` for anything that `to_json` did not write."""
    try:
        data = json.loads(text)
    except (ValueError, RecursionError):
        raise SchemaError("it is no JSON") from None
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        raise SchemaError("it is of another release")
    try:
        schema = build(Schema, data)
    except Misfit as misfit:
        raise SchemaError(str(misfit)) from None
    if schema.points[: len(FIRST)] != FIRST:
        raise SchemaError("its first points are others")
    return schema
