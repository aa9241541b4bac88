"""What a request is warned of comes with its answer, as without an agent."""

from __future__ import annotations

import pytest
from agent_world import EDGE, World
from helioc.runtime.base.outcome import Outcome
from helioc.runtime.loading.bundle import read_bundle

pytestmark = pytest.mark.usefixtures("kernel")


def warned(outcome: Outcome) -> list[tuple[str, str, str]]:
    """Code, severity, and what is underlined."""
    return [
        (found.code, found.severity, found.span.text if found.span is not None else "")
        for found in outcome.warnings
    ]


def test_bits_that_are_not_compared_are_reported_by_every_path(here: World) -> None:
    """A ToS of 7 has ECN bits: from the edge's YAML, over gRPC, by the columns, and packed."""
    directory, line = here.directory, "warning[H0426]: `tos` 7 has ECN bits"
    rules = "rules: |\n  create FAR 1 [(action, u8, DROP)];\n  create PDR [(ToS, u8, 7), FAR 1]\n"
    (directory / "edge.yaml").write_text(EDGE + rules)
    (directory / "pdr.csv").write_text("tos,src_ip,FAR\n7,10.1.2.3 & 255.255.0.0,1\n")
    (directory / "pdr.yaml").write_text("create: {PDR: {tos: 7, dst_ip: 10.4.0.0/16, FAR: 1}}\n")
    assert line in here.ctl("pack", "bundle", "pdr.csv")
    with here.agent():
        loaded = here.ctl("load", "bundle", "--config", "edge.yaml")
        pushed = [here.ctl("push", name) for name in ("pdr.csv", "pdr.yaml")]
        here.ctl("unload")
    for said in (loaded, here.ctl("--local", "load", "bundle", "--config", "edge.yaml")):
        assert line in said and "edge.yaml:8:" in said
    assert all(line in said and "created" in said for said in pushed)
    assert "10.1.2.3 has bits outside its mask" in pushed[0]


WITHOUT = "create FAR 1 [(action, u8, DROP)], PDR 1 [(dscp, u8, 1)], PDR 2 [(dscp, u8, 2), FAR 1]"


def test_warnings_come_with_the_answer(here: World) -> None:
    with here.agent(), here.client() as client:
        client.load(read_bundle(here.directory / "bundle"), EDGE)
        done = client.apply(WITHOUT, key="warned")
        assert warned(done) == [("H0432", "warning", "PDR 1")]
        (found,) = done.warnings
        assert found.span is not None and found.span.source.text == WITHOUT, "places in our text"
        again = client.apply(WITHOUT, key="warned")
        assert again.repeated and not again.warnings
        data = client.message("create PDR 3 [(dscp, u8, 3)]").request
        assert warned(client.apply(data)) == [("H0432", "warning", "PDR 3")]
        with client.stream() as stream:
            stream.send("create PDR 4 [(dscp, u8, 4)]")
            stream.send("create FAR 2 [(action, u8, DROP)]")
            assert warned(stream.receive()) == [("H0432", "warning", "PDR 4")]
            assert not stream.receive().warnings
        many = ", ".join(f"PDR [(dst_ip, u32, 10.{i >> 8}.{i & 255}.0/24)]" for i in range(3000))
        assert len(client.apply(f"create {many}").warnings) == 20
        through = here.ctl("create", "PDR 5000 [(dscp, u8, 5)]")
        assert "warning[H0432]" in through
    here.ctl("--local", "delete", "PDR 5000")
    assert here.ctl("--local", "create", "PDR 5000 [(dscp, u8, 5)]") == through
