"""Objects that clang has made for a test are there for all others, in whichever process and run."""

from __future__ import annotations

import fcntl
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest
from helioc.compiler.backend import building, clang
from helioc.compiler.backend.cache import Cache, using
from helioc.lang.text.source import Span

Compile = Callable[[str, str, Span, Sequence[str]], bytes]


#: Of all objects: those of a whole run, of two branches.
MOST_MIB = 2048


class Shared(Cache):
    """What several tests make at once is made once."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder, MOST_MIB << 20)
        folder.mkdir(exist_ok=True, mode=0o700)
        self._locks = folder.with_suffix(".locks")
        self._locks.mkdir(exist_ok=True)

    @contextmanager
    def making(self, key: str) -> Iterator[None]:
        with (self._locks / key).open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)  # another process, or thread, may be at it
            yield


@contextmanager
def kept_in(folder: Path) -> Iterator[None]:
    """Until the end, what the compiler gives to clang is compiled once by all who keep objects
    here, as `helioc compile` does it."""
    with using(Shared(folder)):
        yield


@contextmanager
def compiled_with(**numbers: int) -> Iterator[pytest.MonkeyPatch]:
    """Until the end, the compiler's C has these macros: those that helio.bpf.h lets a test set."""
    compiled: Compile = clang.compile_c
    defined = "".join(f"#define {name} {number}ULL\n" for name, number in numbers.items())

    def compile_defined(text: str, name: str, span: Span, more: Sequence[str] = ()) -> bytes:
        return compiled(defined + text, name, span, more)

    with pytest.MonkeyPatch.context() as patch:
        for module in (clang, building):
            patch.setattr(module, "compile_c", compile_defined)
        yield patch
