"""The commonest requests of one rule, planned at once in a fraction of the planner's time.

`update KIND id [values]`, and `create KIND [elements, FAR 17]` or with a FAR described within it.
Anything else and anything wrong is left to the planner, which says why; a test compares the two.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from ...lang.request import IE, Request, RuleItem
from .ie_values import Fault, fold
from .plan import Plan
from .rulekinds import MATCH, POSITION, REFERENCE, VALUE, Hit, Kind
from .rules import Matcher, Reference, Rule

if TYPE_CHECKING:
    from .rulebook import RuleBook

_fold = lru_cache(4096)(fold)
_Made = tuple[Kind, Rule, bytes]


def quick_plan(book: RuleBook, request: Request) -> Plan | None:
    """The plan, or None: ask the planner."""
    changes = request.changes
    if len(changes) != 1:
        return None
    operation, items, _ = changes[0]
    item = items[0] if items else None
    if type(item) is not RuleItem or item.name is not None:
        return None
    if len(items) > 1 or not item.block:
        item = _nested(item, items)
        if item is None:
            return None
    kind = book.kinds.get(item.kind)
    if kind is None or kind.grouped or kind.spread is not None:
        return None
    if operation == "update":
        return _update(book, kind, item)
    return _create(book, kind, item) if operation == "create" else None


def _nested(item: RuleItem, items: tuple[RuleItem | IE, ...]) -> RuleItem | None:
    """`PDR: IE, IE, FAR: IE` with brackets. Elements behind the FAR that it does not have, and may
    be the PDR's, are found by the planner."""
    if item.block:
        return None
    for i in range(1, len(items)):
        child = items[i]
        if type(child) is RuleItem:
            within = items[i + 1 :]
            if within:
                if child.block:
                    return None
                child = child._replace(items=within, block=True)
            return item._replace(items=(*items[1:i], child), block=True)
    return item._replace(items=items[1:], block=True)


class _Changed:
    """One rule in place of another."""

    __slots__ = ("kind", "new", "old")

    def __init__(self, kind: Kind, old: Rule, new: Rule) -> None:
        self.kind, self.old, self.new = kind, old, new

    def commit(self, book: RuleBook) -> None:
        old, new = self.old, self.new
        book.tables[self.kind.name].rules[new.id] = new
        if old.references != new.references:
            _point(book, new, 1)
            _point(book, old, -1)


class _Created:
    """New rules with their match images."""

    __slots__ = ("made",)

    def __init__(self, made: tuple[_Made, ...]) -> None:
        self.made = made

    def commit(self, book: RuleBook) -> None:
        for kind, rule, key in self.made:
            table = book.tables[kind.name]
            table.rules[rule.id] = rule
            if kind.keyed:
                table.keys[key] = rule.id
            _point(book, rule, 1)


def _point(book: RuleBook, rule: Rule, by: int) -> None:
    target = rule.target
    if target is not None:
        _count(book.tables[target.kind].pointed, target.id, by)
    for _, reference in rule.references:
        if reference.kind != "port":
            _count(book.tables[reference.kind].pointed, reference.id, by)


def _count(pointed: dict[int, int], id_: int, by: int) -> None:
    count = pointed.get(id_, 0) + by
    if count:
        pointed[id_] = count
    else:
        del pointed[id_]


class _Said:
    """What the IEs of a rule say."""

    __slots__ = ("bits", "pairs", "references", "values")

    def __init__(self) -> None:
        self.bits = 0
        self.pairs: dict[int, tuple[str, Matcher]] = {}
        self.values: dict[str, int] = {}
        self.references: dict[str, Reference] = {}


def _said(book: RuleBook, kind: Kind, items: tuple[RuleItem | IE, ...]) -> _Said | None:
    """None where the planner must look."""
    said = _Said()
    cache, gives, companion = kind.cache, kind.rule.gives, kind.ifindex
    for ie in items:
        if type(ie) is not IE:
            return None
        hit = cache.get(ie[:5])
        if hit is None:
            try:
                hit = kind.decoded(ie, None)
            except Fault:
                return None
        if hit[0] == POSITION:
            try:
                hit = _positioned(kind, ie, said)
            except Fault:
                return None
        role, nth, payload, bits, field = hit
        if role == MATCH and payload is not None and nth not in said.pairs:
            said.pairs[nth] = payload  # type: ignore[assignment]
            said.bits |= bits
            continue
        if role not in (VALUE, REFERENCE) or (companion is not None and companion[0] == nth):
            return None
        name = gives[nth]
        if name in said.values or name in said.references:
            return None
        if role == VALUE:
            said.values[name] = payload  # type: ignore[assignment]
            continue
        reference = _resolve(book, field.references, payload)
        if reference is None:
            return None
        said.references[name] = reference
    return said


def _positioned(kind: Kind, ie: IE, said: _Said) -> Hit:
    taken = {pair[0] for pair in said.pairs.values()}
    name = kind.positioned(ie, taken).codec.name
    hit = kind.cache.get((name, *ie[1:5]))
    return hit if hit is not None else kind.decoded(ie._replace(type=name), None)


