"""What is read of a pipeline while others change it: one moment, whole, and nobody waits."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from agent_world import EDGE, World
from helioc.lang.text.diagnostics import Refused
from helioc.runtime.client import Client
from helioc.runtime.loading.bundle import read_bundle
from helioc.runtime.loading.reader import Reader
from helioc.runtime.rpc import control_pb2 as pb
from helioc.runtime.rpc.methods import path
from helioc.runtime.rpc.reading import DIGEST, FAILED, METHODS, PART, receive, send
from helioc.runtime.rules.moment import Moment, spoken_of
from helioc.runtime.rules.pools import NoRoom, Pool
from lab import until
from linx_maps import bare_maps, bundle, written

pytestmark = pytest.mark.usefixtures("kernel")


# ---- holding --------------------------------------------------------------------------------


def test_what_comes_back_is_not_given_out_while_it_is_held() -> None:
    pool = Pool("FAR", "records", 5)
    assert [pool.take() for _ in range(3)] == [1, 2, 3]
    pool.hold()
    pool.give(2)
    assert pool.take() == 4 and not pool.broken
    pool.let_go()
    assert pool.take() == 2


def test_who_has_no_other_room_breaks_it() -> None:
    pool = Pool("FAR", "records", 3)
    pool.take_many(2)
    pool.hold()
    pool.give(1)
    assert pool.take() == 1 and pool.broken
    with pytest.raises(NoRoom):
        pool.take()
    pool.let_go()
    pool.hold()
    assert not pool.broken


def test_a_held_moment_outlives_what_is_changed() -> None:
    with bare_maps() as maps, written(maps) as rules:
        rules.tell("create FAR 1 [(action, u8, DROP)], PDR 1 [(dst_ip, u32, 10.0.0.0/8), FAR 1]")
        writer = rules.writer
        epoch = writer.epoch
        cells = {name: bytes(table.cells) for name, table in writer.tables.items()}
        images = {name: table.images for name, table in writer.tables.items()}
        writer.hold()
        before = {name: bytes(view) for name, view in images.items()}
        for turn in range(20):
            rules.tell(f"update FAR 1 [(action, u8, {'PASS' if turn % 2 else 'DROP'})]")
        rules.tell("delete PDR 1")
        writer.settle()
        size, stride = writer.tables["FAR"].kind.image_size, writer.tables["FAR"].image_stride
        slot = int.from_bytes(cells["FAR"][8:16], "little") >> 24 & 0xFFFFFF
        assert epoch and slot
        assert (
            images["FAR"][slot * stride : slot * stride + size]
            == (before["FAR"][slot * stride : slot * stride + size])
        )
        assert writer.let_go()


def test_texts_speak_of_other_kinds() -> None:
    manifest = bundle().manifest
    assert spoken_of(manifest, ["PDR"]) == {"PDR", "FAR", "LBR", "OVERLAY", "OVERLAY6"}
    assert spoken_of(manifest, ["OVERLAY"]) == {"OVERLAY", "OVERLAY6"}


# ---- through the agent ----------------------------------------------------------------------


@pytest.fixture
def agent(here: World) -> Iterator[Client]:
    with here.agent("--acknowledge", "before"), here.client() as client:
        client.load(read_bundle(here.directory / "bundle"), EDGE)
        yield client


def test_a_list_is_of_one_moment(here: World, agent: Client) -> None:
    """Two rules are always changed together; no list sees them differ."""
    agent.apply("create FAR 1 [(action, u8, DROP)], FAR 2 [(action, u8, DROP)]")
    ending, wrong = threading.Event(), list[BaseException]()

    def change() -> None:
        try:
            with here.client() as client:
                for turn in range(100_000):
                    if ending.is_set():
                        return
                    action = "PASS" if turn % 2 else "DROP"
                    client.apply(f"update FAR 1 [(action, u8, {action})], "
                                 f"FAR 2 [(action, u8, {action})]")  # fmt: skip
        except BaseException as error:
            wrong.append(error)

    thread = threading.Thread(target=change)
    thread.start()
    revisions = set()
    for _ in range(60):
        request = pb.ListRequest(pipeline=here.name, form=pb.FORM_TEXT)
        request.filter.kinds.append("FAR")
        (part,) = agent._parts("List", request)
        one, other = (rule.text.partition("[")[2] for rule in part.rules)
        assert one == other
        revisions.add(part.revision)
    ending.set()
    thread.join()
    assert not wrong and len(revisions) > 10


def test_what_is_of_no_moment_is_not_shown(
    here: World, agent: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Reader(here.name) as reader:
        real = reader.snapshot_of
        agent.apply("create FAR 1 [(action, u8, DROP)]")

        def overtaken(*what: Any) -> Moment:
            agent.apply("update FAR 1 [(action, u8, DROP)]")
            return real(*what)

        with monkeypatch.context() as patched:
            patched.setattr(reader, "snapshot_of", overtaken)
            with pytest.raises(Refused, match="H0774"):
                reader.rules()
        assert len(reader.rules()) == 2


def readers_of(agent_pid: int) -> set[int]:
    """The process ids of an agent's readers."""
    found = set[int]()
    for task in Path(f"/proc/{agent_pid}/task").iterdir():
        for child in (task / "children").read_text().split():
            if b"helioc.runtime.rpc" in Path(f"/proc/{child}/cmdline").read_bytes():
                found.add(int(child))
    return found


