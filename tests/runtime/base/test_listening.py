"""Where the agent listens, and what it says where it cannot."""

from __future__ import annotations

import logging
import os
import socket
from pathlib import Path

import pytest
from helioc.lang.text.diagnostics import Refused
from helioc.runtime.base.listening import listen, listen_unix
from lab import Lab

pytestmark = pytest.mark.usefixtures("kernel")


@pytest.mark.parametrize("host", ["192.0.2.77", "[2001:db8::77]"])
def test_an_address_may_come_later(lab: Lab, host: str, caplog: pytest.LogCaptureFixture) -> None:
    room, plain = lab.namespace("late"), host.strip("[]")
    room.ip("link", "set", "lo", "up")

    def reached() -> bool:
        with socket.socket(socket.AF_INET6 if ":" in plain else socket.AF_INET) as made:
            return made.connect_ex((plain, 4711)) == 0

    with caplog.at_level(logging.WARNING, "heliod"):
        (listening,) = room.inside_thread(lambda: listen(f"{host}:4711"))
    with listening:
        assert f"no interface has the address {plain}" in caplog.text
        assert not room.inside_thread(reached)
        room.ip("addr", "add", f"{plain}/{128 if ':' in plain else 32}", "dev", "lo")
        assert room.inside_thread(reached)


def test_what_is_in_the_way_is_said(tmp_path: Path) -> None:
    for port in (0, 65_536, 99_999):
        with pytest.raises(Refused, match="H0769"):
            listen(f"127.0.0.1:{port}")
    with (
        socket.create_server(("127.0.0.1", 0)) as other,
        pytest.raises(Refused, match="H0767.*in use") as caught,
    ):
        listen(f"127.0.0.1:{other.getsockname()[1]}")
    assert "another agent" in caught.value.diagnostics[0].help
    with pytest.raises(Refused, match="H0767.*no such file") as caught:
        listen_unix(tmp_path / "none" / "socket", 0)
    assert caught.value.diagnostics[0].help == "make its directory"
    with pytest.raises(Refused, match="H0767.*too long"):
        listen_unix(tmp_path / ("x" * 200), 0)
    assert not os.listdir(tmp_path)


def test_a_file_that_is_no_socket_stays(tmp_path: Path) -> None:
    file = tmp_path / "notes"
    file.write_text("something else")
    with pytest.raises(Refused, match="H0767"):
        listen_unix(file, 0o177)
    assert file.read_text() == "something else"
