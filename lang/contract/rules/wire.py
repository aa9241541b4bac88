"""Requests as bytes: how a controller in another language, and our own client, sends them.

All numbers are in network order.

    request   version u8 = 1, changes u32, then the changes
    change    operation u8 (1 create, 2 update, 3 delete, 4 replace), items u16, then the items
    item      u8: 1 an IE, 2 a rule; IEs come first
    IE        type u16, form u8, length u8 of the value, value, then for form
              0 value, nothing; 1 prefix, its length u8 (of `bytes[n]` u16); 2 mask, the mask;
              3 range, the upper end (as long as the value); 4 name: the value is a UTF-8 name,
              of a rule or a port
    rule      kind u16 (its number in the manifest), flags u8 (1 id, 2 name, 4 brackets, even
              empty ones), [id u32], [length u8, UTF-8 name], items u16, then the items

A value's length is that of its element: 1, 2, 4, 6, 8 or 16; of an element that holds several
values, so much for each; of `bytes[n]`, n. A domain name is its text, `ads.example.org` or
`*.example.org`. An absent IE means any.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from struct import Struct, error
from typing import Any

from ...text.diagnostics import Diagnostic, Label, Refused
from ...text.source import REQUEST, Source
from ..base.lists import packed
from ..manifest.manifest import Manifest
from ..request.request import IE, Change, Form, Operation, Request, RuleItem, is_name, unquoted
from .byte_values import ByteCodec, NameCodec, RunCodec, codec_of
from .fault_places import diagnostics
from .ie_values import LENGTHS, Fault, ListCodec, fold
from .kind_fields import REFERENCE, Field
from .rule_text import canonical
from .rulekinds import Kind

VERSION = 1
DEPTH = 16
_OPERATIONS: tuple[Operation, ...] = ("create", "update", "delete", "replace")
_FORMS: tuple[Form, ...] = ("value", "prefix", "mask", "range")
_NAME = 4
_ID, _NAMED, _BLOCK = 1, 2, 4
_U8, _U16, _U32 = Struct("!B"), Struct("!H"), Struct("!I")
_REQUEST, _CHANGE = Struct("!BI"), Struct("!BH")
_RULE, _IE = Struct("!BHB"), Struct("!BHBB")
_LETTERS = {1: "B", 2: "H", 4: "I", 8: "Q"}
_LENGTH_NAMES = {width // 8: name for name, width in LENGTHS.items()}


_Plain = tuple[tuple[str, str, Form], Callable[[bytes, int], tuple[int, ...]], tuple[Any, ...], int]
"""Of IEs that begin with the same bytes: what comes first in the IE, what reads its one or two
numbers, what comes last, and how many bytes it has."""
_new = tuple.__new__  # a third of what a named tuple's own takes
_number = int.from_bytes  # big-endian, if nothing else is said


class Codecs:
    """What encoding and decoding need of a manifest; make it once."""

    def __init__(self, manifest: Manifest, kinds: Mapping[str, Kind] | None = None) -> None:
        made = kinds or {r.name: Kind(manifest, r) for r in manifest.rules}
        self.kinds = {fold(name): kind for name, kind in made.items()}
        self.by_number = {kind.number: kind for kind in made.values()}
        self.elements = {e.number: e.name for e in manifest.elements}
        self.numbers = {e.name: e.number for e in manifest.elements}
        self.references = {e.number for e in manifest.elements if e.references}
        self.lists = {e.number: ListCodec(e) for e in manifest.elements if e.most}
        made_of = {e.number: codec_of(e) for e in manifest.elements}
        self.runs = {n: c for n, c in made_of.items() if isinstance(c, RunCodec | NameCodec)}
        self.plain: dict[bytes, _Plain] = {}


# ---- to bytes ------------------------------------------------------------------------------


def encode(request: Request, codecs: Codecs) -> bytes:
    """The request as bytes. Raises `Refused` where it says what has none: unknown rules, elements
    and symbols, values that do not fit. References by name stay names."""
    request = canonical(request, codecs.kinds)
    out = bytearray(_REQUEST.pack(VERSION, len(request.changes)))
    faults: list[tuple[Fault, RuleItem | IE]] = []
    for change in request.changes:
        out += _CHANGE.pack(_OPERATIONS.index(change.operation) + 1, _count(change.items))
        for item in change.items:
            assert isinstance(item, RuleItem)
            _put_rule(out, item, None, codecs, faults)
    if faults:
        raise Refused(diagnostics(faults, request, codecs.kinds))
    return bytes(out)


def _count(items: tuple[RuleItem | IE, ...]) -> int:
    return min(len(items), 0xFFFF)


def _put_rule(
    out: bytearray, item: RuleItem, member: Kind | None, codecs: Codecs,
    faults: list[tuple[Fault, RuleItem | IE]],
) -> None:  # fmt: skip
    kind = codecs.kinds[fold(item.kind)]
    name = (item.name or "").encode()
    flags = _BLOCK * item.block | _ID * (item.id is not None) | _NAMED * (item.name is not None)
    out += _RULE.pack(2, kind.number, flags)
    if item.id is not None:
        if item.id >> 32:
            title, help_ = f"{item.id} is no id", "ids are 1 to 4294967295"
            faults.append((Fault("H0458", title, "id", "out of range", help_), item))
        out += _U32.pack(item.id & 0xFFFFFFFF)
    if item.name is not None:
        if len(name) > 255:
            faults.append((Fault("H0459", "the name is too long", "id", "63 bytes at most"), item))
        out += _U8.pack(len(name[:255])) + name[:255]
    out += _U16.pack(_count(item.items))
    for inner in item.items:
        if isinstance(inner, RuleItem):
            _put_rule(out, inner, kind, codecs, faults)
            continue
        try:
            _put_ie(out, inner, kind.field(inner, member), codecs)
        except Fault as fault:
            faults.append((fault, inner))


def _put_ie(out: bytearray, ie: IE, field: Field, codecs: Codecs) -> None:
    codec = field.codec
    number = codecs.numbers[codec.name]
    codec.check_length(ie.length)
    named = isinstance(ie.value, str) and not ie.value[:1].isdigit()
    if field.role == REFERENCE and named:
        name = unquoted(str(ie.value)).encode()[:255]
        out += _IE.pack(1, number, _NAME, len(name)) + name
        return
    if isinstance(codec, RunCodec | NameCodec):
        way = field.match.kind if field.match else "exact"
        codec.matcher(way, ie.form, ie.value, ie.other)  # which says what is wrong
        _put_run(out, ie, codec, number)
        return
    size = LENGTHS[ie.length.lower() or codec.lengths[0]] // 8
    value = codec.number(ie.value, enumerated=ie.form == "value")
    if isinstance(codec, ListCodec):
        data = b"".join(each.to_bytes(size, "big") for each in codec.values_of(value))
        out += _IE.pack(1, number, 0, len(data)) + data
        return
    out += _IE.pack(1, number, _FORMS.index(ie.form), size) + value.to_bytes(size, "big")
    if ie.form == "prefix":
        length = codec.prefix_length(ie.other)
        out += _U8.pack(length)
    elif ie.form != "value":
        out += codec.number(ie.other, "other", enumerated=False).to_bytes(size, "big")


def _put_run(out: bytearray, ie: IE, codec: ByteCodec, number: int) -> None:
    """Bytes, or a name."""
    data = codec.wire_value(ie)
    out += _IE.pack(1, number, _FORMS.index(ie.form), len(data)) + data
    if ie.form == "prefix":
        out += _U16.pack(codec.prefix_length(ie.other))
    elif ie.form != "value":
        out += codec.number(ie.other, "other").to_bytes(len(data), "big")


# ---- from bytes ----------------------------------------------------------------------------


def decode(data: bytes, codecs: Codecs, name: str = REQUEST) -> Request:
    """Bytes to a request without places. Raises `Refused` (H0480, H0481) for anything else than
    `encode` writes; the diagnostic shows the bytes."""
    reader = _Reader(data, codecs)
    try:
        return reader.request()
    except _Bad as bad:
        raise Refused([_hostile(data, name, bad)]) from None


class _Bad(Exception):
    def __init__(self, at: int, what: str, code: str = "H0481") -> None:
        super().__init__(what)
        self.at, self.what, self.code = at, what, code


class _Reader:
    """Reads on from `at`."""

    __slots__ = ("at", "codecs", "data", "end")

    def __init__(self, data: bytes, codecs: Codecs) -> None:
        self.data, self.codecs, self.at, self.end = data, codecs, 0, len(data)

    def short(self, what: str) -> _Bad:
        return _Bad(self.end, f"the bytes end within {what}", "H0480")

    def numbers(self, form: Struct, what: str) -> tuple[int, ...]:
        at = self.at
        self.at = at + form.size
        try:
            return form.unpack_from(self.data, at)
        except error:
            raise self.short(what) from None

    def text(self, size: int, what: str) -> str:
        at = self.at
        self.at = end = at + size
        if end > self.end:
            raise self.short(what)
        try:
            text = self.data[at:end].decode()
        except UnicodeDecodeError:
            raise _Bad(at - 1, f"{what} is not UTF-8") from None
        if not text or not is_name(text):
            raise _Bad(at, f"{what} has characters that no name has")
        return text

    def request(self) -> Request:
        try:
            version, count = _REQUEST.unpack_from(self.data)
        except error:
            raise self.short("the request's head") from None
        self.at = _REQUEST.size
        if version != VERSION:
            raise _Bad(0, f"version {version} is not the {VERSION} that this release reads")
        if not count:
            raise _Bad(1, "the request is empty")
        changes = [self.change()]
        while len(changes) < count:
            changes.append(self.change())
        if self.at < self.end:
            raise _Bad(self.at, "bytes are left behind the last change")
        return _new(Request, (tuple(changes), None))

    def change(self) -> Change:
        try:
            operation, count = _CHANGE.unpack_from(self.data, self.at)
        except error:
            raise self.short("a change") from None
        self.at += _CHANGE.size
        if not 1 <= operation <= 4:
            raise _Bad(self.at - 3, f"{operation} is no operation (1 create to 4 replace)")
        items = self.items(count, 0)
        if not items:
            raise _Bad(self.at, "the change names no rule")
        if type(items[0]) is IE:
            raise _Bad(self.at, "an element belongs to no rule")
        return _new(Change, (_OPERATIONS[operation - 1], items, ()))

    def items(self, count: int, depth: int) -> tuple[RuleItem | IE, ...]:
        """So many items: elements, then rules."""
        if depth > DEPTH:
            raise _Bad(self.at, f"rules are nested more than {DEPTH} deep")
        found: list[RuleItem | IE] = self.elements(count)
        while len(found) < count:
            found.append(self.rule(depth))
        return tuple(found)

    def elements(self, count: int) -> list[RuleItem | IE]:
        """The elements at the front of `count` items."""
        data, at, plain = self.data, self.at, self.codecs.plain
        found: list[RuleItem | IE] = []
        while len(found) < count:
            known = plain.get(data[at : at + 5])
            if known is not None:
                first, values, last, size = known
                if at + size > self.end:
                    raise self.short("a value")
                found.append(_new(IE, first + values(data, at + 5) + last))
                at += size
                continue
            self.at = at
            if data[at : at + 1] != b"\1":
                break
            found.append(self.element())
            at = self.at
        self.at = at
        return found

    def rule(self, depth: int) -> RuleItem:
        at = self.at
        try:
            tag, number, flags = _RULE.unpack_from(self.data, at)
        except error:
            raise self.short("a rule's kind") from None
        self.at = at + _RULE.size
        if tag == 1:
            raise _Bad(at, "elements come before the rules within a rule")
        if tag != 2:
            raise _Bad(at, f"{tag} is no item (1 an element, 2 a rule)")
        kind = self.codecs.by_number.get(number)
        if kind is None:
            raise _Bad(self.at - 3, f"{number} is no kind of rule")
        if flags & ~(_ID | _NAMED | _BLOCK):
            raise _Bad(self.at - 1, f"flags {flags:#x} are not known")
        id_ = name = None
        if flags & _ID:
            (id_,) = self.numbers(_U32, "an id")
        if flags & _NAMED:
            (size,) = self.numbers(_U8, "a name")
            name = self.text(size, "a name")
        (count,) = self.numbers(_U16, "the number of items")
        items = self.items(count, depth + 1) if count else ()
        if count and not flags & _BLOCK:
            raise _Bad(self.at, "items follow a rule that has none")
        return _new(RuleItem, (kind.name, id_, name, items, bool(flags & _BLOCK), ()))

    def element(self) -> IE:
        """An IE the like of which was not read before, or one that is read by itself."""
        at = self.at
        _, number, form, size = self.numbers(_IE, "an element")
        name = self.codecs.elements.get(number)
        if name is None:
            raise _Bad(at + 1, f"{number} is no information element")
        if form > _NAME:
            raise _Bad(at + 3, f"{form} is no form (0 value to 4 name)")
        if form == _NAME:
            if number not in self.codecs.references:
                raise _Bad(at + 3, f"`{name}` has no names")
            return IE(name, "u32", "value", f'"{self.text(size, "a name")}"')
        run = self.codecs.runs.get(number)
        if run is not None:
            return self.run(run, form, size)
        codec = self.codecs.lists.get(number)
        if codec is not None:
            return self.listed(codec, form, size)
        if size not in _LENGTH_NAMES:
            raise _Bad(at + 4, f"{size} is no length of a value")
        self.codecs.plain[self.data[at : at + 5]] = _plain(name, form, size)
        self.at = at
        (made,) = self.elements(1)
        assert type(made) is IE
        return made

    def listed(self, codec: ListCodec, form: int, size: int) -> IE:
        """The values of an element that holds several."""
        each = codec.size
        if form or not size or size % each or size // each > codec.most:
            raise _Bad(self.at - 1, f"`{codec.name}` takes 1 to {codec.most} values")
        at = self.at
        self.at = end = at + size
        if end > self.end:
            raise self.short("a value")
        values = [_number(self.data[i : i + each]) for i in range(at, end, each)]
        number = packed(values, codec.width, codec.most)
        return IE(codec.name, _LENGTH_NAMES[each], "value", codec.format(number))

    def run(self, codec: ByteCodec, form: int, size: int) -> IE:
        """Bytes, or a name."""
        if isinstance(codec, NameCodec):
            if form or not size:
                raise _Bad(self.at - 2, f"`{codec.name}` takes a name")
            return IE(codec.name, "", "value", f'"{self.text(size, "a name")}"')
        if size != codec.size:
            raise _Bad(self.at - 1, f"`{codec.name}` has {codec.size} bytes")
        first, other = f"0x{self.bytes(size).hex()}", ""
        if _FORMS[form] == "prefix":
            (length,) = self.numbers(_U16, "a prefix")
            other = str(length)
        elif _FORMS[form] != "value":
            other = f"0x{self.bytes(size).hex()}"
        return IE(codec.name, "", _FORMS[form], first, other)

    def bytes(self, size: int) -> bytes:
        at = self.at
        self.at = end = at + size
        if end > self.end:
            raise self.short("a value")
        return self.data[at:end]


def _plain(element: str, form: int, size: int) -> _Plain:
    first = element, _LENGTH_NAMES[size], _FORMS[form]
    sizes = (size,) if form == 0 else (size, 1) if form == 1 else (size, size)
    last = ("", ()) if form == 0 else ((),)
    return first, _numbers(sizes), last, 5 + sum(sizes)


def _numbers(sizes: tuple[int, ...]) -> Callable[[bytes, int], tuple[int, ...]]:
    """Reads numbers, one of each of these `sizes` in bytes."""
    if all(size in _LETTERS for size in sizes):
        return Struct("!" + "".join(_LETTERS[size] for size in sizes)).unpack_from
    parts = [(sum(sizes[:i]), sum(sizes[: i + 1])) for i in range(len(sizes))]
    return lambda data, at: tuple([_number(data[at + a : at + z]) for a, z in parts])


def _hostile(data: bytes, name: str, bad: _Bad) -> Diagnostic:
    """The bytes around the place, as the source line."""
    first = max(0, bad.at // 16 * 16 - 16)
    shown = data[first : first + 48]
    text = shown.hex(" ")
    start = min((bad.at - first) * 3, max(0, len(text) - 2))
    label = Label(Source(name, text).span(start, min(start + 2, len(text))), f"byte {bad.at}")
    help_ = f"the bytes are described in {__name__}"
    if bad.code == "H0480":
        help_ += "; was the message cut short?"
    return Diagnostic(bad.code, bad.what, (label,), help_)
