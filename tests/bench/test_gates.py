"""The references by hand do what Helio's programs do that they are timed beside."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import ExitStack
from importlib import import_module
from pathlib import Path
from random import Random
from typing import Any

import pytest

sys.path.append(str(Path(__file__).parents[2] / "bench"))
measure: Any = import_module("measure")
run: Any = import_module("run")

RULES, FRAMES = 5, 3000


@pytest.mark.usefixtures("kernel")
@pytest.mark.parametrize("name", run.GATES)
def test_a_reference_does_the_same(name: str) -> None:
    """With what is timed, and with frames like it, unless a reference leaves them out."""
    gate = run.GATES[name]
    with ExitStack() as owned, measure.Dispatcher() as dispatcher:
        entries = gate.programs(RULES, owned)
        for load in gate.loads.values():
            sent = load(RULES)
            programs = {n: entry.program for n, entry in entries.items()}
            measure.compare(dispatcher, programs, sent, rounds=0)
            helio = entries.pop("Helio")
            for frame in altered(sent.frame):
                of_helio = outcome(helio.program, frame)
                for reference, entry in entries.items():
                    before = entry.left_out()
                    its = outcome(entry.program, frame)
                    if entry.left_out() == before:
                        assert its == of_helio, f"{reference}: {frame.hex()}"
            entries["Helio"] = helio
        left_out = [entry.left_out() for entry in entries.values()]
        assert max(left_out) < FRAMES * len(gate.loads) * 0.4, left_out


def outcome(program: Any, frame: bytes) -> tuple[int, bytes]:
    result = program.test_run(frame)
    action = measure.ACTIONS[result.retval]
    return action, result.data if action in ("pass", "redirect") else b""


def altered(frame: bytes) -> Iterator[bytes]:
    """Some bytes of its headers are others, often by little; some frames are cut."""
    random, likely = Random(0), (0, 1, 2, 127, 169, 192, 203, 224, 254, 255)
    for _ in range(FRAMES):
        other = bytearray(frame)
        for _ in range(random.randint(1, 2)):
            at = random.randrange(min(len(frame), 110))
            flipped = other[at] ^ 1 << random.randrange(8)
            other[at] = random.choice((*likely, flipped, flipped, random.randrange(256)))
        length = random.choice((len(frame), len(frame), random.randrange(14, len(frame))))
        yield bytes(other[:length])
