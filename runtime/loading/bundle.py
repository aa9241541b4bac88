"""Reads and checks a bundle, the directory that `helioc compile` writes."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from ...lang.contract.manifest.manifest import Manifest, ManifestError
from ...lang.contract.manifest.read_manifest import from_json
from ...lang.contract.trace.schema import SchemaError, TracedBuild, unpack
from ...lang.contract.trace.schema import from_json as schema_from_json
from ...lang.text.diagnostics import Diagnostic
from ..base import errors

TRACING = "trace.json"
_TC = ".tc.bpf.o"
_LARGEST = 64 << 20


@dataclass(frozen=True)
class Bundle:
    """The parts of a bundle that the runtime needs; `traced` is None where there is no traced
    build, `tc` empty where no role is at tc."""

    manifest: Manifest
    object: bytes
    traced: TracedBuild | None = None
    tc: bytes = b""


def read_bundle(directory: Path) -> Bundle:
    """Read `manifest.json` and `NAME.bpf.o`; `NAME.tc.bpf.o`, where the manifest has one; and
    `trace.json` and `NAME.trace.bpf.o` where they are. Raises `Refused`."""
    if not directory.is_dir():
        why = "it is a file" if directory.exists() else "there is no such directory"
        raise errors.refused(errors.no_bundle(directory, why))
    text = _text(directory / "manifest.json", directory)
    traced = _traced(directory)
    return make_bundle(text, lambda file: _content(file, directory), directory, traced)


def make_bundle(
    text: str,
    content: Callable[[Path], bytes],
    directory: Path = Path(),
    traced: TracedBuild | None = None,
) -> Bundle:
    """The bundle of this manifest; `content` reads an object. Raises `Refused`."""
    path = directory / "manifest.json"
    try:
        manifest = from_json(text)
    except ManifestError as error:
        raise errors.refused(_bad_manifest(path, str(error))) from None
    name = str(manifest.pipeline)
    if not name.isidentifier():
        raise errors.refused(_bad_manifest(path, f"`{name}` is no pipeline's name"))
    data = _checked(content, directory / f"{name}.bpf.o", manifest.digest)
    tc = _checked(content, directory / tc_file(name), manifest.tc) if manifest.tc else b""
    if traced is not None:
        found = traced.schema.plain, traced.schema.digest
        if found != (manifest.digest, hashlib.sha256(traced.object).hexdigest()):
            raise errors.refused(_wrong_digest(directory / traced_file(name)))
        if traced.schema.tc and traced.schema.tc != hashlib.sha256(traced.tc).hexdigest():
            raise errors.refused(_wrong_digest(directory / traced_file(name, _TC)))
    return Bundle(manifest, data, traced, tc)


def sent(object_: bytes, tc: bytes) -> Callable[[Path], bytes]:
    """The objects of a bundle that is in no directory, as `make_bundle` asks for them."""
    return lambda file: tc if file.name.endswith(_TC) else object_


def _checked(content: Callable[[Path], bytes], file: Path, digest: str) -> bytes:
    data = content(file)
    if hashlib.sha256(data).hexdigest() != digest:
        raise errors.refused(_wrong_digest(file))
    return data


def unpack_traced(packed: bytes) -> TracedBuild | None:
    """Of what `TracedBuild.pack` gave; None of nothing. Raises `Refused`."""
    try:
        return unpack(packed) if packed else None
    except SchemaError as error:
        raise errors.refused(_bad_manifest(Path(TRACING), str(error))) from None


def tc_file(name: str) -> str:
    """The object for ports at tc of the pipeline with this name."""
    return name + _TC


def traced_file(name: str, ends: str = ".bpf.o") -> str:
    """The traced object of the pipeline with this name."""
    return f"{name}.trace{ends}"


def _traced(directory: Path) -> TracedBuild | None:
    path = directory / TRACING
    if not path.exists():
        return None
    try:
        schema = schema_from_json(_text(path, directory))
    except SchemaError as error:
        raise errors.refused(_bad_manifest(path, str(error))) from None
    if not schema.pipeline.isidentifier():
        raise errors.refused(_bad_manifest(path, "it names no pipeline"))
    data = _content(directory / traced_file(schema.pipeline), directory)
    second = directory / traced_file(schema.pipeline, _TC)
    return TracedBuild(data, schema, _content(second, directory) if schema.tc else b"")


def _text(path: Path, directory: Path) -> str:
    try:
        return _content(path, directory).decode()
    except UnicodeDecodeError:
        raise errors.refused(_bad_manifest(path, "not UTF-8")) from None


def _content(path: Path, directory: Path) -> bytes:
    try:
        if path.stat().st_size > _LARGEST:
            raise errors.refused(errors.no_bundle(directory, f"`{path.name}` is too large"))
        return path.read_bytes()
    except FileNotFoundError:
        why = f"it has no `{path.name}`"
        raise errors.refused(errors.no_bundle(directory, why)) from None
    except OSError as error:
        why = f"`{path.name}` cannot be read: {error.strerror}"
        raise errors.refused(errors.no_bundle(directory, why)) from None


# ---- errors ---------------------------------------------------------------------------------


def _bad_manifest(path: Path, why: str) -> Diagnostic:
    help_ = "compile the pipeline again with the helioc of this release"
    return Diagnostic("H0702", f"`{path}` cannot be used: {why}", (), help_)


def _wrong_digest(path: Path) -> Diagnostic:
    return Diagnostic(
        "H0703", f"`{path}` is not the object that the manifest beside it describes", (),
        "the files of a bundle belong together: compile the pipeline again",
    )  # fmt: skip
