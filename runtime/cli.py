"""`helioctl`: load a pipeline, tell it rules, look at it, unload it.

Exit status: 0 well; 1 the input was refused, or the kernel refused; 2 the command line is wrong;
70 a fault of helioctl itself; 130 interrupted; 141 nobody reads any more. Each command imports
what it needs when it runs.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import click

from ..lang.diagnostics import Diagnostic

if TYPE_CHECKING:
    from .certs import Role
    from .control import Target
    from .outcome import Outcome

_PATH = click.Path(path_type=Path)


def main() -> NoReturn:
    """Entry point. Whatever happens, the user sees a diagnostic, not a traceback."""
    try:
        status = _run()
    except BrokenPipeError as error:  # nobody reads standard error, either
        from ..lang.ending import ending

        _, status = ending(error, "helioctl")
    sys.exit(status)


def _run() -> int:
    """The exit status."""
    try:
        cli.main(prog_name="helioctl", standalone_mode=False)
    except click.exceptions.Exit as stop:
        return stop.exit_code
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except click.Abort:
        return 130
    except BaseException as error:
        from ..lang.ending import ending

        said, status = ending(error, "helioctl")
        click.echo(said, err=True, nl=False)
        return status
    return 0


def complain(diagnostics: list[Diagnostic]) -> None:
    """Print diagnostics to standard error."""
    from ..lang.ending import account

    click.echo(account(diagnostics, "helioctl"), err=True, nl=False)


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="helioc")
@click.option("--name", default="", help="Which loaded pipeline; needed if there are several.")
@click.option("--agent", default="", envvar="HELIO_AGENT", metavar="ADDRESS",
              help="unix:PATH or HOST:PORT of the agent; default: the local one, if it runs."
              )  # fmt: skip
@click.option(
    "--identity",
    envvar="HELIO_IDENTITY",
    type=_PATH,
    metavar="PATH",
    help="For an agent by TCP: PATH.pem, PATH.key and the ca.pem beside them.",
)
@click.option("--local", is_flag=True, help="Without the agent, on the kernel's maps.")
@click.pass_context
def cli(context: click.Context, name: str, agent: str, identity: Path | None, local: bool) -> None:
    """Load Helio pipelines into the kernel, and tell them rules."""
    from .control import Target

    context.obj = Target(name, agent, local, identity)


def _json(value: Any) -> None:
    import json

    click.echo(json.dumps(value, indent=1))


# ---- load, unload ---------------------------------------------------------------------------


@cli.command()
@click.argument("bundle", required=False, type=_PATH)
@click.option("--config", "config_path", required=True, type=_PATH, help="The edge's YAML.")
@click.option("--offload", is_flag=True, help="Onto the network card that the ports are of.")
@click.option("--replace", is_flag=True, help="With --offload: in place of what is there.")
@click.option("--or-host", is_flag=True, help="Where there is none, load the host twin.")
@click.pass_obj
def load(
    target: Target,
    bundle: Path | None,
    config_path: Path,
    offload: bool,
    replace: bool,
    or_host: bool,
) -> None:
    """Load BUNDLE (or the one that the YAML names) and attach it to the edge's interfaces.

    Frames to other hosts' MAC addresses are for the interface's filter to keep out. A veth shows
    ICMP answers at once only where its other end runs a native XDP program."""
    from .bundle import read_bundle
    from .card.faults import for_a_card
    from .edge_yaml import bundle_of, read_source
    from .faults import no_bundle, refused

    directory = bundle or bundle_of(read_source(config_path))
    if directory is None:
        why = "none is named: give it to `load`, or as `bundle:` in the YAML"
        raise refused(no_bundle(Path("…"), why))
    if offload:
        from .card.choosing import load_onto_card, replace_on_card

        if replace:
            click.echo(f"replaced the programs of {replace_on_card(target, directory)}")
            return
        now, where = load_onto_card(target, directory, config_path, or_host)
    else:
        found, where = read_bundle(directory), ""
        if found.manifest.target != "host":
            raise refused(for_a_card(str(directory)))
        with target.open() as control:
            now = control.load(found, config_path)
    if now.warnings:
        complain(list(now.warnings))
    ports = ", ".join(f"{name} ({role}: {interface})" for name, role, interface in now.ports)
    click.echo(f"loaded {now.name}{where} on {ports}; {now.rules:,} rules")


@cli.command()
@click.argument("bundle", type=_PATH)
@click.option("--mapping", type=_PATH, help="What has other names, goes, or must be given: YAML.")
@click.option("--dry-run", is_flag=True, help="Show the difference; change nothing.")
@click.pass_obj
def upgrade(target: Target, bundle: Path, mapping: Path | None, dry_run: bool) -> None:
    """Replace the running build of a pipeline by BUNDLE, with no packet lost.

    Rules stay with what they counted, ports and the default are those of the load. Where the new
    build has no place for something that is in force, nothing is changed and the difference shown;
    a --mapping file says then what becomes of it (docs/upgrades.md)."""
    from .bundle import read_bundle
    from .card.faults import for_a_card
    from .faults import refused

    found = read_bundle(bundle)
    if found.manifest.target != "host":
        raise refused(for_a_card(str(bundle)))
    with target.open() as control:
        now = control.upgrade(found, mapping, dry_run)
    if now.difference:
        click.echo(now.difference + "\n")
    if dry_run:
        click.echo("nothing was changed")
    else:
        click.echo(f"upgraded {now.name}: {now.rules:,} rules, {now.rewritten:,} of them written "
                   "anew")  # fmt: skip


@cli.command()
@click.pass_obj
def unload(target: Target) -> None:
    """Detach a pipeline and remove it with its rules."""
    with target.open() as control:
        click.echo(f"unloaded {control.unload()}")


@cli.command(name="list")
@click.option("--json", "as_json", is_flag=True, help="As JSON.")
@click.pass_obj
def list_(target: Target, as_json: bool) -> None:
    """The pipelines that are loaded."""
    with target.open() as control:
        names, left = control.names()
    if as_json:
        _json([{"name": name, "whole": name in names} for name in [*names, *left]])
    else:
        lines = [f"{name} (not whole: being loaded, or left by a load that was killed; "
                 f"`helioctl --name {name} unload` removes it)" for name in left]  # fmt: skip
        click.echo("\n".join([*names, *lines]) or "no pipeline is loaded")


# ---- rules ----------------------------------------------------------------------------------


def _request(operation: str, help_: str) -> click.Command:
    @click.argument("request", nargs=-1, required=True)
    @click.pass_obj
    def command(target: Target, request: tuple[str, ...]) -> None:
        from ..lang.request_parser import parse_request
        from ..lang.source import Source

        text = f"{operation} {' '.join(request)}"
        parsed = parse_request(Source("<command line>", text))
        with target.open() as control:
            _report(control.apply(parsed))

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
def push(target: Target, file: Path, kind: str) -> None:
    """Make the changes that FILE asks for, in one transaction.

    .req and .txt are text requests (- is standard input), .yaml the same in YAML, .csv and .hpr
    rules in bulk."""
    with target.open() as control:
        _report(control.push(file, kind))


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


def _report(outcome: Outcome) -> None:
    from .report import said_of

    if outcome.warnings:
        complain(list(outcome.warnings))
    created, count = outcome.created, outcome.created_count
    click.echo(said_of(created, count, outcome.changed_count, outcome.removed_count))


# ---- looking --------------------------------------------------------------------------------


@cli.command()
@click.argument("rule", nargs=-1)
@click.option("--json", "as_json", is_flag=True, help="As JSON.")
@click.pass_obj
def show(target: Target, rule: tuple[str, ...], as_json: bool) -> None:
    """Rules in canonical text, with what they counted: all, or of a KIND, KIND ID, KIND NAME. Of a
    state table what packets left there."""
    from .faults import no_such_rule, refused
    from .report import Meant, entry_json, entry_rows, meant, rule_json, rule_rows

    words = " ".join(rule)
    with target.open() as control:
        manifest = control.manifest()
        kinds, states = [k.name for k in manifest.rules], [s.name for s in manifest.states]
        state = next((s for s in states if s.lower() == words.lower()), None)
        if state is not None:
            entries = control.entries(state)
            _json(entry_json(entries)) if as_json else click.echo(entry_rows(entries))
            return
        which = meant(words, kinds)
        shown = control.rules(which)
        if not shown and (which.id or which.name):
            names = [r.name for r in control.rules(Meant())]
            raise refused(no_such_rule(words, [*kinds, *states, *names]))
    _json(rule_json(shown)) if as_json else click.echo(rule_rows(shown))


@cli.command()
@click.option("--watch", is_flag=True, help="Again and again, with rates, until interrupted.")
@click.option("--interval", default=1.0, type=click.FloatRange(0.1, 3600), help="Seconds.")
@click.option("--json", "as_json", is_flag=True, help="As JSON.")
@click.pass_obj
def stats(target: Target, watch: bool, interval: float, as_json: bool) -> None:
    """What happened to packets: events, and the counters of each rule."""
    import time

    from .report import statistics, statistics_json

    with target.open() as control:
        before: dict[str, int] | None = None
        then = time.monotonic()
        while True:
            now = time.monotonic()
            found = control.statistics()
            if as_json:
                _json(statistics_json(found))
            else:
                text, before = statistics(found, before, now - then)
                then = now
                clear = "\x1b[H\x1b[2J" if watch and sys.stdout.isatty() else ""
                click.echo(f"{clear}{text}")
            if not watch:
                return
            sys.stdout.flush()
            time.sleep(interval)


@cli.command()
@click.pass_obj
def refresh(target: Target) -> None:
    """Look again at interfaces, addresses, routes and neighbours, and bring rules up to date."""
    with target.open() as control:
        found = control.refresh()
    said = f"{found.rules} rule{'s' * (found.rules != 1)} got another next hop"
    click.echo(said if found.rules else "all next hops are as they were")
    for port in found.attached:
        click.echo(f"{port} is back and attached")
    for port in found.gone:
        click.echo(f"{port} is gone: its interface is not there", err=True)


# ---- watching packets -----------------------------------------------------------------------


@cli.command()
@click.argument("filter", required=False, default="")
@click.option("--count", type=click.IntRange(1), help="Stop after so many packets.")
@click.option("--sample", default="1/1", metavar="1/N", help="One of N packets, drawn by chance.")
@click.option("--port", default="", help="Those that arrive by this port; default: by any.")
@click.option("--json", "as_json", is_flag=True, help="An object a line.")
@click.pass_obj
def trace(
    target: Target, filter: str, count: int | None, sample: str, port: str, as_json: bool
) -> None:
    """Tell what packets meet on their way: which rules match, what is written, where they go.

    FILTER says which, by fields of the pipeline: 'inner.dst in 10.2.0.0/16 and udp.dst = 53'.
    Meanwhile a build of the same pipeline that tells is in place; no packet is lost by that."""
    import signal

    from .tracing.watching import Watched, watch

    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, stop)
    wanted = Watched(filter, sample, port, count, as_json, sys.stdout.isatty() and not as_json)
    with watch(target.name, wanted) as watching:
        try:
            for text in watching.texts():
                click.echo(text)
                sys.stdout.flush()
        except KeyboardInterrupt:
            pass
        if said := watching.account():
            click.echo(said, err=True)


@cli.command()
@click.option(
    "--rules",
    "kinds",
    multiple=True,
    metavar="KIND",
    help="Tell also what single rules of this kind counted, of the busiest 1,000.",
)
@click.pass_obj
def metrics(target: Target, kinds: tuple[str, ...]) -> None:
    """What this host's pipelines count, once, as Prometheus reads it."""
    from .metrics import exposition
    from .releases import pick

    name = pick(target.name) if target.name else ""
    click.echo(exposition(kinds, name), nl=False)


