"""However a command ends, the user reads a diagnostic."""

from __future__ import annotations

import os
import subprocess
import sys
from errno import EAGAIN, EMFILE, ENFILE
from pathlib import Path

import helioc
import pytest
from helioc.lang.text.diagnostics import Diagnostic, Refused
from helioc.lang.text.exit_status import account, message_and_status


@pytest.mark.parametrize(
    ("error", "status", "said"),
    [
        (Refused([Diagnostic("H0101", "no", ())]), 1, "1 error; see `helioc explain H0101`"),
        (KeyboardInterrupt(), 130, ""),
        (FileExistsError(17, "File exists", "README.md"), 1,
         "error[H0300]: the system reports an error with `README.md`: file exists"),
        (OSError("odd"), 1, "error[H0300]: the system reports an error: odd"),
        (ZeroDivisionError("division"), 70,
         "error[H9999]: helioc has an internal error: ZeroDivisionError"),
        (MemoryError(), 1, "error[H0330]: there is not enough memory"),
        (RecursionError(), 70, "error[H9999]"),
        (OSError(EMFILE, "Too many open files"), 1,
         "error[H0340]: the limit of open files in this process is reached"),
        (OSError(ENFILE, "Too many open files in system"), 1, "open files on this machine"),
        (BlockingIOError(EAGAIN, "Resource temporarily unavailable"), 1, "processes and threads"),
        (RuntimeError("can't start new thread"), 1, "processes and threads"),
    ],
)  # fmt: skip
def test_every_end_has_its_words(error: BaseException, status: int, said: str) -> None:
    text, code = message_and_status(error, "helioc")
    assert code == status and said in text
    assert "Traceback" not in text


def test_warnings_need_no_explaining() -> None:
    text = account([Diagnostic("H0432", "hm", (), severity="warning")], "helioctl")
    assert text == "warning[H0432]: hm\n"


@pytest.mark.parametrize("program", ["heliod", "main.py"])
def test_what_others_say_is_explained_by_helioctl(program: str) -> None:
    """The controller's program has no `explain`, either."""
    said = account([Diagnostic("H0622", "no", ())], program)
    assert said.endswith("see `helioctl explain H0622`\n")


@pytest.mark.parametrize(
    "words", ["commands.helioc explain", "commands.helioc --help", "commands.helioctl explain",
              "commands.helioctl list --json", "commands.helioctl -h"],
)  # fmt: skip
def test_nobody_reads_any_more(words: str) -> None:
    """Silence and the status of SIGPIPE, as of any tool in front of `| head`."""
    reader, writer = os.pipe()
    os.close(reader)
    program, *rest = words.split()
    with os.fdopen(writer, "wb") as closed:
        done = subprocess.run([sys.executable, "-m", f"helioc.{program}", *rest], stdout=closed,
                              stderr=subprocess.PIPE, timeout=60)  # fmt: skip
    assert (done.returncode, done.stderr) == (141, b"")


@pytest.mark.parametrize(
    "words", ["commands.helioc check no/such.hp", "commands.helioc nonsense",
              "commands.helioctl explain H1", "commands.heliod --nonsense"],
)  # fmt: skip
def test_nobody_reads_what_is_wrong(words: str) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    program, *rest = words.split()
    with os.fdopen(writer, "wb") as closed:
        done = subprocess.run([sys.executable, "-m", f"helioc.{program}", *rest], stderr=closed,
                              stdout=subprocess.PIPE, timeout=60)  # fmt: skip
    assert (done.returncode, done.stdout) == (141, b"")


def test_few_open_files(tmp_path: Path) -> None:
    """Wherever the last of them is taken: it is no fault of the program that is compiled."""
    guard = Path(helioc.__file__).parent / "examples/tour/guard.hp"
    words = ["-m", "helioc.commands.helioc", "compile", "--no-cache", str(guard)]
    for files in range(8, 64):
        limited = ["prlimit", f"--nofile={files}", sys.executable, *words, "-o", str(tmp_path)]
        done = subprocess.run(limited, capture_output=True, text=True, timeout=120)
        if not done.returncode:
            break
        assert "error[H0340]" in done.stderr, done.stderr
    assert files > 8 and not done.returncode
