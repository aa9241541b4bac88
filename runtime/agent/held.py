"""Rules that stay as they are while somebody else reads them."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import AbstractContextManager, suppress
from typing import TYPE_CHECKING

from ...lang.diagnostics import Refused

if TYPE_CHECKING:
    from .owner import Owner


class Held:
    """Rules that stay as they are until `let_go`. `descriptor`: a memory file with the epoch and
    the cells of this moment: see rpc/reading.py."""

    def __init__(
        self, owner: Owner, turn: Callable[[float | None], AbstractContextManager[None]]
    ) -> None:
        self._owner, self._turn = owner, turn
        self._writer = writer = owner.loaded.writer
        self._holding = False
        self.descriptor = os.memfd_create("cells", os.MFD_CLOEXEC)
        try:
            os.write(self.descriptor, writer.epoch.to_bytes(8, "little"))
            for table in writer.tables.values():
                os.write(self.descriptor, table.cells)
        except BaseException:
            os.close(self.descriptor)
            raise
        writer.hold()
        self._holding = True

    def let_go(self) -> bool:
        """They have been read: whether they stayed as they were."""
        if not self._holding:
            return False
        with self._turn(None):
            self._holding = False
            # What came after an upgrade knew nothing of this.
            return self._owner.loaded.writer is self._writer and self._writer.let_go()

    def close(self) -> None:
        """May be called again."""
        if self._holding:
            with suppress(Refused):
                self.let_go()
        if self.descriptor >= 0:
            os.close(self.descriptor)
            self.descriptor = -1
