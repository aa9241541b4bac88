"""`heliod`: the agent of an edge, which owns the pipelines of its network namespace.

Exit status as `helioctl`'s. SIGTERM or SIGINT ends it; pipelines go on without it.
"""

from __future__ import annotations

import gc
import logging
import os
import sys
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import click

from ..lang.text.stopping import Serving
from ..runtime.agent.health import Health, notify, watch_until
from ..runtime.base import logs
from ..runtime.base.paths import SOCKET, STATE
from ..runtime.kernel.privileges import (
    AGENT,
    CARDS,
    FIRST_OPEN_PORT,
    LOW_PORT,
    TIMES,
    confine,
    port_of,
)
from .command import Finite, run
from .settings import from_file, misfit

if TYPE_CHECKING:
    from ..runtime.agent.agent import Agent
    from ..runtime.enrolment.edge import Home
    from ..runtime.enrolment.heartbeat import Heartbeat
    from ..runtime.journal.state_list import Acknowledge

#: Seconds that calls in progress have when the agent ends.
GRACE = 2.0
#: Objects that are made, and not gone, between two looks for garbage: some thousand requests.
_YOUNG = 10_000
_HUNG_UP = ("SIGHUP: certificates and `revoked` are read again by themselves when they change; "
            "other settings take a restart")  # fmt: skip
_PATH = click.Path(path_type=Path)
_log = logging.getLogger("heliod")


