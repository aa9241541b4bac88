"""A pipeline and its packet tests, read on this machine for another kernel: there, under emulation,
to read them takes longer than to run them."""

from __future__ import annotations

import pickle
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

from helioc.compiler.driver import check_file
from helioc.compiler.model import Pipeline
from helioc.compiler.packettests.cases import Case, read_tests
from helioc.lang.contract.manifest.manifest import Manifest
from helioc.lang.contract.manifest.read_manifest import from_json
from helioc.lang.contract.rules.rulebook import RuleBook
from helioc.lang.contract.rules.rules import Rule
from helioc.lang.syntax.parser import read

FILE = "cases.pickle"


@dataclass(frozen=True)
class Rules:
    """What who runs a case asks of its book, which itself cannot be written to a file."""

    manifest: Manifest
    ports: dict[str, int]
    ifindexes: dict[int, int]
    kinds: Mapping[str, tuple[Rule, ...]]

    @classmethod
    def of(cls, book: RuleBook) -> Any:
        kinds = {kind: tuple(book.rules(kind)) for kind in book.kinds}
        return cls(book.manifest, book.ports, book.ifindexes, kinds)

    def rules(self, kind: str) -> Iterator[Rule]:
        return iter(self.kinds[kind])


def pack(pipeline: Path, bundle: Path) -> None:
    """Put them into the pipeline's bundle."""
    manifest = from_json((bundle / "manifest.json").read_text())
    (bundle / FILE).write_bytes(_packed(pipeline, replace(manifest, digest="").to_json()))


def unpack(bundle: Path) -> tuple[Pipeline, tuple[Case, ...]]:
    """Those that are in it."""
    return _unpacked((bundle / FILE).read_bytes())


@cache
def _packed(path: Path, manifest: str) -> bytes:
    """The same for builds that differ in their objects alone."""
    pipeline, tests = check_file(path), read(path.with_suffix(".test.yaml"))
    cases = read_tests(pipeline, from_json(manifest), tests)
    return pickle.dumps((pipeline, tuple(replace(c, book=Rules.of(c.book)) for c in cases)))


@cache
def _unpacked(packed: bytes) -> tuple[Pipeline, tuple[Case, ...]]:
    found: tuple[Pipeline, tuple[Case, ...]] = pickle.loads(packed)
    return found
