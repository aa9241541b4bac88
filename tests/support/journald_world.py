"""A socket in the place of systemd's journal, and what arrives at it."""

from __future__ import annotations

import logging
import os
import socket
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from helioc.runtime.base import logs


@contextmanager
def logging_to(journald: Path) -> Iterator[logging.Logger]:
    """As `set_up` makes it, in the place of what the tests' own logging is."""
    root = logging.getLogger()
    handlers, level, root.handlers = root.handlers, root.level, []
    try:
        logs.set_up(journald)
        yield logging.getLogger("heliod")
    finally:
        for each in root.handlers:
            each.close()
        root.handlers = handlers
        root.setLevel(level)


@pytest.fixture
def journald(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[socket.socket]:
    """In the place of the journal's, with standard error connected to it."""
    found = os.fstat(2)
    monkeypatch.setenv("JOURNAL_STREAM", f"{found.st_dev}:{found.st_ino}")
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as made:
        made.bind(str(tmp_path / "socket"))
        made.settimeout(10)
        yield made


def parsed(entry: bytes) -> dict[str, str]:
    """As systemd's "Native Journal Protocol" describes it."""
    found = {}
    while entry:
        name, _, rest = entry.partition(b"\n")
        if b"=" in name:
            name, _, value = name.partition(b"=")
        else:
            (length,) = struct.unpack_from("<Q", rest)
            value, rest = rest[8 : 8 + length], rest[8 + length :]
            assert rest[:1] == b"\n"
            rest = rest[1:]
        found[name.decode()], entry = value.decode(), rest
    return found
