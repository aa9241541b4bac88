"""Starts the console of a controller: the threads that look at edges, and the server."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from ipaddress import ip_address
from pathlib import Path

from helioc.runtime.base.certs import issue
from helioc.runtime.base.errors import refused
from helioc.runtime.base.identity import read_identity
from helioc.runtime.enrolment import errors
from helioc.runtime.enrolment.est_server import server_context

from .access import Access, read_token
from .collector import Collector
from .listening import ConsoleServer
from .poller import Connect, Pollers
from .server import Console

#: The identity, in the controller's state, by which it looks at agents: its role is `read`.
READER = "reader"
TOKEN = "console.token"
MIB = 1 << 20


@dataclass(frozen=True)
class Settings:
    """`address`: HOST:PORT. `token`: a file. `period`: seconds from one look at an edge to the
    next; `memory`: MiB of the past."""

    address: str
    token: Path
    period: float = 2.0
    memory: int = 512


@contextmanager
def console(
    settings: Settings, state: Path, connect: Connect, targets: Callable[[], Mapping[str, str]]
) -> Iterator[str]:
    """Serves within the block, and says at which address. `state`: the controller's. `targets`: the
    edges and where their agents are. Raises `Refused`, `OSError`."""
    host, port = _address(settings.address)
    token = read_token(settings.token)
    with_tls = (state / "office.pem").exists()
    if not with_tls and not _is_loopback(host):
        raise refused(errors.console_in_the_clear(settings.address))
    if with_tls:
        read_identity(state / "office")
    context = server_context(state / "office") if with_tls else None
    collector = Collector(settings.memory * MIB)
    served = Console(collector, Access(state, token), settings.period)
    try:
        listening = ConsoleServer(served, (host, port), context)
    except OSError as error:
        raise refused(errors.console_not_listening(settings.address, error)) from None
    with (
        closing(listening) as server,
        closing(Pollers(collector, connect, settings.period, targets)),
    ):
        shown = f"[{host}]" if ":" in host else host
        yield f"{'https' if with_tls else 'http'}://{shown}:{server.port}/"


def make_reader(state: Path) -> Path:
    """The identity by which a console looks at agents; made, where there is an authority and it
    is not there."""
    path = state / READER
    if (state / "ca.key").exists() and not path.with_suffix(".pem").exists():
        issue(state, READER, "read")
    return path


def _address(text: str) -> tuple[str, int]:
    host, _, port = text.rpartition(":")
    host = host.strip("[]")
    if not host or not port.isdecimal() or int(port) > 65_535:
        raise refused(errors.no_console_address(text))
    return host, int(port)


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
