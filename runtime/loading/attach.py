"""Attaches programs to interfaces: preconditions, then a pinned link for each port."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from errno import EACCES, EBUSY, EEXIST, EOPNOTSUPP, EPERM
from pathlib import Path

from ...lang.contract.manifest.manifest import Manifest
from ...lang.text.diagnostics import Diagnostic, Label, Refused
from ...lang.text.source import Span
from ..base import errors
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
    """Check what a port needs to work, before anything is attached. `forwards`: packets leave by
    other ports than they arrive by. Raises `Refused`."""
    by_index = {link.index: link for link in links}
    found: list[Diagnostic] = []
    for port in ports:
        link, span = by_index[port.ifindex], spans.get(port.number)
        if link.program:
            pipeline = holder_of(link.program)
            called = "" if pipeline else _name_of(link.program)
            found.append(another_program(link.name, link.program, span, pipeline, called))
        elif mode is XdpMode.NATIVE:
            found += unfit(port, link, span, forwards)
    if found:
        raise Refused(found)


def _name_of(program: int) -> str:
    """The program's name; empty where we may not read it, or it is gone by now."""
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
        return [_no_native(link.name, span, why)]
    if forwards and features is not None and not features & XDP_REDIRECTED:
        with Netlink() as netlink:
            other = netlink.other_end(link) if link.kind == "veth" else None
        return [_no_redirect(link.name, span, link.kind, other)]
    return []


def warnings(
    manifest: Manifest, ports: Iterable[Port], netlink: Netlink, mode: XdpMode, spans: Spans
) -> Iterator[Diagnostic]:
    """Of attached ports on which a part of the pipeline does not work."""
    ports = list(ports)
    if manifest.forwards:
        yield from _not_routing(ports, spans)
    if mode is XdpMode.NATIVE:
        answering = [port for port in ports if manifest.roles[port.role] in manifest.answers]
        yield from _not_answering(answering, netlink, spans)


def _not_answering(ports: Iterable[Port], netlink: Netlink, spans: Spans) -> Iterator[Diagnostic]:
    """A veth delivers packets of XDP_TX only where its other end has a native XDP program
    (veth_xdp_flush in drivers/net/veth.c)."""
    links = {link.index: link for link in netlink.links()}
    for port in ports:
        link = links.get(port.ifindex)
        other = netlink.other_end(link) if link is not None and link.kind == "veth" else None
        if other is not None and not other.native:
            yield not_answering(port.interface, spans.get(port.number), other)


def _not_routing(ports: Iterable[Port], spans: Spans) -> list[Diagnostic]:
    """Ports by which the kernel does not route, so that its FIB answers nothing."""
    found = []
    for port in ports:
        setting = Path("/proc/sys/net/ipv4/conf", port.interface, "forwarding")
        if setting.exists() and setting.read_text().strip() == "0":
            found.append(_not_routing_error(port.interface, spans.get(port.number)))
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
            raise Refused([_error(error, port, mode, spans.get(port.number))]) from error


def link_of(name: str, port: int) -> Path:
    """Where the link of a pipeline's port is pinned."""
    return ROOT / name / f"link_{port}"


def _error(error: BpfError, port: Port, mode: XdpMode, span: Span | None) -> Diagnostic:
    if error.errno in (EBUSY, EEXIST):
        return another_program(port.interface, 0, span)
    if error.errno == EOPNOTSUPP and mode is XdpMode.NATIVE:
        return _no_native(port.interface, span, "its driver has none")
    if error.errno in (EPERM, EACCES):
        return errors.no_privilege(f"attach to `{port.interface}`")
    return _not_attached(port.interface, span, error.reason, error.fix)


# ---- errors ---------------------------------------------------------------------------------


