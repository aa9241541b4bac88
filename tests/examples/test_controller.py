"""The reference controller: real agents, a file or etcd, and what may come between them."""

from __future__ import annotations

import logging
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import replace
from functools import partial
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import grpc
import pytest
from controller import board, etcd_pb2
from controller.board import State
from controller.etcd import SILENCE, Etcd, wanted_of
from controller.fleet import File
from controller.wanted import Edge, Piece, Rules, read_file
from fleet_world import (
    QUICK,
    Cable,
    Controller,
    Edges,
    EtcdServer,
    controller,
    edges,
    etcd,
    put_away,
)
from helioc.lang.diagnostics import Refused
from helioc.lang.request import request_text
from helioc.runtime.agent.outcome import Outcome
from helioc.runtime.client import Client, Rejected
from helioc.runtime.rpc import control_pb2 as pb
from helioc.runtime.wanted import Difference
from lab import until

CONTROLLER = Path(etcd_pb2.__file__).parent
DROP, PASS = "FAR 1 [(action, u8, DROP)]", "FAR 1 [(action, u8, PASS)]"
PDR = "PDR 5 [(dst_ip, u32, 10.2.0.0/16), FAR 1]"


@pytest.fixture(autouse=True)
def tidy() -> Iterator[None]:
    with put_away():
        yield


@pytest.fixture(scope="module")
def running(kernel: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Edges]:
    with edges(tmp_path_factory.mktemp("fleet"), "one", "two") as made:
        yield made


@pytest.fixture
def two(running: Edges) -> Iterator[Edges]:
    """Two edges without rules."""
    running.clear()
    yield running


def _has(two: Edges, name: str, rules: list[str]) -> bool:
    return two.rules(name) == rules


def _mended(by: Controller, times: int) -> bool:
    return by.state("one").mended == times


def wanted(of: Edges, **rules: str | tuple[str, ...]) -> dict[str, Edge]:
    return {
        name: Edge(of.worlds[name].address, {of.pipeline(name): Rules(tuple(
            Piece(f"rules.yaml:{n}", each)
            for n, each in enumerate((text,) if isinstance(text, str) else text, 1)
        ))})
        for name, text in rules.items()
    }  # fmt: skip


# ---- a file -----------------------------------------------------------------------------------


def test_a_file_is_kept(two: Edges, tmp_path: Path) -> None:
    path = tmp_path / "wanted.yaml"

    def write(*rules: str) -> None:
        lines = ["edges:"]
        for name, here in two.worlds.items():
            lines += [f"  {name}:", f"    address: {here.address}", "    pipelines:",
                      f"      {here.name}:", *(f"        - {rule}" for rule in rules)]  # fmt: skip
        new = path.with_suffix(".new")
        new.write_text("\n".join(lines))
        new.rename(path)

    write(DROP, PDR)
    with controller(tmp_path) as made, closing_file(path, made.fleet.wanted):
        for name in two.worlds:
            made.until(name, "in step")
            assert two.rules(name) == [PDR, DROP]
        write(PASS)
        for name in two.worlds:
            until(partial(_has, two, name, [PASS]), "the file's new rules")
        path.write_text("edges: {one: {pipelines: [}}")  # what was wanted stays wanted
        with two.client("one") as other:
            other.apply("delete FAR 1")
        until(lambda: two.rules("one") == [PASS], "mended")
        write()
        until(lambda: two.rules("one") == [] and two.rules("two") == [], "no rules are wanted")
    text = board.table(board.read(made.board.path), 0)
    assert text.splitlines()[0].split() == "edge pipeline revision state since mended".split()


@contextmanager
def closing_file(path: Path, tell: Any) -> Iterator[File]:
    source = File(path, tell)
    source.PERIOD = 0.05
    try:
        source.start()
        yield source
    finally:
        source.stop()


# ---- drift --------------------------------------------------------------------------------------


