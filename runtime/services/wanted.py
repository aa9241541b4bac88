"""Rules as the watcher wants them, and as they stand: the same form, so that they compare."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from ...lang.contract.request.request import IE, RuleItem
from ...lang.contract.request.request_parser import parse_request
from ...lang.text.source import Source
from ..rules.report import Shown

#: The kinds of rules that are the watcher's: who else makes one of them sees it deleted.
KINDS = ("NODE", "BACKEND", "POOL", "SERVICE", "NODE6", "BACKEND6", "POOL6", "SERVICE6")
#: Elements that a rule is found by, which never change.
_MATCHES = {
    "SERVICE": ("address", "port", "protocol", "origin"),
    "SERVICE6": ("address6", "port", "protocol", "origin"),
    "NODE": ("interface",), "NODE6": ("interface",),
}  # fmt: skip
#: An element of BACKEND that is left to whoever wants to say it.
_LEFT = "weight"

Key = tuple[str, str]
"""A rule's kind and name."""
Values = tuple[tuple[str, str], ...]


class Rule(NamedTuple):
    """`match` and `values`: elements with their spelling. `refers`: names of what it gives or
    spreads over, in order."""

    kind: str
    name: str
    match: Values = ()
    values: Values = ()
    refers: tuple[str, ...] = ()

    @property
    def key(self) -> Key:
        return self.kind, self.name


Rules = Mapping[Key, Rule]


def of_family(kind: str, family: int) -> str:
    return kind if family == 4 else f"{kind}6"


def referred(kind: str) -> str:
    """The kind of rule that one of this kind gives, or spreads over."""
    base = {"SERVICE": "POOL", "POOL": "BACKEND"}[kind.removesuffix("6")]
    return base + kind[len(kind.removesuffix("6")) :]


def item(rule: Rule, *, whole: bool = True) -> RuleItem:
    """As a request has it; without what it matches for an `update`."""
    said = (rule.match if whole else ()) + rule.values
    values = (IE(name, "", "value", value) for name, value in said)
    return RuleItem(rule.kind, None, rule.name, (*values, *references(rule.kind, rule.refers)))


def references(kind: str, names: Iterable[str]) -> Iterator[RuleItem]:
    return (RuleItem(referred(kind), None, name, (), False) for name in names)


def standing(shown: Iterable[Shown]) -> dict[Key, Rule]:
    """What an agent says that it has. A rule that somebody made without a name has its number for
    one (`#7`): it is nobody's wish."""
    mine = [each for each in shown if each.kind in KINDS and not each.owned]
    if not mine:
        return {}
    text = ";\n".join(f"create {each.text}" for each in mine)
    changes = parse_request(Source("<standing>", text)).changes
    found = {}
    for each, change in zip(mine, changes, strict=True):
        (made,) = change.items
        assert isinstance(made, RuleItem)
        rule = _rule(made, each.name or f"#{each.id}")
        found[rule.key] = rule
    return found


def _rule(made: RuleItem, name: str) -> Rule:
    said = [(i.type, str(i.value)) for i in made.items if isinstance(i, IE) and i.type != _LEFT]
    refers = [i.name or f"#{i.id}" for i in made.items if isinstance(i, RuleItem)]
    fixed = _MATCHES.get(made.kind, ())
    return Rule(
        made.kind, name, tuple(each for each in said if each[0] in fixed),
        tuple(each for each in said if each[0] not in fixed), tuple(sorted(refers)),
    )  # fmt: skip
