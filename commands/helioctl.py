"""`helioctl`: loads and unloads pipelines, changes their rules, shows their state.

Exit status: 0 success; 1 the input was refused, or the kernel refused; 2 the command line is wrong;
70 an internal error; 130 interrupted; 141 the output's reader is gone. Each command imports what it
needs when it runs.
"""

from __future__ import annotations

from pathlib import Path
from typing import NoReturn

import click

from . import (
    backup,
    certificates,
    events,
    intents,
    loading,
    observe,
    repair,
    rules,
    stamp,
    states,
)  # fmt: skip
from .command import run
from .explain import explain
from .output import PATH


def main() -> NoReturn:
    """Entry point."""
    run(cli, "helioctl")


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="helioc")
@click.option("--name", default="", help="Which loaded pipeline; needed if there are several.")
@click.option("--agent", default="", envvar="HELIO_AGENT", metavar="ADDRESS",
              help="unix:PATH or HOST:PORT of the agent; default: the local one, if it runs."
              )  # fmt: skip
@click.option(
    "--identity",
    envvar="HELIO_IDENTITY",
    type=PATH,
    metavar="PATH",
    help="For an agent by TCP: PATH.pem, PATH.key and the ca.pem beside them.",
)
@click.option("--local", is_flag=True, help="Without the agent, on the kernel's maps.")
@click.pass_context
def cli(context: click.Context, name: str, agent: str, identity: Path | None, local: bool) -> None:
    """Load Helio pipelines into the kernel, and change their rules."""
    from .target import Target

    context.obj = Target(name, agent, local, identity)


for group in (
    loading,
    rules,
    observe,
    states,
    events,
    intents,
    stamp,
    certificates,
    repair,
    backup,
):
    for command in group.COMMANDS:
        cli.add_command(command)
cli.add_command(explain)


if __name__ == "__main__":
    main()
