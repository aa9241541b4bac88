"""`helio-services`: Kubernetes' services on a node, as rules of its agent.

It watches Services, EndpointSlices and this host's Node, and keeps the rules of
`pipelines/nodeport.hp` to that. SIGTERM or SIGINT ends it; rules stay, and packets go on.
"""

from __future__ import annotations

import gc
import logging
import os
import socket
import threading
from contextlib import AbstractContextManager, ExitStack
from functools import partial
from pathlib import Path
from typing import NoReturn

import click

from ..lang.text.stopping import Serving
from ..runtime.base import logs
from ..runtime.base.listening import listen
from ..runtime.base.paths import SOCKET
from ..runtime.client.client import Client
from ..runtime.observe.http_server import HttpServer
from ..runtime.services.api import resources
from ..runtime.services.plan import Settings
from ..runtime.services.watcher import Watcher
from .command import Finite, run
from .settings import from_file, misfit

_PATH = click.Path(path_type=Path)
_MOST_PORT = 65535
_HUNG_UP = "SIGHUP: settings are read at the start"
_log = logging.getLogger("services")


def main() -> NoReturn:
    """Entry point."""
    run(serve, "helio-services")


# fmt: off
@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="helioc")
@click.option("--config", type=_PATH, is_eager=True, expose_value=False, callback=from_file,
              metavar="FILE", help="Read options from this YAML file: a key for each (`node` for "
              "--node). What the command line says wins.")
@click.option("--kubeconfig", type=_PATH, metavar="FILE", help="How to reach the API server; "
              "default: the service account of this pod.")
@click.option("--context", default="", help="A context of the kubeconfig other than its current "
              "one.")
@click.option("--node", default="", help="The name of this host's Node; default: NODE_NAME, or the "
              "host's name.")
@click.option("--agent", "address", default=f"unix:{SOCKET}", show_default=True, metavar="TARGET",
              help="The agent: unix:PATH, or HOST:PORT with --identity.")
@click.option("--identity", type=_PATH, metavar="PATH", help="For an agent by TCP: PATH.pem, "
              "PATH.key, and the ca.pem beside them, of a client with the role `rules`.")
@click.option("--pipeline", default="", help="The name that `nodeport` is loaded by, where several "
              "pipelines are.")
@click.option("--network", default="", metavar="PORT", help="The port towards other nodes; "
              "default: the only one with the role `uplink`.")
@click.option("--first-port", default=61000, type=click.IntRange(1, _MOST_PORT), show_default=True,
              help="The first of the ports that connections get which go on with the node's "
              "address. Above net.ipv4.ip_local_port_range, and no nodePort.")
@click.option("--ports", default=4096, type=click.IntRange(1, _MOST_PORT), show_default=True,
              help="How many these are.")
@click.option("--resync", default=600.0, type=Finite(1), show_default=True, metavar="SECONDS",
              help="After so long the agent's rules are compared, also where nobody said that they "
              "changed.")
@click.option("--metrics", "scraped", default="", metavar="HOST:PORT",
              help="Serve Prometheus' /metrics here, over HTTP: whoever reaches it may read them.")
def serve(
    kubeconfig: Path | None, context: str, node: str, address: str, identity: Path | None,
    pipeline: str, network: str, first_port: int, ports: int, resync: float, scraped: str,
) -> None:
    """Keep an agent's rules to the Services of a Kubernetes cluster.

    Runs on each node, in the network namespace of its agent. It owns the rules of the kinds
    SERVICE, POOL, BACKEND and NODE (and those for IPv6) of a pipeline as `nodeport` is."""
    if first_port + ports - 1 > _MOST_PORT:
        raise misfit("ports", f"from {first_port} on there are {_MOST_PORT - first_port + 1}")
    serving = Serving(lambda: _log.info(_HUNG_UP))
    logs.set_up(program="helio-services")
    gc.set_threshold(50_000)
    name = node or os.environ.get("NODE_NAME", "") or socket.gethostname()
    watcher = Watcher(
        resources(kubeconfig, context, name),
        partial(Client, address, pipeline, identity=identity),
        Settings(name, "", first_port=first_port, ports=ports), network=network, resync=resync,
    )
    with ExitStack() as owned:
        if scraped:
            owned.enter_context(_metrics(scraped, watcher))
        failed: list[BaseException] = []
        working = threading.Thread(target=_work, args=(watcher, failed), name="watcher")
        working.start()
        _log.info("watches services for node %s", name)
        while not serving.wait(1.0) and not failed:
            pass
        watcher.stop()
        working.join()
    if failed:
        raise failed[0]
    _log.info("ends; packets go on")
# fmt: on


def _work(watcher: Watcher, failed: list[BaseException]) -> None:
    try:
        watcher.run()
    except BaseException as error:
        failed.append(error)


def _metrics(address: str, watcher: Watcher) -> AbstractContextManager[object]:
    owned = ExitStack()
    for listening in listen(address):
        owned.enter_context(HttpServer(listening, watcher.counts.page))
    return owned


if __name__ == "__main__":
    main()
