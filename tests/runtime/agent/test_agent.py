"""`heliod` on a real kernel: requests over gRPC, errors, and what outlives it."""

from __future__ import annotations

import json
import os
import signal
import stat
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import grpc
import pytest
from agent_world import EDGE, World
from grpc_calls import calls_beside
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha.proto_reflection_descriptor_database import (
    ProtoReflectionDescriptorDatabase,
)
from helioc.lang.contract.rules.csv_columns import read_csv
from helioc.lang.contract.rules.rules import Reference
from helioc.lang.text.diagnostics import Refused
from helioc.lang.text.source import Source
from helioc.runtime.client import Client, Rejected
from helioc.runtime.http2.codes import Code
from helioc.runtime.loading.bundle import read_bundle
from helioc.runtime.loading.loader import Loaded
from helioc.runtime.loading.reader import Reader
from helioc.runtime.rpc import control_pb2 as pb
from helioc.runtime.rpc.failures import failure_of
from lab import until

pytestmark = pytest.mark.usefixtures("kernel")


@pytest.fixture
def agent(here: World) -> Iterator[Client]:
    """A client of an agent that has loaded the pipeline."""
    with here.agent(), here.client() as client:
        client.load(read_bundle(here.directory / "bundle"), EDGE)
        yield client


def refused(client: Client, text: str, **more: object) -> Rejected:
    with pytest.raises(Rejected) as error:
        client.apply(text, **more)  # type: ignore[arg-type]
    return error.value


def test_a_request_is_in_force_and_outlives_the_agent(here: World) -> None:
    with here.agent() as process, here.client() as client:
        status = client.load(read_bundle(here.directory / "bundle"), EDGE)
        assert [p.name for p in status.ports] == ["LAN", "WAN1"] and all(
            p.ifindex for p in status.ports
        )
        done = client.apply("create FAR 5 [(action, u8, REDIRECT), (interface, u32, GRE-WAN1)]")
        assert done.created == (Reference("FAR", 5),)
        again = client.apply("update FAR 5 [(action, u8, DROP)]")
        assert (again.revision, again.changed_count) == (done.revision + 1, 1)
        os.kill(process.pid, signal.SIGTERM)
        process.wait()
        assert not here.socket.exists()
    with Reader(here.name) as reader:
        assert len(reader.rules()) == 2
    with here.agent(), here.client() as client:
        (found,) = client.status().pipelines
        assert (found.pipeline, found.revision) == (here.name, again.revision)
        assert client.rule("FAR", 5).text.startswith("FAR 5 [(action, u8, DROP)")
        assert client.unload() == here.name
    assert refused_locally(here) == "H0706"


def refused_locally(here: World) -> str:
    with pytest.raises(Refused) as error:
        Loaded.open(here.name)
    return error.value.diagnostics[0].code


def test_the_socket_is_its_owners_alone(here: World, agent: Client) -> None:
    assert stat.S_IMODE(here.socket.stat().st_mode) == 0o600


def test_a_retried_request_is_applied_once(agent: Client) -> None:
    done = agent.apply("create FAR [(action, u8, DROP)]", key="one")
    again = agent.apply("create FAR [(action, u8, DROP)]", key="one")
    assert again.repeated and not done.repeated
    assert (again.created, again.revision) == (done.created, done.revision)
    assert refused(agent, "create FAR [(action, u8, PASS)]", key="one").diagnostics[0].code == (
        "H0761"
    )
    assert len(list(agent.rules(kinds=["FAR"]))) == 1
    wrong = refused(agent, "create FAR [(action, u8, PASS)]", key="x" * 65)
    assert wrong.diagnostics[0].code == "H0762"


def test_if_revision_guards_a_decision(agent: Client) -> None:
    now = agent.apply("create FAR 1 [(action, u8, DROP)]").revision
    assert agent.apply("update FAR 1 [(action, u8, PASS)]", if_revision=now).revision == now + 1
    late = refused(agent, "update FAR 1 [(action, u8, DROP)]", if_revision=now)
    assert (late.status, late.revision) == (Code.ABORTED, now + 1)
    assert late.diagnostics[0].code == "H0760"


def test_an_error_names_rule_element_and_place(agent: Client) -> None:
    with pytest.raises(Refused, match="H0420"):  # what is wrong by itself is not even sent
        agent.apply("create PDR 7 [(dst_ip, u32, 10.0.0.0/33)]")
    assert refused(agent, "create FAR 1 []").status is Code.INVALID_ARGUMENT
    text = "create FAR 1 [(action, u8, DROP)],\n  PDR 7 [(dst_ip, u32, 10.0.0.0/16), FAR 9]"
    wrong = refused(agent, text)
    (found,) = wrong.diagnostics
    assert found.code == "H0441" and found.span is not None
    assert (found.span.line, found.span.text) == (2, "FAR 9")
    assert wrong.status is Code.FAILED_PRECONDITION
    assert not list(agent.rules(kinds=["FAR"])), "all or nothing"


