"""What two builds did differently with a frame, in words that group alike ones."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import zip_longest

from ...lang.contract.trace.steps import Step, Trace
from .copies import Met

NONE = "-"
_WRITES = ("set", "push", "append", "leave")
#: Counted besides what is compared by itself.
_UNSAID = ("verdict", "miss")

Rule = tuple[str, int]


@dataclass(frozen=True)
class Names:
    """`ports`: names by number. `kinds`: those of the new build, by their names in force."""

    ports: Mapping[int, str]
    kinds: Mapping[str, str]

    def port(self, number: int | None) -> str:
        return NONE if number is None else self.ports.get(number, f"port {number}")

    def verdict(self, trace: Trace) -> str:
        """With the port that the packet leaves by."""
        return trace.verdict if trace.egress is None or trace.verdict == "tx" else (
            f"{trace.verdict} by {self.port(trace.egress)}")  # fmt: skip


def rules_of(trace: Trace) -> list[Rule]:
    """The rules that a packet found, each once."""
    found = ((s.rule.kind, s.rule.id) for s in trace.steps if s.rule is not None)
    return list(dict.fromkeys(found))


def same_way(one: Trace, other: Trace) -> bool:
    """Whether a copy did what its original did with a packet: verdict, way out, rules."""
    ends = [(t.verdict, t.egress, rules_of(t)) for t in (one, other)]
    return ends[0] == ends[1]


def differences(names: Names, in_force: Met, shadow: Met) -> tuple[str, ...]:
    """In words, each `what is in force -> what the shadow did`; none where both did the same."""
    return tuple(_differences(names, in_force, shadow))


def _differences(names: Names, one: Met, other: Met) -> Iterator[str]:
    was, now = one.trace, other.trace
    if was.verdict != now.verdict:
        yield f"{was.verdict} -> {now.verdict}"
    elif was.egress != now.egress:
        yield f"{names.port(was.egress)} -> {names.port(now.egress)}"
    yield from _of_rules(names, was, now)
    counted = _counted(was), _counted(now)
    yield from _pairs(counted[0] - counted[1], counted[1] - counted[0], str)
    if one.frame is not None and other.frame is not None and one.frame != other.frame:
        yield from _of_frames(one, other)


def _of_rules(names: Names, was: Trace, now: Trace) -> Iterator[str]:
    before = [(names.kinds.get(kind, kind), id_) for kind, id_ in rules_of(was)]
    after = rules_of(now)
    for kind in dict.fromkeys(kind for kind, _ in (*before, *after)):
        gone = Counter(r for r in before if r[0] == kind and r not in after)
        new = Counter(r for r in after if r[0] == kind and r not in before)
        yield from _pairs(gone, new, lambda rule: f"{rule[0]} {rule[1]}")


def _pairs(
    gone: Counter[Rule] | Counter[str], new: Counter[Rule] | Counter[str],
    said: Callable[..., str],
) -> Iterator[str]:  # fmt: skip
    for one, other in zip_longest(gone.elements(), new.elements()):
        pair = (NONE if each is None else said(each) for each in (one, other))
        yield " -> ".join(pair)


def _counted(trace: Trace) -> Counter[str]:
    """Reasons for drops, hooks and what else is counted."""
    return Counter(
        f"{step.name} {step.reason}"
        for step in trace.steps
        if step.what == "event" and step.name not in _UNSAID
    )


def _of_frames(one: Met, other: Met) -> Iterator[str]:
    """The fields that were written otherwise; without such a one, the first byte."""
    written = _written(one.trace), _written(other.trace)
    fields = [f for f in dict.fromkeys((*written[0], *written[1]))
              if written[0].get(f) != written[1].get(f)]  # fmt: skip
    if fields:
        yield from (f"frame {field}" for field in fields)
        return
    assert one.frame is not None and other.frame is not None
    pairs = zip_longest(one.frame, other.frame)
    yield f"frame byte {next(at for at, (a, b) in enumerate(pairs) if a != b)}"


def _written(trace: Trace) -> dict[str, object]:
    """What a packet's headers got, by field, and which headers came and went."""
    found: dict[str, object] = {}
    for step in trace.steps:
        if step.what in _WRITES:
            found |= {_field(step, v.name): v.value for v in step.values}
        if step.what in ("push", "append", "pop"):
            found[" / ".join(step.nodes)] = step.what
    return found


def _field(step: Step, value: str) -> str:
    if step.what == "leave":
        return f"link.{value}"
    return step.name if step.what == "set" else value
