"""Commands of `helioc` that run packets: test, decode, replay, fuzz."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from .command import Finite
from .pipeline_file import FILE, checked

if TYPE_CHECKING:
    from ..compiler.decoding.replay import Replayed
    from ..compiler.lower.unit import Join, Target

CAPTURE = click.argument("capture", type=click.Path(path_type=Path, dir_okay=False))


# ---- test -----------------------------------------------------------------------------------


@click.command()
@FILE
@click.option("--tests", type=click.Path(path_type=Path), help="Default: NAME.test.yaml beside it.")
@click.option(
    "--on",
    type=click.Choice(["both", "interpreter", "kernel"]),
    help="Default: the interpreter, and the kernel where it may.",
)
@click.option("-v", "--verbose", is_flag=True, help="List the tests that hold, too.")
@click.option("--coverage", is_flag=True, help="List what no packet of the tests came to.")
def test(file: Path, tests: Path | None, on: str | None, verbose: bool, coverage: bool) -> None:
    """Run a pipeline's packet tests, on the interpreter and on the kernel; both must agree."""
    from ..compiler.driver import fitting
    from ..compiler.manifest import manifest_of
    from ..compiler.packettests.cases import read_tests
    from ..lang.syntax.parser import read
    from .packet_runs import run_packet_tests

    if coverage and on == "kernel":
        raise click.UsageError("--coverage asks the interpreter: leave out --on=kernel")
    pipeline = checked(file, lowered=True)
    source = read(tests or file.with_suffix(".test.yaml"))
    cases = read_tests(pipeline, manifest_of(pipeline, fitting(pipeline)), source)
    if not run_packet_tests(pipeline, cases, on, verbose, click.echo, coverage):
        raise click.exceptions.Exit(1)


# ---- decode ---------------------------------------------------------------------------------


@click.command()
@FILE
@CAPTURE
@click.option("--role", help="Port role that the packets arrive on; default: the first.")
@click.option("--kernel", is_flag=True, help="Ask the generated parser, in place of the reference.")
@click.option("--tree/--json", "as_tree", help="For people, or (the default) an object a line.")
def decode(file: Path, capture: Path, role: str | None, kernel: bool, as_tree: bool) -> None:
    """Tell what the pipeline's parser makes of each packet of a pcap or pcapng file, gzip or not;
    `-` is standard input. Linux cooked and raw IP packets get an Ethernet header."""
    from ..compiler.captures.reading import read_capture
    from .packet_runs import decoder

    pipeline = checked(file)
    with decoder(pipeline, role, kernel) as asked:
        for packet in read_capture(capture):
            decoded = asked.decode(packet)
            click.echo(decoded.to_tree() if as_tree else decoded.to_json())


# ---- replay ---------------------------------------------------------------------------------


@click.command()
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
    hops are all known, each with the MAC address 02:00 and the last four bytes of its address;
    ports have an MTU of 1500, the MAC address 02:00:00:00:00:N, and answer by ICMP from 192.0.0.8
    (RFC 7600) and 2001:db8::N, N their number. States age by the capture's clock. Captures are read
    as by `decode`.

    --kernel runs the compiled programs on the same frames (14 to 3,400 bytes), under the same
    rules and by the same clock, and fails where verdict, egress, queue, packet or counters differ.
    Nothing is attached."""
    from ..compiler.captures.reading import STANDARD_INPUT
    from ..compiler.driver import fitting
    from ..compiler.manifest import manifest_of
    from ..lang.text.atomic_write import refuse_over
    from .replay import beside_kernel, prepare_replay, replay_capture

    if write is not None:
        read = None if capture == STANDARD_INPUT else capture
        refuse_over(write, (read, file, rules, edge, around))
    pipeline = checked(file, lowered=True)
    manifest = manifest_of(pipeline, fitting(pipeline))
    prepared = prepare_replay(pipeline, manifest, rules, edge, around, port, local)

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


@click.command()
@FILE
@click.option("--packets", type=click.IntRange(1), default=5000, show_default=True)
@click.option("--seed", type=int, default=0, help="The same seed gives the same packets.")
@click.option(
    "--time", "seconds", type=Finite(0, min_open=True), help="Stop after so many seconds."
)
@click.option("--fuse", is_flag=True, help="Run what `compile --fuse` makes.")
@click.option(
    "--target",
    type=click.Choice(["host", "tc"]),
    help="Programs for XDP, or for tc; default: tc where all roles are there.",
)
def fuzz(
    file: Path, packets: int, seed: int, seconds: float | None, fuse: bool, target: Target | None
) -> None:
    """Hold interpreter and kernel against each other, on packets and rules that nobody wrote.

    Both are held against the intermediate representation as well, so that a failure says which half
    of the compiler is wrong. It is made as small as it goes, and printed as a packet test."""
    from .packet_runs import fuzz_pipeline

    join: Join = "fused" if fuse else "staged"
    well, report = fuzz_pipeline(checked(file, lowered=True), packets, seed, seconds, join, target)
    click.echo(report)
    if not well:
        raise click.exceptions.Exit(1)


COMMANDS = (test, decode, replay, fuzz)
