"""A bundle on disk: the directory that `helioc compile` writes, read and checked."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from ..compiler.manifest import Manifest, ManifestError, from_json
from ..compiler.tracing.schema import SchemaError, TracedBuild
from ..compiler.tracing.schema import from_json as schema_from_json
from . import faults

TRACING = "trace.json"
_LARGEST = 64 << 20


@dataclass(frozen=True)
class Bundle:
    """What the runtime needs of a bundle; `traced` is None where it was compiled without."""

    manifest: Manifest
    object: bytes
    traced: TracedBuild | None = None


def read_bundle(directory: Path) -> Bundle:
    """Read `manifest.json` and `NAME.bpf.o`, and `trace.json` and `NAME.trace.bpf.o` where they
    are. Raises `Refused`."""
    if not directory.is_dir():
        why = "it is a file" if directory.exists() else "there is no such directory"
        raise faults.refused(faults.no_bundle(directory, why))
    text = _text(directory / "manifest.json", directory)
    tracing = _text(path, directory) if (path := directory / TRACING).exists() else None
    return make_bundle(text, lambda file: _octets(file, directory), directory, tracing)


def make_bundle(
    text: str,
    content: Callable[[Path], bytes],
    directory: Path = Path(),
    tracing: str | None = None,
) -> Bundle:
    """The bundle of this manifest; `content` reads an object by its name. `tracing`: how the traced
    build writes down what it tells, if there is one. Raises `Refused`."""
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
    traced = None
    if tracing is not None:
        file = directory / f"{name}.trace.bpf.o"
        traced = _traced(directory / TRACING, tracing, file, content(file), manifest)
    return Bundle(manifest, octets, traced)


def _traced(path: Path, text: str, file: Path, content: bytes, manifest: Manifest) -> TracedBuild:
    try:
        schema = schema_from_json(text)
    except SchemaError as error:
        raise faults.refused(faults.bad_manifest(path, str(error))) from None
    if (schema.plain, schema.digest) != (manifest.digest, hashlib.sha256(content).hexdigest()):
        raise faults.refused(faults.wrong_digest(file))
    return TracedBuild(content, schema)


def _text(path: Path, directory: Path) -> str:
    try:
        return _octets(path, directory).decode()
    except UnicodeDecodeError:
        raise faults.refused(faults.bad_manifest(path, "not UTF-8")) from None


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
