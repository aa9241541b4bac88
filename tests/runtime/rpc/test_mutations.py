"""Messages of every method changed by chance, at an agent: each is answered by a status in time,
and what is refused changes nothing. `HELIO_GRPC_MUTATIONS` says how many."""

from __future__ import annotations

import os
import random
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from abused import read, usage
from agent_world import EDGE, World, world
from grpc import StatusCode
from helioc.lang.contract.rules.columns import dump
from helioc.lang.contract.rules.csv_columns import read_csv
from helioc.lang.text.source import Source
from helioc.runtime.client import Client
from helioc.runtime.client.client import bundle_message
from helioc.runtime.loading.bundle import read_bundle
from helioc.runtime.rpc import control_pb2 as pb
from helioc.runtime.rpc.access import STAMP
from helioc.runtime.rpc.methods import METHODS, path
from http2 import REFUSED_STREAM, Answer, Closed, Peer, Target, headers, message
from lab import Background, Lab
from leaks import PREFIX
from mutated import AROUND, INSIDE

MANY = int(os.environ.get("HELIO_GRPC_MUTATIONS", "500"))
#: Seconds for an answer; and for those of calls that last, which then end by themselves.
_DEADLINE, _SHORT = 10, "60m"
#: Seconds before a stream that was refused is tried again.
_PAUSE = 0.2
_LASTING = ("Watch", "ReportIntents", "WatchStampResults", "Shadow")
#: Of which a mutation takes a tenth of a second.
_SELDOM = ("Load", "Upgrade", "Unload", "Refresh", "Backup", "Restore", "Repair", "Shadow")
_CHANGING = ("Apply", "Stream", "BulkApply", "ApplyIntent", "RemoveIntent", "AcceptLoss", *_SELDOM,
             *STAMP)  # fmt: skip
#: What may be wrong with a request. INTERNAL is said by gRPC of a message that is none, before we
#: see it; DEADLINE_EXCEEDED and CANCELLED end what lasts, or has no request.
_WRONG = {
    StatusCode[name].value[0]
    for name in ("INVALID_ARGUMENT", "NOT_FOUND", "ALREADY_EXISTS", "FAILED_PRECONDITION",
                 "ABORTED", "RESOURCE_EXHAUSTED")
}  # fmt: skip
_OK, _CANCELLED, _LATE, _INTERNAL, _NOT = (
    StatusCode[name].value[0]
    for name in ("OK", "CANCELLED", "DEADLINE_EXCEEDED", "INTERNAL", "UNIMPLEMENTED")
)
_INTENT = "resourceId: a\nresources: [ipv4: {src: 10.0.0.1}]\naction: {queue: 1}\n"
_SESSION = pb.StampParameters(ssid=5, reflector="192.0.2.2", sids=["fc00::1"], interval=0.5)
_RULES = (
    "create PDR 7 [(dst_ip, u32, 10.2.0.0/16), (src_port, u16, 5), FAR 1]",
    "create FAR [(action, u8, DROP)]; update FAR 1 [(action, u8, PASS)]",
    "delete FAR 2; replace PDR 7 [(protocol, u8, 6), FAR 1]",
    "create PDR [(dst_ip, u32, 10.3.0.0/16), FAR x]; create FAR x [(action, u8, DROP)]",
)


def messages(client: Client, directory: Path) -> dict[str, list[bytes]]:
    """Right ones, of each method."""
    name, bundle = client.pipeline, bundle_message(read_bundle(directory / "bundle"))
    lines = "".join(f"10.0.{n}.0/24,1\n" for n in range(20))
    columns = read_csv(Source("pdr.csv", "dst_ip,FAR\n" + lines), client.schema().kinds["PDR"])
    begin = pb.BulkBegin(pipeline=name, idempotency_key="k")
    applied = [client.message(text, key="" if n else "key") for n, text in enumerate(_RULES)]
    said = pb.Says(element="dst_ip", value="10.2.0.0/16")
    found: dict[str, list[Any]] = {
        "Apply": applied, "Stream": applied,
        "BulkApply": [pb.BulkPart(begin=begin, columns=dump(columns))],
        "Get": [pb.GetRequest(pipeline=name, kind="FAR", id=1)],
        "List": [pb.ListRequest(pipeline=name, form=pb.FORM_TEXT),
                 pb.ListRequest(filter=pb.Filter(kinds=["PDR"], says=[said], ids=[7, 8]))],
        "Entries": [pb.EntriesRequest(pipeline=name, state="SESSION")],
        "Load": [pb.LoadRequest(pipeline="other", bundle=bundle, config=EDGE)],
        "Upgrade": [pb.UpgradeRequest(pipeline=name, bundle=bundle, dry_run=True)],
        "Shadow": [pb.ShadowRequest(pipeline=name, bundle=bundle, seconds=0.1)],
        "ApplyIntent": [pb.ApplyIntentRequest(pipeline=name, text=_INTENT, name="i")],
        "RemoveIntent": [pb.RemoveIntentRequest(pipeline=name, id="a")],
        "CreateStampSession": [pb.CreateStampSessionRequest(pipeline=name, parameters=_SESSION)],
        "ReportIntents": [pb.ReportIntentsRequest(pipeline=name, period=1.0)],
    }  # fmt: skip
    for method, described in METHODS.items():
        if method not in found:
            made = getattr(pb, described.input_type.name)()
            if "pipeline" in described.input_type.fields_by_name:
                made.pipeline = name
            found[method] = [made]
    return {method: [m.SerializeToString() for m in each] for method, each in found.items()}


