"""Who changed what, and what was refused: all of it is on record, and nobody writes it but us."""

from __future__ import annotations

import logging
import re
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import Mock

import pytest
from agent_world import EDGE, World
from guarded import asked, outcome_of
from helioc.runtime.base.certs import _write, certify, new_key, read_authority
from helioc.runtime.client import Client, Rejected
from helioc.runtime.front.calls import Failed
from helioc.runtime.loading.bundle import read_bundle
from helioc.runtime.rpc import audit as auditing
from helioc.runtime.rpc import control_pb2 as pb
from helioc.runtime.rpc.audit import ALL, EACH, Audit, Entry
from helioc.runtime.rpc.callers import Caller
from helioc.runtime.rpc.clients import Limits
from helioc.runtime.rpc.guard import Guard
from journald_world import journald, logging_to, parsed
from lab import Background, until
from tls_world import PORT, within

__all__ = ["journald"]
HOSTILE = 'x" role=admin\nheliod.audit: INFO: client=a-admin \x1b[2J é'
DAY = timedelta(days=1)
FIELD = re.compile(r'(\w+)=("(?:[^"\\]|\\.)*"|\S+)(?: |$)')


def fields_of(line: str) -> dict[str, str]:
    """The whole line is fields."""
    found, at = {}, 0
    while at < len(line):
        match = FIELD.match(line, at)
        assert match is not None, line[at:]
        found[match[1]], at = match[2].strip('"'), match.end()
    return found


Lines = list[tuple[str, dict[str, str]]]


def recorded(lines: Lines) -> list[dict[str, str]]:
    """Without what differs from run to run."""
    return [{k: v for k, v in each.items() if k not in ("time", "ms")} for _, each in lines]


