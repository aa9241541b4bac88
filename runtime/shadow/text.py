"""A shadow run's report for people."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ...lang.text.render import BLUE, BOLD, ERROR, paint
from ..rules.report import table

#: Rules of a table.
_SHOWN = 20
_HUES = {"-": ERROR, "+": BLUE}
_Report = dict[str, Any]


def report_text(report: _Report, colour: bool = False) -> str:
    """Several paragraphs. `report`: as `report_json` has it."""
    parts = ["\n".join(_summary(report))]
    if report["compared"]:
        parts += [_verdicts(report), *_rules(report)]
    groups = sorted(report["differences"], key=lambda group: -group["packets"])
    parts += [_group(group, colour) for group in groups]
    if report["more"]:
        parts.append(
            f"{report['more']:,} packets differ in further ways, which are too many to list"
        )
    if unlike := report["unlike_sample"]:
        what = "one of those that were not compared: what was done in force (-), and by a copy (+)"
        parts.append("\n".join([what, *_lines(unlike, colour)]))
    return "\n\n".join(parts)


def _summary(report: _Report) -> Iterator[str]:
    came = f"{report['compared']:,} packets compared in {report['seconds']:.0f} s"
    if report["differing"]:
        yield f"{came}: {report['differing']:,} met something else in the shadow"
    else:
        yield f"{came}{': the shadow did the same with all' * bool(report['compared'])}"
    if report["unlike"]:
        yield (f"{report['unlike']:,} not compared: a copy of the build in force did not do with "
               "them what was done in force")  # fmt: skip
    yield from (f"{count:,} not compared: {why}" for why, count in report["left_out"].items())
    if report["lost"]:
        yield f"{report['lost']:,} more came too fast to be sampled"
    if report["ended"]:
        yield f"it ended early: {report['ended']}"


def _verdicts(report: _Report) -> str:
    rows = [
        (each["in_force"], each["shadow"], f"{each['packets']:,}",
         f"{each['packets'] / report['compared']:.1%}")
        for each in report["verdicts"]
    ]  # fmt: skip
    return table(("in force", "shadow", "packets", "share"), rows, frozenset({2, 3}))


def _rules(report: _Report) -> Iterator[str]:
    """The rules that were found, those first of which the numbers differ most."""
    rules = sorted(report["rules"], key=lambda r: (-abs(r["in_force"] - r["shadow"]),
                                                   -r["in_force"]))  # fmt: skip
    if not rules:
        return
    rows = [(f"{r['kind']} {r['id']}", r["name"], f"{r['in_force']:,}", f"{r['shadow']:,}")
            for r in rules[:_SHOWN]]  # fmt: skip
    head = ("rule", "name", "found in force", "in the shadow")
    more = len(rules) - _SHOWN
    lines = [table(head, rows, frozenset({2, 3}))]
    lines += [f"and {more:,} more rules"] if more > 0 else []
    if report["more_rules"]:
        times = f"{report['more_rules']:,} times"
        lines.append(f"further rules, which are not listed, were found {times}")
    yield "\n".join(lines)


def _group(group: dict[str, Any], colour: bool) -> str:
    s, named = "s" * (group["packets"] != 1), " (named by --allow)" * group["allowed"]
    what = paint(" and ".join(group["differences"]), BOLD, colour)
    return "\n".join([f"{group['packets']:,} packet{s}: {what}{named}",
                      *_lines(group["sample"], colour)])  # fmt: skip


def _lines(sample: dict[str, Any], colour: bool) -> Iterator[str]:
    for line in sample["text"]:
        hue = _HUES.get(line[0])
        yield f"  {paint(line, hue, colour) if hue else line}"
