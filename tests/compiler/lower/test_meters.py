"""Meters on the interpreter, in the intermediate representation and in the kernel: the same
colours, whatever the rates, the waits and the requests between packets; two CPUs at once lose no
tokens."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from helioc.compiler.bundle import compile_for_card, compile_pipeline
from helioc.compiler.driver import check_file
from helioc.compiler.lower.unit import Join
from helioc.lang.contract.request.request_parser import parse_request
from helioc.lang.contract.rules.rulebook import RuleBook
from helioc.lang.contract.world.environment import Environment, Port
from helioc.lang.contract.world.moment import SECOND, Moment
from helioc.lang.text.diagnostics import Refused
from helioc.lang.text.source import Source
from helioc.runtime.loading.bundle import Bundle
from helioc.runtime.testrun.private_run import PrivateRun
from helioc.testing import Drawn, Scenario, Tested
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from packet_cases import packet_cases_hold
from scapy.layers.inet import IP
from scapy.layers.l2 import Ether

METERS = Path(__file__).parent / "cases" / "meters"
COLOURS = METERS / "colours.hp"
LAN = Port(1, "LAN", "lan", 1, 1500, bytes.fromhex("020000000001"))

pytestmark = pytest.mark.usefixtures("kernel")


@pytest.fixture(scope="module")
def colours() -> Iterator[Tested]:
    with Tested(COLOURS) as tested:
        yield tested


def frame(length: int = 64) -> bytes:
    packet = Ether(dst="02:00:00:00:00:01", src="02:00:00:00:00:02")
    packet /= IP(src="10.0.0.1", dst="10.0.0.9", proto=9)
    return bytes(packet).ljust(length, b"\0")


@pytest.mark.parametrize("join", ["staged", "fused"])
@pytest.mark.parametrize("name", ["colours", "aware"])
def test_packet_cases_hold(name: str, join: Join) -> None:
    assert packet_cases_hold(METERS / f"{name}.hp", join) > 5


# ---- whatever the values ----------------------------------------------------------------------

RATES = st.sampled_from([0, 1, 8_000, 10**6, 10**10, (1 << 32) - 1, 1 << 32, (1 << 64) - 1])
BURSTS = st.sampled_from([0, 64, 1_513, 1_514, 65_535, (1 << 30) - 1, 1 << 30, (1 << 32) - 1])
WAITS = st.sampled_from([0, 0, 1, 999, 1_000_000, SECOND, (1 << 32) - 1, 1 << 32, 10**17])


@st.composite
def said(draw: st.DrawFn) -> str:
    """A request for other rates: rules are updated, deleted or made."""
    rate, pir = (draw(RATES | st.integers(0, 1 << 64)) % (1 << 64) for _ in range(2))
    burst, excess, pbs = (draw(BURSTS | st.integers(0, 1 << 32)) % (1 << 32) for _ in range(3))
    car = f"[(rate, {rate}), (burst, {burst}), (pir, {pir}), (pbs, {pbs % (1 << 16)})]"
    qer = f"[(rate, {rate}), (burst, {burst}), (excess, {excess})]"
    change = draw(st.sampled_from(["update", "update", "delete", "make"]))
    if change == "update":
        return f"update CAR 1 {car}; update QER 1 {qer}"
    if change == "delete":
        return "delete CAR 1"
    return f"create CAR 1 {car.replace('[', '[(dst_ip, 10.0.0.0/8), ')}"


@settings(deadline=None, max_examples=60, suppress_health_check=list(HealthCheck))
@given(st.data())
def test_all_agree(colours: Tested, data: st.DataObject) -> None:
    begin = (
        "create CAR 1 [(dst_ip, 10.0.0.0/8), (rate, 8000), (burst, 100), (pir, 16000), (pbs, 150)];"
        "create QER 1 gold [(rate, 8000), (burst, 64), (excess, 128)];"
        "create FAR 1 [(tos, 1), (rate, 1000000000), (burst, 1000000)];"
        "create PDR 1 [(src_ip, 10.0.0.1), (qer, gold), FAR 1]"
    )
    packets = st.builds(
        lambda wait, length: replace(colours.packet(frame(length)), wait=wait),
        WAITS | st.integers(0, 2 * 10**8),
        st.sampled_from([60, 64, 128, 1_400, 1_514, 3_400]),
    )
    steps = data.draw(st.lists(packets | said().map(colours.request), max_size=25))
    colours.agree(Scenario((colours.request(begin), *steps)))


# ---- requests between packets -----------------------------------------------------------------


class Far:
    """A FAR's token bucket: a byte a ms, 100 bytes deep."""

    def __init__(self, tested: Tested) -> None:
        self.tested = tested
        self.begin = tested.request(
            "create CAR 1 [(dst_ip, 10.0.0.0/8), (rate, 1), (burst, 1), (pir, 1), (pbs, 1)];"
            "create QER 1 gold [(rate, 1), (burst, 1), (excess, 1)];"
            "create FAR 1 [(tos, 1), (rate, 8000), (burst, 100)];"
            "create PDR 1 [(src_ip, 10.0.0.1), (qer, gold), FAR 1]"
        )

    def red(self, *steps: int | str) -> list[bool]:
        """Of packets of 64 bytes, each behind so many ms or a request, whether they were red."""
        done = [self.tested.request(s) if isinstance(s, str) else self.after(s) for s in steps]
        outcomes = self.tested.agree(Scenario((self.begin, *done)))
        return [("count", "far_red") in outcome.events for outcome in outcomes]

    def after(self, ms: int) -> Drawn:
        return replace(self.tested.packet(frame()), wait=ms * 1_000_000)


