"""The rules of a pipeline on a card as bytes (rules/snapshot.py): cells, and an image of each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from ...lang.contract.manifest.manifest import Manifest
from ..kernel.maps import Map
from ..rules.snapshot import Array, decode, encode
from .card_images import Images, KindImages, slots_at


def take(images: Images, manifest: Manifest) -> list[bytes]:
    """The rules in force, in parts to be written one behind the other."""
    revision = images.revision
    return encode(manifest, {name: _arrays(k, revision) for name, k in images.kinds.items()})


def _arrays(kind: KindImages, revision: int) -> Iterator[tuple[str, Array]]:
    images = kind.images
    slots = slots_at(kind.kind, kind.words, images, revision)
    cells = np.flatnonzero(slots)
    yield "cells", cells.astype("<u4")
    yield "images", images[slots[cells], : kind.kind.image_size]


def put(content: bytes, revision: int, maps: Mapping[str, Map], manifest: Manifest) -> None:
    """Fill fresh maps, before a writer opens them. Raises Misfit, BpfError."""
    images = Images.of_maps(manifest, maps)
    for kind, found in decode(content, manifest):
        images.kinds[kind.name].put(found["cells"], found["images"], revision)
    images.revision = revision