def test_a_dead_reader_is_replaced(agent: Client) -> None:
    pid = agent.status().pid
    assert not readers_of(pid)
    assert len(list(agent.rules())) == 1 and agent.stats().kinds
    first = readers_of(pid)
    assert len(first) == 2
    for each in first:
        os.kill(each, signal.SIGKILL)
    assert len(list(agent.rules())) == 1 and agent.stats().kinds
    assert len(readers_of(pid) - first) == 2


def test_the_reader_ends_with_its_agent(here: World) -> None:
    with here.agent() as process, here.client() as client:
        client.load(read_bundle(here.directory / "bundle"), EDGE)
        assert list(client.rules()) and client.stats().kinds
        readers = readers_of(client.status().pid)
        assert len(readers) == 2
        os.kill(process.pid, signal.SIGKILL)
        until(lambda: not any(Path(f"/proc/{each}").exists() for each in readers), "they end")


_SHORT = """
import sys
from helioc.runtime.rpc import reading
reading.IDLE = 0.05
reading.main()
"""


def test_a_reader_that_nobody_asks_ends() -> None:
    """What was asked before it ended is answered; who asks later is written that it did."""
    mine, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    call, other = socket.socketpair()
    with mine, theirs, call, other:
        socket.send_fds(mine, [bytes([METHODS.index("Stats")])], [other.fileno()])
        other.close()
        send(call, PART, bytes(DIGEST) + pb.StatsRequest(pipeline="none").SerializeToString())
        words = [sys.executable, "-c", _SHORT, str(theirs.fileno())]
        process = subprocess.Popen(words, pass_fds=[theirs.fileno()])
        theirs.close()
        assert receive(call)[0] == FAILED
        assert process.wait(30) == 0
        with pytest.raises(BrokenPipeError):
            mine.send(b"")


def test_a_frame_that_comes_in_pieces_is_whole() -> None:
    """A part of a list may not fit the socket, and who reads it has a timeout."""
    mine, theirs = socket.socketpair()
    with mine, theirs:
        mine.settimeout(20)
        thread = threading.Thread(target=send, args=(theirs, PART, bytes(1 << 22)))
        thread.start()
        assert receive(mine) == (PART, bytes(1 << 22))
        thread.join()


def test_who_reads_slowly_holds_nothing(here: World, agent: Client) -> None:
    """A list that nobody reads on does not keep the writer from changing all rules, twice."""
    rules = [f"FAR {i} [(action, u8, DROP)]" for i in range(1, 4001)]
    for first in range(0, 4000, 500):
        agent.apply(f"create {', '.join(rules[first : first + 500])}")
    asked = pb.ListRequest(pipeline=here.name).SerializeToString()
    unread = agent.channel.call(path("List"), None, asked)
    assert unread.receive()
    with here.client() as other:
        for action in ("PASS", "DROP", "PASS"):
            for first in range(0, 4000, 500):
                changed = (
                    f"FAR {i} [(action, u8, {action})]" for i in range(first + 1, first + 501)
                )
                other.apply(f"update {', '.join(changed)}")
    unread.cancel()


def test_held_rules_are_shown_with_their_owner(here: World, agent: Client) -> None:
    """By the agent and beside it; what is shown is a request for the same rules."""
    agent.apply("create FAR 9 [(action, u8, DROP)], PDR 4 [(dscp, u8, 1), "
                "FAR [(action, u8, PASS)], LBR [(tos, u8, 4), FAR, FAR 9]]")  # fmt: skip

    def shown(*words: str) -> list[str]:
        return [line.split(None, 2)[2] for line in here.ctl(*words).splitlines()[1:]]

    fars = ["// held by LBR 1: FAR 1 [(action, u8, PASS)]", "FAR 9 [(action, u8, DROP)]"]
    lines = shown("show")
    assert "// held by LBR 1: FAR 1" in lines and not any(x.startswith("FAR 1 ") for x in lines)
    assert shown("--local", "show") == lines
    for words in ((), ("--local",)):
        assert shown(*words, "show", "FAR") == fars
        assert shown(*words, "show", "LBR", "1")[0].startswith("// held by PDR 4: LBR 1 [")
        found = json.loads(here.ctl(*words, "show", "FAR", "--json"))
        assert [each.get("owner") for each in found] == [{"kind": "LBR", "id": 1}, None]
    assert agent.rule("FAR", 1).owner == ("LBR", 1)
    agent.apply("delete PDR 4; delete FAR 9")
    rules = [line for line in lines if not line.startswith("OVERLAY")]
    text = "\n".join(x if x.startswith("//") else f"create {x}" for x in rules)
    (here.directory / "shown.req").write_text(text)
    here.ctl("push", "shown.req")
    assert shown("show") == lines


def test_counters_are_listed(agent: Client) -> None:
    agent.apply("create FAR 1 [(action, u8, DROP)], PDR 1 [(dst_ip, u32, 10.2.0.0/16), FAR 1]")
    assert [(r.kind, r.packets, r.octets) for r in agent.rules(kinds=["PDR", "FAR"])] == [
        ("PDR", 0, 0), ("FAR", 0, 0),
    ]  # fmt: skip
    stats = agent.stats()
    assert {k.kind: k.rules for k in stats.kinds}["PDR"] == 1
    assert ("verdict", "drop") in {(e.group, e.reason) for e in stats.events}