@pytest.fixture
def far(colours: Tested) -> Far:
    return Far(colours)


def test_time_fills_the_bucket(far: Far) -> None:
    assert far.red(0, 0, 27, 1, 0) == [False, True, True, False, True]


def test_a_rate_that_is_updated_counts_for_the_next_packet(far: Far) -> None:
    update = "update FAR 1 [(rate, 80000)]"
    assert far.red(0, 0, update, 3, 3) == [False, True, False, True]


def test_what_is_missing_stays_missing_in_another_depth(far: Far) -> None:
    deeper = "update FAR 1 [(burst, 128)]"
    assert far.red(0, 0, deeper, 0, 0) == [False, True, False, True]
    shallower = "update FAR 1 [(burst, 64)]"
    assert far.red(0, shallower, 0, 64, 63, 1) == [False, True, False, True, False]


def test_an_update_of_something_else_gives_no_tokens(far: Far) -> None:
    assert far.red(0, "update FAR 1 [(tos, 2)]", 0) == [False, True]


def test_a_rate_of_nothing_lets_nothing_pass(far: Far) -> None:
    nothing, again = "update FAR 1 [(rate, 0)]", "update FAR 1 [(rate, 8000)]"
    assert far.red(nothing, 0, 1_000, again, 0) == [True, True, False]


def test_a_rule_that_is_made_again_begins_full(far: Far) -> None:
    """Also where it takes the cell of the one before."""
    again = (
        "delete PDR 1; delete FAR 1; create FAR 1 [(tos, 1), (rate, 8000), (burst, 100)];"
        "create PDR 1 [(src_ip, 10.0.0.1), (qer, gold), FAR 1]"
    )
    gone = "delete PDR 1; delete FAR 1"
    made = again.removeprefix(f"{gone}; ")
    for _ in range(3):
        assert far.red(0, 0, again, 0, 0) == [False, True] * 2
        assert far.red(0, 0, gone, made, 0, 0, gone, made, 0) == [False, True, False, True, False]


# ---- the kernel -------------------------------------------------------------------------------