def test_drift_is_seen_reported_and_mended(
    two: Edges, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    with controller(tmp_path) as made:
        made.fleet.wanted(wanted(two, one=(DROP, PDR), two=DROP))
        made.until("one", "in step")
        two.worlds["one"].ctl("update", "FAR 1 [(action, u8, PASS)]")
        until(lambda: made.state("one").mended, "mended")
        state = made.state("one")
        assert two.rules("one") == [PDR, DROP]
        assert state.drift == (f"~ {PASS}; wanted: {DROP}",)
        assert "somebody has changed its rules" in caplog.text
        assert made.state("two").mended == 0
        with two.client("one") as client:
            assert client.status().pipelines[0].revision >= state.revision


def test_drift_may_only_be_reported(two: Edges, tmp_path: Path) -> None:
    with two.client("one") as client:
        client.apply(f"create {PASS}, FAR 2 [(action, u8, DROP)]")
    with controller(tmp_path, settings=replace(QUICK, report_only=True)) as made:
        made.fleet.wanted(wanted(two, one=(DROP, PDR)))
        state = made.until("one", "drifted")
        assert state.notes == (f"~ {PASS}; wanted: {DROP}", "- FAR 2 [(action, u8, DROP)]",
                               f"+ {PDR}")  # fmt: skip
        assert two.rules("one") == [PASS, "FAR 2 [(action, u8, DROP)]"]
        two.worlds["one"].ctl("delete", "FAR 2")
        until(lambda: len(made.state("one").notes) == 2, "seen")
        text = board.table(made.board.states(), state.since + 90)
        assert "drifted  2 min" in text and f"\n    + {PDR}" in text


def test_another_writer_came_first(two: Edges, tmp_path: Path) -> None:
    """Between the look at the rules and the request: the controller looks again."""
    raced = list[str]()

    class Racing(Client):
        def apply(self, request: Any, **more: Any) -> Any:
            if not raced:
                with two.client("one") as other:
                    other.apply("create FAR 7 [(action, u8, DROP)]")
            try:
                return super().apply(request, **more)
            except Rejected as rejected:
                raced.append(rejected.diagnostics[0].code)
                raise

    def connect(edge: str, address: str, pipeline: str) -> Client:
        return Racing(address, pipeline, timeout=QUICK.timeout)

    with controller(tmp_path, connect) as made:
        made.fleet.wanted(wanted(two, one=DROP))
        made.until("one", "in step")
        assert raced == ["H0760"] and two.rules("one") == [DROP]


def test_an_answer_that_is_lost_costs_nothing(two: Edges, tmp_path: Path) -> None:
    lost = list[int]()

    class Losing(Client):
        def apply(self, request: Any, **more: Any) -> Any:
            done = super().apply(request, **more)
            if not lost:
                lost.append(done.revision)
                again = super().apply(request, **more)  # by its key
                assert again.repeated and again.revision == done.revision
                raise self._rejected(_Broken())
            return done

    def connect(edge: str, address: str, pipeline: str) -> Client:
        return Losing(address, pipeline, timeout=QUICK.timeout)

    with controller(tmp_path, connect) as made, two.transactions("one") as done:
        made.fleet.wanted(wanted(two, one=DROP))
        state = made.until("one", "in step")
        assert lost and state.mended == 0 and two.rules("one") == [DROP]
    assert len(done) == 1


class _Broken(grpc.RpcError):
    """A connection's end, as gRPC tells it: without a status."""


def test_who_fights_is_not_fought_without_end(two: Edges, tmp_path: Path) -> None:
    settings = replace(QUICK, least=0.1, most=0.8)
    with controller(tmp_path, settings=settings) as one:
        one.fleet.wanted(wanted(two, one=DROP))
        one.until("one", "in step")
        mended = []
        with two.client("one") as other:
            for number in range(1, 5):
                other.apply(f"update {PASS}")
                until(partial(_mended, one, number), "mended")
                mended.append(time.monotonic())
        pauses = [after - before for before, after in pairwise(mended)]
        assert pauses[1] > 0.25 and pauses[2] > 0.5, pauses  # 0.4 and 0.8, but for when we look


# ---- refused ------------------------------------------------------------------------------------


def test_a_refused_rule_holds_up_nobody_else(two: Edges, tmp_path: Path) -> None:
    with controller(tmp_path) as made:
        wrong = "PDR 6 [(dst_ip, u32, 10.3.0.0/16), FAR 99]"
        made.fleet.wanted(wanted(two, one=(DROP, wrong), two=DROP))
        state = made.until("one", "refused")
        assert "H0441" in state.notes[0] and "rules.yaml:2" in state.notes[0]
        assert "FAR 99" in state.notes[0] and two.rules("one") == []
        made.until("two", "in step")
        made.fleet.wanted(wanted(two, one=(DROP, PDR), two=DROP))
        made.until("one", "in step")
        assert two.rules("one") == [PDR, DROP]


def test_a_pipeline_that_is_not_there(two: Edges, tmp_path: Path) -> None:
    with controller(tmp_path) as made:
        made.fleet.wanted({"one": Edge(two.worlds["one"].address, {"nope": Rules()})})
        assert "H0706" in made.until("one", "refused").notes[0]
        made.fleet.wanted({})
        assert made.board.states() == []


# ---- partitions ---------------------------------------------------------------------------------


def test_an_edge_that_stalls_holds_up_nobody_else(two: Edges, tmp_path: Path) -> None:
    agent = two.agents["one"].pid
    with controller(tmp_path) as made:
        made.fleet.wanted(wanted(two, one=DROP, two=DROP))
        made.until("one", "in step")
        made.until("two", "in step")
        os.killpg(agent, signal.SIGSTOP)
        try:
            made.fleet.wanted(wanted(two, one=PASS, two=PASS))
            until(lambda: two.rules("two") == [PASS], "the other edge goes on", 3)
            since = made.until("one", "unreachable").since
            assert made.state("one").notes
        finally:
            os.killpg(agent, signal.SIGCONT)
        assert made.until("one", "in step").since > since
        assert two.rules("one") == [PASS]


def test_an_agent_that_is_killed_and_comes_back(kernel: None, tmp_path: Path) -> None:
    with ExitStack() as owned:
        one = owned.enter_context(edges(tmp_path, "one"))
        made = owned.enter_context(controller(tmp_path))
        made.fleet.wanted(wanted(one, one=(DROP, PDR)))
        made.until("one", "in step")
        one.agents["one"].stop(signal.SIGKILL)
        made.until("one", "unreachable")
        made.fleet.wanted(wanted(one, one=PASS))  # wanted while nobody is there
        owned.enter_context(one.worlds["one"].agent())
        made.until("one", "in step")
        assert one.rules("one") == [PASS]
        assert made.state("one").mended == 0


class Still(Client):
    """An edge that is only played: it has what it was told, and may never answer."""

    def __init__(self, edge: str, stuck: threading.Event | None) -> None:
        self.edge, self.stuck, self.pipeline = edge, stuck, "p"
        self.ended, self.has = threading.Event(), ""

    def close(self) -> None:
        self.ended.set()

    def watch(self) -> Any:
        return closing(self)

    def __iter__(self) -> Iterator[pb.Event]:
        self.ended.wait()
        yield from ()

    def difference(self, wanted: Any, *_: Any, **__: Any) -> Difference:
        if self.stuck is not None:
            self.stuck.wait()
        text = request_text(wanted)
        return Difference(1, None if text == self.has else wanted, ("+ a rule",))

    def apply(self, request: Any, **_: Any) -> Outcome:
        self.has = request_text(request)
        return Outcome(2, (), 1, 0, 0)

    def schema(self, again: bool = False) -> Any:
        return SimpleNamespace(manifest=SimpleNamespace(digest="ab"))


def test_two_hundred_edges_and_one_that_is_stuck(tmp_path: Path) -> None:
    stuck = threading.Event()

    def connect(edge: str, address: str, pipeline: str) -> Client:
        return Still(edge, stuck if edge == "7" else None)

    rules = Rules((Piece("x", DROP),))
    with controller(tmp_path, connect) as made:
        try:
            names = [str(number) for number in range(200)]
            made.fleet.wanted({name: Edge("a:1", {"p": rules}) for name in names})
            until(lambda: _in_step(made) == {*names} - {"7"}, "all but one are in step")
            made.fleet.wanted({"8": Edge("a:1", {"p": rules})})  # also the stuck one is let go
            assert [state.edge for state in made.board.states()] == ["8"]
        finally:
            stuck.set()


def _in_step(made: Controller) -> set[str]:
    return {state.edge for state in made.board.states() if state.fares == "in step"}


# ---- etcd ---------------------------------------------------------------------------------------


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
    with controller(tmp_path) as made, followed(store.address, made.fleet.wanted):
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
        source = owned.enter_context(followed(cable.address, made.fleet.wanted))
        made.until("one", "in step")
        for compacted in (False, True):
            cable.cut()
            until(lambda: source.fault, "the cut is seen")
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
            cable.mend()
            until(lambda: len(two.rules("one")) == 2 and not source.fault, "resumed")
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
        source = owned.enter_context(followed(store.address, made.fleet.wanted, silence=1))
        made.until("one", "in step")
        owned.callback(os.kill, store.process.pid, signal.SIGCONT)
        os.kill(store.process.pid, signal.SIGSTOP)
        until(lambda: source.fault, "nobody answers")
        with two.client("one") as other:
            other.apply("replace FAR 1 [(action, u8, PASS)]")
        until(lambda: two.rules("one") == [DROP], "kept meanwhile")
        os.kill(store.process.pid, signal.SIGCONT)
        store.put({f"{here}/drop": PASS})
        until(lambda: two.rules("one") == [PASS] and not source.fault, "resumed")


def test_what_an_edge_announced_to_one_controller_all_know(
    two: Edges, store: EtcdServer, tmp_path: Path
) -> None:
    """And two that keep the same edge do not disturb each other: the same request on the same
    revision is one by its key."""
    said = {"one": {"address": two.worlds["one"].address}}
    store.put({f"one/{two.pipeline('one')}": DROP})
    with ExitStack() as owned:
        made = [owned.enter_context(controller(tmp_path)) for _ in range(2)]
        office = owned.enter_context(followed(store.address, made[0].fleet.wanted, lambda: said))
        owned.enter_context(followed(store.address, made[1].fleet.wanted))
        for each in made:
            each.until("one", "in step")
        with two.transactions("one") as done:
            two.worlds["one"].ctl("update", PASS)
            until(lambda: len(done) > 1, "mended")
            with two.client("one") as client:
                now = client.status().pipelines[0].revision
            until(lambda: all(each.state("one").revision >= now for each in made), "both saw it")
        assert two.rules("one") == [DROP]
        assert len(done) == 2, "somebody's, and one that mends it"
        said["one"] = {"address": "unix:/nowhere"}
        office.publish()
        made[1].until("one", "unreachable")


def test_keys_of_etcd() -> None:
    found = wanted_of({
        b"/h/edges/b/p": b"FAR 1 []", b"/h/edges/a": b" a:1 \n", b"/h/edges/b/p/x/y": b"FAR 2 []",
        b"/h/edges/a/p": b"", b"/h/announced/a": b'{"address": "a:2"}', b"/h/edges/c/p": b"",
        b"/h/announced/b": b'{"address": "b:2"}', b"/h/announced/c": b"[]", b"/h/other": b"x",
    }, b"/h/")  # fmt: skip
    pieces = (Piece("/h/edges/b/p", "FAR 1 []"), Piece("/h/edges/b/p/x/y", "FAR 2 []"))
    empty = {"p": Rules((Piece("/h/edges/a/p", ""),))}
    assert found["a"] == Edge("a:1", empty) and found["c"].address == ""
    assert found["b"] == Edge("b:2", {"p": Rules(pieces)})


# ---- without edges ------------------------------------------------------------------------------


def test_files_of_etcd_are_fresh(tmp_path: Path) -> None:
    run = subprocess.run(
        [CONTROLLER / "generate.sh", tmp_path], capture_output=True, text=True, timeout=60,
        env={**os.environ, "PYTHON": sys.executable},
    )  # fmt: skip
    assert run.returncode == 0, run.stderr
    for name in ("etcd_pb2.py", "etcd_pb2.pyi"):
        assert (tmp_path / name).read_text() == (CONTROLLER / name).read_text(), name


@pytest.mark.parametrize(
    ("text", "code", "line"),
    [
        ("edges: {one: {pipelines: [}}", "H0601", 1),
        ("edges:\n  one: {adress: x}", "H0604", 2),
        ("edges:\n  one:\n    pipelines: {p: {rules: [[FAR 1]]}}", "H0602", 3),
        ("edge: {}", "H0604", 1),
    ],
)
def test_a_file_that_is_wrong(tmp_path: Path, text: str, code: str, line: int) -> None:
    path = tmp_path / "wanted.yaml"
    path.write_text(text)
    with pytest.raises(Refused) as error:
        read_file(path)
    found = error.value.diagnostics[0]
    assert found.code == code and found.span is not None and found.span.line == line


def test_a_file_that_is_right(tmp_path: Path) -> None:
    path = tmp_path / "wanted.yaml"
    path.write_text("""\
edges:
  one:
    address: 192.0.2.1:50051
    pipelines:
      guard:
        - FAR 1 [(action, u8, DROP)]
        - FAR 2 [(action, u8, DROP)]
      linx: {kinds: [FAR], rules: "create FAR 1 [(action, u8, DROP)]"}
      empty:
""")
    found = read_file(path)["one"]
    assert found.address == "192.0.2.1:50051"
    assert [p.origin.rpartition(":")[2] for p in found.pipelines["guard"].pieces] == ["6", "7"]
    assert len(found.pipelines["guard"].request.changes) == 2
    assert found.pipelines["linx"].kinds == ("FAR",)
    assert found.pipelines["empty"].request.changes == ()


def test_the_clients_example_in_the_docs(two: Edges, capsys: pytest.CaptureFixture[str]) -> None:
    text = (CONTROLLER.parents[1] / "docs" / "controller.md").read_text()
    (example,) = re.findall(r"^```python\n(.*?)^```", text, re.M | re.S)
    asked = '"192.0.2.10:50051", "guard", identity="certs/controller"'
    told = f'"{two.worlds["one"].address}", "{two.pipeline("one")}"'
    rule = "BLOCK 1 [(src_ip, u32, 10.0.0.0/24)]"
    assert asked in example and rule in example
    exec(example.replace(asked, told).replace(rule, DROP), {})
    assert two.rules("one") == [DROP] and capsys.readouterr().out == f"+ {DROP}\n"


def test_the_table() -> None:
    states = [
        State("one", "linx", "", "in step", 100.0, 17, mended=2),
        State("two", "linx", "", "unreachable", 0.0, notes=("no agent answers",)),
    ]
    assert (
        board.table(states, 160)
        == """\
edge  pipeline  revision  state        since  mended
one   linx      17        in step      1 min  2
two   linx      -         unreachable  3 min  -
    no agent answers"""
    )
    assert board.table([], 0) == "nothing is wanted of any edge"
