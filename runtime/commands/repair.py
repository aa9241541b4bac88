"""What an operator says of damage: the command `repair`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from .saying import complain

if TYPE_CHECKING:
    from ..control import Target


@click.command()
@click.option("--accept-loss", is_flag=True, required=True,
              help="Forget what the journal reports as lost, and pipelines that cannot be restored "
              "for that.")  # fmt: skip
@click.pass_obj
def repair(target: Target, accept_loss: bool) -> None:
    """Put the agent's journal in order after a loss of data (docs/journal.md)."""
    from ..rpc.failures import diagnostic_of

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
