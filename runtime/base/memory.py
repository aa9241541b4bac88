"""Returns memory to the system that the C library keeps though it is free."""

from __future__ import annotations

from ..kernel.system import malloc_free, malloc_trim

#: Bytes by which what is free has to have grown before memory is trimmed.
_GROWN = 64 << 20


class Memory:
    """Returns free memory: glibc does so only at the heap's end."""

    def __init__(self) -> None:
        self._least = malloc_free()

    def give_back(self) -> None:
        """If what is free has grown by `_GROWN`. It counts as free also when it was returned."""
        free = malloc_free()
        self._least = min(self._least, free)
        if free > self._least + _GROWN:
            malloc_trim()
            self._least = free
