"""The server of gRPC's own library is gone when its block ends."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import grpc
from toy_server import WORKERS, Toy, failing, opened, served


class Late(Toy):
    """It is still at a call when the server has ended that."""

    server: grpc.Server

    def wait(self, asked: bytes, context: Any) -> bytes:
        self.begun.release()
        self.server.wait_for_termination(20)
        self.ended.append("wait")
        return asked


def test_it_waits_for_who_is_at_a_cancelled_call(tmp_path: Path) -> None:
    """What that thread holds of the call is a cycle. Where it ended behind the search for leaks,
    as under load, descriptors of gRPC stayed open."""
    address, toy = f"unix:{tmp_path / 'toy'}", Late()
    with opened(address) as channel:
        with served(address, toy) as toy.server:
            call = channel.call("/toy/Wait", None, b"on")
            assert toy.begun.acquire(timeout=20)
        assert toy.ended == ["wait"]
        assert not [each for each in threading.enumerate() if each.name.startswith(WORKERS)]
        failing(call.receive)
