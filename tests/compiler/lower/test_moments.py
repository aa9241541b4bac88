"""Clock and chance: what tests set is what packets are told, and the kernel's own where nobody sets
any."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from helioc.compiler.bundle import compile_for_card, compile_pipeline
from helioc.compiler.driver import check_file
from helioc.compiler.interpret.packet import Interpreter
from helioc.lang.contract.rules.rulebook import RuleBook
from helioc.lang.contract.world.environment import Environment, Port
from helioc.lang.contract.world.moment import UNKNOWN_ERROR, Moment
from helioc.lang.text.diagnostics import Refused
from helioc.runtime.kernel.clock import ClockSteps, WallClock, read_wall_clock
from helioc.runtime.loading.bundle import Bundle
from helioc.runtime.rules.moments import publish
from helioc.runtime.testrun.private_run import PrivateRun
from hypothesis import given, settings
from hypothesis import strategies as st
from scapy.layers.ntp import NTPHeader

TEXT = """\
import std.ethernet

header told {
  boot   : u64
  utc    : u64
  ntp    : u64
  ptp    : u64
  error  : u32
  bound  : u16
  first  : u16
  second : u16
  again  : u16
}

pipeline moments {
  ports lan
  parser { ethernet -> told when type = 0x88b5 }
  stage early {
    if not told { drop }
    told.boot  = now
    told.utc   = now(utc)
    told.ntp   = now(ntp)
    told.ptp   = now(ptp)
    told.error = clock.error
  }
  stage late {
    if not told or told.boot != now { drop }
    let drawn = random(told.bound)
    told.first  = drawn
    told.second = random(1000)
    told.again  = drawn
    send back
  }
  run parser -> early -> late
}
"""
LAN = Port(1, "lan", "lan", 9, 1500, b"\2" * 6)
SECOND = 1_000_000_000
NAMES = {"boot": 8, "utc": 8, "ntp": 8, "ptp": 8, "error": 4, "bound": 2, "first": 2, "second": 2,
         "again": 2}  # fmt: skip

pytestmark = pytest.mark.usefixtures("kernel")


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("moments") / "moments.hp"
    made.write_text(TEXT)
    return made


@pytest.fixture
def run(path: Path) -> Iterator[PrivateRun]:
    bundle = compile_pipeline(check_file(path))
    with PrivateRun(Bundle(bundle.manifest, bundle.object)) as made:
        made.set_environment(Environment((LAN,)))
        yield made


def asked(bound: int) -> bytes:
    return bytes(12) + b"\x88\xb5" + bytes(36) + bound.to_bytes(2, "big") + bytes(6)


def told(frame: bytes | None) -> dict[str, int]:
    assert frame is not None
    found, at = {}, 14
    for name, size in NAMES.items():
        found[name], at = int.from_bytes(frame[at : at + size], "big"), at + size
    return found


MOMENTS = st.builds(
    Moment,
    now=st.integers(1, 1 << 60),
    utc=st.integers(0, 1 << 62),
    tai=st.integers(-37, 100).map(lambda seconds: seconds * SECOND),
    error=st.integers(0, UNKNOWN_ERROR),
    random=st.integers(0, (1 << 32) - 1),
)


@settings(max_examples=1, deadline=None)
@given(st.data())
def test_the_kernel_tells_what_the_interpreter_tells(path: Path, data: st.DataObject) -> None:
    bundle = compile_pipeline(check_file(path))
    interpreter = Interpreter(check_file(path), Environment((LAN,)))
    book = RuleBook(bundle.manifest, {}, {})
    with PrivateRun(Bundle(bundle.manifest, bundle.object)) as run:
        run.set_environment(Environment((LAN,)))
        for moment in data.draw(st.lists(MOMENTS, min_size=60, max_size=60)):
            frame = asked(moment.random % 7 * 1000)
            run.set_moment(moment)
            interpreter.set_moment(moment)
            got, expected = run.run(frame, 1), interpreter.run(book, frame, 1)
            assert told(got.frame) == told(expected.frame), moment


def test_formats_are_those_of_others() -> None:
    """NTP's as scapy reads it, which takes the years from 1968 to 2036 (RFC 4330 section 3)."""
    moment = replace(Moment(), utc=1_800_000_000 * SECOND + 250_000_000)
    header = NTPHeader(bytes(40) + moment.time("ntp").to_bytes(8, "big"))
    shown = datetime(1900, 1, 1, tzinfo=UTC) + timedelta(seconds=float(header.sent))
    assert shown == datetime(2027, 1, 15, 8, 0, 0, 250_000, tzinfo=UTC)
    assert moment.time("ptp") == (1_800_000_037 << 32) + 250_000_000


