"""Rules back to requests: the canonical text of a rule, and requests in canonical form."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Protocol

from ...text.diagnostics import Refused
from ..manifest.manifest import Manifest
from ..request.request import IE, Change, Request, RuleItem, item_text, quoted
from .fault_places import diagnostics
from .ie_values import Codec, Fault, fold
from .kind_fields import POSITION
from .nest_rules import Arranger
from .rule_node import Node
from .rulekinds import Kind
from .rules import Matcher, Member, Reference, Rule


class Names(Protocol):
    """What texts need of a rule book."""

    @property
    def kinds(self) -> Mapping[str, Kind]: ...
    @property
    def port_names(self) -> Mapping[int, str]: ...
    def get(self, kind: str, id_: int) -> Rule | None: ...
    def group(self, kind: str, id_: int) -> list[Rule]: ...
    def by_name(self, kind: str, name: str) -> Rule | None: ...


def format_rule(rule: Rule, manifest: Manifest, book: Names | None = None) -> str:
    """The request text of a rule: `create` before it makes the same rule again.

    With the book it has names for numbers, and what the rule owns stands within it; without it
    references are `OVERLAY.3`, `port.2`."""
    kinds = book.kinds if book is not None else {r.name: Kind(manifest, r) for r in manifest.rules}
    return item_text(rule_item(rule, kinds, book))


def rule_item(
    rule: Rule, kinds: Mapping[str, Kind], book: Names | None = None, nested: bool = False
) -> RuleItem:
    """A rule as an item of a request. `nested`: within its owner, so without its id."""
    kind = kinds[rule.kind]
    items: list[RuleItem | IE] = []
    matchers = dict(rule.match)
    for field in kind.match:
        matcher = matchers.get(field.codec.name)
        if matcher is not None and field.match is not None:
            items.append(_matched(field.codec, field.match.kind, matcher))
    rank = kind.rule.priority
    if rank is not None and (rule.priority or rank[0] == "precedence"):  # priority 0: none is said
        items.append(_ie(kind.fields[fold(rank[1])].codec, str(rule.priority)))
    given: dict[str, IE] = {}
    for name, value in rule.values:
        codec = kind.fields[fold(name)].codec
        given[name] = _ie(codec, codec.format(value))
    for name, reference in rule.references:
        codec = kind.fields[fold(name)].codec
        given[name] = _ie(codec, reference_text(reference, book))
    items.extend(given[name] for name in kind.rule.gives if name in given)
    if rule.target is not None:
        items += _target(rule, rule.target, kinds, book)
    items += _members(rule, kind, kinds, book)
    id_ = None if nested else rule.id
    return RuleItem(rule.kind, id_, rule.name or None, tuple(items))


def _members(
    rule: Rule,
    kind: Kind,
    kinds: Mapping[str, Kind],
    book: Names | None,
    beside: Member | None = None,
) -> Iterator[RuleItem]:
    """The members of a spread. `beside`: the one that a bare word means."""
    for member in rule.members:
        assert kind.spread is not None
        weight: tuple[IE, ...] = ()
        if kind.weight is not None and member.weight != 1:
            weight = (_ie(kind.weight.codec, str(member.weight)),)
        if beside is not None and member.id == beside.id and not weight:
            yield RuleItem(kind.spread.kind, None, None, (), False)
            continue
        yield _within(rule, Reference(kind.spread.kind, member.id), kinds, book, weight)


def _target(
    rule: Rule, to: Reference, kinds: Mapping[str, Kind], book: Names | None
) -> Iterator[RuleItem]:
    """What a rule gives: of a group of its own every entry, and where one is for all packets that
    the others do not take, its only member in place of this entry (spread_with_rule.py)."""
    kind = kinds[to.kind]
    entries = book.group(*to) if book is not None and kind.grouped else []
    own = [entry for entry in entries if entry.owner == rule.sequence]
    if not own:
        yield _within(rule, to, kinds, book, ())
        return
    own.sort(key=lambda entry: bool(entry.match))
    rest, beside = rest_of(own), None
    for entry in own:
        members = list(_members(entry, kind, kinds, book, beside))
        if not entry.match and members and members[-1].id is None:
            beside = entry.members[-1]  # described last
        matchers = rule_item(entry._replace(members=()), kinds, book, nested=True).items
        yield members[0] if entry is rest else RuleItem(to.kind, None, None, (*matchers, *members))


def rest_of(group: Sequence[Rule]) -> Rule | None:
    """The entry of a group that stands for a rule beside the others: it matches every packet, has
    one member, and says nothing else."""
    general = [e for e in group if not e.match and not e.values and len(e.members) == 1]
    return general[0] if general and len(group) > 1 else None


def _within(
    rule: Rule, reference: Reference, kinds: Mapping[str, Kind], book: Names | None,
    weight: tuple[IE, ...],
) -> RuleItem:  # fmt: skip
    target = book.get(*reference) if book is not None else None
    if target is not None and target.owner == rule.sequence:
        item = rule_item(target, kinds, book, nested=True)
        return item._replace(items=(*item.items, *weight))
    if target is not None and target.name:
        return RuleItem(reference.kind, None, target.name, weight, bool(weight))
    return RuleItem(reference.kind, reference.id, None, weight, bool(weight))


def reference_text(reference: Reference, book: Names | None) -> str:
    """By name where the book knows one that means this and nothing else, else `KIND.number`."""
    numbered = f"{reference.kind}.{reference.id}"
    if book is None:
        return numbered
    if reference.kind == "port":
        name = book.port_names.get(reference.id, "")
        taken = any(book.by_name(k, name) for k, kind in book.kinds.items() if kind.beside_ports)
        return quoted(name) if name and not taken else numbered
    rule = book.get(*reference)
    return quoted(rule.name) if rule is not None and rule.name else numbered


def _ie(codec: Codec, text: str) -> IE:
    return IE(codec.name, codec.lengths[0], "value", text)


def _matched(codec: Codec, kind: str, matcher: Matcher) -> IE:
    return IE(codec.name, codec.lengths[0], *codec.spelled(kind, matcher))


def element_of(codec: Codec, text: str) -> IE:
    """The IE of a value's text, as rules show it: `10.1.0.0/16`."""
    end = text.rfind('"') + 1
    if end == len(text):
        return _ie(codec, text)
    if " & " in text:
        value, other = text.split(" & ")
        return IE(codec.name, codec.lengths[0], "mask", value, other)
    if "/" in text:
        value, other = text.split("/")
        return IE(codec.name, codec.lengths[0], "prefix", value, other)
    if ".." in text:
        value, other = text.split("..")
        return IE(codec.name, codec.lengths[0], "range", value, other)
    return _ie(codec, text)


