"""A laboratory's authority: the group `certs`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from .saying import PATH

if TYPE_CHECKING:
    from ..certs import Role


@click.group()
def certs() -> None:
    """Certificates for a laboratory. Elsewhere have your own authority sign them."""


@certs.command()
@click.argument("directory", type=PATH)
@click.option("--host", "hosts", multiple=True, help="A name or address of the agent's machine.")
def new(directory: Path, hosts: tuple[str, ...]) -> None:
    """Make an authority in DIRECTORY, and by it the identities `agent` and `admin`."""
    from ..certs import make_authority

    for path in make_authority(directory, list(hosts)):
        click.echo(path)


@certs.command()
@click.argument("directory", type=PATH)
@click.argument("name")
@click.option("--role", required=True, type=click.Choice(["read", "rules", "admin"]))
def client(directory: Path, name: str, role: Role) -> None:
    """Make an identity for a client, by the authority in DIRECTORY."""
    from ..certs import issue

    for path in issue(directory, name, role):
        click.echo(path)


@certs.command()
@click.argument("directory", type=PATH)
@click.argument("name")
@click.option("--host", "hosts", multiple=True, required=True, help="A name or address of it.")
def agent(directory: Path, name: str, hosts: tuple[str, ...]) -> None:
    """Make an identity for another agent, by the authority in DIRECTORY."""
    from ..certs import issue

    for path in issue(directory, name, None, list(hosts)):
        click.echo(path)


COMMANDS = (certs,)
