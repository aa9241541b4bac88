"""What outlives the agent: a kill at any moment, a reboot, a bad disk."""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path

import pytest
from agent_world import EDGE, World
from helioc.compiler import bundle as bundles
from helioc.compiler.driver import check_file
from helioc.lang.contract.rules.csv_columns import read_csv
from helioc.lang.text.source import Source
from helioc.runtime.client import Client, Rejected
from helioc.runtime.journal.journal import build_of
from helioc.runtime.journal.state import COPIES
from helioc.runtime.journal.store import Store
from helioc.runtime.loading.bundle import read_bundle
from helioc.runtime.loading.lock import Lock
from helioc.runtime.loading.reader import Reader
from helioc.runtime.loading.releases import (
    ROOT,
    put_in_force,
    read_about,
    release_of,
    remove_pinned,
    write_about,
)
from lab import Background, Lab, until
from linx_maps import HP

pytestmark = pytest.mark.usefixtures("kernel")


def load(here: World, client: Client) -> None:
    client.load(read_bundle(here.directory / "bundle"), EDGE)


def kill(process: Background) -> None:
    os.kill(process.pid, signal.SIGKILL)
    until(lambda: not process.running, "it is killed")


def reboot(here: World) -> None:
    """What a reboot takes: everything in the kernel. Interfaces get other numbers."""
    remove_pinned(here.name)
    assert not (ROOT / here.name).exists()


def texts(client: Client) -> list[str]:
    return [rule.text for rule in client.rules()]


RULES = (
    "create FAR 1 [(action, u8, REDIRECT), (interface, u32, GRE-WAN1)], FAR 2 [(action, u8, DROP)]",
    "create LBR 9 [FAR 1 [(weight, u16, 3)], FAR 2 [(weight, u16, 1)]]",
    "create PDR 1 [(dst_ip, u32, 10.2.0.0/16), LBR 9], "
    "PDR 2 [(dst_ip, u32, 10.3.0.0/16), FAR [(action, u8, PASS)]]",
    "update FAR 2 [(action, u8, PASS)]",
    "delete PDR 2",
    "create PDR [(src_ip, u32, 10.1.0.0/24), (dst_port, u16, 7..9), FAR 2]",
)


@pytest.mark.parametrize("end", [signal.SIGTERM, signal.SIGKILL])
def test_a_reboot_loses_nothing(here: World, end: signal.Signals) -> None:
    with here.agent() as process, here.client() as client:
        load(here, client)
        for number, text in enumerate(RULES):
            last = client.apply(text, key=f"k{number}")
        kinds = client.schema().kinds
        lines = "".join(f"10.{i >> 8}.{i & 255}.0/24,1\n" for i in range(5000))
        client.bulk(read_csv(Source("pdr.csv", "dst_ip,FAR\n" + lines), kinds["PDR"]), key="bulk")
        last = client.apply("delete PDR 77", key="last")
        before = texts(client)
        os.kill(process.pid, end)
        until(lambda: not process.running, "it has ended")
    reboot(here)
    with here.agent(), here.client() as client:
        assert texts(client) == before
        (status,) = client.status().pipelines
        assert status.revision >= last.revision and not status.findings
        assert [port.name for port in status.ports if port.ifindex] == ["LAN", "WAN1"]
        again = client.apply(RULES[0], key="k0")
        assert again.repeated and again.created[0].id == 1
        assert client.apply("delete PDR 77", key="last").revision == last.revision
        done = client.apply("create FAR 60 [(action, u8, DROP)]", if_revision=status.revision)
        assert done.revision > last.revision
    with here.agent(), here.client() as client:  # and once more, from its own snapshot
        assert len(texts(client)) == len(before) + 1


def test_what_refers_to_interfaces_by_number_is_restored(here: World, lab: Lab) -> None:
    index = here.edge.ifindex("wan0")
    with here.agent() as process, here.client() as client:
        load(here, client)
        client.apply(f"create FAR 1 [(action, u8, REDIRECT), (ifindex, u32, {index})]")
        before = texts(client)
        kill(process)
    reboot(here)
    here.edge.run("ip", "link", "set", "wan0", "name", "old0")
    lab.wire(lab.namespace("wan-b"), "eth0", here.edge, "wan0")
    assert here.edge.ifindex("wan0") != index
    with here.agent(), here.client() as client:
        assert texts(client) == before and not client.status().pipelines[0].findings


def test_a_load_that_was_killed_is_no_pipeline(here: World) -> None:
    store = Store(here.state)
    found = read_bundle(here.directory / "bundle")
    store.begin(here.name, build_of(found))
    store.close()
    for _ in range(2):
        with here.agent() as process, here.client() as client:
            assert not client.status().pipelines and "H0785" not in process.output


