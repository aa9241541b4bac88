"""What the interpreter and the kernel must say alike of a packet."""

from __future__ import annotations

from collections import Counter

from helioc.lang.contract.world.environment import Outcome


def said(outcome: Outcome) -> tuple[object, ...]:
    """In an order of its own, to be compared and read. A dropped packet's bytes are nobody's
    business."""
    return (
        outcome.verdict,
        outcome.frame.hex() if outcome.frame is not None else None,
        outcome.egress,
        outcome.queue,
        sorted(Counter(outcome.events).items()),
        sorted(Counter(outcome.counted).items()),
        outcome.emitted,
        [(port, frame.hex()) for port, frame in outcome.copies],
    )
