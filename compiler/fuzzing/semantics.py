"""The three semantics of a pipeline held against each other: the interpreter of its model, that of
the intermediate representation, and the kernel. Which of them differs says which half of the
compiler is wrong; of the first half, the unit as each pass left it says which pass."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from ...lang.contract.manifest.manifest import Manifest
from ...lang.contract.world.environment import Environment, Outcome, Rules
from ...lang.contract.world.moment import Moment
from ..driver import after_each_pass, lowered, placed
from ..ir.interpreter.machine import Machine
from ..ir.interpreter.memory import Fault
from ..ir.interpreter.statements import knows
from ..ir.unit import Unit
from ..lower.unit import Join, Target
from ..model import Pipeline

#: What a unit came to, or what its program did that none may do.
Answer = Outcome | Fault
#: What `placed` chooses from, in its order: `in_memory` and `spilled` of `run`.
_FORMS = ((False, False), (True, False), (False, True))


def said(answer: Answer, traced: bool = False) -> tuple[object, ...]:
    """What two semantics must say alike; `traced`: also of what was parsed, and of the steps. A
    dropped packet's bytes are nobody's business."""
    if isinstance(answer, Fault):
        return ("fault", str(answer))
    frame = None if answer.verdict == "drop" else answer.frame
    counted: Mapping[object, int] = Counter(answer.counted)
    way = (answer.parsed, answer.trace) if traced else ()
    left = answer.egress, answer.queue
    told = answer.emitted, answer.copies
    return answer.verdict, frame, left, Counter(answer.events), counted, *told, *way


def answer(machine: Machine, rules: Rules, frame: bytes, port: int) -> Answer:
    """Raises `NotInterpreted`."""
    try:
        return machine.run(rules, frame, port)
    except Fault as fault:
        return fault


@dataclass(frozen=True)
class Stage:
    """A unit as some passes left it. `made_by`: what made it out of the stage before, in words.
    `placed`: after `place_state`."""

    made_by: str
    unit: Unit
    placed: bool


def stages(
    pipeline: Pipeline, join: Join = "staged", traced: bool = False, target: Target = "host"
) -> list[Stage]:
    """What is compiled, as it is lowered and after each pass that changes it: from the first on
    that consists of nothing but nodes that are interpreted. Raises `Refused`."""
    unit = lowered(pipeline, join, traced, target)
    compiled = placed(pipeline, unit)
    for form in _FORMS:
        found = list(after_each_pass(pipeline, unit, *form))
        if found[-1][1] == compiled:
            break
    return list(_interpreted([("", unit), *found]))


def _interpreted(units: Iterable[tuple[str, Unit]]) -> Iterator[Stage]:
    by, is_placed = list[str](), False
    before: Unit | None = None
    for name, unit in units:
        is_placed = is_placed or name == "place_state"
        if before is not None and unit == before:
            continue
        by.append(f"pass {name}" if name else "lowering")
        if before is not None or knows(unit):
            yield Stage(" or ".join(by), unit, is_placed)
            by, before = [], unit


class Stages:
    """All stages of a unit, each with state of its own."""

    def __init__(
        self,
        pipeline: Pipeline,
        found: list[Stage],
        environment: Environment,
        manifest: Manifest | None = None,
    ) -> None:
        """`manifest`: for a traced unit's steps."""
        self._traced = manifest is not None and found[-1].unit.traced is not None
        self._machines = [
            (stage.made_by, Machine(stage.unit, environment, pipeline.default, manifest))
            for stage in found
        ]

    def set_moment(self, moment: Moment) -> None:
        for _, machine in self._machines:
            machine.set_moment(moment)

    def run(
        self, rules: Rules, frame: bytes, port: int, expected: Outcome
    ) -> tuple[Answer, str | None]:
        """What the last stage makes of a packet, and what made the first stage that differs from
        the one before; the very first is held against what the model's interpreter expects."""
        before, wrong = said(expected, self._traced), None
        last: Answer = expected
        for made_by, machine in self._machines:
            last = answer(machine, rules, frame, port)
            now = said(last, self._traced)
            if now != before and wrong is None:
                wrong = made_by
            before = now
        return last, wrong


Half = Literal["lowering", "emitting"]


def differing(model: object, lowered: object | None, kernel: object) -> frozenset[Half]:
    """Which halves of the compiler make a difference: from the model to the intermediate
    representation (None: it was not interpreted), and from there to the kernel."""
    if lowered is None:
        lowered = model
    halves: dict[Half, bool] = {"lowering": model != lowered, "emitting": lowered != kernel}
    return frozenset(half for half, differs in halves.items() if differs)