def test_the_limit_of_icmp_errors_outlives_a_reboot(here: World) -> None:
    with here.agent(), here.client() as client:
        client.load(read_bundle(here.directory / "bundle"), EDGE + "icmp: {rate: 7, burst: 3}\n")
        before = limit_of(here)
    reboot(here)
    for _ in range(2):
        with here.agent():
            assert limit_of(here) == before


def limit_of(here: World) -> bytes:
    """Of the ICMP errors: nanoseconds from one to the next, and how far ahead of time they are."""
    with Reader(here.name) as reader:
        return (reader.map("icmp_budget").lookup(bytes(4)) or b"")[:16]


@contextmanager
def owned_too_late(here: World) -> Iterator[tuple[Background, Client]]:
    """An agent whose pipeline had another owner when it started, and has none any more."""
    with here.agent(), here.client() as client:
        load(here, client)
    with ExitStack() as held:
        held.enter_context(closing(Lock(here.name)))
        with here.agent() as process, here.client() as client:
            process.expect("H0709")
            held.close()
            yield process, client


def test_a_pipeline_that_could_not_be_owned_has_its_journal_later(here: World) -> None:
    with owned_too_late(here) as (process, client):
        assert client.apply("create FAR 1 [(action, u8, DROP)]").created_count == 1
        kill(process)
    reboot(here)
    with here.agent(), here.client() as client:
        assert client.rule("FAR", 1)


def test_a_pipeline_that_could_not_be_owned_is_unloaded_all_the_same(here: World) -> None:
    with owned_too_late(here) as (_, client):
        assert client.unload() == here.name and not (ROOT / here.name).exists()


def test_a_log_that_cannot_be_read_holds_nothing_up(here: World) -> None:
    """The rules are taken from the kernel."""
    with here.agent(), here.client() as client:
        load(here, client)
    (log,) = here.state.glob("requests-1-*")
    log.unlink()
    log.mkdir()
    with here.agent() as process, here.client() as client:
        process.expect("H0781")
        client.apply("create FAR 1 [(action, u8, DROP)]")
        assert (here.state / "aside" / log.name).is_dir()
        kill(process)
    reboot(here)
    with here.agent(), here.client() as client:
        assert client.rule("FAR", 1) and client.status().journal.losses == 1


def test_a_restored_pipeline_is_not_said_to_be_lost(here: World) -> None:
    """Where no other snapshot of it can be written."""
    with here.agent(), here.client() as client:
        load(here, client)
    reboot(here)
    (log,) = here.state.glob("requests-1-*")
    stem, _, number = log.name.rpartition("-")
    in_the_way = here.state / f"{stem}-{int(number) + 1}"
    in_the_way.mkdir()
    with here.agent(), here.client() as client:
        (status,) = client.status().pipelines
        assert [f.code for f in status.findings] == ["H0780"] and len(list(client.rules())) == 1
        assert client.apply("create FAR 1 [(action, u8, DROP)]").created_count == 1
        in_the_way.rmdir()


def test_a_card_of_another_release_is_left_alone(here: World) -> None:
    """What keeps its rules otherwise than this one does."""
    with here.agent(), here.client() as client:
        load(here, client)
    about = {**read_about(here.name), "mode": "offload"}
    (ROOT / here.name / "release-1" / "about").unlink()
    write_about(release_of(here.name, 1), about)
    put_in_force(here.name, 1)
    with here.agent(), here.client() as client:
        assert [f.code for f in client.status().pipelines[0].findings] == ["H0710"]
        with pytest.raises(Rejected, match="H0710"):
            client.apply("create FAR 1 [(action, u8, DROP)]")


def test_a_pipeline_that_cannot_be_restored_is_told_and_kept(here: World) -> None:
    with here.agent(), here.client() as client:
        load(here, client)
    reboot(here)
    (snapshot,) = here.state.glob("snapshot-1-*")
    good = snapshot.read_bytes()
    snapshot.write_bytes(good[:-1])
    with here.agent() as process, here.client() as client:
        process.expect("H0785")
        (status,) = client.status().pipelines
        assert [f.code for f in status.findings] == ["H0785", "H0781"]
    snapshot.write_bytes(good)
    with here.agent(), here.client() as client:
        assert not client.status().pipelines[0].findings
    reboot(here)
    snapshot = next(here.state.glob("snapshot-1-*"))
    snapshot.unlink()
    with here.agent(), here.client() as client:
        assert client.unload() == here.name, "it can be forgotten"
        assert not client.status().pipelines
    with here.agent(), here.client() as client:
        assert not client.status().pipelines