@cli.command()
@click.option("--interval", default=1.0, type=click.FloatRange(0.1, 60), help="Seconds.")
@click.option("--once", is_flag=True, help="One look over an interval, and no more.")
@click.option("--rules", default=10, type=click.IntRange(0, 1000), help="So many of the busiest.")
@click.pass_obj
def top(target: Target, interval: float, once: bool, rules: int) -> None:
    """What passes now: a table of ports, rule kinds, the busiest rules, and what is lost."""
    from .top import watched

    screen = sys.stdout.isatty() and not once
    try:
        for text in watched(target.name, interval, rules, screen):
            click.echo(text if screen or once else f"{text}\n", nl=not screen)
            sys.stdout.flush()
            if once:
                return
    finally:
        if screen:
            click.echo("\x1b[?25h")


# ---- intents --------------------------------------------------------------------------------


@cli.group()
def intent() -> None:
    """Traffic by its headers, and what is to become of it, for a while (docs/intents.md)."""


@intent.command(name="apply")
@click.argument("file", type=_PATH)
@click.pass_obj
def intent_apply(target: Target, file: Path) -> None:
    """Tell the agent the intent in FILE, YAML or JSON (- is standard input)."""
    from ..lang.source import Source
    from .edge_yaml import read_source
    from .intents.telling import said_of

    given = str(file) == "-"
    source = Source("<standard input>", sys.stdin.read()) if given else read_source(file)
    with target.need_agent() as agent:
        click.echo(said_of(agent.apply_intent(source.text, source.name)))


