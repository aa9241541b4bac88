"""Frames that came to harm."""

from __future__ import annotations

from hypothesis import strategies as st


@st.composite
def damaged(
    draw: st.DrawFn, frames: st.SearchStrategy[tuple[bytes, int]], within: int = 90
) -> tuple[bytes, int]:
    """A frame and its port: cut somewhere, or some of its first bytes changed."""
    frame, port = draw(frames)
    data = bytearray(frame)
    for _ in range(draw(st.integers(0, 4))):
        data[draw(st.integers(0, min(len(data), within) - 1))] = draw(st.integers(0, 255))
    return bytes(data[: draw(st.integers(0, len(data)))] if draw(st.booleans()) else data), port
