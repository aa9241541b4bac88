"""Opens the pinned maps of a pipeline."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from errno import EINVAL, ENOENT
from pathlib import Path
from typing import Any

from ...lang.text.diagnostics import Refused
from ..base import errors
from ..kernel.handles import BpfError, Map


def why_not(error: BpfError) -> str:
    """Why a pin could not be opened, as text."""
    if error.errno == ENOENT:
        return "it has no pin"
    return "something else is pinned there" if error.errno == EINVAL else error.reason


class PinGone(Refused):
    """A pin was removed (H0710)."""

    def __init__(self, pipeline: str, why: str) -> None:
        super().__init__([errors.damaged(pipeline, why)])


class PinnedMaps(dict[str, Map]):
    """The maps of a release, by name. One without a pin raises `PinGone` where it is asked for."""

    def __init__(self, pipeline: str) -> None:
        super().__init__()
        self.pipeline = pipeline

    def open(
        self, directory: Path, owned: ExitStack, objects: Mapping[str, Any] | None = None
    ) -> None:
        """All that are pinned below a release's directory. `objects`: of its `about`, see
        integrity.py. Raises `PinGone`, BpfError."""
        try:
            paths = sorted((directory / "maps").iterdir())
        except OSError:
            raise PinGone(self.pipeline, "its maps have no pins") from None
        for path in paths:
            self.open_one(path, owned, objects)

    def open_one(
        self, path: Path, owned: ExitStack, objects: Mapping[str, Any] | None = None
    ) -> None:
        """One of them. Raises `PinGone` where something else is pinned there, BpfError."""
        known = objects["pins"].get(f"maps/{path.name}") if objects is not None else None
        try:
            table = self[path.name] = owned.enter_context(Map.open_pinned(path))
        except BpfError as error:
            if error.errno == EINVAL:
                raise PinGone(self.pipeline, f"the pin `{path.name}`: {why_not(error)}") from None
            raise
        if known not in (None, f"map {table.id}"):
            raise PinGone(self.pipeline, f"the pin `{path.name}` has another map")

    def __missing__(self, name: str) -> Map:
        raise PinGone(self.pipeline, f"the map `{name}` has no pin")
