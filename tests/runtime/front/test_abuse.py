"""HTTP/2 and TLS abused by a client made for it (http2_abuse.py): another client is served all the
time, and what the agent took for it is given back.

`HELIO_ABUSE` says for how many seconds each attack is tried in each way by itself; without it all
are tried shortly, in one way each. `pytest -s` shows the figures.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import pytest
from abused import Beside, Usage, attack, beside, read, usage
from agent_world import EDGE, World, world
from helioc.runtime.client import Rejected
from helioc.runtime.loading.bundle import read_bundle
from http2 import Target
from http2_abuse import ATTACKS
from lab import Background, Lab, Namespace, until
from leaks import PREFIX
from tls_world import PORT

SECONDS = float(os.environ.get("HELIO_ABUSE", "0"))
OPEN = PORT + 1
#: The agent's addresses, as the attacker and the other client see it; each has a wire of its own.
AT, BESIDE_AT = "10.9.1.1", "10.9.2.1"
CONNECTIONS = 8
#: Rules that listings have.
_RULES = 2000
#: What an attack may cost: MiB in all processes, descriptors and threads that stay; and in a run at
#: night milliseconds of one in a hundred of another's calls.
GROWN, LEFT, MOST_THREADS, SLOW = 300, 40, 300, 50.0

#: Before a byte of HTTP/2: what is tried with TLS only.
_HANDSHAKES = ("slow_hello", "plain_text", "failing_handshakes", "handshakes")
_ALL = [name for name in ATTACKS if name not in _HANDSHAKES]
WAYS = {"rules": [*_ALL, *_HANDSHAKES], "read": _ALL, "open": _ALL}


CASES = (
    [(way, (name,)) for way, names in WAYS.items() for name in names]
    if SECONDS
    else [*((way, tuple(_ALL[at::3])) for at, way in enumerate(WAYS)), ("rules", _HANDSHAKES)]
)


def named(case: object) -> str:
    return case if isinstance(case, str) else str(case[0]) if isinstance(case, Sequence) else ""


@dataclass
class Scene:
    here: World
    attacker: Namespace
    process: Background
    beside: Beside
    certs: Path

    def target(self, way: str) -> Target:
        if way == "unix":
            return Target(unix=str(self.here.socket))
        if way == "open":
            return Target(host=AT, port=OPEN)
        identity = str(self.certs / f"attacker-{way}")
        return Target(host=AT, port=PORT, secure=True, identity=identity)


@pytest.fixture(scope="module")
def scene(kernel: None, certs: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    directory = tmp_path_factory.mktemp("abuse")
    with ExitStack() as owned:
        lab = owned.enter_context(Lab(f"{PREFIX}abuse-"))
        here = owned.enter_context(world(lab, directory))
        attacker, other = lab.namespace("attacker"), lab.namespace("other")
        for number, (place, at) in enumerate(((attacker, AT), (other, BESIDE_AT))):
            lab.wire(place, "eth0", here.edge, f"mgmt{number}")
            here.edge.address(f"mgmt{number}", f"{at}/24")
            place.address("eth0", f"{at[:-1]}2/24")
        process = owned.enter_context(here.agent(
            "--tcp", f"0.0.0.0:{PORT}", "--identity", str(certs / "agent"),
            "--insecure-tcp", f"0.0.0.0:{OPEN}",
        ))  # fmt: skip
        owned.enter_context(read(process))
        with here.client() as client:
            client.load(read_bundle(directory / "bundle"), EDGE)
            creates = (f"create FAR {n} [(action, u8, DROP)]" for n in range(1, _RULES))
            client.apply("; ".join(creates))
        known = {"address": f"{BESIDE_AT}:{PORT}", "pipeline": here.name, "timeout": 10,
                 "identity": str(certs / "a-rules"), "server_name": "localhost"}  # fmt: skip
        served = owned.enter_context(beside(other.inside(), **known))
        begun = 0  # a reader is started at the first call that looks
        while begun < 30:
            begun += served.report().calls
        yield Scene(here, attacker, process, served, certs)
    said = process.output
    assert "Traceback" not in said and "never retrieved" not in said, said[-3000:]
    assert "H9999" not in said


@pytest.mark.parametrize(("way", "names"), CASES, ids=named)
def test_abuse_harms_nobody_else(scene: Scene, way: str, names: tuple[str, ...]) -> None:
    before = usage(scene.process.pid)
    threading.Event().wait(SECONDS / 4)
    quiet = scene.beside.report()
    done = attack(scene.attacker.inside(), names, scene.target(way), SECONDS or 0.2, CONNECTIONS)
    seen = scene.beside.report()
    assert all(each["done"] or each["ended"] for each in done.values()), done
    sys.stdout.write(
        f"\n{way} {done}: quiet p50 {quiet.p50:.1f} p99 {quiet.p99:.1f}, then {seen}; "
        f"{before} {usage(scene.process.pid)}\n"
    )
    assert not seen.refused and seen.calls > 5, seen
    if SECONDS:  # others' work on this machine slows it too
        assert seen.p99 < max(SLOW, 2 * quiet.p99), (quiet, seen)
    assert_given_back(scene, before)


def assert_given_back(scene: Scene, before: Usage) -> None:
    """Not all memory: what C's allocator once had it keeps; but no more of it each time."""

    def over() -> bool:
        now = usage(scene.process.pid)
        return now.descriptors <= before.descriptors + LEFT and now.size <= before.size + GROWN

    until(over, f"{before} again, not {usage(scene.process.pid)}", 30)
    assert usage(scene.process.pid).threads <= MOST_THREADS
    with scene.here.client() as client:
        assert client.apply("update FAR 1 [(action, u8, DROP)]").revision


@pytest.mark.parametrize("names", [tuple(_ALL)] if not SECONDS else [(n,) for n in _ALL])
def test_abuse_of_the_unix_socket_ends(scene: Scene, names: tuple[str, ...]) -> None:
    """Who may open it may do everything, also take what others need; the agent goes on."""
    attack(scene.here.edge.inside(), names, scene.target("unix"), SECONDS or 0.1, 2)
    until(lambda: _served(scene), "the socket's calls have ended", 30)
    until(lambda: not scene.beside.report().refused, "others are served again", 30)


def _served(scene: Scene) -> bool:
    """Not refused for the calls that the client before had."""
    try:
        with scene.here.client() as client:
            return client.apply("update FAR 1 [(action, u8, DROP)]").revision > 0
    except Rejected as rejected:
        assert rejected.diagnostics[0].code == "H0770"
        return False
