"""Clients that stall, ask too much or never listen harm nobody else."""

from __future__ import annotations

import socket
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any, cast

import grpc
import pytest
from agent_world import World
from grpc_calls import calls_beside
from helioc.lang.contract.rules.csv_columns import read_csv
from helioc.lang.text.source import Source
from helioc.runtime.agent.agent import Agent
from helioc.runtime.client import Client, Rejected, Stream
from helioc.runtime.http2.codes import Code
from helioc.runtime.rpc import control_pb2 as pb
from helioc.runtime.rpc.clients import Limits
from helioc.runtime.rpc.methods import path
from helioc.runtime.rpc.service import Service
from lab import until
from tls_world import PORT, within

FAR = "create FAR [(action, u8, DROP)]"


@pytest.mark.usefixtures("kernel")
def test_who_stalls_stands_in_nobodys_way(secure: World, certs: Path) -> None:
    """Handshakes never finished, calls never ended, answers never read."""

    def connect() -> list[socket.socket]:
        return [socket.create_connection(("127.0.0.1", PORT)) for _ in range(50)]

    def go(client: Client) -> float:
        assert client.status().pid  # who is connected stays so
        silent = secure.edge.inside_thread(connect)
        streams = [client.stream() for _ in range(Limits().lasting - 1)]
        asked = pb.ListRequest(pipeline=secure.name).SerializeToString()
        unread = client.channel.call(path("List"), None, asked)
        until(lambda: refused_one_more(client, streams), "all streams are open")
        with secure.client() as other:
            begun = time.monotonic()
            for _ in range(50):
                other.apply("create FAR 1 [(action, u8, DROP)]")
                other.apply("delete FAR 1")
            spent = time.monotonic() - begun
        unread.cancel()
        for stream in streams:
            stream.close()
        for each in silent:
            each.close()
        return spent

    spent = within(secure, certs, "a-admin", go)
    assert isinstance(spent, float) and spent < 5


@pytest.mark.usefixtures("kernel")
def test_calls_without_a_request_stand_in_nobodys_way(secure: World, certs: Path) -> None:
    """More of them than there are threads, by one whose certificate has no role at all."""
    methods = ("/helio.control.v1.Control/Apply", "/grpc.health.v1.Health/Check")

    def go(client: Client) -> None:
        calls = [client.channel.call(methods[i % 2], None) for i in range(60)]
        clients.append(calls)
        if len(clients) < 6:
            within(secure, certs, "nobody", go)
        else:
            with secure.client() as other:
                other.timeout = 3.0
                assert other.status().pid and other.apply(FAR).revision
        for call in calls:
            call.cancel()

    clients = list[Any]()
    within(secure, certs, "nobody", go)


@pytest.mark.usefixtures("kernel")
def test_connections_without_a_certificate_stand_in_nobodys_way(here: World, certs: Path) -> None:
    def connect() -> list[socket.socket]:
        made = [socket.socket() for _ in range(1100)]
        for each in made:
            each.setblocking(False)
            each.connect_ex(("127.0.0.1", PORT))
        return made

    few = ("prlimit", "--nofile=1024:4096")  # as systemd gives
    with ExitStack() as owned:
        options = ("--tcp", f"127.0.0.1:{PORT}", "--identity", str(certs / "agent"))
        owned.enter_context(here.agent(*options, by=few))
        for each in here.edge.inside_thread(connect):
            owned.enter_context(each)
        with here.client() as client:
            client.timeout = 3.0
            assert client.status().pid


@pytest.mark.usefixtures("kernel")
def test_who_reads_no_lists_stands_in_nobodys_way(secure: World, certs: Path) -> None:
    with secure.client() as client:
        client.apply("create FAR 1 [(action, u8, DROP)]")
        lines = "".join(f"10.{i >> 8}.{i & 255}.0/24,1\n" for i in range(60_000))
        columns = read_csv(Source("pdr.csv", "dst_ip,FAR\n" + lines), client.schema().kinds["PDR"])
        client.bulk(columns)
    request = pb.ListRequest(pipeline=secure.name, form=pb.FORM_TEXT)

    def go(client: Client) -> None:
        unread = list[Any]()

        def full() -> bool:  # a list may end though nobody reads it: what is on its way is sent
            if sum(call.is_active() for call in unread) <= Limits().timed:
                unread.append(calls["List"](request))
            return any(
                call.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
                for call in unread
                if not call.is_active()
            )

        calls = owned.enter_context(calls_beside(client))
        until(full, "more lists are refused")
        with secure.client() as other:
            assert other.stats().revision
            assert other.rule("FAR", 1) and len(list(other.rules(kinds=["FAR"]))) == 1
        for call in unread:
            call.cancel()

    with ExitStack() as owned:
        within(secure, certs, "a-read", go)


def refused_one_more(client: Client, streams: list[Stream]) -> bool:
    """One stream more than these and a further one is refused."""
    streams.append(client.stream())
    with client.stream() as stream:
        stream.send(b"")
        try:
            stream.receive()
        except Rejected as rejected:
            return rejected.status is Code.RESOURCE_EXHAUSTED
    return False


@pytest.mark.usefixtures("kernel")
def test_sizes_are_bounded(secure: World) -> None:
    with secure.client() as client:
        for size, said in ((5 << 20, "H0770"), (17 << 20, "16777216 are the most")):
            with pytest.raises(Rejected) as error:
                client.apply(bytes(size))
            assert error.value.status is Code.RESOURCE_EXHAUSTED
            assert said in str(error.value)
        assert client.status().pid


def test_a_watch_that_was_ended_at_once_holds_nothing() -> None:
    class Ended:
        def add_callback(self, _: object) -> bool:
            return False

    service = Service(Agent())
    assert not list(service.Watch(pb.WatchRequest(), cast(Any, Ended())))
    assert not service.agent.events.watchers
    service.readers.close()
    service.agent.close()
