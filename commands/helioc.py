"""`helioc`: check, compile, fmt, graph, doc, test, decode, replay, fuzz, lsp, explain.

Exit status: 0 success, 1 the input is refused or a test failed, 2 the command line is wrong, 70 an
internal error, 130 interrupted, 129 and 143 ended by SIGHUP and SIGTERM, 141 the output's reader is
gone. Each command imports what it needs when it runs, so that `check` starts at once.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import click

from ..lang.text.stopping import stop_in_order
from . import packet_commands
from .command import run
from .explain import explain
from .pipeline_file import FILE, checked

if TYPE_CHECKING:
    from ..compiler.lower.unit import Join, Target

#: The compiler's passes (compiler/driver.py), and those of them that may be left out.
STEPS = (
    "join_checksums", "edit_packets", "trace_points", "spill", "place_state", "usual_path",
    "fold_constants", "simplify", "drop_unused", "merge_functions", "share_blocks",
    "lay_out_state", "join_parsers",
)  # fmt: skip
OPTIONAL = {
    "join_checksums": "Bring checksums up to date with each assignment.",
    "usual_path": "Parse all packets alike, those that most are, too.",
    "fold_constants": "Keep variables that always hold the same number, and tests of these.",
    "simplify": "Do not compute what is known before clang does.",
    "drop_unused": "Keep what the parser finds and nobody reads.",
    "merge_functions": "Keep functions apart that do the same.",
    "share_blocks": "Write blocks that do the same each time.",
    "join_parsers": "Write a parser for each port role.",
}


def main() -> NoReturn:
    """Entry point."""
    stop_in_order()
    run(cli, "helioc")


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="helioc")
def cli() -> None:
    """The compiler of Helio, a language for network functions in eBPF/XDP."""


def left_out(command: Callable[..., None]) -> Callable[..., None]:
    """Adds an option for each optional pass."""
    for name, help_ in reversed(OPTIONAL.items()):
        option = f"--no-{name.replace('_', '-')}"
        command = click.option(option, name, is_flag=True, help=help_)(command)
    return command


# ---- check ----------------------------------------------------------------------------------


@cli.command()
@FILE
@click.option(
    "--tables", is_flag=True, help="Also print the kernel memory of each table (by clang)."
)
def check(file: Path, tables: bool) -> None:
    """Say what is wrong with a pipeline. What passes loads."""
    pipeline = checked(file)
    counts = (
        (len(pipeline.graph.nodes), "node"),
        (len(pipeline.rules), "rule kind"),
        (len(pipeline.stages) + 1, "stage"),
    )
    summary = ", ".join(f"{n} {what}{'s' * (n != 1)}" for n, what in counts)
    click.echo(f"{file}: ok ({summary})")
    if tables:
        from .compiling import tables_of

        click.echo(tables_of(pipeline))


# ---- compile --------------------------------------------------------------------------------


@cli.command()
@FILE
@click.option("-o", "--out", type=click.Path(path_type=Path), help="Bundle; default NAME.bundle.")
@click.option("--fuse", is_flag=True, help="Join the stages into one program per port role.")
@click.option("--skeleton", is_flag=True, help="Also write NAME.skel.h (by bpftool).")
@click.option("--trace/--no-trace", "traced", default=True, show_default=True,
              help="With a traced build, which `helioctl trace` asks for.")  # fmt: skip
@click.option(
    "--target",
    type=click.Choice(["host", "tc", "nfp"]),
    help="host: for XDP, and for tc as well where roles are there. tc: SCHED_CLS programs alone. "
    "nfp: for a Netronome NIC; the host's twin goes into host/ beside it. Default: host, or tc "
    "where all roles are there.",
)
@click.option("--print", "shown", type=click.Choice(["ir"]),
              help="Print the intermediate representation, and build nothing.")  # fmt: skip
@click.option("--stop-after", "last", type=click.Choice(["lower", *STEPS]),
              help="With --print: as it is behind this pass.")  # fmt: skip
@click.option("--cache/--no-cache", "cached", default=True, show_default=True,
              help="What was built before comes from ~/.cache/helio.")  # fmt: skip
@left_out
def compile(
    file: Path,
    out: Path | None,
    fuse: bool,
    skeleton: bool,
    traced: bool,
    target: Target | None,
    shown: str | None,
    last: str | None,
    cached: bool,
    **left: bool,
) -> None:
    """Write C, object and manifest; print what each stage costs, and each table's memory."""
    from .compiling import Options, compile_bundle, compile_card, print_ir

    without = frozenset(name for name, leave in left.items() if leave)
    if last and not shown:
        raise click.UsageError("--stop-after is for --print ir")
    join: Join = "fused" if fuse else "staged"
    if shown:
        print_ir(checked(file, lowered=True), join, target, last or STEPS[-1], without)
    elif target == "nfp":
        if fuse or skeleton:
            raise click.UsageError("--fuse and --skeleton are for programs of the host")
        compile_card(file, out, traced, cached)
    else:
        compile_bundle(file, out, Options(join, traced, without, cached, target), skeleton)


