"""A bundle on disk: the directory that `helioc compile` writes, read and checked."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from ..compiler.manifest import Manifest, ManifestError, from_json
from . import faults

_LARGEST = 64 << 20


@dataclass(frozen=True)
class Bundle:
    """What the runtime needs of a bundle."""

    manifest: Manifest
    object: bytes


def read_bundle(directory: Path) -> Bundle:
    """Read `manifest.json` and `NAME.bpf.o`. Raises `Refused`."""
    if not directory.is_dir():
        why = "it is a file" if directory.exists() else "there is no such directory"
        raise faults.refused(faults.no_bundle(directory, why))
    path = directory / "manifest.json"
    try:
        text = _octets(path, directory).decode()
    except UnicodeDecodeError:
        raise faults.refused(faults.bad_manifest(path, "not UTF-8")) from None
    return make_bundle(text, lambda file: _octets(file, directory), directory)


def make_bundle(text: str, content: Callable[[Path], bytes], directory: Path = Path()) -> Bundle:
    """The bundle of this manifest; `content` reads the object. Raises `Refused`."""
    path = directory / "manifest.json"
    try:
        manifest = from_json(text)
    except ManifestError as error:
        raise faults.refused(faults.bad_manifest(path, str(error))) from None
    name = str(manifest.pipeline)
    if not name.isidentifier():
        raise faults.refused(faults.bad_manifest(path, f"`{name}` is no pipeline's name"))
    file = directory / f"{name}.bpf.o"
    octets = content(file)
    if hashlib.sha256(octets).hexdigest() != manifest.digest:
        raise faults.refused(faults.wrong_digest(file))
    return Bundle(manifest, octets)


def _octets(path: Path, directory: Path) -> bytes:
    try:
        if path.stat().st_size > _LARGEST:
            raise faults.refused(faults.no_bundle(directory, f"`{path.name}` is too large"))
        return path.read_bytes()
    except FileNotFoundError:
        why = f"it has no `{path.name}`"
        raise faults.refused(faults.no_bundle(directory, why)) from None
    except OSError as error:
        why = f"`{path.name}` cannot be read: {error.strerror}"
        raise faults.refused(faults.no_bundle(directory, why)) from None
