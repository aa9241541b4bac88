"""The group `state`: what packets left in state tables."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import TYPE_CHECKING

import click

from ..runtime.base.errors import refused
from ..runtime.rules.report import table
from ..runtime.states.entry import STATE_HEAD, entry_json, entry_lines, state_json, state_rows
from ..runtime.states.errors import no_condition, no_such_state
from .output import say_json, say_json_list

if TYPE_CHECKING:
    from ..lang.contract.manifest.manifest import State
    from ..runtime.states.entry import Entry, Where
    from .control import Control
    from .target import Target

_json = click.option("--json", "as_json", is_flag=True, help="As JSON.")
#: Lines that are written at a time.
_LINES = 256


@click.group()
def state() -> None:
    """What packets left in state tables: FLOW src=10.0.0.0/8 port=53 (docs/helioctl.md)."""


@state.command(name="list")
@click.argument("name", default="")
@click.argument("where", nargs=-1, metavar="[SLOT=VALUE]...")
@click.option("--limit", type=click.IntRange(1, sys.maxsize), help="So many entries at most.")
@_json
@click.pass_obj
def state_list(
    target: Target, name: str, where: tuple[str, ...], limit: int | None, as_json: bool
) -> None:
    """State tables and how full they are, or the entries of the table NAME that fit all that is
    said: a value, a prefix, a value & mask, a range."""
    conditions = _conditions(where)
    if limit and not name:
        raise click.UsageError("--limit is of the entries of a table: say its NAME")
    with target.open() as control:
        if name:
            about = _state(control, name)
            show_entries(about, control.entries(about.name, conditions, limit or 0), as_json)
        else:
            _list_tables(control, as_json)


def _list_tables(control: Control, as_json: bool) -> None:
    states, counts = control.manifest().states, control.states()
    if as_json:
        about = {each.name: each for each in states}
        say_json([state_json(each, about[each.state]) for each in counts if each.state in about])
    else:
        rows = state_rows(counts, states)
        right = frozenset(range(1, len(STATE_HEAD) - 1))
        click.echo(table(STATE_HEAD, rows, right) if rows else "no state tables")


def show_entries(about: State, entries: Iterable[Entry], as_json: bool) -> None:
    """As they come."""
    if as_json:
        say_json_list(entry_json(each, about) for each in entries)
        return
    lines = entry_lines(entries)
    while some := list(islice(lines, _LINES)):
        click.echo("\n".join(some))


@state.command(name="get")
@click.argument("name")
@click.argument("key", nargs=-1, required=True, metavar="SLOT=VALUE...")
@_json
@click.pass_obj
def state_get(target: Target, name: str, key: tuple[str, ...], as_json: bool) -> None:
    """The entry of a key, all of whose slots are said."""
    conditions = _conditions(key)
    with target.open() as control:
        about = _state(control, name)
        found = control.entry(about.name, conditions)
    if as_json:
        say_json(entry_json(found, about))
    else:
        click.echo("\n".join(entry_lines([found])))


@state.command(name="delete")
@click.argument("name")
@click.argument("key", nargs=-1, required=True, metavar="SLOT=VALUE...")
@_json
@click.pass_obj
def state_delete(target: Target, name: str, key: tuple[str, ...], as_json: bool) -> None:
    """Delete the entry of a key, all of whose slots are said."""
    conditions = _conditions(key)
    with target.open() as control:
        control.delete_entry(_state(control, name).name, conditions)
    _deleted(1, as_json)


@state.command(name="flush")
@click.argument("name")
@click.argument("where", nargs=-1, metavar="[SLOT=VALUE]...")
@_json
@click.pass_obj
def state_flush(target: Target, name: str, where: tuple[str, ...], as_json: bool) -> None:
    """Delete the entries of the table NAME that fit all that is said, or all entries. What packets
    put there meanwhile may stay."""
    conditions = _conditions(where)
    with target.open() as control:
        deleted = control.flush(_state(control, name).name, conditions)
    _deleted(deleted, as_json)


def _deleted(count: int, as_json: bool) -> None:
    entries = "entry" if count == 1 else "entries"
    say_json({"deleted": count}) if as_json else click.echo(f"deleted {count:,} {entries}")


def _conditions(words: Iterable[str]) -> Where:
    """Raises `Refused`."""
    return list(_read(words))


def _read(words: Iterable[str]) -> Iterator[tuple[str, str]]:
    for word in words:
        slot, equals, value = word.partition("=")
        if not (slot.strip() and equals and value.strip() and word.isprintable()):
            raise refused(no_condition(word))
        yield slot.strip(), value.strip()


def _state(control: Control, name: str) -> State:
    """Raises `Refused`."""
    states = control.manifest().states
    found = next((each for each in states if each.name.lower() == name.lower()), None)
    if found is None:
        raise refused(no_such_state(name, [each.name for each in states]))
    return found


COMMANDS = (state,)
