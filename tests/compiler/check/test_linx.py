"""LINX: its drawing, what its stages ask of rules, and what a check of it imports."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from check_frame import checked, framed, headers_of
from golden import GOLDEN, Golden
from helioc.compiler.check.program import check
from helioc.compiler.check.resolve import PIPELINES, STANDARD, load_file
from helioc.compiler.model import Pipeline, Requirement
from helioc.compiler.model import parse_graph as graph
from helioc.lang.text.diagnostics import Diagnostics

LINX = PIPELINES / "linx.hp"


@pytest.fixture(scope="module")
def linx() -> Pipeline:
    found = Diagnostics()
    pipeline = check(load_file(LINX), found=found)
    assert found.found == []
    return pipeline


def test_drawing(linx: Pipeline, golden: Golden) -> None:
    golden.file(GOLDEN / "linx.dot", graph.to_dot(linx))


@pytest.mark.skipif(shutil.which("dot") is None, reason="graphviz is not installed")
def test_graphviz_takes_the_drawing(linx: Pipeline) -> None:
    drawn = subprocess.run(
        ["dot", "-Tsvg"], input=graph.to_dot(linx), capture_output=True, text=True, check=True
    )
    assert "<svg" in drawn.stdout and not drawn.stderr


def test_what_is_surely_present(linx: Pipeline) -> None:
    """`user` behind a tunnel implies GRE, over either version; on the LAN there is none."""
    assert graph.surely_present(linx.graph, "wan", "user") == {"ethernet", "gre", "user"}
    assert graph.surely_present(linx.graph, "lan", "user") == {"ethernet", "user"}
    on_lan = graph.reachable(linx.graph, "lan")
    assert "mpls[2]" in on_lan and not on_lan & {"outer", "outer6", "outer_options", "gre"}
    depth, way = graph.deepest(linx.graph)
    tags, tunnel = ["ethernet", "service", "vlan"], ["outer6", "outer_options", "gre"]
    labels = ["mpls", "mpls[1]", "mpls[2]"]
    assert way == [*tags, *tunnel, *labels, "user6", "hop_options", "tcp"]
    walked = 8 * 2048  # of IPv6's extension headers
    assert depth == 14 + 4 + 4 + 40 + 2048 + 16 + 3 * 4 + 40 + walked + 60


def test_what_a_packet_may_lack_at_each_lookup(linx: Pipeline) -> None:
    lacking = {(r.name, m.element.name) for r in linx.rules for m in r.match if m.maybe_absent}
    tags = {(kind, e) for kind in ("PDR", "PDR6") for e in ("vlan_id", "service_id", "mpls_label")}
    assert lacking == {("OVERLAY", "key"), ("OVERLAY6", "key"), ("LBR", "tos"), *tags}


def test_what_rules_must_give(linx: Pipeline) -> None:
    assert linx.rule("FAR").requires == (
        Requirement("action"),
        Requirement("interface", (("action", (1,)),)),
    )
    assert linx.rule("OVERLAY").requires == (Requirement("interface", references=("port",)),)
    assert linx.rule("LBR").grouped and not linx.rule("PDR").grouped


def test_warnings_do_not_refuse() -> None:
    pipeline, found = checked(framed("action unused(FAR) { drop }"))
    assert pipeline is not None
    assert [(d.code, d.severity) for d in found] == [("H0295", "warning")]


@pytest.mark.parametrize("path", sorted(STANDARD.glob("*.hp")), ids=lambda p: p.stem)
def test_standard_headers(path: Path) -> None:
    headers = headers_of(path)
    assert headers and all(h.protocol == h.name for h in headers)


def test_a_check_loads_nothing_heavy() -> None:
    """Start-up counts: what a check does not need it does not import."""
    code = (
        "import sys; from pathlib import Path; from helioc.compiler.check.program import check; "
        "from helioc.compiler.check.resolve import load_file; "
        f"check(load_file(Path({str(LINX)!r}))); print(*sys.modules)"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = set(run.stdout.split())
    assert not loaded & {"jinja2", "numpy", "yaml", "click", "helioc.compiler.check.faults"}