def test_a_failure_on_the_wire_is_structured(here: World, agent: Client) -> None:
    agent.apply("create FAR 1 [(action, u8, DROP)]")
    data = agent.message("create FAR 2 [(action, u8, DROP)], FAR 1 []").request
    with calls_beside(agent) as calls, pytest.raises(grpc.RpcError) as error:
        calls["Apply"](pb.ApplyRequest(pipeline=here.name, request=data))
    trailers: dict[str, bytes] = dict(error.value.trailing_metadata())  # type: ignore
    status, failed = pb.Status.FromString(trailers["grpc-status-details-bin"]), pb.Failure()
    assert status.details[0].Unpack(failed)
    (found,) = failed.findings
    assert (found.code, found.rule, list(found.path)) == ("H0451", "FAR 1", [0, 1])
    with calls_beside(agent) as calls, pytest.raises(grpc.RpcError) as error:
        calls["Apply"](pb.ApplyRequest(pipeline=here.name, request=data[:-3]))
    assert "H0480" in str(error.value.details())


def test_many_findings_fit_what_carries_them(here: World, agent: Client) -> None:
    text = "create\n" + ",\n".join(f"  FAR {i} [(action, u8, DROP)]" for i in range(1, 31))
    agent.apply(text)
    found = refused(agent, text).diagnostics
    assert {d.code for d in found} == {"H0451"}
    *all_, last = found
    assert last.title.endswith("more findings of the same request")
    assert len(all_) + int(last.title.split()[0]) == 20  # more nobody looks for
    spans = [d.span for d in all_ if d.span is not None]
    assert [(s.line, s.text) for s in spans] == [(i + 2, f"FAR {i + 1}") for i in range(len(all_))]
    assert len(all_) > 5
    with calls_beside(agent) as calls, pytest.raises(grpc.RpcError) as error:
        calls["Apply"](agent.message(text), timeout=10)  # a client with gRPC's own limits
    trailers: dict[str, bytes] = dict(error.value.trailing_metadata())  # type: ignore
    failed = failure_of(trailers["grpc-status-details-bin"])
    assert failed is not None and len(failed.findings) == len(found)


def test_of_a_long_line_the_part_that_is_meant_is_told(agent: Client) -> None:
    agent.apply("create FAR 900 [(action, u8, DROP)]")
    text = "create " + ", ".join(f"FAR {i} [(action, u8, DROP)]" for i in range(1, 1001))
    (found,) = refused(agent, text).diagnostics
    assert found.code == "H0451" and found.span is not None and found.span.text == "FAR 900"


def test_a_request_for_another_build_is_refused(here: World, agent: Client) -> None:
    data = agent.message("create FAR 2 [(action, u8, DROP)]").request
    asked = pb.ApplyRequest(pipeline=here.name, request=data, digest="0" * 64)
    with pytest.raises(Rejected) as error:
        agent._call("Apply", asked)
    assert error.value.status is Code.FAILED_PRECONDITION


def test_a_stream_goes_on_after_a_refusal(agent: Client) -> None:
    with agent.stream() as stream:
        for i in range(100):
            stream.send(f"create FAR {i % 60 + 1} [(action, u8, DROP)]")
        outcomes: list[int | str] = []
        for _ in range(100):
            try:
                outcomes.append(stream.receive().revision)
            except Rejected as rejected:
                outcomes.append(rejected.diagnostics[0].code)
    first = outcomes[0]
    assert isinstance(first, int) and outcomes[:60] == [first + i for i in range(60)]
    assert outcomes[60:] == ["H0451"] * 40


def test_clients_side_by_side(here: World, agent: Client) -> None:
    def one(number: int) -> list[int]:
        with here.client() as client:
            texts = [f"create FAR {number * 20 + i + 1} [(action, u8, DROP)]" for i in range(20)]
            return [client.apply(text).revision for text in texts]

    with ThreadPoolExecutor(4) as pool:
        revisions = [revision for found in pool.map(one, range(4)) for revision in found]
    assert len(set(revisions)) == 80 == max(revisions) - min(revisions) + 1
    assert len(list(agent.rules(kinds=["FAR"]))) == 80


