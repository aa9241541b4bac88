"""A grace period must outlast every program that ran when it began."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from errno import EINVAL

import pytest
from helioc.runtime.kernel import grace, system
from helioc.runtime.kernel.handles import Object
from tinybpf import build

# Writes 1, works for some milliseconds, writes 2: who sees 1 and waits for grace must then see 2.
SLOW = """
struct { __uint(type, BPF_MAP_TYPE_ARRAY); __uint(max_entries, 2); __uint(map_flags, 1024);
         __type(key, __u32); __type(value, __u64); } phase SEC(".maps");
static long work(__u32 index, void *context) { return bpf_ktime_get_ns() == 1; }
SEC("xdp") int slow(struct xdp_md *ctx)
{
    volatile __u64 *now = bpf_map_lookup_elem(&phase, &(__u32){0});
    if (!now) return XDP_ABORTED;
    *now = 1;
    bpf_loop(100000, work, 0, 0);
    *now = 2;
    return XDP_PASS;
}
"""
PACKET = bytes(64)


@pytest.fixture
def slow(kernel: None) -> Iterator[Object]:
    with Object.open(build(SLOW), name="slow") as opened:
        opened.load()
        yield opened


@pytest.fixture
def affinity() -> Iterator[set[int]]:
    before = os.sched_getaffinity(0)
    yield before
    os.sched_setaffinity(0, before)


def _elsewhere(slow: Object, cpu: int) -> int:
    os.sched_setaffinity(0, {cpu})
    return slow.programs()["slow"].test_run(PACKET).retval


@pytest.mark.parametrize("wait", [grace.online_cpus_grace, grace.synchronize_rcu])
def test_a_running_program_has_ended_after_grace(
    slow: Object, affinity: set[int], wait: Callable[[], None]
) -> None:
    if len(affinity) < 2:
        pytest.skip("needs two CPUs: with one, no program runs beside the writer")
    here, there = sorted(affinity)[:2]
    os.sched_setaffinity(0, affinity - {there})
    phase = slow.maps()["phase"].mmap().cast("Q")
    with ThreadPoolExecutor(1) as pool:
        for _ in range(20):
            phase[0] = 0
            run = pool.submit(_elsewhere, slow, there)
            while phase[0] == 0 and not run.done():
                pass
            wait()
            assert phase[0] == 2
            assert run.result() == 2  # XDP_PASS
    assert os.sched_getaffinity(0) == affinity - {there} and here in affinity


def test_without_grace_the_program_is_still_running(slow: Object, affinity: set[int]) -> None:
    """The control: what the test above waits for is really there to be waited for."""
    if len(affinity) < 2:
        pytest.skip("needs two CPUs: with one, no program runs beside the writer")
    there = max(affinity)
    os.sched_setaffinity(0, affinity - {there})
    phase = slow.maps()["phase"].mmap().cast("Q")
    seen = set()
    with ThreadPoolExecutor(1) as pool:
        for _ in range(20):
            phase[0] = 0
            run = pool.submit(_elsewhere, slow, there)
            while phase[0] == 0 and not run.done():
                pass
            seen.add(phase[0])
            run.result()
    assert 1 in seen


def test_the_affinity_of_the_thread_is_as_before(affinity: set[int]) -> None:
    one = {max(affinity)}
    os.sched_setaffinity(0, one)
    grace.online_cpus_grace()
    assert os.sched_getaffinity(0) == one


def test_only_the_calling_thread_moves(affinity: set[int]) -> None:
    seen: list[set[int]] = []
    go, done = threading.Event(), threading.Event()

    def other() -> None:
        while not done.is_set():
            seen.append(os.sched_getaffinity(0))
            go.set()

    thread = threading.Thread(target=other)
    thread.start()
    go.wait()
    for _ in range(10):
        grace.online_cpus_grace()
    done.set()
    thread.join()
    assert all(mask == affinity for mask in seen)


def test_every_online_cpu_is_visited(affinity: set[int], monkeypatch: pytest.MonkeyPatch) -> None:
    visited, real = [], os.sched_setaffinity

    def note(pid: int, mask: set[int]) -> None:
        real(pid, mask)
        visited.append((set(mask), system.current_cpu()))

    start = system.current_cpu()
    monkeypatch.setattr(os, "sched_setaffinity", note)
    grace.online_cpus_grace()
    *hops, (restored, _) = visited
    assert restored == affinity
    assert all(mask == {cpu} for mask, cpu in hops)
    assert {cpu for _, cpu in hops} >= grace.online_cpus() - {start}


def test_a_forbidden_cpu_falls_back_to_rcu(
    affinity: set[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    real, calls = os.sched_setaffinity, []

    def forbid(pid: int, mask: set[int]) -> None:
        if len(mask) == 1:
            raise OSError(EINVAL, "not in the cpuset")
        real(pid, mask)

    here = system.current_cpu()
    monkeypatch.setattr(grace, "online_cpus", lambda: {here, here + 1})
    monkeypatch.setattr(os, "sched_setaffinity", forbid)
    monkeypatch.setattr(grace, "synchronize_rcu", lambda: calls.append("rcu"))
    grace.online_cpus_grace()
    assert calls == ["rcu"]
    assert os.sched_getaffinity(0) == affinity


def test_a_realtime_kernel_does_not_hop(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[str] = []
    monkeypatch.setattr(grace, "preempt_rt", lambda: True)
    monkeypatch.setattr(grace, "synchronize_rcu", lambda: calls.append("rcu"))
    monkeypatch.setattr(grace, "_visit", lambda cpus: calls.append("hop"))
    grace.online_cpus_grace()
    assert calls == ["rcu"]


def test_rcu_is_waited_for_where_membarrier_is_refused(
    slow: Object, affinity: set[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(system, "membarrier_global", lambda: EINVAL)
    test_a_running_program_has_ended_after_grace(slow, affinity, grace.synchronize_rcu)


def test_lists_of_cpus_are_read() -> None:
    assert grace.parse_cpus("0-3,8\n") == {0, 1, 2, 3, 8}
    assert grace.parse_cpus("0\n") == {0}
    assert grace.online_cpus() >= os.sched_getaffinity(0)
