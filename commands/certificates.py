"""The group `certs`, a laboratory's authority, and the command `enrol`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ..runtime.base.paths import STATE
from .output import PATH

if TYPE_CHECKING:
    from ..runtime.base.identity import Role


@click.group()
def certs() -> None:
    """Certificates for a laboratory. Elsewhere have your own authority sign them."""


@certs.command()
@click.argument("directory", type=PATH)
@click.option("--host", "hosts", multiple=True, help="A name or address of the agent's machine.")
def new(directory: Path, hosts: tuple[str, ...]) -> None:
    """Make an authority in DIRECTORY, and by it the identities `agent` and `admin`."""
    from ..runtime.base.certs import make_authority

    for path in make_authority(directory, list(hosts)):
        click.echo(path)


@certs.command()
@click.argument("directory", type=PATH)
@click.argument("name")
@click.option("--role", required=True, type=click.Choice(["console", "read", "rules", "admin"]))
def client(directory: Path, name: str, role: Role) -> None:
    """Make an identity for a client, by the authority in DIRECTORY."""
    from ..runtime.base.certs import issue

    for path in issue(directory, name, role):
        click.echo(path)


@certs.command()
@click.argument("directory", type=PATH)
@click.argument("name")
@click.option("--host", "hosts", multiple=True, required=True, help="A name or address of it.")
def agent(directory: Path, name: str, hosts: tuple[str, ...]) -> None:
    """Make an identity for another agent, by the authority in DIRECTORY."""
    from ..runtime.base.certs import issue

    for path in issue(directory, name, None, list(hosts)):
        click.echo(path)


@certs.command()
@click.argument("directory", type=PATH)
def rotate(directory: Path) -> None:
    """Make another authority in DIRECTORY beside the one that is there: agents let in clients of
    both from then on, without a restart (docs/certificates.md).

    Clients' certificates in DIRECTORY are signed again by the new one, for the same keys."""
    from ..runtime.base.rotation import rotate as rotate_

    for path in rotate_(directory):
        click.echo(path)


@certs.command()
@click.argument("directory", type=PATH)
def retire(directory: Path) -> None:
    """End a rotation: agents in DIRECTORY have certificates of the new authority, and let in nobody
    of the old one."""
    from ..runtime.base.rotation import retire as retire_

    for path in retire_(directory):
        click.echo(path)


@certs.command()
@click.argument("directory", type=PATH)
@click.argument("certificate", type=PATH)
def revoke(directory: Path, certificate: Path) -> None:
    """Have agents whose identity is in DIRECTORY let CERTIFICATE (a PEM file) in no more.

    It is the file DIRECTORY/revoked that says so; agents elsewhere want a copy."""
    from ..runtime.base.certs import revoke as revoke_

    click.echo(f"{revoke_(directory, certificate)} {certificate.name}")


@click.command()
@click.argument("controller", metavar="HOST:PORT")
@click.option("--token", required=True, envvar="HELIO_TOKEN", help="As the controller made it; - "
              "reads it from standard input.")  # fmt: skip
@click.option("--state", default=STATE, type=PATH, show_default=True,
              help="The agent's: the identity is kept in there.")  # fmt: skip
@click.option("--address", default="", metavar="HOST:PORT", help="Where the controller reaches the "
              "agent; default: this host as the controller sees it, port 50051.")  # fmt: skip
@click.option("--replace", is_flag=True, help="In place of an identity that is there.")
def enrol(controller: str, token: str, state: Path, address: str, replace: bool) -> None:
    """Make this host an edge of the fleet of the controller at HOST:PORT.

    A key is made here and stays here; the token is exchanged for a certificate, which `heliod
    --tcp` uses from its next start on, and renews."""
    from ..runtime.enrolment.edge import enrol as enrol_

    if token == "-":
        token = sys.stdin.readline()
    name, home = enrol_(controller, token, state, address, replace)
    click.echo(f"enrolled as {name} with {controller}; its agent is {home.address}")


COMMANDS = (certs, enrol)
