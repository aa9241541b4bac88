"""`helioctl backup` and `restore`, of agents that have pipelines loaded."""

from __future__ import annotations

import stat
import threading
from contextlib import closing
from dataclasses import replace
from typing import Any

import pytest
from agent_world import EDGE, World, texts
from helioc.lang.contract.rules.wire import encode as encoded
from helioc.lang.text.diagnostics import Refused
from helioc.lang.text.source import Source as Text
from helioc.runtime.agent.agent import Agent
from helioc.runtime.client import Client, Rejected
from helioc.runtime.journal.backup import Source
from helioc.runtime.journal.files import Mark, digest_of
from helioc.runtime.journal.journal import Journal
from helioc.runtime.journal.pipelines import Snapshot
from helioc.runtime.journal.records import IES, Entry, encode
from helioc.runtime.journal.store import Store
from helioc.runtime.loading.bundle import read_bundle
from helioc.runtime.loading.releases import remove_pinned
from helioc.runtime.owner.requests import ApplyRequest
from relay import request

pytestmark = pytest.mark.usefixtures("kernel")


def load(here: World, client: Client, rules: int = 20) -> None:
    client.load(read_bundle(here.directory / "bundle"), EDGE)
    for number in range(1, rules + 1):
        client.apply(f"create FAR {number} [(action, u8, DROP)]", key=f"key-{number}")


def revision(client: Client) -> int:
    return client.status().pipelines[0].revision


def pair(first: int) -> str:
    return ", ".join(f"FAR {number} [(action, u8, DROP)]" for number in (first, first + 1))


def test_an_empty_agent_has_everything_of_it(here: World) -> None:
    with here.agent(), here.client() as client:
        load(here, client)
        expected, at = texts(client), revision(client)
        said = here.ctl("backup", "file")
        assert f"{here.name} (revision {at})" in said
        path = here.directory / "file"
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert "error[H0861]" in here.ctl("restore", "file", status=1)
        client.unload()
        assert f"restored {here.name}: 21 rules" in here.ctl("restore", "file")
        at = at + 1  # the overlay's next hop was resolved again
        assert (texts(client), revision(client)) == (expected, at)
        again = client.apply("create FAR 7 [(action, u8, DROP)]", key="key-7")
        assert again.repeated
        client.apply("delete FAR 7")
    with here.agent(), here.client() as client:
        assert len(texts(client)) == len(expected) - 1 and revision(client) == at + 1
        assert "21 rules" in here.ctl("restore", "--replace", "file")
        assert (texts(client), revision(client)) == (expected, at)
        assert not client.status().pipelines[0].findings
    with here.agent(), here.client() as client:
        assert (texts(client), revision(client)) == (expected, at)


def test_it_is_of_one_moment(here: World) -> None:
    """Rules that are changed two by two meanwhile are all there, or both are not."""
    with here.agent(), here.client() as client, here.client() as other:
        load(here, client, 1)
        ended = threading.Event()

        def change() -> None:
            for number in range(10, 100_000, 2):
                if ended.is_set():
                    return
                other.apply(f"create {pair(number)}", key=f"k{number}")

        thread = threading.Thread(target=change)
        thread.start()
        try:
            data = [b"".join(client.backup()) for _ in range(5)]
        finally:
            ended.set()
            thread.join()
        seen = []
        for each in data:
            client.restore([each], replace_all=True)
            ids = [rule.id for rule in client.rules(kinds=["FAR"])]
            pairs = [number for number in ids if number >= 10]
            assert len(pairs) % 2 == 0
            assert client.apply("create FAR 1 [(action, u8, DROP)]", key="key-1").repeated
            if pairs:  # the last that it has was answered
                first = max(pairs) - 1
                assert client.apply(f"create {pair(first)}", key=f"k{first}").repeated
            seen.append(len(pairs))
        assert seen == sorted(seen) and seen[-1] > seen[0]


def test_what_could_not_be_restored_is_in_no_backup(here: World) -> None:
    with here.agent(), here.client() as client:
        load(here, client, 1)
    remove_pinned(here.name)  # as a reboot does
    (snapshot,) = here.state.glob("snapshot-1-*")
    snapshot.write_bytes(snapshot.read_bytes()[:-1])
    with here.agent():
        said = here.ctl("backup", "file", status=1)
        assert (
            f"error[H0862]: a backup cannot be taken: `{here.name}` could not be restored" in said
        )
        assert not (here.directory / "file").exists()


def altered(data: bytes, of: str, said: bytes | None = None, **about: Any) -> bytes:
    """A backup with something else in it that has its checksum: the file `of` it, or `about` its
    pipeline."""
    source = Source([data])
    contents = source.contents
    files = {mark.name: b"".join(source.file(mark)) for mark in contents.files}
    (pipeline,) = contents.pipelines

    def now(mark: Mark) -> Mark:
        content = files[mark.name]
        return Mark(mark.name, len(content), digest_of(content))

    if said is not None:
        files[next(name for name in files if name.endswith(of))] = said
    answers = tuple((now(mark), count) for mark, count in pipeline.answers)
    fresh = replace(
        pipeline, build=now(pipeline.build), snapshot=now(pipeline.snapshot), answers=answers,
        **about,
    )  # fmt: skip
    assert contents.intents is not None
    made = replace(contents, pipelines=(fresh,), intents=now(contents.intents))
    return made.encode() + b"".join(files.values())