def test_the_kernels_own_clock(run: PrivateRun) -> None:
    clock = read_wall_clock()
    publish(run.writer.control, clock._replace(error=4_000, read_at=time.monotonic_ns()))
    before = time.monotonic_ns(), time.time_ns()
    said = told(run.run(asked(10), 1).frame)
    after = time.monotonic_ns(), time.time_ns()
    assert before[0] <= said["boot"] <= after[0]
    slack = 1_000_000  # the clock may be slewed meanwhile
    assert before[1] - slack <= said["utc"] <= after[1] + slack
    assert said["ntp"] == Moment(utc=said["utc"]).time("ntp")
    assert said["ptp"] == Moment(utc=said["utc"], tai=clock.tai_ahead).time("ptp")
    assert 4_000 <= said["error"] <= 4_000 + (after[0] - before[0]) // 2000 + 1000


def test_the_error_grows_and_may_be_unknown(run: PrivateRun) -> None:
    def error_of(clock: WallClock) -> int:
        publish(run.writer.control, clock)
        return told(run.run(asked(10), 1).frame)["error"]

    now = time.monotonic_ns()
    assert error_of(WallClock(0, 0, None, now)) == UNKNOWN_ERROR
    assert 5_000_000 <= error_of(WallClock(0, 0, 0, now - 10 * SECOND)) < 6_000_000  # 500 ppm
    assert error_of(WallClock(0, 0, 1 << 40, now)) == UNKNOWN_ERROR
    assert error_of(WallClock(0, 0, 7, now + 60 * SECOND)) == 7  # while the packet was on its way


def test_nobody_published_a_clock(run: PrivateRun) -> None:
    said = told(run.run(asked(10), 1).frame)
    assert said["error"] == UNKNOWN_ERROR and said["utc"] == said["boot"]


def test_chance_is_fair_and_each_place_has_its_own(run: PrivateRun) -> None:
    """Each of ten values comes 400 times of 4,000, give or take five standard deviations."""
    said = [told(run.run(asked(10), 1).frame) for _ in range(4000)]
    assert all(s["again"] == s["first"] < 10 and s["second"] < 1000 for s in said)
    for drawn in ((s["first"] for s in said), (s["second"] % 10 for s in said)):
        counts = Counter(drawn)
        assert len(counts) == 10 and all(300 < count < 500 for count in counts.values()), counts
    both = Counter((s["first"], s["second"] // 100) for s in said)
    assert len(both) > 95 and max(both.values()) < 90


@pytest.mark.parametrize("bound", [0, 1])
def test_there_is_one_outcome(run: PrivateRun, bound: int) -> None:
    assert {told(run.run(asked(bound), 1).frame)["first"] for _ in range(20)} == {0}


def test_the_wall_clock_is_read_and_watched() -> None:
    """That it is noticed when the clock is set, a virtual machine shows (tests/vm)."""
    before = time.time_ns() - time.monotonic_ns()
    assert abs(read_wall_clock().utc_ahead - before) < 100_000_000
    steps = ClockSteps()
    try:
        assert not steps.happened()
    finally:
        steps.close()


def test_a_card_has_neither(path: Path) -> None:
    with pytest.raises(Refused) as refused:
        compile_for_card(check_file(path))
    found = {d.title for d in refused.value.diagnostics if d.code == "H0360"}
    asked_for = ("now", "now(utc)", "now(ntp)", "now(ptp)", "clock.error", "random(1000)")
    assert {f"a card cannot do this: `{what}`" for what in asked_for} <= found
