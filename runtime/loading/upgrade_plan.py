"""Plans an upgrade: what differs between the builds, which rules are written again, and what stands
in the way."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Protocol

from ...lang.contract.manifest.manifest import Manifest
from ...lang.contract.rules.rules import Rule
from ...lang.text.diagnostics import Diagnostic, Refused
from ...lang.text.source import Source
from ..base import errors as runtime_errors
from ..ports.ports import PortConfig, find_ports
from . import attach
from . import upgrade_errors as errors
from .bundle import Bundle
from .compare_builds import compare
from .convert_rules import convert_rules, usage_of
from .loader import Loaded
from .mapping_file import read_mapping
from .new_config import NewConfig, read_new_config
from .schema_change import ALWAYS, Answers, Concern, KindChange, SchemaChange, Usage


class Book(Protocol):
    """Rules by kind."""

    def rules(self, kind: str) -> Iterable[Rule]: ...

    def count(self, kind: str) -> int: ...


class Running(Protocol):
    """A pipeline in force: a `Loaded`, or who reads it beside its writer."""

    manifest: Manifest

    @property
    def book(self) -> Book: ...

    @property
    def port_configs(self) -> tuple[PortConfig, ...]: ...

    @property
    def port_numbers(self) -> dict[str, int]: ...


@dataclass(frozen=True)
class UpgradePlan:
    """What an upgrade will do: `rules` are those that are written again. `edge`: what another YAML
    of the edge changes, if there is one."""

    bundle: Bundle
    change: SchemaChange
    usage: Usage
    rules: tuple[Rule, ...]
    edge: NewConfig | None

    @property
    def difference(self) -> str:
        """As a table; empty where nothing differs."""
        more = self.edge.rows if self.edge is not None else ()
        return errors.difference(self.change, self.usage, more)


def plan_upgrade(
    running: Loaded, bundle: Bundle, answers: Answers | Source | None = None,
    config: Source | None = None,
) -> UpgradePlan:  # fmt: skip
    """Plan an upgrade of a running pipeline, and change nothing. `answers`: those of a mapping
    file, or its text; `config`: another YAML of the edge. Raises `Refused` where the new build
    cannot hold something that is in force."""
    change = change_to(running, bundle, answers)
    edge = read_new_config(running, change, config) if config is not None else None
    ports = edge.stay(running) if edge is not None else running.port_configs
    usage, rules = need_room(running, change, ports)
    _need_fit(running, bundle, edge)
    return UpgradePlan(bundle, change, usage, rules, edge)


def change_to(running: Running, bundle: Bundle, answers: Answers | Source | None) -> SchemaChange:
    """What differs. `answers`: those of a mapping file, or its text. Raises `Refused` where this
    is wrong."""
    if isinstance(answers, Source):
        builds = running.manifest, bundle.manifest
        answers = read_mapping(answers, *builds, running.port_numbers)
    return compare(running.manifest, bundle.manifest, answers)


def need_room(
    running: Running, change: SchemaChange, ports: Iterable[PortConfig]
) -> tuple[Usage, tuple[Rule, ...]]:
    """How many rules have what concerns the change, and those that are written again; `ports`: that
    stay. Raises `Refused` where the new build cannot hold something that is in force."""
    usage = dict(_usage(running, change, ports))
    if change.obstacles(usage):
        raise runtime_errors.refused(errors.incompatible(change, usage))
    again = (rule for k in change.kinds.values() if not k.stays for rule in _rules(running, k))
    if moved := list(_moved(running, change, ports)):
        raise Refused(moved)
    made = convert_rules(change, again, running.port_numbers)
    if made.faults:
        raise Refused(errors.untranslatable(made.faults))
    return usage, tuple(made.rules)


def _need_fit(running: Loaded, bundle: Bundle, edge: NewConfig | None) -> None:
    """Raises `Refused` where an interface does not do what the new build needs of it."""
    links = running.netlink.links()
    if bundle.manifest.forwards and not running.manifest.forwards and running.mode == "native":
        by_index = {link.index: link for link in links}
        ports = ((port, by_index[port.ifindex]) for port in running.ports)
        if unfit := [d for port, link in ports for d in attach.unfit(port, link, None, True)]:
            raise Refused(unfit)
    if edge is not None:
        every = find_ports(edge.config.ports, links, running.netlink.addresses())
        come = [port for port in every if port.number in {each.number for each in edge.come}]
        mode = attach.mode_of(running.mode)
        attach.check(bundle.manifest, come, links, mode, edge.config.spans, every)


def _moved(
    running: Running, change: SchemaChange, ports: Iterable[PortConfig]
) -> Iterator[Diagnostic]:
    """Of ports that the new build would have elsewhere: a packet would meet both builds."""
    for port in ports:
        was = running.manifest.attach_point(port.role)
        now = change.new.attach_point(change.roles[port.role])
        if (port.at == was != now) or (not change.new.has_programs(port.at)):
            yield errors.port_moves(port.name, port.at, now)
        roles = running.manifest.roles[port.role], change.new.roles[change.roles[port.role]]
        if (roles[0] in running.manifest.bare) != (roles[1] in change.new.bare):
            yield errors.other_link(port.name, roles[1] in change.new.bare)


def _rules(running: Running, kind: KindChange) -> Iterable[Rule]:
    return running.book.rules(kind.old.name)


def _usage(
    running: Running, change: SchemaChange, ports: Iterable[PortConfig]
) -> Iterator[tuple[Concern, int]]:
    for name, kind in change.kinds.items():
        yield (name, ""), running.book.count(name)
        if any(d.concern and d.concern[0] == name and d.concern[1] for d in change.differences):
            yield from usage_of(_rules(running, kind)).items()
    roles = [running.manifest.roles[port.role] for port in ports]
    yield from ((("port", role), roles.count(role)) for role in set(roles))
    yield ("port", ""), max((port.number for port in ports), default=0)
    yield ALWAYS, 1
