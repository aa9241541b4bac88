"""What can be wrong in an edge's YAML: one function for each code, H06xx."""

from __future__ import annotations

from collections.abc import Iterable

from ...lang.text.diagnostics import Diagnostic, Label, did_you_mean
from ...lang.text.source import Span


def _listed(words: Iterable[str]) -> str:
    return ", ".join(f"`{word}`" for word in words)


def no_yaml(where: Span, problem: str, guide: str = "docs/edge-yaml.md") -> Diagnostic:
    return Diagnostic("H0601", f"this is no YAML: {problem}", (Label(where, "here"),),
                      f"{guide} has an example")  # fmt: skip


def misshapen(where: Span, problem: str, guide: str) -> Diagnostic:
    return Diagnostic("H0601", f"this YAML {problem}", (Label(where, "this one"),),
                      f"{guide} has an example")  # fmt: skip


def wrong_shape(where: Span, wanted: str) -> Diagnostic:
    return Diagnostic("H0602", f"{wanted} is expected here", (Label(where, f"not {wanted}"),))


def twice(first: Span, second: Span, key: str) -> Diagnostic:
    labels = (Label(second, "again"), Label(first, "first here"))
    return Diagnostic("H0603", f"`{key}` stands twice", labels, "remove one of them")


def unknown_key(where: Span, key: str, of: str, known: Iterable[str]) -> Diagnostic:
    known = list(known)
    help_ = did_you_mean(key, known) or f"the keys are {_listed(known)}"
    return Diagnostic("H0604", f"{of} has no key `{key}`", (Label(where, "unknown"),), help_)


def missing_key(where: Span, key: str, of: str, example: str) -> Diagnostic:
    return Diagnostic("H0605", f"{of} needs `{key}`", (Label(where, f"`{key}` is missing"),),
                      f"add `{key}: {example}`")  # fmt: skip


def unknown_word(where: Span, word: str, what: str, known: Iterable[str]) -> Diagnostic:
    known = list(known)
    help_ = did_you_mean(word, known) or f"one of {_listed(known)}"
    return Diagnostic("H0606", f"`{word}` is no {what}", (Label(where, f"no {what}"),), help_)


def unknown_interface(where: Span, name: str, have: Iterable[str]) -> Diagnostic:
    have = sorted(have)
    help_ = did_you_mean(name, have) or f"the interfaces here are {_listed(have)}"
    labels = (Label(where, "no such interface in this network namespace"),)
    return Diagnostic("H0607", f"there is no interface `{name}`", labels, help_)


def interface_twice(first: Span, second: Span, name: str) -> Diagnostic:
    labels = (Label(second, "a second port"), Label(first, "the first"))
    return Diagnostic("H0608", f"two ports have the interface `{name}`", labels,
                      "an interface is one port: name another one, or remove a port")  # fmt: skip


def bad_number(where: Span, text: str, what: str, least: int, most: int) -> Diagnostic:
    labels = (Label(where, f"{least} to {most}"),)
    return Diagnostic(
        "H0609", f"`{text}` is no {what}", labels, f"write a number, {least} to {most}"
    )


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


def bad_time(where: Span, text: str, least: float, most: float) -> Diagnostic:
    bounds = f"{least:g} s to {most:g} s"
    return Diagnostic("H0617", f"`{text}` is no time", (Label(where, bounds),),
                      f"write it as 1 s or 500 ms, {bounds}")  # fmt: skip


def overlay_elsewhere(where: Span, name: str, known: Iterable[str]) -> Diagnostic:
    help_ = did_you_mean(name, known) or "it counts once a request creates a rule of that name"
    labels = (Label(where, "not among its rules"),)
    return Diagnostic("H0618", f"this file has no overlay `{name}`", labels, help_, "warning")


def no_such_source(where: Span, address: str, have: Iterable[str]) -> Diagnostic:
    help_ = did_you_mean(address, have) or "answers to it would not come here"
    return Diagnostic("H0619", f"the host does not have the address {address}",
                      (Label(where, "not an address of it"),), help_)  # fmt: skip


def never_calm(where: Span, keys: tuple[str, str], enter: int, leave: int) -> Diagnostic:
    wide = max(enter, 2)
    return Diagnostic("H0620", f"congestion would begin at {enter} % and end at {leave} %",
                      (Label(where, f"`{keys[1]}` must be less than `{keys[0]}`"),),
                      f"leave a gap: `{{{keys[0]}: {wide}, {keys[1]}: {wide * 3 // 4 or 1}}}`"
                      )  # fmt: skip


def no_collector(where: Span, url: str) -> Diagnostic:
    return Diagnostic("H0621", f"reports cannot be sent to `{url}`",
                      (Label(where, "no URL of http or https with a host"),),
                      "say where the collector takes OTLP over HTTP: "
                      "https://collector.example.net:4318/v1/metrics")  # fmt: skip


def no_absolute_path(where: Span, key: str, path: str) -> Diagnostic:
    return Diagnostic("H0621", f"`{key}` is no path from the root: `{path}`",
                      (Label(where, "where it is depends on who reads it"),),
                      f"write the whole path: /etc/helio/{path}")  # fmt: skip


def bad_setting(where: Span, key: str, text: str, why: str, what: str | None) -> Diagnostic:
    shown = text if len(text) <= 60 else f"{text[:60]}…"
    label = (why[:1].lower() + why[1:]).rstrip(".")
    return Diagnostic("H0622", f"`{key}` cannot be `{shown}`", (Label(where, label),),
                      f"{key}: {(what or '').rstrip('.')}")  # fmt: skip


def control_is_port(where: Span, port: Span, name: str) -> Diagnostic:
    labels = (Label(where, "the control interface"), Label(port, "a port, too"))
    return Diagnostic(
        "H0616", f"the control interface `{name}` is also a port", labels,
        "the controller is then reached through the pipeline: this works while its rules let it; "
        "a separate interface is safer", "warning",
    )  # fmt: skip
