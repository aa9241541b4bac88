"""Objects that clang has made for a test are there for all others, in whichever process."""

from __future__ import annotations

import fcntl
import os
import pickle
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from hashlib import sha256
from pathlib import Path

import pytest
from helioc.compiler.backend import building, clang
from helioc.compiler.backend.emit import TEMPLATES
from helioc.lang.text.source import Span

Compile = Callable[[str, str, Span, Sequence[str]], bytes]

#: As the compiler has it.
compile_anew: Compile = clang.compile_c


@contextmanager
def kept_in(folder: Path) -> Iterator[None]:
    """Until the end, what the compiler gives to clang is compiled once by all who keep objects
    here: an object depends on its sources, flags and clang alone, and those are its name."""
    folder.mkdir(exist_ok=True)

    def compile_once(text: str, name: str, span: Span, more: Sequence[str] = ()) -> bytes:
        setting = clang.find_clang(), os.environ.get("HELIOC_CPU") or clang.CPU, *more, _headers()
        sources = text, name, span.source.file, span.source.text
        path = folder / sha256(repr((sources, setting)).encode()).hexdigest()
        with path.with_suffix(".lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)  # another process, or thread, may be at it
            if not path.exists():
                path.write_bytes(pickle.dumps(_tried(text, name, span, more)))
            data, too_deep = pickle.loads(path.read_bytes())
        if too_deep:
            raise clang.TooDeep(too_deep)
        return bytes(data)

    with pytest.MonkeyPatch.context() as patch:
        compile_by(compile_once, patch)
        yield


@contextmanager
def compiled_with(**numbers: int) -> Iterator[pytest.MonkeyPatch]:
    """Until the end, the compiler's C has these macros: those that helio.bpf.h lets a test set."""
    compiled = clang.compile_c
    defined = "".join(f"#define {name} {number}ULL\n" for name, number in numbers.items())

    def compile_defined(text: str, name: str, span: Span, more: Sequence[str] = ()) -> bytes:
        return compiled(defined + text, name, span, more)

    with pytest.MonkeyPatch.context() as patch:
        compile_by(compile_defined, patch)
        yield patch


def compile_by(way: Compile, patch: pytest.MonkeyPatch) -> None:
    """For all who have a name for it when the first test begins, or look it up each time."""
    for module in (clang, building):
        patch.setattr(module, "compile_c", way)


def _tried(text: str, name: str, span: Span, more: Sequence[str]) -> tuple[bytes, frozenset[str]]:
    """The object, or the functions that need too much stack: the UPF's are built twice."""
    try:
        return compile_anew(text, name, span, more), frozenset()
    except clang.TooDeep as error:
        return b"", error.names


@cache
def _headers() -> str:
    return "".join(path.read_text() for path in sorted(TEMPLATES.glob("*.h")))
