"""Joins what one rule gives: a spread, and beside it a rule of the kind that it spreads over.

Schema 1 of the paper has a PDR, its FAR and its LBR in one rule. The LBR's entries say for which
class of traffic (ToS) it balances, and over which FARs; the FAR is for all other packets that the
PDR matches. It becomes a member of the entry that matches every packet.
"""

from __future__ import annotations

from .ie_values import Fault
from .rule_node import Node
from .rulekinds import Kind


def fit(one: Kind, other: Kind) -> bool:
    """Whether a rule may give rules of both kinds."""
    if one is other:
        return one.grouped
    return any(k.spread is not None and k.spread.kind == m.name
               for k, m in ((one, other), (other, one)))  # fmt: skip


def join(holder: Node) -> None:
    """Give a holder's rule of the other kind its place in the spread beside it, and make one group
    of the spread's entries. Raises `Fault`."""
    entries = [child for child in holder.children if child.kind.spread is not None]
    others = [child for child in holder.children if child.kind.spread is None]
    if not entries or not all(fit(entries[0].kind, other.kind) for other in others):
        return
    _one_group(holder, entries)
    for other in others:
        _own(holder, entries, other)
        general = next((e for e in entries if not (e.ies and e.kind.grouped)), None)
        if general is None:
            general = _general_entry(holder, entries[0])
        else:
            entries.remove(general)
        entries.insert(0, general)
        _stand_for(other, entries[1:])
        general.children = [child for child in general.children if not _bare(child)]
        general.children.append(other)  # the last one described, which a bare word means
        other.parent, general.beside = general, other
    holder.children = entries
    for entry in entries[1:]:
        entry.entry_of = entries[0]


def _one_group(holder: Node, entries: list[Node]) -> None:
    first = entries[0].item
    for entry in entries[1:]:
        if (entry.item.id, entry.item.name) != (first.id, first.name):
            title = f"a {holder.kind.name} gives one {entry.kind.name}, and this is the second"
            raise _at(entry, title, "leave one of them out, or let both have the same id")


def _own(holder: Node, entries: list[Node], other: Node) -> None:
    """The entries are said here: a spread that is there already may be another rule's, too."""
    for entry in entries:
        item = entry.item
        if (item.id is not None or item.name is not None) and not entry.described():
            spread, said = entry.kind.name, item.id if item.id is not None else item.name
            title = f"a {holder.kind.name} gives one rule, and this is the second"
            help_ = (f"leave one of them out; or let {spread} {said} have the {other.kind.name}: "
                     f"create {spread} {said} [{other.kind.name} …]")  # fmt: skip
            raise _at(entry, title, help_)


def _at(node: Node, title: str, help_: str) -> Fault:
    fault = Fault("H0433", title, "kind", "", help_)
    fault.node = node
    return fault


def _general_entry(holder: Node, entry: Node) -> Node:
    """A new entry that matches every packet."""
    item = entry.item._replace(items=(), block=True)
    made = Node(entry.kind, item, entry.operation)
    made.parent, made.origin = holder, entry.origin
    return made


def _stand_for(other: Node, entries: list[Node]) -> None:
    """A bare word in the entries means the rule beside them; so does none at all."""
    for entry in entries:
        if not entry.children:
            item = other.item._replace(id=None, name=None, items=(), block=False)
            bare = Node(other.kind, item, other.operation)
            bare.origin = other.origin
            entry.children = [bare]
        for child in filter(_bare, entry.children):
            child.parent = entry
            if other.described():
                child.same = other
            else:
                child.item, child.origin = other.item, other.origin  # a rule that is there already


def _bare(child: Node) -> bool:
    item = child.item
    return item.id is None and item.name is None and not item.block and not child.described()
