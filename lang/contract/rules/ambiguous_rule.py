"""Errors where a request names no rule or several."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain, islice

from ..request.request import item_text
from .draft import Draft
from .ie_values import Fault
from .rule_node import Node
from .rule_text import rule_item
from .rulekinds import Kind, Parts
from .rules import Reference, Rule

#: Rules that a message shows, and characters of each.
_NAMED = 3
_LONGEST = 160
#: Rules among which the nearest are searched.
_LOOKED_AT = 4096


def held_by_others(draft: Draft, held: Sequence[Rule]) -> Fault:
    """The rules that may be meant belong to others."""
    names = [_holder(draft, rule) for rule in held[:_NAMED]]
    each = [f"{holder} holds {shown_rule(draft, rule)}"
            for holder, rule in zip(names, held, strict=False)]  # fmt: skip
    why = ", ".join(each) + (f" and {len(held) - _NAMED} more" if len(held) > _NAMED else "")
    kind, one = held[0].kind, f"{held[0].kind} {held[0].id}"
    help_ = f"delete {names[0]}, which takes it along, or `update {one} […]`"
    return Fault("H0460", f"which {kind}?", "kind", why, help_)


def _holder(draft: Draft, rule: Rule) -> str:
    """The rule that owns this one, as `PDR 80`."""
    reference = Reference(rule.kind, rule.id)
    for kind in draft.book.kinds:
        for other in draft.staged(kind).referring(reference):
            if rule.owner == other.sequence:
                return f"{kind} {other.id}"
    return "another rule"


def no_match(
    draft: Draft, node: Node, parts: Parts, among: Iterable[Rule] | None = None, title: str = ""
) -> Fault:
    """`among`: the rules that may be meant, where these are not all of the kind. `title`: what
    is said where these match that, but have other members."""
    kind = node.kind
    said: set[object] = set(parts.match)
    if kind.spread is not None:
        said |= {Reference(child.kind.name, child.item.id)
                 for child in node.children if child.item.id is not None}  # fmt: skip
    help_ = "all of its match must be said; or write its id"
    if title:
        help_ = "all of its members must be said; or write its id to take members out"
    if near := nearest(draft, kind, said, among):
        help_ += f"; the nearest: {listed_rules(draft, near)}"
    return Fault("H0450", title or f"no {kind.name} matches exactly that", "rule",
                 "no such rule", help_)  # fmt: skip


def several_meant(draft: Draft, node: Node, found: list[Rule]) -> Fault:
    kind = node.kind
    title = f"{len(found)} {kind.name} rules are meant"
    ids = list(dict.fromkeys(rule.id for rule in found))
    what = "its match too" if len(ids) == 1 else "its id"
    if kind.rule.priority is not None and not kind.grouped:
        what += f" or `{kind.rule.priority[1]}`"
    help_ = f"say which one, write {what}: {listed_rules(draft, found)}"
    return Fault("H0457", title, "rule", ids_of(found), help_)


def nearest(
    draft: Draft, kind: Kind, said: set[object], among: Iterable[Rule] | None
) -> list[Rule]:
    """Rules that say the most of it: elements by the same values, and members; and that match
    by the fewest others. Of many rules only some are looked at; of few, or of those `among`
    which the meant one is, also rules that say none of it."""
    every = among is not None
    if among is None:
        staged = draft.staged(kind.name)
        handles = dict.fromkeys(chain(staged.rules, islice(staged.table.rules, _LOOKED_AT)))
        among = (rule for h in handles if (rule := staged.get(h)) is not None)
    likely = [(len(said & _says(kind, rule)), -len(rule.match), -rule.sequence, rule)
              for rule in among]  # fmt: skip
    if len(likely) > _NAMED and not every:
        likely = [each for each in likely if each[0]]
    return [each[-1] for each in sorted(likely, key=lambda each: each[:3], reverse=True)]


def listed_rules(draft: Draft, rules: Sequence[Rule]) -> str:
    """The first of them, as they are shown."""
    texts = [shown_rule(draft, rule) for rule in rules[:_NAMED]]
    if len(rules) > _NAMED:
        return f"{', '.join(texts)} and {len(rules) - _NAMED} more"
    *most, last = texts
    return f"{', '.join(most)} or {last}" if most else last


def shown_rule(draft: Draft, rule: Rule) -> str:
    text = item_text(rule_item(rule, draft.book.kinds, draft.book))
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


def _says(kind: Kind, rule: Rule) -> set[object]:
    """All that it says, of its members without their weights."""
    said: set[object] = {*rule.match, *rule.values, *rule.references}
    if kind.spread is not None:
        said |= {Reference(kind.spread.kind, member.id) for member in rule.members}
    return said


def ids_of(rules: Sequence[Rule]) -> str:
    """The first of them: `ids 1, 2`."""
    ids = list(dict.fromkeys(str(rule.id) for rule in rules))
    return f"ids {', '.join(ids[:8])}" + (", …" if len(ids) > 8 else "")
