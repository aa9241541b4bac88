"""The pipeline file that commands of `helioc` take."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from .command import complain

if TYPE_CHECKING:
    from ..compiler.model import Pipeline

FILE = click.argument("file", type=click.Path(path_type=Path))


def checked(file: Path, lowered: bool = False) -> Pipeline:
    """The file's pipeline; warnings are printed, errors raised. `lowered`: it is lowered next,
    which says what no kernel takes."""
    from ..compiler.driver import check_file, read_pipeline
    from ..lang.text.diagnostics import Diagnostics

    found = Diagnostics()
    pipeline = read_pipeline(file, found) if lowered else check_file(file, found)
    complain(found.found, "helioc")
    return pipeline
