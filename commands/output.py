"""What `helioctl`'s commands share: the type of a path argument, printing diagnostics and JSON."""

from __future__ import annotations

import json
from collections.abc import Iterable
from functools import partial
from pathlib import Path
from textwrap import indent
from typing import TYPE_CHECKING, Any

import click

from . import command

if TYPE_CHECKING:
    from .target import Target

PATH = click.Path(path_type=Path)
complain = partial(command.complain, program="helioctl")


def say_json(value: Any) -> None:
    click.echo(json.dumps(value, indent=1))


def say_json_list(values: Iterable[Any]) -> None:
    """The same of a list, each value as it comes."""
    before = "[\n"
    for value in values:
        click.echo(before + indent(json.dumps(value, indent=1), " "), nl=False)
        before = ",\n"
    click.echo("\n]" if before[0] == "," else "[]")


def need_here(target: Target, command: str) -> None:
    """For what looks at the kernel itself. Raises click.UsageError where another host is named."""
    if target.agent and not target.agent.startswith("unix:"):
        raise click.UsageError(
            f"`{command}` looks at the kernel of the host that it runs on: run it there, without "
            f"--agent{'. Over the network there is `heliod --metrics`' * (command == 'metrics')}"
        )
