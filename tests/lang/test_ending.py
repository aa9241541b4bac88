"""However a command ends, the user reads a diagnostic."""

from __future__ import annotations

import pytest
from helioc.lang.diagnostics import Diagnostic, Refused
from helioc.lang.ending import account, ending


@pytest.mark.parametrize(
    ("error", "status", "said"),
    [
        (Refused([Diagnostic("H0101", "no", ())]), 1, "1 error; see `helioc explain H0101`"),
        (KeyboardInterrupt(), 130, ""),
        (FileExistsError(17, "File exists", "README.md"), 1,
         "error[H0300]: the system cannot go on with `README.md`: file exists"),
        (OSError("odd"), 1, "error[H0300]: the system cannot go on: odd"),
        (ZeroDivisionError("division"), 70, "error[H9999]: helioc is at fault: ZeroDivisionError"),
        (RecursionError(), 70, "error[H9999]"),
    ],
)  # fmt: skip
def test_every_end_has_its_words(error: BaseException, status: int, said: str) -> None:
    text, code = ending(error, "helioc")
    assert code == status and said in text
    assert "Traceback" not in text


def test_warnings_need_no_explaining() -> None:
    text = account([Diagnostic("H0432", "hm", (), severity="warning")], "helioctl")
    assert text == "warning[H0432]: hm\n"
