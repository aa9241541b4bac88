"""What `helioc compile` made of a file is there the next time, unless something is different.

A build depends on the file and what it imports, on options, on the compiler and what it runs on,
and on clang. Its entry in the cache names the objects' entries, which depend on headers of the
system besides: without one of them it is a miss.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from ..compiler.backend.cache import Cache, key_of, most_of_user, users_folder, using
from ..compiler.backend.clang import setting
from ..compiler.bundle import Bundle
from ..compiler.check.resolve import STANDARD, load_file
from ..lang.contract.manifest.read_manifest import from_json
from ..lang.contract.trace import schema

if TYPE_CHECKING:
    from ..lang.tree import Program

ROOT = Path(__file__).resolve().parents[1]
#: Of this package, what decides what a compilation gives.
COMPILER = ("lang", "compiler", "commands", "templates", "pipelines/std")
KINDS = (".py", ".j2", ".h", ".hp")
#: What it is written with.
LIBRARIES = ("antlr4", "jinja2")


class Kept(NamedTuple):
    """A build, what was said on the way, and lines for below its table."""

    bundle: Bundle
    said: str
    lines: str


class KeptBuilds:
    """Of one file, compiled with `options` that are printable. `load` notes what is imported."""

    def __init__(self, file: Path, options: object, cache: Cache) -> None:
        self._cache, self._imported = cache, dict[str, str]()
        try:
            self._text = file.read_bytes()
        except (OSError, ValueError):  # which is said later
            self._text = b""
        where = str(file), str(Path.cwd()), str(file.resolve()), sys.stderr.isatty()
        self._key = key_of(self._text, where, options, _compiler(), setting())

    def load(self, path: Path) -> Program:
        """As the compiler loads what is imported."""
        program = load_file(path)
        if program.source.path is not None and path.parent != STANDARD:
            self._imported[str(path)] = sha256(program.source.text.encode()).hexdigest()
        return program

    def found(self) -> Kept | None:
        """As it was kept; objects are told by their digest."""
        parts = self._cache.get(self._key)
        if parts is None:
            return None
        objects = [self._cache.get(key) for key in parts["objects"].decode().split()]
        if None in objects:
            return None
        by_digest = {sha256(o["object"]).hexdigest(): o["object"]
                     for o in objects if o is not None and "object" in o}  # fmt: skip
        manifest = from_json(parts["manifest"].decode())
        traced = None
        if "schema" in parts:
            of = schema.from_json(parts["schema"].decode())
            traced = schema.TracedBuild(
                by_digest[of.digest], of, by_digest[of.tc] if of.tc else b""
            )
        tc = by_digest[manifest.tc] if manifest.tc else b""
        of_tc = parts.get("tc_c", b"").decode()
        bundle = Bundle(
            manifest, parts["c"].decode(), by_digest[manifest.digest], traced, tc=tc, tc_c=of_tc
        )
        return Kept(bundle, parts["said"].decode(), parts["lines"].decode())

    def keep(self, text: str, made: Kept) -> None:
        """`text`: of the file, as it was compiled: it may have been written since."""
        if text.encode() != self._text:
            return
        bundle = made.bundle
        parts = {
            "objects": " ".join(self._cache.used).encode(),
            "manifest": bundle.manifest.to_json().encode(),
            "c": bundle.c.encode(),
            "said": made.said.encode(),
            "lines": made.lines.encode(),
        }
        if bundle.tc:
            parts["tc_c"] = bundle.tc_c.encode()
        if bundle.traced is not None:
            parts["schema"] = bundle.traced.schema.to_json().encode()
        self._cache.put(self._key, parts, self._imported)


@contextmanager
def objects_kept() -> Iterator[Cache | None]:
    """Until the end, for this user. None where there is no place."""
    folder = users_folder("helio")
    cache = Cache(folder / "builds", most_of_user()) if folder else None
    with using(cache):
        yield cache


@contextmanager
def kept_builds(file: Path, options: object) -> Iterator[KeptBuilds | None]:
    """The same, and builds of the file."""
    with objects_kept() as cache:
        yield KeptBuilds(file, options, cache) if cache else None


def _compiler() -> tuple[object, ...]:
    """All that goes into a build besides: this package's files, the libraries and Python."""
    found = sha256()
    for top in COMPILER:
        for path in sorted((ROOT / top).rglob("*")):
            if path.suffix in KINDS:
                content = path.read_bytes()
                found.update(f"{path.relative_to(ROOT)} {len(content)}\n".encode() + content)
    return found.hexdigest(), sys.version, tuple(map(_version, LIBRARIES))


def _version(library: str) -> tuple[str, ...]:
    """By the name of the folder that says it: to ask importlib.metadata takes 50 ms."""
    spec = find_spec(library)
    if spec is None or spec.origin is None:
        return ()
    site = Path(spec.origin).parents[1]
    begin = library.lower()
    return tuple(
        sorted(p.name for p in site.glob("*.dist-info") if p.name.lower().startswith(begin))
    )
