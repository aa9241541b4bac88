"""`helioctl upgrade`, as a user runs it, on the maps and through the agent."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from pathlib import Path

import agent_world
import forks
import pytest
import relay
from helioc.runtime.loading.loader import unload
from helioc.runtime.loading.releases import ROOT
from relay import World, marked

pytestmark = pytest.mark.usefixtures("kernel")

EDGE = f"""\
ports:
  IN:  {{role: inside, interface: in0}}
  OUT: {{role: outside, interface: out0}}
rules: |
  {relay.RULES}
"""
SOURCE = (
    ("lpm  ipv4.dst", "lpm  ipv4.dst\n           source exact ipv4.src"),
    ("  rule", "  ie source = 8, ip4\n\n  rule"),
    ("rule ROUTE [64]", "rule ROUTE [128]"),
)
Ctl = Callable[..., str]


@pytest.fixture(params=["local", "agent"])
def ctl(request: pytest.FixtureRequest, world: World, name: str, tmp_path: Path) -> Iterator[Ctl]:
    """`helioctl` in the edge; the relay is loaded, and `bundle` is one that matches more."""
    here = agent_world.World(world.edge, name, tmp_path)
    how = ["--local"] if request.param == "local" else ["--agent", here.address]

    def run(*words: str, status: int = 0) -> str:
        program = [sys.executable, "-m", "helioc.commands.helioctl", *how, "--name", name]
        code, said = forks.run(world.edge.inside(*program, *words), "", tmp_path)
        assert code == status, said
        return said

    (tmp_path / "edge.yaml").write_text(EDGE)
    relay.write(marked(1), tmp_path / "first")
    relay.write(marked(2, *SOURCE), tmp_path / "bundle")
    with here.agent() if request.param == "agent" else nullcontext():
        run("load", "first", "--config", "edge.yaml")
        yield run
    if (ROOT / name).exists():
        unload(name)


def test_a_difference_is_shown_and_answered(ctl: Ctl, name: str, tmp_path: Path) -> None:
    said = ctl("upgrade", "bundle", status=1)
    assert said == (
        "error[H0790]: the new build has no place for a part of what is in force\n"
        "  = help: nothing was changed; this is the difference:\n"
        "          what          running   new build               rules\n"
        "          ROUTE         up to 64  up to 128               2 written anew\n"
        "          ROUTE.source  -         exact, 32 bits, needed  2 cannot be kept\n"
        "          a file for --mapping says what becomes of it:\n"
        "          defaults: {ROUTE.source: …}\n"
        "\n"
        "1 error; see `helioctl explain H0790`\n"
    )
    (tmp_path / "mapping.yaml").write_text("defaults: {ROUTE.source: 10.1.0.2}\n")
    said = ctl("upgrade", "bundle", "--mapping", "mapping.yaml", "--dry-run")
    table = (
        "what          running   new build                                  rules\n"
        "ROUTE         up to 64  up to 128                                  2 written anew\n"
        "ROUTE.source  -         exact, 32 bits; 10.1.0.2 where a rule lacks it\n\n"
    )
    assert said.split() == [*table.split(), *"nothing was changed".split()]
    assert "source" not in ctl("show")
    said = ctl("upgrade", "bundle", "--mapping", "mapping.yaml")
    assert said.endswith(f"\n\nupgraded {name}: 2 rules, 2 of them written anew\n")
    rules = [rule["rule"] for rule in json.loads(ctl("show", "--json"))]
    assert rules == [
        f"ROUTE {n} [(dst_ip, u32, 10.{net}.0.0/16), (source, u32, 10.1.0.2), (way, u8, ON), "
        f"(interface, u32, {port})]"
        for n, net, port in ((1, 2, "OUT"), (2, 1, "IN"))
    ]
    assert "created ROUTE 3" in ctl(
        "create", "ROUTE [(dst_ip, u32, 10.9.0.0/16), (source, u32, 10.1.0.9), (way, u8, BACK)]"
    )


def test_the_same_schema_says_nothing_of_differences(ctl: Ctl, name: str, tmp_path: Path) -> None:
    relay.write(marked(7), tmp_path / "second")
    said = ctl("upgrade", "second")
    assert said == f"upgraded {name}: 2 rules, 0 of them written anew\n"


def test_a_mapping_is_checked_where_it_stands(ctl: Ctl, tmp_path: Path) -> None:
    (tmp_path / "mapping.yaml").write_text("defaults: {ROUTE.source: 10.1.0.300}\n")
    said = ctl("upgrade", "bundle", "--mapping", "mapping.yaml", status=1)
    assert "mapping.yaml:1:26" in said and "error[H0415]" in said
    assert "H0740" in ctl("upgrade", "bundle", "--mapping", "none.yaml", status=1)
    assert "H0701" in ctl("upgrade", "none", status=1)
