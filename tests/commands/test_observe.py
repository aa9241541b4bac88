"""Every command that looks, on every pipeline that ships, with rules of every kind in force."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from helioc.commands.helioctl import cli
from helioc.compiler.bundle import compile_pipeline, write_bundle
from helioc.compiler.driver import check_file
from helioc.compiler.fuzzing.scenarios import Fuzzed
from helioc.lang.contract.manifest.manifest import Manifest
from helioc.runtime.client import Client
from helioc.runtime.edge.liveness_settings import shape_of
from helioc.runtime.loading.releases import ROOT
from helioc.runtime.states.entry import StateCount
from lab import Lab
from leaks import PREFIX
from populated import fill_states, requests, wire_ports

NAME = f"{PREFIX}every"
SHIPPED = sorted((Path(__file__).parents[2] / "pipelines").glob("*.hp"))


class Host:
    """A namespace with an agent, for `helioctl` of this process."""

    def __init__(self, lab: Lab, directory: Path) -> None:
        self.lab, self.inside, self.far = lab, lab.namespace("host"), lab.namespace("far")
        self.address = f"unix:{directory}/heliod.sock"
        words = [sys.executable, "-m", "helioc.commands.heliod", "--socket",
                 f"{directory}/heliod.sock", "--state", f"{directory}/state"]  # fmt: skip
        self.inside.start(*words).expect("ready")

    def ctl(self, name: str, *words: str, local: bool = False) -> str:
        """What `helioctl` prints; through the agent unless `local`."""
        to = ["--local"] if local else ["--agent", self.address]
        call = ["--name", name, *to, *words]
        done = self.inside.inside_thread(lambda: CliRunner().invoke(cli, call))
        assert done.exception is None and done.exit_code == 0, (call, done.exc_info)
        return done.output

    def edge(self, fuzzed: Fuzzed) -> str:
        """The edge's YAML of a pipeline; its interfaces are made."""
        return wire_ports(self.lab, self.inside, self.far, fuzzed)


@pytest.fixture(scope="module")
def host(kernel: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Host]:
    with Lab(f"{PREFIX}every-") as lab:
        yield Host(lab, tmp_path_factory.mktemp("every"))


@pytest.fixture(params=SHIPPED, ids=lambda path: path.stem)
def running(request: pytest.FixtureRequest, host: Host, tmp_path: Path) -> Iterator[Manifest]:
    """A shipped pipeline, loaded by the name `NAME` through the agent and filled."""
    pipeline = check_file(request.param)
    fuzzed = Fuzzed(pipeline)
    write_bundle(compile_pipeline(pipeline), tmp_path / "bundle")
    (tmp_path / "edge.yaml").write_text(host.edge(fuzzed))
    try:
        host.ctl(NAME, "load", str(tmp_path / "bundle"), "--config", str(tmp_path / "edge.yaml"))
        with Client(host.address, NAME) as client:
            for each in requests(fuzzed):
                client.apply(each)
        fill_states(NAME)
        yield fuzzed.manifest
    finally:
        if (ROOT / NAME).exists():
            host.ctl(NAME, "unload")


def look(host: Host, manifest: Manifest, local: bool) -> list[Any]:
    """Run every command that looks; returns what must not depend on who reads."""

    def text(*words: str) -> str:
        return host.ctl(NAME, *words, local=local)

    def data(*words: str) -> Any:
        return json.loads(text(*words, "--json"))

    kinds = [kind.name for kind in manifest.rules]
    counting = {kind.name for kind in manifest.rules if kind.counts}
    shown, lines = data("show"), text("show")
    assert {rule["kind"] for rule in shown} == set(kinds)
    for kind in kinds:
        rules = data("show", kind)
        for rule in rules:
            rule.pop("health", None)
        assert rules == [rule for rule in shown if rule["kind"] == kind]
        assert rules[0]["rule"] in text("show", kind)
        assert "owner" in rules[0] or rules[0]["rule"] in lines
        by_id = data("show", kind, str(rules[0]["id"]))
        assert rules[0]["rule"] in [rule["rule"] for rule in by_id]
        assert ("packets" in rules[0]) == (kind in counting)
    states = []
    for state in manifest.states:
        entries = data("show", state.name)
        assert len(entries) == 2 and len(text("show", state.name).splitlines()) == 3
        listed = data("state", "list", state.name)
        assert [{**each, "age": 0} for each in listed] == [{**each, "age": 0} for each in entries]
        names = [slot.name for slot in (*state.match, *state.gives)]
        states += [[entry[name] for name in names] for entry in entries]
    statistics = data("stats")
    assert {rule["kind"] for rule in statistics["rules"]} == counting
    assert statistics["pipeline"] == NAME and "per second" in text("stats")
    assert NAME in text("list").split() and NAME in [each["name"] for each in data("list")]
    metrics = text("metrics", *(word for kind in kinds for word in ("--rules", kind)))
    for kind in kinds:
        assert f'helio_rules{{kind="{kind}",pipeline="{NAME}"}}' in metrics
    for state in manifest.states:
        assert f'helio_state_entries{{pipeline="{NAME}",state="{state.name}"}} 2.0' in metrics
    look_at_health(manifest, shown, data, text, local)
    rows = text("top", "--once", "--interval", "0.1").splitlines()
    assert {row.split()[0] for row in rows if row} >= {*kinds, "port", "kind"}
    return [shown, states, statistics["rules"]]


def look_at_health(
    manifest: Manifest, shown: Any, data: Callable[..., Any], text: Callable[..., str], local: bool
) -> None:
    """`status`, and what `list` and `show` say of health."""
    view = data("status")
    (seen,) = view["pipelines"]
    assert (view["agent"] is None) == local and (seen["intents"] is None) == local
    assert [kind["kind"] for kind in seen["rules"]] == [kind.name for kind in manifest.rules]
    assert all(kind["rules"] for kind in seen["rules"])
    tables = data("state", "list")
    assert [(t["state"], t["entries"], t["capacity"], t["expired"]) for t in tables] == [
        (state.name, 2, state.capacity, 0) for state in manifest.states
    ]
    assert seen["states"] == [{key: t[key] for key in StateCount._fields} for t in tables]
    assert seen["reports"] is None
    assert seen["health"]["state"] == "ok" and seen["ports"], seen
    assert all(p["state"] == "up" and p["counts"]["rx_packets"] >= 0 for p in seen["ports"])
    assert f"{NAME}  ok, revision" in text("status")
    (listed,) = [each for each in data("list") if each["name"] == NAME]
    assert listed["health"] == seen["health"] and listed["whole"]
    shape = shape_of(manifest)
    overlays = {rule["id"] for rule in shown if shape is not None and rule["kind"] == shape.kind}
    assert {o["id"] for o in seen["overlays"]} == overlays
    assert seen["health"]["overlays"]["not_measured"] == len(overlays)
    if shape is not None:
        assert {rule["health"]["state"] for rule in data("show", shape.kind)} == {"not measured"}
        assert "not measured" in text("show", shape.kind)


def test_every_command_that_looks(host: Host, running: Manifest) -> None:
    assert look(host, running, local=False) == look(host, running, local=True)
