"""The commonest requests of one rule, planned at once in a fraction of the planner's time.

`update KIND id [values]`, `create KIND [elements, FAR 17]` or with a FAR described within it, and
`delete KIND id`. Anything else and anything wrong is left to the planner, which says why; a test
compares the two.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from ..request.request import IE, Request, RuleItem
from .apart import another_role
from .ie_values import Fault, fold
from .plan import Plan
from .rulekinds import MATCH, POSITION, PRIORITY, REFERENCE, VALUE, Kind, Pair
from .rules import Reference, Rule

if TYPE_CHECKING:
    from .rulebook import RuleBook

_fold = lru_cache(4096)(fold)
_Items = tuple[RuleItem | IE, ...]
_Made = tuple[Kind, Rule, bytes]
_Said = tuple[int, list[Pair | None], int | None, dict[str, int], dict[str, Reference]]
"""What the IEs of a rule say: match image, a matcher or None for each match element, priority,
values, references."""
_new = tuple.__new__  # a third of what a named tuple's own takes


def quick_plan(book: RuleBook, request: Request) -> Plan | None:
    """The plan, or None: ask the planner."""
    changes = request.changes
    if len(changes) != 1:
        return None
    operation, items, _ = changes[0]
    item = items[0] if items else None
    if type(item) is not RuleItem:
        return None
    name, id_, called, within, block, _ = item
    kind = book.kinds.get(name)
    if called is not None or kind is None or not kind.plain:
        return None
    if not block:
        within = _nested(items)
    elif len(items) > 1:
        return None
    try:
        if operation == "create":
            return _create(book, kind, id_, within)
        if id_ is None:
            return None
        if operation == "update":
            return _update(book, kind, id_, within)
    except Fault:
        return None
    return _delete(book, kind, id_) if operation == "delete" and not within else None


def _nested(items: _Items) -> _Items:
    """What `PDR: IE, IE, FAR: IE` has in its brackets. Elements behind the FAR that it does not
    have, and may be the PDR's, are found by the planner."""
    for i in range(1, len(items) - 1):
        child = items[i]
        if type(child) is RuleItem:
            if not child.block:
                child = child._replace(items=items[i + 1 :], block=True)
                return (*items[1:i], child)
            break  # and more behind it, which nobody takes
    return items[1:]


class _Changed:
    """One rule in place of another."""

    __slots__ = ("kind", "new", "old")

    def __init__(self, kind: Kind, old: Rule, new: Rule) -> None:
        self.kind, self.old, self.new = kind, old, new

    def commit(self, book: RuleBook) -> None:
        old, new = self.old, self.new
        table = book.tables[self.kind.name]
        table.rules[new.id] = new
        table.note(old, new)
        if old.references != new.references:
            _point(book, new, 1)
            _point(book, old, -1)


class _Created(tuple[_Made, ...]):
    """New rules with their match images."""

    __slots__ = ()

    def commit(self, book: RuleBook) -> None:
        for kind, rule, key in self:
            table, id_ = book.tables[kind.name], rule.id
            table.rules[id_] = rule
            table.note(None, rule)
            if kind.keyed:
                table.keys[key] = id_
            _point(book, rule, 1)


class _Removed:
    """A rule that nobody points at."""

    __slots__ = ("kind", "rule")

    def __init__(self, kind: Kind, rule: Rule) -> None:
        self.kind, self.rule = kind, rule

    def commit(self, book: RuleBook) -> None:
        book.tables[self.kind.name].take_out(self.rule)
        _point(book, self.rule, -1)


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


def _said(book: RuleBook, kind: Kind, items: _Items) -> _Said | None:
    """None where the planner must look. Raises `Fault` likewise."""
    bits = 0
    priority: int | None = None
    match: list[Pair | None] = [None] * len(kind.match)
    values: dict[str, int] = {}
    references: dict[str, Reference] = {}
    cache, readers = kind.cache, kind.readers
    for ie in items:
        hit = cache.get(ie[:5])
        if hit is None:
            if type(ie) is not IE:
                return None
            read = readers.get(ie[:3])
            hit = read(ie) if read is not None else kind.decoded(ie, None)
            if hit[0] == POSITION:
                taken = {pair[0] for pair in match if pair is not None}
                hit = kind.decoded(ie._replace(type=kind.positioned(ie, taken).codec.name), None)
        role, nth, payload, more, field = hit
        if role == MATCH:
            if match[nth] is not None:
                return None
            match[nth] = payload
            bits |= more
            continue
        if role == PRIORITY and priority is None:
            priority = payload
            continue
        companion = kind.ifindex
        if role not in (VALUE, REFERENCE) or (companion is not None and companion[0] == nth):
            return None
        name = kind.rule.gives[nth]
        if name in values or name in references:
            return None
        if role == VALUE:
            values[name] = payload
            continue
        reference = _resolve(book, field.references, payload)
        if reference is None:
            return None
        references[name] = reference
    return bits, match, priority, values, references


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


