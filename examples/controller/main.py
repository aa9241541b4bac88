"""A small controller: keeps a fleet of edges in the state that a file or etcd describes.

    main.py init --host 192.0.2.1                    # an authority, once
    main.py run --listen 192.0.2.1:8443 --file wanted.yaml      # or --etcd 127.0.0.1:2379
    main.py token create edge1                       # then, on edge1: helioctl enrol …
    main.py status

docs/controller.md shows it at work. What it keeps is in --state.
"""

from __future__ import annotations

import logging
import sys
import time
from contextlib import ExitStack, closing
from datetime import timedelta
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

import click
from controller import board
from controller.console import start
from controller.etcd import PREFIX, Etcd
from controller.fleet import File, Fleet
from controller.manager import Settings
from helioc.commands.command import run as run_command
from helioc.lang.text.stopping import Serving
from helioc.runtime.base.certs import check_name, issue, new_authority
from helioc.runtime.client import Client
from helioc.runtime.enrolment.certificates import der_of, fingerprint
from helioc.runtime.enrolment.edge_registry import EdgeRegistry
from helioc.runtime.enrolment.est_server import EstServer, EstService
from helioc.runtime.enrolment.token import Token

_PATH = click.Path(path_type=Path)


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--state",
    default="/var/lib/helio-controller",
    type=_PATH,
    show_default=True,
    help="Where it keeps its authority, what it knows of edges, and their states.",
)
@click.pass_context
def cli(context: click.Context, state: Path) -> None:
    """Keep a fleet of Helio's edges in a desired state."""
    context.obj = state
    state.mkdir(mode=0o700, parents=True, exist_ok=True)


@cli.command()
@click.option(
    "--host",
    "hosts",
    multiple=True,
    required=True,
    help="A name or address by which edges reach this controller.",
)
@click.pass_obj
def init(state: Path, hosts: tuple[str, ...]) -> None:
    """Make an authority, and by it the certificates of this controller."""
    if not (state / "ca.pem").exists():
        new_authority(state)
    issue(state, "office", None, list(hosts))
    issue(state, "controller", "rules")
    click.echo(f"the authority's SHA-256 is {_pin(state)}")


def _pin(state: Path) -> str:
    return fingerprint(der_of((state / "ca.pem").read_bytes()))


@cli.group()
def token() -> None:
    """What edges enrol with."""


@token.command()
@click.argument("edge")
@click.option("--host", "hosts", multiple=True, help="Another name or address for its certificate.")
@click.option("--lifetime", default=3600.0, type=click.FloatRange(0), help="Seconds.")
@click.pass_obj
def create(state: Path, edge: str, hosts: tuple[str, ...], lifetime: float) -> None:
    """Make a token for EDGE: for one enrolment, within its lifetime."""
    check_name(edge)
    secret = _register(state).create_token(edge, hosts, lifetime)
    click.echo(Token(edge, secret, _pin(state)))


def _register(state: Path) -> EdgeRegistry:
    if not (state / "ca.pem").exists():
        raise click.UsageError(f"{state} has no authority: `init` makes one")
    return EdgeRegistry(state / "register.db")


@cli.command()
@click.pass_obj
def edges(state: Path) -> None:
    """The edges that have enrolled, and what they have announced."""
    click.echo(board.edges(_register(state).edges(), time.time()))


@cli.command()
@click.argument("edge")
@click.pass_obj
def remove(state: Path, edge: str) -> None:
    """Forget EDGE: its certificate is not renewed, and its key is no longer accepted."""
    known = _register(state).remove(edge)
    click.echo(f"removed {edge}" if known else f"there is no edge {edge}")


# fmt: off
@cli.command()
@click.option("--listen", default="", metavar="HOST:PORT", help="Where edges enrol and announce "
              "themselves; needs `init`.")
@click.option("--certificates", default=90.0, type=click.FloatRange(0), metavar="DAYS",
              show_default=True, help="How long the certificates of edges are good for.")
@click.option("--file", type=_PATH, help="The desired state: YAML, read again when it changes.")
@click.option("--etcd", "etcd_at", default="", metavar="HOST:PORT", help="It is in etcd.")
@click.option("--prefix", default=PREFIX, show_default=True, help="Of its keys in etcd.")
@click.option("--etcd-identity", type=_PATH, metavar="PATH", help="For TLS to etcd: PATH.pem, "
              "PATH.key, and the ca.pem beside them.")
