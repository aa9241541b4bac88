"""`helioc compile`: a bundle of a file, and what its programs and tables cost."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import click

from ..compiler.bundle import (
    building,
    compile_for_card,
    compile_pipeline,
    usual_target,
    write_bundle,
)
from ..compiler.check.resolve import load_file
from ..compiler.driver import lowered, read_pipeline, run
from ..lang.text.diagnostics import Diagnostics
from ..lang.text.exit_status import account
from .command import complain
from .cost_tables import card_table, memory_table, parts_of_stages, program_table
from .files import make_directory, write_skeleton
from .kept_builds import Kept, KeptBuilds, kept_builds, objects_kept
from .loading import TWIN
from .pipeline_file import checked

if TYPE_CHECKING:
    from ..compiler.lower.unit import Join, Target
    from ..compiler.model import Pipeline
    from ..lang.text.source import Span
    from ..runtime.kernel.program_stats import ObjectStats


class Options(NamedTuple):
    """Of a build: all but `cached` decide what it gives. `without`: passes that are left out."""

    join: Join
    traced: bool
    without: frozenset[str]
    cached: bool
    target: Target | None = None


def compile_bundle(file: Path, out: Path | None, options: Options, skeleton: bool) -> None:
    """Raises `Refused`."""
    decisive = options.join, options.traced, sorted(options.without), options.target
    with kept_builds(file, decisive) if options.cached else nullcontext() as kept:
        if again := _again(kept):
            made, measured, span = again
            click.echo(made.said, err=True, nl=False)
        else:
            made, measured, span = _anew(file, out, options, kept)
    directory = out or Path(f"{made.bundle.manifest.pipeline}.bundle")
    make_directory(directory)
    written = write_bundle(made.bundle, directory)
    if skeleton:
        written.append(write_skeleton(made.bundle, directory))
    at_tc = _measure(made.bundle.tc) if made.bundle.tc else None
    click.echo(program_table(made.bundle, measured, at_tc, span))
    click.echo(made.lines, nl=False)
    if tables := memory_table(made.bundle.manifest, measured.maps):
        click.echo(f"\n{tables}")
    click.echo(f"wrote {', '.join(str(path) for path in written)}")


def _measure(data: bytes) -> ObjectStats:
    """What the programs of an object cost."""
    from ..runtime.kernel.program_stats import measure_object

    return measure_object(data)


def _again(kept: KeptBuilds | None) -> tuple[Kept, ObjectStats, Span | None] | None:
    """What was built before, if this kernel takes it."""
    if kept is None or (made := kept.found()) is None:
        return None
    measured = _measure(made.bundle.object)
    return None if measured.refused else (made, measured, None)


def _anew(
    file: Path, out: Path | None, options: Options, kept: KeptBuilds | None
) -> tuple[Kept, ObjectStats, Span | None]:
    """Raises `Refused`."""
    found = Diagnostics()
    pipeline = read_pipeline(file, found, kept.load if kept else load_file)
    complain(found.found, "helioc")
    with building(pipeline, options.join, options.traced, options.without, options.target) as build:
        make_directory(out or Path(f"{pipeline.name}.bundle"))
        measured = _measure(build.object())
        bundle = build.bundle()
    complain(bundle.warnings, "helioc")
    said = [*found.found, *bundle.warnings]
    lines = () if options.join == "fused" else parts_of_stages(pipeline)
    made = Kept(bundle, account(said, "helioc") if said else "", "".join(f"{x}\n" for x in lines))
    if kept:
        kept.keep(pipeline.span.source.text, made)
    return made, measured, pipeline.span


def tables_of(pipeline: Pipeline) -> str:
    """What a load takes of the kernel's memory, a line a table; nothing is loaded. Raises
    `Refused`."""
    from ..runtime.kernel.handles import Object

    with objects_kept():
        bundle = compile_pipeline(pipeline)
    with Object.open(bundle.object) as opened:
        return memory_table(bundle.manifest, opened.map_specs())


def compile_card(file: Path, out: Path | None, traced: bool, cached: bool) -> None:
    """The card's programs, and the host's beside them. Raises `Refused`."""
    pipeline = checked(file, lowered=True)
    directory = out or Path(f"{pipeline.name}.bundle")
    make_directory(directory)
    with objects_kept() if cached else nullcontext():
        card, twin = compile_for_card(pipeline), compile_pipeline(pipeline, traced=traced)
    complain(twin.warnings, "helioc")
    written = write_bundle(card, directory) + write_bundle(twin, directory / TWIN)
    click.echo(card_table(card, pipeline))
    click.echo(f"wrote {', '.join(str(path) for path in written)}")


def print_ir(
    pipeline: Pipeline, join: Join, target: Target | None, last: str, without: frozenset[str]
) -> None:
    """As it is behind the pass `last`, or `lower`."""
    from ..compiler.ir.printer import print_unit

    unit = lowered(pipeline, join, target=target or usual_target(pipeline))
    if last != "lower":
        unit = run(pipeline, unit, without=without, stop_after=last)
    click.echo(print_unit(unit), nl=False)
