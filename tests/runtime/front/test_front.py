"""Strangers and floods at the agent's TCP port."""

from __future__ import annotations

import itertools
import socket
import ssl
from contextlib import ExitStack
from errno import EAGAIN
from pathlib import Path

import pytest
from agent_world import World
from helioc.runtime.base.source_limits import Bounds
from helioc.runtime.client import Client
from tls_world import PORT, within

pytestmark = pytest.mark.usefixtures("kernel")

ATTACKER = "127.0.0.9"


def connect(count: int) -> list[socket.socket]:
    """So many connections of the attacker's, of which nothing is ever heard."""
    made = [socket.socket() for _ in range(count)]
    for each in made:
        each.bind((ATTACKER, 0))
        each.setblocking(False)
        each.connect_ex(("127.0.0.1", PORT))
    return made


def pid(client: Client) -> int:
    client.pipeline = ""
    return client.status().pid


def listening(here: World, certs: Path) -> tuple[str, ...]:
    return ("--tcp", f"127.0.0.1:{PORT}", "--identity", str(certs / "agent"))


def test_idle_connections_lock_nobody_out(here: World, certs: Path) -> None:
    """Neither who is connected nor who comes then."""

    def go(client: Client) -> None:
        assert pid(client)
        with ExitStack() as owned:
            for each in here.edge.inside_thread(lambda: connect(1500)):
                owned.enter_context(each)
            assert pid(client)
            assert within(here, certs, "a-read", pid)

    with here.agent(*listening(here, certs)) as process:
        within(here, certs, "a-admin", go)
        process.expect(f'why="more than {Bounds().handshakes} handshakes at a time"')


def test_handshakes_that_fail_are_reported_and_bounded(here: World, certs: Path) -> None:
    def attempt() -> str:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        with socket.socket() as made:
            made.bind((ATTACKER, 0))
            made.settimeout(10)
            try:
                made.connect(("127.0.0.1", PORT))
                with context.wrap_socket(made) as tls:  # TLS 1.3: the client is done first
                    assert not tls.recv(1)
            except ssl.SSLError as error:
                return str(error.reason)
            except ConnectionError:
                return "closed"
        return "ended"

    with here.agent(*listening(here, certs)) as process:
        count = int(Bounds().failures)
        # one more may fail every `forget / failures` seconds
        said = here.edge.inside_thread(lambda: [*itertools.islice(iter(attempt, "closed"), 100)])
        assert count <= len(said) < 100 and {*said} == {"TLSV13_ALERT_CERTIFICATE_REQUIRED"}
        process.expect('why="TLS: peer did not return a certificate"')
        log = process.expect(f'why="{count} handshakes failed')
        assert "heliod.audit: WARNING: time=" in log
        assert f" address={ATTACKER} method=connect why=" in log and " answer=refused\n" in log
        assert within(here, certs, "a-read", pid)


def test_a_source_that_connects_without_end_is_dropped_by_the_kernel(
    here: World, certs: Path
) -> None:
    """Its connections are refused, then not even that; others' are served."""

    def flood() -> None:
        """Until more are refused than may be."""
        bounds, answered = Bounds(), 0
        while answered < bounds.burst + bounds.refusals_burst + 200:
            with socket.socket() as made:
                made.bind((ATTACKER, 0))
                made.settimeout(0.3)
                answered += made.connect_ex(("127.0.0.1", PORT)) != EAGAIN

    with here.agent(*listening(here, certs)) as process:
        here.edge.inside_thread(flood)
        process.expect(f'address={ATTACKER} method=connect why="it connects too often')
        assert within(here, certs, "a-read", pid)
