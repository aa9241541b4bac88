"""Command lines: their exit status; numbers that are none are refused wherever a number is asked
for."""

from __future__ import annotations

from collections.abc import Iterator

import click
import pytest
from helioc.commands.command import Finite, run
from helioc.commands.helioc import cli as helioc
from helioc.commands.helioctl import cli as helioctl
from helioc.commands.heliod import serve as heliod


def options(command: click.Command) -> Iterator[click.Parameter]:
    yield from command.params
    for inner in getattr(command, "commands", {}).values():
        yield from options(inner)


def test_numbers_are_finite_everywhere() -> None:
    floats = [
        option
        for command in (helioc, helioctl, heliod)
        for option in options(command)
        if isinstance(option.type, click.types.FloatParamType)
    ]
    assert len(floats) >= 5
    assert all(isinstance(option.type, Finite) for option in floats), floats


@pytest.mark.parametrize("text", ["nan", "-nan", "inf", "-inf", "1e999", "-1", "x", ""])
def test_what_is_no_number_in_the_range(text: str) -> None:
    with pytest.raises(click.BadParameter):
        Finite(0).convert(text, None, None)


def test_what_is_one() -> None:
    assert Finite(0).convert("1.5", None, None) == 1.5


@pytest.mark.parametrize("status", [0, 1, 2])
def test_the_status_that_a_command_ends_with(status: int, monkeypatch: pytest.MonkeyPatch) -> None:
    @click.command()
    def ends() -> None:
        raise click.exceptions.Exit(status)

    monkeypatch.setattr("sys.argv", ["ends"])
    with pytest.raises(SystemExit) as ended:
        run(ends, "ends")
    assert (ended.value.code or 0) == status


def test_shells_are_told_how_a_word_may_go_on(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    for name, value in (
        ("_HELIOCTL_COMPLETE", "bash_complete"), ("COMP_WORDS", "helioctl unl"), ("COMP_CWORD", "1")
    ):  # fmt: skip
        monkeypatch.setenv(name, value)
    with pytest.raises(SystemExit) as stop:
        run(helioctl, "helioctl")
    assert stop.value.code == 0 and capfd.readouterr().out == "plain,unload\n"
