"""Runs packets for `helioc`: packet tests, decoding, fuzzing."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Protocol

from ..compiler.bundle import (
    building,
    compile_for_test_runs,
    compile_pipeline,
    for_test_runs,
)
from ..compiler.model import Pipeline
from ..lang.text.diagnostics import Diagnostic, Label, Refused, did_you_mean
from ..lang.text.source import Span

if TYPE_CHECKING:
    from ..compiler.captures.packets import Captured
    from ..compiler.decoding.decoded import Decoded
    from ..compiler.lower.unit import Join, Target
    from ..compiler.packettests.cases import Case
    from ..compiler.packettests.runs import Backend


# ---- packet tests ---------------------------------------------------------------------------


def run_packet_tests(
    pipeline: Pipeline,
    cases: Sequence[Case],
    on: str | None,
    verbose: bool,
    say: Callable[[str], None],
    coverage: bool = False,
) -> bool:
    """Run the cases and say how it went; with `coverage`, also what no packet came to. True if all
    hold, and there were any."""
    from ..compiler.packettests.runs import Interpreted, run_tests

    with ExitStack() as stack:
        backends: list[Backend] = []
        interpreted = Interpreted(pipeline)
        if on != "kernel":
            backends.append(interpreted)
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
        kernel = next(b for b in backends if b is not interpreted)
        lengths = f"{kernel.shortest:,} to {kernel.longest:,} bytes"
        say(f"{short} {where}: the kernel test-runs frames of {lengths}")
    if why_not:
        say(f"the kernel was not asked: {why_not}")
    if untried == len(cases):
        say("nothing was tested")
    if coverage:
        say("\n".join(interpreted.coverage().summary()))
    return not failed and untried < len(cases)


def _kernel(pipeline: Pipeline, stack: ExitStack) -> tuple[Backend | None, str]:
    """The kernel as a backend, or why it cannot be asked."""
    if os.geteuid():
        return None, "that needs root"
    from ..runtime.kernel.libbpf import LibbpfMissing
    from ..runtime.loading.bundle import Bundle as Loadable
    from ..runtime.testrun.kernel_backend import KernelBackend

    bundle = compile_for_test_runs(pipeline)
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
    from ..runtime.testrun.parser_run import ParserRun

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
    pipeline: Pipeline,
    packets: int,
    seed: int,
    seconds: float | None,
    join: Join,
    target: Target | None = None,
) -> tuple[bool, str]:
    """Run packets that nobody wrote on interpreter, intermediate representation and kernel, where
    programs are of that `target` (None: as roles say). Whether they agree, and what is to be said.
    Raises `Refused`."""
    require_kernel("run packets", pipeline.span)
    try:
        import hypothesis  # noqa: F401
    except ModuleNotFoundError:
        help_ = "pip install 'helioc[fuzz]'"
        title = "`helioc fuzz` needs the Python package hypothesis"
        raise Refused([Diagnostic("H0812", title, (), help_)]) from None
    from ..compiler.fuzzing.report import disagreement, summary, who
    from ..compiler.fuzzing.scenarios import Fuzzed
    from ..compiler.fuzzing.search import search
    from ..runtime.loading.bundle import Bundle as Loadable
    from ..runtime.testrun.tc_run import private_run

    fuzzed = Fuzzed(pipeline, join)
    target, flags = for_test_runs(pipeline, target)
    with building(pipeline, join, target=target, flags=flags) as build:
        bundle, fuzzed.unit = build.bundle(), build.unit
    with private_run(Loadable(bundle.manifest, bundle.object)) as run:
        found = search(fuzzed, run, packets, seed, seconds)
    if not found.packets:
        return False, "nothing was tried: the time was over before the first packet"
    if found.scenario is None or found.meeting is None:
        if idle := fuzzed.coverage.idle():
            raise Refused([idle])
        return True, summary(found, fuzzed.coverage)
    differences, text = disagreement(fuzzed, found.scenario, found.meeting)
    lines = [f"{who(found.meeting)} (seed {seed}, {found.packets:,} packets):"]
    lines += [f"  {line}" for line in differences]
    return False, "\n".join([*lines, "", "# as a packet test:", text])
