"""Which rule matches best: docs/semantics.md#find-r."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ...lang.contract.rules.rules import Matcher, Rule
from ..model import Match, RuleKind


def best_rule(
    kind: RuleKind, rules: Iterable[Rule], values: Mapping[str, int | None]
) -> Rule | None:
    """The best of the rules that match: priority, then specificity, then age. `values` are the
    packet's, by match element; None where it lacks the field."""
    matches = {m.element.name: m for m in kind.match}
    best, best_rank = None, None
    for rule in rules:
        if all(_matches(m, values[name], matches[name]) for name, m in rule.match):
            rank = _rank(kind, rule, matches)
            if best_rank is None or rank > best_rank:
                best, best_rank = rule, rank
    return best


def matches_value(matcher: Matcher, value: int, width: int) -> bool:
    """Whether a value of `width` bits is one that the matcher means."""
    if matcher.form == "prefix":
        shift = width - matcher.other
        return value >> shift == matcher.value >> shift
    if matcher.form == "mask":
        return value & matcher.other == matcher.value
    if matcher.form == "range":
        return matcher.value <= value <= matcher.other
    return value == matcher.value


def specificity(matcher: Matcher, width: int) -> int:
    """How many bits the matcher pins down."""
    if matcher.form == "prefix":
        return matcher.other
    if matcher.form == "mask":
        return matcher.other.bit_count()
    if matcher.form == "range":
        return width - (matcher.other - matcher.value).bit_length()
    return width


def _matches(matcher: Matcher, value: int | None, match: Match) -> bool:
    return value is not None and matches_value(matcher, value, match.element.width)


def _rank(kind: RuleKind, rule: Rule, matches: dict[str, Match]) -> tuple[int, int, int]:
    """Higher is better."""
    priority = rule.priority
    if kind.priority and kind.priority[0] == "precedence":
        priority = -priority
    bits = sum(specificity(m, matches[name].element.width) for name, m in rule.match)
    return priority, bits, -rule.sequence
