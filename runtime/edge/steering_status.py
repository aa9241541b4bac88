"""What spreads are steered to, as the agent publishes it once a second for metrics and `top`, which
ignore an old file."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

from ..base.published import need_types, publish, published, remove_published
from .overlay_status import AGE
from .path_quality import Measured


class SteeredMember(NamedTuple):
    """`overlay`: that it leads to, empty without one. `weight` as the rule says it, and `in_force`:
    that, or 0. `why` it takes no flows. `since`: when that was last decided otherwise, seconds of
    the Unix epoch, 0: never."""

    kind: str
    id: int
    overlay: str
    weight: int
    in_force: int
    why: str
    since: float
    seen: Measured


class SteeredSpread(NamedTuple):
    """`text`: the rule with what it matches. `changes`: decisions since the agent began. `due`:
    when it is decided next, seconds of the Unix epoch; 0: by nobody."""

    kind: str
    id: int
    text: str
    changes: int
    members: Sequence[SteeredMember]
    due: float = 0.0


STEERED = ("spread", "member", "weight", "delay", "jitter", "loss", "overlay", "why")


def steered_rows(spreads: Iterable[SteeredSpread]) -> list[Sequence[str]]:
    """A table's, under `STEERED`."""
    return [
        (spread.text if at == 0 else "", f"{m.kind} {m.id}", _weight(m), *_cells(m.seen),
         m.overlay or "-", m.why)
        for spread in spreads for at, m in enumerate(spread.members)
    ]  # fmt: skip


def _weight(member: SteeredMember) -> str:
    """With what the rule says where that is not in force."""
    said = f"{member.weight:,}"
    return said if member.in_force else f"0 of {said}"


def _cells(seen: Measured) -> Iterator[str]:
    return (shown(name, value) for name, value in seen._asdict().items())


def shown(name: str, value: float | None) -> str:
    """A delay or jitter, of seconds, or a loss, of a part."""
    if value is None:
        return "-"
    number = value * (100 if name == "loss" else 1000)
    digits = f"{number:.3g}" if number < 999.5 else f"{number:,.0f}"
    return f"{digits} {'%' if name == 'loss' else 'ms'}"


def write_steering(pipeline: str, spreads: Iterable[SteeredSpread]) -> None:
    """Raises OSError."""
    found = list(spreads)
    if found:
        publish(f"{pipeline}.steering", found)
    else:
        remove_steering(pipeline)


def read_steering(pipeline: str) -> list[SteeredSpread]:
    """Empty where nobody steers."""
    found, at = _read(pipeline)
    return found if _fresh(at) else []


def last_steering(pipeline: str) -> list[SteeredSpread]:
    """As `read_steering`; where the agent has ended, which members take flows, since packets go on
    so, and nothing of what is measured."""
    found, at = _read(pipeline)
    return found if _fresh(at) else list(map(unmeasured, found))


def unmeasured(spread: SteeredSpread) -> SteeredSpread:
    """Which members take flows, and no more: nobody measures or decides."""
    members = [member._replace(seen=Measured()) for member in spread.members]
    return spread._replace(members=members, due=0.0)


def _fresh(at: float) -> bool:
    """A time in the future is old: the clock was set back since."""
    return abs(time.time() - at) < AGE


def _read(pipeline: str) -> tuple[list[SteeredSpread], float]:
    """What was written last, and when."""
    found, at = published(f"{pipeline}.steering")
    with suppress(ValueError, TypeError, LookupError):
        return list(map(_spread, found or ())), at
    return [], 0.0


def _spread(values: Sequence[Any]) -> SteeredSpread:
    need_types(values, str, int, str, int, list, float | int)
    return SteeredSpread._make([*values[:4], list(map(_member, values[4])), values[5]])


def _member(values: Sequence[Any]) -> SteeredMember:
    need_types(values, str, int, str, int, int, str, float | int, list)
    need_types(values[-1], *[float | int | None] * 3)
    return SteeredMember._make([*values[:-1], Measured(*values[-1])])


def remove_steering(pipeline: str) -> None:
    """May be called again."""
    remove_published(f"{pipeline}.steering")