# ---- requests in canonical form -------------------------------------------------------------


def canonical(request: Request, kinds: Mapping[str, Kind]) -> Request:
    """The request with every list nested in brackets and every element by its declared name.

    Raises `Refused` if something stands nowhere. Places stay where they were."""
    arranger = Arranger(kinds)
    arranged = arranger.arrange(request)
    arranger.settle(arranged)
    faults: list[tuple[Fault, RuleItem | IE]] = [(f, f.item) for f in arranger.faults]
    changes: list[Change] = []
    for change in arranged:
        items = tuple([_canonical(node, faults) for node in change.nodes])
        if items or not change.change.items:  # else its rules went into those of an earlier change
            changes.append(change.change._replace(items=items))
    if faults:
        raise Refused(diagnostics(faults, request, kinds))
    return Request(tuple(changes), request.source)


def _canonical(node: Node, faults: list[tuple[Fault, RuleItem | IE]]) -> RuleItem:
    items: list[RuleItem | IE] = []
    taken: set[str] = set()
    for ie in node.ies:
        try:
            field = node.kind.field(ie, node.parent.kind if node.parent is not None else None)
            if field.role == POSITION:
                field = node.kind.positioned(ie, taken)
            taken.add(field.codec.name)
            items.append(ie._replace(type=field.codec.name))
        except Fault as fault:
            faults.append((fault, ie))
    items.extend(_canonical(child, faults) for child in node.children)
    block = node.item.block or bool(items)
    return node.item._replace(kind=node.kind.name, items=tuple(items), block=block)
