"""C to a BPF object by clang, and clang's words back in the user's terms."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sysconfig
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cache, partial
from pathlib import Path
from threading import Event

from ...lang.text.diagnostics import Diagnostic, Label, Refused
from ...lang.text.source import Span
from .cache import Parts, Read, in_use, key_of, read_since
from .emit import TEMPLATES

#: Tried in this order; HELIOC_CLANG names another.
CANDIDATES = ("clang-16", "clang-19", "clang-15", "clang-14", "clang-13", "clang")
#: Instruction sets, and from which Linux on a kernel knows all of one. HELIOC_CPU names one.
CPUS = {"v2": "4.14", "v3": "5.1", "v4": "6.6"}
CPU = "v3"

#: Seconds, on a machine that is busy: of the pipelines that ship none takes a tenth of it.
_LONGEST = 300
#: The same, for what clang says of itself.
_TO_ANSWER = 20

#: What it goes by besides, for as long as this process lives.
_ENVIRONMENT = ("CPATH", "C_INCLUDE_PATH", "CCC_OVERRIDE_OPTIONS", "COMPILER_PATH", "PATH")

#: What clang says of a function that keeps more on its stack than BPF has.
_TOO_DEEP = re.compile(r"^(?:.*:(\d+):\d+: )?error: .*BPF stack limit", re.MULTILINE)


#: Those that are at it.
_running: set[subprocess.Popen[str]] = set()
_stopped = Event()


class TooDeep(Exception):
    """Functions of the C need more stack than there is; `names` are those that clang points to."""

    def __init__(self, names: frozenset[str]) -> None:
        super().__init__()
        self.names = names


def find_clang() -> str | None:
    """Path of the clang to use: HELIOC_CLANG, else the first of the known ones on PATH."""
    chosen = os.environ.get("HELIOC_CLANG")
    paths = map(shutil.which, (chosen,) if chosen else CANDIDATES)
    return next((path for path in paths if path), None)


def compile_c(text: str, name: str, span: Span, more: Sequence[str] = ()) -> bytes:
    """The object for C `text`, with `more` flags. `span` is in the pipeline's file, whose text
    clang puts into the debug information; no path of this machine gets there: an object depends on
    its sources alone. Raises `Refused` where clang is missing, fails or hangs, `TooDeep` where the
    stack does not suffice. Where results are kept (cache.py), clang does the same once."""
    command = [*_command(span), *more]
    files = {f"{name}.bpf.c": text.encode(), span.source.file: span.source.text.encode()}
    files |= {header.name: header.read_bytes() for header in sorted(TEMPLATES.glob("*.h"))}
    make = partial(_object, command, name, files, span)
    kept = in_use()
    about = _described(command) if kept else None
    if kept is None or about is None:
        parts, _ = make()
    else:
        parts = kept.made(key_of(name, files, about), make)
    if "object" in parts:
        return parts["object"]
    raise TooDeep(frozenset(parts["too deep"].decode().split()))


def setting() -> str | None:
    """All that objects depend on beside their sources, as far as clang says. None where there is no
    clang that is usable."""
    with suppress(Refused):
        return _described(_command(None))
    return None


def _described(command: list[str]) -> str | None:
    """What clang says of itself, of the flags it would go by and of where it looks for headers;
    None where it does not."""
    status = os.stat(command[0])
    environment = tuple(os.environ.get(name) for name in _ENVIRONMENT)
    return _asked(tuple(command), (status.st_size, status.st_mtime_ns), environment)


@cache
def _asked(command: tuple[str, ...], *others: object) -> str | None:
    try:
        asked = [*command, "-v", "-E", "-x", "c", os.devnull]
        return repr((_run(asked, os.sep, _TO_ANSWER), others))
    except subprocess.TimeoutExpired:
        return None


def _command(span: Span | None) -> list[str]:
    """Clang and its flags. Raises `Refused`."""
    clang = find_clang()
    if clang is None:
        raise Refused([_missing(span)])
    cpu = os.environ.get("HELIOC_CPU") or CPU
    if cpu not in CPUS:
        raise Refused([_no_cpu(span, f"HELIOC_CPU is `{cpu}`")])
    return [clang, *flags(".", cpu), "-fdebug-compilation-dir=."]


def _object(
    command: list[str], name: str, files: dict[str, bytes], span: Span
) -> tuple[Parts, Read | None]:
    """The object, or the functions that need too much stack, and the system's headers that were
    read. Raises `Refused`."""
    start = time.time()
    with tempfile.TemporaryDirectory(prefix="helioc-") as scratch:
        for file, content in files.items():
            Path(scratch, file).write_bytes(content)
        out, read = Path(scratch, f"{name}.bpf.o"), Path(scratch, f"{name}.bpf.d")
        try:
            status, said = _run([*command, "-MD", f"{name}.bpf.c"], scratch)
        except subprocess.TimeoutExpired:
            raise Refused([_refused(span, f"it did not finish within {_LONGEST} s")]) from None
        if "unknown target CPU" in said:
            cpu = os.environ.get("HELIOC_CPU") or CPU
            raise Refused([_no_cpu(span, f"{Path(command[0]).name} does not know `{cpu}`")])
        headers = re.findall(r"(?<=\s)/\S+", read.read_text()) if read.exists() else []
        since = read_since(start, headers) if headers else None
        if lines := _TOO_DEEP.findall(said):
            names = _functions_at(files[f"{name}.bpf.c"].decode(), lines)
            return {"too deep": " ".join(sorted(names)).encode()}, since
        if status or not out.exists():
            raise Refused([_refused(span, said)])
        return {"object": out.read_bytes()}, since


def _run(command: list[str], directory: str, longest: float = _LONGEST) -> tuple[int, str]:
    """Exit status, and what it said on standard error. It does not outlive an interrupt. Raises
    `TimeoutExpired` behind `longest` seconds."""
    none, pipe = subprocess.DEVNULL, subprocess.PIPE
    with subprocess.Popen(command, stdout=none, stderr=pipe, text=True, cwd=directory) as process:
        _running.add(process)
        if _stopped.is_set():  # between its start and this line
            process.kill()
        try:
            _, said = process.communicate(timeout=longest)
        except BaseException:
            process.kill()
            raise
        finally:
            _running.discard(process)
    return process.returncode, said


@contextmanager
def stoppable() -> Iterator[None]:
    """What `stop` in the block ends does not go on behind it."""
    try:
        yield
    finally:
        _stopped.clear()


def stop() -> None:
    """End every clang that is at it, or about to be: what waits for one finds that it failed."""
    _stopped.set()
    for process in tuple(_running):
        process.kill()


def _functions_at(text: str, lines: list[str]) -> frozenset[str]:
    """The functions of `text` that begin at these lines."""
    every = dict(enumerate(text.split("\n"), 1))
    head = r".*\b(\w+)\(struct (?:xdp_md|__sk_buff)"
    heads = (re.match(head, every.get(int(n or 0), "")) for n in lines)
    return frozenset(head[1] for head in heads if head)


def flags(headers: str = str(TEMPLATES), cpu: str = CPU) -> list[str]:
    """What every generated program is built with; `headers` is where `helio.bpf.h` is, `cpu` one
    of CPUS."""
    multiarch = sysconfig.get_config_var("MULTIARCH") or "x86_64-linux-gnu"
    return [
        "-O2", "-g", "-c", "-target", "bpf", f"-mcpu={cpu}", "-fno-strict-aliasing",
        "-Wall", "-Wno-unused-function", "-Wno-unused-variable", "-Wno-unused-label",
        "-Wno-unused-but-set-variable", "-fno-caret-diagnostics",
        "-fbracket-depth=2048",  # of a chain of `else if` each is within the one before
        f"-I{headers}", f"-I/usr/include/{multiarch}",
    ]  # fmt: skip


def _missing(span: Span | None) -> Diagnostic:
    chosen = os.environ.get("HELIOC_CLANG")
    title = f"`{chosen}` is not to be found" if chosen else "clang is not to be found"
    help_ = "unset HELIOC_CLANG or let it name a clang" if chosen else "apt-get install clang-16"
    return Diagnostic("H0301", title, _at(span), help_)


def _at(span: Span | None) -> tuple[Label, ...]:
    return () if span is None else (Label(span),)


def _no_cpu(span: Span | None, why: str) -> Diagnostic:
    return Diagnostic(
        "H0315",
        f"no such instruction set: {why}",
        _at(span),
        f"unset HELIOC_CPU for {CPU}, which every clang from 13 on and Linux 5.10 know; there are "
        f"{', '.join(CPUS)}, of which v4 takes clang 18 and Linux {CPUS['v4']}",
    )


def _refused(span: Span, words: str) -> Diagnostic:
    first = next((line for line in words.splitlines() if "error" in line), words.strip()[:200])
    return Diagnostic(
        "H0302",
        "clang does not take the C generated for this pipeline",
        (Label(span, first.strip()),),
        "this is an error of helioc: please report it with the pipeline; "
        "`HELIOC_CLANG=clang-19` may get you past it",
    )
