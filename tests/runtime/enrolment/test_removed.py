"""Whom a controller takes for an edge: who shows a certificate that it has granted, and not
withdrawn by removing the edge."""

from __future__ import annotations

import base64
import sqlite3
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any

import grpc
import pytest
from controller.main import client_of
from helioc.lang.text.diagnostics import Refused
from helioc.runtime.base.certs import issue, new_authority
from helioc.runtime.client import Client, Rejected
from helioc.runtime.enrolment.certificates import (
    certificates_in,
    der_of,
    make_request,
    new_key_pem,
    pem_of,
)
from helioc.runtime.enrolment.edge_registry import EdgeRegistry
from helioc.runtime.enrolment.est_server import EstService
from helioc.runtime.rpc import control_pb2 as pb

ENROL, RENEW = "/.well-known/est/simpleenroll", "/.well-known/est/simplereenroll"


@dataclass
class Somebody:
    """An edge, or who has its key. `calls`: how often it was asked."""

    key: bytes
    certificate: bytes
    calls: list[str] = field(default_factory=list)

    @contextmanager
    def listening(self, authority: bytes) -> Iterator[str]:
        """As an agent at the address that this yields."""

        def status(request: bytes, context: grpc.ServicerContext) -> bytes:
            self.calls.append("Status")
            return pb.StatusReply(version="1").SerializeToString()

        handlers: dict[str, Any] = {"Status": grpc.unary_unary_rpc_method_handler(status)}
        workers = ThreadPoolExecutor(2)
        server = grpc.server(workers)
        server.add_generic_rpc_handlers(
            (grpc.method_handlers_generic_handler("helio.control.v1.Control", handlers),)
        )
        credentials = grpc.ssl_server_credentials(
            [(self.key, self.certificate)], authority, require_client_auth=True
        )
        port = server.add_secure_port("127.0.0.1:0", credentials)
        server.start()
        try:
            yield f"127.0.0.1:{port}"
        finally:
            server.stop(None).wait()
            workers.shutdown()


class Controller:
    def __init__(self, state: Path) -> None:
        new_authority(state)
        issue(state, "controller", "rules")
        self.state = state
        self.authority = (state / "ca.pem").read_bytes()
        self.register = EdgeRegistry(state / "register.db")
        self.office = EstService(state, self.register)

    def enrol(self, edge: str) -> Somebody:
        secret, key = self.register.create_token(edge, ["127.0.0.1"], 60), new_key_pem()
        basic = base64.b64encode(f"{edge}:{secret}".encode()).decode()
        return Somebody(key, self._ask(ENROL, edge, key, f"Basic {basic}", None))

    def renew(self, edge: str, who: Somebody) -> Somebody:
        peer = der_of(who.certificate)
        return Somebody(who.key, self._ask(RENEW, edge, who.key, "", peer))

    def _ask(self, path: str, edge: str, key: bytes, said: str, peer: bytes | None) -> bytes:
        body = base64.encodebytes(make_request(key, edge))
        answer = self.office.answer("POST", path, said, body, peer)
        assert answer.status == 200
        return pem_of(certificates_in(base64.b64decode(answer.content))[0])

    def client(self, edge: str, address: str) -> Client:
        return client_of(self.state, self.register, edge, address, "", 5)

    def believes(self, edge: str, who: Somebody) -> bool:
        before = len(who.calls)
        with who.listening(self.authority) as address:
            try:
                with self.client(edge, address) as client:
                    client.status()
            except Rejected as error:
                assert error.diagnostics[0].code == "H0763" and len(who.calls) == before
                return False
        assert len(who.calls) == before + 1
        return True


@pytest.fixture
def controller(tmp_path: Path) -> Controller:
    return Controller(tmp_path)


def test_who_has_the_key_of_a_removed_edge_is_not_asked(controller: Controller) -> None:
    old = controller.enrol("edge1")
    assert controller.believes("edge1", old)
    assert controller.register.remove("edge1")
    with pytest.raises(Refused, match="H0880"):
        controller.believes("edge1", old)
    new = controller.enrol("edge1")
    assert controller.believes("edge1", new), "enrolled anew"
    assert not controller.believes("edge1", old), "not by the key that it had"
    assert controller.believes("edge1", controller.renew("edge1", new))
    assert controller.believes("edge1", new), "the certificate before is still good"


def test_who_enrolled_anew_without_being_removed_has_one_key(controller: Controller) -> None:
    old, new = controller.enrol("edge1"), controller.enrol("edge1")
    assert controller.believes("edge1", new) and not controller.believes("edge1", old)


def test_who_has_not_enrolled_is_known_by_the_authority(controller: Controller) -> None:
    issue(controller.state, "edge7", None, ["127.0.0.1"])
    own = Somebody(
        (controller.state / "edge7.key").read_bytes(), (controller.state / "edge7.pem").read_bytes()
    )
    assert controller.believes("edge7", own)
    assert not controller.believes("edge7", controller.enrol("edge1")), "another's name"


def test_a_removed_edge_is_so_while_its_certificate_is_good(controller: Controller) -> None:
    controller.office.lifetime = timedelta(seconds=-1)
    controller.enrol("edge1")
    with pytest.raises(Refused, match="H0880.*no certificate that is good"):
        controller.register.trusted("edge1")
    controller.register.remove("edge1")
    assert controller.register.trusted("edge1") == b""


def test_a_register_of_an_earlier_release(controller: Controller) -> None:
    """It knows keys, and not the certificates: any by the authority is good until the next."""
    edge = controller.enrol("edge1")
    with closing(sqlite3.connect(controller.state / "register.db")) as database, database:
        database.execute("drop table granted")
        database.execute("drop table removed")
    controller.register = controller.office.register = EdgeRegistry(
        controller.state / "register.db"
    )
    assert controller.register.trusted("edge1") == b"" and controller.believes("edge1", edge)
    renewed = controller.renew("edge1", edge)
    assert controller.register.trusted("edge1") == renewed.certificate
    controller.register.remove("edge1")
    with pytest.raises(Refused, match="H0880"):
        controller.register.trusted("edge1")
