"""The commands `show`, `status`, `stats`, `metrics`, `top`, `trace` and `refresh`."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING

import click

from ..lang.text.diagnostics import Diagnostic, did_you_mean
from ..runtime.base.errors import unknown_kind
from .command import Finite
from .output import need_here, say_json
from .states import show_entries

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ..lang.contract.manifest.manifest import Manifest
    from ..runtime.edge.overlay_health import Quality
    from ..runtime.rules.report import Shown
    from .control import Control
    from .target import Target


@click.command()
@click.argument("rule", nargs=-1)
@click.option("--json", "as_json", is_flag=True, help="As JSON.")
@click.pass_obj
def show(target: Target, rule: tuple[str, ...], as_json: bool) -> None:
    """Rules in canonical text, with what they counted: all, or of a KIND, KIND ID, KIND NAME. Of a
    state table what packets left there, as `state list` does."""
    from ..runtime.base.errors import no_such_rule, refused
    from ..runtime.rules.report import Meant, meant, rule_json, rule_rows

    words = " ".join(rule)
    with target.open() as control:
        manifest = control.manifest()
        kinds, states = [k.name for k in manifest.rules], [s.name for s in manifest.states]
        state = next((s for s in manifest.states if s.name.lower() == words.lower()), None)
        if state is not None:
            show_entries(state, control.entries(state.name), as_json)
            return
        which = meant(words, kinds)
        if len(words.split()) > (2 if which.kind else 1):
            raise refused(_not_one_rule(words))
        shown = control.rules(which)
        measured = _measured(control, manifest, shown, bool(which.kind or which.name))
        if not shown and (which.id or which.name):
            names = [] if which.id else [r.name for r in control.rules(Meant(which.kind))]
            more = [] if which.kind else states
            raise refused(no_such_rule(words, [*kinds, *more, *names]))
    say_json(rule_json(shown, measured)) if as_json else click.echo(rule_rows(shown, measured))


def _measured(
    control: Control, manifest: Manifest, shown: list[Shown], chosen: bool
) -> Mapping[tuple[str, int], Quality | None]:
    """What is known of overlays by their rules, where some of those were asked for."""
    from ..runtime.edge.liveness_settings import shape_of

    shape = shape_of(manifest)
    if not chosen or shape is None or all(rule.kind != shape.kind for rule in shown):
        return {}
    return {(each.kind, each.id): each.quality for each in control.overlays()}


@click.command()
@click.option("--json", "as_json", is_flag=True, help="As JSON.")
@click.pass_obj
def status(target: Target, as_json: bool) -> None:
    """How everything is: the agent, its journal and certificates; pipelines with their ports, state
    tables, overlays, intents, reports and congestion. Without an agent, what can be seen without
    it."""
    import time

    from ..runtime.base.identity import expiring_soon
    from ..runtime.base.paths import SOCKET
    from ..runtime.observe.status import client_ending
    from ..runtime.observe.status_text import status_json, status_text
    from .output import complain
    from .target import agent_here

    with target.open() as control:
        view = control.status()
    view = client_ending(view, target.identity)
    now = time.time()
    if found := expiring_soon(view.certificates, now):
        complain(found)
    text = status_text(view, target.local and agent_here(SOCKET), now)
    say_json(status_json(view, now)) if as_json else click.echo(text)


@click.command()
@click.option("--watch", is_flag=True, help="Again and again, with rates, until interrupted.")
@click.option("--interval", default=1.0, type=Finite(0.1, 3600), help="Seconds.")
@click.option("--json", "as_json", is_flag=True, help="As JSON.")
@click.pass_obj
def stats(target: Target, watch: bool, interval: float, as_json: bool) -> None:
    """What happened to packets: events, and the counters of each rule."""
    import time

    from ..runtime.rules.report import statistics, statistics_json

    with target.open() as control:
        before: dict[str, int] | None = None
        then = time.monotonic()
        while True:
            now = time.monotonic()
            found = control.statistics()
            if as_json:
                say_json(statistics_json(found))
            else:
                text, before = statistics(found, before, now - then)
                then = now
                clear = "\x1b[H\x1b[2J" if watch and sys.stdout.isatty() else ""
                click.echo(f"{clear}{text}")
            if not watch:
                return
            sys.stdout.flush()
            time.sleep(interval)


@click.command()
@click.pass_obj
def refresh(target: Target) -> None:
    """Look again at interfaces, addresses, routes and neighbours, and bring rules up to date."""
    with target.open() as control:
        found = control.refresh()
    message = f"{found.rules} rule{'s' * (found.rules != 1)} got another next hop"
    click.echo(message if found.rules else "all next hops are as they were")
    for port in found.attached:
        click.echo(f"{port} is back and attached")
    for port in found.gone:
        click.echo(f"{port} is gone: its interface is not there", err=True)


@click.command()
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

    from ..runtime.tracing.watch import TraceOptions, watch

    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    need_here(target, "trace")
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, stop)
    options = TraceOptions(
        filter, sample, port, count, as_json, sys.stdout.isatty() and not as_json
    )
    with watch(target.name, options) as watching:
        try:
            for text in watching.texts():
                click.echo(text)
                sys.stdout.flush()
        except KeyboardInterrupt:
            pass
        if message := watching.account():
            click.echo(message, err=True)


@click.command()
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
    from ..runtime.base.errors import refused
    from ..runtime.loading.releases import pick
    from ..runtime.observe.metrics import exposition, loaded_kinds

    need_here(target, "metrics")
    name = pick(target.name) if target.name else ""
    if kinds and (known := loaded_kinds(name)) and (unknown := set(kinds) - known):
        raise refused(*(_no_such_kind(kind, known) for kind in sorted(unknown)))
    click.echo(exposition(kinds, name), nl=False)


@click.command()
@click.option("--interval", default=1.0, type=Finite(0.1, 60), help="Seconds.")
@click.option("--once", is_flag=True, help="One look over an interval, and no more.")
@click.option("--rules", default=10, type=click.IntRange(0, 1000), help="So many of the busiest.")
@click.pass_obj
def top(target: Target, interval: float, once: bool, rules: int) -> None:
    """What passes now: a table of ports, rule kinds, the busiest rules, and what is lost."""
    from ..runtime.observe.top import watched

    need_here(target, "top")
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


COMMANDS = (show, status, stats, refresh, metrics, top, trace)


# ---- errors ---------------------------------------------------------------------------------


def _not_one_rule(words: str) -> Diagnostic:
    return Diagnostic("H0743", f"`{words}` is no one rule", (),
                      "say a kind, a kind and one id or name, or a name")  # fmt: skip


def _no_such_kind(kind: str, have: Iterable[str]) -> Diagnostic:
    known = sorted(have)
    help_ = did_you_mean(kind, known) or f"the kinds are {', '.join(known)}"
    return unknown_kind(f"`{kind}` is no kind of rule", help_)
