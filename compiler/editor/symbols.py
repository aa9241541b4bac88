"""What the names of a file stand for: declarations, and all places where each is used."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from ...lang import tree
from ...lang.text.source import NOWHERE, Span
from ..check.constants import fields

Kind = Literal[
    "action", "constant", "element", "event", "field", "header", "node", "option", "role", "rule",
    "slot", "stage", "state", "symbol", "value",
]  # fmt: skip


@dataclass(frozen=True, eq=False)
class Symbol:
    """Something that has a name. `declared`: the name where it is declared, `shown`: how it is.
    `members`: what may stand behind its name and a dot."""

    kind: Kind
    name: str
    declared: Span
    shown: str = ""
    doc: str = ""
    members: dict[str, Symbol] = field(default_factory=dict)


class Use(NamedTuple):
    span: Span
    symbol: Symbol


Scope = dict[str, Symbol]


@dataclass
class Index:
    """Of one file. `uses`: places of names in the file, declarations among them; `known`: what
    can be named everywhere in its pipeline."""

    uses: list[Use] = field(default_factory=list)
    known: Scope = field(default_factory=dict)

    def at(self, offset: int) -> Use | None:
        """The name that this character is in, or stands right behind."""
        within = (u for u in self.uses if u.span.start <= offset <= u.span.end)
        return min(within, key=lambda u: u.span.end - u.span.start, default=None)

    def of(self, symbol: Symbol) -> list[Span]:
        return [u.span for u in self.uses if u.symbol is symbol]


def built_in() -> Scope:
    """What no file declares."""

    def named(name: str, doc: str, members: Iterable[str]) -> Symbol:
        inside = {m: Symbol("field", m, NOWHERE, f"{name}.{m}") for m in members}
        return Symbol("node", name, NOWHERE, name, doc, inside)

    ports = "The TCP or UDP header behind the packet's innermost IP header; 0 where there is none."
    frame = "The frame as it came: its length in bytes, without the check sequence."
    clock = "The wall clock: how wrong it may be, in ns; all ones where nobody knows."
    now = "The packet's time, in ns since the host started; `now(utc)`, `now(ntp)`, `now(ptp)`."
    return {
        "l4": named("l4", ports, ("src", "dst")),
        "frame": named("frame", frame, ("length",)),
        "clock": named("clock", clock, ("error",)),
        "now": named("now", now, ()),
    }


def of_every_rule() -> Scope:
    """What stands behind a rule's name without a declaration of its own."""
    shown = {
        "id": "The id that requests name the rule by.",
        "packets": "Packets that the rule has counted so far.",
        "bytes": "Bytes of the packets that the rule has counted so far.",
    }
    return {n: Symbol("field", n, NOWHERE, n, doc) for n, doc in shown.items()}


def base(name: tree.Name) -> tree.Name:
    """`vlan` of `vlan[1]`."""
    plain = name.text.partition("[")[0]
    span = Span(name.span.source, name.span.start, name.span.start + len(plain))
    return tree.Name(span, plain)


def declaration(node: tree.Node) -> str:
    """The first line of a declaration, as it is written."""
    first = node.span.text.split("\n")[0]
    return first.removesuffix("{").rstrip()


def header_symbol(header: tree.Header) -> Symbol:
    made = Symbol("header", header.name.text, header.name.span, declaration(header), header.doc)
    for each in fields(header.members):
        if each.name is not None:
            made.members[each.name.text] = Symbol(
                "field", each.name.text, each.name.span, declaration(each), each.doc
            )
        if each.options is not None:
            options = each.options.members
            made.members.update({o.name.text: _option(o, each.options) for o in options})
    return made


def _option(option: tree.Option, of: tree.Options) -> Symbol:
    """An option, behind which stand its fields and those that each begins with."""
    made = Symbol("option", option.name.text, option.name.span, declaration(option), option.doc)
    for each in fields((*of.heading, *option.fields)):
        if each.name is not None:
            name = each.name
            made.members[name.text] = Symbol("field", name.text, name.span, declaration(each))
    return made
