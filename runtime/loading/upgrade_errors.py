"""Errors that prevent an upgrade."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from ...lang.contract.rules.ie_values import Fault
from ...lang.contract.rules.rules import Rule
from ...lang.text.diagnostics import Diagnostic
from ..rules.report import table
from .schema_change import Row, SchemaChange, Usage

_HEAD = ("what", "running", "new build", "rules")
_MOST_SHOWN = 8


def difference(change: SchemaChange, usage: Usage, more: Iterable[Row] = ()) -> str:
    """What differs, as a table; empty where nothing does. `more`: rows behind those of builds."""
    rows = [*change.rows(usage), *more]
    return table(_HEAD, rows, frozenset()) if rows else ""


def incompatible(change: SchemaChange, usage: Usage) -> Diagnostic:
    """Of a change that has obstacles."""
    found = change.obstacles(usage)
    answers = [each.answer for each in found if each.answer]
    what = "a part" if len(found) == 1 else f"{len(found)} parts"
    lines = ["nothing was changed; this is the difference:", difference(change, usage)]
    if answers:
        lines += ["a file for --mapping says what becomes of it:", *_mapping(answers)]
    if len(answers) < len(found):
        lines.append("delete the rules that have no place, or keep to what the running build has")
    title = f"the new build has no place for {what} of what is in force"
    return Diagnostic("H0790", title, (), "\n".join(lines))


def _mapping(answers: Iterable[tuple[str, str]]) -> Iterator[str]:
    """A line of the file for each section."""
    sections = dict[str, list[str]]()
    for section, entry in answers:
        sections.setdefault(section, []).append(entry)
    for section, entries in sections.items():
        joined = ", ".join(dict.fromkeys(entries))
        yield f"{section}: {joined}" if section == "pipeline" else f"{section}: {{{joined}}}"


def untranslatable(faults: Sequence[tuple[Rule, Fault]]) -> list[Diagnostic]:
    """Rules that the new build cannot hold as they are."""
    found = []
    for rule, fault in faults[:_MOST_SHOWN]:
        which = f"{rule.kind} {rule.name or rule.id}"
        help_ = fault.help or "change or delete the rule, or say in a file for --mapping what it is"
        title = f"{which} cannot be taken over: {fault.args[0]}"
        found.append(Diagnostic("H0791", title, (), f"{help_}; nothing was changed"))
    if more := len(faults) - len(found):
        title = f"{more:,} more rules cannot be taken over"
        found.append(Diagnostic("H0791", title, (), "nothing was changed"))
    return found


def port_moves(port: str, at: str, now: str) -> Diagnostic:
    title = f"the port `{port}` is attached at {at}, and the new build has it at {now}"
    help_ = "an upgrade moves no port: unload the pipeline, and load the new build"
    return Diagnostic("H0565", title, (), f"{help_}; nothing was changed")


def other_link(port: str, bare: bool) -> Diagnostic:
    now = "no link header" if bare else "an Ethernet header"
    title = f"packets of the port `{port}` begin with {now} to the new build"
    help_ = "its interface is another kind of one: unload the pipeline, and load the new build"
    return Diagnostic("H0737", title, (), f"{help_}; nothing was changed")


def not_on_card(name: str) -> Diagnostic:
    title = f"the pipeline `{name}` runs on a network card"
    help_ = f"`helioctl --name {name} load --offload --replace BUNDLE` replaces its programs"
    return Diagnostic("H0796", title, (), help_)


# ---- mapping files --------------------------------------------------------------------------
