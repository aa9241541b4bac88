"""Who may do what with the agent, and how much of it."""

from __future__ import annotations

import os
import queue
import socket
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from datetime import datetime
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import grpc
import pytest
from agent_world import EDGE, World, relay, world
from click.testing import CliRunner
from cryptography import x509
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, load_pem_private_key
from fleet_world import put_away
from grpc_reflection.v1alpha import reflection_pb2, reflection_pb2_grpc
from helioc.compiler.requests.csv_columns import read_csv
from helioc.lang.diagnostics import Refused
from helioc.lang.source import Source
from helioc.runtime.agent.agent import Agent
from helioc.runtime.certs import ROLES, issue, make_authority, read_identity, revoke, role_of
from helioc.runtime.cli import cli
from helioc.runtime.client import Client, Rejected, Stream
from helioc.runtime.loading.bundle import read_bundle
from helioc.runtime.rpc import control_pb2 as pb
from helioc.runtime.rpc.fair import Fair, peer_of
from helioc.runtime.rpc.guard import NEEDED, Budget, Guard, Limits, identity
from helioc.runtime.rpc.methods import METHODS
from helioc.runtime.rpc.revoked import Revoked, fingerprint_of
from helioc.runtime.rpc.service import Service
from lab import Lab, LabError, until

FAR = "create FAR [(action, u8, DROP)]"
PORT = 50051


@pytest.fixture(scope="module")
def certs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An authority with a client of each role, one without, and another authority's client."""
    directory = tmp_path_factory.mktemp("certs")
    make_authority(directory, ["192.0.2.1"])
    for role in ROLES:
        issue(directory, f"a-{role}", role)
    issue(directory, "nobody", None)
    make_authority(directory / "other", [])
    return directory


@pytest.fixture
def here(lab: Lab, tmp_path: Path) -> Iterator[World]:
    with world(lab, tmp_path) as made:
        yield made


@pytest.fixture
def secure(here: World, certs: Path) -> Iterator[World]:
    """An agent with a loaded pipeline that listens by mutual TLS."""
    with here.agent("--tcp", f"0.0.0.0:{PORT}", "--identity", str(certs / "agent")):
        with here.client() as client:
            client.load(read_bundle(here.directory / "bundle"), EDGE)
        yield here


def within(here: World, certs: Path, name: str, work: Callable[[Client], object]) -> object:
    """Do it as that client, by TCP, in the agent's namespace."""

    identity, path = certs / name, here.directory / f"relay-{name.replace('/', '-')}"
    path.unlink(missing_ok=True)
    with (
        relay(here.edge, PORT, path) as address,
        Client(
            address, here.name, identity=identity, server_name="localhost", timeout=10
        ) as client,
    ):
        return work(client)


def code_of(work: Callable[[], object]) -> grpc.StatusCode | None:
    try:
        work()
    except Rejected as rejected:
        return rejected.status
    return None


@pytest.mark.usefixtures("kernel")
def test_each_role_may_do_its_part(secure: World, certs: Path) -> None:
    denied = grpc.StatusCode.PERMISSION_DENIED
    wanted = {"a-read": (None, denied, denied), "a-rules": (None, None, denied),
              "a-admin": (None, None, None), "nobody": (denied, denied, denied)}  # fmt: skip
    works: tuple[Callable[[Client], object], ...] = (
        lambda c: list(c.rules()),
        lambda c: c._calls["Apply"](c.message(FAR)) and None,
        lambda c: c.unload(),
    )
    with secure.client() as client:
        schema = client.schema()
    for name, codes in wanted.items():
        for work, code in zip(works, codes, strict=True):

            def as_known(c: Client, work: Callable[[Client], object] = work) -> object:
                c._schema = schema
                try:
                    return work(c)
                except grpc.RpcError as error:
                    raise c._rejected(error) from None

            assert code_of(partial(within, secure, certs, name, as_known)) is code, name


def test_only_what_changes_needs_more_than_looking() -> None:
    needed = {name: NEEDED.get(name, "admin") for name in METHODS}
    assert {name for name, role in needed.items() if role == "admin"} == {
        "Load", "Upgrade", "Unload"
    }  # fmt: skip
    assert {name for name, role in needed.items() if role == "rules"} == {
        "Apply", "Stream", "BulkApply", "Refresh", "ApplyIntent", "RemoveIntent"
    }  # fmt: skip