#: What libxdp calls the program by which several share an interface.
DISPATCHER = "xdp_dispatcher"
#: A program that lets everything pass (examples/pass.bpf.c), which packages do not bring.
_PASS_PROGRAM = (
    """echo '__attribute__((section("xdp"))) int pass(void *p) { return 2; }' | """
    "clang-16 -O2 -target bpf -xc - -c -o pass.o"
)


def _at(span: Span | None, text: str = "") -> tuple[Label, ...]:
    return (Label(span, text),) if span is not None else ()


def another_program(
    interface: str, number: int, span: Span | None, holder: str = "", called: str = ""
) -> Diagnostic:
    """`number`, `called`: the program's id and name, where they are known."""
    if holder:
        return Diagnostic(
            "H0724", f"the pipeline `{holder}` is attached to `{interface}`",
            _at(span, "this interface is taken"),
            f"`helioctl --name {holder} unload` first: an interface has one pipeline at a time",
        )  # fmt: skip
    known = [f"`{called}`"] if called else []
    known += [f"id {number}"] if number else []
    about = f" ({', '.join(known)})" if known else ""
    help_ = (
        f"`ip link set dev {interface} xdp off` takes it away, unless its owner holds it by a link "
        "(`bpftool net`)"
    )
    if called == DISPATCHER:
        help_ = (
            f"it is libxdp's: `xdp-loader status {interface}` shows whose programs it runs, and "
            f"`xdp-loader unload {interface} --all` takes them away"
        )
    return Diagnostic(
        "H0724", f"another XDP program{about} is attached to `{interface}`",
        _at(span, "this interface is taken"), help_,
    )  # fmt: skip


def _no_native(interface: str, span: Span | None, why: str) -> Diagnostic:
    return Diagnostic("H0725", f"no native XDP on `{interface}`: {why}",
                      _at(span, "its driver must support it"),
                      "`mode: generic` works on every interface, slower")  # fmt: skip


def _no_redirect(
    interface: str, span: Span | None, kind: str, other: Interface | None = None
) -> Diagnostic:
    """`other`: of a veth, its other end, where that is known."""
    help_ = "`mode: generic` does without"
    if kind == "veth":
        peer = other.name if other is not None else "PEER"
        first = "" if other is None or other.up else f"`ip link set {peer} up`, then "
        help_ = (
            f"a veth takes them while its other end, {peer}, polls: {first}`ethtool -K {peer} gro "
            f"off` and `ethtool -K {peer} gro on`{_within(other)} (the veth only sees GRO change "
            "while that is up); or `mode: generic`"
        )
    return Diagnostic("H0726", f"`{interface}` would lose the packets that are forwarded to it",
                      _at(span, "this interface takes no redirected frames"), help_)  # fmt: skip


def not_answering(interface: str, span: Span | None, other: Interface) -> Diagnostic:
    return Diagnostic(
        "H0729",
        f"what the pipeline sends back by `{interface}` is lost, or waits for the next frame",
        (Label(span, f"its other end, {other.name}, has no XDP program"),) if span else (),
        "a veth delivers it to a native XDP program, which may pass everything: "
        f"`{_PASS_PROGRAM}`, then `ip link set {other.name} xdpdrv object pass.o section xdp`"
        f"{_within(other)}; or `mode: generic`",
        "warning",
    )


def _within(other: Interface | None) -> str:
    """Where the other end of a veth is."""
    return " in its network namespace" if other is not None and other.other_in is not None else ""


def _not_attached(interface: str, span: Span | None, why: str, fix: str) -> Diagnostic:
    return Diagnostic("H0727", f"cannot attach to `{interface}`: {why}", _at(span), fix)


def _not_routing_error(interface: str, span: Span | None) -> Diagnostic:
    return Diagnostic(
        "H0744",
        f"the kernel does not route by `{interface}`",
        (Label(span, "its forwarding is off"),) if span else (),
        f"sysctl -w net.ipv4.conf.{interface}.forwarding=1; until then only next hops that "
        "`load` and `refresh` find are known",
        "warning",
    )