# ---- fmt ------------------------------------------------------------------------------------


@cli.command()
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--check", "only_check", is_flag=True, help="Change nothing; fail if it would.")
@click.option(
    "--migrate",
    is_flag=True,
    help="Put brackets where operators bind otherwise than they did.",
)
def fmt(files: tuple[Path, ...], only_check: bool, migrate: bool) -> None:
    """Write files in their canonical form."""
    from ..lang.syntax.parser import parse, read
    from ..lang.syntax.printer import format_program
    from .files import write

    changed = []
    for file in files:
        source = read(file)
        text = format_program(parse(source, as_before=migrate))
        if text == source.text:
            continue
        changed.append(file)
        if not only_check:
            write(file, text)
    for file in changed:
        click.echo(f"{'would change' if only_check else 'changed'} {file}")
    if only_check and changed:
        raise click.exceptions.Exit(1)


# ---- graph ----------------------------------------------------------------------------------


@cli.command()
@FILE
@click.option("-o", "--out", type=click.Path(path_type=Path), help="File: .dot or .svg.")
def graph(file: Path, out: Path | None) -> None:
    """Draw the parse graph and the stages: DOT, or SVG where graphviz is there."""
    from ..compiler.model.parse_graph import to_dot
    from ..lang.text.atomic_write import refuse_over
    from .files import to_svg, write

    if out is not None and out.suffix not in (".dot", ".svg"):
        raise click.BadParameter(f"`{out}` must end with .dot or .svg", param_hint="-o")
    dot = to_dot(checked(file))
    if out is None:
        click.echo(dot, nl=False)
        return
    refuse_over(out, (file,))
    write(out, to_svg(dot) if out.suffix == ".svg" else dot)
    click.echo(f"wrote {out}")


# ---- doc ------------------------------------------------------------------------------------


@cli.command()
@FILE
@click.option("-o", "--out", type=click.Path(path_type=Path), help="File: .md or .html.")
def doc(file: Path, out: Path | None) -> None:
    """Write a page about a pipeline: ports, parse graph, elements, rules, stages, counters, limits.

    The parse graph is drawn where graphviz is there: in a page of HTML, or as NAME.svg beside
    NAME.md. Without --out, Markdown is printed."""
    from ..lang.text.atomic_write import refuse_over
    from .files import write_page

    if out is not None:
        refuse_over(out, (file,))
    text, written = write_page(checked(file, lowered=True), out)
    click.echo(text if out is None else f"wrote {', '.join(map(str, written))}", nl=out is not None)


# ---- lsp ------------------------------------------------------------------------------------


@cli.command()
def lsp() -> None:
    """Answer an editor by the Language Server Protocol, on standard input and output.

    Diagnostics, hover, completion, definition, references, rename and formatting. docs/editors.md
    has the settings for Neovim and VS Code."""
    from .files import language_server

    language_server().start_io()


for command in (*packet_commands.COMMANDS, explain):
    cli.add_command(command)


if __name__ == "__main__":
    main()
