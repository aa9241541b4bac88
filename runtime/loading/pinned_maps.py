"""The maps of a pipeline that are pinned."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path

from ...lang.diagnostics import Refused
from .. import faults
from ..kernel.handles import Map


class PinGone(Refused):
    """Something removed a pin (H0710)."""

    def __init__(self, pipeline: str, why: str) -> None:
        super().__init__([faults.damaged(pipeline, why)])


class PinnedMaps(dict[str, Map]):
    """The maps of a release, by name. One without a pin raises `PinGone` where it is asked for."""

    def __init__(self, pipeline: str) -> None:
        super().__init__()
        self.pipeline = pipeline

    def open(self, directory: Path, owned: ExitStack) -> None:
        """All that are pinned below a release's directory. Raises `PinGone`, BpfError."""
        try:
            paths = sorted((directory / "maps").iterdir())
        except OSError:
            raise PinGone(self.pipeline, "its maps have no pins") from None
        for path in paths:
            self[path.name] = owned.enter_context(Map.open_pinned(path))

    def __missing__(self, name: str) -> Map:
        raise PinGone(self.pipeline, f"the map `{name}` has no pin")
