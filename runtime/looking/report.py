"""What `helioctl` prints: rules and counters as text and as JSON."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from ...compiler.requests.rules import Reference

if TYPE_CHECKING:
    from ..rules.moment import Counted, Moment

Row = Sequence[str]


class Shown(NamedTuple):
    """A rule as it is shown. `packets` and `octets` are None where its kind does not count;
    `owned`: it belongs to another rule, within whose text it stands."""

    kind: str
    id: int
    name: str
    text: str
    packets: int | None = None
    octets: int | None = None
    owned: bool = False


class Statistics(NamedTuple):
    """`events`: group, reason, count. `rules`: those that count."""

    pipeline: str
    events: Sequence[tuple[str, str, int]]
    rules: Sequence[Shown]


def shown(rules: Iterable[Counted], moment: Moment) -> list[Shown]:
    """Rules of a moment with their texts."""
    from ...compiler.requests.rule_text import format_rule

    return [
        Shown(rule.kind, rule.id, rule.name, format_rule(rule, moment.manifest, moment),
              packets, octets, bool(rule.owner))
        for rule, packets, octets, _ in rules
    ]  # fmt: skip


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


def rule_rows(rules: Iterable[Shown]) -> str:
    """A line a rule: what it counted, then its text. Owned rules stand within their owners, and
    again by themselves if they count."""
    rows = [
        (number(rule.packets), number(rule.octets), rule.text)
        for rule in rules if not rule.owned or rule.packets is not None
    ]  # fmt: skip
    return table(("packets", "bytes", "rule"), rows, frozenset((0, 1))) if rows else "no rules"


class Entry(NamedTuple):
    """An entry of a state table: names and values, and how many seconds ago it was remembered
    (None where that is not kept)."""

    values: tuple[tuple[str, str], ...]
    age: float | None


def entry_rows(entries: Sequence[Entry]) -> str:
    """A line an entry of a state table, a column a slot."""
    if not entries:
        return "no entries"
    ages = entries[0].age is not None
    head = [name for name, _ in entries[0].values] + ["age"] * ages
    rows = [
        [value for _, value in e.values] + ([f"{e.age:.0f} s"] if e.age is not None else [])
        for e in entries
    ]
    return table(head, rows, frozenset())


def entry_json(entries: Iterable[Entry]) -> list[dict[str, Any]]:
    return [dict(e.values) | ({} if e.age is None else {"age": round(e.age, 1)}) for e in entries]


def number(value: int | None) -> str:
    return "-" if value is None else f"{value:,}"


def rule_json(rules: Iterable[Shown]) -> list[dict[str, Any]]:
    """Each rule with its text and its counters."""
    found = []
    for rule in rules:
        entry: dict[str, Any] = {"kind": rule.kind, "id": rule.id}
        if rule.name:
            entry["name"] = rule.name
        entry["rule"] = rule.text
        if rule.packets is not None:
            entry |= {"packets": rule.packets, "bytes": rule.octets}
        found.append(entry)
    return found


class Meant(NamedTuple):
    """What the words after `show` mean: a kind, an id of it, a name; empty and 0: any."""

    kind: str = ""
    id: int = 0
    name: str = ""


def meant(words: str, kinds: Iterable[str]) -> Meant:
    """`KIND`, `KIND ID`, `KIND NAME` or `NAME`; all without words."""
    parts = words.split()
    kind = next((name for name in kinds if parts and name.lower() == parts[0].lower()), "")
    rest = parts[1:2] if kind else parts[:1]
    which = rest[0].strip("\"'") if rest else ""
    if kind and which.isdecimal() and len(which) < 11:
        return Meant(kind, int(which))
    return Meant(kind, 0, which)


def chosen(rules: Iterable[Counted], which: Meant) -> list[Counted]:
    """The rules that are meant."""
    return [
        counted for counted in rules
        if which.kind in ("", counted.rule.kind) and which.id in (0, counted.rule.id)
        and which.name.lower() in ("", counted.rule.name.lower())
    ]  # fmt: skip


def statistics(
    found: Statistics, before: Mapping[str, int] | None, seconds: float
) -> tuple[str, dict[str, int]]:
    """Events and rules that counted anything, with rates where there is a `before`; and the counts,
    for the next time."""
    now: dict[str, int] = {}
    rows: list[Row] = []
    for group, reason, count in found.events:
        name = f"{group}: {reason}"
        now[name] = count
        if count or group == "verdict":
            rows.append((number(count), _rate(name, count, before, seconds), name))
    lines = [table(("packets", "per second", "event"), rows, frozenset((0, 1)))]
    rows = []
    for rule in found.rules:
        name = f"{rule.kind} {rule.id}"
        while name in now:  # rules of a group share an id
            name += "'"
        packets = now[name] = rule.packets or 0
        rate = _rate(name, packets, before, seconds)
        rows.append((number(rule.packets), number(rule.octets), rate, rule.text))
    if rows:
        head = ("packets", "bytes", "per second", "rule")
        lines += ["", table(head, rows, frozenset((0, 1, 2)))]
    return "\n".join(lines), now


def _rate(name: str, count: int, before: Mapping[str, int] | None, seconds: float) -> str:
    if before is None or seconds <= 0:
        return "-"
    return f"{max(count - before.get(name, 0), 0) / seconds:,.0f}"


def statistics_json(found: Statistics) -> dict[str, Any]:
    """Events by group and reason, and the rules."""
    events: dict[str, dict[str, int]] = {}
    for group, reason, count in found.events:
        events.setdefault(group, {})[reason] = count
    return {"pipeline": found.pipeline, "events": events, "rules": rule_json(found.rules)}


def said_of(created: Sequence[Reference], count: int, changed: int, removed: int) -> str:
    """What a request came to, on a line. `created`: the first of `count`."""
    parts = []
    if count:
        shown = [f"{r.kind} {r.id}" for r in created[:8]]
        if count > len(shown):
            shown.append(f"and {count - len(shown):,} more")
        parts.append(f"created {', '.join(shown)}")
    if changed:
        parts.append(f"changed {changed:,} rule{'s' * (changed != 1)}")
    if removed:
        parts.append(f"deleted {removed:,} rule{'s' * (removed != 1)}")
    return "; ".join(parts) or "nothing changed: the rules are as they were"
