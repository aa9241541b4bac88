"""The group `stamp`: sessions of a Session-Sender of STAMP."""

from __future__ import annotations

import json
import sys
from contextlib import closing
from typing import TYPE_CHECKING, Any

import click

from .command import Finite
from .output import say_json
from .stamp_text import (
    missed_line,
    parameters,
    result_json,
    result_line,
    result_rows,
    session_json,
    session_rows,
)  # fmt: skip

if TYPE_CHECKING:
    from .target import Target

_SSID = click.IntRange(1, 65_535)
_PORT = click.IntRange(1, 65_535)
_WAYS = click.Choice(["h_encaps", "h_encaps_red", "own_srh"])
_AS_JSON = click.option("--json", "as_json", is_flag=True, help="As JSON.")


@click.group()
def stamp() -> None:
    """Delay, jitter and loss of paths, measured by test packets (docs/stamp.md)."""


@stamp.command(name="init")
@click.option("--source-port", type=_PORT, default=862, show_default=True, help="The UDP port "
              "that test packets come from.")  # fmt: skip
@click.option("--source4", default="", metavar="ADDRESS", help="The address of IPv4 they are from.")
@click.option("--source6", default="", metavar="ADDRESS", help="That of IPv6.")
@click.option("--interface", default="", metavar="PORT",
              help="The port of the pipeline by which alone answers come.")  # fmt: skip
@click.pass_obj
def stamp_init(target: Target, /, **asked: Any) -> None:
    """What sessions have from now on that do not say it themselves."""
    with target.need_agent() as agent:
        made = agent.init_stamp(**asked)
    click.echo(f"test packets come from UDP port {made.source_port}")


@stamp.command(name="create")
@click.argument("ssid", type=_SSID)
@click.argument("reflector", metavar="ADDRESS")
@click.option("--name", help="Of the session and of its rule; default: session-SSID.")
@click.option("--interval", type=Finite(0.001, 3600), default=1.0, show_default=True,
              help="Seconds from one test packet to the next.")  # fmt: skip
@click.option("--timeout", type=Finite(0.1, 60), default=3.0, show_default=True,
              help="Seconds after which a packet without an answer is lost.")  # fmt: skip
@click.option("--port", type=_PORT, help="The reflector's UDP port; default: 862.")
@click.option("--source", metavar="ADDRESS", help="Of the test packets; default: the route's.")
@click.option("--source-port", type=_PORT, help="Of the test packets; default: as `init` said.")
@click.option("--sids", metavar="SID,…", help="The path there: segments, in their order.")
@click.option("--way", type=_WAYS, help="How they are put in front; default: own_srh for a "
              "reflector of IPv6, else h_encaps.")  # fmt: skip
@click.option("--outer-source", metavar="ADDRESS", help="Of the header with the segments.")
@click.option("--sids-back", metavar="SID,…", help="The path back, for the rule of the reflector.")
@click.option("--way-back", type=_WAYS, help="How it puts them in front; default: h_encaps.")
@click.option("--outer-source-back", metavar="ADDRESS", help="The reflector's address of IPv6, for "
              "the header that it puts around an answer of IPv4.")  # fmt: skip
@click.option("--ptp", is_flag=True, help="Timestamps of IEEE 1588; otherwise they are NTP's.")
@click.option(
    "--stateful", is_flag=True, help="The reflector counts: that tells losses by their way."
)
@click.option("--one-way", is_flag=True, help="Do not measure the way back.")
@click.option("--authenticated", is_flag=True, help="Refused (H0843).")
@click.option("--length", type=click.IntRange(44, 9000), default=44, show_default=True,
              help="Bytes of a test packet behind UDP's header.")  # fmt: skip
@click.option("--dscp", type=click.IntRange(0, 63), default=0, show_default=True)
@_AS_JSON
@click.pass_obj
def stamp_create(target: Target, /, ssid: int, reflector: str, as_json: bool, **asked: Any) -> None:
    """Make the session SSID to the reflector at ADDRESS. Nothing is sent before it is started.

    Prints the request that makes the rule of the other end, if that runs the pipeline `stamp`."""
    with target.need_agent() as agent:
        made = agent.create_stamp_session(ssid, reflector, **parameters(reflector, asked))
    if as_json:
        say_json(session_json(made))
    else:
        click.echo(f"created {ssid}; at the reflector: {made.reflector}")


