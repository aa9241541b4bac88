"""The VXLAN gateway sends a broadcast to one address: a second peer of a network is refused, as it
would hear no ARP request, and so is a second address of ours, which could have another peer."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest
from helioc.compiler.driver import check_file, lower_pipeline
from helioc.compiler.manifest import manifest_of
from helioc.lang.contract.manifest.manifest import Manifest
from helioc.lang.contract.request.request_parser import parse_request
from helioc.lang.contract.rules.rulebook import RuleBook
from helioc.lang.text.diagnostics import Refused
from helioc.lang.text.source import Source

GATEWAY = Path(__file__).parents[4] / "pipelines" / "vxlan_gateway.hp"
FIRST = (
    "create VTEP 1 east [(local_ip, u32, 192.0.2.1), (remote_ip, u32, 192.0.2.2), "
    "(interface, u32, UNDER)]"
)


@cache
def manifest() -> Manifest:
    pipeline = check_file(GATEWAY)
    return manifest_of(pipeline, lower_pipeline(pipeline))


def plan(text: str, first: str = FIRST) -> None:
    book = RuleBook(manifest(), {"ACC": 1, "UNDER": 2}, {1: 11, 2: 12})
    book.commit(book.plan(parse_request(Source("request", first))))
    book.plan(parse_request(Source("request", text)))


SECOND = FIRST.replace("1 east", "2 west").replace("192.0.2.2", "192.0.2.3")
ELSEWHERE = SECOND.replace("192.0.2.1", "192.0.2.9")


@pytest.mark.parametrize(
    "second",
    [SECOND, ELSEWHERE, ELSEWHERE.replace("192.0.2.3", "192.0.2.2")],
    ids=["second peer", "at another address of ours", "the same peer there"],
)
@pytest.mark.parametrize("vni", ["", "(vni, u32, 77), "], ids=["of all networks", "of one"])
def test_a_second_is_refused_with_the_reason_and_the_way_out(second: str, vni: str) -> None:
    of_one = "1 east [(vni, u32, 77), " if vni else "1 east ["
    with pytest.raises(Refused) as refused:
        plan(second.replace("[", f"[{vni}", 1), FIRST.replace("1 east [", of_one))
    (found,) = refused.value.diagnostics
    assert found.code == "H0452" and found.title == "VTEP 1 matches the same already"
    assert "broadcast goes to one address" in found.help and "MEMBERs" in found.help


@pytest.mark.parametrize(
    "text",
    [
        "create MEMBER [(local_ip, u32, 192.0.2.1), (remote_ip, u32, 192.0.2.3)]",
        FIRST.replace("1 east [", "[(vni, u32, 77), "),
        "update VTEP 1 [(remote_ip, u32, 192.0.2.3)]",
    ],
    ids=["one of several", "of another network", "in its place"],
)
def test_what_hears_broadcasts_is_let_in(text: str) -> None:
    plan(text)
