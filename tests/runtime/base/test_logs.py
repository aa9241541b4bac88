"""Log lines that nobody can write into another's place, and entries of systemd's journal."""

from __future__ import annotations

import os
import re
import socket
from pathlib import Path

import pytest
from helioc.lang.text.diagnostics import Diagnostic
from helioc.runtime.base import logs
from helioc.runtime.base.logfmt import LONGEST, logfmt
from journald_world import journald, logging_to, parsed

__all__ = ["journald"]

HOSTILE = 'x"\nheliod.audit: INFO: client=admin\r\x1b[2J\x00\x7f\\ é\u202e😀\ud800='


def test_what_a_value_is_stays_within_it() -> None:
    line = logfmt({"client": HOSTILE, "method": "Apply", "empty": "", "ms": 1.5})
    assert line == (
        r'client="x\"\nheliod.audit: INFO: client=admin\r\u001b[2J\u0000\u007f\\ \u00e9\u202e'
        r'\ud83d\ude00\ud800=" method=Apply empty="" ms=1.5'
    )


@pytest.mark.parametrize("value", ['"', "\\", "=", " ", "a b"])
def test_what_would_end_a_bare_value_is_quoted(value: str) -> None:
    assert logfmt({"a": value}).startswith('a="')


def test_a_value_has_a_length() -> None:
    assert logfmt({"a": "b" * 1_000_000}) == "a=" + "b" * LONGEST + "..."


def test_the_journal_gets_entries(journald: socket.socket, tmp_path: Path) -> None:
    with logging_to(tmp_path / "socket") as log:
        assert logs.has_space()
        log.warning("two\nlines=", extra={"fields": {"HELIO_CLIENT": "me"}})
        assert parsed(journald.recv(1 << 16)) == {
            "MESSAGE": "heliod: two\nlines=", "PRIORITY": "4", "SYSLOG_IDENTIFIER": "heliod",
            "HELIO_LOGGER": "heliod", "HELIO_CLIENT": "me",
        }  # fmt: skip
        log.error("\n" * 1_000_000)
        assert parsed(journald.recv(1 << 18))["PRIORITY"] == "3"


def test_a_journal_that_is_started_again_gets_the_next_one(
    journald: socket.socket, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with logging_to(tmp_path / "socket") as log:
        journald.close()
        log.info("nobody")
        assert capsys.readouterr().err == "<6>heliod: INFO: nobody\n"
        (tmp_path / "socket").unlink()
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as again:
            again.bind(str(tmp_path / "socket"))
            again.settimeout(10)
            log.info("there")
            assert parsed(again.recv(1 << 16))["MESSAGE"] == "heliod: there"


def test_without_its_socket_lines_have_priorities(
    journald: socket.socket, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with logging_to(tmp_path / "none") as log:
        log.error("wrong")
    assert capsys.readouterr().err == "<3>heliod: ERROR: wrong\n"


def test_elsewhere_lines_have_none(
    journald: socket.socket, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    monkeypatch.setenv("JOURNAL_STREAM", "1:1")  # of who started us: standard error is another
    with logging_to(tmp_path / "socket") as log:
        log.info("ready")
    when = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ"
    assert re.fullmatch(rf"{when} heliod: INFO: ready\n", capsys.readouterr().err)


def test_a_diagnostic_leaves_its_severity_to_the_line() -> None:
    found = Diagnostic("H0778", "it ends: error[H0001]", (), "another", "warning")
    assert logs.text(found) == "H0778: it ends: error[H0001]\n  = help: another"


def test_a_pipe_that_nobody_reads_is_left_half_empty(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reading, writing = os.pipe()
    with os.fdopen(reading, "rb") as reader, os.fdopen(writing, "w") as writer:
        monkeypatch.setattr("sys.stderr", writer)
        lines = 0
        with logging_to(tmp_path / "none") as log:
            while logs.has_space() and lines < 3000:
                log.info("a line")
                lines += 1
            assert 32 << 10 <= len("2026-11-25T10:15:54Z heliod: INFO: a line\n") * lines < 33 << 10
            reader.read(16 << 10)
            assert logs.has_space()
