"""Runs a program of this package: every error becomes a diagnostic, not a traceback.
`exit_status` is imported only after an error, since start-up time counts."""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from typing import Any, NoReturn

import click

from ..lang.text.diagnostics import Diagnostic
from ..lang.text.stopping import status_of


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
    except BrokenPipeError as error:  # standard error is closed, too
        from ..lang.text.exit_status import message_and_status

        _, status = message_and_status(error, program)
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
        # Click ends so after shell completion, and with 1 when standard output is closed.
        if stop.code == 0:
            return 0
        from ..lang.text.exit_status import message_and_status

        return message_and_status(stop, program)[1]
    except click.Abort as abort:  # which click makes of an interrupt
        return status_of(abort.__cause__)
    except BaseException as error:
        from ..lang.text.exit_status import message_and_status

        said, status = message_and_status(error, program)
        click.echo(said, err=True, nl=False)
        return status
    return returned if isinstance(returned, int) else 0


def complain(diagnostics: Sequence[Diagnostic], program: str) -> None:
    """Print diagnostics, if there are any, to standard error."""
    if not diagnostics:
        return
    from ..lang.text.exit_status import account

    click.echo(account(diagnostics, program), err=True, nl=False)
