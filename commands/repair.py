"""The command `repair`: replaces damaged kernel objects, or accepts lost journal data."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import click

from .output import complain

if TYPE_CHECKING:
    from .target import Target


@click.command()
@click.argument("pipeline", required=False, default="")
@click.option("--accept-loss", is_flag=True,
              help="Forget what the journal reports as lost, and pipelines that cannot be restored "
              "for that.")  # fmt: skip
@click.pass_obj
def repair(target: Target, pipeline: str, accept_loss: bool) -> None:
    """Put back kernel objects of a pipeline that are gone or foreign (H0714), while it forwards
    packets; with --accept-loss, put the agent's journal in order after a loss of data
    (docs/journal.md)."""
    if accept_loss:
        _accept(target)
        return
    if pipeline:
        target = replace(target, name=pipeline)
    with target.need_agent() as agent:
        restored = agent.repair().restored
    for each in restored:
        click.echo(f"put back: {each}")
    if not restored:
        click.echo("nothing is wrong")


def _accept(target: Target) -> None:
    from ..runtime.rpc.failures import diagnostic_of

    with target.need_agent() as agent:
        reply = agent.accept_loss()
    for found in reply.accepted:
        click.echo(f"accepted: {found.title}")
    if not reply.accepted and not reply.left:
        click.echo("nothing is lost")
    if reply.left:
        complain([diagnostic_of(found) for found in reply.left])
        raise click.exceptions.Exit(1)


COMMANDS = (repair,)
