"""Hooks: what a pipeline says of events."""

from __future__ import annotations

from collections.abc import Sequence

from ...lang import tree
from ...lang.text.diagnostics import Diagnostics
from ...lang.text.source import Span
from .. import model
from ..model.checksums import NETWORK
from . import errors
from .edges import CheckedGraph

HOOKS: dict[model.Event, model.Hook] = {
    "malformed": "drop",
    "tiny_fragment": "drop",
    "too_big": "drop",
    "ttl_expired": "drop",
    "no_headroom": "drop",
    "unresolved": "pass",
}
#: What a hook may say of its event; of the others, pass or drop. A tiny fragment never passes: what
#: filters look for is not in it.
_ALLOWED: dict[model.Event, tuple[model.Hook, ...]] = {
    "malformed": ("pass", "drop", "continue"),
    "tiny_fragment": ("drop", "continue"),
    "too_big": ("pass", "drop", "reply icmp"),
    "ttl_expired": ("pass", "drop", "reply icmp"),
}


def check_hooks(
    declared: Sequence[tree.Hook], checked: CheckedGraph, found: Diagnostics
) -> dict[model.Event, model.Verdict | None]:
    """What the pipeline says of each event; None where it says nothing."""
    first: dict[str, Span] = {}
    hooks: dict[model.Event, model.Verdict | None] = dict.fromkeys(HOOKS)
    for hook in declared:
        event = next((e for e in HOOKS if e == hook.event.text), None)
        if event is None:
            found.add(errors.unknown_hook(hook.event, HOOKS))
            continue
        if first.setdefault(event, hook.event.span) is not hook.event.span:
            found.add(errors.twice_in_pipeline(f"`on {event}`", hook.event.span, first[event]))
        allowed = _ALLOWED.get(event, ("pass", "drop"))
        verdict = hook.verdict
        if verdict.verdict not in allowed:
            found.add(errors.verdict_misplaced(verdict.span, f"on {event}", allowed))
            continue
        if (
            verdict.verdict == "reply icmp"
            and checked.sound
            and not any(n.header.protocol in NETWORK for n in checked.graph.nodes)
        ):
            found.add(
                errors.missing(
                    verdict.span,
                    "an `ipv4` or `ipv6` node to answer",
                    "lead an edge to `ipv4`, or say `drop`",
                )
            )
        hooks[event] = model.Verdict(verdict.verdict, verdict.span)
    return hooks
