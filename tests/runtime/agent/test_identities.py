"""Who may do what with the agent."""

from __future__ import annotations

import queue
import shutil
import socket
import ssl
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from datetime import timedelta
from functools import partial
from pathlib import Path
from threading import Thread
from typing import Any

import grpc
import pytest
from agent_world import World, relay
from grpc_calls import channel_beside
from grpc_reflection.v1alpha import reflection_pb2, reflection_pb2_grpc
from helioc.runtime.base.certs import _write, certify, make_authority, new_key, read_authority
from helioc.runtime.client import Client, Rejected
from helioc.runtime.http2.codes import Code
from helioc.runtime.rpc.access import NEEDED
from helioc.runtime.rpc.clients import Limits
from helioc.runtime.rpc.methods import METHODS
from tls_world import PORT, code_of, within

FAR = "create FAR [(action, u8, DROP)]"


@pytest.mark.usefixtures("kernel")
def test_each_role_may_do_its_part(secure: World, certs: Path) -> None:
    denied = Code.PERMISSION_DENIED
    expected = {"a-read": (None, denied, denied), "a-rules": (None, None, denied),
              "a-admin": (None, None, None), "nobody": (denied, denied, denied)}  # fmt: skip
    works: tuple[Callable[[Client], object], ...] = (
        lambda c: list(c.rules()),
        lambda c: c._call("Apply", c.message(FAR)) and None,
        lambda c: c.unload(),
    )
    with secure.client() as client:
        schema = client.schema()
    for name, codes in expected.items():
        for work, code in zip(works, codes, strict=True):

            def as_known(c: Client, work: Callable[[Client], object] = work) -> object:
                c._schema = schema
                return work(c)

            assert code_of(partial(within, secure, certs, name, as_known)) is code, name


def test_only_what_changes_needs_more_than_looking() -> None:
    needed = {name: NEEDED.get(name, "admin") for name in METHODS}
    assert {name for name, role in needed.items() if role == "admin"} == {
        "Load", "Upgrade", "Unload", "AcceptLoss", "Repair", "Backup", "Restore", "Shadow"
    }  # fmt: skip
    assert {name for name, role in needed.items() if role == "rules"} == {
        "Apply", "Stream", "BulkApply", "Refresh", "ApplyIntent", "RemoveIntent", "DeleteEntry",
        "Flush", "InitStamp", "ResetStamp", "CreateStampSession", "StartStampSession",
        "StopStampSession", "DestroyStampSession", "GetStampSessionResults",
    }  # fmt: skip


@pytest.mark.usefixtures("kernel")
def test_strangers_do_not_get_in(secure: World, certs: Path) -> None:
    assert code_of(lambda: within(secure, certs, "other/admin", lambda c: c.status())) is (
        Code.UNAVAILABLE
    )

    helioctl = [sys.executable, "-m", "helioc.commands.helioctl"]
    without = [*helioctl, "--agent", f"127.0.0.1:{PORT}", "list"]
    done = subprocess.run(secure.edge.inside(*without), capture_output=True, text=True, timeout=60)
    assert done.returncode == 1 and "H0763" in done.stderr and "--identity" in done.stderr


@contextmanager
def answering(identity: Path | None) -> Iterator[str]:
    """The address of a server with these certificates, or without TLS."""
    with socket.create_server(("127.0.0.1", 0)) as listening, ExitStack() as owned:

        def serve() -> None:
            while True:
                made, _ = listening.accept()
                with made, suppress(OSError):
                    if identity is None:
                        made.sendall(b"hello, this is no agent\n")
                    else:
                        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
                        context.load_cert_chain(f"{identity}.pem", f"{identity}.key")
                        context.load_verify_locations(identity.parent / "ca.pem")
                        context.verify_mode = ssl.CERT_REQUIRED
                        context.set_alpn_protocols(["h2"])
                        made = context.wrap_socket(made, server_side=True)
                    made.recv(1)

        def end() -> None:
            listening.shutdown(socket.SHUT_RDWR)
            thread.join()

        def until_closed() -> None:
            with suppress(OSError):
                serve()

        thread = Thread(target=until_closed)
        thread.start()
        owned.callback(end)
        yield f"127.0.0.1:{listening.getsockname()[1]}"


