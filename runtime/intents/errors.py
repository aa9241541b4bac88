"""Errors of intents."""

from __future__ import annotations

from collections.abc import Sequence

from ...lang.text.diagnostics import Diagnostic, Label, did_you_mean
from ...lang.text.source import Span

# ---- as it is written -----------------------------------------------------------------------


def over(where: Span) -> Diagnostic:
    return Diagnostic("H0823", "this intent is over already", (Label(where, "ended before now"),),
                      "a later `start`, or a longer `duration`")  # fmt: skip


# ---- asking ---------------------------------------------------------------------------------


def unknown(name: str, known: Sequence[str]) -> Diagnostic:
    help_ = did_you_mean(name, known) or "`helioctl intent list` shows those that there are"
    return Diagnostic("H0832", f"there is no intent `{name}`", (), help_)


def in_force(name: str) -> Diagnostic:
    return Diagnostic("H0833", f"another intent `{name}` is active, and this one begins later", (),
                      f"`helioctl intent remove {name}` first, or take another `resourceId`"
                      )  # fmt: skip


def needs_agent(local: bool) -> Diagnostic:
    """`local`: of `--local`."""
    if local:
        title, help_ = "this needs the agent, and `--local` asks none", "leave `--local` out"
    else:
        title, help_ = "this needs the agent, and none runs here", "start `heliod`"
    return Diagnostic("H0834", title, (), help_)


def not_taken_back(name: str) -> Diagnostic:
    return Diagnostic("H0837", f"the intent `{name}` could not begin, and stays pending", (),
                      "the journal has it and cannot be written: it begins as soon as it can; "
                      f"`helioctl intent remove {name}` forgets it when the journal can be written"
                      )  # fmt: skip


def no_room(most: int) -> Diagnostic:
    title = f"the intents that are kept would have more than {most >> 20} MiB of text"
    return Diagnostic("H0835", title, (), "remove some that are over, or make this one shorter")


def too_many(most: int) -> Diagnostic:
    return Diagnostic("H0835", f"there are {most:,} intents already", (),
                      "remove some")  # fmt: skip


def gone(rules: int) -> Diagnostic:
    each = "its rule was" if rules == 1 else f"{rules} of its rules were"
    return Diagnostic("H0836", f"{each} deleted by somebody else", (),
                      "remove the intent, and apply it again", "warning")  # fmt: skip
