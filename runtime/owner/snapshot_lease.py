"""`SnapshotLease`: a pipeline's rules at one moment, for another process to read."""

from __future__ import annotations

import os

from .pipeline import OwnedPipeline


class SnapshotLease:
    """Rules that stay as they are until `let_go`. `descriptor`: a memory file with what
    leads to those of this moment: see rpc/reading.py."""

    def __init__(self, owner: OwnedPipeline) -> None:
        self._owner = owner
        self._writer = writer = owner.loaded.writer
        self._holding = False
        self.descriptor = os.memfd_create("cells", os.MFD_CLOEXEC)
        try:
            for part in writer.copies():
                write_all(self.descriptor, part)
        except BaseException:
            os.close(self.descriptor)
            raise
        writer.hold()
        self._holding = True

    def let_go(self) -> bool:
        """They have been read: whether they stayed as they were. Raises `Refused`."""
        if not self._holding:
            return False
        with self._owner.turn(None):
            return self._let_go()

    def close(self) -> None:
        """May be called again."""
        if self._holding:  # whoever has the turn may have it for longer than anybody waits
            self._owner.lock.leave(self._let_go)
        if self.descriptor >= 0:
            os.close(self.descriptor)
            self.descriptor = -1

    def _let_go(self) -> bool:
        holding, self._holding = self._holding, False
        # What came after an upgrade knew nothing of this.
        return holding and self._owner.loaded.writer is self._writer and self._writer.let_go()


def write_all(descriptor: int, data: bytes | memoryview) -> None:
    """However much the kernel takes at a time."""
    left = memoryview(data).cast("B")
    while left:
        left = left[os.write(descriptor, left) :]
