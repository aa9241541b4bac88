"""Attaches programs to interfaces: preconditions, then a pinned link for each port."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from contextlib import suppress
from errno import EACCES, EBUSY, EEXIST, EINVAL, ENOENT, EOPNOTSUPP, EPERM
from pathlib import Path

from ...lang.contract.manifest.manifest import Manifest
from ...lang.text.diagnostics import Diagnostic, Label, Refused
from ...lang.text.source import Span
from ..base import errors
from ..kernel.handles import BpfError, Program, XdpMode
from ..kernel.netlink import XDP_REDIRECTED, Netlink, xdp_features
from ..kernel.netlink import Link as Interface
from ..ports.ports import Port, PortConfig
from . import attachments
from .attachments import open_attachment
from .install import entry_pin
from .pinned import Pinned
from .releases import ROOT, holder_of

Spans = Mapping[int, Span]
"""Where the configuration names the interface of a port's number."""


def check(
    manifest: Manifest, ports: Iterable[Port], links: Iterable[Interface], mode: XdpMode,
    spans: Spans, among: Iterable[Port],
) -> None:  # fmt: skip
    """Check what ports need to work, before anything is attached. `among`: all of the pipeline. At
    tc programs stand behind each other. Raises `Refused`."""
    by_index = {link.index: link for link in links}
    native = mode is XdpMode.NATIVE
    redirects = native and manifest.forwards and any(port.at == "xdp" for port in among)
    found: list[Diagnostic] = []
    for port in ports:
        link, span = by_index[port.ifindex], spans.get(port.number)
        bare = manifest.roles[port.role] in manifest.bare
        if link.ethernet is bare:
            found.append(_another_link(link, manifest.roles[port.role], bare, span))
        elif bare and not link.strips:
            found.append(_not_stripped(link.name, link.kind, span))
        elif port.at != "xdp":
            found += takes_no_frames(port, link, span) if redirects else []
        elif link.program:
            pipeline = holder_of(link.program)
            called = "" if pipeline else _name_of(link.program)
            found.append(another_program(link.name, link.program, span, pipeline, called))
        elif native:
            found += unfit(port, link, span, manifest.forwards)
    if found:
        raise Refused(found)


def bare_ports(name: str, ports: Iterable[Port], links: Iterable[Interface]) -> list[Port]:
    """The ports of a pipeline whose interface is there, and has no program."""
    by_index = {link.index: link for link in links}
    here = [(port, by_index[port.ifindex]) for port in ports if port.ifindex in by_index]
    return [port for port, link in here if not has_program(name, port, link)]


def has_program(name: str, port: Port | PortConfig, link: Interface) -> bool:
    """Whether a port's packets come to one: any at XDP, where there is one at a time; our own at
    tc."""
    return bool(link.program) if port.at == "xdp" else is_attached(name, port.number, link.index)


def is_attached(name: str, port: int, ifindex: int) -> bool:
    """Whether a program of the pipeline is, by the number of a port."""
    with suppress(BpfError), open_attachment(link_of(name, port)) as link:
        return link.info().ifindex == ifindex
    return False


def _name_of(program: int) -> str:
    """The program's name; empty where we may not read it, or it is gone by now."""
    with suppress(BpfError), Program.open_id(program) as found:
        return found.name
    return ""


def unfit(port: Port, link: Interface, span: Span | None, forwards: bool) -> list[Diagnostic]:
    """What keeps an interface from native XDP, or from taking redirected frames."""
    if xdp_features(port.ifindex) == 0:
        why = "its driver has none"
        if link.kind == "veth":
            why = "its other end sends by more queues than it receives by (`ethtool -l`)"
        return [_no_native(link.name, span, why)]
    return takes_no_frames(port, link, span) if forwards else []


def takes_no_frames(port: Port, link: Interface, span: Span | None) -> list[Diagnostic]:
    """Whether the frames are lost that XDP redirects to an interface."""
    features = xdp_features(port.ifindex)
    if features is None or features & XDP_REDIRECTED:
        return []
    with Netlink() as netlink:
        other = netlink.other_end(link) if link.kind == "veth" else None
    return [_no_redirect(link.name, span, link.kind, other)]


