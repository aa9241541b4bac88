"""`helioctl state` and what a controller calls: by the agent, and on the kernel's maps."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import kept
import pytest
from agent_world import World
from helioc.compiler.bundle import compile_pipeline, write_bundle
from helioc.compiler.driver import check_file
from helioc.lang.text.diagnostics import Refused
from helioc.runtime.client import Client, Rejected
from helioc.runtime.http2.codes import Code
from helioc.runtime.loading.bundle import read_bundle
from helioc.runtime.loading.reader import Reader
from helioc.runtime.rpc import control_pb2 as pb
from kept import COUNT, FLOW, HEARD, frame
from lab import Wire, until

pytestmark = pytest.mark.usefixtures("kernel")

EDGE = "ports:\n  LAN: {role: lan, interface: lan0}\n  WAN: {role: wan, interface: wan0}\n"
PLAIN = """
import std.ethernet, std.ip
pipeline plain {
  ports lan, wan
  parser { ethernet -> ipv4 when type = 0x0800 }
  default drop
  stage main { if ipv4 { pass } drop }
  run parser -> main
}
"""


class Shell:
    """`helioctl state`; and packets."""

    def __init__(self, here: World, lan: Wire, *options: str) -> None:
        self.here, self._lan, self._options = here, lan, options

    def __call__(self, *words: str, status: int = 0) -> str:
        return self.here.ctl(*self._options, "state", *words, status=status)

    def json(self, *words: str) -> Any:
        return json.loads(self(*words, "--json"))

    def send(self, *frames: bytes) -> None:
        for each in frames:
            self._lan.send(each)


@pytest.fixture(scope="module")
def bundles(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("bundles")
    write_bundle(kept.compiled(), made / "kept")
    (made / "plain.hp").write_text(PLAIN)
    write_bundle(compile_pipeline(check_file(made / "plain.hp")), made / "plain")
    return made


@pytest.fixture
def agent(here: World, bundles: Path) -> Iterator[Client]:
    with here.agent(), here.client() as client:
        client.load(read_bundle(bundles / "kept"), EDGE)
        yield client


@pytest.fixture(params=["agent", "local"])
def shell(
    request: pytest.FixtureRequest, here: World, bundles: Path, wires: tuple[Wire, Wire]
) -> Iterator[Shell]:
    with ExitStack() as owned:
        if request.param == "agent":
            owned.enter_context(here.agent())
            with here.client() as client:
                client.load(read_bundle(bundles / "kept"), EDGE)
        else:
            (here.directory / "edge.yaml").write_text(EDGE)
            words = ("load", str(bundles / "kept"), "--config", str(here.directory / "edge.yaml"))
            here.ctl("--local", *words)
        yield Shell(here, wires[0], *["--local"] * (request.param == "local"))


# ---- by hand ------------------------------------------------------------------------------------


def test_an_operator_looks_around(shell: Shell) -> None:
    assert shell("list", "FLOW") == "no entries\n" and shell.json("list", "FLOW") == []
    shell.send(*[frame(FLOW, f"10.0.{n % 2}.{n}", n, ttl=60) for n in range(12)],
               *[frame(HEARD, f"10.9.0.{n}", n) for n in range(3)])  # fmt: skip
    until(lambda: len(shell.json("list", "heard")) == 3, "the last packet")

    assert shell("list").splitlines()[:3] == [
        "state  entries  expired      of  evicted  lost  ages",
        "FLOW        12        0      64        0     0  lifetime idle",
        "HEARD        3        0     256        -     -  300 s",
    ]
    flow, heard, *_ = shell.json("list")
    assert heard == {
        "state": "HEARD", "entries": 3, "capacity": 256, "expired": 0, "evicted": None,
        "lost": None, "match": ["vni", "hw"], "gives": ["port", "remote", "note"], "ages": 300,
        "idle": False,
    }  # fmt: skip
    assert (flow["ages"], flow["idle"], flow["evicted"], flow["entries"]) == (
        "lifetime",
        True,
        0,
        12,
    )

    (one,) = shell.json("list", "FLOW", "src=10.0.1.0/29", "mark=5..6")
    assert 0 <= one.pop("age") < 60
    assert one == {"src": "10.0.1.5", "mark": 5, "packets": 1, "out": "LAN",
                   "hw": "02:00:00:00:00:aa", "lifetime": 60}  # fmt: skip
    assert shell.json("list", "FLOW", "mark = 7", "out=LAN")[0]["src"] == "10.0.1.7"
    assert [each["mark"] for each in shell.json("list", "FLOW", "mark=1 & 1")] == [
        1,
        3,
        5,
        7,
        9,
        11,
    ]
    assert len(shell.json("list", "FLOW", "--limit", "5")) == 5
    head, row = shell("get", "flow", "mark=5", "src=10.0.1.5").splitlines()
    assert head.split() == ["src", "mark", "packets", "out", "hw", "lifetime", "age"]
    assert row.split()[:6] == ["10.0.1.5", "5", "1", "LAN", "02:00:00:00:00:aa", "60"]
    assert shell.json("get", "FLOW", "mark=5", "src=10.0.1.5")["packets"] == 1

    assert shell("delete", "FLOW", "mark=5", "src=10.0.1.5") == "deleted 1 entry\n"
    assert "error[H0719]" in shell("get", "FLOW", "mark=5", "src=10.0.1.5", status=1)
    assert "error[H0719]" in shell("delete", "FLOW", "mark=5", "src=10.0.1.5", status=1)
    assert shell.json("flush", "FLOW", "src=10.0.1.0/24") == {"deleted": 5}
    assert shell("flush", "HEARD") == "deleted 3 entries\n"
    assert [each["mark"] for each in shell.json("list", "FLOW")] == [0, 2, 4, 6, 8, 10]
    assert shell("flush", "FLOW") == "deleted 6 entries\n"
    assert shell("flush", "FLOW") == "deleted 0 entries\n"


def test_what_is_wrong_is_told(shell: Shell) -> None:
    for words, said in (
        (("list", "FLOV"), "H0717]: there is no state table `FLOV` = help: did you mean `FLOW`?"),
        (("flush", "X"), "there are `FLOW`, `HEARD`, `COUNT`, `FEW`"),
        (("get", "FLOW", "src=10.0.0.1"), "H0718]: this is no key of `FLOW`: `mark` is missing"),
        (("delete", "FLOW", "src=10.0.0.0/8", "mark=1"), "`src` is to have one value"),
        (("list", "FLOW", "src"), "H0735]: `src` says nothing of a slot"),
        (("flush", "FLOW", "sorc=10.0.0.1"), "did you mean `src`?"),
        (("flush", "FLOW", "src="), "H0735"), (("flush", "FLOW", "src=\udcff"), "H0735"),
        (("flush", "FLOW", "\udcff=1"), "H0735"), (("flush", "\udcff"), "H0717"),
        (("flush", "FLOW", "out=LAM"), "H0736]: `LAM` is no port of the pipeline"),
        (("list", "FLOW", "src=10.0.0.1/8"), "write 10.0.0.0/8"),
    ):  # fmt: skip
        found = shell(*words, status=1)
        assert re.sub(r"\s+", " ", said) in re.sub(r"\s+", " ", found), found
    assert "Missing argument" in shell("flush", status=2)
    assert "Missing argument" in shell("get", "FLOW", status=2)


def test_a_pipeline_without_states(here: World, bundles: Path) -> None:
    (here.directory / "edge.yaml").write_text(EDGE)
    config = ("--config", str(here.directory / "edge.yaml"))
    here.ctl("--local", "load", str(bundles / "plain"), *config)
    for options in ((), ("--local",)):
        with ExitStack() as owned:
            if not options:
                owned.enter_context(here.agent())
            assert here.ctl(*options, "state", "list") == "no state tables\n"
            assert json.loads(here.ctl(*options, "state", "list", "--json")) == []
            for words in (("list", "FLOW"), ("flush", "FLOW"), ("get", "FLOW", "a=1")):
                said = here.ctl(*options, "state", *words, status=1)
                assert "H0717" in said and "the pipeline has none" in said


def test_without_the_agent_the_pipeline_is_locked(
    here: World, agent: Client, bundles: Path
) -> None:
    """Beside one, who works on the maps only reads: an upgrade could copy what is deleted."""
    assert here.ctl("--local", "state", "list", "FLOW") == "no entries\n"
    for words in (("flush", "FLOW"), ("delete", "FLOW", "src=10.0.0.1", "mark=1")):
        assert "H0709" in here.ctl("--local", "state", *words, status=1)


# ---- by gRPC ------------------------------------------------------------------------------------


def test_a_controller_reads_and_deletes(
    here: World, agent: Client, wires: tuple[Wire, Wire]
) -> None:
    for number in range(600):
        wires[0].send(frame(COUNT, number=number, tos=255))
    until(lambda: sum(1 for _ in agent.entries("COUNT")) > 400, "entries")
    wires[0].send(frame(FLOW, number=3))
    until(lambda: list(agent.entries("FLOW")), "the last packet")
    counts = {each.state: each for each in agent.states()}
    there = [dict(entry.values) for entry in agent.entries("COUNT")]
    assert counts["COUNT"].entries == len(there) and counts["FLOW"].entries == 1
    assert {each["key"] for each in there} == {each["key_again"] for each in there}
    assert [entry.age for entry in agent.entries("COUNT", limit=2)] == [None, None]
    assert agent.entry("COUNT", [("key", there[0]["key"])]).values[0] == ("key", there[0]["key"])
    agent.delete_entry("count", [("KEY", there[0]["key"])])
    for call in (agent.entry, agent.delete_entry):
        with pytest.raises(Rejected, match="H0719") as error:
            call("COUNT", [("key", there[0]["key"])])
        assert error.value.status == Code.NOT_FOUND
    assert agent.flush("COUNT") == len(there) - 1
    assert [each for each in agent.status().pipelines[0].states if each.state == "COUNT"] == [
        pb.StateCount(state="COUNT", entries=0, capacity=16384, expired=0, evicted=0, lost=0)
    ]


def test_hostile_requests_are_refused(here: World, agent: Client) -> None:
    """Each with a message, and everything goes on."""
    long = "9" * 30_000
    for where, code in (
        ([("mark", "1")] * 65, "H0735"), ([("mark", long)], "H0735"), ([(long, "1")], "H0735"),
        ([("", "")], "H0735"), ([("mark", "")], "H0415"), ([("mark", "\0")], "H0415"),
        ([("src", "10.0.0.0/" + "9" * 80)], "H0420"), ([("mark", "1&" * 40)], "H0416"),
        ([("mark", "0x" + "f" * 98)], "H0416"), ([("out", "\x1b[2J")], "H0736"),
    ):  # fmt: skip
        for call in (agent.entries, agent.flush, agent.entry, agent.delete_entry):
            with pytest.raises(Rejected, match=code) as error:
                found: Any = call("FLOW", where)
                list(found)
            assert error.value.status == Code.INVALID_ARGUMENT
    with pytest.raises(Rejected, match="H0762"):
        agent.flush("x" * 300)
    with pytest.raises(Rejected, match="H0717") as error:
        agent.flush("")
    assert error.value.status == Code.NOT_FOUND
    with pytest.raises(Refused):
        agent.flush("FLOW", [("mark", "1")] * 20_000)  # more than a message may have
    assert list(agent.entries("FLOW", limit=2**64 - 1)) == [] and agent.flush("FLOW") == 0


def test_deletions_are_on_record(here: World, bundles: Path) -> None:
    """With what was meant; reading is not."""
    with here.agent() as process, here.client() as client:
        client.load(read_bundle(bundles / "kept"), EDGE)
        client.flush("FLOW", [("src", "10.0.0.0/8"), ("mark", "7")])
        with pytest.raises(Rejected):
            client.delete_entry("HEARD", [("vni", "1"), ("hw", "02:00:00:00:00:01\n x=1")])
        list(client.entries("FLOW"))
        said = process.stop()
    lines = [line for line in said.splitlines() if "audit" in line and " method=Load" not in line]
    assert len(lines) == 2, said
    assert "method=Flush" in lines[0] and f"pipeline={here.name}" in lines[0]
    assert 'state=FLOW where="src=10.0.0.0/8 mark=7"' in lines[0] and "answer=OK" in lines[0]
    assert "method=DeleteEntry" in lines[1] and "answer=H0415" in lines[1]
    assert '02:00:00:00:00:01\\n x=1"' in lines[1]


# ---- beside an upgrade --------------------------------------------------------------------------


def test_no_build_takes_over_tables_in_which_entries_are_deleted(
    here: World, agent: Client, bundles: Path
) -> None:
    """One waits for the other, and both go on."""
    with here.client() as other, here.client() as third:
        failed, ended = list[BaseException](), threading.Event()

        def flush() -> None:
            try:
                while not ended.is_set():
                    other.flush("FLOW")
            except BaseException as error:
                failed.append(error)

        thread = threading.Thread(target=flush)
        thread.start()
        for _ in range(3):
            third.upgrade(read_bundle(bundles / "kept"))
        ended.set()
        thread.join()
    assert not failed, failed
    with Reader(here.name) as reader:
        assert reader.about["release"] == 4
