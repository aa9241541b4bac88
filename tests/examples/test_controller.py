"""The reference controller: real agents, a file, and what may come between them."""

from __future__ import annotations

import logging
import os
import re
import signal
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

import pytest
from controller import board, etcd_pb2
from controller.desired_state import Edge, Piece, Rules
from controller.fleet import File
from fleet_world import DROP, PASS, PDR, QUICK, Controller, Edges, controller, edges
from helioc.lang.contract.request.request import request_text
from helioc.runtime.base.outcome import Outcome
from helioc.runtime.channel.failures import Failed
from helioc.runtime.client import Client, Rejected
from helioc.runtime.client.desired_state import Difference
from helioc.runtime.http2.codes import Code
from helioc.runtime.rpc import control_pb2 as pb
from lab import until

CONTROLLER = Path(etcd_pb2.__file__).parent

pytestmark = pytest.mark.usefixtures("tidy")


def _has(two: Edges, name: str, rules: list[str]) -> bool:
    return two.rules(name) == rules


def _repaired(by: Controller, times: int) -> bool:
    return by.state("one").repaired == times


def wanted(of: Edges, **rules: str | tuple[str, ...]) -> dict[str, Edge]:
    return {
        name: Edge(of.worlds[name].address, {of.pipeline(name): Rules(tuple(
            Piece(f"rules.yaml:{n}", each)
            for n, each in enumerate((text,) if isinstance(text, str) else text, 1)
        ))})
        for name, text in rules.items()
    }  # fmt: skip


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
    with controller(tmp_path) as made, closing_file(path, made.fleet.set_desired):
        for name in two.worlds:
            made.until(name, "in step")
            assert two.rules(name) == [PDR, DROP]
        write(PASS)
        for name in two.worlds:
            until(partial(_has, two, name, [PASS]), "the file's new rules")
        path.write_text("edges: {one: {pipelines: [}}")  # what was wanted stays wanted
        with two.client("one") as other:
            other.apply("delete FAR 1")
        until(lambda: two.rules("one") == [PASS], "repaired")
        write()
        until(lambda: two.rules("one") == [] and two.rules("two") == [], "no rules are wanted")
    text = board.table(board.read(made.board.path), 0)
    assert text.splitlines()[0].split() == "edge pipeline revision state since repaired".split()


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


