"""Tables of what a bundle costs: programs, memory of tables, card instructions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from ..compiler.bundle import Bundle
from ..compiler.driver import in_programs
from ..compiler.model import Pipeline, Stage
from ..lang.text.diagnostics import Diagnostic, Label, Refused
from ..lang.text.source import Span

if TYPE_CHECKING:
    from ..lang.contract.manifest.manifest import Manifest
    from ..runtime.kernel.handles import MapSpec
    from ..runtime.kernel.program_stats import ObjectStats


def program_table(
    bundle: Bundle, measured: ObjectStats, at_tc: ObjectStats | None, span: Span | None
) -> str:
    """A line a program: instructions, what the verifier walked, its stack, its maps; of roles at
    tc those of the second object, `at_tc`. Raises `Refused` if the kernel does not take them."""
    from ..runtime.kernel.program_stats import ProgramStats

    manifest, both = bundle.manifest, at_tc is not None
    rows = [("stage", "role", *["at"] * both, "instructions", "verified", "stack", "maps")]
    for program in manifest.programs:
        at = manifest.attach_point(manifest.roles.index(program.role))
        of = measured if at_tc is None or at == "xdp" else at_tc
        f = of.programs.get(program.name, ProgramStats())
        cells = (f.instructions, f.verified, f.stack, f.maps)
        shown = ("-" if c is None else f"{c:,}" for c in cells)
        rows.append((program.stage, program.role, *[at] * both, *shown))
    lines = _columns(rows, 2 + both)
    for stats in (measured, at_tc) if at_tc else (measured,):
        if stats.refused:
            raise Refused([_verifier_refuses(span, stats.refused)])
    if measured.why_not:
        lines.append(f"(not loaded: {measured.why_not})")
    return "\n".join(lines)


def parts_of_stages(pipeline: Pipeline) -> Iterator[str]:
    """Where stages that are too much for one program were divided, a line each."""
    parts: dict[str, list[Stage]] = {}
    for stage in in_programs(pipeline, "staged").stages:
        if stage.part_of:
            parts.setdefault(stage.part_of, []).append(stage)
    for name, later in parts.items():
        places = ", ".join(f"{s.name} from line {s.span.line} on" for s in later)
        yield f"(stage {name} is too much for one program: {places})"


def memory_table(manifest: Manifest, maps: Mapping[str, MapSpec]) -> str:
    """A line a rule kind and state: the kernel memory of its maps on this machine. Empty where
    libbpf cannot be asked for them."""
    from ..runtime.base.errors import mebibytes
    from ..runtime.kernel.libbpf import possible_cpus
    from ..runtime.loading.table_memory import memory_of_tables

    if not maps:
        return ""
    cpus = possible_cpus()
    rows: list[tuple[str, ...]] = [("table", "", "capacity", "at load", "full", "bytes each")]
    tables = memory_of_tables(manifest, maps, cpus)
    for t in tables:
        sizes = mebibytes(t.at_load), mebibytes(t.full)
        each = (f"{t.capacity:,}", *sizes, f"{t.each:,}") if t.what else ("", *sizes, "")
        rows.append((t.name, t.what, *each))
    at_load, full = sum(t.at_load for t in tables), sum(t.full for t in tables)
    rows.append(("all", "", "", mebibytes(at_load), mebibytes(full), ""))
    machine = f"(kernel memory on a machine of {cpus} CPUs; full: with a key for each rule)"
    return "\n".join([*_columns(rows), machine])


def card_table(bundle: Bundle, pipeline: Pipeline) -> str:
    """A line a stage and role: card instructions as the kernel's driver will make them, or a few
    more; then what there is of each."""
    from ..compiler.nfp import limits
    from ..compiler.nfp.refusals import by_stage

    head = ("stage", "role", "card instructions", "stack", "bytes seen")
    rows: list[tuple[str, ...]] = [head]
    for program, report in zip(bundle.manifest.programs, bundle.reports, strict=True):
        for stage, count in by_stage(pipeline, report).items():
            rows.append((stage, program.role, f"{count:,}", "", ""))
        whole = (f"{report.instructions:,}", f"{report.stack:,}", f"{report.reach:,}")
        rows.append(("all", program.role, *whole))
    most = (f"{limits.INSTRUCTIONS:,}", f"{limits.STACK:,}", f"{limits.REACH:,}")
    return "\n".join(_columns([*rows, ("at most", "", *most)]))


def _columns(rows: list[tuple[str, ...]], left: int = 2) -> list[str]:
    """The first `left` flush left, the others flush right."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    return [
        "  ".join(
            cell.ljust(w) if i < left else cell.rjust(w)
            for i, (cell, w) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]


def _verifier_refuses(span: Span | None, words: str) -> Diagnostic:
    return Diagnostic(
        "H0304",
        "the kernel does not take this program",
        (Label(span, words),) if span else (),
        "what `helioc check` accepts must load: please report it with the pipeline and your kernel",
    )
