"""Sends the agent's log to standard error or, where that is systemd's journal, to the journal
itself.

The journal gets each message whole, with its priority and with the fields of a record's `fields`
(systemd, "Native Journal Protocol").
"""

from __future__ import annotations

import fcntl
import logging
import os
import select
import socket
import stat
import struct
import sys
import termios
import time
from contextlib import suppress
from pathlib import Path

from ...lang.text.diagnostics import Diagnostic

JOURNALD = Path("/run/systemd/journal/socket")
IDENTIFIER = "heliod"  # whose log it is, if `set_up` is not told
#: Characters of a message: with all others of its entry they fit in a datagram.
_LONGEST = 40_000
_LINE = "%(when)s%(name)s: %(levelname)s: %(message)s"
#: By logging's level, from the highest: syslog(3).
_PRIORITIES = ((logging.CRITICAL, 2), (logging.ERROR, 3), (logging.WARNING, 4), (logging.INFO, 6))


def set_up(journald: Path = JOURNALD, program: str = IDENTIFIER) -> None:
    """From now on what is logged goes there. `journald`: the journal's socket."""
    handler: logging.Handler = Lines()
    if _at_journal():
        with suppress(OSError):
            handler = Journald(journald, program)
    logging.basicConfig(level=logging.INFO, handlers=[handler])


def level(found: Diagnostic) -> int:
    return logging.WARNING if found.severity == "warning" else logging.ERROR


def text(found: Diagnostic) -> str:
    """A diagnostic as a line of the log, which has the severity by itself."""
    from ...lang.text.render import render

    return render(found).replace(f"{found.severity}[{found.code}]", found.code, 1)


def say(log: logging.Logger, found: Diagnostic) -> None:
    """A diagnostic in a log."""
    log.log(level(found), "%s", text(found))


def has_space() -> bool:
    """Whether a line can be logged without waiting for who reads the log. Of a pipe the half is
    left to those who do not ask."""
    handlers = logging.getLogger().handlers
    return all(each.has_space() for each in handlers if isinstance(each, Lines | Journald))


class Lines(logging.StreamHandler):  # type: ignore[type-arg]
    """On standard error; with sd-daemon(3)'s priorities where the journal reads them, and with the
    time (UTC) elsewhere."""

    def __init__(self) -> None:
        super().__init__(sys.stderr)
        self._at_journal = _at_journal()
        before = "<%(priority)d>" if self._at_journal else ""
        self.setFormatter(logging.Formatter(before + _LINE))

    def format(self, record: logging.LogRecord) -> str:
        record.priority = _priority(record.levelno)
        timed = self._at_journal or "HELIO_TIME" in getattr(record, "fields", {})
        record.when = "" if timed else time.strftime("%FT%TZ ", time.gmtime(record.created))
        return super().format(record)

    def has_space(self) -> bool:
        with suppress(OSError, ValueError):  # it is no file, or closed
            descriptor = self.stream.fileno()
            if not stat.S_ISFIFO(os.fstat(descriptor).st_mode):
                return _writable(descriptor)
            unread = fcntl.ioctl(descriptor, termios.FIONREAD, struct.pack("i", 0))
            most = fcntl.fcntl(descriptor, fcntl.F_GETPIPE_SZ)
            return bool(2 * struct.unpack("i", unread)[0] < most)
        return True


class Journald(logging.Handler):
    """Entries of systemd's journal; lines where it does not take them."""

    def __init__(self, path: Path = JOURNALD, program: str = IDENTIFIER) -> None:
        """Raises OSError where nobody listens."""
        super().__init__()
        self._program = program
        self.setFormatter(logging.Formatter("%(name)s: %(message)s"))
        self._path, self._socket = path, _connect(path)
        self._otherwise = Lines()

    def emit(self, record: logging.LogRecord) -> None:
        packet = self._entry(record)
        try:
            try:
                self._socket.send(packet)
            except OSError:  # it was started again
                again = _connect(self._path)
                self._socket.close()
                self._socket = again
                again.send(packet)
        except OSError:
            self._otherwise.handle(record)

    def has_space(self) -> bool:
        with suppress(OSError, ValueError):
            return _writable(self._socket.fileno())
        return True

    def close(self) -> None:
        self._socket.close()
        super().close()

    def _entry(self, record: logging.LogRecord) -> bytes:
        fields = {
            "MESSAGE": self.format(record)[:_LONGEST], "PRIORITY": str(_priority(record.levelno)),
            "SYSLOG_IDENTIFIER": self._program, "HELIO_LOGGER": record.name,
            **getattr(record, "fields", {}),
        }  # fmt: skip
        return b"".join(_field(name, value) for name, value in fields.items())


def _field(name: str, value: str) -> bytes:
    data = value.encode(errors="replace")
    if b"\n" not in data:
        return b"%s=%s\n" % (name.encode(), data)
    return b"%s\n%s%s\n" % (name.encode(), struct.pack("<Q", len(data)), data)


def _connect(path: Path) -> socket.socket:
    made = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC)
    try:
        made.connect(str(path))
    except OSError:
        made.close()
        raise
    return made


def _writable(descriptor: int) -> bool:
    poll = select.poll()
    poll.register(descriptor, select.POLLOUT)
    return bool(poll.poll(0))


def _priority(level: int) -> int:
    return next((priority for least, priority in _PRIORITIES if level >= least), 7)


def _at_journal() -> bool:
    """systemd.exec(5): which stream of ours it has connected to the journal."""
    with suppress(OSError):
        found = os.fstat(2)
        return os.environ.get("JOURNAL_STREAM") == f"{found.st_dev}:{found.st_ino}"
    return False
