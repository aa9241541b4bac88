"""Packets of a live edge are traced: nothing is lost by that, however the trace ends."""

from __future__ import annotations

import json
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from edges import HELIOCTL, Edge
from helioc.runtime.kernel.handles import Link, Program
from helioc.runtime.kernel.pins import remove_directory
from helioc.runtime.loading.releases import ROOT, release_of, releases_of
from lab import Background, LabError, until
from linx.world import HERE, A, B
from linx_live import Linx
from traffic import drain, udp_socket

PORT = 7007


def start(edge: Edge, *words: str) -> Background:
    return edge.room.start(HELIOCTL, "--name", edge.name, "trace", *words)


def traced(edge: Edge, send: Callable[[], object], *words: str) -> list[dict[str, Any]]:
    """What a trace with `--count` says, while `send` is called again and again."""
    running = start(edge, "--json", *words)
    until(lambda: (send(), not running.running)[1], "the end of a trace that counts", 20)
    said = running.wait(0.1)
    running.stop()
    return [json.loads(line) for line in said.splitlines()]


def heard(running: Background, send: Callable[[], object], text: str) -> None:
    """`send`, until the trace says the text."""
    for _ in range(200):
        send()
        with suppress(LabError):
            running.expect(text, 0.1)
            return
    pytest.fail(f"no {text!r} in {running.output!r}")


def plain_in_place(edge: Edge) -> bool:
    """Whether every port's link leads to the plain build, and nothing of a traced one is left."""
    roles = {1: "lan", 2: "wan", 3: "wan"}
    (release,) = releases_of(edge.name)
    for number, role in roles.items():
        with (
            Link.open_pinned(ROOT / edge.name / f"link_{number}") as link,
            Program.open_pinned(release_of(edge.name, release) / f"entry_{role}") as entry,
        ):
            if link.info().program_id != entry.id:
                return False
    return not list((ROOT / edge.name).glob("release-*/trace"))


@contextmanager
def numbered(linx: Linx) -> Iterator[list[int]]:
    """Numbered datagrams from host A to host B as fast as they are taken, and in the end those that
    were lost."""
    lost: list[int] = []
    over = threading.Event()
    sent, came = 0, set[int]()

    def receive() -> None:
        while not over.is_set() or len(came) < sent:
            got = drain(server, 100, 0.5)
            came.update(int.from_bytes(data, "big") for data, _ in got)
            if over.is_set() and not got:
                return

    def send() -> None:
        nonlocal sent
        while not over.is_set():
            for _ in range(20):
                client.sendto(sent.to_bytes(4, "big"), (B.host, PORT))
                sent += 1
            over.wait(0.002)

    with (
        udp_socket(linx.world.host_a) as client,
        udp_socket(linx.world.host_b, B.host, PORT) as server,
    ):
        threads = [threading.Thread(target=each) for each in (send, receive)]
        for thread in threads:
            thread.start()
        try:
            yield lost
        finally:
            over.set()
            for thread in threads:
                thread.join()
        assert sent > 1000
        lost += sorted(set(range(sent)) - came)


def test_what_is_told(linx: Linx) -> None:
    with udp_socket(linx.world.host_a) as client:

        def send() -> None:
            client.sendto(b"question", (B.host, 53))
            client.sendto(b"other", (B.host, 54))

        found = traced(linx.a, send, "--count", "3", "user.dst in 10.2.0.0/16 and udp.dst = 53")
    assert [packet["number"] for packet in found] == [1, 2, 3]
    for packet in found:
        assert (packet["port"], packet["verdict"], packet["egress"]) == ("LAN", "redirect", "WAN1")
        assert [node["node"] for node in packet["path"]] == ["ethernet", "user", "udp"]
        assert b"question" in bytes.fromhex(packet["frame"])
        assert abs(packet["time"] - time.time()) < 60
        rules = [
            (s["kind"], s["id"], s.get("rule")) for s in packet["steps"] if s["what"] == "rule"
        ]
        assert rules == [("PDR", 1, None), ("FAR", 1, None), ("OVERLAY", 1, "GRE-WAN1")]
        key = next(step["values"] for step in packet["steps"] if step["what"] == "look")
        assert (key["dst_ip"], key["protocol"], key["dst_port"]) == (B.host, 17, 53)
    assert plain_in_place(linx.a)


def test_for_people(linx: Linx) -> None:
    running = start(linx.a, "--port", "LAN", "verdict = redirect")
    with udp_socket(linx.world.host_a) as client:
        heard(running, lambda: client.sendto(b"question", (B.host, 53)), "redirect by WAN1")
    said = running.stop(signal.SIGINT)
    assert "packet 1 at" in said
    assert "push outer / gre before user: outer.src" in said
    assert plain_in_place(linx.a)


