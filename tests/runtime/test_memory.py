"""Memory that nobody uses is given back."""

from __future__ import annotations

from helioc.runtime.memory import Memory, resident


def test_what_lies_below_something_that_stays() -> None:
    """What glibc does not give back by itself."""
    memory, before = Memory(), resident()
    taken = [b"x" * (100_000 + n) for n in range(2_000)]  # too small to be mapped
    stays = bytes(1_000)
    assert resident() > before + (150 << 20)
    memory.give_back()
    assert resident() > before + (150 << 20), "it is used"
    taken.clear()
    memory.give_back()
    assert resident() < before + (64 << 20) and stays
