"""Errors of an edge's YAML, but for those of the readers of single keys."""

from __future__ import annotations

from collections.abc import Iterable

from ...lang.text.diagnostics import Diagnostic, Label, did_you_mean, ticked
from ...lang.text.source import Span


def missing_key(where: Span, key: str, of: str, example: str) -> Diagnostic:
    return Diagnostic("H0605", f"{of} needs `{key}`", (Label(where, f"`{key}` is missing"),),
                      f"add `{key}: {example}`")  # fmt: skip


def unknown_interface(where: Span, name: str, have: Iterable[str]) -> Diagnostic:
    have = sorted(have)
    help_ = did_you_mean(name, have) or f"the interfaces here are {ticked(have)}"
    labels = (Label(where, "no such interface in this network namespace"),)
    return Diagnostic("H0607", f"there is no interface `{name}`", labels, help_)


def no_programs(where: Span, role: str, at: str) -> Diagnostic:
    return Diagnostic(
        "H0564", f"the bundle has no programs for {at}", (Label(where, "no port can be there"),),
        f"the pipeline says where roles are: `ports {role} at {at}`; compile it again",
    )  # fmt: skip


def answers_at_egress(where: Span, role: str) -> Diagnostic:
    return Diagnostic(
        "H0566", f"packets of `{role}` may be sent back, which cannot be at tc.egress",
        (Label(where, "what comes here leaves this host"),), "have it at tc.ingress, or at xdp",
    )  # fmt: skip


def bare_elsewhere(where: Span, role: str) -> Diagnostic:
    return Diagnostic(
        "H0562", f"packets of `{role}` have no link header, which only programs at tc.ingress take",
        (Label(where, "frames come here"),), "leave `at` out: the pipeline says `link ip`",
    )  # fmt: skip


def sends_to_bare(where: Span, role: str, bare: str) -> Diagnostic:
    return Diagnostic(
        "H0562", f"what XDP sends cannot go to ports of `{bare}`, which have no link headers",
        (Label(where, "sends frames"),), f"have `{role}` at tc.ingress",
    )  # fmt: skip


def tag_without_link(where: Span, role: str) -> Diagnostic:
    return Diagnostic(
        "H0563", f"packets of `{role}` have no link header to put a VLAN tag in",
        (Label(where, "a tag"),), "leave `vlan` out: the pipeline says `link ip`",
    )  # fmt: skip


def interface_twice(first: Span, second: Span, name: str) -> Diagnostic:
    labels = (Label(second, "a second port"), Label(first, "the first"))
    return Diagnostic("H0608", f"two ports have the interface `{name}`", labels,
                      "an interface is one port: name another one, or remove a port")  # fmt: skip


def number_twice(first: Span, second: Span, number: int) -> Diagnostic:
    labels = (Label(second, "taken"), Label(first, "by this port"))
    return Diagnostic("H0610", f"two ports have the number {number}", labels,
                      "leave `number` out to have a free one allotted")  # fmt: skip


def bad_address(where: Span, text: str) -> Diagnostic:
    return Diagnostic("H0611", f"`{text}` is no IPv4 address", (Label(where, "not an address"),),
                      "write it as 192.0.2.1, without a prefix length")  # fmt: skip


def too_many_ports(where: Span, most: int) -> Diagnostic:
    help_ = f"a pipeline has {most} at most: load it a second time for the others"
    title = f"there are more than {most} ports"
    return Diagnostic("H0612", title, (Label(where, "one too many"),), help_)


def no_ports(where: Span) -> Diagnostic:
    return Diagnostic("H0613", "no ports are named", (Label(where, "`ports` is missing or empty"),),
                      "add `ports: {LAN: {role: lan, interface: eth1}}`")  # fmt: skip


def address_elsewhere(where: Span, address: str, interface: str, have: Iterable[str]) -> Diagnostic:
    have = list(have)
    help_ = f"it has {', '.join(have)}" if have else f"`ip address add … dev {interface}`"
    labels = (Label(where, "not an address of it"),)
    return Diagnostic("H0614", f"`{interface}` does not have the address {address}", labels, help_)


def bad_name(where: Span, name: str) -> Diagnostic:
    labels = (Label(where, "not a name"),)
    help_ = "1 to 63 bytes that can be printed, no quotation mark, not a number"
    return Diagnostic("H0615", f"`{name}` cannot be a name", labels, help_)


def control_is_port(where: Span, port: Span, name: str) -> Diagnostic:
    labels = (Label(where, "the control interface"), Label(port, "a port, too"))
    return Diagnostic(
        "H0616", f"the control interface `{name}` is also a port", labels,
        "the controller is then reached through the pipeline: this works while its rules let it; "
        "a separate interface is safer", "warning",
    )  # fmt: skip