NONSENSE: dict[str, Any] = {
    "intents without": {"of": "intents", "said": b'{"last": 1, "texts": {"1": "{}"}}'},
    "intents list": {"of": "intents", "said": b'{"last": 1, "texts": []}'},
    "intents deep": {"of": "intents", "said": b"[" * 99_999},
    "intents far": {"of": "intents", "said": b'{"last": 1e999, "texts": {}}'},
    "build": {"of": "build", "said": b"\xff" * 40},
    "answers": {"of": "answers-1", "said": encode(Entry(1, IES, b"", "key", b"d", b"[]"))},
    "config": {"of": "", "config": "x"},
    "config without": {"of": "", "config": "{}"},
    "revision": {"of": "", "revision": -1},
    "name": {"of": "", "name": "../elsewhere"},
}


def test_a_damaged_one_is_refused_as_a_whole(here: World) -> None:
    with here.agent(), here.client() as client:
        load(here, client, 3)
        data, expected = bytearray(b"".join(client.backup())), texts(client)
        data[-1] ^= 1
        (here.directory / "file").write_bytes(data)
        said = here.ctl("restore", "--replace", "file", status=1)
        assert "error[H0860]" in said and "in intents" in said
        for wrong in ([], [b"x"], [bytes(data)], [bytes(data[:-1])]):
            with pytest.raises(Rejected, match="H0860"):
                client.restore(wrong, replace_all=True)
        assert texts(client) == expected
        assert "error[H0740]" in here.ctl("restore", "--replace", "none", status=1)
        assert "error[H0740]" in here.ctl("restore", "--replace", ".", status=1)
        assert "error[H0740]" in here.ctl("backup", "no/such/directory", status=1)


def test_nonsense_with_right_checksums_is_refused_as_a_whole(here: World) -> None:
    with here.agent(), here.client() as client:
        load(here, client, 3)
        data, expected = b"".join(client.backup()), (texts(client), revision(client))
        for what, how in NONSENSE.items():
            with pytest.raises(Rejected) as caught:
                client.restore([altered(data, **how)], replace_all=True)
            code = "H0707" if what == "name" else "H0860"
            assert [each.code for each in caught.value.diagnostics] == [code], what
            assert (texts(client), revision(client)) == expected, what
        client.restore([altered(data, "")], replace_all=True)


def test_who_cannot_write_what_was_restored_has_what_was_there(
    here: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    with here.agent(), here.client() as client:
        load(here, client, 3)
        data = b"".join(client.backup())
        client.apply("create FAR 9 [(action, u8, DROP)]")

    def full(*_: object) -> None:
        raise Refused([])

    def work() -> None:
        with closing(Store(here.state)) as store, closing(Agent(store)) as agent:
            agent.open_all()
            (owner,) = agent.owners()
            before = owner.revision
            with agent.receiving([data]) as received, monkeypatch.context() as patched:
                patched.setattr(Store, "_save", full)
                with pytest.raises(Refused):
                    agent.restore_backup(received, replace_all=True)
            (owner,) = agent.owners()
            assert (
                owner.revision in (before, before + 1)
                and owner.loaded.book.get("FAR", 9) is not None
            )

    here.edge.inside_thread(work)


class Waited:
    """A lock, and an event that is set before somebody waits for it."""

    def __init__(self, lock: Any, asked: threading.Event) -> None:
        self._lock, self._asked = lock, asked

    def __enter__(self) -> None:
        self._asked.set()
        self._lock.acquire()

    def __exit__(self, *_: object) -> None:
        self._lock.release()


def test_a_backup_waits_for_a_snapshot_that_is_being_written(
    here: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Until the list names it the list has the one before."""
    turned, go_on, real = threading.Event(), threading.Event(), Journal.fold

    def fold(self: Journal, made: Snapshot, upgraded: bool = False) -> None:
        turned.set()
        assert go_on.wait(30)
        real(self, made, upgraded)

    def work() -> None:
        with closing(Agent(Store(here.state))) as agent:
            agent.load(read_bundle(here.directory / "bundle"), Text("<edge>", EDGE), here.name)
            owner = agent.owner()
            asked = request("create FAR 1 [(action, u8, DROP)]")
            owner.apply(ApplyRequest(encoded(asked, owner.codecs)))
            monkeypatch.setattr(Journal, "fold", fold)
            beside = threading.Thread(target=here.edge.inside_thread, args=(owner.fold,))
            beside.start()
            assert turned.wait(30)
            owner._folding = Waited(owner._folding, go_on)  # type: ignore[assignment]
            with agent.backup() as taken:
                found = [each.revision for each in taken.contents.pipelines]
            go_on.set()
            beside.join()
            assert found == [owner.revision]

    here.edge.inside_thread(work)


def test_a_pipeline_that_the_agent_does_not_keep(here: World) -> None:
    here.ctl("--local", "load", "bundle", "--config", "edge.yaml")
    with here.agent():
        assert "warning[H0863]" in here.ctl("backup", "file")
