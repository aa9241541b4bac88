"""The commands `load`, `upgrade`, `unload` and `list`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ..lang.text.diagnostics import Diagnostic, Refused
from .output import PATH, complain, say_json
from .shadow import Duration, given_options, shadow_options, shadow_run

if TYPE_CHECKING:
    from ..runtime.loading.bundle import Bundle
    from .control import LoadedNow
    from .target import Target

TWIN = "host"  # the folder of the host's programs in a card's bundle
_NO_CARD = "H0754"


@click.command()
@click.argument("bundle", required=False, type=PATH)
@click.option("--config", "config_path", type=PATH, help="The edge's YAML.")
@click.option("--offload", is_flag=True, help="Onto the network card that the ports are of.")
@click.option("--replace", is_flag=True, help="With --offload: in place of what is there.")
@click.option("--or-host", is_flag=True, help="Where there is none, load the host twin.")
@click.option("--shadow", is_flag=True, help="Beside what is in force, which stays; see below.")
@click.option("--for", "seconds", type=Duration(), help="With --shadow: so long; 60s, 5m.")
@shadow_options
@click.pass_context
def load(
    context: click.Context,
    /,
    bundle: Path | None,
    config_path: Path | None,
    offload: bool,
    replace: bool,
    or_host: bool,
    shadow: bool,
    seconds: float | None,
    **words: Any,
) -> None:
    """Load BUNDLE (or the one that the YAML names) and attach it to the edge's interfaces.

    Frames to other hosts' MAC addresses are for the interface's filter to keep out.

    With --shadow, BUNDLE runs beside the pipeline in force on frames of its traffic, changes
    nothing, and in the end (Ctrl-C, or --for) prints what it would have done. --mapping,
    --filter, --port, --sample, --rate and --json are of that (docs/shadow.md)."""
    target: Target = context.obj
    if shadow:
        if bundle is None or config_path or offload or replace or or_host:
            raise click.UsageError(
                "`load --shadow` takes a BUNDLE, and has ports and rules of the pipeline in force"
            )
        shadow_run(target, _host_bundle(bundle), words, seconds)
        return
    of_shadow = [*given_options(context), *["--for"] * bool(seconds)]
    of_shadow += ["--mapping"] * bool(words["mapping"])
    if of_shadow:
        raise click.UsageError(f"{', '.join(of_shadow)}: only with `--shadow`")
    if config_path is None:
        raise click.UsageError("Missing option '--config'.")
    _load(target, bundle, config_path, offload, replace, or_host)


def _load(
    target: Target, bundle: Path | None, config_path: Path, offload: bool, replace: bool,
    or_host: bool,
) -> None:  # fmt: skip
    directory = bundle or _bundle_of(config_path)
    if directory is None:
        raise _no_bundle()
    if offload:
        if replace:
            click.echo(f"replaced the programs of {_replace_on_card(target, directory)}")
            return
        now, where = _load_onto_card(target, directory, config_path, or_host)
    else:
        found, where = _host_bundle(directory), ""
        with target.open() as control:
            now = control.load(found, config_path)
    if now.warnings:
        complain(list(now.warnings))
    ports = ", ".join(f"{name} ({role}: {interface})" for name, role, interface in now.ports)
    click.echo(f"loaded {now.name}{where} on {ports}; {now.rules:,} rules")


def _load_onto_card(
    target: Target, directory: Path, config: Path, or_host: bool
) -> tuple[LoadedNow, str]:
    """The result of the load, and in words where it runs. Raises `Refused`."""
    from ..runtime.loading.bundle import read_bundle

    bundle = _card_bundle(directory)
    try:
        with target.open() as control:
            return control.load(bundle, config), " (in the card)"
    except Refused as failed:
        if not or_host or any(d.code != _NO_CARD for d in failed.diagnostics):
            raise
        why = failed.diagnostics[0].title
    twin = read_bundle(directory / TWIN)
    with target.open() as control:
        return control.load(twin, config), f" (on the host: {why})"


def _replace_on_card(target: Target, directory: Path) -> str:
    """Replace the running programs by a bundle's; the pipeline's name. Raises `Refused`."""
    bundle = _card_bundle(directory)
    with target.open() as control:
        return control.upgrade(bundle, None, None, False).name


def _bundle_of(config: Path) -> Path | None:
    """That which the edge's YAML names."""
    from ..runtime.base.files import read_source
    from ..runtime.edge.read_config import bundle_of

    return bundle_of(read_source(config))


def _host_bundle(directory: Path) -> Bundle:
    """Raises `Refused` where it is for a card."""
    from ..runtime.base.errors import refused
    from ..runtime.loading.bundle import read_bundle
    from ..runtime.loading.card_errors import for_a_card

    bundle = read_bundle(directory)
    if bundle.manifest.target != "host":
        raise refused(for_a_card(str(directory)))
    return bundle


