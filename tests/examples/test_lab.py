"""The network laboratory does what examples and tests rely on, and takes itself away."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from lab import Lab, LabError, Namespace, namespaces, until
from leaks import PREFIX
from scapy.layers.inet import ICMP, IP, UDP
from scapy.layers.l2 import Ether

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.fixture
def pair(lab: Lab) -> tuple[Namespace, Namespace]:
    """Two namespaces on one wire: 10.0.0.1 on eth0 and 10.0.0.2 on eth1."""
    one, other = lab.namespace("one"), lab.namespace("other")
    lab.wire(one, "eth0", other, "eth1", mtu=1400)
    one.address("eth0", "10.0.0.1/24", "fd00::1/64")
    other.address("eth1", "10.0.0.2/24", "fd00::2/64")
    return one, other


def test_namespaces_reach_each_other(pair: tuple[Namespace, Namespace]) -> None:
    one, _ = pair
    assert "1 received" in one.run("ping", "-c", "1", "-W", "2", "10.0.0.2")
    assert "1 received" in one.run("ping", "-c", "1", "-W", "2", "fd00::2")
    assert "mtu 1400" in one.ip("link", "show", "eth0")
    assert "tx-checksumming: off" in one.run("ethtool", "-k", "eth0")


def test_bpffs_is_visible_inside(lab: Lab, pins: Path) -> None:
    assert pins.name in lab.namespace("one").run("ls", "/sys/fs/bpf").split()


def test_raw_frames_cross_unchanged(pair: tuple[Namespace, Namespace]) -> None:
    one, other = pair
    sender, receiver = one.wire("eth0"), other.wire("eth1")
    frame = bytes(
        Ether(src=one.mac("eth0"), dst=other.mac("eth1"))
        / IP(src="10.0.0.1", dst="10.0.0.2")
        / UDP(sport=5, dport=9)
        / b"payload"
    )
    sender.send(frame)
    assert receiver.expect(lambda got: got.endswith(b"payload")) == frame
    # The port is closed: other's kernel answers with an ICMP error, which quotes the payload.
    assert sender.expect(lambda got: ICMP in Ether(got)).endswith(b"payload")


def test_the_caller_stays_outside(lab: Lab) -> None:
    home = os.readlink("/proc/thread-self/ns/net")
    inside = lab.namespace("one").inside_thread(lambda: os.readlink("/proc/thread-self/ns/net"))
    assert inside != home == os.readlink("/proc/thread-self/ns/net")


def test_an_error_inside_comes_out(lab: Lab) -> None:
    with pytest.raises(OSError, match="No such device"):
        lab.namespace("one").wire("eth7")
    with pytest.raises(LabError, match="nsenter.*false: exit 1"):
        lab.namespace("other").run("false")


def test_background_processes_end_with_their_children(lab: Lab) -> None:
    one = lab.namespace("one")
    process = one.start("sh", "-c", "tail -f /dev/null & echo started; wait")
    process.expect("started")
    assert len(_pids_in(one)) >= 2
    process.stop()
    assert process.stop() == "started\n"
    until(lambda: not _pids_in(one), "every process of the group gone")
    with pytest.raises(LabError, match="no 'more' in its output: started"):
        process.expect("more")


def test_waiting_reports_a_failure(lab: Lab) -> None:
    one = lab.namespace("one")
    assert one.start("echo", "well").wait() == "well\n"
    with pytest.raises(LabError, match="exit 3: badly"):
        one.start("sh", "-c", "echo badly; exit 3").wait()


def test_an_exception_takes_everything_away(kernel: None) -> None:
    prefix = f"{PREFIX}broken-"
    with pytest.raises(RuntimeError, match="on purpose"), Lab(prefix) as lab:
        lab.namespace("one").start("tail", "-f", "/dev/null")
        raise RuntimeError("on purpose")
    assert namespaces(prefix) == []


KILLED = """
import sys
from lab import Lab
with Lab(sys.argv[1]) as lab:
    lab.wire(lab.namespace("one"), "eth0", lab.namespace("other"), "eth0")
    waiting = lab.namespace("third").start("tail", "-f", "/dev/null")
    print("ready", flush=True)
    waiting.wait()
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_an_interrupted_run_leaves_nothing_to_the_next(kernel: None, number: int) -> None:
    prefix = f"{PREFIX}killed-"
    with subprocess.Popen(
        [sys.executable, "-c", KILLED, prefix],
        env=os.environ | {"PYTHONPATH": str(EXAMPLES)},
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as run:
        assert run.stdout is not None
        assert run.stdout.readline() == "ready\n"
        run.send_signal(number)
    # Ctrl-C lets it clean up; kill -9 does not, and then the next run with its prefix does.
    assert bool(namespaces(prefix)) == (number == signal.SIGKILL)
    with Lab(prefix):
        assert namespaces(prefix) == []


def test_patience_has_an_end() -> None:
    begin = time.monotonic()
    with pytest.raises(LabError, match="pigs fly: not so after 0.02 s"):
        until(lambda: False, "pigs fly", seconds=0.02)
    assert time.monotonic() - begin < 1


def test_nothing_is_sent_unasked(lab: Lab) -> None:
    one, other = lab.namespace("one"), lab.namespace("other")
    lab.wire(one, "eth0", other, "eth0")
    assert other.wire("eth0").receive(0.1) is None


def _pids_in(room: Namespace) -> list[str]:
    listed = subprocess.run(["ip", "netns", "pids", room.name], capture_output=True, text=True)
    return listed.stdout.split()
