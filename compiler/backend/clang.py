"""C to a BPF object by clang, and clang's words back in the user's terms."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sysconfig
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from threading import Event

from ...lang.text.diagnostics import Diagnostic, Label, Refused
from ...lang.text.source import Span
from .emit import TEMPLATES

#: Tried in this order; HELIOC_CLANG names another.
CANDIDATES = ("clang-16", "clang-19", "clang-15", "clang-14", "clang-13", "clang")
#: Instruction sets, and from which Linux on a kernel knows all of one. HELIOC_CPU names one.
CPUS = {"v2": "4.14", "v3": "5.1", "v4": "6.6"}
CPU = "v3"

#: Seconds, on a machine that is busy: of the pipelines that ship none takes a tenth of it.
_LONGEST = 300

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
    stack does not suffice."""
    clang = find_clang()
    if clang is None:
        raise Refused([_missing(span)])
    cpu = os.environ.get("HELIOC_CPU") or CPU
    if cpu not in CPUS:
        raise Refused([_no_cpu(span, f"HELIOC_CPU is `{cpu}`")])
    with tempfile.TemporaryDirectory(prefix="helioc-") as scratch:
        out = Path(scratch) / f"{name}.bpf.o"
        source = span.source
        out.with_name(source.file).write_text(source.text, encoding="utf-8")
        out.with_name(f"{name}.bpf.c").write_text(text, encoding="utf-8")
        for header in TEMPLATES.glob("*.h"):
            shutil.copy(header, scratch)
        command = [clang, *flags(".", cpu), *more, "-fdebug-compilation-dir=.", f"{name}.bpf.c"]
        try:
            status, said = _run(command, scratch)
        except subprocess.TimeoutExpired:
            raise Refused([_refused(span, f"it did not finish within {_LONGEST} s")]) from None
        if "unknown target CPU" in said:
            raise Refused([_no_cpu(span, f"{Path(clang).name} does not know `{cpu}`")])
        if lines := _TOO_DEEP.findall(said):
            raise TooDeep(_functions_at(text, lines))
        if status or not out.exists():
            raise Refused([_refused(span, said)])
        return out.read_bytes()


def _run(command: list[str], directory: str) -> tuple[int, str]:
    """Exit status, and what it said on standard error. It does not outlive an interrupt."""
    none, pipe = subprocess.DEVNULL, subprocess.PIPE
    with subprocess.Popen(command, stdout=none, stderr=pipe, text=True, cwd=directory) as process:
        _running.add(process)
        if _stopped.is_set():  # between its start and this line
            process.kill()
        try:
            _, said = process.communicate(timeout=_LONGEST)
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


def _missing(span: Span) -> Diagnostic:
    chosen = os.environ.get("HELIOC_CLANG")
    title = f"`{chosen}` is not to be found" if chosen else "clang is not to be found"
    help_ = "unset HELIOC_CLANG or let it name a clang" if chosen else "apt-get install clang-16"
    return Diagnostic("H0301", title, (Label(span),), help_)


def _no_cpu(span: Span, why: str) -> Diagnostic:
    return Diagnostic(
        "H0315",
        f"no such instruction set: {why}",
        (Label(span),),
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
