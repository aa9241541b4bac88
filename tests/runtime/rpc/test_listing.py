"""Listings by what rules say: what is found in images by the column is what their texts say."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from agent_world import EDGE, world
from helioc.lang.contract.request.request import IE, RuleItem, value_text
from helioc.lang.contract.request.request_parser import parse_request
from helioc.lang.contract.rules.ie_values import fold
from helioc.lang.contract.rules.rules import Reference
from helioc.lang.text.source import Source
from helioc.runtime.client import Client, Rejected
from helioc.runtime.loading.bundle import read_bundle
from lab import Lab

pytestmark = pytest.mark.usefixtures("kernel")

RULES = """
create FAR 1 [(action, u8, DROP)], FAR 2 [(action, u8, REDIRECT), (interface, u32, GRE-WAN1)],
  FAR 3 [(action, u8, REDIRECT), (interface, u32, WAN1)], FAR 4 [(action, u8, PASS)],
  LBR 7 [FAR 1 [(weight, u16, 3)], FAR 2], LBR 8 [FAR 3, FAR 4];
create PDR 1 [(dst_ip, u32, 10.2.0.0/16), FAR 1], PDR 2 [(dst_ip, u32, 10.2.0.0/17), FAR 2],
  PDR 3 [(dst_ip, u32, 10.2.0.1), (protocol, u8, TCP), FAR 1],
  PDR 4 [(src_ip, u32, 10.2.0.1), LBR 7],
  PDR 5 [(dst_port, u16, 80), (protocol, u8, 6), FAR 3], PDR 6 [(dst_port, u16, 80..99), FAR 4],
  PDR 7 [(dst_port, u16, 80..90), LBR 8], PDR 8 [(dscp, u8, 46), FAR 1],
  PDR 9 [(tos, u8, 16 & 0x10), FAR 1],
  PDR 10 [(src_ip, u32, 10.2.0.1), (dst_port, u16, 80), FAR 2]
"""


@pytest.fixture
def agent(lab: Lab, tmp_path: Path) -> Iterator[Client]:
    with world(lab, tmp_path) as here, here.agent(), here.client() as client:
        client.load(read_bundle(here.directory / "bundle"), EDGE)
        client.apply(RULES)
        yield client


def test_what_is_found_is_what_texts_say(agent: Client) -> None:
    texts = {Reference(r.kind, r.id): r.text for r in agent.rules()}
    said: dict[tuple[str, str], set[Reference]] = {}
    points: dict[Reference, set[Reference]] = {}
    for reference, text in texts.items():
        (change,) = parse_request(Source("rule", f"create {text}")).changes
        (item,) = change.items
        assert isinstance(item, RuleItem)
        for inner in item.items:
            if isinstance(inner, IE):
                said.setdefault((inner.type, value_text(inner)), set()).add(reference)
            elif inner.id is not None:
                points.setdefault(Reference(inner.kind, inner.id), set()).add(reference)
    assert len(said) > 15 and len(points) > 5

    def found(**filters: object) -> set[Reference]:
        return {Reference(r.kind, r.id) for r in agent.rules(**filters)}  # type: ignore[arg-type]

    for (element, value), meant in said.items():
        assert found(says={element: value}) == meant, (element, value)
        assert found(says={fold(element).upper(): value}, kinds=["PDR"]) == {
            each for each in meant if each.kind == "PDR"
        }
    for to, meant in points.items():
        assert found(refers_to=to) == meant, to
    assert found(refers_to=Reference("OVERLAY", 1)) == {Reference("FAR", 2)}
    both = {"dst_ip": "10.2.0.1", "protocol": "TCP"}
    assert found(says=both, refers_to=Reference("FAR", 1)) == {Reference("PDR", 3)}
    for value in ("10.2.0.0", "10.2.0.0/33", "nonsense", "0.0.0.0/0", "10.2.0.0 / 16", ""):
        assert not found(says={"dst_ip": value}), value
    assert not found(says={"weight": "3"}), "a member's, and no rule's"


def test_a_filter_is_short(agent: Client) -> None:
    """Each value is looked for in each rule."""
    with pytest.raises(Rejected, match="the filter names 65 values of elements"):
        list(agent.rules(says={f"element{number}": "1" for number in range(65)}))