@pytest.mark.usefixtures("kernel")
def test_strangers_do_not_get_in(secure: World, certs: Path) -> None:
    assert code_of(lambda: within(secure, certs, "other/admin", lambda c: c.status())) is (
        grpc.StatusCode.UNAVAILABLE
    )

    without = [sys.executable, "-m", "helioc.runtime.cli", "--agent", f"127.0.0.1:{PORT}", "list"]
    done = subprocess.run(secure.edge.inside(*without), capture_output=True, text=True, timeout=60)
    assert done.returncode == 1 and "H0763" in done.stderr and "--identity" in done.stderr


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
def test_who_is_revoked_is_shut_out_at_once(here: World, tmp_path: Path) -> None:
    at = tmp_path / "certs"
    make_authority(at, [])
    issue(at, "thief", "rules")
    options = ("--tcp", f"127.0.0.1:{PORT}", "--identity", str(at / "agent"))

    def go(client: Client) -> None:
        with client.watch() as watch:
            client.pipeline = ""
            made = CliRunner().invoke(cli, ["certs", "revoke", str(at), str(at / "thief.pem")])
            assert made.exit_code == 0 and made.output.endswith(" thief.pem\n")
            assert not list(watch), "ended"
        with pytest.raises(Rejected, match="H0776") as error:
            client.status()
        assert error.value.status is grpc.StatusCode.PERMISSION_DENIED

    def status(client: Client) -> int:
        client.pipeline = ""
        return client.status().pid

    with here.agent(*options) as process:
        with here.client() as local:
            local.load(read_bundle(here.directory / "bundle"), EDGE)
        within(here, at, "thief", go)
        assert within(here, at, "admin", status)
        (at / "revoked").write_text("nonsense\n")
        process.expect("H0777")
        assert code_of(lambda: within(here, at, "thief", status)), "still"
        (at / "revoked").unlink()
        process.expect("0 certificates are revoked")
        assert within(here, at, "thief", status)
    (at / "revoked").write_text("# none\n00:11\n")
    with (
        pytest.raises(LabError, match="line 2 of .* is no certificate's SHA-256"),
        here.agent(*options),
    ):
        pass


def test_lists_of_who_is_revoked(tmp_path: Path) -> None:
    make_authority(tmp_path, [])
    pem = (tmp_path / "admin.pem").read_bytes()
    colons = x509.load_pem_x509_certificate(pem).fingerprint(SHA256()).hex(":").upper()
    path = tmp_path / "revoked"
    none = Revoked(path)
    assert not none and pem not in none
    for text in (f"{colons} # stolen", f"SHA256 Fingerprint={colons}\n", fingerprint_of(pem)):
        path.write_text(f"# who\n\n{'0' * 64} somebody\n{text}")
        found = Revoked(path)
        assert pem in found and b"" not in found
        assert (tmp_path / "agent.pem").read_bytes() not in found
    with pytest.raises(Refused, match="H0771"):
        revoke(tmp_path, path)


@pytest.mark.usefixtures("kernel")
def test_who_stalls_stands_in_nobodys_way(secure: World, certs: Path) -> None:
    """Handshakes never finished, calls never ended, answers never read."""

    def connect() -> list[socket.socket]:
        return [socket.create_connection(("127.0.0.1", PORT)) for _ in range(50)]

    def go(client: Client) -> float:
        silent = secure.edge.inside_thread(connect)
        streams = [client.stream() for _ in range(Limits().lasting - 1)]
        unread = client._calls["List"](pb.ListRequest(pipeline=secure.name))
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
        never: list[Any] = [client._channel.stream_stream(method) for method in methods]
        calls = [never[i % 2](iter(queue.SimpleQueue[bytes]().get, b"")) for i in range(60)]
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
    wanted = pb.ListRequest(pipeline=secure.name, form=pb.FORM_TEXT)

    def go(client: Client) -> None:
        unread = list[Any]()

        def full() -> bool:  # a list may end though nobody reads it: what is on its way is sent
            if sum(call.is_active() for call in unread) <= Limits().timed:
                unread.append(client._calls["List"](wanted))
            return any(
                call.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
                for call in unread
                if not call.is_active()
            )

        until(full, "more lists are refused")
        with secure.client() as other:
            assert other.stats().revision
            assert other.rule("FAR", 1) and len(list(other.rules(kinds=["FAR"]))) == 1
        for call in unread:
            call.cancel()

    within(secure, certs, "a-read", go)


@pytest.mark.usefixtures("kernel")
def test_reflection_is_behind_the_same_door(secure: World, certs: Path) -> None:
    def ask(client: Client) -> grpc.StatusCode | None:
        asked: queue.Queue[reflection_pb2.ServerReflectionRequest | None] = queue.Queue()
        asked.put(reflection_pb2.ServerReflectionRequest(list_services=""))
        stub: Any = reflection_pb2_grpc.ServerReflectionStub(client._channel)
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
    assert within(secure, certs, "nobody", ask) is grpc.StatusCode.PERMISSION_DENIED
    found = within(secure, certs, "a-read", ask_often)
    assert found == [*[None] * Limits().lasting, grpc.StatusCode.RESOURCE_EXHAUSTED]


