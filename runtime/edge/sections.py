"""A key of the edge's YAML that belongs to one feature: what the feature's settings module gives to
the reader (features.py)."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from ...lang.contract.manifest.manifest import Manifest

if TYPE_CHECKING:  # `helioctl` starts without YAML
    from ...lang.text.yaml_reader import Entry
    from .yaml_nodes import Nodes

Settings = TypeVar("Settings")


@dataclass(frozen=True)
class Around:
    """What a section may refer to: the file's other keys, the pipeline, the host's addresses."""

    nodes: Nodes
    keys: Mapping[str, Entry]
    manifest: Manifest
    addresses: Collection[bytes]


@dataclass(frozen=True)
class Section(Generic[Settings]):
    """`kind`: a dataclass of what JSON can say; `read` notes what is wrong; `has`: whether a
    pipeline has a use for it (None: any has)."""

    key: str
    kind: Callable[..., Settings]
    read: Callable[[Around, Entry], Settings | None]
    has: Callable[[Manifest], bool] | None = None

    def of(self, kept: Mapping[str, Any]) -> Settings | None:
        """Those among the settings by key, as `asdict` gives them, of a `Config` or of a pipeline
        that this release or an older one loaded. None where there are none."""
        data = kept.get(self.key)
        return None if data is None else self.kind(**data)

    def understands(self, kept: Mapping[str, Any]) -> bool:
        """Whether `of` can be asked."""
        try:
            self.of(kept)
        except TypeError:
            return False
        return True