def attach(loaded: Pinned, ports: Iterable[Port], mode: XdpMode, spans: Spans) -> None:
    """Attach each port's entry program and pin its link. Raises `Refused`; links made before stay
    pinned for the caller to remove."""
    for port in ports:
        pin = link_of(loaded.name, port.number)
        try:
            with Program.open_pinned(entry_pin(loaded.directory, loaded.manifest, port)) as program:
                attachments.attach(program, port.at, port.ifindex, mode, pin, loaded.name)
        except BpfError as error:
            raise Refused([_error(error, port, mode, spans.get(port.number))]) from error


def mode_of(mode: str) -> XdpMode:
    """That of a pipeline's ports at XDP, by its name in the edge's YAML."""
    return XdpMode.GENERIC if mode == "generic" else XdpMode.NATIVE


def link_of(name: str, port: int) -> Path:
    """Where the link of a pipeline's port is pinned."""
    return ROOT / name / f"link_{port}"


def _error(error: BpfError, port: Port, mode: XdpMode, span: Span | None) -> Diagnostic:
    if port.at != "xdp":
        return _not_at_tc(error, port, span)
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
            f"off` and `ethtool -K {peer} gro on`{within(other)} (the veth only sees GRO change "
            "while that is up); or `mode: generic`"
        )
    return Diagnostic("H0726", f"`{interface}` would lose the packets that are forwarded to it",
                      _at(span, "this interface takes no redirected frames"), help_)  # fmt: skip


def within(other: Interface | None) -> str:
    """Where the other end of a veth is."""
    return " in its network namespace" if other is not None and other.other_in is not None else ""


def _not_at_tc(error: BpfError, port: Port, span: Span | None) -> Diagnostic:
    """tcx, or clsact, refused a program."""
    if error.errno in (EPERM, EACCES):
        return errors.no_privilege(f"attach to `{port.interface}`")
    if error.errno == ENOENT:
        help_ = (
            "tc programs take tcx, that is Linux 6.6, or a kernel that has sch_ingress and cls_bpf "
            f"(CONFIG_NET_SCH_INGRESS, CONFIG_NET_CLS_BPF); this one is {os.uname().release}"
        )
        title = f"this kernel has no tc programs, for `{port.interface}` at {port.at}"
        return Diagnostic("H0738", title, _at(span), help_)
    if error.errno in (EEXIST, EINVAL):
        help_ = (
            f"`tc qdisc show dev {port.interface}` and `tc filter show dev {port.interface} "
            f"{port.at.removeprefix('tc.')}` show what is there; before Linux 6.6 Helio needs a "
            "clsact qdisc, which an `ingress` one excludes at tc.egress, and the priority 49152"
        )
        title = f"`{port.interface}` has something in the way at {port.at}"
        return Diagnostic("H0739", title, _at(span), help_)
    return _not_attached(port.interface, span, error.reason, error.fix)


def _another_link(link: Interface, role: str, bare: bool, span: Span | None) -> Diagnostic:
    """The role's packets begin with something else (`bare`: without a link header)."""
    if bare:
        why = f"its packets have Ethernet headers, and those of `{role}` none (`link ip`)"
        fix = "name an interface without them, as tun devices, WireGuard and tunnels of IP are"
    else:
        why = f"its packets have no Ethernet header, which those of `{role}` begin with"
        fix = (
            f"name an interface that has it (`ip link`: link/ether), or have `{role} at tc.ingress "
            "link ip` in the pipeline"
        )
    return Diagnostic("H0737", f"`{link.name}` is no port of `{role}`: {why}", _at(span), fix)


def _not_stripped(interface: str, kind: str, span: Span | None) -> Diagnostic:
    """To a device of such a kind the kernel would send an Ethernet header."""
    why = "the kernel leaves Ethernet headers in front of what programs send by it"
    return Diagnostic(
        "H0737", f"`{interface}` is no port: {why} ({kind or 'no kind'})", _at(span),
        "tun devices, WireGuard, XFRM interfaces and tunnels of IP can be",
    )  # fmt: skip


def _not_attached(interface: str, span: Span | None, why: str, fix: str) -> Diagnostic:
    return Diagnostic("H0727", f"cannot attach to `{interface}`: {why}", _at(span), fix)
