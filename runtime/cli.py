"""`helioctl`: load a pipeline, tell it rules, look at it, unload it.

Exit status: 0 well; 1 the input was refused, or the kernel refused; 2 the command line is wrong;
70 a fault of helioctl itself; 130 interrupted. Each command imports what it needs when it runs.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any, NoReturn

import click

from ..lang.diagnostics import Diagnostic

_PATH = click.Path(path_type=Path)


def main() -> NoReturn:
    """Entry point. Whatever happens, the user sees a diagnostic, not a traceback."""
    try:
        cli.main(prog_name="helioctl", standalone_mode=False)
        status = 0
    except click.exceptions.Exit as stop:
        status = stop.exit_code
    except click.ClickException as error:
        error.show()
        status = error.exit_code
    except click.Abort:
        status = 130
    except BaseException as error:
        from ..lang.ending import ending

        said, status = ending(error, "helioctl")
        click.echo(said, err=True, nl=False)
    sys.exit(status)


def complain(diagnostics: list[Diagnostic]) -> None:
    """Print diagnostics to standard error."""
    from ..lang.ending import account

    click.echo(account(diagnostics, "helioctl"), err=True, nl=False)


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="helioc")
@click.option("--name", default="", help="Which loaded pipeline; needed if there are several.")
@click.pass_context
def cli(context: click.Context, name: str) -> None:
    """Load Helio pipelines into the kernel, and tell them rules."""
    context.obj = name


def _json(value: Any) -> None:
    import json

    click.echo(json.dumps(value, indent=1))


# ---- load, unload ---------------------------------------------------------------------------


@cli.command()
@click.argument("bundle", required=False, type=_PATH)
@click.option("--config", "config_path", required=True, type=_PATH, help="The edge's YAML.")
@click.pass_obj
def load(name: str, bundle: Path | None, config_path: Path) -> None:
    """Load BUNDLE (or the one that the YAML names) and attach it to the edge's interfaces.

    Frames to other hosts' MAC addresses are for the interface's filter to keep out. A veth shows
    ICMP answers at once only where its other end runs a native XDP program."""
    from .attach import not_routing
    from .bundle import read_bundle
    from .edge_yaml import Host, bundle_of, read_config, read_source
    from .faults import no_bundle, refused
    from .loader import Loaded
    from .netlink import Netlink

    source = read_source(config_path)
    directory = bundle or bundle_of(source)
    if directory is None:
        why = "none is named: give it to `load`, or as `bundle:` in the YAML"
        raise refused(no_bundle(Path("…"), why))
    found = read_bundle(directory)
    with Netlink() as netlink:
        host = Host(tuple(netlink.links()), tuple(netlink.addresses()))
    config, warnings = read_config(source, found.manifest, host)
    if warnings.found:
        complain(warnings.found)
    with Loaded.load(found, config, name) as loaded:
        ports = ", ".join(
            f"{port.name} ({found.manifest.roles[port.role]}: {port.interface})"
            for port in loaded.ports
        )
        if found.manifest.forwards and (off := not_routing(loaded.ports, config.spans)):
            complain(off)
        click.echo(f"loaded {loaded.name} on {ports}; {len(loaded.book):,} rules")


@cli.command()
@click.pass_obj
def unload(name: str) -> None:
    """Detach a pipeline and remove it with its rules."""
    from .loader import unload as unload_
    from .releases import pick_to_remove

    name = pick_to_remove(name)
    unload_(name)
    click.echo(f"unloaded {name}")


@cli.command(name="list")
@click.option("--json", "as_json", is_flag=True, help="As JSON.")
def list_(as_json: bool) -> None:
    """The pipelines that are loaded."""
    from .releases import loaded_names, need_bpffs, remains

    names, left = loaded_names(), remains()
    if not names and not left:
        need_bpffs()
    if as_json:
        _json(names)
    else:
        lines = [f"{name} (not whole: being loaded, or left by a load that was killed; "
                 f"`helioctl --name {name} unload` removes it)" for name in left]  # fmt: skip
        click.echo("\n".join([*names, *lines]) or "no pipeline is loaded")


# ---- rules ----------------------------------------------------------------------------------


def _request(operation: str, help_: str) -> click.Command:
    @click.argument("request", nargs=-1, required=True)
    @click.pass_obj
    def command(name: str, request: tuple[str, ...]) -> None:
        from ..lang.request_parser import parse_request
        from ..lang.source import Source
        from .loader import Loaded

        text = f"{operation} {' '.join(request)}"
        parsed = parse_request(Source("<command line>", text))
        with Loaded.open(name) as loaded:
            _report(loaded.apply(parsed))

    context = {"ignore_unknown_options": True}
    return cli.command(name=operation, help=help_, context_settings=context)(command)


_request("create", "Create rules: helioctl create 'FAR 17 [(action, u8, DROP)]'.")
_request("update", "Change rules: helioctl update 'FAR 17 [(interface, u32, GRE-WAN2)]'.")
_request("delete", "Delete rules: helioctl delete 'FAR 17'.")
_request("replace", "Make these rules the only ones of their kind, or of this id.")


@cli.command()
@click.argument("file", type=_PATH)
@click.option("--kind", default="", help="Whose rules a CSV holds; default: its file's name.")
@click.pass_obj
def push(name: str, file: Path, kind: str) -> None:
    """Make the changes that FILE asks for, in one transaction.

    .req and .txt are text requests (- is standard input), .yaml the same in YAML, .csv and .hpr
    rules in bulk."""
    from .loader import Loaded
    from .requests import read_request

    with Loaded.open(name) as loaded:
        wanted = read_request(file, loaded.manifest, loaded.book, kind)
        _report(loaded.apply(wanted))


@cli.command()
@click.argument("bundle", type=_PATH)
@click.argument("file", type=_PATH)
@click.option("-o", "--out", type=_PATH, help="Default: FILE with the ending .hpr.")
@click.option("--kind", default="", help="Whose rules FILE holds; default: its name.")
def pack(bundle: Path, file: Path, out: Path | None, kind: str) -> None:
    """Pack the rules of a CSV for BUNDLE into an .hpr file.

    Its cells are checked now, on any machine and without root, so that `push` need not read
    them; what depends on the rules in force, it still checks."""
    from .bundle import read_bundle
    from .requests import pack as packed

    out = out or file.with_suffix(".hpr")
    columns = packed(file, out, read_bundle(bundle).manifest, kind)
    click.echo(f"packed {columns.count:,} rules of {columns.kind} into {out}")


def _report(plan: Any) -> None:
    from .report import said_of

    if plan.warnings:
        complain(list(plan.warnings))
    click.echo(said_of(plan.results, len(plan.changed), len(plan.removed)))


# ---- looking --------------------------------------------------------------------------------


@cli.command()
@click.argument("rule", nargs=-1)
@click.option("--json", "as_json", is_flag=True, help="As JSON.")
@click.pass_obj
def show(name: str, rule: tuple[str, ...], as_json: bool) -> None:
    """Rules in canonical text, with what they counted: all, or of a KIND, KIND ID, KIND NAME. Of a
    state table what packets left there."""
    from .faults import no_such_rule, refused
    from .reader import Reader
    from .report import chosen, entry_json, entry_rows, rule_json, rule_rows

    words = " ".join(rule)
    with Reader(name) as reader:
        state = next((s for s in reader.manifest.states if s.name.lower() == words.lower()), None)
        if state is not None:
            entries = reader.entries(state)
            if as_json:
                _json(entry_json(entries))
            else:
                click.echo(entry_rows(state, entries))
            return
        rules = reader.rules()
        book = reader.book(rules)
        shown = chosen(rules, words, book)
        if words and not shown and words.lower() not in {k.lower() for k in book.kinds}:
            states = [s.name for s in reader.manifest.states]
            raise refused(
                no_such_rule(words, [*book.kinds, *states, *(c.rule.name for c in rules)])
            )
        if as_json:
            _json(rule_json(shown, book))
        else:
            click.echo(rule_rows(shown, book))


@cli.command()
@click.option("--watch", is_flag=True, help="Again and again, with rates, until interrupted.")
@click.option("--interval", default=1.0, type=click.FloatRange(0.1, 3600), help="Seconds.")
@click.option("--json", "as_json", is_flag=True, help="As JSON.")
@click.pass_obj
def stats(name: str, watch: bool, interval: float, as_json: bool) -> None:
    """What happened to packets: events, and the counters of each rule."""
    import time

    from .reader import Reader
    from .report import statistics, statistics_json

    with Reader(name) as reader:
        if as_json and not watch:
            _json(statistics_json(reader))
            return
        before: dict[str, int] | None = None
        then = time.monotonic()
        while True:
            now = time.monotonic()
            if as_json:
                _json(statistics_json(reader))
            else:
                text, before = statistics(reader, before, now - then)
                then = now
                clear = "\x1b[H\x1b[2J" if watch and sys.stdout.isatty() else ""
                click.echo(f"{clear}{text}")
            if not watch:
                return
            sys.stdout.flush()
            time.sleep(interval)


@cli.command()
@click.pass_obj
def refresh(name: str) -> None:
    """Look again at interfaces, addresses, routes and neighbours, and bring rules up to date."""
    from .loader import Loaded

    with Loaded.open(name) as loaded:
        found = loaded.refresh()
    said = f"{found.rules} rule{'s' * (found.rules != 1)} got another next hop"
    click.echo(said if found.rules else "all next hops are as they were")
    for port in found.attached:
        click.echo(f"{port} is back and attached")
    for port in found.gone:
        click.echo(f"{port} is gone: its interface is not there", err=True)


@cli.command()
@click.argument("code", required=False)
def explain(code: str | None) -> None:
    """Tell what an error code means, with an example and its mend."""
    from ..compiler.explanations import explanation, titles

    if code is None:
        for known, title in titles():
            click.echo(f"{known}  {title}")
        return
    click.echo(explanation(code), nl=False)


if __name__ == "__main__":
    main()
