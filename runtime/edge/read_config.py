"""Reads an edge's YAML into a `Config`, with places: see docs/edge-yaml.md."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from ipaddress import ip_address
from pathlib import Path
from types import MappingProxyType
from typing import Any

from ...lang.contract.manifest.manifest import ATTACH_POINTS, Manifest, RuleKind
from ...lang.contract.request.request import IE, Change, Request, RuleItem, is_name
from ...lang.contract.rules.rulebook import RuleBook
from ...lang.text.diagnostics import Diagnostic, Diagnostics, Label, Refused
from ...lang.text.source import Source, Span
from ...lang.text.yaml_reader import Entry
from ..kernel.netlink import Address, Link, Netlink
from ..ports.ports import PortConfig
from . import errors
from .config import Config
from .features import SECTIONS
from .rule_errors import more_errors
from .sections import Around
from .yaml_nodes import Nodes, spelled

#: Of ports that have none yet.
NO_NUMBERS: Mapping[str, int] = MappingProxyType({})
_FIXED = ("bundle", "ports", "rules", "default", "control", "mode")
_PORT = ("role", "interface", "vlan", "number", "at")


@dataclass(frozen=True)
class Host:
    """What a configuration may refer to: interfaces and addresses of the network namespace."""

    links: tuple[Link, ...]
    addresses: tuple[Address, ...]


def read_here(
    source: Source, manifest: Manifest, numbers: Mapping[str, int] = NO_NUMBERS
) -> tuple[Config, Diagnostics]:
    """`read_config`, of the network namespace that this thread is in."""
    with Netlink() as netlink:
        host = Host(tuple(netlink.links()), tuple(netlink.addresses()))
    return read_config(source, manifest, host, numbers)


def read_config(
    source: Source, manifest: Manifest, host: Host, numbers: Mapping[str, int] = NO_NUMBERS
) -> tuple[Config, Diagnostics]:
    """The configuration, and warnings. `numbers`: those that ports have already, by name. Raises
    `Refused` with everything that is wrong."""
    found = Diagnostics()
    reader = _Reader(source, found, manifest, host, numbers)
    config = reader.config()
    if found.errors:
        book = RuleBook(manifest, {port.name: port.number for port in config.ports})
        found.extend(more_errors(book, reader.sound(config.requests)))
    found.stop_if_errors()
    return config, found


def bundle_of(source: Source) -> Path | None:
    """The `bundle` that a configuration names, relative to its own place. Raises `Refused`."""
    found = Diagnostics()
    nodes = Nodes(source, found)
    root = nodes.mapping(nodes.root(), "the edge", None)
    found.stop_if_errors()
    text = nodes.text(root["bundle"].value) if "bundle" in root else None
    if not text:
        return None
    return (source.path.parent if source.path else Path()) / text


class _Reader:
    def __init__(
        self, source: Source, found: Diagnostics, manifest: Manifest, host: Host,
        numbers: Mapping[str, int],
    ) -> None:  # fmt: skip
        self.nodes, self.found, self.source = Nodes(source, found), found, source
        self.manifest, self.host, self.numbers = manifest, host, numbers
        self.spans: dict[int, Span] = {}
        self.by_interface: dict[str, Span] = {}
        self.port_of: dict[str, str] = {}  # interface to port
        self._unsound: set[str] = set()  # names of rules that could not be read whole

    def config(self) -> Config:
        named = {f"{kind.prefix}s": kind for kind in self.manifest.rules if kind.named}
        nodes = self.nodes
        root_node = nodes.root()
        always = [s.key for s in SECTIONS if s.has is None]
        more = [s.key for s in SECTIONS if s.has is not None and s.has(self.manifest)]
        known = [*_FIXED, *always, *named, *more]
        root = nodes.mapping(root_node, "the edge", known)
        whole = nodes.span(root_node) if nodes.whole(root_node, root) else None
        ports = self._ports(root.get("ports"), whole)
        default = nodes.word(root["default"].value, "verdict", ("pass", "drop")) if (
            "default" in root) else None  # fmt: skip
        mode = nodes.word(root["mode"].value, "mode", ("native", "generic")) if (
            "mode" in root) else None  # fmt: skip
        control = self._control(root["control"]) if "control" in root else None
        own = {each.address for each in self.host.addresses}
        around, settings = Around(nodes, root, self.manifest, own), dict[str, Any]()
        for section in SECTIONS:
            found = section.read(around, root[section.key]) if section.key in root else None
            if found is not None:
                settings[section.key] = asdict(found)
        requests = [self._named(kind, root[key]) for key, kind in named.items() if key in root]
        requests += self._rules(root["rules"].value) if "rules" in root else []
        return Config(
            tuple(ports), default, mode or "native",  # type: ignore[arg-type]
            tuple(r for r in requests if r.changes), self.spans, control, settings,
        )  # fmt: skip

    # ---- ports ------------------------------------------------------------------------------

    def _ports(self, entry: Entry | None, whole: Span | None) -> list[PortConfig]:
        """`whole`: the file, unless a key of it is wrong, which may be this one."""
        nodes = self.nodes
        named = nodes.mapping(entry.value, "`ports`", None) if entry else {}
        if not named and entry and nodes.whole(entry.value, named):
            self.found.add(errors.no_ports(nodes.span(entry.key)))
        elif not entry and whole:
            self.found.add(errors.no_ports(self.source.span(whole.start, whole.start)))
        drafts = [(name, each, self._port(name, each)) for name, each in named.items()]
        most = self.manifest.max_ports - 1
        if len(drafts) > most:
            self.found.add(errors.too_many_ports(nodes.span(drafts[most][1].key), most))
            return []
        taken: dict[int, Span] = {}
        for _, each, draft in drafts:
            number = draft.get("number")
            if number is None:
                continue
            span = nodes.span(each.key)
            if number in taken:
                self.found.add(errors.number_twice(taken[number], span, number))
            taken.setdefault(number, span)
        kept = {*taken, *self.numbers.values()}
        free = (n for n in range(1, most + 1) if n not in kept)
        found = []
        for name, _, draft in drafts:
            number = draft.get("number") or self.numbers.get(name) or next(free)
            if "span" in draft:
                self.spans[number] = draft["span"]
            interface = draft.get("interface", "")
            self.port_of.setdefault(interface, name)
            role = draft.get("role", 0)
            at = draft.get("at") or self.manifest.attach_point(role)
            found.append(PortConfig(number, name, role, interface, draft.get("vlan", 0), at))
        return found

    def _port(self, name: str, entry: Entry) -> dict[str, Any]:
        nodes, draft = self.nodes, dict[str, Any]()
        where = nodes.span(entry.key)
        if not 0 < len(name.encode()) < 64 or not is_name(name) or name.isdigit():
            self.found.add(errors.bad_name(where, name))
        given = nodes.mapping(entry.value, f"the port `{name}`", _PORT)
        for key, example in (("role", self.manifest.roles[0]), ("interface", "eth1")):
            if key not in given and nodes.whole(entry.value, given):
                self.found.add(errors.missing_key(where, key, f"the port `{name}`", example))
        if "role" in given:
            role = nodes.word(given["role"].value, "role", self.manifest.roles)
            draft["role"] = self.manifest.roles.index(role) if role else 0
        if "interface" in given:
            self._interface(given["interface"].value, draft)
        if "vlan" in given:
            draft["vlan"] = nodes.number(given["vlan"].value, "VLAN id", 1, 4094) or 0
            role = self.manifest.roles[draft.get("role", 0)]
            if role in self.manifest.bare:
                self.found.add(errors.tag_without_link(nodes.span(given["vlan"].value), role))
        if "at" in given:
            draft["at"] = self._attach_point(given["at"].value, draft.get("role", 0))
        if "number" in given:
            most = self.manifest.max_ports - 1
            draft["number"] = nodes.number(given["number"].value, "port number", 1, most)
        return draft

    def _attach_point(self, node: Any, role: int) -> str | None:
        """Where a port is attached, if not where its role says."""
        at = self.nodes.word(node, "attach point", ATTACH_POINTS)
        span, manifest, name = self.nodes.span(node), self.manifest, self.manifest.roles[role]
        if at is None:
            return None
        if not manifest.has_programs(at):
            self.found.add(errors.no_programs(span, name, at))
        elif name in manifest.bare and at != "tc.ingress":
            self.found.add(errors.bare_elsewhere(span, name))
        elif at == "tc.egress" and name in manifest.answers:
            self.found.add(errors.answers_at_egress(span, name))
        elif at == "xdp" != manifest.attach_point(role) and manifest.bare and manifest.forwards:
            self.found.add(errors.sends_to_bare(span, name, manifest.bare[0]))
        return at

    def _interface(self, node: Any, draft: dict[str, Any]) -> None:
        name = self._existing(node)
        if name is None:
            return
        draft["span"] = span = self.nodes.span(node)
        draft["interface"] = name
        if name in self.by_interface:
            self.found.add(errors.interface_twice(self.by_interface[name], span, name))
        self.by_interface.setdefault(name, span)

    def _existing(self, node: Any) -> str | None:
        name = self.nodes.text(node)
        have = [link.name for link in self.host.links]
        if name is not None and name not in have:
            self.found.add(errors.unknown_interface(self.nodes.span(node), name, have))
            return None
        return name

    # ---- control ----------------------------------------------------------------------------

    def _control(self, entry: Entry) -> tuple[str, str] | None:
        nodes = self.nodes
        given = nodes.mapping(entry.value, "`control`", ("interface", "address"))
        for key, example in (("interface", "eth0"), ("address", "192.0.2.10")):
            if key not in given and nodes.whole(entry.value, given):
                where = nodes.span(entry.key)
                self.found.add(errors.missing_key(where, key, "`control`", example))
        if len(given) < 2:
            return None
        name = self._existing(given["interface"].value)
        text = nodes.text(given["address"].value)
        if name is None or text is None:
            return None
        where = nodes.span(given["address"].value)
        try:
            address = ip_address(text).packed
        except ValueError:
            self.found.add(errors.bad_address(where, text))
            return None
        index = next(link.index for link in self.host.links if link.name == name)
        own = [a.address for a in self.host.addresses if a.index == index]
        if address not in own:
            have = [str(ip_address(a)) for a in own]
            self.found.add(errors.address_elsewhere(where, text, name, have))
        if name in self.by_interface:
            span = nodes.span(given["interface"].value)
            self.found.add(errors.control_is_port(span, self.by_interface[name], name))
        return name, str(ip_address(address))

    # ---- rules ------------------------------------------------------------------------------

    def sound(self, requests: Iterable[Request]) -> Iterator[Request]:
        """The requests without the named rules that could not be read whole."""
        for request in requests:
            changes = []
            for change in request.changes:
                items = [item for item in change.items if not self._is_unsound(item)]
                changes += [change._replace(items=tuple(items))] if items else []
            if changes:
                yield request._replace(changes=tuple(changes))

    def _is_unsound(self, item: RuleItem | IE) -> bool:
        return isinstance(item, RuleItem) and item.name in self._unsound

    def _named(self, kind: RuleKind, entry: Entry) -> Request:
        """`overlays: {NAME: {element: value}}` as the request that creates them."""
        nodes, items, ids = self.nodes, [], dict[int, Span]()
        for name, each in nodes.mapping(entry.value, f"`{kind.prefix}s`", None).items():
            key, before = nodes.span(each.key), len(self.found.found)
            known = [*(x.element for x in kind.match), *kind.gives, "id"]
            given = nodes.mapping(each.value, f"{kind.name} `{name}`", known)
            number = nodes.number(given["id"].value, "id", 1, 0xFFFFFFFF) if "id" in given else None
            if number is not None and number in ids and not kind.grouped:
                labels = (Label(key, "taken"), Label(ids[number], "by this one"))
                title = f"two of `{kind.prefix}s` have the id {number}"
                help_ = "leave `id` out to have a free one allotted"
                self.found.add(Diagnostic("H0610", title, labels, help_))
            ids.setdefault(number or 0, key)
            ies = [
                self._ie(element, value) for element, value in given.items()
                if element != "id" and nodes.text(value.value) is not None
            ]  # fmt: skip
            at = (key.start, key.end, max([key.end, *(ie.at[-1] for ie in ies)]))
            items.append(RuleItem(kind.name, number, name, tuple(ies), True, at))
            if len(self.found.found) > before:
                self._unsound.add(name)
        verb = nodes.span(entry.key)
        changes = (Change("create", tuple(items), (verb.start, verb.end)),) if items else ()
        return Request(changes, self.source)

    def _ie(self, element: str, entry: Entry) -> IE:
        """YAML leaves the lengths to the manifest. An interface of a port may be named, too."""
        text = str(entry.value.value)
        if element in {e.name for e in self.manifest.elements if "port" in e.references}:
            ports = set(self.port_of.values())
            text = text if text in ports else self.port_of.get(text, text)
        form, value, other = spelled(text)
        key, whole = self.nodes.span(entry.key), self.nodes.span(entry.value)
        inner = (whole.start, whole.end)
        return IE(element, "", form, value, other,
                  (key.start, key.end, *inner, *inner, *inner, key.start, whole.end))  # fmt: skip

    def _rules(self, node: Any) -> list[Request]:
        """Requests as text."""
        from ...lang.contract.request.request_parser import parse_request

        text = self.nodes.text(node)
        if text is None or not text.strip():
            return []
        source = self._in_place(node, text)
        try:
            request = parse_request(source)
            home = source.name == self.source.name
            return [request._replace(source=self.source) if home else request]
        except Refused as error:
            for found in error.diagnostics:
                labels = [replace(x, span=self._home(x.span)) for x in found.labels]
                if source.name != self.source.name:
                    labels.append(Label(self.nodes.span(node), "in this text"))
                self.found.add(replace(found, labels=tuple(labels)))
            return []

    def _home(self, span: Span) -> Span:
        """The same place in the file itself, whose lines are to be shown."""
        same = span.source.name == self.source.name
        return self.source.span(span.start, span.end) if same else span

    def _in_place(self, node: Any, text: str) -> Source:
        """The file with nothing but the text of this node, so that places are the file's: a block
        (`rules: |`) loses its indentation as a value. Text with escapes, and folded text with
        comments, reads otherwise as a value than where it stands: it is its own source."""
        whole, start, end = self.source.text, node.start_mark.index, node.end_mark.index
        if node.style in ("|", ">"):
            start = whole.index("\n", start)
        elif node.style is not None:
            start, end = start + 1, end - 1
        folded = node.style != "|" and "//" in text
        if folded or whole[start:end].split() != text.split():
            return Source(f"{self.source.name}, rules", text)
        blank = "".join("\n" if c == "\n" else " " for c in whole[:start])
        return Source(self.source.name, blank + whole[start:end], self.source.path)
