"""Programs on interfaces: what must hold before, then one pinned link for each port."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from errno import EACCES, EBUSY, EEXIST, EOPNOTSUPP, EPERM
from pathlib import Path

from ...lang.contract.manifest.manifest import Manifest
from ...lang.text.diagnostics import Diagnostic, Refused
from ...lang.text.source import Span
from ..base import faults
from ..kernel.handles import BpfError, Link, Pin, Program, XdpMode
from ..kernel.netlink import XDP_REDIRECTED, Netlink, xdp_features
from ..kernel.netlink import Link as Interface
from ..ports.ports import Port
from .releases import ROOT, holder_of

Spans = Mapping[int, Span]
"""Where the configuration names the interface of a port's number."""


def check(
    ports: Iterable[Port],
    links: Iterable[Interface],
    mode: XdpMode,
    spans: Spans,
    forwards: bool = True,
) -> None:
    """What would keep a port from working, before anything is attached. `forwards`: packets leave
    by other ports than they came in by. Raises `Refused`."""
    by_index = {link.index: link for link in links}
    found: list[Diagnostic] = []
    for port in ports:
        link, span = by_index[port.ifindex], spans.get(port.number)
        if link.program:
            held = holder_of(link.program)
            called = "" if held else _name_of(link.program)
            found.append(faults.another_program(link.name, link.program, span, held, called))
        elif mode is XdpMode.NATIVE:
            found += unfit(port, link, span, forwards)
    if found:
        raise Refused(found)


def _name_of(program: int) -> str:
    """Empty where we may not know it, or it is gone by now."""
    with suppress(BpfError), Program.open_id(program) as found:
        return found.name
    return ""


def unfit(port: Port, link: Interface, span: Span | None, forwards: bool) -> list[Diagnostic]:
    """What keeps an interface from native XDP, or from taking redirected frames."""
    features = xdp_features(port.ifindex)
    if features == 0:
        why = "its driver has none"
        if link.kind == "veth":
            why = "its other end sends by more queues than it receives by (`ethtool -l`)"
        return [faults.no_native(link.name, span, why)]
    if forwards and features is not None and not features & XDP_REDIRECTED:
        with Netlink() as netlink:
            other = netlink.other_end(link) if link.kind == "veth" else None
        return [faults.no_redirect(link.name, span, link.kind, other)]
    return []


def warnings(
    manifest: Manifest, ports: Iterable[Port], netlink: Netlink, mode: XdpMode, spans: Spans
) -> Iterator[Diagnostic]:
    """About ports that are attached, and on which not all works that the pipeline does."""
    ports = list(ports)
    if manifest.forwards:
        yield from _not_routing(ports, spans)
    if mode is XdpMode.NATIVE:
        answering = [port for port in ports if manifest.roles[port.role] in manifest.answers]
        yield from _not_answering(answering, netlink, spans)


def _not_answering(ports: Iterable[Port], netlink: Netlink, spans: Spans) -> Iterator[Diagnostic]:
    """A veth delivers what is sent back by it (XDP_TX) only where its other end has a native XDP
    program (veth_xdp_flush in drivers/net/veth.c)."""
    links = {link.index: link for link in netlink.links()}
    for port in ports:
        link = links.get(port.ifindex)
        other = netlink.other_end(link) if link is not None and link.kind == "veth" else None
        if other is not None and not other.native:
            yield faults.not_answering(port.interface, spans.get(port.number), other)


def _not_routing(ports: Iterable[Port], spans: Spans) -> list[Diagnostic]:
    """Ports by which the kernel does not route, so that its FIB answers nothing."""
    found = []
    for port in ports:
        setting = Path("/proc/sys/net/ipv4/conf", port.interface, "forwarding")
        if setting.exists() and setting.read_text().strip() == "0":
            found.append(faults.not_routing(port.interface, spans.get(port.number)))
    return found


def attach(
    ports: Iterable[Port],
    entries: Mapping[int, Program],
    mode: XdpMode,
    name: str,
    spans: Spans,
) -> None:
    """Attach each port's entry program (by role number) and pin its link. Raises `Refused`; links
    made before stay pinned for the caller to remove."""
    for port in ports:
        try:
            with Link.attach_xdp(entries[port.role], port.ifindex, mode) as link:
                Pin.create(link, link_of(name, port.number))
        except BpfError as error:
            raise Refused([_fault(error, port, mode, spans.get(port.number))]) from error


def link_of(name: str, port: int) -> Path:
    """Where the link of a pipeline's port is pinned."""
    return ROOT / name / f"link_{port}"


def _fault(error: BpfError, port: Port, mode: XdpMode, span: Span | None) -> Diagnostic:
    if error.errno in (EBUSY, EEXIST):
        return faults.another_program(port.interface, 0, span)
    if error.errno == EOPNOTSUPP and mode is XdpMode.NATIVE:
        return faults.no_native(port.interface, span, "its driver has none")
    if error.errno in (EPERM, EACCES):
        return faults.no_privilege(f"attach to `{port.interface}`")
    return faults.not_attached(port.interface, span, error.reason, error.mend)
