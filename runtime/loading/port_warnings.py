"""Attached ports on which a part of a pipeline does not work, and what helps."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from ...lang.contract.manifest.manifest import Manifest
from ...lang.text.diagnostics import Diagnostic, Label
from ...lang.text.source import Span
from ..kernel.ethtool import vlan_offload
from ..kernel.handles import XdpMode
from ..kernel.netlink import Link as Interface
from ..kernel.netlink import Netlink
from ..ports.ports import Port
from .attach import Spans, within

_TAGS = (0x8100, 0x88A8)  # IEEE 802.1Q-2018 table 9-1


def warnings(
    manifest: Manifest, ports: Iterable[Port], netlink: Netlink, mode: XdpMode, spans: Spans
) -> Iterator[Diagnostic]:
    """Of attached ports on which a part of the pipeline does not work."""
    ports, links = list(ports), {link.index: link for link in netlink.links()}
    if reads_tags(manifest):
        yield from _without_tags(ports, links, netlink, spans)
    if manifest.routes:
        yield from _not_routing(ports, spans)
    if mode is XdpMode.NATIVE:
        answering = [
            port
            for port in ports
            if port.at == "xdp" and manifest.roles[port.role] in manifest.answers
        ]
        yield from _not_answering(answering, links, netlink, spans)


def reads_tags(manifest: Manifest) -> bool:
    """Whether the parse graph tells frames with a VLAN tag from others."""
    steps = manifest.anatomy.steps if manifest.anatomy is not None else ()
    return any(
        low <= tag <= high
        for step in steps for _, ranges in step.when for low, high in ranges for tag in _TAGS
    )  # fmt: skip


def _without_tags(
    ports: Iterable[Port], links: Mapping[int, Interface], netlink: Netlink, spans: Spans
) -> Iterator[Diagnostic]:
    """XDP runs in front of the kernel's own reading of tags: one that the driver took off the frame
    (a veth: that the sender left beside it) is not there. At tc it is put back."""
    for port in ports:
        link, device, feature = links.get(port.ifindex), port.interface, "rxvlan"
        if port.at != "xdp" or link is None:
            continue
        beside = link.kind != "veth" and vlan_offload(device).received
        if link.kind == "veth":
            other, feature = netlink.other_end(link), "txvlan"
            if other is not None and other.other_in is None:
                device, beside = other.name, vlan_offload(other.name).sent
        if beside:
            yield _tags_taken_off(port.interface, spans.get(port.number), device, feature)


def _not_answering(
    ports: Iterable[Port], links: Mapping[int, Interface], netlink: Netlink, spans: Spans
) -> Iterator[Diagnostic]:
    """A veth delivers packets of XDP_TX only where its other end has a native XDP program
    (veth_xdp_flush in drivers/net/veth.c)."""
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


# ---- errors ---------------------------------------------------------------------------------


#: A program that lets everything pass (examples/pass.bpf.c), which packages do not bring.
_PASS_PROGRAM = (
    """echo '__attribute__((section("xdp"))) int pass(void *p) { return 2; }' | """
    "clang-16 -O2 -target bpf -xc - -c -o pass.o"
)


def not_answering(interface: str, span: Span | None, other: Interface) -> Diagnostic:
    return Diagnostic(
        "H0729",
        f"what the pipeline sends back by `{interface}` is lost, or waits for the next frame",
        (Label(span, f"its other end, {other.name}, has no XDP program"),) if span else (),
        "a veth delivers it to a native XDP program, which may pass everything: "
        f"`{_PASS_PROGRAM}`, then `ip link set {other.name} xdpdrv object pass.o section xdp`"
        f"{within(other)}; or `mode: generic`",
        "warning",
    )


def _not_routing_error(interface: str, span: Span | None) -> Diagnostic:
    return Diagnostic(
        "H0744",
        f"the kernel does not route by `{interface}`",
        (Label(span, "its forwarding is off"),) if span else (),
        f"sysctl -w net.ipv4.conf.{interface}.forwarding=1; until then only next hops that "
        "`load` and `refresh` find are known",
        "warning",
    )


def _tags_taken_off(interface: str, span: Span | None, device: str, feature: str) -> Diagnostic:
    whose = "its driver" if device == interface else f"its other end, {device},"
    return Diagnostic(
        "H0746",
        f"the pipeline does not see VLAN tags of frames that come by `{interface}`",
        (Label(span, f"{whose} keeps them beside the frame"),) if span else (),
        f"`ethtool -K {device} {feature} off`: then they stay in the frame",
        "warning",
    )
