"""Requests that are large, wrong or no messages at all."""

from __future__ import annotations

import json
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any, cast

import grpc
import pytest
from agent_world import World
from grpc_calls import channel_beside
from guarded import Context, asked
from helioc.lang.contract.request.request_parser import parse_request
from helioc.lang.text.cancel import cancel_when
from helioc.lang.text.diagnostics import Diagnostic, Label, Refused
from helioc.lang.text.source import Source
from helioc.runtime.base import agent_errors as faults
from helioc.runtime.base.errors import refused
from helioc.runtime.client import Client, Rejected
from helioc.runtime.front.calls import Failed
from helioc.runtime.http2.codes import Code
from helioc.runtime.intents.document import read_document
from helioc.runtime.owner.fair_lock import FairLock, Slices
from helioc.runtime.rpc import control_pb2 as pb
from helioc.runtime.rpc.access import TEXT
from helioc.runtime.rpc.admission import failure_of
from helioc.runtime.rpc.callers import LOCAL
from helioc.runtime.rpc.clients import Limits
from helioc.runtime.rpc.failures import failure
from helioc.runtime.rpc.guard import Guard, need_client
from helioc.runtime.rpc.methods import METHODS, path
from tls_world import within

JUNK = b"\xff\xff\xff\xff"


@pytest.mark.usefixtures("kernel")
def test_what_is_no_message_is_answered(secure: World, certs: Path) -> None:
    """More often than a connection has streams, as single requests and within streams."""

    def go(client: Client) -> None:
        channel = owned.enter_context(channel_beside(client))
        raw: Any = channel.unary_unary(path("Apply"))
        streamed: Any = channel.stream_stream(path("Stream"))
        for _ in range(80):
            for call in (lambda: raw(JUNK, timeout=10), lambda: list(streamed(iter([JUNK])))):
                with pytest.raises(grpc.RpcError) as error:
                    call()
                assert error.value.code() is grpc.StatusCode.INVALID_ARGUMENT
                assert "is no helio.control.v1.ApplyRequest" in str(error.value)
        assert client.apply("create FAR [(action, u8, DROP)]").revision

    with ExitStack() as owned:
        within(secure, certs, "a-rules", go)


@pytest.mark.usefixtures("kernel")
def test_findings_are_few_and_short(secure: World, certs: Path) -> None:
    keys = {f"key{number}": 1 for number in range(20_000)}
    intent = {"resourceId": "a", "resources": ["ipv4"], "action": {"queue": 1}, **keys}
    many = "create PDR [(dst_ip, u32, 10.2.0.0/16), FAR 9]"
    texts = {"an intent": json.dumps(intent), "many rules": "; ".join([many] * 10_000)}

    def go(client: Client) -> None:
        for what, text in texts.items():
            with pytest.raises(Rejected) as error:
                client.apply_intent(text) if what == "an intent" else client.apply(text)
            found = error.value.diagnostics
            assert 0 < len(found) <= 20, what
            assert all(len(each.title) < 300 and len(each.help) < 1000 for each in found), what

    within(secure, certs, "a-rules", go)


class Gone(Exception):
    pass


def leave() -> None:
    raise Gone


@pytest.mark.parametrize(
    "work",
    [
        lambda: parse_request(Source("r", "create FAR [(action, u8, DROP)]; delete FAR 1")),
        lambda: read_document(Source("i", "{resourceId: a}"), lambda: 0.0),
        Slices(FairLock(), lambda: None),
    ],
    ids=["request", "intent", "plan"],
)
def test_work_ends_when_nobody_waits(work: object) -> None:
    assert callable(work)
    with cancel_when(leave), pytest.raises(Gone):
        for _ in range(1_000_000):
            work()


def test_a_call_that_has_ended_is_refused() -> None:
    context = Context(LOCAL)
    context.cancel()
    with pytest.raises(Refused, match="H0779"):
        need_client(cast(Any, context))
    assert failure_of(refused(faults.given_up())).status == Code.CANCELLED


@pytest.mark.parametrize("name", ["n" * 60_000, "/a/" + "é" * 4000, "é" * 100, "edge.yaml"])
def test_what_a_text_is_called_is_said_in_short(name: str) -> None:
    found = Diagnostic("H0604", "no", (Label(Source(name, "a: b").span(0, 1), "this"),))
    said = failure([found]).findings[0].labels[0].source
    assert len(said.encode()) <= 200 and name.endswith(said.removeprefix("..."))
    assert said == name or len(said.encode()) > 190


LARGE = pb.ApplyRequest(request=bytes(4 << 20))
NAMED = {
    "pipeline": ("Apply", pb.ApplyRequest(pipeline="é" * 200)),
    "digest": ("Stream", pb.ApplyRequest(digest="a" * 3_000_000)),
    "idempotency_key": ("BulkApply", pb.BulkPart(begin=pb.BulkBegin(idempotency_key="k" * 257))),
    "name": ("ApplyIntent", pb.ApplyIntentRequest(text="x" * 5000, name="n" * 4097)),
    "config_name": ("Load", pb.LoadRequest(config="c" * 5000, config_name="c" * 10_000_000)),
}  # fmt: skip


@pytest.mark.parametrize("field", NAMED)
def test_names_are_bounded(field: str) -> None:
    name, request = NAMED[field]

    def read(parts: Any, _: object) -> bytes:
        if name == "BulkApply":
            list(parts)
        return b"done"

    with pytest.raises(Failed, match=f"`{field}` has .* bytes") as error:
        list(asked(Guard(), name, read, LOCAL, [request.SerializeToString()]))
    said = b"".join(value for _, value in error.value.trailer)
    assert error.value.code is Code.INVALID_ARGUMENT and len(said) < 400


def test_paths_are_names_of_texts() -> None:
    request = pb.ApplyIntentRequest(text="x" * 5000, name="n" * 4096, pipeline="p" * 256)
    answers = asked(
        Guard(), "ApplyIntent", lambda *_: b"done", LOCAL, [request.SerializeToString()]
    )
    assert list(answers) == [b"done"]


@pytest.mark.parametrize("name", ["Apply", "Stream", "ApplyIntent"])
def test_requests_are_bounded_with_all_that_is_in_them(name: str) -> None:
    """Fields that nobody knows, too."""
    request = LARGE.SerializeToString()
    with pytest.raises(Failed, match="H0770: the request has more than 4 MiB"):
        list(asked(Guard(), name, lambda *_: b"done", LOCAL, [request]))


def test_methods_take_what_they_need() -> None:
    door = Guard()
    sizes = {name: door.method(METHODS[name], lambda *_: b"").longest for name in METHODS}
    assert sizes["Refresh"] == sizes["RemoveIntent"] == sizes["Get"] == 64 << 10
    assert sizes["Load"] == sizes["BulkApply"] == 16 << 20


def test_a_large_request_counts_as_many() -> None:
    door = Guard(Limits(rate=1000.0))
    request = pb.ApplyRequest(request=bytes(100 * TEXT)).SerializeToString()
    assert list(asked(door, "Apply", lambda *_: b"done", LOCAL, [request])) == [b"done"]
    client = door._known(LOCAL.whose)
    assert 1000 - client.tokens == pytest.approx(101, abs=1)


def test_what_utf8_does_not_have_is_said_all_the_same() -> None:
    """YAML has it, by an escape."""
    with pytest.raises(Refused) as caught:
        read_document(Source("intent", '{resourceId: "\\ud800", "\\udfff": 1}'), time.time)
    assert failure(caught.value.diagnostics).SerializeToString()