@click.option("--report-only", is_flag=True, help="Change nothing; only say what differs.")
@click.option("--timeout", default=5.0, type=click.FloatRange(0.1), help="Seconds of a call.")
@click.option("--probe", default=10.0, type=click.FloatRange(0.1),
              help="Seconds after which a silent edge is asked.")
@click.option("--console", "console_at", default="", metavar="HOST:PORT", help="Serve a page that "
              "shows the fleet.")
@click.option("--console-token", type=_PATH, metavar="FILE", help="Has the token of who has no "
              "certificate; made, if there is none. By default console.token in --state.")
@click.option("--console-period", default=2.0, type=click.FloatRange(0.2), show_default=True,
              help="Seconds from one look at an edge to the next.")
@click.option("--console-memory", default=512, type=click.IntRange(1), metavar="MIB",
              show_default=True, help="For what it remembers of the past.")
@click.pass_obj
def run(
    state: Path, listen: str, certificates: float, file: Path | None, etcd_at: str, prefix: str,
    etcd_identity: Path | None, report_only: bool, timeout: float, probe: float, console_at: str,
    console_token: Path | None, console_period: float, console_memory: int,
) -> None:
    """Keep the edges as --file or --etcd says, until interrupted."""
    if (file is None) == (not etcd_at):
        raise click.UsageError("the desired state needs --file or --etcd")
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
    serving = Serving()
    register = _register(state)

    def connect(edge: str, address: str, pipeline: str) -> Client:
        return client_of(state, register, edge, address, pipeline, timeout)

    def look(edge: str, address: str, pipeline: str) -> Client:
        return client_of(state, register, edge, address, pipeline, timeout, start.READER)

    def announced() -> dict[str, Any]:
        return {edge.name: edge.announced for edge in register.edges() if edge.announced}

    def heard() -> None:
        fleet.are({edge.name: edge.address for edge in register.edges()})
        if isinstance(source, Etcd):
            source.publish()

    with ExitStack() as owned:
        kept = owned.enter_context(closing(board.Board(state / "status.json")))
        settings = Settings(report_only, timeout, probe)
        fleet = owned.enter_context(closing(Fleet(kept, connect, settings, register.trusted)))
        source: File | Etcd = (
            File(file, fleet.set_desired) if file is not None
            else Etcd(etcd_at, fleet.set_desired, prefix, etcd_identity, timeout, announced)
        )
        owned.callback(source.stop)
        if listen:
            host, _, port = listen.rpartition(":")
            office = EstService(state, register, heard, timedelta(days=certificates))
            address = host.strip("[]"), int(port)
            owned.enter_context(closing(EstServer(office, address, state / "office")))
        heard()
        source.start()
        if console_at:
            start.make_reader(state)
            token = console_token or state / start.TOKEN
            settled = start.Settings(console_at, token, console_period, console_memory)
            page = owned.enter_context(start.console(settled, state, look, fleet.addresses))
            logging.info("the console is at %s", page)
        logging.info("running")
        serving.wait()
# fmt: on


def client_of(
    state: Path, register: EdgeRegistry, edge: str, address: str, pipeline: str, timeout: float,
    identity: str = "controller",
) -> Client:  # fmt: skip
    """Of an edge's agent, which shows a certificate that the register knows; of one that has not
    enrolled here, one by our authority. `identity`: which of ours we show."""
    us = state / identity
    if address.startswith("unix:") or not us.with_suffix(".pem").exists():
        return Client(address, pipeline, timeout=timeout)
    known = register.trusted(edge)
    return Client(
        address, pipeline, identity=us, server_name=edge, authority=known, timeout=timeout
    )


@cli.command()
@click.option("--wait", default=0.0, type=click.FloatRange(0), metavar="SECONDS",
              help="Wait at most this long until all are in step, else exit with 1.")  # fmt: skip
@click.pass_obj
def status(state: Path, wait: float) -> None:
    """The last known states of the edges."""
    until = time.monotonic() + wait
    while True:
        states = board.read(state / "status.json")
        settled = bool(states) and all(each.fares == "in step" for each in states)
        if settled or time.monotonic() >= until:
            break
        time.sleep(0.1)
    click.echo(board.table(states, time.time()))
    if wait and not settled:
        raise click.exceptions.Exit(1)


if __name__ == "__main__":
    run_command(cli, "main.py")
