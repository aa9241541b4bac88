"""Objects that clang has made for a test are there for all others, in whichever process."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from hashlib import sha256
from pathlib import Path

import pytest
from helioc.compiler import clang
from helioc.compiler.emit import TEMPLATES
from helioc.lang.source import Span

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
                path.write_bytes(compile_anew(text, name, span, more))
            return path.read_bytes()

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(clang, "compile_c", compile_once)
        yield


@cache
def _headers() -> str:
    return "".join(path.read_text() for path in sorted(TEMPLATES.glob("*.h")))