@intent.command(name="list")
@click.argument("names", nargs=-1)
@click.option("--json", "as_json", is_flag=True, help="As JSON.")
@click.pass_obj
def intent_list(target: Target, names: tuple[str, ...], as_json: bool) -> None:
    """Intents, all or those of these NAMES, and how they fare."""
    from .intents.telling import intent_json, intent_rows

    with target.need_agent() as agent:
        found = agent.intents(*names)
    _json(intent_json(found)) if as_json else click.echo(intent_rows(found))


@intent.command(name="remove")
@click.argument("name")
@click.pass_obj
def intent_remove(target: Target, name: str) -> None:
    """End the intent NAME now, and forget it."""
    with target.need_agent() as agent:
        click.echo(f"removed {agent.remove_intent(name).id}")


@intent.command(name="report")
@click.argument("names", nargs=-1)
@click.option("--period", default=10.0, type=click.FloatRange(0.1, 3600), help="Seconds.")
@click.option("--count", type=click.IntRange(1), help="End after so many reports.")
@click.option("--json", "as_json", is_flag=True, help="An object a line.")
@click.pass_obj
def intent_report(
    target: Target, names: tuple[str, ...], period: float, count: int | None, as_json: bool
) -> None:
    """What the traffic of intents comes to, now and every period, until interrupted."""
    import json
    from contextlib import closing

    from .intents.telling import report_json, report_rows

    with target.need_agent() as agent, closing(agent.reports(*names, period=period)) as reports:
        for number, found in enumerate(reports, 1):
            click.echo(json.dumps(report_json(found)) if as_json else report_rows(found) + "\n")
            sys.stdout.flush()
            if number == count:
                return