class Cpu(click.IntRange):
    """One that this process may run on."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        cpu, before = int(super().convert(value, param, ctx)), os.sched_getaffinity(0)
        try:
            os.sched_setaffinity(0, {cpu})
        except (OSError, OverflowError):
            self.fail(f"there is no CPU {cpu}, or we may not run on it", param, ctx)
        os.sched_setaffinity(0, before)
        return cpu


def main() -> NoReturn:
    """Entry point."""
    run(serve, "heliod")


# fmt: off
@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="helioc")
@click.option("--config", type=_PATH, is_eager=True, expose_value=False, callback=from_file,
              metavar="FILE", help="Read options from this YAML file: a key for each (`tcp` for "
              "--tcp). What the command line says wins.")
@click.option("--socket", "path", default=SOCKET, type=_PATH, show_default=True,
              help="The Unix socket for local tools.")
@click.option("--socket-mode", "mode", default="0600", type=click.Choice(["0600", "0660"]),
              show_default=True, help="Permissions of the Unix socket: for the agent's user alone, "
              "or for its group, too. Whoever may use it may do everything.")
@click.option("--state", default=STATE, type=_PATH, show_default=True,
              help="The directory of the journal.")
@click.option("--acknowledge", default="after", type=click.Choice(["before", "after"]),
              show_default=True, help="Answer requests before or after they are on the disk: a "
              "power cut takes the last hundredth of a second of them, or none.")
@click.option("--tcp", "address", default="", metavar="HOST:PORT",
              help="Also listen here (port 50051 is the usual one), with mutual TLS.")
@click.option("--identity", type=_PATH, metavar="PATH",
              help="For --tcp: PATH.pem, PATH.key, and the ca.pem beside them; default: what "
              "`helioctl enrol` left in --state.")
@click.option("--insecure-tcp", "insecure", default="", metavar="HOST:PORT",
              help="Also listen here WITHOUT TLS: whoever reaches it may do everything.")
@click.option("--metrics", "scraped", default="", metavar="HOST:PORT",
              help="Serve Prometheus' /metrics here, over HTTP: whoever reaches it may read them.")
@click.option("--health", "supervised", default="", metavar="ADDRESS", help="Serve /healthz and "
              "/readyz here, over HTTP: HOST:PORT of the loopback interface, or unix:PATH.")
@click.option("--rate", default=10_000.0, type=Finite(1), show_default=True,
              help="Requests a second of one client; whoever asks faster waits.")
@click.option("--program-times", "times", is_flag=True, help="Keep CAP_SYS_ADMIN, which the kernel "
              "wants for timing programs: reports of intents then have CPU time.")
@click.option("--cards", is_flag=True, help="Keep CAP_SYS_ADMIN, which the kernel wants of who "
              "loads pipelines onto network cards.")
@click.option("--cpu", type=Cpu(0), help="Run on this CPU alone: handing work from "
              "one thread to the next is quicker, and only one works at a time anyway.")
def serve(
    path: Path, mode: str, state: Path, acknowledge: Acknowledge, address: str,
    identity: Path | None, insecure: str, scraped: str, supervised: str, rate: float, times: bool,
    cards: bool, cpu: int | None,
) -> None:
    """Own the pipelines of this network namespace, and take requests for them over gRPC.

    Clients by TCP have the role that their certificate names: read, rules or admin."""
    home = _home(state) if address and identity is None else None
    identity = home.identity if home is not None else identity
    if address and identity is None:
        raise misfit("address", "it goes with `identity`, unless the edge is enrolled")
    if identity is not None and not address:
        raise misfit("identity", "it goes with `tcp`")
    serving = Serving(lambda: _log.info(_HUNG_UP))
    logs.set_up()
    if cpu is not None:
        os.sched_setaffinity(0, {cpu})
    low = any(port_of(each) < FIRST_OPEN_PORT
              for each in (address, insecure, scraped, supervised) if each)
    confine((*AGENT, *[LOW_PORT] * low, *[TIMES] * times, *[CARDS] * cards))
    os.environ["OPENBLAS_NUM_THREADS"] = "1"  # numpy brings it: it reserves memory by CPU
    gc.set_threshold(_YOUNG)
    # Of two threads that want to run none waits longer than this for the other.
    sys.setswitchinterval(0.0005)
    from ..runtime.agent.agent import Agent
    from ..runtime.base.listening import listen
    from ..runtime.intents.pusher import Pusher
    from ..runtime.journal.store import Store
    from ..runtime.kernel.handles import Object
    from ..runtime.rpc.clients import Limits
    from ..runtime.rpc.server import Server
    from ..runtime.rpc.service import Service

    Object.isolated = True
    health = Health()
    with _supervised(supervised, health):
        health.agent = agent = Agent(Store(state, acknowledge))
        try:
            service = Service(agent, listen(scraped) if scraped else ())
            server = Server(service, path, Limits(rate=rate), int(mode, 8))
            if identity is not None:
                server.listen_tcp(address, identity)
            if insecure:
                _log.warning("%s is open to anybody: no TLS, no roles", insecure)
                server.listen_insecure(insecure)
            for name, findings in agent.open_all().items():
                for found in findings:
                    _log.log(logs.level(found), "%s: %s", name, logs.text(found))
            for found in agent.findings:
                _log.log(logs.level(found), "%s", logs.text(found))
            server.start()
            health.unattended, health.locked_out = server.unattended, server.locked_out
            health.restored = True
            names = ", ".join(sorted(owner.name for owner in agent.owners()))
            _log.info("ready at unix:%s; pipelines: %s", path, names or "none")
            notify("READY=1")
            service.readers.start()
            heartbeat = _heartbeat(home, agent)
            pusher = Pusher(agent.owners, agent.intents.find, service.counts)
            pusher.start()
            watch_until(serving.wait, health.stuck, lambda why: _log.error("no progress %s", why))
            _log.info("ends; pipelines go on working")
            notify("STOPPING=1")
            pusher.stop()
            if heartbeat is not None:
                heartbeat.stop()
            server.stop(GRACE)
            service.readers.close()
        finally:
            agent.close()
# fmt: on


def _supervised(address: str, health: Health) -> AbstractContextManager[object]:
    """Serves the agent's health at an address, if there is one."""
    if not address:
        return nullcontext()
    from ..runtime.base.listening import listen_locally
    from ..runtime.observe.health_server import health_servers

    return health_servers(listen_locally(address), health.stuck, health.unready)


def _home(state: Path) -> Home | None:
    from ..runtime.enrolment.edge import home

    return home(state)


def _heartbeat(home: Home | None, agent: Agent) -> Heartbeat | None:
    """Tells the controller of an edge that is enrolled how it is."""
    if home is None:
        return None
    from ..runtime.enrolment.heartbeat import Heartbeat

    heartbeat = Heartbeat(home, agent.status)
    heartbeat.start()
    return heartbeat


if __name__ == "__main__":
    main()
