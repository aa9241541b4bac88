"""Filters: what they mean, what is no filter, and that the data path lets through what passes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest
from agreement import quick
from explained import explained
from helioc.compiler.bundle import compile_pipeline
from helioc.compiler.lower.trace import schema_nodes
from helioc.lang.contract.trace.decode import Decoder, Recorded
from helioc.lang.contract.trace.filter_text import read_filter
from helioc.lang.contract.trace.filters import Filter, passes
from helioc.lang.contract.trace.steps import Trace
from helioc.lang.text.diagnostics import Refused
from helioc.lang.text.render import render_all
from helioc.runtime.loading.bundle import Bundle
from helioc.runtime.testrun.private_run import PrivateRun
from helioc.runtime.tracing.control import TraceFilter
from helioc.runtime.tracing.filter_terms import compile_filter
from hypothesis import given, note
from hypothesis import strategies as st
from linx_packets import frames
from linx_world import LAN, WAN1, WORLD, linx
from scapy.layers.inet import IP, UDP
from scapy.layers.l2 import GRE, Dot1Q, Ether

NODES = schema_nodes(linx().graph)
INNER = IP(src="10.2.0.5", dst="10.1.0.10", ttl=7) / UDP(sport=53, dport=4000)
OUTER = Ether(src="02:00:00:00:01:02", dst="02:00:00:00:01:01") / IP(dst="192.0.2.1")
KEYED = bytes(OUTER / GRE(key_present=1, key=7) / INNER)
TAGGED = bytes(Ether(dst="02:00:00:00:00:01", src="02:00:00:00:00:0a") / Dot1Q(vlan=5) / INNER)


def recorded(frame: bytes, verdict: str = "pass") -> Recorded:
    """As the parser of LINX sees it."""
    path: tuple[tuple[str, int], ...]
    if frame == KEYED:
        path = ("ethernet", 0), ("outer", 14), ("gre", 34), ("user", 42), ("udp", 62)
    else:
        path = ("ethernet", 0), ("vlan", 14), ("user", 18), ("udp", 38)
    return Recorded(Trace(1, len(frame), path, (), verdict), 0, frame)


@pytest.mark.parametrize(
    ("text", "keyed", "tagged"),
    [
        ("udp.dst = 4000", True, True),
        ("udp.dst = 53 | 4000", True, True),
        ("udp.dst in 53..3999", False, False),
        ("udp.dst != 4000", False, False),
        ("tcp.dst != 4000", False, False),
        ("not tcp.dst = 4000", True, True),
        ("user.src in 10.2.0.0/16 and user.ttl < 8", True, True),
        ("user.src in 10.2.0.0/16 and user.ttl <= 6", False, False),
        ("user.ttl > 6 and user.ttl >= 7", True, True),
        ("user.dscp = 0 & 7", True, True),
        ("gre", True, False),
        ("not gre", False, True),
        ("gre.key = 7", True, False),
        ("gre.key != 8", True, False),
        ("gre.sequence = 0", False, False),
        ("vlan.id = 5", False, True),
        ("ethernet.src = 02:00:00:00:00:0a", False, True),
        ("ethernet.src = 02:00:00:00:00:0a or (gre and outer.dst = 192.0.2.1)", True, True),
        ("not (gre or vlan)", False, False),
        ("verdict = pass", True, True),
        ("verdict = drop or gre", True, False),
    ],
)
def test_what_a_filter_means(text: str, keyed: bool, tagged: bool) -> None:
    condition = read_filter(text, NODES)
    assert passes(condition, recorded(KEYED)) == keyed
    assert passes(condition, recorded(TAGGED)) == tagged


def test_what_a_record_does_not_reach_is_absent() -> None:
    cut = replace(recorded(KEYED), frame=KEYED[:50])
    assert not passes(read_filter("udp.dst = 4000", NODES), cut)
    assert passes(read_filter("gre.key = 7", NODES), cut)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("udp.dst == 53", "expected a value, found `=`"),
        ("udp.dst =", "expected a value, found the end"),
        ("udp.dst", "expected `=` or `in` behind `udp.dst`, found the end"),
        ("", "expected a field, found the end"),
        ("gre gre", "expected `and`, `or` or the end, found `gre`"),
        ("(gre", "expected `)`, found the end"),
        ("gre and", "expected a field, found the end"),
        ("gre ; gre", "expected `and`, `or` or the end, found `;`"),
        ("verdict = dropped", "expected a verdict"),
        ("udp.dst in 9..7", "the range is empty"),
        ("(" * 40 + "gre" + ")" * 40, "no more brackets"),
        ("usr.dst = 1", "did you mean `user`?"),
        ("user.dest = 1", "did you mean `dst`?"),
        ("user.dst = 7", "`dst` is an IPv4 address"),
        ("user.dst = 2001:db8::1", "`dst` is an IPv4 address"),
        ("user.dst in 10.0.0.0/33", "a prefix of `dst` has 0 to 32 bits"),
        ("user.ttl = 256", "`ttl` has 8 bits"),
        ("user.ttl = 10.0.0.1", "`ttl` is a number"),
        ("user.ttl = 1x", "`ttl` is a number"),
        ("ethernet.src = 10.0.0.1", "`src` is a MAC address"),
    ],
)
def test_what_is_no_filter(text: str, said: str) -> None:
    with pytest.raises(Refused) as refused:
        read_filter(text, NODES)
    (found,) = refused.value.diagnostics
    assert said in render_all([found])
    assert found.code in explained("trace") and found.labels


def test_the_examples_get_their_codes() -> None:
    for code, found in explained("trace").items():
        if found.wrong:
            with pytest.raises(Refused) as refused:
                read_filter(found.wrong, NODES)
            assert [d.code for d in refused.value.diagnostics] == [code]
            read_filter(found.right, NODES)


# ---- in the data path -----------------------------------------------------------------------


def test_what_the_data_path_asks() -> None:
    def of(text: str) -> TraceFilter:
        return compile_filter(read_filter(text, NODES), NODES)

    both = of("user.src in 10.2.0.0/16 and not (udp.dst = 53 or tcp)")
    assert len(both.tests) == 3 and both.terms == ((0b111, 1 << both.tests.index(
        next(t for t in both.tests if t.size == 4))),)  # fmt: skip
    assert len(of("gre.key = 7 and udp").tests) == 1  # the key is behind an optional field
    assert of("verdict = drop") == TraceFilter()
    assert of("verdict = drop or udp") == TraceFilter()
    assert of("udp and not udp") == TraceFilter()  # no packet: all are looked at by the command
    many = " and ".join(f"(udp.dst = {n} or udp.src = {n})" for n in range(9))
    assert of(many) == TraceFilter()
    assert of(" or ".join(f"udp.dst = {n}" for n in range(17))) == TraceFilter()
    assert len(of(" or ".join(f"udp.dst = {n}" for n in range(16))).terms) == 16


@pytest.fixture(scope="module")
def kernel_run(kernel: None) -> Iterator[tuple[PrivateRun, Decoder]]:
    bundle = compile_pipeline(linx(), traced=True)
    assert bundle.traced is not None
    found = Bundle(bundle.manifest, bundle.object, bundle.traced)
    with PrivateRun(found, traced=True) as run:
        run.set_environment(WORLD)
        yield run, Decoder(bundle.traced.schema, bundle.manifest, lambda *_: "")


_ASKED = [
    "user", "gre", "vlan", "udp.dst = 53", "user.dst in 10.2.0.0/16", "user.ttl <= 64",
    "user.ttl != 64", "udp.src > 1024", "ethernet.src = 02:00:00:00:00:0a", "outer.ecn = 3",
    "user.tos = 0 & 3", "user.fragment_offset = 0", "vlan.id in 1..200", "gre.version = 0",
    "user.dst >= 10.2.0.5",
]  # fmt: skip
_LEFT = ["gre.key = 7", "verdict = drop"]


def filters(leaves: list[str]) -> st.SearchStrategy[str]:
    return st.recursive(
        st.sampled_from(leaves),
        lambda inner: st.one_of(
            inner.map("not ({})".format),
            st.tuples(inner, st.sampled_from(["and", "or"]), inner).map(" ".join).map(
                "({})".format
            ),
        ),
        max_leaves=5,
    )  # fmt: skip


@quick
@given(st.data())
def test_the_data_path_lets_through_what_passes(
    kernel_run: tuple[PrivateRun, Decoder], data: st.DataObject
) -> None:
    """And where it can ask for all of a filter, nothing else."""
    run, _ = kernel_run
    whole = data.draw(st.booleans())
    text = data.draw(filters(_ASKED if whole else _ASKED + _LEFT))
    condition: Filter = read_filter(text, NODES)
    frame, port = data.draw(frames())
    if len(frame) < 14:
        return
    note(f"{text}: {frame.hex()} on {port}")
    tracer = run.tracer
    assert tracer is not None
    tracer.ask(TraceFilter())
    run.send(frame, port)
    (everything,) = tracer.recorded()
    asking = compile_filter(condition, NODES)
    tracer.ask(asking)
    run.send(frame, port)
    shown = list(tracer.recorded())
    tracer.ask(TraceFilter())
    if passes(condition, everything):
        assert [(t.trace, t.frame) for t in shown] == [(everything.trace, everything.frame)]
    elif whole and asking.terms:
        assert not shown


def test_port_and_sample(kernel_run: tuple[PrivateRun, Decoder]) -> None:
    run, _ = kernel_run
    tracer = run.tracer
    assert tracer is not None
    for port, asking, expected in (
        (LAN, TraceFilter(port=LAN), 100),
        (LAN, TraceFilter(port=WAN1), 0),
        (LAN, TraceFilter(sample=1), 100),
    ):
        tracer.ask(asking)
        for _ in range(100):
            run.send(TAGGED, port)
        assert len(list(tracer.recorded())) == expected
    tracer.ask(TraceFilter(sample=10))
    for _ in range(1000):
        run.send(TAGGED, LAN)
    assert 20 < len(list(tracer.recorded())) < 300
    tracer.ask(TraceFilter(), seconds=0)
    run.send(TAGGED, LAN)
    assert not list(tracer.recorded())
    tracer.ask(TraceFilter())


def test_a_full_ring_loses_traces_and_says_so(kernel_run: tuple[PrivateRun, Decoder]) -> None:
    run, _ = kernel_run
    tracer = run.tracer
    assert tracer is not None
    before = tracer.lost
    for _ in range(4000):
        run.send(TAGGED, LAN)
    kept = len(list(tracer.recorded()))
    assert tracer.lost - before == 4000 - kept > 0
    run.send(TAGGED, LAN)
    assert len(list(tracer.recorded())) == 1


def test_a_filter_by_a_node_that_is_none() -> None:
    with pytest.raises(Refused, match="the pipeline has no") as refused:
        read_filter("udp.dst = 53", ())
    assert [d.code for d in refused.value.diagnostics] == ["H0856"]
