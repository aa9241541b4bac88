"""The command `events`: what packets raise."""

from __future__ import annotations

import json
import sys
import time
from typing import TYPE_CHECKING, Any

import click

from ..lang.text.diagnostics import Diagnostic
from ..runtime.base.errors import refused

if TYPE_CHECKING:
    from ..runtime.rpc import control_pb2 as pb
    from .target import Target


@click.command()
@click.argument("names", nargs=-1, metavar="[EVENT]...")
@click.option("--follow", "-f", is_flag=True, help="Go on with those to come, until interrupted.")
@click.option("--json", "as_json", is_flag=True, help="An object a line.")
@click.pass_obj
def events(target: Target, names: tuple[str, ...], follow: bool, as_json: bool) -> None:
    """What packets raised (`emit`), a line each: the last that the agent has read, of all events or
    of these."""
    with _agent(target) as client, client.watch_emitted(names, only_kept=not follow) as watching:
        for found in watching:
            if found.WhichOneof("what") == "missed":
                _left_out(found.missed, as_json)
            else:
                click.echo(_json(found) if as_json else _line(found))
            sys.stdout.flush()


def _agent(target: Target) -> Any:
    if not target.has_agent:
        raise refused(_needs_agent(target.local))
    return target.need_agent()


def _line(found: pb.Event) -> str:
    emitted = found.emitted
    seconds, rest = divmod(emitted.time, 1_000_000_000)
    at = f"{time.strftime('%Y-%m-%d %H:%M:%S', time.localtime(seconds))}.{rest // 1000:06}"
    fields = ", ".join(f"{field.name} = {field.text}" for field in emitted.fields)
    return f"{at}  {found.pipeline}  {emitted.event} {{{f' {fields} ' if fields else ''}}}"


def _json(found: pb.Event) -> str:
    emitted = found.emitted
    fields = {field.name: _value(field) for field in emitted.fields}
    said = {
        "time": emitted.time, "pipeline": found.pipeline, "event": emitted.event, "fields": fields,
    }  # fmt: skip
    return json.dumps(said)


def _value(field: pb.EmittedField) -> Any:
    match field.WhichOneof("value"):
        case "number":
            return field.number
        case "rule":
            rule = field.rule
            return {"kind": rule.kind, "id": rule.id, "name": rule.name or None,
                    "sequence": rule.sequence, "there": rule.there}  # fmt: skip
    return field.text


def _left_out(count: int, as_json: bool) -> None:
    if as_json:
        click.echo(json.dumps({"missed": count}))
    else:
        some = f"{count:,} event{'s were' if count > 1 else ' was'}"
        click.echo(f"{some} left out here: they came faster than they were taken", err=True)


COMMANDS = (events,)


# ---- errors ---------------------------------------------------------------------------------


def _needs_agent(local: bool) -> Diagnostic:
    help_ = "leave out `--local`" if local else "start `heliod`; until then they wait in the kernel"
    return Diagnostic(
        "H0758", "the agent reads the events of packets, and none is asked", (), help_
    )
