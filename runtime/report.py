"""What `helioctl` prints: rules and counters as text and as JSON."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from ..compiler.manifest import State
from ..compiler.requests.rule_text import format_rule
from ..compiler.requests.rulebook import RuleBook
from ..compiler.requests.rules import Reference
from .reader import Counted, Entry, Reader

Row = Sequence[str]


def table(head: Row, rows: Iterable[Row], right: frozenset[int]) -> str:
    """Columns under a head line; those in `right` stand flush right."""
    lines = [head, *rows]
    widths = [max(len(line[i]) for line in lines) for i in range(len(head))]
    return "\n".join(
        "  ".join(
            cell.rjust(width) if i in right else cell.ljust(width)
            for i, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in lines
    )


def rule_rows(rules: Iterable[Counted], book: RuleBook) -> str:
    """A line a rule: what it counted, then its text. Owned rules stand within their owners, and
    again by themselves if they count."""
    rows = []
    for counted in rules:
        rule = counted.rule
        if rule.owner and counted.packets is None:
            continue
        text = format_rule(rule, book.manifest, book)
        rows.append((number(counted.packets), number(counted.octets), text))
    return table(("packets", "bytes", "rule"), rows, frozenset((0, 1))) if rows else "no rules"


def entry_rows(state: State, entries: Iterable[Entry]) -> str:
    """A line an entry of a state table, a column a slot."""
    head = [slot.name for slot in (*state.match, *state.gives)] + ["age"] * bool(state.ages)
    rows = [
        [value for _, value in e.values] + ([f"{e.age:.0f} s"] if e.age is not None else [])
        for e in entries
    ]
    return table(head, rows, frozenset()) if rows else "no entries"


def entry_json(entries: Iterable[Entry]) -> list[dict[str, Any]]:
    return [dict(e.values) | ({} if e.age is None else {"age": round(e.age, 1)}) for e in entries]


def number(value: int | None) -> str:
    return "-" if value is None else f"{value:,}"


def rule_json(rules: Iterable[Counted], book: RuleBook) -> list[dict[str, Any]]:
    """Each rule with its text and its counters."""
    found = []
    for rule, packets, octets in rules:
        entry: dict[str, Any] = {"kind": rule.kind, "id": rule.id}
        if rule.name:
            entry["name"] = rule.name
        entry["rule"] = format_rule(rule, book.manifest, book)
        if packets is not None:
            entry |= {"packets": packets, "bytes": octets}
        found.append(entry)
    return found


def chosen(rules: list[Counted], words: str, book: RuleBook) -> list[Counted]:
    """The rules meant by `KIND`, `KIND ID`, `KIND NAME` or `NAME`; all without words."""
    parts = words.split()
    if not parts:
        return rules
    kind = next((name for name in book.kinds if name.lower() == parts[0].lower()), None)
    which = parts[1] if kind and len(parts) > 1 else "" if kind else parts[0]
    which = which.strip("\"'").lower()

    def fits(counted: Counted) -> bool:
        rule = counted.rule
        if kind is not None and rule.kind != kind:
            return False
        named = which == rule.name.lower()
        return not which or named or (kind is not None and which == str(rule.id))

    return [counted for counted in rules if fits(counted)]


def statistics(
    reader: Reader, before: dict[str, int] | None, seconds: float
) -> tuple[str, dict[str, int]]:
    """Events and rules that counted anything, with rates where there is a `before`; and the counts,
    for the next time."""
    now: dict[str, int] = {}
    events, rules = reader.events(), reader.rules()
    book = reader.book(rules)
    rows: list[Row] = []
    for counter, count in events:
        name = f"{counter.group}: {counter.reason}"
        now[name] = count
        if count or counter.group == "verdict":
            rows.append((number(count), _rate(name, count, before, seconds), name))
    lines = [table(("packets", "per second", "event"), rows, frozenset((0, 1)))]
    rows = []
    for counted in rules:
        rule = counted.rule
        if counted.packets is None:
            continue
        name = f"{rule.kind} {rule.id} {rule.sequence}"
        now[name] = counted.packets
        cells = number(counted.packets), number(counted.octets)
        rate = _rate(name, counted.packets, before, seconds)
        rows.append((*cells, rate, format_rule(rule, book.manifest, book)))
    if rows:
        head = ("packets", "bytes", "per second", "rule")
        lines += ["", table(head, rows, frozenset((0, 1, 2)))]
    return "\n".join(lines), now


def _rate(name: str, count: int, before: dict[str, int] | None, seconds: float) -> str:
    if before is None or seconds <= 0:
        return "-"
    return f"{max(count - before.get(name, 0), 0) / seconds:,.0f}"


def statistics_json(reader: Reader) -> dict[str, Any]:
    """Events by group and reason, and the rules."""
    events: dict[str, dict[str, int]] = {}
    for counter, count in reader.events():
        events.setdefault(counter.group, {})[counter.reason] = count
    rules = reader.rules()
    return {
        "pipeline": reader.name,
        "events": events,
        "rules": [e for e in rule_json(rules, reader.book(rules)) if "packets" in e],
    }


def said_of(results: Sequence[Reference], changed: int, removed: int) -> str:
    """What a request came to, on a line."""
    parts = []
    if results:
        shown = [f"{r.kind} {r.id}" for r in results[:8]]
        if len(results) > 8:
            shown.append(f"and {len(results) - 8:,} more")
        parts.append(f"created {', '.join(shown)}")
    if changed:
        parts.append(f"changed {changed:,} rule{'s' * (changed != 1)}")
    if removed:
        parts.append(f"deleted {removed:,} rule{'s' * (removed != 1)}")
    return "; ".join(parts) or "nothing to change"