def test_drift_is_seen_reported_and_repaired(
    two: Edges, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    with controller(tmp_path) as made:
        made.fleet.set_desired(wanted(two, one=(DROP, PDR), two=DROP))
        made.until("one", "in step")
        two.worlds["one"].ctl("update", "FAR 1 [(action, u8, PASS)]")
        until(lambda: made.state("one").repaired, "repaired")
        state = made.state("one")
        assert two.rules("one") == [PDR, DROP]
        assert state.drift == (f"~ {PASS}; wanted: {DROP}",)
        assert "its rules were changed" in caplog.text
        assert made.state("two").repaired == 0
        with two.client("one") as client:
            assert client.status().pipelines[0].revision >= state.revision


def test_drift_may_only_be_reported(two: Edges, tmp_path: Path) -> None:
    with two.client("one") as client:
        client.apply(f"create {PASS}, FAR 2 [(action, u8, DROP)]")
    with controller(tmp_path, settings=replace(QUICK, report_only=True)) as made:
        made.fleet.set_desired(wanted(two, one=(DROP, PDR)))
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
        made.fleet.set_desired(wanted(two, one=DROP))
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
                raise self.rejected(Failed(Code.UNAVAILABLE, "it broke"))
            return done

    def connect(edge: str, address: str, pipeline: str) -> Client:
        return Losing(address, pipeline, timeout=QUICK.timeout)

    with controller(tmp_path, connect) as made, two.transactions("one") as done:
        made.fleet.set_desired(wanted(two, one=DROP))
        state = made.until("one", "in step")
        assert lost and state.repaired == 0 and two.rules("one") == [DROP]
    assert len(done) == 1


def test_who_fights_is_not_fought_without_end(two: Edges, tmp_path: Path) -> None:
    settings = replace(QUICK, least=0.1, most=0.8)
    with controller(tmp_path, settings=settings) as one:
        one.fleet.set_desired(wanted(two, one=DROP))
        one.until("one", "in step")
        mended = []
        with two.client("one") as other:
            for number in range(1, 5):
                other.apply(f"update {PASS}")
                until(partial(_repaired, one, number), "repaired")
                mended.append(time.monotonic())
        pauses = [after - before for before, after in pairwise(mended)]
        assert pauses[1] > 0.25 and pauses[2] > 0.5, pauses  # 0.4 and 0.8, but for when we look


# ---- refused ------------------------------------------------------------------------------------


def test_a_refused_rule_holds_up_nobody_else(two: Edges, tmp_path: Path) -> None:
    with controller(tmp_path) as made:
        wrong = "PDR 6 [(dst_ip, u32, 10.3.0.0/16), FAR 99]"
        made.fleet.set_desired(wanted(two, one=(DROP, wrong), two=DROP))
        state = made.until("one", "refused")
        assert "H0441" in state.notes[0] and "rules.yaml:2" in state.notes[0]
        assert "FAR 99" in state.notes[0] and two.rules("one") == []
        made.until("two", "in step")
        made.fleet.set_desired(wanted(two, one=(DROP, PDR), two=DROP))
        made.until("one", "in step")
        assert two.rules("one") == [PDR, DROP]


def test_a_pipeline_that_is_not_there(two: Edges, tmp_path: Path) -> None:
    with controller(tmp_path) as made:
        made.fleet.set_desired({"one": Edge(two.worlds["one"].address, {"nope": Rules()})})
        assert "H0706" in made.until("one", "refused").notes[0]
        made.fleet.set_desired({})
        assert made.board.states() == []


# ---- partitions ---------------------------------------------------------------------------------


def test_an_edge_that_stalls_holds_up_nobody_else(two: Edges, tmp_path: Path) -> None:
    agent = two.agents["one"].pid
    with controller(tmp_path) as made:
        made.fleet.set_desired(wanted(two, one=DROP, two=DROP))
        made.until("one", "in step")
        made.until("two", "in step")
        os.killpg(agent, signal.SIGSTOP)
        try:
            made.fleet.set_desired(wanted(two, one=PASS, two=PASS))
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
        made.fleet.set_desired(wanted(one, one=(DROP, PDR)))
        made.until("one", "in step")
        one.agents["one"].stop(signal.SIGKILL)
        made.until("one", "unreachable")
        made.fleet.set_desired(wanted(one, one=PASS))  # wanted while nobody is there
        owned.enter_context(one.worlds["one"].agent())
        made.until("one", "in step")
        assert one.rules("one") == [PASS]
        assert made.state("one").repaired == 0


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

    def status(self) -> pb.StatusReply:  # asked for where nothing came for long
        here = pb.PipelineStatus(pipeline="p", revision=2 if self.has else 1)
        return pb.StatusReply(pid=1, pipelines=[here])

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
            made.fleet.set_desired({name: Edge("a:1", {"p": rules}) for name in names})
            until(lambda: _in_step(made) == {*names} - {"7"}, "all but one are in step")
            made.fleet.set_desired({"8": Edge("a:1", {"p": rules})})  # also the stuck one is let go
            assert [state.edge for state in made.board.states()] == ["8"]
        finally:
            stuck.set()


def _in_step(made: Controller) -> set[str]:
    return {state.edge for state in made.board.states() if state.fares == "in step"}


def test_the_clients_example_in_the_docs(two: Edges, capsys: pytest.CaptureFixture[str]) -> None:
    text = (CONTROLLER.parents[1] / "docs" / "controller.md").read_text()
    (example,) = re.findall(r"^```python\n(from .*?)^```", text, re.M | re.S)
    asked = '"192.0.2.10:50051", "guard", identity="certs/controller"'
    shown = f'"{two.worlds["one"].address}", "{two.pipeline("one")}"'
    rule = "BLOCK 1 [(src_ip, u32, 10.0.0.0/24)]"
    assert asked in example and rule in example
    exec(example.replace(asked, shown).replace(rule, DROP), {})
    assert two.rules("one") == [DROP] and capsys.readouterr().out == f"+ {DROP}\n"
