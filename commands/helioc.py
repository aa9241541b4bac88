"""`helioc`: check, compile, fmt, graph, doc, test, decode, replay, fuzz, explain.

Exit status: 0 well, 1 the input is refused or a test failed, 2 the command line is wrong, 70 a
fault of helioc itself, 130 interrupted, 129 and 143 ended by SIGHUP and SIGTERM, 141 nobody reads
any more. Each command imports what it
needs when it runs: `check` must feel instant.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import click

from ..lang.text.command import Finite, complain, run
from ..lang.text.stopping import stop_in_order
from .explain import explain

if TYPE_CHECKING:
    from ..compiler.decoding.replay import Replayed
    from ..compiler.lower.unit import Join, Target
    from ..compiler.model import Pipeline

TWIN = "host"  # where the host's programs lie in a card's bundle
FILE = click.argument("file", type=click.Path(path_type=Path))
#: The compiler's passes (compiler/driver.py), and those of them that may be left out.
STEPS = (
    "edit_packets", "trace_points", "spill", "place_state", "simplify", "drop_unused",
    "merge_functions", "share_blocks", "lay_out_state",
)  # fmt: skip
OPTIONAL = {
    "simplify": "Do not compute what is known before clang does.",
    "drop_unused": "Keep what the parser finds and nobody reads.",
    "merge_functions": "Keep functions apart that do the same.",
    "share_blocks": "Write blocks that do the same each time.",
}
CAPTURE = click.argument("capture", type=click.Path(path_type=Path, dir_okay=False))


def main() -> NoReturn:
    """Entry point."""
    stop_in_order()
    run(cli, "helioc")


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="helioc")
def cli() -> None:
    """The compiler of Helio, a language for network functions in eBPF/XDP."""


def left_out(command: Callable[..., None]) -> Callable[..., None]:
    """With an option for each pass that may be left out."""
    for name, help_ in reversed(OPTIONAL.items()):
        option = f"--no-{name.replace('_', '-')}"
        command = click.option(option, name, is_flag=True, help=help_)(command)
    return command


# ---- check ----------------------------------------------------------------------------------


@cli.command()
@FILE
def check(file: Path) -> None:
    """Say what is wrong with a pipeline. What passes loads."""
    pipeline = checked(file)
    counts = (
        (len(pipeline.graph.nodes), "node"),
        (len(pipeline.rules), "rule kind"),
        (len(pipeline.stages) + 1, "stage"),
    )
    said = ", ".join(f"{n} {what}{'s' * (n != 1)}" for n, what in counts)
    click.echo(f"{file}: ok ({said})")


def checked(file: Path, lowered: bool = False) -> Pipeline:
    """The file's pipeline; warnings are printed, errors raised. `lowered`: it is lowered next,
    which says what no kernel takes."""
    from ..compiler.driver import check_file, read_pipeline
    from ..lang.text.diagnostics import Diagnostics

    found = Diagnostics()
    pipeline = read_pipeline(file, found) if lowered else check_file(file, found)
    complain(found.found, "helioc")
    return pipeline


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
    type=click.Choice(["host", "nfp"]),
    default="host",
    show_default=True,
    help="nfp: for a Netronome NIC; the host's twin goes into host/ beside it.",
)
@click.option("--print", "shown", type=click.Choice(["ir"]),
              help="Print the intermediate representation, and build nothing.")  # fmt: skip
@click.option("--stop-after", "last", type=click.Choice(["lower", *STEPS]),
              help="With --print: as it is behind this pass.")  # fmt: skip
@left_out
def compile(
    file: Path,
    out: Path | None,
    fuse: bool,
    skeleton: bool,
    traced: bool,
    target: Target,
    shown: str | None,
    last: str | None,
    **left: bool,
) -> None:
    """Write C, object and manifest; print what each stage costs, and each table's memory."""
    from ..compiler.driver import building, compile_for_card, compile_pipeline, write_bundle
    from .report import card_table, make_directory, memory_table, program_table, write_skeleton

    without = frozenset(name for name, wanted in left.items() if wanted)
    if last and not shown:
        raise click.UsageError("--stop-after is for --print ir")
    pipeline = checked(file, lowered=True)
    if shown:
        print_ir(pipeline, "fused" if fuse else "staged", target, last, without)
        return
    directory = out or Path(f"{pipeline.name}.bundle")
    if target == "nfp":
        if fuse or skeleton:
            raise click.UsageError("--fuse and --skeleton are for programs of the host")
        make_directory(directory)
        card, twin = compile_for_card(pipeline), compile_pipeline(pipeline, traced=traced)
        complain(twin.warnings, "helioc")
        written = write_bundle(card, directory) + write_bundle(twin, directory / TWIN)
        click.echo(card_table(card, pipeline))
        click.echo(f"wrote {', '.join(str(path) for path in written)}")
        return
    with building(pipeline, "fused" if fuse else "staged", traced, without) as build:
        from ..runtime.kernel.figures import figures

        make_directory(directory)
        measured = figures(build.object())
        bundle = build.bundle()
    complain(bundle.warnings, "helioc")
    written = write_bundle(bundle, directory)
    if skeleton:
        written.append(write_skeleton(bundle, directory))
    click.echo(program_table(bundle, measured, pipeline.span))
    click.echo(memory_table(bundle, measured), nl=bool(measured.maps))
    click.echo(f"wrote {', '.join(str(path) for path in written)}")


