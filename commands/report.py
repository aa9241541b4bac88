"""What the commands of `helioc` print and run beside the compiler proper: the kernel's figures for
a bundle, skeletons, pictures, packet tests."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from ..compiler.driver import Bundle, compile_pipeline
from ..compiler.model import Pipeline
from ..lang.text.diagnostics import Diagnostic, Label, Refused, did_you_mean
from ..lang.text.ending import cannot_write
from ..lang.text.source import Span
from ..lang.text.writing import write_files

if TYPE_CHECKING:
    from ..compiler.captures.packets import Captured
    from ..compiler.decoding.decoded import Decoded
    from ..compiler.lower.unit import Join
    from ..compiler.packettests.cases import Case
    from ..compiler.packettests.runs import Backend
    from ..runtime.kernel.figures import Measured

# ---- figures --------------------------------------------------------------------------------


def program_table(bundle: Bundle, measured: Measured, span: Span) -> str:
    """A line a program: instructions, what the verifier walked, its stack, its maps. Raises
    `Refused` if the kernel does not take them."""
    from ..runtime.kernel.figures import Figures

    head = ("stage", "role", "instructions", "verified", "stack", "maps")
    rows: list[tuple[str, ...]] = [head]
    for program in bundle.manifest.programs:
        f = measured.programs.get(program.name, Figures())
        cells = (f.instructions, f.verified, f.stack, f.maps)
        rows.append((program.stage, program.role, *("-" if c is None else f"{c:,}" for c in cells)))
    lines = _columns(rows)
    if measured.refused:
        raise Refused([_verifier_refuses(span, measured.refused)])
    if measured.why_not:
        lines.append(f"(not loaded: {measured.why_not})")
    return "\n".join(lines)


def memory_table(bundle: Bundle, measured: Measured) -> str:
    """A line a rule kind and state: the kernel memory of its maps on this machine. Empty where
    libbpf cannot be asked."""
    from ..runtime.base.errors import mebibytes
    from ..runtime.kernel.libbpf import possible_cpus
    from ..runtime.loading.room import memory_of_tables

    if not measured.maps:
        return ""
    cpus = possible_cpus()
    rows: list[tuple[str, ...]] = [("table", "", "capacity", "at load", "full", "bytes each")]
    tables = memory_of_tables(bundle.manifest, measured.maps, cpus)
    for t in tables:
        sizes = mebibytes(t.at_load), mebibytes(t.full)
        each = (f"{t.capacity:,}", *sizes, f"{t.each:,}") if t.what else ("", *sizes, "")
        rows.append((t.name, t.what, *each))
    at_load, full = sum(t.at_load for t in tables), sum(t.full for t in tables)
    rows.append(("all", "", "", mebibytes(at_load), mebibytes(full), ""))
    machine = f"(kernel memory on a machine of {cpus} CPUs; full: with a key for each rule)"
    return "\n".join(["", *_columns(rows), machine])


def card_table(bundle: Bundle, pipeline: Pipeline) -> str:
    """A line a stage and role: card instructions as the kernel's driver will make them, or a few
    more; then what there is of each."""
    from ..compiler.lower import limits
    from ..compiler.nfp.judging import by_stage

    head = ("stage", "role", "card instructions", "stack", "octets seen")
    rows: list[tuple[str, ...]] = [head]
    for program, report in zip(bundle.manifest.programs, bundle.reports, strict=True):
        for stage, count in by_stage(pipeline, report).items():
            rows.append((stage, program.role, f"{count:,}", "", ""))
        whole = (f"{report.instructions:,}", f"{report.stack:,}", f"{report.reach:,}")
        rows.append(("all", program.role, *whole))
    most = (f"{limits.INSTRUCTIONS:,}", f"{limits.STACK:,}", f"{limits.REACH:,}")
    return "\n".join(_columns([*rows, ("at most", "", *most)]))


def _columns(rows: list[tuple[str, ...]]) -> list[str]:
    """The first two flush left, the others flush right."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    return [
        "  ".join(
            cell.ljust(w) if i < 2 else cell.rjust(w)
            for i, (cell, w) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]


def _verifier_refuses(span: Span, words: str) -> Diagnostic:
    return Diagnostic(
        "H0304",
        "the kernel does not take this program",
        (Label(span, words),),
        "what `helioc check` accepts must load: please report it with the pipeline and your kernel",
    )


# ---- skeletons and pictures -----------------------------------------------------------------