def test_a_filter_that_is_left_to_the_command(linx: Linx) -> None:
    """Whether a packet has a key, an optional field, the data path does not look."""
    with udp_socket(linx.world.host_b) as client:

        def send() -> None:
            client.sendto(b"answer", (A.host, 9))

        found = traced(linx.a, send, "--count", "2", "gre.key = 7 and not udp.dst = 10")
        assert [packet["port"] for packet in found] == ["WAN1", "WAN1"]
        pops = [step for step in found[0]["steps"] if step["what"] == "pop"]
        assert pops == [{"what": "pop", "name": "user", "nodes": ["outer", "gre"]}]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_nothing_is_lost(linx: Linx, number: int) -> None:
    with numbered(linx) as lost:
        for _ in range(3):
            running = start(linx.a, "--json", f"udp.dst = {PORT}")
            running.expect('"redirect"', 20)
            running.stop(number)
            if number == signal.SIGKILL:
                assert not plain_in_place(linx.a)
                linx.a.control("list")
            assert plain_in_place(linx.a)
    assert lost == []


@pytest.fixture
def upgraded(linx: Linx, bundle: Path) -> Iterator[Linx]:
    """To be upgraded; loaded anew for the next test."""
    yield linx
    linx.a.load(bundle, HERE / "edge-a.yaml")
    linx.a.push(HERE / "rules-a.req")


def test_an_upgrade_ends_a_trace_and_loses_nothing(upgraded: Linx, bundle: Path) -> None:
    linx = upgraded
    with numbered(linx) as lost:
        running = start(linx.a, "--json", f"udp.dst = {PORT}")
        running.expect('"redirect"', 20)
        linx.a.control("upgrade", str(bundle))
        assert "was unloaded or upgraded" in running.wait(20)
        running.stop()
        assert releases_of(linx.a.name) == [2] and plain_in_place(linx.a)
        again = start(linx.a, "--json", f"udp.dst = {PORT}")
        again.expect('"redirect"', 20)
        again.stop(signal.SIGINT)
        assert plain_in_place(linx.a)
    assert lost == []


def test_a_slow_reader_costs_packets_nothing(linx: Linx) -> None:
    with numbered(linx) as lost:
        running = start(linx.a, "--json")  # nobody reads what it says: its pipe is full soon
        running.expect('"redirect"', 20)
        until(lambda: running.unread > 48 << 10, "a full pipe", 20)
        running.stop(signal.SIGKILL)
    linx.a.control("list")
    assert lost == [] and plain_in_place(linx.a)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["udp.dst == 53"], "H0855"),
        (["usr.dst = 10.2.0.5"], "did you mean `user`?"),
        (["user.dst = 53"], "H0857"),
        (["--sample", "3"], "H0854"),
        (["--port", "LAM"], "did you mean `LAN`?"),
    ],
)
def test_what_is_refused(linx: Linx, words: list[str], said: str) -> None:
    with pytest.raises(LabError, match=said):
        linx.a.control("trace", *words)
    assert plain_in_place(linx.a)


def test_one_at_a_time(linx: Linx) -> None:
    running = start(linx.a)
    until(lambda: list((ROOT / linx.a.name).glob("release-*/trace")), "a trace")
    with pytest.raises(LabError, match="H0851"):
        linx.a.control("trace")
    running.stop(signal.SIGINT)
    assert plain_in_place(linx.a)


def test_pins_that_went_before_their_programs(linx: Linx) -> None:
    """Links may lead to a traced build that nobody can name any more; the next trace knows it."""
    running = start(linx.a, "--json")
    with udp_socket(linx.world.host_a) as client:
        heard(running, lambda: client.sendto(b"question", (B.host, 53)), '"redirect"')
        running.stop(signal.SIGKILL)
        (folder,) = (ROOT / linx.a.name).glob("release-*/trace")
        remove_directory(folder)
        assert not plain_in_place(linx.a)
        assert traced(linx.a, lambda: client.sendto(b"question", (B.host, 53)), "--count", "1")
    assert plain_in_place(linx.a)


def test_without_a_traced_build(linx: Linx, tmp_path: Path) -> None:
    (ROOT / linx.a.name / "release-1" / "traced").rename(ROOT / linx.a.name / "release-1" / "aside")
    try:
        with pytest.raises(LabError, match="H0850"):
            linx.a.control("trace")
    finally:
        (ROOT / linx.a.name / "release-1" / "aside").rename(
            ROOT / linx.a.name / "release-1" / "traced"
        )