@pytest.fixture
def log() -> Iterator[Lines]:
    """The lines of this process's audit: level and fields."""
    made = Lines()

    class Keep(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            made.append((record.levelname, fields_of(record.getMessage())))

    logger, keep = logging.getLogger("heliod.audit"), Keep()
    level = logger.level
    logger.addHandler(keep)
    logger.setLevel(logging.INFO)
    yield made
    logger.setLevel(level)
    logger.removeHandler(keep)


@pytest.fixture
def still(monkeypatch: pytest.MonkeyPatch) -> None:
    """No second passes."""
    clock = SimpleNamespace(monotonic=lambda: 1000.0, time=time.time, sleep=time.sleep)
    monkeypatch.setattr(auditing, "time", clock)


ME = Caller("me", "rules", "192.0.2.9", 4711, "00ff")


def packed(number: int = 0) -> bytes:
    content = b"\1" + (2).to_bytes(4, "big")
    return pb.ApplyRequest(request=content, idempotency_key=f"k{number}").SerializeToString()


def done(request: Any, context: Any) -> pb.ApplyReply:
    request.pipeline, context.note = "edge", ("FAR", "PDR")
    made = pb.ApplyReply(revision=7, created_count=2, removed_count=1)
    made.created.add(kind="PDR", id=1)
    made.created.add(kind="FAR", id=1)
    return made


COMMON = {"client": "me", "address": "192.0.2.9", "role": "rules", "certificate": "00ff"}


def test_a_change_says_who_and_what(log: Lines) -> None:
    audit = Audit()
    list(asked(Guard(audit=audit), "Apply", done, ME, [packed()]))
    audit.close()
    assert [level for level, _ in log] == ["INFO"]
    assert recorded(log) == [
        {**COMMON, "method": "Apply", "pipeline": "edge", "key": "k0", "changes": "2",
         "bytes": str(len(packed())), "answer": "OK", "created": "2",
         "removed": "1", "revision": "7", "kinds": "FAR,PDR"},
    ]  # fmt: skip
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", log[0][1]["time"])
    assert 0 <= float(log[0][1]["ms"]) < 10_000


@pytest.mark.parametrize(
    ("caller", "limits", "request_", "code"),
    [
        (ME._replace(role="read"), Limits(), packed(), "H0773"),
        (ME._replace(role=None), Limits(), packed(), "H0773"),
        (ME, Limits(calls=0), packed(), "H0770"),
        (ME, Limits(), b"\xff\xff", "H0762"),
    ],
    ids=["role", "no role", "limit", "no message"],
)
def test_a_refusal_is_a_warning(
    log: Lines, caller: Caller, limits: Limits, request_: bytes, code: str
) -> None:
    audit = Audit()
    with pytest.raises(Failed):
        list(asked(Guard(limits, audit), "Apply", done, caller, [request_]))
    audit.close()
    ((level, line),) = log
    assert (level, line["method"], line["role"]) == ("WARNING", "Apply", caller.role or "none")
    assert line["answer"] == code


def test_who_only_looks_is_on_record_where_refused(log: Lines) -> None:
    audit = Audit()
    for requests in ([b""], []):
        found = asked(Guard(audit=audit), "Status", lambda *_: pb.StatusReply(), ME, requests)
        with pytest.raises(Failed) if not requests else nullcontext():
            list(found)
    audit.close()
    assert [(each["method"], each["answer"]) for each in recorded(log)] == [("Status", "H0762")]


def test_nobody_writes_into_a_line(log: Lines) -> None:
    audit = Audit()
    caller = ME._replace(name=HOSTILE * 3)
    request = pb.ApplyRequest(pipeline=HOSTILE, idempotency_key=HOSTILE)
    guard, sent = Guard(audit=audit), request.SerializeToString()
    with pytest.raises(Failed):
        list(asked(guard, "Load", done, caller, [sent]))
    list(asked(guard, "Apply", lambda *_: pb.ApplyReply(), caller, [sent]))
    audit.close()
    assert [each["role"] for each in recorded(log)] == ["rules", "rules"]
    text = HOSTILE.encode("unicode-escape").decode().replace("\\x1b", "\\u001b")
    text = text.replace("\\xe9", "\\u00e9").replace('"', '\\"')
    assert log[1][1]["pipeline"] == log[1][1]["key"] == text
    assert log[1][1]["client"].startswith(text) and log[1][1]["client"].endswith("...")


def test_what_waits_to_be_written_is_short(still: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(auditing, "_LINGER", -1.0)
    audit = Audit(lambda: False)
    request = pb.ApplyRequest(pipeline="p" * 1_000_000, idempotency_key="k" * 1_000_000)
    guard, sent = Guard(Limits(rate=1e9), audit), request.SerializeToString()
    for _ in range(int(EACH) + 3):
        with pytest.raises(Failed, match="H0762"):
            list(asked(guard, "Apply", lambda *_: pb.ApplyReply(), ME, [sent]))
    assert len(repr(audit._lines)) + len(repr(audit._counted["me"].fields())) < 100_000
    audit.close()


def test_each_request_of_a_stream_is_on_record(log: Lines) -> None:
    audit = Audit()

    def method(request: Any, context: object) -> pb.StreamReply:
        if request.idempotency_key == "k0":
            return pb.StreamReply(number=1, done=done(request, context))
        failed = pb.Failure(revision=9)
        failed.findings.add(code="H0760")
        return pb.StreamReply(number=2, failed=failed)

    replies = asked(Guard(audit=audit), "Stream", method, ME, map(packed, range(4)))
    next(replies), next(replies)
    replies.close()  # the client is gone
    audit.close()
    lines = recorded(log)
    assert [(each["key"], each["answer"]) for each in lines] == [
        ("k0", "OK"), ("k1", "H0760"), ("k2", "unanswered"), ("k3", "unanswered"),
    ]  # fmt: skip
    assert lines[1]["revision"] == "9"


def test_a_stream_that_ends_by_no_message(log: Lines) -> None:
    audit = Audit()

    def method(request: Any, context: object) -> pb.StreamReply:
        return pb.StreamReply(number=1, done=done(request, context))

    replies = asked(Guard(audit=audit), "Stream", method, ME, iter([packed(), b"\xff"]))
    next(replies)
    with pytest.raises(Failed):
        next(replies)
    audit.close()
    assert [each["answer"] for each in recorded(log)] == ["OK", "H0762"]


def test_a_bulk_request_is_one(log: Lines) -> None:
    audit = Audit()
    begin = pb.BulkPart(begin=pb.BulkBegin(pipeline="edge", idempotency_key="b"), columns=b"x")
    parts = [begin.SerializeToString(), pb.BulkPart(columns=b"y" * 1000).SerializeToString()]

    def method(requests: Iterator[Any], context: Any) -> pb.ApplyReply:
        assert len(list(requests)) == 2
        made = pb.ApplyReply(revision=8, created_count=100_000)
        context.note = outcome_of(made)
        return made

    list(asked(Guard(audit=audit), "BulkApply", method, ME, parts))
    audit.close()
    (line,) = recorded(log)
    assert (line["pipeline"], line["key"], line["created"]) == ("edge", "b", "100000")
    assert line["bytes"] == str(sum(map(len, parts))) and "changes" not in line


def test_each_of_several_is_on_record_where_a_call_may_have_one(log: Lines) -> None:
    audit = Audit()
    list(asked(Guard(audit=audit), "Apply", done, ME, [packed(1), packed(2)]))
    audit.close()
    assert [(each["key"], each["answer"]) for each in recorded(log)] == [("k1", "OK"), ("k2", "OK")]


def test_what_comes_too_fast_is_counted(log: Lines, still: None) -> None:
    audit, many = Audit(), int(EACH) + 3
    revisions = iter(range(1000, 1000 + many))

    def next_one(request: Any, context: object) -> pb.ApplyReply:
        made = done(request, context)
        made.revision = next(revisions)
        return made

    guard = Guard(audit=audit)
    for number in range(many):
        list(asked(guard, "Apply", next_one, ME, [packed(number)]))
    with pytest.raises(Failed):
        list(asked(guard, "Apply", next_one, ME, [b"\xff"]))
    audit.close()
    assert [each["key"] for each in recorded(log)[:-1]] == [f"k{n}" for n in range(int(EACH))]
    (level, line), length = log[-1], len(packed(10))
    assert level == "WARNING"
    assert {k: v for k, v in line.items() if k not in ("time", "since", "slowest_ms")} == {
        "count": "4", "refused": "1", "client": "me", "address": "192.0.2.9", "role": "rules",
        "method": "Apply", "pipeline": "edge", "answer": "OK,H0762", "changes": "6",
        "bytes": str(3 * length), "created": "6", "removed": "3",
        "first_revision": str(1000 + many - 3), "last_revision": str(1000 + many - 1),
    }  # fmt: skip


@pytest.mark.parametrize(("waiting", "lines"), [(1000, ALL), (10, 10)])
def test_all_that_happened_is_said_whoever_it_was(
    log: Lines, still: None, monkeypatch: pytest.MonkeyPatch, waiting: int, lines: int
) -> None:
    """Also by more clients than have lines, while nobody reads the log."""
    monkeypatch.setattr(auditing, "_WAITING", waiting)
    readable = threading.Event()
    audit = Audit(readable.is_set)
    for number in range(5000):
        answer = "OK" if number % 5 else "H0773"
        entry = Entry((f"c{number % 500}", "", "rules", ""), "Apply")
        entry.answer = answer
        audit.record(entry)
    readable.set()
    audit.close()
    said = [each for _, each in log]
    assert sum(int(each.get("count", 1)) for each in said) == 5000
    refused = [int(e["refused"]) if "refused" in e else e["answer"] != "OK" for e in said]
    assert sum(refused) == 1000
    assert len(said) == lines + auditing._CLIENTS + 1
    assert any("..." in each["client"] for each in said), "the others have one together"


def test_a_log_that_nobody_reads_holds_up_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(auditing, "_LINGER", 0.1)
    audit = Audit(lambda: False)
    guard = Guard(audit=audit)
    for number in range(100):
        (reply,) = asked(guard, "Apply", done, ME, [packed(number)])
        assert pb.ApplyReply.FromString(reply).revision == 7
    audit.close()


@contextmanager
def without_threads() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        error = RuntimeError("can't start new thread")
        patch.setattr(threading.Thread, "start", Mock(side_effect=error))
        yield


def record(audit: Audit, times: int = 1) -> None:
    for _ in range(times):
        entry = Entry(("me", "", "rules", ""), "Apply")
        entry.answer = "OK"
        audit.record(entry)


def test_what_no_thread_could_write_is_written_by_the_next(
    log: Lines, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whether the one that starts it has a line of its own or is counted."""
    monkeypatch.setattr(auditing, "PERIOD", 0.0)
    many, audit = 2 * int(EACH), Audit()
    with without_threads():
        record(audit, many)
    assert not log
    record(audit)
    until(lambda: sum(int(each.get("count", 1)) for _, each in log) == many + 1, "all is written")
    audit.close()


def test_what_no_thread_could_write_is_written_at_the_end(log: Lines) -> None:
    audit = Audit()
    with without_threads():
        record(audit)
    audit.close()
    assert [each["answer"] for each in recorded(log)] == ["OK"]


def test_the_journal_can_be_asked_by_field(journald: socket.socket, tmp_path: Path) -> None:
    with logging_to(tmp_path / "socket"):
        audit = Audit()
        guard, hostile = Guard(audit=audit), ME._replace(name=HOSTILE)
        list(asked(guard, "Apply", done, hostile, [packed()]))
        with pytest.raises(Failed):
            list(asked(guard, "Unload", done, hostile))
        audit.close()
        first, second = (parsed(journald.recv(1 << 16)) for _ in range(2))
    message = first.pop("MESSAGE")
    assert message.startswith("heliod.audit: time=") and "\n" not in message
    assert first["HELIO_CLIENT"].startswith(r"x\" role=admin\nheliod.audit")
    expected = {
        "PRIORITY": "6", "SYSLOG_IDENTIFIER": "heliod", "HELIO_LOGGER": "heliod.audit",
        "HELIO_ADDRESS": "192.0.2.9", "HELIO_ROLE": "rules", "HELIO_METHOD": "Apply",
        "HELIO_PIPELINE": "edge", "HELIO_KEY": "k0", "HELIO_ANSWER": "OK", "HELIO_REVISION": "7",
    }  # fmt: skip
    assert expected.items() <= first.items()
    assert (second["PRIORITY"], second["HELIO_ANSWER"]) == ("4", "H0773")


# ---- the agent ------------------------------------------------------------------------------


def lines_of(process: Background, last: str) -> list[dict[str, str]]:
    text = process.expect(last)
    while not text.endswith("\n"):
        text = process.expect("\n")
    lines = re.findall(r"^heliod\.audit: \w+: (.*)$", text, re.MULTILINE)
    assert all(line.isascii() and line.isprintable() for line in lines)
    return [fields_of(line) for line in lines]


@pytest.mark.usefixtures("kernel")
def test_the_agent_records_what_is_done_to_it(here: World, certs: Path) -> None:
    authority, signer = read_authority(certs)
    key = new_key()
    _write(
        certs, "odd", certify(authority, signer, HOSTILE, key.public_key(), "rules", (), DAY), key
    )
    bundle = read_bundle(here.directory / "bundle")

    def change(client: Client) -> None:
        client.pipeline = ""  # the only one
        made = client.apply("create FAR 1 [(action, u8, DROP)]", key="first")
        client.apply("create FAR 1 [(action, u8, DROP)]", key="first")
        client.apply("replace FAR, PDR [(dst_ip, u32, 10.0.0.0/8), FAR [(action, u8, DROP)]]")
        client.apply("create FAR 1 [(action, u8, DROP)]")
        with pytest.raises(Rejected):
            client.apply("create FAR 1 [(action, u8, DROP)]")
        with pytest.raises(Rejected):
            client.unload()
        with client.stream() as stream:  # which is cancelled, and that is no refusal
            stream.send("create FAR 9 [(action, u8, DROP)]")
            assert stream.receive()
        assert made.revision and client.refresh()

    with here.agent("--tcp", f"0.0.0.0:{PORT}", "--identity", str(certs / "agent")) as process:
        with here.client() as client:
            client.load(bundle, EDGE)
        within(here, certs, "odd", change)
        with here.client() as client:
            client.upgrade(bundle, dry_run=True)
            client.unload()
        found = lines_of(process, f"role=admin method=Unload pipeline={here.name} ")
    name = here.name
    assert [
        (e["role"], e["method"], e.get("pipeline"), e["answer"], e.get("key")) for e in found
    ] == [
        ("admin", "Load", name, "OK", None),
        ("rules", "Apply", name, "OK", "first"),
        ("rules", "Apply", name, "OK", "first"),
        ("rules", "Apply", name, "OK", None),
        ("rules", "Apply", name, "OK", None),
        ("rules", "Apply", name, "H0451", None),
        ("rules", "Unload", None, "H0773", None),
        ("rules", "Stream", name, "OK", None),
        ("rules", "Refresh", name, "OK", None),
        ("admin", "Upgrade", name, "OK", None),
        ("admin", "Unload", name, "OK", None),
    ]
    assert found[0]["client"] == "unix" and found[0]["digest"] == bundle.manifest.digest
    assert found[1]["address"] == "127.0.0.1" and len(found[1]["certificate"]) == 64
    assert found[1]["client"].startswith(r"x\" role=admin\nheliod.audit")
    assert (found[1]["created"], found[1]["kinds"]) == ("1", "FAR")
    assert found[2]["repeated"] == "true" and found[9]["dry_run"] == "true"
    assert (found[3]["removed"], found[3]["kinds"]) == ("1", "FAR,PDR")