@stamp.command(name="start")
@click.argument("ssid", type=_SSID)
@click.option("--duration", type=Finite(0, min_open=True), help="Seconds; default: until `stop`.")
@click.pass_obj
def stamp_start(target: Target, ssid: int, duration: float | None) -> None:
    """Send test packets of the session SSID."""
    with target.need_agent() as agent:
        agent.start_stamp_session(ssid, duration)
    click.echo(f"started {ssid}")


@stamp.command(name="stop")
@click.argument("ssid", type=_SSID)
@click.pass_obj
def stamp_stop(target: Target, ssid: int) -> None:
    """Send no more test packets of the session SSID; it keeps what it counted."""
    with target.need_agent() as agent:
        agent.stop_stamp_session(ssid)
    click.echo(f"stopped {ssid}")


@stamp.command(name="destroy")
@click.argument("ssid", type=_SSID)
@click.pass_obj
def stamp_destroy(target: Target, ssid: int) -> None:
    """Forget the session SSID, and what it counted."""
    with target.need_agent() as agent:
        agent.destroy_stamp_session(ssid)
    click.echo(f"destroyed {ssid}")


@stamp.command(name="list")
@click.argument("ssids", nargs=-1, type=_SSID, metavar="[SSID]...")
@_AS_JSON
@click.pass_obj
def stamp_list(target: Target, ssids: tuple[int, ...], as_json: bool) -> None:
    """Sessions, all or these, and what they measured."""
    with target.need_agent() as agent:
        found = agent.stamp_sessions(*ssids)
    if as_json:
        sessions = [session_json(each) for each in found.sessions]
        say_json({"sessions": sessions, "foreign": found.foreign})
    else:
        click.echo(session_rows(found))


@stamp.command(name="results")
@click.argument("ssid", type=_SSID)
@click.option("--most", type=click.IntRange(1), help="So many at most.")
@click.option("--count", is_flag=True, help="Only how many there are.")
@_AS_JSON
@click.pass_obj
def stamp_results(target: Target, ssid: int, most: int | None, count: bool, as_json: bool) -> None:
    """Take the oldest results of the session SSID: the agent keeps them no longer."""
    with target.need_agent() as agent:
        if count:
            counter = agent.stamp_results_counter(ssid)
            said = {"waiting": counter.waiting, "dropped": counter.dropped}
            text = f"{counter.waiting:,} wait, {counter.dropped:,} gave way to later ones"
            say_json(said) if as_json else click.echo(text)
            return
        found = agent.stamp_results(ssid, most or 0)
    say_json([result_json(each) for each in found]) if as_json else click.echo(result_rows(found))


@stamp.command(name="watch")
@click.argument("ssids", nargs=-1, type=_SSID, metavar="[SSID]...")
@click.option("--json", "as_json", is_flag=True, help="An object a line.")
@click.pass_obj
def stamp_watch(target: Target, ssids: tuple[int, ...], as_json: bool) -> None:
    """Results as they come, of all sessions or of these, until interrupted."""
    with target.need_agent() as agent, closing(agent.watch_stamp_results(*ssids)) as watching:
        for part in watching:
            if part.missed:
                said = json.dumps({"missed": part.missed}) if as_json else missed_line(part.missed)
                click.echo(said, err=not as_json)
            for each in part.results:
                click.echo(json.dumps(result_json(each)) if as_json else result_line(each))
            sys.stdout.flush()


@stamp.command(name="reset")
@click.pass_obj
def stamp_reset(target: Target) -> None:
    """Destroy all sessions, and what was made for them."""
    with target.need_agent() as agent:
        count = agent.reset_stamp()
    click.echo(f"destroyed {count} session{'' if count == 1 else 's'}")


COMMANDS = (stamp,)