def _resolve(book: RuleBook, kinds: tuple[str, ...], raw: object) -> Reference | None:
    """A reference by a plain name."""
    if type(raw) is not str:
        return None
    for kind in kinds:
        if kind == "port":
            number = book.ports.get(raw)
            return None if number is None else Reference("port", number)
        table = book.tables[kind]
        id_ = table.names.get(_fold(raw))
        if id_ is not None:
            return None if table.kind.grouped or _owned(book, kind, id_) else Reference(kind, id_)
    return None


def _owned(book: RuleBook, kind: str, id_: int) -> bool:
    rule = book.tables[kind].get(id_)
    return rule is None or rule.owner != 0


def _complete(kind: Kind, values: dict[str, int], references: dict[str, Reference]) -> bool:
    for name, when, kinds in kind.named_requires:
        for other, wanted in when:
            if values.get(other) not in wanted:
                break
        else:
            if name not in values:
                reference = references.get(name)
                if reference is None or (kinds and reference.kind not in kinds):
                    return False
    return True


def _update(book: RuleBook, kind: Kind, item: RuleItem) -> Plan | None:
    old = book.tables[kind.name].rules.get(item.id)  # type: ignore[arg-type]
    if type(old) is not Rule:
        return None
    said = _said(book, kind, item.items)
    if said is None or said.pairs:
        return None
    gives, companion = kind.rule.gives, kind.ifindex
    values = dict(old.values)
    values.update(said.values)
    references = old.references
    if said.references:
        merged = dict(references)
        merged.update(said.references)
        references = tuple([(name, merged[name]) for name in gives if name in merged])
        if companion is not None and gives[companion[1]] in said.references:
            values.pop(gives[companion[0]], None)
    if not _complete(kind, values, dict(references)):
        return None
    new = Rule(
        kind.name, old.id, old.sequence, old.name, old.owner, old.priority, old.match,
        tuple([(name, values[name]) for name in gives if name in values]), references,
        old.target, (),
    )  # fmt: skip
    if new == old:
        return Plan((), (), (), (), (), (), (), book.revision, book.sequence)
    effects = (_Changed(kind, old, new),)
    return Plan((), ((old, new),), (), (), (), (), effects, book.revision, book.sequence)


def _create(book: RuleBook, kind: Kind, item: RuleItem) -> Plan | None:
    sequence = book.sequence
    items, target, inner = item.items, None, None
    if kind.alternatives:
        child = items[-1] if items else None
        if type(child) is not RuleItem or child.kind not in kind.alternatives:
            return None
        items = items[:-1]
        within = book.kinds[child.kind]
        if child.name is not None or within is kind or within.grouped or within.children:
            return None
        if not child.items:
            if child.id is None or _owned(book, child.kind, child.id):
                return None
            target = Reference(child.kind, child.id)
        else:
            if child.id is not None or not child.block:
                return None
            inner = _made(book, within, None, child.items, sequence + 1, sequence, None)
            if inner is None:
                return None
            target = Reference(child.kind, inner[1].id)
    outer = _made(book, kind, item.id, items, sequence, 0, target)
    if outer is None:
        return None
    rule = outer[1]
    if inner is None:
        effects = (_Created((outer,)),)
        results = (Reference(kind.name, rule.id),)
        return Plan((rule,), (), (), results, (), (), effects, book.revision, sequence + 1)
    assert target is not None
    effects = (_Created((outer, inner)),)
    results2 = (Reference(kind.name, rule.id), target)
    created = (rule, inner[1])
    return Plan(created, (), (), results2, (), (), effects, book.revision, sequence + 2)


def _made(
    book: RuleBook, kind: Kind, id_: int | None, items: tuple[RuleItem | IE, ...], sequence: int,
    owner: int, target: Reference | None,
) -> _Made | None:  # fmt: skip
    """A new rule and its match image."""
    said = _said(book, kind, items)
    if said is None:
        return None
    table = book.tables[kind.name]
    rules = table.rules
    if id_ is None:
        id_ = table.lowest_free()
    elif not 0 < id_ < 1 << 32 or id_ in rules:
        return None
    pairs, values, references = said.pairs, said.values, said.references
    if len(rules) >= kind.rule.capacity or not _matches(kind, pairs):
        return None
    key = b""
    if kind.keyed:
        key = kind.key(said.bits, id_, 0)
        if key in table.keys:
            return None
    if kind.named_requires and not _complete(kind, values, references):
        return None
    gives = kind.rule.gives
    rule = Rule(
        kind.name, id_, sequence, "", owner, 0,
        tuple([pairs[i] for i in sorted(pairs)]),
        tuple([(n, values[n]) for n in gives if n in values]) if values else (),
        tuple([(n, references[n]) for n in gives if n in references]) if references else (),
        target,
    )  # fmt: skip
    return kind, rule, key


def _matches(kind: Kind, pairs: dict[int, tuple[str, Matcher]]) -> bool:
    """Its exact elements are there, and no two contradict each other."""
    for field in kind.exact:
        if field.nth not in pairs:
            return False
    for i, j in kind.overlaps:
        if i in pairs and j in pairs:
            try:
                kind.agree(pairs[i], pairs[j], kind.match[i], kind.match[j])
            except Fault:
                return False
    return True
