"""The group `intent`: rules for traffic described by its headers, for a while."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from .command import Finite
from .output import PATH, say_json

if TYPE_CHECKING:
    from .target import Target


@click.group()
def intent() -> None:
    """Traffic by its headers, and what is to become of it, for a while (docs/intents.md)."""


@intent.command(name="apply")
@click.argument("file", type=PATH)
@click.pass_obj
def intent_apply(target: Target, file: Path) -> None:
    """Tell the agent the intent in FILE, YAML or JSON (- is standard input)."""
    from ..runtime.base.files import read_source
    from .intent_text import said_of

    source = read_source(file)
    with target.need_agent() as agent:
        click.echo(said_of(agent.apply_intent(source.text, source.name)))


@intent.command(name="list")
@click.argument("names", nargs=-1)
@click.option("--json", "as_json", is_flag=True, help="As JSON.")
@click.pass_obj
def intent_list(target: Target, names: tuple[str, ...], as_json: bool) -> None:
    """Intents, all or those of these NAMES, and how they fare."""
    from .intent_text import intent_json, intent_rows

    with target.need_agent() as agent:
        found = agent.intents(*names)
    say_json(intent_json(found)) if as_json else click.echo(intent_rows(found))


@intent.command(name="remove")
@click.argument("name")
@click.pass_obj
def intent_remove(target: Target, name: str) -> None:
    """End the intent NAME now, and forget it."""
    with target.need_agent() as agent:
        click.echo(f"removed {agent.remove_intent(name).id}")


@intent.command(name="report")
@click.argument("names", nargs=-1)
@click.option("--period", default=10.0, type=Finite(0.1, 3600), help="Seconds.")
@click.option("--count", type=click.IntRange(1), help="End after so many reports.")
@click.option("--json", "as_json", is_flag=True, help="An object a line.")
@click.pass_obj
def intent_report(
    target: Target, names: tuple[str, ...], period: float, count: int | None, as_json: bool
) -> None:
    """What the traffic of intents comes to, now and every period, until interrupted."""
    import json
    from contextlib import closing

    from .intent_text import report_json, report_rows

    with target.need_agent() as agent, closing(agent.reports(*names, period=period)) as reports:
        for number, found in enumerate(reports, 1):
            click.echo(json.dumps(report_json(found)) if as_json else report_rows(found) + "\n")
            sys.stdout.flush()
            if number == count:
                return


COMMANDS = (intent,)
