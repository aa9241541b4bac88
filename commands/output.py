"""What `helioctl`'s commands share: the type of a path argument, printing diagnostics and JSON."""

from __future__ import annotations

import json
from collections.abc import Iterable
from functools import partial
from pathlib import Path
from textwrap import indent
from typing import Any

import click

from . import command

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
