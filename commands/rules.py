"""The commands `create`, `update`, `delete`, `replace`, `push` and `pack`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from .output import PATH, complain

if TYPE_CHECKING:
    from ..runtime.base.outcome import Outcome
    from .target import Target


def _request(operation: str, help_: str) -> click.Command:
    @click.argument("request", nargs=-1, required=True)
    @click.pass_obj
    def command(target: Target, request: tuple[str, ...]) -> None:
        from ..lang.contract.request.request_parser import parse_request
        from ..lang.text.source import Source

        text = f"{operation} {' '.join(request)}"
        parsed = parse_request(Source("<command line>", text))
        with target.open() as control:
            _report(control.apply(parsed))

    context = {"ignore_unknown_options": True}
    return click.command(name=operation, help=help_, context_settings=context)(command)


@click.command()
@click.argument("file", type=PATH)
@click.option("--kind", default="", help="Whose rules a CSV holds; default: its file's name.")
@click.pass_obj
def push(target: Target, file: Path, kind: str) -> None:
    """Make the changes that FILE asks for, in one transaction.

    .req and .txt are text requests (- is standard input), .yaml the same in YAML, .csv and .hpr
    rules in bulk."""
    with target.open() as control:
        _report(control.push(file, kind))


@click.command()
@click.argument("bundle", type=PATH)
@click.argument("file", type=PATH)
@click.option("-o", "--out", type=PATH, help="Default: FILE with the ending .hpr.")
@click.option("--kind", default="", help="Whose rules FILE holds; default: its name.")
def pack(bundle: Path, file: Path, out: Path | None, kind: str) -> None:
    """Pack the rules of a CSV for BUNDLE into an .hpr file.

    Its cells are checked now, on any machine and without root, so that `push` need not read
    them, and whether rules in it are identical; what depends on the rules in force, `push` still
    checks."""
    from ..runtime.base.request_files import pack as packed
    from ..runtime.loading.bundle import read_bundle

    out = out or file.with_suffix(".hpr")
    columns = packed(file, out, read_bundle(bundle).manifest, kind)
    if columns.warnings:
        complain(list(columns.warnings))
    click.echo(f"packed {columns.count:,} rules of {columns.kind} into {out}")


def _report(outcome: Outcome) -> None:
    from ..runtime.rules.report import said_of

    if outcome.warnings:
        complain(list(outcome.warnings))
    created, count = outcome.created, outcome.created_count
    click.echo(said_of(created, count, outcome.changed_count, outcome.removed_count))


COMMANDS = (
    _request("create", "Create rules: helioctl create 'FAR 17 [(action, u8, DROP)]'."),
    _request("update", "Change rules: helioctl update 'FAR 17 [(interface, u32, GRE-WAN2)]'."),
    _request("delete", "Delete rules: helioctl delete 'FAR 17'."),
    _request("replace", "Make a kind exactly these rules: all others of it go."),
    push,
    pack,
)