def write(path: Path, text: str) -> None:
    """Write a file. Raises `Refused` (H0309)."""
    write_files({path: text.encode()})


def make_directory(path: Path) -> None:
    """A bundle's directory, if it is not there. Raises `Refused` (H0309)."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        why = (error.strerror or str(error)).lower()
        if path.exists():
            why = "it is there, and is no directory"
        help_ = "a bundle is a directory of several files: name one, or where to make one"
        raise Refused([cannot_write(str(path), why, help_)]) from None


def write_skeleton(bundle: Bundle, directory: Path) -> Path:
    """`NAME.skel.h` by bpftool: the object embedded in C, with typed access to programs and
    maps."""
    name = bundle.manifest.pipeline
    out = directory / f"{name}.skel.h"
    object_file = directory / f"{name}.bpf.o"
    skeleton = _tool("bpftool", "gen", "skeleton", str(object_file), "name", name)
    write_files({out: skeleton})
    return out


def to_svg(dot: str) -> str:
    return _tool("dot", "-Tsvg", stdin=dot.encode()).decode()


PACKAGES = {"bpftool": "bpftool", "dot": "graphviz"}


def _found(name: str) -> str | None:
    return shutil.which(name) or shutil.which(name, path="/usr/sbin:/sbin")


def _tool(name: str, *arguments: str, stdin: bytes = b"") -> bytes:
    path = _found(name)
    if path is None:
        help_ = f"apt-get install {PACKAGES[name]}"
        raise Refused([Diagnostic("H0305", f"`{name}` is not to be found", (), help_)])
    done = subprocess.run([path, *arguments], input=stdin, capture_output=True, timeout=60)
    if done.returncode:
        words = done.stderr.decode(errors="replace").strip().splitlines()
        title = f"`{name}` failed: {words[-1] if words else done.returncode}"
        raise Refused([Diagnostic("H0306", title, ())])
    return done.stdout


def write_page(pipeline: Pipeline, out: Path | None) -> tuple[str, list[Path]]:
    """The page about a pipeline, and the files that were written: to `out`, and a picture."""
    from ..compiler.driver import lower_pipeline
    from ..compiler.model.parse_graph import to_dot
    from .document import page, to_html, to_markdown

    pieces = page(pipeline, lower_pipeline(pipeline))
    drawn = to_svg(to_dot(pipeline)) if out is not None and _found("dot") else ""
    if out is None:
        return to_markdown(pieces), []
    if out.suffix in (".html", ".htm"):
        text, files = to_html(pieces, drawn), dict[Path, str]()
    else:
        picture = out.with_suffix(".svg")
        text = to_markdown(pieces, picture.name if drawn else "")
        files = {picture: drawn} if drawn else {}
    files = {out: text, **files}
    write_files({path: said.encode() for path, said in files.items()})
    return text, list(files)


# ---- packet tests ---------------------------------------------------------------------------


def run_packet_tests(
    pipeline: Pipeline,
    cases: Sequence[Case],
    on: str | None,
    verbose: bool,
    say: Callable[[str], None],
) -> bool:
    """Run the cases and say how it went. True if all hold, and there were any."""
    from ..compiler.packettests.runs import Interpreted, run_tests

    with ExitStack() as stack:
        backends: list[Backend] = []
        if on != "kernel":
            backends.append(Interpreted(pipeline))
        why_not = ""
        if on != "interpreter":
            kernel, why_not = _kernel(pipeline, stack)
            if kernel is not None:
                backends.append(kernel)
            elif on is not None:
                raise Refused([_no_kernel("run the tests", why_not, pipeline.span)])
        failed = short = untried = 0
        for result in run_tests(pipeline, cases, backends):
            failed += not result.ok
            short += len(result.backends) < len(backends)
            untried += not result.backends
            if verbose or not result.ok:
                held = "ok  " if result.backends else "--  "
                say(f"{held if result.ok else 'FAIL'} {result.case.name}")
            for problem in result.problems:
                say(f"     {problem}")
    ran = " and ".join(b.name for b in backends)
    say(f"{len(cases) - failed - untried} passed, {failed} failed (on the {ran})")
    if short:
        where = "not run" if untried else "on the interpreter alone"
        say(f"{short} {where}: their frames are shorter or longer than the kernel test-runs")
    if why_not:
        say(f"the kernel was not asked: {why_not}")
    if untried == len(cases):
        say("nothing was tested")
    return not failed and untried < len(cases)


def _kernel(pipeline: Pipeline, stack: ExitStack) -> tuple[Backend | None, str]:
    """The kernel as a backend, or why it cannot be asked."""
    if os.geteuid():
        return None, "that needs root"
    from ..runtime.kernel.libbpf import LibbpfMissing
    from ..runtime.loading.bundle import Bundle as Loadable
    from ..runtime.testrun.testrun import KernelBackend

    bundle = compile_pipeline(pipeline)
    try:
        return stack.enter_context(KernelBackend(Loadable(bundle.manifest, bundle.object))), ""
    except LibbpfMissing as error:
        return None, str(error)


# ---- captures -------------------------------------------------------------------------------


class Decodes(Protocol):
    """The reference parser, or the generated one."""

    def decode(self, packet: Captured) -> Decoded: ...


@contextmanager
def decoder(pipeline: Pipeline, role: str | None, by_kernel: bool) -> Iterator[Decodes]:
    """What decodes packets that arrive on ports of `role` (None: the first). Raises `Refused`."""
    from ..compiler.decoding.decoded import Decoder

    role = known_role(pipeline, role)
    if not by_kernel:
        yield Decoder(pipeline.graph, role)
        return
    require_kernel("decode packets", pipeline.span)
    from ..compiler.decoding.by_kernel import KernelDecoder
    from ..compiler.decoding.program import decodings
    from ..runtime.loading.bundle import Bundle as Loadable
    from ..runtime.testrun.decode import ParserRun

    bundles = [compile_pipeline(each) for each in decodings(pipeline)]
    with ParserRun([Loadable(b.manifest, b.object) for b in bundles], role) as run:
        yield KernelDecoder(pipeline.graph, role, run.parse, run.shortest, run.longest)


def known_role(pipeline: Pipeline, role: str | None) -> str:
    """That role, or the first. Raises `Refused` if the pipeline has none of that name."""
    if role is None or role in pipeline.roles:
        return role or pipeline.roles[0]
    help_ = did_you_mean(role, pipeline.roles) or f"its roles: {', '.join(pipeline.roles)}"
    title = f"`{pipeline.name}` has no port role `{role}`"
    raise Refused([Diagnostic("H0811", title, (Label(pipeline.span),), help_)])


def require_kernel(what: str, span: Span) -> None:
    """Raises `Refused` where this process may not do that in the kernel."""
    if os.geteuid():
        raise Refused([_no_kernel(what, "that needs root", span)])


def _no_kernel(what: str, why: str, span: Span) -> Diagnostic:
    title = f"the kernel cannot {what}: {why}"
    return Diagnostic("H0307", title, (Label(span),))


# ---- fuzzing --------------------------------------------------------------------------------


def fuzz_pipeline(
    pipeline: Pipeline, packets: int, seed: int, seconds: float | None, join: Join
) -> tuple[bool, str]:
    """Run packets that nobody wrote on interpreter and kernel. Whether they agree, and what is to
    be said. Raises `Refused`."""
    require_kernel("run packets", pipeline.span)
    try:
        import hypothesis  # noqa: F401
    except ModuleNotFoundError:
        help_ = "pip install 'helioc[fuzz]'"
        title = "`helioc fuzz` needs the Python package hypothesis"
        raise Refused([Diagnostic("H0812", title, (), help_)]) from None
    from ..compiler.fuzzing.report import disagreement, summary
    from ..compiler.fuzzing.scenarios import Fuzzed
    from ..compiler.fuzzing.search import search
    from ..runtime.loading.bundle import Bundle as Loadable
    from ..runtime.testrun.testrun import PrivateRun

    fuzzed = Fuzzed(pipeline)
    bundle = compile_pipeline(pipeline, join)
    with PrivateRun(Loadable(bundle.manifest, bundle.object)) as run:
        found = search(fuzzed, run, packets, seed, seconds)
    if not found.packets:
        return False, "nothing was tried: the time was over before the first packet"
    if found.scenario is None or found.meeting is None:
        if idle := fuzzed.coverage.idle():
            raise Refused([idle])
        return True, summary(found, fuzzed.coverage)
    differences, text = disagreement(fuzzed, found.scenario, found.meeting)
    lines = [f"interpreter and kernel disagree (seed {seed}, {found.packets:,} packets):"]
    lines += [f"  {line}" for line in differences]
    return False, "\n".join([*lines, "", "# as a packet test:", text])