def help_of(address: str, identity: Path, name: str) -> str:
    with (
        Client(address, identity=identity, server_name=name, timeout=10) as client,
        pytest.raises(Rejected, match="H0763") as error,
    ):
        client.status()
    return error.value.diagnostics[0].help


def test_what_is_wrong_with_tls_is_said(tmp_path: Path) -> None:
    here = tmp_path / "certs"
    make_authority(here, ["127.0.0.1"])
    make_authority(here / "other", ["127.0.0.1"])
    authority, signer = read_authority(here)
    key = new_key()
    ended = certify(
        authority, signer, "ended", key.public_key(), None, ["127.0.0.1"], timedelta(seconds=-1)
    )
    _write(here, "ended", ended, key)
    stranger = tmp_path / "stranger"
    stranger.mkdir()
    for name in ("admin.pem", "admin.key"):
        shutil.copy(here / "other" / name, stranger)
    shutil.copy(here / "ca.pem", stranger)
    agent, name = here / "agent", "localhost"
    for server, client, expected, said in (
        (here / "ended", here / "admin", "", "certificate has ended"),
        (agent, here / "other" / "admin", name, "another authority has signed the agent's"),
        (agent, here / "admin", "elsewhere", "does not name this host"),
        (agent, stranger / "admin", name, "the agent refuses this client's certificate"),
        (None, here / "admin", name, "speaks no TLS"),
    ):
        with answering(server) as address:
            assert said in help_of(address, client, expected), said


@pytest.mark.usefixtures("kernel")
def test_helioctl_by_tls(secure: World, certs: Path) -> None:
    words = ("--agent", f"192.0.2.1:{PORT}", "--identity")
    said = secure.ctl(*words, str(certs / "a-read"), "list")
    assert secure.name in said
    wrong = secure.ctl(*words, str(certs / "a-read"), "create", "FAR 1 [(action, u8, DROP)]",
                       status=1)  # fmt: skip
    assert "H0773" in wrong and "`rules`" in wrong


@pytest.mark.usefixtures("kernel")
def test_insecure_only_by_that_name(here: World) -> None:
    with here.agent("--insecure-tcp", f"127.0.0.1:{PORT}") as process:
        assert "open to anybody" in process.output

        path = here.directory / "relay"
        with relay(here.edge, PORT, path) as address, Client(address, timeout=10) as client:
            assert client.status().pid


@pytest.mark.usefixtures("kernel")
def test_new_certificates_are_taken_without_a_restart(
    here: World, certs: Path, tmp_path: Path
) -> None:
    at = tmp_path / "certs"
    make_authority(at, [])
    with here.agent("--tcp", f"127.0.0.1:{PORT}", "--identity", str(at / "agent")):
        assert within(here, at, "admin", lambda c: c.status().pid)
        for path in at.iterdir():
            path.unlink()
        make_authority(at, [])
        assert within(here, at, "admin", lambda c: c.status().pid)


@pytest.mark.usefixtures("kernel")
def test_reflection_is_behind_the_same_door(secure: World, certs: Path) -> None:
    def ask(client: Client) -> grpc.StatusCode | None:
        channel = owned.enter_context(channel_beside(client))
        asked: queue.Queue[reflection_pb2.ServerReflectionRequest | None] = queue.Queue()
        asked.put(reflection_pb2.ServerReflectionRequest(list_services=""))
        stub: Any = reflection_pb2_grpc.ServerReflectionStub(channel)
        call = stub.ServerReflectionInfo(iter(asked.get, None))
        calls.append((asked, call))
        try:
            assert next(call).list_services_response.service
        except grpc.RpcError:
            return call.code()  # type: ignore[no-any-return]
        return None

    def ask_often(client: Client) -> list[grpc.StatusCode | None]:
        found = [ask(client) for _ in range(Limits().lasting + 1)]
        for asked, call in calls:
            asked.put(None)
            call.cancel()
        return found

    calls = list[Any]()
    with ExitStack() as owned:
        assert within(secure, certs, "nobody", ask) is grpc.StatusCode.PERMISSION_DENIED
        found = within(secure, certs, "a-read", ask_often)
    assert found == [*[None] * Limits().lasting, grpc.StatusCode.RESOURCE_EXHAUSTED]