def refused_one_more(client: Client, streams: list[Stream]) -> bool:
    """One stream more than these and a further one is refused."""
    streams.append(client.stream())
    with client.stream() as stream:
        stream.send(b"")
        try:
            stream.receive()
        except Rejected as rejected:
            return rejected.status is grpc.StatusCode.RESOURCE_EXHAUSTED
    return False


@pytest.mark.usefixtures("kernel")
def test_sizes_are_bounded(secure: World) -> None:
    with secure.client() as client:
        for octets, said in ((5 << 20, "H0770"), (17 << 20, "larger than max")):
            with pytest.raises(Rejected) as error:
                client.apply(bytes(octets))
            assert error.value.status is grpc.StatusCode.RESOURCE_EXHAUSTED
            assert said in str(error.value)
        assert client.status().pid


def test_budgets_are_given_back() -> None:
    budget = Budget(10 << 20, 15 << 20)
    with budget.share() as one, budget.share() as other:
        one(9 << 20)
        with pytest.raises(Refused, match="arrives at a time"):
            other(7 << 20)
    with budget.share() as one, pytest.raises(Refused, match="more than 10 MiB"):
        one(11 << 20)
    with budget.share() as one:
        one(10 << 20)


class Caller:
    """A context as gRPC gives it."""

    def __init__(self, role: str = "", peer: str = "ipv4:192.0.2.9:4711") -> None:
        self.role, self._peer = role, peer

    def auth_context(self) -> dict[str, list[bytes]]:
        if not self.role:
            return {}
        return {"transport_security_type": [b"ssl"], "x509_common_name": [b"me"],
                "peer_uri": [f"urn:helio:role:{self.role}".encode()],
                "x509_subject_alternative_name": [b"urn:helio:role:admin", b"edge.example"]
                }  # fmt: skip

    def peer(self) -> str:
        return self._peer

    def set_trailing_metadata(self, _: object) -> None:
        pass

    def abort(self, code: grpc.StatusCode, said: str) -> None:
        raise RuntimeError(code.name, said)

    def cancel(self) -> None:
        pass


def test_calls_of_a_client_are_counted_and_let_go() -> None:
    guard = Guard(Limits(calls=2))
    waiting, go_on = threading.Semaphore(0), threading.Event()

    def slow(request: object, context: object) -> str:
        waiting.release()
        go_on.wait(10)
        return "done"

    method = guard(METHODS["Apply"], slow)
    threads = [threading.Thread(target=method, args=([None], Caller("rules"))) for _ in range(2)]
    for thread in threads:
        thread.start()
        waiting.acquire()
    with pytest.raises(RuntimeError, match="RESOURCE_EXHAUSTED"):
        method([None], Caller("rules"))
    go_on.set()
    for thread in threads:
        thread.join()
    assert method([None], Caller("rules")) == "done"


def test_who_begins_a_call_and_sends_no_request_is_cut_off() -> None:
    class Silent(Caller):
        ended = threading.Event()

        def cancel(self) -> None:
            self.ended.set()

        def __iter__(self) -> Iterator[object]:
            assert self.ended.wait(10)
            return iter(())

    method = Guard(Limits(patience=0.01))(METHODS["Status"], lambda request, context: "done")
    silent = Silent("read")
    with pytest.raises(RuntimeError, match="INVALID_ARGUMENT.*without a request"):
        method(silent, silent)
    assert silent.ended.is_set()


@pytest.mark.parametrize(("name", "rate"), [("Status", 4000), ("Watch", 200)])
def test_who_asks_too_fast_waits(name: str, rate: float) -> None:
    guard = Guard(Limits(rate=rate))
    method = guard(METHODS[name], lambda request, context: ["done"])
    begun = time.monotonic()
    for _ in range(240):  # 200 at once, 40 at their rate
        assert list(method([None], Caller("read"))) == ["done"]
    assert 0.15 < time.monotonic() - begun < 2


def test_who_is_refused_all_the_time_waits() -> None:
    method = Guard(Limits(rate=400))(METHODS["Apply"], lambda request, context: "done")
    begun = time.monotonic()
    for _ in range(24):  # 20 at once, 4 at their rate
        with pytest.raises(RuntimeError, match="PERMISSION_DENIED"):
            method([None], Caller("read"))
    assert 0.15 < time.monotonic() - begun < 2


