"""Message and exit status of a command that an error ends.

The entry points print it. Exit status: 1 an error of the input or the system, 70 an internal error,
130 interrupted, 128 plus the number of a signal, 141 the output was closed.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from errno import EAGAIN, EMFILE, ENFILE
from pathlib import Path

from .diagnostics import Diagnostic, Refused
from .render import render_all
from .stopping import status_of

#: By errno: what is limited, and what to do.
_LIMITS = {
    EMFILE: ("open files in this process", "raise the limit: `ulimit -n 65536`, LimitNOFILE= of a "
             "unit"),
    ENFILE: ("open files on this machine", "raise the limit: `sysctl fs.file-max`"),
    EAGAIN: ("processes and threads", "raise the limit: `ulimit -u`, TasksMax= of a unit, pids.max "
             "of a control group"),
}  # fmt: skip
#: The programs that have a command for it.
_EXPLAINS = "helioc", "helioctl"


def message_and_status(error: BaseException, program: str) -> tuple[str, int]:
    """What `program` prints to standard error (a diagnostic, never a traceback), and its exit
    status."""
    if isinstance(error, KeyboardInterrupt):
        return "", status_of(error)
    if isinstance(error, BrokenPipeError | SystemExit):  # click raises the latter for the same
        # Discard what is still buffered, so that the interpreter does not complain at its end.
        nowhere = os.open(os.devnull, os.O_WRONLY)
        for standard in (1, 2):
            os.dup2(nowhere, standard)
        return "", 141
    found = diagnosed(error, program)
    return account(found, program), 70 if found[0].code == "H9999" else 1


def diagnosed(error: BaseException, program: str) -> list[Diagnostic]:
    """The diagnostics for any error."""
    if isinstance(error, Refused):
        return error.diagnostics
    if isinstance(error, MemoryError):
        return [_no_memory()]
    if isinstance(error, OSError):
        return [limit_reached(error.errno or 0) or _system(error)]
    if isinstance(error, RuntimeError) and "can't start new thread" in str(error):
        return [_limit(*_LIMITS[EAGAIN])]
    return [_internal(error, program)]


def account(diagnostics: Iterable[Diagnostic], program: str) -> str:
    """Diagnostics as text, coloured where standard error is a terminal, and where to read on."""
    found = list(diagnostics)
    text = render_all(found, colour=sys.stderr.isatty())
    codes = sorted({d.code for d in found if d.severity == "error"})
    if codes:
        program = program if program in _EXPLAINS else "helioctl"
        errors = sum(d.severity == "error" for d in found)
        plural = "s" * (errors > 1)
        text += f"\n{errors} error{plural}; see `{program} explain {codes[0]}`\n"
    return text


def cannot_write(path: str, why: str, help_: str = "") -> Diagnostic:
    return Diagnostic("H0309", f"cannot write `{path}`: {why}", (), help_)


def limit_reached(errno: int) -> Diagnostic | None:
    """The diagnostic for an error that a limit of the process or machine causes; else None."""
    return _limit(*_LIMITS[errno]) if errno in _LIMITS else None


def _limit(what: str, help_: str) -> Diagnostic:
    return Diagnostic("H0340", f"the limit of {what} is reached", (), help_)


def _system(error: OSError) -> Diagnostic:
    what = f" with `{error.filename}`" if error.filename else ""
    why = (error.strerror or str(error)).lower()
    help_ = "check the path, its permissions, and the free space"
    return Diagnostic("H0300", f"the system reports an error{what}: {why}", (), help_)


def _no_memory() -> Diagnostic:
    help_ = "use smaller inputs, or raise the limit"
    return Diagnostic("H0330", "there is not enough memory", (), help_)


def _internal(error: BaseException, program: str) -> Diagnostic:
    place = error.__traceback__
    while place is not None and place.tb_next is not None:
        place = place.tb_next
    where = f" ({Path(place.tb_frame.f_code.co_filename).name}:{place.tb_lineno})" if place else ""
    title = f"{program} has an internal error: {type(error).__name__}: {error}{where}"
    help_ = "please report this with the command and the file that led to it"
    return Diagnostic("H9999", title, (), help_)
