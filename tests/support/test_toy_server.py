"""The server of gRPC's own library is gone when its block ends."""

from __future__ import annotations

import time
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from toy_server import Toy, opened, served


def test_it_waits_for_who_is_at_a_cancelled_call(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What that thread holds of the call is a cycle. Where it ended behind the search for leaks,
    as under load, descriptors of gRPC stayed open."""
    server = import_module("grpc._server")  # grpc loads it with the first server
    take, ended = server._take_response_from_response_iterator, list[bool]()

    def take_slowly(*given: Any) -> Any:
        response, going_on = take(*given)
        if not going_on:
            time.sleep(0.2)
            ended.append(True)
        return response, going_on

    monkeypatch.setattr(server, "_take_response_from_response_iterator", take_slowly)
    address = f"unix:{tmp_path / 'toy'}"
    with (
        served(address, Toy()),
        opened(address) as channel,
        channel.call("/toy/Each", None) as call,
    ):
        call.send(b"on")
        assert call.receive() == b"on"
    assert ended
