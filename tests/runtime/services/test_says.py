"""What the watcher says of what cannot be, and that it goes on."""

from __future__ import annotations

import json
import logging
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from queue import SimpleQueue
from types import SimpleNamespace
from typing import Any, cast

import pytest
from helioc.lang.text.diagnostics import Diagnostic, Refused
from helioc.runtime.client.client import Client, Schema
from helioc.runtime.rpc import control_pb2 as pb
from helioc.runtime.services import errors
from helioc.runtime.services.agent import Agent
from helioc.runtime.services.api import Changed, Fares, Listed, Reflector, Resource, resources
from helioc.runtime.services.cache import Cache
from helioc.runtime.services.objects import Key, node_of, service_of
from helioc.runtime.services.plan import Note
from services_world import SETTINGS, Json, manifest, node, service


@pytest.mark.parametrize("code", ["H0887", "H0888", "H0889", "H0890", "H0891"])
def test_notes_name_what_they_are_about(code: str) -> None:
    found = errors.of_note(Note(code, "default/web"))
    assert found.code == code
    assert found.title.startswith("default/web")


def test_the_library_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "kubernetes", None)
    assert refusal(lambda: resources(None, "", "node1")).code == "H0885"


@pytest.mark.parametrize("text", [None, "", "clusters: 7", "kind: Config\ncurrent-context: x\n"])
def test_no_way_to_the_server(tmp_path: Path, text: str | None) -> None:
    file = tmp_path / "config"
    if text is not None:
        file.write_text(text)
    found = refusal(lambda: resources(file, "", "node1"))
    assert found.code == "H0886"
    assert "--kubeconfig" in found.help


def refusal(action: Callable[[], object]) -> Diagnostic:
    with pytest.raises(Refused) as caught:
        action()
    (found,) = caught.value.diagnostics
    return found


# ---- the pipeline ---------------------------------------------------------------------------


def agent_of(schema: Schema, network: str = "") -> Agent:
    client = SimpleNamespace(schema=lambda again=False: schema, close=lambda: None)
    return Agent(cast(Client, client), network, SimpleQueue())


def schema_of(*roles: str) -> Schema:
    ports = (pb.Port(name=f"P{n}", number=n, role=role) for n, role in enumerate(roles, 1))
    return Schema("nodeport", manifest(), tuple(ports))


def test_another_pipeline_is_refused() -> None:
    few = replace(manifest(), rules=manifest().rules[:1])
    agent = agent_of(replace(schema_of("uplink"), manifest=few))
    found = refusal(agent.look_at_ports)
    assert found.code == "H0894"
    assert "BACKEND6" in found.title
    agent.close()


@pytest.mark.parametrize("roles, said, port", [
    (("uplink", "pod"), "", "P1"), (("uplink", "uplink"), "P2", "P2"),
    (("uplink", "uplink"), "", None), (("pod",), "", None), (("uplink",), "P9", None),
])  # fmt: skip
def test_which_port_leads_to_other_nodes(
    roles: tuple[str, ...], said: str, port: str | None
) -> None:
    agent = agent_of(schema_of(*roles), said)
    if port is None:
        assert refusal(agent.look_at_ports).code == "H0895"
    else:
        agent.look_at_ports()
        assert agent.network == port
    agent.close()


def test_there_is_no_room_for_all() -> None:
    cache = Cache(SETTINGS, {"SERVICE": 2})
    cache.put_node(node_of(node()))
    for number in (3, 1, 2):
        found = service(f"s{number}", addresses=[f"10.96.0.{number}"], created=f"2026-01-0{number}")
        made = service_of(found)
        assert made is not None
        cache.put_service(made.key, made)
    cache.plan()
    assert sorted(name for kind, name in cache.wanted if kind == "SERVICE") == [
        "10.96.0.1:80/TCP", "10.96.0.2:80/TCP"]  # fmt: skip
    assert cache.notes == [Note("H0891", "default/s3")]
    cache.put_service(Key("default", "s1"), None)
    cache.plan()
    assert ("SERVICE", "10.96.0.3:80/TCP") in cache.wanted
    assert not cache.notes


# ---- the API server -------------------------------------------------------------------------


class Played:
    """Answers of an API server, in their order; the last one again and again."""

    def __init__(self, *answers: Any) -> None:
        self.answers = list(answers)
        self.asked: list[dict[str, Any]] = []

    def __call__(self, **said: Any) -> Any:
        self.asked.append(said)
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, Exception):
            raise answer
        return answer


