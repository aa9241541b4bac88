"""Backups of an agent's state: the commands `backup` and `restore`."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ..lang.text.diagnostics import Diagnostic
from .output import PATH, complain

if TYPE_CHECKING:
    from .target import Target


@click.command()
@click.argument("file", type=PATH)
@click.option("--for", "release", metavar="RELEASE", type=click.Choice(("format1", "0924e90")),
              help="A state directory, as heliod of 0924e90 has it (format1).")  # fmt: skip
@click.option("--from", "taken", type=PATH, help="Of a backup in place of the agent, with --for.")
@click.pass_obj
def backup(target: Target, file: Path, release: str | None, taken: Path | None) -> None:
    """Write everything that the agent keeps to FILE, which only its owner may read: pipelines,
    rules, revisions, idempotency keys, intents. Requests go on meanwhile (docs/backup.md)."""
    from ..runtime.journal.backup import copy, parts_of

    pass
    from ..runtime.journal.older import write

    if taken is not None and release is None:
        raise click.UsageError("--from is for --for")
    if taken is not None and release is not None:
        contents = write(parts_of(taken), file, release)
    else:
        with target.need_agent() as agent:
            parts = agent.backup()
            contents = write(parts, file, release) if release else copy(parts, file)
    if contents.left_out:
        complain([_left_out(contents.left_out)])
    names = ", ".join(f"{each.name} (revision {each.revision:,})" for each in contents.pipelines)
    size = sum(each.stat().st_size for each in ([*file.iterdir()] if release else [file]))
    click.echo(f"backed up {names or 'no pipeline'}: {file}, {size:,} bytes")


@click.command()
@click.argument("file", type=PATH)
@click.option("--replace", is_flag=True, help="Unload what the agent has, and forget its intents.")
@click.pass_obj
def restore(target: Target, file: Path, replace: bool) -> None:
    """Put what `backup` wrote to FILE into an agent that is empty (docs/backup.md)."""
    from ..runtime.journal.backup import check, parts_of
    from ..runtime.rpc.failures import diagnostic_of

    check(parts_of(file))  # so that a damaged one is found before it is sent
    with target.need_agent() as agent:
        reply = agent.restore(parts_of(file), replace)
    found = [diagnostic_of(each) for status in reply.pipelines for each in status.findings]
    if found:
        complain(found)
    for status in reply.pipelines:
        if any(each.code == "H0785" for each in status.findings):
            continue
        rules = sum(kind.rules for kind in status.kinds)
        click.echo(f"restored {status.pipeline}: {rules:,} rules, revision {status.revision:,}")
    click.echo(f"{reply.intents} intents")
    if any(each.severity == "error" for each in found):
        raise click.exceptions.Exit(1)


COMMANDS = (backup, restore)


# ---- errors ---------------------------------------------------------------------------------


def _left_out(names: Collection[str]) -> Diagnostic:
    some = ", ".join(f"`{name}`" for name in names)
    return Diagnostic("H0863", f"the backup does not have {some}: the journal does not either", (),
                      "the agent has no bundle of it: `helioctl upgrade` it to that (H0784)",
                      "warning")  # fmt: skip
