"""`load --shadow` and `upgrade --shadow`: another build beside the one in force, on its traffic."""

from __future__ import annotations

import re
import signal
import sys
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

import click

from ..runtime.shadow.options import ShadowOptions
from ..runtime.shadow.text import report_text
from .output import PATH, say_json

if TYPE_CHECKING:
    from ..runtime.loading.bundle import Bundle
    from .target import Target

if TYPE_CHECKING:
    _Type = click.ParamType[float]
else:
    _Type = click.ParamType

_UNITS = {"": 1.0, "s": 1.0, "m": 60.0, "h": 3600.0}
_MOST = 24 * 3600.0
_Command = TypeVar("_Command", bound=Callable[..., Any])


class Duration(_Type):
    """`60s`, `5m`, `1.5h`, or seconds."""

    name = "duration"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        if isinstance(value, float):
            return value
        found = re.fullmatch(r"([0-9]{1,6}(?:\.[0-9]{1,6})?)([smh]?)", str(value))
        seconds = float(found[1]) * _UNITS[found[2]] if found else 0.0
        if not 0 < seconds <= _MOST:
            self.fail(f"{value!r} is no time: 60s, 5m or 1h, up to 24h", param, ctx)
        return seconds


_OPTIONS = (
    click.option("--mapping", type=PATH, help="What has other names, goes, or must be given."),
    click.option("--filter", default="", help="Only packets of a filter, as of `trace`."),
    click.option("--port", default="", help="Only those that arrive by this port."),
    click.option("--sample", default="1/1", metavar="1/N", help="One of N, drawn by chance."),
    click.option(
        "--rate", default=1000, type=click.IntRange(1, 100_000), help="So many a second at most."
    ),
    click.option("--json", "as_json", is_flag=True, help="The report as JSON."),
)


def shadow_options(command: _Command) -> _Command:
    """Adds the options of a shadow run, but for how long and what may differ."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def given_options(context: click.Context) -> list[str]:
    """Which of the options of a shadow run are on the command line."""
    names = ("filter", "port", "sample", "rate", "as_json")
    from_user = click.core.ParameterSource.COMMANDLINE
    return [f"--{name.removeprefix('as_')}" for name in names
            if context.get_parameter_source(name) is from_user]  # fmt: skip


def shadow_run(
    target: Target, bundle: Bundle, words: Mapping[str, Any], seconds: float | None,
    allowed: tuple[str, ...] = (),
) -> dict[str, Any]:  # fmt: skip
    """Run a bundle in the shadow of the pipeline in force, and print the report. Raises
    `Refused`."""
    from ..runtime.base.files import read_source
    from ..runtime.tracing.watch import sample_of

    options = ShadowOptions(
        words["filter"], words["port"], sample_of(words["sample"]), words["rate"], seconds,
        allowed=allowed,
    )  # fmt: skip
    mapping = read_source(words["mapping"]) if words["mapping"] is not None else None
    with target.open() as control:
        report = control.shadow(bundle, mapping, options, _stopping())
    say_json(report) if words["as_json"] else click.echo(report_text(report, sys.stdout.isatty()))
    return report


def _stopping() -> Callable[[], bool]:
    """Whether Ctrl-C or SIGTERM came: the report comes then, too."""
    came: list[int] = []

    def stop(number: int, _: object) -> None:
        if came:
            raise KeyboardInterrupt
        came.append(number)

    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, stop)
    return lambda: bool(came)
