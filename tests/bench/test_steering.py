"""CPU by load and queues: what the bench says of cores."""

from __future__ import annotations

import json
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from helioc.runtime.congestion.queue_counts import QueueCount
from helioc.runtime.owner.host import Busy

sys.path.append(str(Path(__file__).parents[2] / "bench"))
steering_cores: Any = import_module("steering_cores")
Fate: Any = import_module("steering_lab").Fate


def test_what_each_core_runs() -> None:
    assert steering_cores.runs(0, None, 2) == "the sender"
    assert steering_cores.runs(1, None, 2) == "RPS"
    assert steering_cores.runs(0, 1, 2) == "the sender, slice"
    assert steering_cores.runs(1, 8, 2) == "queues 1, 3, 5, 7"
    assert steering_cores.runs(0, 2, 2) == "the sender, slice, queue 2"
    assert steering_cores.runs(3, 2, 8) == "nothing"


def test_what_a_block_took_is_said_by_core(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of two seconds."""
    samples = iter([
        ({0: Busy(0, 0), 1: Busy(0, 0)}, {0: 0.0, 1: 0.0}, {1: QueueCount(0, 0, 0, 7)}, {1: 1.0}),
        ({0: Busy(200, 200), 1: Busy(100, 200)}, {0: 0.5, 1: 0.2},
         {1: QueueCount(900, 100, 800, 7)}, {1: 1.4}),
    ])  # fmt: skip
    clock = iter([10.0, 12.0])
    monkeypatch.setattr(steering_cores.Meter, "_sample", lambda self: next(samples))
    monkeypatch.setattr(steering_cores.time, "monotonic", lambda: next(clock))
    monkeypatch.setattr(steering_cores.os, "sysconf", lambda name: 100)
    with steering_cores.Meter(None) as meter:
        pass
    sender, other = meter.cores(1)
    assert (sender.busy, sender.queue, sender.softirq) == (None, None, 0.25)  # it spins
    assert (other.busy, other.softirq, other.packets, other.dropped) == (0.5, 0.1, 400.0, 50.0)
    assert other.queue == pytest.approx(0.2) and other.each == pytest.approx(0.0005)
    row = steering_cores.Row(1, 128, Fate(1000.0, 0.4, 0.5, 0.0), (sender, other))
    said: list[str] = []
    assert steering_cores.table(iter([row]), said.append) == [row]
    text = "\n".join(said)
    assert "queue 1" in text and "Not measured" in text and "spinning" in text
    content = json.loads(steering_cores.as_json([row]))
    assert content["rows"][0]["cores"][0]["busy"] is None and content["not_measured"]
    assert content["rows"][0]["fate"]["lost"] == pytest.approx(0.1)


@pytest.mark.usefixtures("kernel")
def test_a_row_is_measured() -> None:
    """One of a fifth of a second, without a program and with one queue."""
    bare, steered = steering_cores.rows(rates=(20,), queues=(1,), seconds=0.2)
    assert bare.queues is None and bare.fate.offered > 0
    took = [core for core in steered.cores if core.packets]
    assert [core.runs for core in took] == ["queue 1"] and took[0].queue and took[0].each