def test_one_hosts_calls_keep_no_others_waiting() -> None:
    def of(host: str) -> Any:
        call = SimpleNamespace(peer=lambda: f"ipv4:{host}:4711".encode())
        return SimpleNamespace(call=call)

    pool, go_on = Fair(8, each=2), threading.Event()
    try:
        stuck = [pool.submit(lambda _: go_on.wait(10), of("192.0.2.1")) for _ in range(50)]
        assert pool.submit(lambda _: "done", of("192.0.2.2")).result(10) == "done"
        with pytest.raises(ZeroDivisionError):
            pool.submit(lambda: 1 // 0).result(10)
        assert not any(each.done() for each in stuck)
        go_on.set()
        assert all(each.result(10) for each in stuck)
        assert not pool._going and not pool._waiting
    finally:
        go_on.set()
        pool.shutdown()


def test_grpc_says_whose_call_it_is() -> None:
    """Or else all would be one host's."""
    seen = list[str]()

    class Seeing(Fair):
        def submit(self, work: Callable[..., Any], /, *args: Any, **named: Any) -> Any:
            seen.append(peer_of(args))
            return super().submit(work, *args, **named)

    echo: Any = grpc.stream_unary_rpc_method_handler(lambda requests, context: next(requests))
    server = grpc.server(Seeing(2, 1))
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler("a.B", {"C": echo}),))
    with put_away():
        port = server.add_insecure_port("127.0.0.1:0")
        server.start()
        try:
            with grpc.insecure_channel(f"127.0.0.1:{port}") as channel:
                call: Any = channel.unary_unary("/a.B/C")
                assert call(b"x", timeout=10) == b"x"
        finally:
            server.stop(None).wait()
    assert seen == ["ipv4:127.0.0.1"]


def test_a_role_is_taken_from_no_other_kind_of_name() -> None:
    """An authority may let anybody have a DNS name."""
    assert identity(cast(Any, Caller("read"))) == ("me", "read")


def test_a_watch_that_was_ended_at_once_holds_nothing() -> None:
    class Ended:
        def add_callback(self, _: object) -> bool:
            return False

    service = Service(Agent())
    assert not list(service.Watch(pb.WatchRequest(), cast(Any, Ended())))
    assert not service.agent.events
    service.readers.close()
    service.agent.close()


def test_a_certificate_with_another_role_is_none() -> None:
    assert role_of([b"urn:helio:role:root", b"edge.example"]) is None
    assert role_of([b"urn:helio:role:read", b"urn:helio:role:rules"]) == "rules"


def test_certs_by_command(tmp_path: Path) -> None:
    run, at = CliRunner().invoke, str(tmp_path / "lab")
    assert run(cli, ["certs", "new", at, "--host", "edge.example"]).exit_code == 0
    assert run(cli, ["certs", "client", at, "watcher", "--role", "read"]).exit_code == 0
    assert run(cli, ["certs", "agent", at, "edge-b", "--host", "10.0.0.2"]).exit_code == 0
    found = sorted(path.name for path in (tmp_path / "lab").iterdir())
    assert found == sorted(f"{n}.{e}" for n in ("ca", "agent", "admin", "watcher", "edge-b")
                           for e in ("key", "pem"))  # fmt: skip
    assert stat.S_IMODE(os.stat(f"{at}/ca.key").st_mode) == 0o600
    assert stat.S_IMODE(os.stat(at).st_mode) == 0o700


def expire(certificate: Path, key: Path) -> None:
    """Give the certificate an end in the past."""
    signer = load_pem_private_key(key.read_bytes(), None)
    old = x509.load_pem_x509_certificate(certificate.read_bytes())
    made = (
        x509.CertificateBuilder().subject_name(old.subject).issuer_name(old.issuer)
        .public_key(old.public_key()).serial_number(1)
        .not_valid_before(datetime(2020, 1, 1)).not_valid_after(datetime(2020, 2, 1))
        .sign(signer, SHA256())  # type: ignore[arg-type]
    )  # fmt: skip
    certificate.write_bytes(made.public_bytes(Encoding.PEM))


@pytest.mark.parametrize("broken", ["expired", "swapped", "nonsense", "missing"])
def test_identities_that_cannot_be_used(tmp_path: Path, broken: str) -> None:
    make_authority(tmp_path, [])
    key, certificate = tmp_path / "admin.key", tmp_path / "admin.pem"
    if broken == "swapped":
        key.write_bytes((tmp_path / "agent.key").read_bytes())
    elif broken == "nonsense":
        certificate.write_text("-----BEGIN CERTIFICATE-----\n")
    elif broken == "missing":
        key.unlink()
    else:
        expire(certificate, key)
    with pytest.raises(Refused, match="H0740" if broken == "missing" else "H0771"):
        read_identity(tmp_path / "admin")


def test_nothing_is_overwritten(tmp_path: Path) -> None:
    make_authority(tmp_path, [])
    before = (tmp_path / "ca.key").read_bytes()
    with pytest.raises(Refused, match="H0772"):
        make_authority(tmp_path, [])
    with pytest.raises(Refused, match="H0762"):
        issue(tmp_path, "../x", "read")
    assert (tmp_path / "ca.key").read_bytes() == before