@dataclass
class Scene:
    """`process`: an agent with a pipeline that the client knows. `revision`: what it is since the
    last request that was not refused."""

    here: World
    process: Background
    client: Client
    chance: random.Random
    peer: Peer
    revision: int = 0
    refused: int = 0
    statuses: Counter[tuple[str, int]] = field(default_factory=Counter)

    def load(self) -> None:
        self.client.load(read_bundle(self.here.directory / "bundle"), EDGE)
        self.client.apply("create FAR 1 [(action, u8, DROP)]; create FAR 2 [(action, u8, PASS)]")

    def now(self) -> int:
        """The pipeline's revision; where it was unloaded, once it is loaded again."""
        for _ in range(2):
            for each in self.client.status().pipelines:
                if each.pipeline == self.here.name:
                    return each.revision
            self.load()
        raise AssertionError("it is not loaded")

    def one(self, method: str, right: bytes) -> None:
        """Send one that is wrong, or happens not to be, and see what becomes of it."""
        chance, framed = self.chance, self.chance.random() < 0.15
        body = (chance.choice(AROUND)(chance, right) if framed
                else message(chance.choice(INSIDE)(chance, right)))  # fmt: skip
        timeout = _SHORT if method in _LASTING else f"{_DEADLINE}S"
        begun = time.monotonic()
        try:
            answer = self.ask(method, timeout, body)
        except Closed as closed:
            raise AssertionError(f"{method} {body!r}: the connection is gone") from closed
        status = answer.status if answer.reset is None else _CANCELLED
        what = f"{method} {body!r}: {answer}"
        assert answer.ended and status is not None, what
        assert time.monotonic() - begun < _DEADLINE, what
        assert "H9999" not in answer.fields.get("grpc-message", ""), what
        allowed = {_OK, *_WRONG, *((_INTERNAL, _CANCELLED, _NOT) if framed else ())}
        assert status in allowed | ({_LATE} if method in _LASTING else set()), what
        self.statuses[method, status] += 1
        if method in _CHANGING:
            self.compare(status == _OK, what)

    def ask(self, method: str, timeout: str, body: bytes) -> Answer:
        """Again where the stream is refused: gRPC looks at no message of it."""
        begun = time.monotonic()
        while True:
            stream = self.peer.call(headers(path(method), grpc_timeout=timeout), body)
            answer = self.peer.wait(stream, _DEADLINE + 5)
            if answer.reset != REFUSED_STREAM or time.monotonic() - begun > _DEADLINE:
                return answer
            self.statuses["refused streams", REFUSED_STREAM] += 1
            self.peer.listen(_PAUSE)

    def compare(self, done: bool, what: str) -> None:
        """What was refused has changed nothing; they are looked at some at a time."""
        if not done:
            self.refused += 1
            if self.refused % 10:
                return
        now = self.now()
        assert done or now == self.revision, what
        self.revision = now


@pytest.fixture
def scene(kernel: None, tmp_path: Path) -> Iterator[Scene]:
    with ExitStack() as owned:
        lab = owned.enter_context(Lab(f"{PREFIX}mutations-"))
        here = owned.enter_context(world(lab, tmp_path))
        process = owned.enter_context(here.agent("--rate", "1000000000"))
        owned.enter_context(read(process))
        client = owned.enter_context(here.client())
        peer = owned.enter_context(Peer(Target(unix=str(here.socket))))
        made = Scene(here, process, client, random.Random(1), peer)
        made.load()
        made.revision = made.now()
        yield made
    said = process.output
    assert "Traceback" not in said and "H9999" not in said, said[-3000:]


def test_each_is_answered_and_none_changes_what_it_should_not(scene: Scene) -> None:
    right = messages(scene.client, scene.here.directory)
    assert set(right) == set(METHODS)
    # more often what changes rules: there is more to be read
    often = {"Apply": 12, "Stream": 8, "BulkApply": 8, "List": 4, "Get": 4, "ApplyIntent": 4}
    weights = [0.3 if m in _SELDOM else often.get(m, 1) for m in right]
    before = usage(scene.process.pid)
    for method in scene.chance.choices(list(right), weights, k=MANY):
        scene.one(method, scene.chance.choice(right[method]))
    after = usage(scene.process.pid)
    assert after.descriptors <= before.descriptors + 20, (before, after)
    assert after.size <= before.size + 200, (before, after)
    assert scene.statuses["refused streams", REFUSED_STREAM] <= MANY / 1000
    refused = sum(n for (_, status), n in scene.statuses.items() if status != _OK)
    assert refused > MANY // 3
    sys.stdout.write(f"\n{MANY:,} messages, {refused:,} refused; {before} {after}\n")
    for method in [*right, "refused streams"]:
        said = {s: n for (m, s), n in sorted(scene.statuses.items()) if m == method}
        sys.stdout.write(f"{method}: {said}\n")
