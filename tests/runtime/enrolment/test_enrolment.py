"""An edge enrols with a controller: what is granted, and what is refused to whom."""

from __future__ import annotations

import base64
import json
import os
import socket
import ssl
import stat
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509.oid import NameOID
from helioc.commands.helioctl import cli
from helioc.lang.text.diagnostics import Refused
from helioc.runtime.base.certs import issue, new_authority
from helioc.runtime.base.identity import read_identity
from helioc.runtime.enrolment import edge as edges
from helioc.runtime.enrolment.certificates import (
    certificates_in,
    der_of,
    fingerprint,
    make_request,
    new_key_pem,
    peer_of,
)
from helioc.runtime.enrolment.edge import announce, enrol, home, renew
from helioc.runtime.enrolment.edge_registry import EdgeRegistry
from helioc.runtime.enrolment.est_server import CALLS, Answer, EstServer, EstService
from helioc.runtime.enrolment.heartbeat import Heartbeat
from helioc.runtime.enrolment.token import Token, read_token
from lab import until

ENROL, RENEW = "/.well-known/est/simpleenroll", "/.well-known/est/simplereenroll"
SAID: dict[str, Any] = {"address": "192.0.2.1:50051", "version": "1", "pipelines": []}


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """With the controller's certificate, a client's that has a role, and another authority."""
    directory = tmp_path_factory.mktemp("controller")
    new_authority(directory)
    issue(directory, "office", None, ["127.0.0.1"])
    issue(directory, "elsewhere", None, ["192.0.2.77"])
    issue(directory, "edge1", "rules")
    new_authority(directory / "other")
    issue(directory / "other", "office", None, ["127.0.0.1"])
    return directory


class Controller:
    """An office at a desk; what it was asked stands in `asked`."""

    def __init__(self, authority: Path, directory: Path, lifetime: timedelta) -> None:
        self.directory = authority
        self.register = EdgeRegistry(directory / "register.db")
        self.asked: list[tuple[str, str, bytes]] = []
        self.office = EstService(authority, self.register, lifetime=lifetime)
        answer = self.office.answer

        def noted(*asked: Any) -> Answer:
            self.asked.append((asked[1], asked[2], asked[3]))
            return answer(*asked)

        self.office.answer = noted  # type: ignore[method-assign,assignment]
        self.desk: EstServer | None = None

    def listen(self, identity: str = "office") -> None:
        self.desk = EstServer(self.office, ("127.0.0.1", 0), self.directory / identity)

    @property
    def address(self) -> str:
        assert self.desk is not None
        return f"127.0.0.1:{self.desk.port}"

    def token(self, edge: str = "edge1", lifetime: float = 60, hosts: tuple[str, ...] = ()) -> str:
        secret = self.register.create_token(edge, hosts, lifetime)
        return str(
            Token(edge, secret, fingerprint(der_of((self.directory / "ca.pem").read_bytes())))
        )

    def ask(
        self, path: str, body: bytes, token: str = "", peer: bytes | None = None
    ) -> tuple[int, str]:
        """Status, and code of what was refused."""
        edge, _, rest = token.partition(":")
        basic = base64.b64encode(f"{edge}:{rest.partition(':')[0]}".encode()).decode()
        answer = self.office.answer("POST", path, f"Basic {basic}" if token else "", body, peer)
        refused = answer.kind == "application/json"
        return int(answer.status), json.loads(answer.content)["code"] if refused else ""

    def close(self) -> None:
        if self.desk is not None:
            self.desk.close()


@pytest.fixture
def controller(authority: Path, tmp_path: Path) -> Iterator[Controller]:
    with closing(Controller(authority, tmp_path, timedelta(days=90))) as made:
        yield made


@pytest.fixture
def listening(controller: Controller) -> Controller:
    controller.listen()
    return controller


def refused(code: str, work: Any, *words: Any, **more: Any) -> str:
    with pytest.raises(Refused) as error:
        work(*words, **more)
    assert error.value.diagnostics[0].code == code, error.value
    return str(error.value)