def test_a_load_that_is_refused_replaces_nothing(here: World) -> None:
    """Of what is kept and could not be restored."""
    with here.agent(), here.client() as client:
        load(here, client)
        client.apply("create FAR 1 [(action, u8, DROP)]")
        before = texts(client)
    reboot(here)
    (snapshot,) = here.state.glob("snapshot-1-*")
    good = snapshot.read_bytes()
    snapshot.write_bytes(good[:-1])
    with here.agent() as process, here.client() as client:
        process.expect("H0785")
        here.ctl("--local", "load", "bundle", "--config", "edge.yaml")  # behind its back
        with pytest.raises(Rejected, match="H0705"):
            load(here, client)
        kill(process)
    here.ctl("--local", "unload")
    snapshot.write_bytes(good)
    with here.agent(), here.client() as client:
        assert texts(client) == before and not client.status().pipelines[0].findings


def test_what_was_changed_without_the_agent_is_kept_too(here: World) -> None:
    with here.agent(), here.client() as client:
        load(here, client)
    here.ctl("--local", "create", "FAR 1 [(action, u8, DROP)]")
    with here.agent(), here.client() as client:
        assert client.rule("FAR", 1)
    reboot(here)
    with here.agent(), here.client() as client:
        assert client.rule("FAR", 1)
    here.ctl("--local", "unload")
    here.ctl("--local", "load", "bundle", "--config", "edge.yaml")
    with here.agent(), here.client() as client:  # of another load
        assert [rule.kind for rule in client.rules()] == ["OVERLAY"]


def test_what_was_replaced_without_the_agent_does_not_come_back(here: World) -> None:
    with here.agent(), here.client() as client:
        load(here, client)
        client.apply("create FAR 1 [(action, u8, DROP)]")
    another = bundles.compile_pipeline(check_file(HP), "fused")
    bundles.write_bundle(another, here.directory / "bundle")
    here.ctl("--local", "unload")
    here.ctl("--local", "load", "bundle", "--config", "edge.yaml")
    with here.agent() as process, here.client() as client:
        process.expect("H0784")
        assert not list(client.rules(kinds=["FAR"]))
    reboot(here)
    with here.agent(), here.client() as client:
        assert not client.status().pipelines


def test_a_pipeline_of_a_local_load_is_said_to_be_lost_by_a_reboot(here: World) -> None:
    here.ctl("--local", "load", "bundle", "--config", "edge.yaml")
    with here.agent() as process, here.client() as client:
        process.expect("H0784")
        assert [f.code for f in client.status().pipelines[0].findings] == ["H0784"]
        assert client.apply("create FAR 1 [(action, u8, DROP)]").created_count == 1


def test_an_older_directory_put_back_while_the_machine_runs_is_told(
    here: World, tmp_path: Path
) -> None:
    """The rules are in the kernel; what was answered to keys since is lost."""
    asked = "create FAR 7 [(action, u8, DROP)]"
    with here.agent() as process, here.client() as client:
        load(here, client)
        kill(process)
    shutil.copytree(here.state, tmp_path / "older")
    with here.agent(), here.client() as client:
        client.apply(asked, key="pay")
        client.apply("delete FAR 7", key="undo")
    shutil.rmtree(here.state)
    shutil.copytree(tmp_path / "older", here.state)
    for _ in range(2):
        with here.agent() as process, here.client() as client:
            process.expect("H0781")
            (found,) = client.status().pipelines[0].findings
            assert found.code == "H0781" and "not all that was answered" in found.title
            assert not [rule for rule in client.rules() if rule.kind == "FAR"]
            kill(process)
    with here.agent(), here.client() as client:
        assert not client.accept_loss().left and not client.status().pipelines[0].findings


def test_a_log_removed_at_work_is_written_again(here: World) -> None:
    with here.agent() as process, here.client() as client:
        load(here, client)
        client.apply("create FAR 7 [(action, u8, DROP)]")
        (log,) = here.state.glob("requests-1-*")
        log.unlink()
        process.expect("somebody removed it")
        process.expect("can be written again")
        client.apply("create FAR 8 [(action, u8, DROP)]")
        kill(process)
    reboot(here)
    with here.agent(), here.client() as client:
        status = client.status()
        assert not status.findings and not status.pipelines[0].findings
        assert {rule.id for rule in client.rules() if rule.kind == "FAR"} == {7, 8}


def test_a_list_that_is_lost_leaves_the_data_path(here: World) -> None:
    with here.agent(), here.client() as client:
        load(here, client)
        client.apply("create FAR 1 [(action, u8, DROP)]")
    for name in COPIES:
        (here.state / name).write_bytes(b"nonsense" * 1000)
    with here.agent() as process, here.client() as client:
        process.expect("H0781")
        status = client.status()
        assert [f.code for f in status.pipelines[0].findings] == ["H0784"], "as of a local load"
        assert [f.code for f in status.findings] == ["H0781", "H0789"] and status.journal.losses
        assert client.rule("FAR", 1)
    assert list((here.state / "aside").glob("snapshot-1-*"))
    reboot(here)
    with here.agent(), here.client() as client:
        assert not client.status().pipelines and client.status().journal.losses