def _card_bundle(directory: Path) -> Bundle:
    """Raises `Refused` where it is not for a card."""
    from ..runtime.base.errors import refused
    from ..runtime.loading.bundle import read_bundle

    bundle = read_bundle(directory)
    if bundle.manifest.target == "host":
        raise refused(_not_for_a_card(str(directory)))
    return bundle


@click.command()
@click.argument("bundle", required=False, type=PATH)
@click.option("--config", type=PATH, help="Another YAML of the edge: its settings, and its ports.")
@click.option("--dry-run", is_flag=True, help="Show the difference; change nothing.")
@click.option("--shadow", "seconds", type=Duration(), help="First run it beside for so long: 60s.")
@click.option(
    "--allow",
    multiple=True,
    metavar="DIFFERENCE",
    help="With --shadow: what packets may meet otherwise; 'drop -> redirect', 'PDR 7'.",
)
@shadow_options
@click.pass_context
def upgrade(
    context: click.Context,
    /,
    bundle: Path | None,
    config: Path | None,
    dry_run: bool,
    seconds: float | None,
    allow: tuple[str, ...],
    **words: Any,
) -> None:
    """Replace the running build of a pipeline by BUNDLE, with no packet lost.

    Rules stay with what they counted. Ports and settings are those of the load, or of --config:
    then BUNDLE may be left out, and the build stays, or is the one that the YAML names. Where the
    new build has no place for something that is in force, nothing is changed and the difference
    shown; a --mapping file says then what becomes of it (docs/upgrades.md).

    With --shadow it goes on only if BUNDLE did the same as what is in force with frames of its
    traffic, but for what --allow names (docs/shadow.md)."""
    target: Target = context.obj
    if bundle is None and config is None:
        raise click.UsageError("what to upgrade to is missing: BUNDLE, --config, or both")
    directory = bundle or (_bundle_of(config) if config is not None else None)
    found = _host_bundle(directory) if directory is not None else None
    if seconds is not None:
        _try_first(target, found if config is None else None, seconds, allow, words)
    elif of_shadow := [*given_options(context), *["--allow"] * bool(allow)]:
        raise click.UsageError(f"{', '.join(of_shadow)}: only with `--shadow`")
    with target.open() as control:
        now = control.upgrade(found, words["mapping"], config, dry_run)
    if now.warnings:
        complain(list(now.warnings))
    if now.difference:
        click.echo(now.difference + "\n")
    if dry_run:
        click.echo("nothing was changed")
    else:
        click.echo(f"upgraded {now.name}: {now.rules:,} rules, {now.rewritten:,} of them written "
                   "anew")  # fmt: skip


def _try_first(
    target: Target, bundle: Bundle | None, seconds: float, allow: tuple[str, ...],
    words: dict[str, Any],
) -> None:  # fmt: skip
    """In the shadow. Raises `Refused` where the upgrade must not go on."""
    from ..runtime.shadow.errors import need_named

    if bundle is None:
        raise click.UsageError(
            "`--shadow` takes a BUNDLE, and has the ports of the pipeline in force: another "
            "`--config` is for an upgrade of its own"
        )
    need_named(shadow_run(target, bundle, words, seconds, allow), allow)


@click.command()
@click.pass_obj
def unload(target: Target) -> None:
    """Detach a pipeline and remove it with its rules."""
    with target.open() as control:
        click.echo(f"unloaded {control.unload()}")


@click.command(name="list")
@click.option("--json", "as_json", is_flag=True, help="As JSON.")
@click.pass_obj
def list_(target: Target, as_json: bool) -> None:
    """The pipelines that are loaded; on standard error, what is wrong with the agent."""
    from dataclasses import replace

    from ..runtime.observe.status import health

    with replace(target, name="").open() as control:
        names, left = control.names()
        views = control.status().pipelines if as_json else ()
        complain(control.findings())
    if as_json:
        known = {view.name: health(view) for view in views}
        say_json([
            {"name": name, "whole": name in names, "health": known.get(name)}
            for name in [*names, *left]
        ])  # fmt: skip
    else:
        lines = [f"{name} (not whole: being loaded, or left by a load that was killed; "
                 f"`helioctl --name {name} unload` removes it)" for name in left]  # fmt: skip
        click.echo("\n".join([*names, *lines]) or "no pipeline is loaded")


COMMANDS = (load, upgrade, unload, list_)


# ---- errors ---------------------------------------------------------------------------------


def _not_for_a_card(path: str) -> Diagnostic:
    return Diagnostic(
        "H0751", f"the bundle in `{path}` is not for a card", (),
        "compile it with `--target nfp`, or load it without `--offload`",
    )  # fmt: skip


def _no_bundle() -> Refused:
    from ..runtime.base.errors import no_bundle, refused

    why = "none is named: give it to `load`, or as `bundle:` in the YAML"
    return refused(no_bundle(Path("…"), why))