def print_ir(
    pipeline: Pipeline, join: Join, target: Target, last: str | None, without: frozenset[str]
) -> None:
    from ..compiler.driver import lowered, run
    from ..compiler.ir.printer import print_unit

    unit = lowered(pipeline, join, target=target)
    if last != "lower":
        unit = run(pipeline, unit, without=without, stop_after=last or STEPS[-1])
    click.echo(print_unit(unit), nl=False)


# ---- fmt ------------------------------------------------------------------------------------


@cli.command()
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--check", "only_check", is_flag=True, help="Change nothing; fail if it would.")
def fmt(files: tuple[Path, ...], only_check: bool) -> None:
    """Write files in their canonical form."""
    from ..lang.syntax.parser import parse, read
    from ..lang.syntax.printer import format_program
    from .report import write

    changed = []
    for file in files:
        source = read(file)
        text = format_program(parse(source))
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
    from ..lang.text.writing import refuse_over
    from .report import to_svg, write

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
    from ..lang.text.writing import refuse_over
    from .report import write_page

    if out is not None:
        refuse_over(out, (file,))
    text, written = write_page(checked(file, lowered=True), out)
    click.echo(text if out is None else f"wrote {', '.join(map(str, written))}", nl=out is not None)


# ---- test -----------------------------------------------------------------------------------


@cli.command()
@FILE
@click.option("--tests", type=click.Path(path_type=Path), help="Default: NAME.test.yaml beside it.")
@click.option(
    "--on",
    type=click.Choice(["both", "interpreter", "kernel"]),
    help="Default: the interpreter, and the kernel where it may.",
)
@click.option("-v", "--verbose", is_flag=True, help="List the tests that hold, too.")
def test(file: Path, tests: Path | None, on: str | None, verbose: bool) -> None:
    """Run a pipeline's packet tests, on the interpreter and on the kernel; both must agree."""
    from ..compiler.driver import lower_pipeline, manifest_of
    from ..compiler.packettests.cases import read_tests
    from ..lang.syntax.parser import read
    from .report import run_packet_tests

    pipeline = checked(file, lowered=True)
    source = read(tests or file.with_suffix(".test.yaml"))
    cases = read_tests(pipeline, manifest_of(pipeline, lower_pipeline(pipeline)), source)
    if not run_packet_tests(pipeline, cases, on, verbose, click.echo):
        raise click.exceptions.Exit(1)


# ---- decode ---------------------------------------------------------------------------------


@cli.command()
@FILE
@CAPTURE
@click.option("--role", help="Port role that the packets arrive on; default: the first.")
@click.option("--kernel", is_flag=True, help="Ask the generated parser, in place of the reference.")
@click.option("--tree/--json", "as_tree", help="For people, or (the default) an object a line.")
def decode(file: Path, capture: Path, role: str | None, kernel: bool, as_tree: bool) -> None:
    """Tell what the pipeline's parser makes of each packet of a pcap or pcapng file, gzip or not;
    `-` is standard input. Linux cooked and raw IP packets get an Ethernet header."""
    from ..compiler.captures.reading import read_capture
    from .report import decoder

    pipeline = checked(file)
    with decoder(pipeline, role, kernel) as asked:
        for packet in read_capture(capture):
            decoded = asked.decode(packet)
            click.echo(decoded.to_tree() if as_tree else decoded.to_json())