def at_once(run: PrivateRun, data: bytes, times: int) -> None:
    """Two threads, each on a CPU of its own if there are so many."""
    cpus, begin = sorted(os.sched_getaffinity(0)), threading.Barrier(2)
    program = run.entry(LAN.number)

    def go(number: int) -> None:
        os.sched_setaffinity(0, {cpus[number % len(cpus)]})  # this thread
        begin.wait(10)
        program.test_run(data, ingress_ifindex=1, repeat=times)

    threads = [threading.Thread(target=go, args=(number,)) for number in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    assert not any(thread.is_alive() for thread in threads)


TWO_CPUS = """\
import std.ethernet, std.ip
pipeline two_cpus {
  ports lan
  parser { ethernet -> ipv4 when type = 0x0800 }
  ie rate  = 1, u64
  ie burst = 2, u32
  ie type  = 3, u16
  rule PDR [4] {
    match type exact ethernet.type
    meters rate, burst
  }
  stage main {
    find PDR else { pass }
    if meter PDR is red { drop }
    send back
  }
  run parser -> main
}
"""


@contextmanager
def loaded(path: Path, join: Join, request: str) -> Iterator[PrivateRun]:
    bundle = compile_pipeline(check_file(path), join)
    with PrivateRun(Bundle(bundle.manifest, bundle.object)) as run:
        run.set_environment(Environment((LAN,)))
        book = RuleBook(bundle.manifest, {}, {})
        run.apply(book.plan(parse_request(Source("request", request))))
        yield run


@pytest.mark.parametrize("packets", [1, 20_000, 100_000])
def test_two_cpus_take_as_many_tokens_as_one(tmp_path: Path, packets: int) -> None:
    """Time stands still: of twice 60,000 packets exactly those pass that the burst holds."""
    path = tmp_path / "two_cpus.hp"
    path.write_text(TWO_CPUS)
    rule = f"create PDR 1 [(type, 0x88b5), (rate, 1000000), (burst, {packets * 64})]"
    with loaded(path, "staged", rule) as run:
        run.set_moment(Moment())
        before = dict.fromkeys(("tx", "drop"), 0)
        run._counted_events()
        at_once(run, bytes(12) + b"\x88\xb5" + bytes(50), 60_000)
        for _, reason in run._counted_events():
            before[reason] = before.get(reason, 0) + 1
        assert (before["tx"], before["drop"]) == (packets, 120_000 - packets)


def test_two_cpus_pass_what_the_rate_says(tmp_path: Path) -> None:
    """By the kernel's own clock, within 2 %: the burst is what 100 ms bring, 5,000 packets."""
    path = tmp_path / "two_cpus.hp"
    path.write_text(TWO_CPUS)
    rule = "create PDR 1 [(type, 0x88b5), (rate, 25600000), (burst, 320000)]"
    with loaded(path, "staged", rule) as run:
        meters, data = run.maps["meters"], bytes(12) + b"\x88\xb5" + bytes(50)

        def clock() -> int:
            values = meters.read_all()[1]
            return max(int.from_bytes(values[at + 24 : at + 32], "little")
                       for at in range(0, len(values), 32))  # fmt: skip

        run.entry(LAN.number).test_run(data, ingress_ifindex=1, repeat=20_000)
        began, _ = clock(), run._counted_events()  # the bucket is empty
        at_once(run, data, 600_000)
        seconds = (clock() - began) / SECOND
        passed = sum(reason == "tx" for _, reason in run._counted_events())
        assert passed == pytest.approx(seconds * 50_000, rel=0.02), seconds


FIVE_METERED = """\
import std.ethernet, std.ip
pipeline five {{
  ports lan
  parser {{ ethernet -> ipv4 when type = 0x0800 }}
  ie rate  = 1, u64
  ie burst = 2, u32
  ie pir   = 3, u64
  ie pbs   = 4, u32
  ie tos   = 5, u8
  ie src   = 6, ip4
{rules}
  stage main {{
    if not ipv4 {{ pass }}
{finds}
    send back
  }}
  run parser -> main
}}
"""


@pytest.mark.parametrize(("join", "count"), [("staged", 24), ("fused", 9)])
def test_five_metered_kinds_take_one_map(tmp_path: Path, join: Join, count: int) -> None:
    """As many kinds as without meters, but for what one map takes: a kind that is looked up has six
    maps, of the 64 of a program, so that 24 are divided into several."""
    forms = ["rate, burst", "rate, burst, pbs", "rate, burst, pir, pbs"]
    rules, finds = [], []
    for i in range(count):
        meters = f"meters {forms[i % 3]}" if i < 5 else "gives tos"
        rules.append(
            f"  rule K{i} [1k] {{ match src exact ipv4.src {meters} counts packets, bytes }}"
        )
        asks = "red" if i % 3 == 0 else "yellow | red"
        finds.append(f"    find K{i} else {{ }}")
        if i < 5:
            finds.append(f"    if K{i} and meter K{i} is {asks} {{ drop }}")
    path = tmp_path / "five.hp"
    text = FIVE_METERED.format(rules="\n".join(rules), finds="\n".join(finds))
    path.write_text(text)
    each = "(rate, 8000), (burst, 100)"
    made = [
        f"create K{i} 1 [(src, 10.0.0.1), {each}{', (pir, 8000)' if i == 2 else ''}"
        f"{', (pbs, 100)' if i % 3 else ''}]"
        for i in range(5)
    ]
    with loaded(path, join, "; ".join(made)) as run:
        kinds = [kind for kind in run.manifest.rules if kind.meters]
        assert len(kinds) == 5 and run.manifest.meters == sum(kind.cells for kind in kinds)
        run.set_moment(Moment())
        assert [run.run(frame(), 1).verdict for _ in range(2)] == ["tx", "drop"]


def test_a_card_has_no_meters() -> None:
    with pytest.raises(Refused) as refused:
        compile_for_card(check_file(COLOURS))
    found = {d.title for d in refused.value.diagnostics if d.code == "H0360"}
    assert "a card cannot do this: metering" in found
