"""What `helioctl` prints: rules and counters as text and as JSON."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from ...lang.contract.rules.rules import Reference

if TYPE_CHECKING:
    from ..edge.overlay_health import Quality
    from .moment import Counted, Moment

Row = Sequence[str]
#: Overlays by kind and id; None: it is not probed.
Measured = Mapping[tuple[str, int], "Quality | None"]
QUALITY = ("state", "loss", "delay", "jitter")
NOT_MEASURED = "not measured"


class Shown(NamedTuple):
    """A rule as it is shown. `packets` and `octets` are None where its kind does not count;
    `owned`: it belongs to another rule, within whose text it stands: to `owner`."""

    kind: str
    id: int
    name: str
    text: str
    packets: int | None = None
    octets: int | None = None
    owned: bool = False
    owner: Reference | None = None


class Statistics(NamedTuple):
    """`events`: group, reason, count. `rules`: those that count."""

    pipeline: str
    events: Sequence[tuple[str, str, int]]
    rules: Sequence[Shown]


def shown(rules: Iterable[Counted], moment: Moment) -> list[Shown]:
    """Rules of a moment with their texts."""
    from ...lang.contract.rules.rule_text import format_rule

    return [
        Shown(rule.kind, rule.id, rule.name, format_rule(rule, moment.manifest, moment),
              packets, byte_count, bool(rule.owner), moment.owner_of(rule))
        for rule, packets, byte_count, _ in rules
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


def rule_rows(rules: Iterable[Shown], measured: Measured = MappingProxyType({})) -> str:
    """A line a rule: what it counted, then its text. `measured`: of the rules that are overlays,
    how they are."""
    lines = list(_lines(list(rules)))
    rows = [
        (number(rule.packets), number(rule.octets), *_quality(rule, measured), text)
        for rule, text in lines
    ]
    between = QUALITY if any((rule.kind, rule.id) in measured for rule, _ in lines) else ()
    right = frozenset((0, 1, 3, 4, 5)) if between else frozenset((0, 1))
    return table(("packets", "bytes", *between, "rule"), rows, right) if rows else "no rules"


def _lines(rules: Sequence[Shown]) -> Iterator[tuple[Shown, str]]:
    """Rules and their texts, what a rule owns below it. The line of an owned rule is a comment of a
    request, so that all texts together are one that creates the rules again."""
    there = {Reference(rule.kind, rule.id) for rule in rules}
    below: dict[Reference | None, list[Shown]] = {}
    for rule in rules:
        below.setdefault(rule.owner if rule.owner in there else None, []).append(rule)

    def under(owner: Reference | None) -> Iterator[tuple[Shown, str]]:
        for rule in below.pop(owner, ()):
            if text := _text(rule, owner is not None):
                yield rule, text
            yield from under(Reference(rule.kind, rule.id))

    return under(None)


def _text(rule: Shown, below: bool) -> str:
    """Of its line. `below`: its owner's line, which has its text, is above; empty: that says it
    all."""
    if not rule.owned:
        return rule.text
    if below and rule.packets is None:
        return ""
    owner = f"{rule.owner.kind} {rule.owner.id}" if rule.owner is not None else "another rule"
    return f"// held by {owner}: {f'{rule.kind} {rule.id}' if below else rule.text}"


def _quality(rule: Shown, measured: Measured) -> Row:
    if not measured:
        return ()
    key = rule.kind, rule.id
    return quality_cells(measured[key]) if key in measured else ("", "", "", "")


def quality_cells(quality: Quality | None) -> Row:
    """Of an overlay, under `QUALITY`."""
    if quality is None or not quality.sent:
        return (quality.state if quality is not None else NOT_MEASURED), "-", "-", "-"
    delays = [f"{seconds * 1000:.3g} ms" for seconds in quality.delays or ()] or ["-", "-"]
    return quality.state, f"{quality.loss:.0%}", *delays


def quality_json(quality: Quality | None) -> dict[str, Any]:
    """Loss 0 to 1, delay and jitter in seconds; null where nothing was measured."""
    if quality is None:
        return {"state": NOT_MEASURED}
    found = asdict(quality)
    if not quality.sent:
        found["loss"] = None
    if quality.delays is None:
        found["delay"] = found["jitter"] = None
    return found


def number(value: int | None) -> str:
    return "-" if value is None else f"{value:,}"


def rule_json(
    rules: Iterable[Shown], measured: Measured = MappingProxyType({})
) -> list[dict[str, Any]]:
    """Each rule with its text and its counters, and of overlays how they are."""
    found = []
    for rule in rules:
        entry: dict[str, Any] = {"kind": rule.kind, "id": rule.id}
        if rule.name:
            entry["name"] = rule.name
        if rule.owner is not None:
            entry["owner"] = rule.owner._asdict()
        entry["rule"] = rule.text
        if rule.packets is not None:
            entry |= {"packets": rule.packets, "bytes": rule.octets}
        if (rule.kind, rule.id) in measured:
            entry["health"] = quality_json(measured[rule.kind, rule.id])
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
    for rule, text in _lines(found.rules):
        name = f"{rule.kind} {rule.id}"
        while name in now:  # rules of a group share an id
            name += "'"
        packets = now[name] = rule.packets or 0
        rate = _rate(name, packets, before, seconds)
        rows.append((number(rule.packets), number(rule.octets), rate, text))
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
        # The entries of a group share an id.
        shown = list(dict.fromkeys(f"{r.kind} {r.id}" for r in created[:8]))
        if count > 8:
            shown.append(f"and {count - 8:,} more")
        parts.append(f"created {', '.join(shown)}")
    if changed:
        parts.append(f"changed {changed:,} rule{'s' * (changed != 1)}")
    if removed:
        parts.append(f"deleted {removed:,} rule{'s' * (removed != 1)}")
    return "; ".join(parts) or "nothing changed: the rules are as they were"