def test_a_full_disk_refuses_changes_and_nothing_else(here: World) -> None:
    here.state.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4m", "none", here.state], check=True)
    try:
        with here.agent(), here.client() as client:
            load(here, client)
            first = client.apply("create FAR 1 [(action, u8, DROP)]")
            (here.state / "filler").write_bytes(bytes(free_octets(here.state)))
            with pytest.raises(Rejected, match="H0780"):
                for _ in range(2000):
                    client.apply("update FAR 1 [(action, u8, DROP)]")
            assert client.rule("FAR", 1) and client.status().pipelines[0].revision >= first.revision
            (here.state / "filler").unlink()
            assert client.apply("delete FAR 1").removed_count == 1
    finally:
        subprocess.run(["umount", here.state], check=True)


def free_octets(path: Path) -> int:
    about = os.statvfs(path)
    return about.f_bavail * about.f_frsize


#: Requests of a worker, and how far apart the numbers of workers' rules and those of a pair are.
EACH, APART, PAIR = 600, 1000, 10_000


class Worker(threading.Thread):
    """Creates pairs of rules, one request after the other, each with a key and again and again
    until it is acknowledged. `done`: the number of those that are; `up`: an agent is there, without
    which nothing is tried."""

    def __init__(self, here: World, number: int, up: threading.Event) -> None:
        super().__init__()
        self.here, self.number, self.up, self.done = here, number, up, 0
        self.ending = threading.Event()
        self.wrong: list[BaseException] = []

    def run(self) -> None:
        try:
            while not self.ending.is_set():
                self._one(self.number * APART + self.done + 1)
        except BaseException as error:
            self.wrong.append(error)

    def _one(self, id_: int) -> None:
        text = f"create FAR {id_} [(action, u8, DROP)], FAR {id_ + PAIR} [(action, u8, DROP)]"
        while not self.ending.is_set():
            if not self.up.wait(0.1):
                continue
            try:
                with Client(self.here.address, self.here.name, timeout=5) as client:
                    client.apply(text, key=f"{self.number}-{id_}")
                self.done += 1
                if self.done == EACH:
                    self.ending.set()
                return
            except Rejected as error:
                if error.diagnostics[0].code not in ("H0763", "H0764"):
                    raise


def paired(there: set[int]) -> bool:
    return {i + PAIR for i in there if i <= PAIR} == {i for i in there if i > PAIR}


@pytest.fixture
def workers(here: World) -> Iterator[list[Worker]]:
    """Three, started by the test and ended with it, however it ends."""
    up = threading.Event()
    made = [Worker(here, number, up) for number in range(3)]
    yield made
    for worker in made:
        worker.ending.set()
        if worker.ident is not None:
            worker.join()


@pytest.mark.parametrize("acknowledge", ["after", "before"])
def test_kills_at_any_moment(here: World, workers: list[Worker], acknowledge: str) -> None:
    """No acknowledged request is lost, none is made twice, none by half."""
    chance = random.Random(acknowledge)
    begun, up = False, workers[0].up
    for _ in range(8):
        with here.agent("--acknowledge", acknowledge) as process, here.client() as client:
            if not begun:
                load(here, client)
                for worker in workers:
                    worker.start()
                begun = True
            up.set()
            done = {w.number * APART + i + 1 for w in workers for i in range(w.done)}
            there = {rule.id for rule in client.rules(kinds=["FAR"], text=False)}
            assert there >= done
            assert paired(there)
            enough = len(done) + chance.randrange(30)
            until(lambda: sum(w.done for w in workers) >= enough, "requests done", 20)  # noqa: B023
            kill(process)
            up.clear()
    with here.agent(), here.client() as client:
        for worker in workers:
            worker.ending.set()
            worker.join()
            assert not worker.wrong
        there = {rule.id for rule in client.rules(kinds=["FAR"], text=False)}
        assert paired(there)
        for worker in workers:
            mine = {i for i in there if 0 < i - worker.number * APART <= APART}
            assert worker.done <= len(mine) <= worker.done + 1
    assert sum(worker.done for worker in workers) > 0


def test_it_is_back_soon(here: World) -> None:
    """From the start of the process to the first answer, with 20,000 rules."""
    with here.agent() as process, here.client() as client:
        load(here, client)
        client.apply("create FAR 1 [(action, u8, DROP)]")
        kinds = client.schema().kinds
        lines = "".join(f"10.{i >> 8}.{i & 255}.0/24,1\n" for i in range(20_000))
        client.bulk(read_csv(Source("pdr.csv", "dst_ip,FAR\n" + lines), kinds["PDR"]))
        kill(process)
    begun = time.monotonic()
    with here.agent(), here.client() as client:
        assert client.status().pipelines[0].revision
        assert time.monotonic() - begun < 10, "0.6 s on a quiet machine"