# ---- certificates ---------------------------------------------------------------------------


@cli.group()
def certs() -> None:
    """Certificates for a laboratory. Elsewhere have your own authority sign them."""


@certs.command()
@click.argument("directory", type=_PATH)
@click.option("--host", "hosts", multiple=True, help="A name or address of the agent's machine.")
def new(directory: Path, hosts: tuple[str, ...]) -> None:
    """Make an authority in DIRECTORY, and by it the identities `agent` and `admin`."""
    from .certs import make_authority

    for path in make_authority(directory, list(hosts)):
        click.echo(path)


@certs.command()
@click.argument("directory", type=_PATH)
@click.argument("name")
@click.option("--role", required=True, type=click.Choice(["read", "rules", "admin"]))
def client(directory: Path, name: str, role: Role) -> None:
    """Make an identity for a client, by the authority in DIRECTORY."""
    from .certs import issue

    for path in issue(directory, name, role):
        click.echo(path)


@certs.command()
@click.argument("directory", type=_PATH)
@click.argument("name")
@click.option("--host", "hosts", multiple=True, required=True, help="A name or address of it.")
def agent(directory: Path, name: str, hosts: tuple[str, ...]) -> None:
    """Make an identity for another agent, by the authority in DIRECTORY."""
    from .certs import issue

    for path in issue(directory, name, None, list(hosts)):
        click.echo(path)


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
