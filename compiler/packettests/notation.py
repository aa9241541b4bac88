"""A packet as a packet test writes it: headers with the pipeline's own names, or hex.

    - ethernet: {dst: 02:00:00:00:00:01, src: 02:00:00:00:00:0a}
    - user: {src: 10.1.0.10, dst: 10.2.0.5}
    - udp: {src: 4000, dst: 53}
    - payload: question

What a field does not say is derived or a default, as where a pipeline pushes.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

import yaml

from ...lang.contract.base import domain_names
from ...lang.contract.rules.yaml_text import Yaml, bad_value, wrong_shape
from ...lang.text import literals
from ...lang.text.diagnostics import Diagnostic, Label
from ...lang.text.source import Span
from ...lang.text.yaml_reader import Entry
from ..interpret.build_packet import Heading, build
from ..interpret.header_view import Value
from ..model import NAME_KINDS, Derived, Field, Graph, Header

_HEX = re.compile(r"(?:0x)?((?:\s*[0-9a-fA-F]{2})*)\s*")
_SLICE = re.compile(r"in\[(\d{1,5}):(\d{1,5})\]")
_TAILS = ("payload", "padding", "cut")
_LARGEST = 65535
_EXAMPLE = "write `[{ethernet: {}}, {ipv4: {src: 10.0.0.1}}, {payload: 20}]`"

#: A header that no parse graph need have, but replies do (RFC 792; `mtu`: RFC 1191).
_ICMP = Header(
    name="icmp",
    link=False,
    fields=(
        Field("type", 0, 8, "uint"),
        Field("code", 8, 8, "uint"),
        Field("checksum", 16, 16, "uint", Derived("checksum", frozenset({"header", "payload"}))),
        Field("rest", 32, 32, "uint"),
        Field("mtu", 48, 16, "uint", part_of="rest"),
    ),
    groups=(),
    fixed=64,
    minimum=8,
    maximum=8,
    protocol="icmp",
)


@dataclass(frozen=True)
class Part:
    """A header of a written packet: its bytes are [start, end)."""

    name: str
    header: Header
    start: int
    end: int


@dataclass(frozen=True)
class Written:
    """A packet as written: its bytes, and which header is where (for hex: none)."""

    frame: bytes
    parts: tuple[Part, ...] = ()


@dataclass
class _Pieces:
    """What is found while a packet is read. `tails`: what follows the headers, by key."""

    headers: list[tuple[str, Header, dict[str, Value]]] = field(default_factory=list)
    tails: dict[str, bytes | int] = field(default_factory=dict)
    misplaced: bool = False


class Notation:
    """Reads packets in terms of one parse graph."""

    def __init__(self, graph: Graph, text: Yaml) -> None:
        self._graph = graph
        self._yaml = text
        self._headers = {n.header.name: n.header for n in graph.nodes} | {"icmp": _ICMP}
        self._headers |= {n.name: n.header for n in graph.nodes}

    def packet(self, node: yaml.Node, sent: bytes = b"") -> Written | None:
        """The packet; None (with diagnostics) if it cannot be read. `sent`: what `in[…]` quotes."""
        before = len(self._yaml.found.found)
        listed = isinstance(node, yaml.SequenceNode)
        keys = [key.value for key, _ in node.value] if isinstance(node, yaml.MappingNode) else []
        if not listed and "hex" not in keys:
            expected = "a list of headers, or `{hex: …}`"
            self._yaml.found.add(wrong_shape(self._yaml.span(node), expected, _EXAMPLE))
            return None
        if not listed:
            entries = self._yaml.mapping(node, "a packet", ("hex",))
            if "hex" not in entries:
                return None
            data = self._hex(entries["hex"].value)
            return None if data is None else Written(data)
        pieces, items = _Pieces(), self._yaml.flat(node)
        if not items:
            self._yaml.found.add(wrong_shape(self._yaml.span(node), "a list of headers", _EXAMPLE))
        for item in items:
            self._item(item, pieces, sent)
        return None if len(self._yaml.found.found) > before else self._built(pieces)

    # ---- reading ----------------------------------------------------------------------------

    def _item(self, node: yaml.Node, pieces: _Pieces, sent: bytes) -> None:
        entries = self._yaml.mapping(node, "a piece of a packet", (*self._headers, *_TAILS))
        for name, entry in entries.items():
            if name in _TAILS:
                later = _TAILS[_TAILS.index(name) :]
                if any(tail in pieces.tails for tail in later):
                    self._out_of_place(entry, name, pieces)
                tail = self._tail(name, entry.value, sent)
                if tail is not None:
                    pieces.tails[name] = tail
            elif pieces.tails:
                self._out_of_place(entry, name, pieces)
            else:
                header = self._headers[name]
                pieces.headers.append((name, header, self._fields(name, header, entry.value)))

    def _out_of_place(self, entry: Entry, name: str, pieces: _Pieces) -> None:
        """Said of the first such piece: those behind it stand there only because of it."""
        rule = "headers come first, then `payload`, `padding` and `cut`, each once"
        if not pieces.misplaced:
            self._yaml.found.add(_out_of_place(self._yaml.span(entry.key), f"`{name}`", rule))
        pieces.misplaced = True

    def _tail(self, name: str, node: yaml.Node, sent: bytes) -> bytes | int | None:
        return self._yaml.number(node, _LARGEST) if name == "cut" else self._data(node, sent)

    def _data(self, node: yaml.Node, sent: bytes) -> bytes | None:
        """`0x…`, a count of zeros, `in[a:b]`, or text."""
        text = self._yaml.text(node)
        if text is None:
            return None
        if quoted := _SLICE.fullmatch(text):
            return sent[int(quoted[1]) : int(quoted[2])]
        if text.startswith("0x"):
            return self._hex(node)
        if isinstance(node, yaml.ScalarNode) and node.style is None and text.isdigit():
            count = self._yaml.number(node, _LARGEST)
            return None if count is None else bytes(count)
        return text.encode()

    def _hex(self, node: yaml.Node) -> bytes | None:
        text = self._yaml.text(node)
        if text is None:
            return None
        found = _HEX.fullmatch(text)
        if not found:
            hint = "two hexadecimal digits a byte"
            self._yaml.found.add(bad_value(self._yaml.span(node), text, "hex", hint))
            return None
        return bytes.fromhex(found[1])

    def _fields(self, name: str, header: Header, node: yaml.Node) -> dict[str, Value]:
        fields = {f.name: f for f in header.fields if not f.name.startswith("_")}
        found: dict[str, Value] = {}
        for key, entry in self._yaml.mapping(node, f"`{name}`", fields).items():
            field, value = fields[key], entry.value
            array = header.array(field)
            if field.kind in NAME_KINDS:
                read: Value | None = self._name(field, value)
            else:
                read = self._list(field, value) if array else self._value(field, value)
            if read is not None:
                found[key] = read
        return found

    def _name(self, field: Field, node: yaml.Node) -> tuple[int, ...] | None:
        """A domain name's bytes: `www.example.org`, or hex."""
        text = self._yaml.text(node)
        if text is None:
            return None
        read = domain_names.wire if field.kind == "name" else domain_names.plain
        data = self._hex(node) if text.startswith("0x") else read(text)
        if data is None and not text.startswith("0x"):
            hint = "labels of 1 to 63 characters; another byte is \\046, of three decimal digits"
            self._yaml.found.add(bad_value(self._yaml.span(node), text, "a domain name", hint))
        return None if data is None else tuple(data)

    def _list(self, field: Field, node: yaml.Node) -> tuple[int, ...] | None:
        """The elements of an array, `[1, 2]`."""
        values = [self._value(field, each) for each in self._yaml.sequence(node)]
        numbers = tuple(v for v in values if isinstance(v, int))
        return numbers if len(numbers) == len(values) else None

    def _value(self, field: Field, node: yaml.Node) -> Value | None:
        if field.kind == "bytes":
            data = self._data(node, b"")
            if data is None or not field.width:
                return data
            return int.from_bytes(data[: field.width // 8], "big")
        text = self._yaml.text(node)
        if text is None:
            return None
        known = literals.address(text)
        if known is not None and known[0] == field.kind:
            return known[1]
        value = literals.number(text)
        if value is None or value >> field.width:
            expected = {"mac": "a MAC address", "ip4": "an IPv4 address", "ip6": "an IPv6 address"}
            most = (1 << field.width) - 1
            words = expected.get(field.kind, f"a number from 0 to {most}")
            self._yaml.found.add(bad_value(self._yaml.span(node), text, words))
            return None
        return value

    # ---- building ---------------------------------------------------------------------------

    def _built(self, pieces: _Pieces) -> Written:
        names = [name for name, _, _ in pieces.headers]
        headings = [
            Heading(name, header, values, self._writes(name, "".join(names[i : i + 1])))
            for i, (name, header, values) in enumerate(pieces.headers, start=1)
        ]
        payload, padding = (pieces.tails.get(t, b"") for t in ("payload", "padding"))
        assert isinstance(payload, bytes)
        assert isinstance(padding, bytes)
        frame = build(headings, payload) + payload + padding
        parts, at = [], 0
        for heading in headings:
            parts.append(Part(heading.name, heading.header, at, at + heading.size))
            at += heading.size
        cut = pieces.tails.get("cut")
        return Written(frame[:cut] if isinstance(cut, int) else frame, tuple(parts))

    def _writes(self, name: str, following: str) -> tuple[tuple[str, int], ...]:
        """What a header says of the next: by the edge between the nodes, else between any nodes
        of these headers."""
        if not following:
            return ()
        this, next_ = self._headers[name], self._headers[following]
        if this.protocol == "ipv4" and next_.protocol == "icmp":
            return (("protocol", 1),)
        headers = {n.name: n.header for n in self._graph.nodes}
        fitting = [
            e
            for e in (*self._graph.edges, *self._graph.again)
            if e.writes is not None
            and headers[e.source].name == this.name
            and headers[e.target].name == next_.name
        ]
        exact = [e for e in fitting if (e.source, e.target) == (name, following)]
        for edge in exact or fitting:
            return edge.writes or ()
        return ()


# ---- errors ---------------------------------------------------------------------------------


def _out_of_place(where: Span, what: str, rule: str) -> Diagnostic:
    return Diagnostic("H0508", f"{what} is out of place", (Label(where, rule),))
