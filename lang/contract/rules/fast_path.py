"""The commonest requests of one rule, planned in a sixth of the planner's time: 3 to 10 us of CPU
in place of 20 to 65 (`bench/control.py` measures them within a transaction).

`update KIND id [values]`, `create KIND [elements, FAR 17]` or with a FAR described within it, and
`delete KIND id`. What is decoded, required and made is the planner's own code; what is left out is
the tree of nested rules and the staged tables, which one rule does not need. Anything else and
anything wrong is left to the planner, which says why; a test compares the two.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

from ..request.request import Item, Request, RuleItem
from .fault_places import complete
from .ie_values import Fault, fold
from .plan import Plan
from .rule_warnings import another_role
from .rulekinds import Kind, Parts, rule_of
from .rules import Reference, Rule
from .rules_in_force import RulesInForce
from .ruletable import Table

_fold = lru_cache(4096)(fold)
_Items = tuple[Item, ...]
_Change = tuple[Kind, Rule | None, Rule | None, bytes]
"""A rule in place of another, either of which may be none; of a new one the match image."""
_Created = tuple[Kind, None, Rule, bytes]
_NOT_PLAIN = Fault("", "", "")
_new = tuple.__new__  # a third of what a named tuple's own takes


def fast_plan(book: RulesInForce, request: Request) -> Plan | None:
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


class _Changes(tuple[_Change, ...]):
    """Of rules that nobody owns but each other."""

    __slots__ = ()

    def commit(self, tables: Mapping[str, Table]) -> None:
        for kind, old, new, key in self:
            table = tables[kind.name]
            if new is None:
                assert old is not None
                table.take_out(old)
                _point(tables, old, -1)
                continue
            table.rules[new.id] = new
            table.note(old, new)
            if old is None:
                if kind.keyed:
                    table.keys[key] = new.id
                _point(tables, new, 1)
            elif old.references != new.references:
                _point(tables, new, 1)
                _point(tables, old, -1)


def _point(tables: Mapping[str, Table], rule: Rule, by: int) -> None:
    target = rule.target
    if target is not None:
        tables[target.kind].point(target.id, by)
    for _, reference in rule.references:
        if reference.kind != "port":
            tables[reference.kind].point(reference.id, by)


def _references(book: RulesInForce, kind: Kind, parts: Parts) -> dict[str, Reference]:
    """Raises `Fault` where the planner must look."""
    found: dict[str, Reference] = {}
    for name, (raw, _) in parts.references.items():
        reference = _resolve(book, kind.given[name].references, raw)
        if reference is None:
            raise _NOT_PLAIN
        found[name] = reference
    return found


def _resolve(book: RulesInForce, kinds: tuple[str, ...], raw: object) -> Reference | None:
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


def _owned(book: RulesInForce, kind: str, id_: int) -> bool:
    rule = book.tables[kind].get(id_)
    return rule is None or rule.owner != 0


def _update(book: RulesInForce, kind: Kind, id_: int, items: _Items) -> Plan | None:
    old = book.tables[kind.name].get(id_)
    if old is None or RuleItem in map(type, items):
        return None
    parts, number = kind.decode(items), kind.ifindex  # type: ignore[arg-type]
    if parts.priority is not None or parts.named or (number and number[0] in parts.values):
        return None
    values, references = {**dict(old.values), **parts.values}, dict(old.references)
    if parts.references:
        references.update(_references(book, kind, parts))
        if number and number[1] in parts.references:
            values.pop(number[0], None)
    complete(kind, values, references)
    new = rule_of(
        kind, old.id, old.sequence, old.name, old.owner, old.priority, old.match, values,
        references, old.target,
    )  # fmt: skip
    if new == old:
        return Plan((), (), (), (), (), (), (), book.revision, book.sequence)
    effects = (_new(_Changes, ((kind, old, new, b""),)),)
    changed = ((old, new),)
    return _new(
        Plan, ((), changed, (), (), (), (), effects, book.revision, book.sequence, {})
    )  # fmt: skip


def _delete(book: RulesInForce, kind: Kind, id_: int) -> Plan | None:
    table = book.tables[kind.name]
    rule = table.get(id_)
    if rule is None or id_ in table.pointed:
        return None
    for reference in kind.owned_by(rule):
        if _owned(book, *reference):
            return None
    effects = (_new(_Changes, ((kind, rule, None, b""),)),)
    return Plan((), (), (rule,), (), (), (), effects, book.revision, book.sequence)


def _create(book: RulesInForce, kind: Kind, id_: int | None, items: _Items) -> Plan | None:
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
            number = inner[2].id
        else:
            return None
        target = _new(Reference, (to, number))
    outer = _made(book, kind, id_, items, sequence, 0, target)
    if outer is None:
        return None
    rule, revision = outer[2], book.revision
    result = _new(Reference, (kind.name, rule.id))
    if inner is None or target is None:
        effects = (_new(_Changes, (outer,)),)
        return _new(Plan, ((rule,), (), (), (result,), (), (), effects, revision, sequence + 1, {}))
    effects = (_new(_Changes, (outer, inner)),)
    created, results = (rule, inner[2]), (result, target)
    return Plan(created, (), (), results, (), (), effects, revision, sequence + 2)


def _made(
    book: RulesInForce, kind: Kind, id_: int | None, items: _Items, sequence: int, owner: int,
    target: Reference | None,
) -> _Created | None:  # fmt: skip
    """A new rule and its match image."""
    if RuleItem in map(type, items):
        return None
    parts, number = kind.decode(items), kind.ifindex  # type: ignore[arg-type]
    if parts.ignored or (number and number[0] in parts.values):
        return None
    references = _references(book, kind, parts) if parts.references else {}
    table, pairs = book.tables[kind.name], parts.pairs
    rules, alone = table.rules, id_ is None and not owner
    if id_ is None:
        id_ = table.lowest_free()
    elif not 0 < id_ < 1 << 32 or id_ in rules:
        return None
    if len(rules) >= kind.rule.capacity:
        return None
    for field in kind.exact:
        if not pairs[field.nth]:
            return None
    if kind.exclusive_pairs and any(pairs[i] and pairs[j] for i, j, _ in kind.exclusive_pairs):
        return None  # to be warned of
    if kind.arriving and another_role(book, kind, pairs):
        return None
    key, priority = b"", parts.priority or 0
    if kind.keyed:
        key = kind.key(parts.bits, id_, priority)
        if key in table.keys:
            return None
        for other in kind.respelled(parts.bits, pairs) if kind.overlaps else ():
            if kind.key(other, id_, priority) in table.keys:
                return None
    if kind.requires:
        complete(kind, parts.values, references)
    rule = rule_of(
        kind, id_, sequence, "", owner, priority, parts.match, parts.values, references, target
    )
    return None if alone and not kind.keyed and table.like(rule) else (kind, None, rule, key)