def request(name: str = "edge1", key: bytes = b"") -> bytes:
    return base64.encodebytes(make_request(key or new_key_pem(), name))


# ---- granted --------------------------------------------------------------------------------


def test_an_edge_enrols(listening: Controller, tmp_path: Path) -> None:
    token = listening.token(hosts=("192.0.2.9", "edge1.example"))
    name, at = enrol(listening.address, token, tmp_path / "state")
    assert (name, at.address) == ("edge1", "127.0.0.1:50051")
    assert at == home(tmp_path / "state")
    found = read_identity(at.identity)
    certificate = x509.load_pem_x509_certificate(found.certificate)
    names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert set(names.get_values_for_type(x509.DNSName)) == {"edge1", "edge1.example"}
    assert [str(n) for n in names.get_values_for_type(x509.IPAddress)] == ["192.0.2.9"]
    assert not names.get_values_for_type(x509.UniformResourceIdentifier), "no role"
    files = sorted(at.path.iterdir())
    assert [f.name for f in files] == ["ca.pem", "controller.json", "edge.key", "edge.pem"]
    assert {stat.S_IMODE(f.stat().st_mode) for f in files} == {0o600}
    assert stat.S_IMODE(at.path.stat().st_mode) == 0o700
    sent = b"".join(body for _, _, body in listening.asked)
    key = b"".join(found.key.splitlines()[1:-1])
    assert key[:40] not in sent and key[:40] not in base64.b64decode(sent)
    assert listening.register.edges()[0].name == "edge1"


def test_what_root_enrols_is_the_agents(listening: Controller, tmp_path: Path) -> None:
    """The agent's user owns its state, and reads and renews its identity."""
    if os.geteuid():
        pytest.skip("gives files to another user: needs root")
    os.chown(tmp_path, 64999, 64999)
    _, at = enrol(listening.address, listening.token(), tmp_path)
    assert {path.stat().st_uid for path in (at.path, *at.path.iterdir())} == {64999}


