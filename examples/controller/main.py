"""A small controller: keeps a fleet of edges in the state that a file or etcd describes.

    main.py run DIRECTORY --file wanted.yaml         # or --etcd 127.0.0.1:2379
    main.py status DIRECTORY

docs/controller.md shows it at work. DIRECTORY is the controller's own.
"""

from __future__ import annotations

import logging
import signal
import sys
import threading
import time
from contextlib import ExitStack, closing
from pathlib import Path

sys.path[0] = str(Path(__file__).parents[1])

import click
from controller import board
from controller.etcd import PREFIX, Etcd
from controller.fleet import File, Fleet
from controller.keeper import Settings
from helioc.lang.ending import ending
from helioc.runtime.client import Client

_PATH = click.Path(path_type=Path)


def main() -> None:
    """Whatever happens, the user sees a diagnostic, not a traceback."""
    try:
        cli.main(prog_name="controller", standalone_mode=False)
    except click.exceptions.Exit as stop:
        sys.exit(stop.exit_code)
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except click.Abort:
        sys.exit(130)
    except BaseException as error:
        said, status = ending(error, "helioctl")
        click.echo(said, err=True, nl=False)
        sys.exit(status)


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
def cli() -> None:
    """Keep a fleet of Helio's edges in a wanted state."""


# fmt: off
@cli.command()
@click.argument("directory", type=_PATH)
@click.option("--file", type=_PATH, help="The wanted state: YAML, read again when it changes.")
@click.option("--etcd", "etcd_at", default="", metavar="HOST:PORT", help="It is in etcd.")
@click.option("--prefix", default=PREFIX, show_default=True, help="Of its keys in etcd.")
@click.option("--etcd-identity", type=_PATH, metavar="PATH", help="For TLS to etcd: PATH.pem, "
              "PATH.key, and the ca.pem beside them.")
@click.option("--report-only", is_flag=True, help="Change nothing; only say what differs.")
@click.option("--timeout", default=5.0, type=click.FloatRange(0.1), help="Seconds of a call.")
@click.option("--probe", default=10.0, type=click.FloatRange(0.1),
              help="Ask an edge that is silent every so many seconds.")
def run(
    directory: Path, file: Path | None, etcd_at: str, prefix: str, etcd_identity: Path | None,
    report_only: bool, timeout: float, probe: float,
) -> None:
    """Keep the edges as --file or --etcd says, until interrupted."""
    if (file is None) == (not etcd_at):
        raise click.UsageError("--file or --etcd says what is wanted")
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)

    def connect(edge: str, address: str, pipeline: str) -> Client:
        return Client(address, pipeline, timeout=timeout)

    with ExitStack() as owned:
        kept = owned.enter_context(closing(board.Board(directory / "status.json")))
        fleet = owned.enter_context(
            closing(Fleet(kept, connect, Settings(report_only, timeout, probe)))
        )
        source: File | Etcd = (
            File(file, fleet.wanted) if file is not None
            else Etcd(etcd_at, fleet.wanted, prefix, etcd_identity)
        )
        owned.callback(source.stop)
        source.start()
        logging.info("running")
        stop.wait()
# fmt: on


@cli.command()
@click.argument("directory", type=_PATH)
def status(directory: Path) -> None:
    """How the edges fare, as the controller of DIRECTORY saw them last."""
    click.echo(board.table(board.read(directory / "status.json"), time.time()))


if __name__ == "__main__":
    main()
