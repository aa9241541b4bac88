"""Images: the control plane's own copy of each rule, by record slot, to make the rule of again.

Little-endian and packed:

    head            sequence, owner, id, priority, flags (1: there is a rule), cell
    name            64 bytes of UTF-8, zero-padded                 (kinds with names)
    a match element form u8 (0: none), value, other                 (bytes of its width each)
    a given element tag u8 (0: none, 1: a value, 2 + n: a reference to its n-th choice), then the
                    value, or the reference's id                    (at least 4 bytes)
    target          tag u8 (0: none, else 1 + index), id u32        (kinds with alternatives)
    members         count u8, then id u32 and weight u32 of each    (spreads)
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ...lang.contract.base.lists import bytes_of
from ...lang.contract.manifest import manifest as m
from ...lang.contract.rules.rules import Form, Matcher, Member, Reference, Rule

NAME_SIZE = 64
LIVE = 1
FORMS: tuple[Form, ...] = ("value", "prefix", "mask", "range")
_HEAD_FIELDS = {
    "sequence": "Q", "owner": "Q", "id": "I", "priority": "I", "flags": "I", "cell": "I"
}  # fmt: skip
_HEAD = struct.Struct("<" + "".join(_HEAD_FIELDS.values()))
#: The same, for images by the column.
HEAD = np.dtype([(name, f"<{letter}") for name, letter in _HEAD_FIELDS.items()])
_ID = struct.Struct("<BI")
_MEMBER = struct.Struct("<II")
_LETTERS = {1: "B", 2: "H", 4: "I", 8: "Q", 16: "16s"}  # by the bytes of an element of a list


def of_heads(name: str, images: npt.NDArray[Any], rows: Any = slice(None)) -> npt.NDArray[Any]:
    """A field of the heads of `images`: [row, byte]."""
    form = HEAD[name]
    return np.ascontiguousarray(images[rows, head_slice(name)]).view(form)[:, 0]


def head_slice(name: str) -> slice:
    """Where an image has a field of its head."""
    fields: Any = HEAD.fields
    form, at = fields[name]
    return slice(at, at + form.itemsize)


class TooLong(ValueError):
    """A name has more bytes than an image keeps."""


class Matched(NamedTuple):
    """A match element in the image: where it begins, form and two values, bytes of each."""

    at: int
    form: struct.Struct
    size: int


class Given(NamedTuple):
    """A given element in the image: where it begins, tag and value, the value's bytes, the kinds
    that it may refer to."""

    at: int
    form: struct.Struct
    size: int
    references: tuple[str, ...]


class ImageCodec:
    """The images of one rule kind."""

    def __init__(self, manifest: m.Manifest, kind: m.RuleKind) -> None:
        self.kind = kind
        self.match_at = at = _HEAD.size + (NAME_SIZE if kind.named else 0)
        self.matched: dict[str, Matched] = {}
        for match in kind.match:
            size = bytes_of(match.width)
            form = struct.Struct("<B" + 2 * _LETTERS.get(size, f"{size}s"))
            self.matched[match.element] = Matched(at, form, size)
            at += form.size
        self.match_end = at
        self.given: dict[str, Given] = {}
        for name in kind.gives:
            element = manifest.element(name)
            size = max(4, bytes_of(element.width, element.most))
            form = struct.Struct("<B" + _LETTERS.get(size, f"{size}s"))
            self.given[name] = Given(at, form, size, element.references)
            at += form.size
        self.target_at = at
        at += _ID.size if kind.alternatives else 0
        self._members_at = at
        at += 1 + _MEMBER.size * kind.spread.most if kind.spread else 0
        if at > kind.image_size:
            raise m.ManifestError(f"images of {kind.name} do not fit their map")
        self._targets = {name: 1 + i for i, name in enumerate(kind.alternatives)}
        self._front, self._no_target = self._frame(at)
        self._whole = self._struct()
        self._gives = {
            name: (x.at, _put(x.form, x.size), {to: 2 + i for i, to in enumerate(x.references)})
            for name, x in self.given.items()
        }

    def _struct(self) -> struct.Struct:
        """All of an image but its members."""
        parts = [_HEAD.format, f"{NAME_SIZE}s" if self.kind.named else ""]
        parts += [matched.form.format for matched in self.matched.values()]
        parts += [given.form.format for given in self.given.values()]
        parts += [_ID.format] if self.kind.alternatives else []
        return struct.Struct("<" + "".join(part.lstrip("<") for part in parts))

    def _frame(self, end: int) -> tuple[struct.Struct, tuple[Any, Any]]:
        """What every image of the kind has (head, name, match, target), zeros between and up to
        `end`; and what stands for no target. A part that the kind does not have takes no bytes."""
        name = NAME_SIZE if self.kind.named else 0
        match, gap = self.match_end - self.match_at, self.target_at - self.match_end
        target = _ID.format.lstrip("<") if self.kind.alternatives else "0s0s"
        frame = struct.Struct(f"{_HEAD.format}{name}s{match}s{gap}x{target}")
        frame = struct.Struct(f"{frame.format}{end - frame.size}x")
        return frame, (0, 0) if self.kind.alternatives else (b"", b"")

    def write(self, into: memoryview, at: int, rule: Rule, cell: int, match: bytes) -> None:
        """Write the rule's image; what lies behind it in its slot is never read. `match`: the
        bytes of its match elements (`matches.py`). Raises TooLong."""
        _, id_, sequence, name, owner, priority, _, values, references, target, members = rule
        encoded = name.encode()
        if len(encoded) > NAME_SIZE:
            raise TooLong(name)
        tag, number = self._no_target
        if target is not None:
            kind, number = target
            tag = self._targets[kind]
        self._front.pack_into(
            into, at, sequence, owner, id_, priority, LIVE, cell, encoded, match, tag, number
        )
        for element, value in values:
            start, put, _ = self._gives[element]
            put(into, at + start, 1, value)
        for element, (kind, number) in references:
            start, put, tags = self._gives[element]
            put(into, at + start, tags[kind], number)
        if members:
            start = at + self._members_at
            into[start] = len(members)
            for i, member in enumerate(members):
                _MEMBER.pack_into(into, start + 1 + i * _MEMBER.size, *member)

    def rule_of(self, image: bytes | bytearray | memoryview) -> tuple[Rule, int]:
        """An image's rule, and its cell. Raises ValueError where the image holds none."""
        found = self._whole.unpack_from(image)
        sequence, owner, number, priority, flags, cell = found[:6]
        if flags != LIVE:
            raise ValueError(f"no rule in this image of {self.kind.name}")
        at, name = 6, ""
        if self.kind.named:
            at, name = 7, found[6].rstrip(b"\0").decode()
        match = []
        for element in self.matched:
            form = found[at]
            if form:
                matcher = Matcher(FORMS[form - 1], _narrow(found[at + 1]), _narrow(found[at + 2]))
                match.append((element, matcher))
            at += 3
        values, references = [], []
        for element, given in self.given.items():
            tag = found[at]
            if tag == 1:
                values.append((element, _narrow(found[at + 1])))
            elif tag:
                to = Reference(given.references[tag - 2], _narrow(found[at + 1]))
                references.append((element, to))
            at += 2
        target = None
        if self.kind.alternatives and found[at]:
            target = Reference(self.kind.alternatives[found[at] - 1], found[at + 1])
        rule = Rule(
            self.kind.name, number, sequence, name, owner, priority, tuple(match), tuple(values),
            tuple(references), target, self._members_of(image),
        )  # fmt: skip
        return rule, cell

    def _members_of(self, image: Any) -> tuple[Member, ...]:
        if not self.kind.spread:
            return ()
        at = self._members_at
        starts = (at + 1 + i * _MEMBER.size for i in range(image[at]))
        return tuple(Member(*_MEMBER.unpack_from(image, start)) for start in starts)


def _put(form: struct.Struct, size: int) -> Callable[..., None]:
    """`form.pack_into`, of numbers however wide."""
    if size <= 8:
        return form.pack_into

    def put(into: memoryview, at: int, tag: int, *numbers: int) -> None:
        form.pack_into(into, at, tag, *[number.to_bytes(size, "little") for number in numbers])

    return put


def _narrow(value: int | bytes) -> int:
    return int.from_bytes(value, "little") if isinstance(value, bytes) else value