def listed(version: int, *objects: Json, status: int = 200) -> Any:
    said = {"metadata": {"resourceVersion": str(version)}, "items": [*objects]}
    if status != 200:
        said = {"message": "it was said why"}
    return SimpleNamespace(status=status, data=json.dumps(said).encode(),
                           release_conn=lambda: None, close=lambda: None)  # fmt: skip


def watched(*events: tuple[str, Any], cut: int = 7) -> Any:
    """A watch whose lines come in pieces."""
    text = b"".join(json.dumps({"type": t, "object": o}).encode() + b"\n" for t, o in events)

    def stream(*_: object, **__: object) -> Iterator[bytes]:
        return (text[at : at + cut] for at in range(0, len(text), cut))

    return SimpleNamespace(status=200, stream=stream, close=lambda: None)


def at(version: int, found: Json) -> Json:
    return {**found, "metadata": {**found["metadata"], "resourceVersion": str(version)}}


def bookmark(version: int) -> tuple[str, Any]:
    return "BOOKMARK", {"metadata": {"resourceVersion": str(version)}}


def reflected(server: Played, count: int) -> tuple[list[Any], Reflector]:
    """What a reflector says first, and itself; it is stopped."""
    inbox: SimpleQueue[Any] = SimpleQueue()
    made = Reflector(Resource("Service", server, service_of, {"label_selector": "x"}), inbox)
    made.start()
    came = [inbox.get(timeout=30) for _ in range(count)]
    made.stop()
    return came, made


def test_it_goes_on_from_the_last_version() -> None:
    """A bookmark, an object: the next watch begins behind it."""
    server = Played(
        listed(5, service("old")), watched(bookmark(8)), watched(("ADDED", at(9, service("new")))),
        watched(("DELETED", at(12, service("new")))), TimeoutError(),
    )  # fmt: skip
    came, _ = reflected(server, 5)
    assert [type(each) for each in came] == [Listed, Fares, Changed, Changed, Fares]
    assert [each.key.name for each in came[2:4]] == ["new", "new"]
    assert came[2].object is not None and came[3].object is None
    versions = [said.get("resource_version") for said in server.asked[:5]]
    assert versions == [None, "5", "8", "9", "12"]
    assert all(said["label_selector"] == "x" for said in server.asked)


@pytest.mark.parametrize("gone", [
    listed(0, status=410), watched(("ERROR", {"code": 410, "message": "too old"})),
    listed(0, status=504),
], ids=["answer", "event", "future"])  # fmt: skip
def test_what_is_forgotten_is_listed_again(gone: Any) -> None:
    server = Played(listed(5, service("old")), gone, listed(90, service("new")), TimeoutError())
    inbox: SimpleQueue[Any] = SimpleQueue()
    reflector = Reflector(Resource("Service", server, service_of, {}), inbox)
    reflector.start()
    lists = 0
    while lists < 2:
        lists += isinstance(inbox.get(timeout=30), Listed)
    reflector.stop()
    assert server.asked[2].get("resource_version") is None


def test_a_server_that_is_away_is_said_once(caplog: pytest.LogCaptureFixture) -> None:
    server = Played(
        listed(5), *[ConnectionError("refused")] * 3, watched(bookmark(6)), TimeoutError()
    )
    with caplog.at_level(logging.INFO, "services"):
        came, _ = reflected(server, 4)
    assert [each.answers for each in came if isinstance(each, Fares)] == [True, False, True]
    assert sum("no answer of the API server" in text for text in caplog.messages) <= 2
    assert [said.get("resource_version") for said in server.asked[:5]] == [None, *["5"] * 4]


def test_a_server_that_forbids(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "services"):
        reflected(Played(listed(0, status=403)), 1)
    assert "H0896" in caplog.text and "it was said why" in caplog.text


def test_an_object_that_cannot_be_read_is_none(caplog: pytest.LogCaptureFixture) -> None:
    bad = service("bad", labels={"helio/slice": "gold"})
    with caplog.at_level(logging.INFO, "services"):
        came, _ = reflected(Played(listed(5, bad, service()), TimeoutError()), 1)
    assert [bool(each) for each in came[0].objects.values()] == [False, True]
    assert "H0892: Service default/bad cannot be read" in caplog.text


def test_astray_and_no_node() -> None:
    assert errors.astray(["default/web"], 1).code == "H0893"
    assert errors.no_node("node9").code == "H0897"