def test_bulk_comes_in_one_transaction(agent: Client) -> None:
    agent.apply("create FAR 1 [(action, u8, DROP)]")
    kinds = agent.schema().kinds
    lines = "".join(f"10.{i >> 8}.{i & 255}.0/24,1\n" for i in range(5000))
    columns = read_csv(Source("pdr.csv", "dst_ip,FAR\n" + lines), kinds["PDR"])
    before = agent.status().pipelines[0].revision
    done = agent.bulk(columns, key="bulk")
    assert (done.revision, done.created_count) == (before + 1, 5000)
    assert done.created[0] == Reference("PDR", 1) and len(done.created) == 1000
    assert agent.bulk(columns, key="bulk").repeated
    with pytest.raises(Rejected) as error:
        agent.bulk(columns)
    assert error.value.diagnostics[0].code == "H0452"
    assert str(error.value.diagnostics[0].span) == "pdr.csv:2:1"
    with pytest.raises(Rejected) as error:
        agent.bulk(b"HPR\nnonsense")
    assert error.value.diagnostics[0].code == "H0472"


def test_list_filters(agent: Client) -> None:
    agent.apply("create FAR 1 [(action, u8, DROP)], FAR 2 [(action, u8, REDIRECT), "
                "(interface, u32, GRE-WAN1)], PDR 1 [(dst_ip, u32, 10.2.0.0/16), FAR 1], "
                "PDR 2 [(dst_ip, u32, 10.3.0.0/16), FAR 2]")  # fmt: skip

    def ids(**filters: object) -> list[tuple[str, int]]:
        return [(r.kind, r.id) for r in agent.rules(**filters)]  # type: ignore[arg-type]

    assert len(ids()) == 5
    assert ids(kinds=["pdr"], ids=[2]) == [("PDR", 2)]
    assert ids(name="gre-wan1") == [("OVERLAY", 1)]
    assert ids(says={"dst_ip": "10.3.0.0/16"}) == [("PDR", 2)]
    assert ids(refers_to=Reference("FAR", 1)) == [("PDR", 1)]
    assert ids(counted=True) == []
    shown = agent.rule("OVERLAY", "GRE-WAN1")
    assert shown.text.startswith("OVERLAY 1 GRE-WAN1 [") and shown.packets == 0
    with pytest.raises(Rejected) as error:
        agent.rule("PDR", 3)
    assert error.value.status is Code.NOT_FOUND
    with pytest.raises(Rejected, match="H0743.*`FAR 0`"):
        agent.rule("FAR", 0)
    for ask in (lambda: ids(says={"nope": "7"}), lambda: agent.rule("FAR", "")):
        with pytest.raises(Rejected, match="H0762") as error:
            ask()
        assert error.value.status is Code.INVALID_ARGUMENT


def test_what_is_listed_can_be_created_again(here: World, agent: Client) -> None:
    agent.apply("create PDR 1 [(dst_ip, u32, 10.2.0.0/16), FAR [(action, u8, DROP)]]")
    request = pb.ListRequest(pipeline=here.name, form=pb.FORM_REQUEST)
    (pdr,) = [r for part in agent._parts("List", request) for r in part.rules if r.kind == "PDR"]
    text = agent.rule("PDR", 1).text
    agent.apply("delete PDR 1")
    agent.apply("create FAR 1 [(action, u8, DROP)]")
    agent.apply(pdr.request)
    assert agent.rule("PDR", 1).text in (text, "PDR 1 [(dst_ip, u32, 10.2.0.0/16), FAR 1]")


def test_watchers_are_told(here: World, agent: Client) -> None:
    with here.client() as other, other.watch() as watch:
        done = agent.apply("create FAR 1 [(action, u8, DROP)]")
        agent.apply("update FAR 1 [(action, u8, PASS)]")
        agent.apply("delete FAR 1")
        agent.unload()
        events = iter(watch)
        found = [next(events) for _ in range(4)]
    assert [e.revision - done.revision for e in found] == [0, 1, 2, 2]
    assert [r.id for r in found[0].rules.created] == [1]
    assert [r.id for r in found[1].rules.changed] == [1]
    assert [r.id for r in found[2].rules.removed] == [1]
    assert found[3].changed.change == pb.PipelineChanged.UNLOADED


def test_the_schema_is_all_that_a_controller_needs(here: World, agent: Client) -> None:
    schema = agent.schema()
    assert schema.pipeline == here.name
    assert schema.manifest == read_bundle(here.directory / "bundle").manifest
    assert [(p.name, p.role, p.interface) for p in schema.ports] == [
        ("LAN", "lan", "lan0"), ("WAN1", "wan", "wan0"),
    ]  # fmt: skip


