"""Why a member of a spread takes no flows, in words."""

from __future__ import annotations

from ..edge.steering_policy import Policy
from ..edge.steering_status import SteeredSpread, shown
from .decide import Path, State


def reason(policy: Policy, state: State, member: int, path: Path) -> str:
    """Also why one takes flows although it is out of its bounds."""
    if not path.alive:
        return "dead"
    if member in state.within:
        return "" if member in state.chosen else f"others have less {policy.prefer}"
    said = [
        f"{name} {shown(name, value)}, at most {shown(name, bound)}"
        for name, bound in policy.bounds.items()
        if path.seen is not None and (value := getattr(path.seen, name)) is not None
        and value > bound
    ]  # fmt: skip
    why = "; ".join(said) or "held down"
    return f"{why}; no member is within its bounds" if member in state.chosen else why


def in_words(spread: SteeredSpread) -> str:
    """What it is steered to."""
    members = (f"{m.kind} {m.id}" + (f" ({m.overlay})" if m.overlay else "")
               + (f" left out: {m.why}" if not m.in_force else f" takes flows{_though(m.why)}")
               for m in spread.members)  # fmt: skip
    return f"{spread.text}: " + ", ".join(members)


def _though(why: str) -> str:
    return f" ({why})" if why else ""