def test_an_enrolment_that_was_killed_goes_on(
    listening: Controller, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Wherever that was; by then the token may have been spent."""

    class Killed(BaseException):
        pass

    write, state = edges._write, tmp_path / "state"
    for number in range(1, 5):
        token, left = listening.token(), [number]

        def dying(path: Path, data: bytes, left: list[int] = left) -> None:
            left[0] -= 1
            if left[0] == 0:
                raise Killed
            write(path, data)

        with monkeypatch.context() as patch, pytest.raises(Killed):
            patch.setattr(edges, "_write", dying)
            enrol(listening.address, token, state, replace=True)
        key = state / "enrolling" / "edge.key"
        before = key.read_bytes() if key.exists() else b""
        _, at = enrol(listening.address, token, state, replace=True)
        if number == 1:
            (at.path / "revoked").write_text("# nobody\n")
        assert (at.path / "revoked").read_text() == "# nobody\n", "who is revoked stays so"
        assert before in (b"", (at.path / "edge.key").read_bytes())
        assert not (state / "enrolling").exists() and read_identity(at.identity)


def test_an_edge_announces_itself(listening: Controller, tmp_path: Path) -> None:
    _, at = enrol(listening.address, listening.token(), tmp_path, "192.0.2.1:50051")
    assert listening.register.edges()[0].address == ""
    port = {"name": "LAN", "role": "lan", "number": 1, "interface": "eth1", "present": True}
    said = SAID | {"pipelines": [
        {"name": "linx", "program": "linx", "digest": "ab" * 32, "ports": [port]}
    ]}  # fmt: skip
    announce(at, said)
    (known,) = listening.register.edges()
    assert known.announced == said and known.address == "192.0.2.1:50051" and known.heard


def test_a_herald_says_what_is_new_and_renews(
    authority: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("helioc.runtime.enrolment.heartbeat.LOOK", 0.02)
    with closing(Controller(authority, tmp_path, timedelta(minutes=5))) as made:
        made.listen()
        _, at = enrol(made.address, made.token(), tmp_path / "state")
        before = (at.path / "edge.pem").read_bytes()
        herald = Heartbeat(at, list)
        herald.start()
        try:
            until(lambda: made.register.edges()[0].heard, "announced")
            assert (at.path / "edge.pem").read_bytes() != before, "five minutes of life are few"
            herald.at = replace(at, address="192.0.2.3:1")
            until(lambda: made.register.edges()[0].address == "192.0.2.3:1", "announced anew")
        finally:
            herald.stop()


def test_a_certificate_is_renewed(listening: Controller, tmp_path: Path) -> None:
    _, at = enrol(listening.address, listening.token(hosts=("192.0.2.9",)), tmp_path)
    assert not renew(at), "it is good for long"
    listening.office.lifetime = timedelta(minutes=5)
    _, at = enrol(listening.address, listening.token(hosts=("192.0.2.9",)), tmp_path, replace=True)
    before = read_identity(at.identity)
    listening.office.lifetime = timedelta(days=90)
    assert renew(at) and not renew(at)
    after = read_identity(at.identity)
    assert (before.key, before.authority) == (after.key, after.authority)
    old, new = map(x509.load_pem_x509_certificate, (before.certificate, after.certificate))
    assert new.serial_number != old.serial_number
    alternative = x509.SubjectAlternativeName
    assert new.extensions.get_extension_for_class(alternative) == (
        old.extensions.get_extension_for_class(alternative)
    )


# ---- refused to an edge ---------------------------------------------------------------------


def test_a_token_is_for_one_key(controller: Controller) -> None:
    token, key = controller.token(), new_key_pem()
    assert controller.ask(ENROL, request(key=key), token) == (200, "")
    assert controller.ask(ENROL, request(), token) == (401, "H0872")
    assert controller.ask(ENROL, request(key=key), token) == (200, ""), "a replay gives nothing new"


def test_of_two_keys_at_once_one_wins(controller: Controller) -> None:
    token = controller.token()
    bodies = [request() for _ in range(8)]
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda body: controller.ask(ENROL, body, token), bodies))
    assert sorted(answers) == [(200, ""), *[(401, "H0872")] * 7]


def test_a_token_expires(controller: Controller) -> None:
    token, key = controller.token(lifetime=-1), new_key_pem()
    assert controller.ask(ENROL, request(key=key), token) == (401, "H0872")


def test_a_token_is_for_one_edge(controller: Controller) -> None:
    token = controller.token("edge2")
    assert controller.ask(ENROL, request("edge1"), token) == (400, "H0873")
    mine = token.replace("edge2", "edge1", 1)
    assert controller.ask(ENROL, request("edge1"), mine) == (401, "H0872")
    assert controller.ask(ENROL, request("edge2"), token) == (200, "")


def der(key: Any, *names: str) -> bytes:
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name) for name in names])
    builder = x509.CertificateSigningRequestBuilder().subject_name(subject)
    return builder.sign(key, SHA256()).public_bytes(Encoding.DER)


def test_requests_that_are_none(controller: Controller) -> None:
    sound = make_request(new_key_pem(), "edge1")
    forged = sound[:-1] + bytes([sound[-1] ^ 1])
    wide = der(ec.generate_private_key(ec.SECP384R1()), "edge1")
    old = der(rsa.generate_private_key(65537, 2048), "edge1")
    two = der(ec.generate_private_key(ec.SECP256R1()), "edge1", "edge2")
    token = controller.token()
    for body in (b"", b"\0" * 99, b"!" * 5, b"abcde", *map(base64.encodebytes, (
        b"", b"x", sound[:-9], sound + b"x", forged, wide, old, two
    ))):  # fmt: skip
        assert controller.ask(ENROL, body, token) == (400, "H0873"), body
    assert controller.ask(ENROL, request(), token) == (200, ""), "the token is not spent by that"


def test_credentials_that_are_none(controller: Controller) -> None:
    for said in ("", "Basic", "Basic !!", "Bearer x", "Basic " + "A" * 9000,
                 "Basic " + base64.b64encode(b"edge1").decode(),
                 "Basic " + base64.b64encode(b"edge1:\xff").decode(),
                 "Basic " + base64.b64encode(b"edge1:' or 1 = 1 --").decode()):  # fmt: skip
        answer = controller.office.answer("POST", ENROL, said, request(), None)
        assert json.loads(answer.content)["code"] == "H0872", said
        assert answer.status == 401


def test_who_is_no_edge_renews_and_announces_nothing(controller: Controller) -> None:
    stranger = der_of((controller.directory / "edge1.pem").read_bytes())  # a client, with a role
    key = new_key_pem()
    for peer in (None, stranger):
        assert controller.ask(RENEW, request(key=key), peer=peer) == (403, "H0876")
        assert controller.ask("/helio/v1/announce", b"{}", peer=peer) == (403, "H0876")
    mine = granted(controller, key)
    assert peer_of(mine)[0] == "edge1"
    assert controller.ask(RENEW, request(key=key), peer=mine) == (200, "")
    assert controller.ask(RENEW, request(), peer=mine) == (400, "H0873"), "another key"
    assert controller.ask(RENEW, request("edge2", key), peer=mine) == (400, "H0873")
    granted(controller, new_key_pem())  # it enrols anew
    assert controller.ask(RENEW, request(key=key), peer=mine) == (403, "H0876")
    assert controller.register.remove("edge1") and not controller.register.remove("edge1")
    assert controller.ask(RENEW, request(key=key), peer=mine) == (403, "H0876")


def granted(controller: Controller, key: bytes) -> bytes:
    edge, secret, _ = controller.token().split(":")
    basic = "Basic " + base64.b64encode(f"{edge}:{secret}".encode()).decode()
    answer = controller.office.answer("POST", ENROL, basic, request(key=key), None)
    (certificate,) = certificates_in(base64.b64decode(answer.content))
    return certificate


def test_announcements_that_are_none(controller: Controller) -> None:
    mine = granted(controller, new_key_pem())
    port = {"name": "LAN", "role": "lan", "number": 1, "interface": "eth1"}
    pipeline = {"name": "p", "program": "p", "digest": "", "ports": [port]}
    for body in (b"", b"[]", b"\xff", b"[" * 9999, b'{"address": 1}',
                 json.dumps(SAID)[:-1].encode(), json.dumps(SAID | {"address": "\x1b[2J"}).encode(),
                 json.dumps(SAID | {"pipelines": [pipeline]}).encode()):  # fmt: skip
        assert controller.ask("/helio/v1/announce", body, peer=mine) == (400, "H0873"), body
    assert controller.register.edges()[0].heard is None


# ---- refused by an edge ---------------------------------------------------------------------


def test_a_secret_is_not_sent_to_who_is_not_the_tokens_controller(
    controller: Controller, tmp_path: Path
) -> None:
    """Also not to one that shows the right authority and has no certificate by it."""
    controller.listen("other/office")
    refused("H0874", enrol, controller.address, controller.token(), tmp_path / "state")
    token = controller.token()
    controller.office.directory /= "other"
    said = refused("H0871", enrol, controller.address, token, tmp_path / "state")
    assert controller.address in said
    assert {(path, said) for path, said, _ in controller.asked} == {
        ("/.well-known/est/cacerts", "")
    }


def test_a_controller_by_another_name(controller: Controller, tmp_path: Path) -> None:
    controller.listen("elsewhere")
    assert "IP address mismatch" in refused(
        "H0874", enrol, controller.address, controller.token(), tmp_path / "state"
    )
    assert not any(said for _, said, _ in controller.asked), "nor is it sent to that"


def test_nobody_there(tmp_path: Path, controller: Controller) -> None:
    token = controller.token()
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    refused("H0874", enrol, f"127.0.0.1:{port}", token, tmp_path / "state")
    for address in ("nowhere", "127.0.0.1:x", "127.0.0.1:123456", ":1"):
        refused("H0874", enrol, address, token, tmp_path / "state")


def test_a_certificate_that_is_not_what_was_asked_for(
    listening: Controller, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = der_of((listening.directory / "office.pem").read_bytes())
    monkeypatch.setattr("helioc.runtime.enrolment.est_server.grant", lambda *_: other)
    assert "for another key" in refused(
        "H0877", enrol, listening.address, listening.token(), tmp_path / "state"
    )
    assert home(tmp_path / "state") is None


@pytest.mark.parametrize(
    "text", ["", "x", "edge1:abc", "e:" + "a" * 22 + ":" + "g" * 64, ":".join("abcd"), "a" * 10_000,
             "ed ge:" + "a" * 22 + ":" + "0" * 64, "é:" + "a" * 22 + ":" + "0" * 64]
)  # fmt: skip
def test_tokens_that_are_none(text: str) -> None:
    refused("H0870", read_token, text)


def test_by_command(listening: Controller, tmp_path: Path) -> None:
    state, run = str(tmp_path / "state"), CliRunner().invoke
    words = ["enrol", listening.address, "--state", state, "--token"]
    done = run(cli, [*words, "-"], input=listening.token() + "\n")
    assert done.output == (
        f"enrolled as edge1 with {listening.address}; its agent is 127.0.0.1:50051\n"
    )
    again = run(cli, [*words, listening.token("edge2")])
    assert isinstance(again.exception, Refused)
    assert again.exception.diagnostics[0].code == "H0875"
    replaced = run(cli, [*words, listening.token("edge2"), "--replace", "--address", "[::1]:7"])
    assert "as edge2" in replaced.output and "[::1]:7" in replaced.output


# ---- the desk -------------------------------------------------------------------------------


def test_who_stalls_or_sends_too_much_harms_nobody(listening: Controller, tmp_path: Path) -> None:
    port = listening.desk.port if listening.desk else 0
    trusting = ssl.create_default_context(cafile=str(listening.directory / "ca.pem"))
    with ExitStack() as owned:
        for _ in range(20):
            owned.enter_context(socket.create_connection(("127.0.0.1", port)))

        def talk(text: bytes) -> bytes:
            plain = socket.create_connection(("127.0.0.1", port), timeout=5)
            with trusting.wrap_socket(plain, server_hostname="127.0.0.1") as secure:
                secure.sendall(text)
                return secure.recv(1000)

        for length in ("16385", "99999999999", "-1", "x", ""):
            said = talk(f"POST {ENROL} HTTP/1.0\r\nContent-Length: {length}\r\n\r\n".encode())
            assert b" 400 " in said, said
        assert b" 501 " in talk(b"PUT /x HTTP/1.0\r\n\r\n")
        assert b" 404 " in talk(b"GET /etc/passwd HTTP/1.0\r\n\r\n")
        assert b"400" in talk(b"\0\0\0\r\n\r\n")
        enrol(listening.address, listening.token(), tmp_path / "state")


@pytest.mark.parametrize("name", ["_serve", "run"])
def test_a_thread_that_cannot_be_started_takes_no_place(
    name: str, listening: Controller, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """That of a call (`_serve`), and of its timer (`run`)."""
    port = listening.desk.port if listening.desk else 0
    real, failed = threading.Thread.start, threading.Semaphore(0)

    def start(thread: threading.Thread) -> None:
        target = getattr(thread, "_target", None) or thread.run
        if target.__name__ != name:
            real(thread)
            return
        failed.release()
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as patched:
        patched.setattr(threading.Thread, "start", start)
        for _ in range(CALLS + 1):
            with socket.create_connection(("127.0.0.1", port), timeout=10) as made:
                assert not made.recv(1), "it is closed"
            assert failed.acquire(timeout=10)
    enrol(listening.address, listening.token(), tmp_path / "state")