def test_health_and_reflection(here: World, agent: Client) -> None:
    with grpc.insecure_channel(here.address) as channel:
        health: Any = health_pb2_grpc.HealthStub(channel)
        for name in ("", "helio.control.v1.Control"):
            reply = health.Check(health_pb2.HealthCheckRequest(service=name), timeout=10)
            assert reply.status == health_pb2.HealthCheckResponse.SERVING
        services = ProtoReflectionDescriptorDatabase(channel).get_services()
    assert "helio.control.v1.Control" in services and "grpc.health.v1.Health" in services


def test_load_refuses_what_is_wrong(here: World, agent: Client) -> None:
    bundle = read_bundle(here.directory / "bundle")
    with pytest.raises(Rejected) as error:
        agent.load(bundle, EDGE)
    assert error.value.status is Code.ALREADY_EXISTS
    with here.client() as client:
        client.pipeline = f"{here.name}x"
        with pytest.raises(Rejected) as error:
            client.load(bundle, EDGE.replace("lan0", "lan9"), "edge.yaml")
        (found,) = error.value.diagnostics
        assert found.span is not None and str(found.span) == "edge.yaml:2:32"
        with pytest.raises(Rejected) as error:
            client.apply("create FAR 1")
        assert error.value.status is Code.NOT_FOUND


def test_a_second_agent_is_refused(here: World, agent: Client) -> None:
    words = [sys.executable, "-m", "helioc.commands.heliod", "--socket", str(here.socket),
             "--state", str(here.directory / "other")]  # fmt: skip
    second = subprocess.run(here.edge.inside(*words), capture_output=True, text=True, timeout=60)
    assert second.returncode == 1 and "H0767" in second.stderr
    assert here.name in here.ctl("list")


def test_nobody_there(tmp_path: Path) -> None:
    with Client(f"unix:{tmp_path}/none.sock", timeout=5) as client:
        with pytest.raises(Rejected) as error:
            client.status()
        assert error.value.diagnostics[0].code == "H0763"


def test_helioctl_by_the_agent_says_what_it_says_without(here: World) -> None:
    with here.agent():
        assert "LAN (lan: lan0), WAN1 (wan: wan0)" in here.ctl(
            "load", "bundle", "--config", "edge.yaml"
        )
        (here.directory / "pdr.csv").write_text("dst_ip,FAR\n10.7.0.0/16,1\n10.8.0.0/16,1\n")
        assert "created FAR 1" in here.ctl("create", "FAR 1 [(action, u8, DROP)]")
        assert "created PDR 1, PDR 2" in here.ctl("push", "pdr.csv")
        wrong = here.ctl("create", "FAR 2 [(action, u8, DROPP)]", status=1)
        by_agent = {words: here.ctl(*words.split()) for words in _LOOKS}
        # The namespaces' own packets are counted, too.
        figures = [json.loads(here.ctl(*way, "stats", "--json")) for way in ((), ("--local",))]
        said = here.ctl("--local", "update", "FAR 1 [(action, u8, PASS)]", status=1)
        assert "H0709" in said and "leave out `--local`" in said
        with pytest.raises(AssertionError, match="H0743"):
            here.ctl("show", "FAR 77")
        assert "next hop" in here.ctl("refresh")
    assert {words: here.ctl("--local", *words.split()) for words in _LOOKS} == by_agent
    assert here.ctl("--local", "create", "FAR 2 [(action, u8, DROPP)]", status=1) == wrong
    assert figures[0].keys() == figures[1].keys() and figures[0]["pipeline"] == here.name
    assert figures[0]["rules"] == figures[1]["rules"]


_LOOKS = ("show", "show PDR", "show --json FAR")


def test_a_pipeline_of_a_local_load_is_taken_on(here: World) -> None:
    with here.agent(), here.client() as client:
        here.ctl("--local", "load", "bundle", "--config", "edge.yaml")
        assert client.apply("create FAR 1 [(action, u8, DROP)]").created_count == 1


def test_it_comes_back_after_kill_9(here: World) -> None:
    with here.agent() as process, here.client() as client:
        client.load(read_bundle(here.directory / "bundle"), EDGE)
        done = client.apply("create FAR 1 [(action, u8, DROP)]")
        os.kill(process.pid, signal.SIGKILL)
        until(lambda: not process.running, "it is killed")
    with here.agent(), here.client() as client:  # its stale socket is no hindrance
        assert client.status().pipelines[0].revision == done.revision
        assert client.rule("FAR", 1)
