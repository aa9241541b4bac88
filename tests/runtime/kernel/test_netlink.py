"""What heliod asks of the kernel leaves what an operator configured as it is."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator

import pytest
from helioc.runtime.kernel.netlink import Netlink
from lab import Lab, Namespace, until

pytestmark = pytest.mark.usefixtures("kernel")

PEER, MAC = "192.0.2.2", "02:00:00:00:00:77"


@pytest.fixture
def host(lab: Lab) -> Iterator[Namespace]:
    here, there = lab.namespace("here"), lab.namespace("there")
    lab.wire(here, "eth0", there, "eth0")
    here.address("eth0", "192.0.2.1/24")
    there.address("eth0", "192.0.2.3/24")
    yield here


def probe(host: Namespace, address: str) -> None:
    def ask() -> None:
        with Netlink() as netlink:
            netlink.probe(socket.if_nametoindex("eth0"), socket.inet_aton(address))

    host.inside_thread(ask)


def state(host: Namespace, address: str) -> list[str]:
    entries = json.loads(
        host.ip("-json", "neighbour", "show", address, "dev", "eth0", "nud", "all")
    )
    return [word for entry in entries for word in entry["state"]]


@pytest.mark.parametrize("kept", ["permanent", "noarp"])
def test_a_configured_neighbour_stays(host: Namespace, kept: str) -> None:
    """Nobody answers for it: a dynamic entry in its place would fail."""
    host.ip("neighbour", "replace", PEER, "lladdr", MAC, "dev", "eth0", "nud", kept)
    probe(host, PEER)
    assert state(host, PEER) == [kept.upper()]


def test_a_missing_neighbour_is_asked_for(host: Namespace) -> None:
    probe(host, "192.0.2.3")
    until(lambda: state(host, "192.0.2.3") == ["REACHABLE"], "the neighbour answers")


def test_a_failed_neighbour_is_asked_for_again(host: Namespace) -> None:
    probe(host, PEER)
    until(lambda: state(host, PEER) == ["FAILED"], "nobody has that address")
    probe(host, PEER)
    assert state(host, PEER) == ["INCOMPLETE"]
