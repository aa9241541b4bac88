"""How a program of this package is run: whatever happens, the user sees a diagnostic, not a
traceback. What an error ends it with is in `ending`, which is read only then."""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from typing import Any, NoReturn

import click

from .diagnostics import Diagnostic
from .stopping import status_of


class Finite(click.FloatRange):
    """A number within a range; neither nan, which compares with nothing, nor infinite."""

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        number = float(super().convert(value, param, ctx))
        if not math.isfinite(number):
            self.fail(f"{value} is not a finite number.", param, ctx)
        return number


def run(command: click.Command, program: str) -> NoReturn:
    """Carry out the command line, and exit."""
    try:
        status = _status(command, program)
    except BrokenPipeError as error:  # nobody reads standard error, either
        from .ending import ending

        _, status = ending(error, program)
    sys.exit(status)


def _status(command: click.Command, program: str) -> int:
    try:
        # Click returns the status of an `Exit`; what commands return is None.
        returned = command.main(prog_name=program, standalone_mode=False)
    except click.exceptions.Exit as stop:
        return stop.exit_code
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except SystemExit as stop:
        # Click ends so when it has said how a word may go on, and with 1 when nobody reads.
        if stop.code == 0:
            return 0
        from .ending import ending

        return ending(stop, program)[1]
    except click.Abort as abort:  # which click makes of an interrupt
        return status_of(abort.__cause__)
    except BaseException as error:
        from .ending import ending

        said, status = ending(error, program)
        click.echo(said, err=True, nl=False)
        return status
    return returned if isinstance(returned, int) else 0


def complain(diagnostics: Sequence[Diagnostic], program: str) -> None:
    """Print diagnostics, if there are any, to standard error."""
    if not diagnostics:
        return
    from .ending import account

    click.echo(account(diagnostics, program), err=True, nl=False)
