"""The reference controller and etcd: what is kept there, and what may come between them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest
from controller import etcd_pb2
from controller.desired_state import Edge, Piece, Rules
from controller.etcd import SILENCE, Etcd, desired_state_of
from fleet_world import DROP, PASS, PDR, Cable, Edges, EtcdServer, controller, etcd
from lab import until

CONTROLLER = Path(etcd_pb2.__file__).parent

pytestmark = pytest.mark.usefixtures("tidy")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EtcdServer]:
    with etcd(tmp_path_factory.mktemp("etcd")) as made:
        yield made


@pytest.fixture
def store(server: EtcdServer) -> EtcdServer:
    server.ctl("del", "--prefix", "/helio/")
    return server


@contextmanager
def followed(
    address: str, tell: Any, announced: Any = dict, silence: float = SILENCE
) -> Iterator[Etcd]:
    source = Etcd(address, tell, timeout=2, announced=announced, silence=silence)
    try:
        source.start()
        yield source
    finally:
        source.stop()


def test_etcd_is_kept(two: Edges, store: EtcdServer, tmp_path: Path) -> None:
    here = f"one/{two.pipeline('one')}"
    store.put({"one": two.worlds["one"].address, f"{here}/drop": DROP})
    with controller(tmp_path) as made, followed(store.address, made.fleet.set_desired):
        made.until("one", "in step")
        assert two.rules("one") == [DROP]
        with two.transactions("one") as done:
            store.put({f"{here}/drop": PASS, f"{here}/pdr": PDR})
            until(lambda: done, "told")
            assert two.rules("one") == [PDR, PASS], "one transaction there is one here"
        assert len(done) == 1
        store.put({f"{here}/pdr": "PDR 5 [(dst_ip, u32, 10.2.0.0/33), FAR 1]"})
        state = made.until("one", "refused")
        assert f"/helio/edges/{here}/pdr:1" in state.notes[0] and "H0420" in state.notes[0]
        store.put({f"{here}/pdr": None, f"{here}/drop": None, here: ""})
        made.until("one", "in step")
        assert two.rules("one") == []


def test_etcd_is_gone_and_comes_back(two: Edges, store: EtcdServer, tmp_path: Path) -> None:
    """Cut off from etcd, the controller keeps what was wanted; then it goes on where it was, also
    where etcd has forgotten what came next."""
    here, cable = f"one/{two.pipeline('one')}", Cable(store.port)
    store.put({"one": two.worlds["one"].address, f"{here}/drop": DROP})
    with ExitStack() as owned:
        owned.callback(cable.close)
        made = owned.enter_context(controller(tmp_path))
        source = owned.enter_context(followed(cable.address, made.fleet.set_desired))
        made.until("one", "in step")
        for compacted in (False, True):
            cable.cut()
            until(lambda: source.error, "the cut is seen")
            with two.client("one") as other:
                other.apply("replace FAR 1 [(action, u8, PASS)]")
            until(lambda: two.rules("one") == [DROP], "kept without etcd")
            store.put({f"{here}/pdr": PDR})
            store.put({f"{here}/pdr": None, f"{here}/far": "FAR 2 [(action, u8, DROP)]"})
            if compacted:
                revision = (
                    store.ctl("get", "x", "-w", "fields").split('"Revision" : ')[1].split()[0]
                )
                store.ctl("compact", revision)
            cable.repair()
            until(lambda: len(two.rules("one")) == 2 and not source.error, "resumed")
            store.put({f"{here}/far": None})
            until(lambda: two.rules("one") == [DROP], "watched again")


def test_etcd_stands_still_without_hanging_up(
    two: Edges, store: EtcdServer, tmp_path: Path
) -> None:
    """Its connections stay, and its kernel acknowledges what it is sent."""
    here = f"one/{two.pipeline('one')}"
    store.put({"one": two.worlds["one"].address, f"{here}/drop": DROP})
    assert store.process is not None
    with ExitStack() as owned:
        made = owned.enter_context(controller(tmp_path))
        source = owned.enter_context(followed(store.address, made.fleet.set_desired, silence=1))
        made.until("one", "in step")
        owned.callback(os.kill, store.process.pid, signal.SIGCONT)
        os.kill(store.process.pid, signal.SIGSTOP)
        until(lambda: source.error, "nobody answers")
        with two.client("one") as other:
            other.apply("replace FAR 1 [(action, u8, PASS)]")
        until(lambda: two.rules("one") == [DROP], "kept meanwhile")
        os.kill(store.process.pid, signal.SIGCONT)
        store.put({f"{here}/drop": PASS})
        until(lambda: two.rules("one") == [PASS] and not source.error, "resumed")


def test_what_an_edge_announced_to_one_controller_all_know(
    two: Edges, store: EtcdServer, tmp_path: Path
) -> None:
    """And two that keep the same edge do not disturb each other: the same request on the same
    revision is one by its key."""
    said = {"one": {"address": two.worlds["one"].address}}
    store.put({f"one/{two.pipeline('one')}": DROP})
    with ExitStack() as owned:
        made = [owned.enter_context(controller(tmp_path)) for _ in range(2)]
        office = owned.enter_context(
            followed(store.address, made[0].fleet.set_desired, lambda: said)
        )
        owned.enter_context(followed(store.address, made[1].fleet.set_desired))
        for each in made:
            each.until("one", "in step")
        with two.transactions("one") as done:
            two.worlds["one"].ctl("update", PASS)
            until(lambda: len(done) > 1, "repaired")
            with two.client("one") as client:
                now = client.status().pipelines[0].revision
            until(lambda: all(each.state("one").revision >= now for each in made), "both saw it")
        assert two.rules("one") == [DROP]
        assert len(done) == 2, "somebody's, and one that mends it"
        said["one"] = {"address": "unix:/nowhere"}
        office.publish()
        made[1].until("one", "unreachable")


def test_keys_of_etcd() -> None:
    found = desired_state_of({
        b"/h/edges/b/p": b"FAR 1 []", b"/h/edges/a": b" a:1 \n", b"/h/edges/b/p/x/y": b"FAR 2 []",
        b"/h/edges/a/p": b"", b"/h/announced/a": b'{"address": "a:2"}', b"/h/edges/c/p": b"",
        b"/h/announced/b": b'{"address": "b:2"}', b"/h/announced/c": b"[]", b"/h/other": b"x",
    }, b"/h/")  # fmt: skip
    pieces = (Piece("/h/edges/b/p", "FAR 1 []"), Piece("/h/edges/b/p/x/y", "FAR 2 []"))
    empty = {"p": Rules((Piece("/h/edges/a/p", ""),))}
    assert found["a"] == Edge("a:1", empty) and found["c"].address == ""
    assert found["b"] == Edge("b:2", {"p": Rules(pieces)})


def test_files_of_etcd_are_fresh(tmp_path: Path) -> None:
    run = subprocess.run(
        [CONTROLLER / "generate.sh", tmp_path], capture_output=True, text=True, timeout=60,
        env={**os.environ, "PYTHON": sys.executable},
    )  # fmt: skip
    assert run.returncode == 0, run.stderr
    for name in ("etcd_pb2.py", "etcd_pb2.pyi"):
        assert (tmp_path / name).read_text() == (CONTROLLER / name).read_text(), name
