"""What `helioctl`'s commands share: the type of a path argument, printing diagnostics and JSON."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import Any

import click

from . import command

PATH = click.Path(path_type=Path)
complain = partial(command.complain, program="helioctl")


def say_json(value: Any) -> None:
    click.echo(json.dumps(value, indent=1))