# ---- replay ---------------------------------------------------------------------------------


@cli.command()
@FILE
@CAPTURE
@click.option("--rules", type=click.Path(path_type=Path), help="Requests: text, YAML or CSV.")
@click.option("--edge", type=click.Path(path_type=Path), help="The edge's YAML: ports, rules.")
@click.option("--ports", "around", type=click.Path(path_type=Path),
              help="YAML as of packet tests: ports, neighbours, local, default.")  # fmt: skip
@click.option("--port", help="Port that the packets come by; default: the first.")
@click.option("--local", multiple=True, metavar="ADDRESS", help="An address of the host.")
@click.option(
    "--write",
    type=click.Path(path_type=Path),
    help="Pcap of what leaves or passes; put there when whole.",
)
@click.option("--trace", is_flag=True, help="Tell what each packet meets on its way.")
@click.option("--kernel", is_flag=True, help="Run each packet on the kernel, too, and compare.")
@click.option("--json", "as_json", is_flag=True, help="An object a line.")
def replay(
    file: Path,
    capture: Path,
    rules: Path | None,
    edge: Path | None,
    around: Path | None,
    port: str | None,
    local: tuple[str, ...],
    write: Path | None,
    trace: bool,
    kernel: bool,
    as_json: bool,
) -> None:
    """Tell what becomes of each packet of a capture, on the interpreter, and by --kernel on both.

    Without --edge and --ports there is a port of each role, of that name. Where a pcapng file names
    the interface of a port, packets come by that one. Assumed, where --ports does not say: next
    hops are all known, each with the MAC address 02:00 and the last four octets of its address;
    ports have an MTU of 1500, the MAC address 02:00:00:00:00:N, and answer by ICMP from 192.0.0.8
    (RFC 7600) and 2001:db8::N, N their number. States age by the capture's clock. Captures are read
    as by `decode`.

    --kernel runs the compiled programs on the same frames (14 to 3,400 bytes), under the same
    rules, and fails where verdict, egress, queue, packet or counters differ. Nothing is attached.
    Then states age by the kernel's clock, and ICMP errors have no limit."""
    from ..compiler.captures.reading import STANDARD_INPUT
    from ..lang.text.writing import refuse_over
    from .replaying import beside_kernel, prepare_replay, replay_capture

    if write is not None:
        read = None if capture == STANDARD_INPUT else capture
        refuse_over(write, (read, file, rules, edge, around))
    prepared = prepare_replay(checked(file, lowered=True), rules, edge, around, port, local, kernel)

    def say(replayed: Replayed) -> None:
        if trace and (way := replayed.trace):
            text = prepared.traces(sys.stdout.isatty() and not as_json)
            number = replayed.packet.number
            title = f"packet {number}"
            click.echo(text.to_json(way, number=number) if as_json else text.text(way, title))
            if not as_json:
                click.echo("".join(f"{line}\n" for line in replayed.kernel_lines), nl=False)
        else:
            click.echo(replayed.to_json() if as_json else replayed.to_text())

    if not kernel:
        replay_capture(prepared, capture, write, say)
        return
    with beside_kernel(prepared) as comparison:
        replay_capture(prepared, capture, write, say, comparison)
    click.echo(comparison.summary(), err=as_json)
    if not comparison.agree:
        raise click.exceptions.Exit(1)


# ---- fuzz -----------------------------------------------------------------------------------


@cli.command()
@FILE
@click.option("--packets", type=click.IntRange(1), default=5000, show_default=True)
@click.option("--seed", type=int, default=0, help="The same seed gives the same packets.")
@click.option(
    "--time", "seconds", type=Finite(0, min_open=True), help="Stop after so many seconds."
)
@click.option("--fuse", is_flag=True, help="Run what `compile --fuse` makes.")
def fuzz(file: Path, packets: int, seed: int, seconds: float | None, fuse: bool) -> None:
    """Hold interpreter and kernel against each other, on packets and rules that nobody wrote.

    A failure is made as small as it goes, and printed as a packet test."""
    from .report import fuzz_pipeline

    join: Join = "fused" if fuse else "staged"
    well, said = fuzz_pipeline(checked(file, lowered=True), packets, seed, seconds, join)
    click.echo(said)
    if not well:
        raise click.exceptions.Exit(1)


cli.add_command(explain)


if __name__ == "__main__":
    main()