def _update(book: RuleBook, kind: Kind, id_: int, items: _Items) -> Plan | None:
    old = book.tables[kind.name].get(id_)
    said = None if old is None else _said(book, kind, items)
    if old is None or said is None:
        return None
    _, match, priority, more, others = said
    if priority is not None or any(match):
        return None
    gives, companion = kind.rule.gives, kind.ifindex
    values, references = dict(old.values), dict(old.references)
    values.update(more)
    if others:
        references.update(others)
        if companion is not None and gives[companion[1]] in others:
            values.pop(gives[companion[0]], None)
    if not _complete(kind, values, references):
        return None
    new = _new(Rule, (
        kind.name, old.id, old.sequence, old.name, old.owner, old.priority, old.match,
        tuple([(name, values[name]) for name in gives if name in values]),
        tuple([(name, references[name]) for name in gives if name in references]),
        old.target, (),
    ))  # fmt: skip
    if new == old:
        return Plan((), (), (), (), (), (), (), book.revision, book.sequence)
    effects = (_Changed(kind, old, new),)
    changed = ((old, new),)
    return _new(
        Plan, ((), changed, (), (), (), (), effects, book.revision, book.sequence, {})
    )  # fmt: skip


def _delete(book: RuleBook, kind: Kind, id_: int) -> Plan | None:
    table = book.tables[kind.name]
    rule = table.get(id_)
    if rule is None or id_ in table.pointed:
        return None
    for reference in kind.owned_by(rule):
        if _owned(book, *reference):
            return None
    effects = (_Removed(kind, rule),)
    return Plan((), (), (rule,), (), (), (), effects, book.revision, book.sequence)


def _create(book: RuleBook, kind: Kind, id_: int | None, items: _Items) -> Plan | None:
    sequence, target, inner = book.sequence, None, None
    if kind.alternatives:
        child = items[-1] if items else None
        if type(child) is not RuleItem:
            return None
        items = items[:-1]
        to, number, called, described, block, _ = child
        if called is not None or to not in kind.leaves:
            return None
        if not described:
            leads = None if number is None else book.tables[to].get(number)
            if leads is None or leads.owner:
                return None
        elif number is None and block:
            inner = _made(book, book.kinds[to], None, described, sequence + 1, sequence, None)
            if inner is None:
                return None
            number = inner[1].id
        else:
            return None
        target = _new(Reference, (to, number))
    outer = _made(book, kind, id_, items, sequence, 0, target)
    if outer is None:
        return None
    rule, revision = outer[1], book.revision
    result = _new(Reference, (kind.name, rule.id))
    if inner is None or target is None:
        effects = (_new(_Created, (outer,)),)
        return _new(Plan, ((rule,), (), (), (result,), (), (), effects, revision, sequence + 1, {}))
    effects = (_new(_Created, (outer, inner)),)
    created, results = (rule, inner[1]), (result, target)
    return Plan(created, (), (), results, (), (), effects, revision, sequence + 2)


def _made(
    book: RuleBook, kind: Kind, id_: int | None, items: _Items, sequence: int, owner: int,
    target: Reference | None,
) -> _Made | None:  # fmt: skip
    """A new rule and its match image."""
    said = _said(book, kind, items)
    if said is None:
        return None
    bits, match, priority, values, references = said
    table, alone = book.tables[kind.name], id_ is None and not owner
    rules = table.rules
    if id_ is None:
        id_ = table.lowest_free()
    elif not 0 < id_ < 1 << 32 or id_ in rules:
        return None
    if len(rules) >= kind.rule.capacity or not _matches(kind, match):
        return None
    if kind.apart and any(match[i] and match[j] for i, j, _ in kind.apart):
        return None  # to be warned of
    if kind.arriving and another_role(book, kind, match.__getitem__):
        return None
    key = b""
    if kind.keyed:
        key = kind.key(bits, id_, priority or 0)
        if key in table.keys:
            return None
        for other in kind.respelled(bits, match.__getitem__) if kind.overlaps else ():
            if kind.key(other, id_, priority or 0) in table.keys:
                return None
    if kind.named_requires and not _complete(kind, values, references):
        return None
    gives = kind.rule.gives
    rule = _new(Rule, (
        kind.name, id_, sequence, "", owner, priority or 0, tuple(filter(None, match)),
        tuple([(n, values[n]) for n in gives if n in values]) if values else (),
        tuple([(n, references[n]) for n in gives if n in references]) if references else (),
        target, (),
    ))  # fmt: skip
    return None if alone and not kind.keyed and table.like(rule) else (kind, rule, key)


def _matches(kind: Kind, match: list[Pair | None]) -> bool:
    """Its exact elements are there. Raises `Fault` where two contradict each other."""
    for field in kind.exact:
        if match[field.nth] is None:
            return False
    for i, j in kind.overlaps:
        one, two = match[i], match[j]
        if one is not None and two is not None:
            kind.agree(one, two, kind.match[i], kind.match[j])
    return True
