"""What another YAML of the edge changes of a pipeline that runs: its settings, and ports that come
and go. A port that stays stays as it is: packets and rules rely on its number and its interface."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from ...lang.contract.rules.rulekinds import Kind
from ...lang.contract.rules.rules import Rule
from ...lang.text.diagnostics import Diagnostic, Label, Refused
from ...lang.text.source import Source, Span
from ..edge.config import Config
from ..edge.features import SECTIONS
from ..edge.read_config import read_here
from ..ports.ports import PortConfig
from .pinned import Pinned
from .releases import settings_of
from .schema_change import Row, SchemaChange

_MOST_NAMED = 5
_UNSET = "-"


@dataclass(frozen=True)
class NewConfig:
    """`config` in the new build's terms. `come`: ports that it has and the running one has not;
    `gone`: those that it has no more. `rows`: what differs, for a table."""

    config: Config
    come: tuple[PortConfig, ...] = ()
    gone: tuple[PortConfig, ...] = ()
    rows: tuple[Row, ...] = ()

    def stay(self, running: Pinned) -> list[PortConfig]:
        """The ports that stay, as they run."""
        return [port for port in running.port_configs if port not in self.gone]

    @property
    def about(self) -> dict[str, Any]:
        """What a release's `about` has of it."""
        return settings_of(self.config)


def read_new_config(running: Pinned, change: SchemaChange, source: Source) -> NewConfig:
    """Raises `Refused` where it asks for what only another load does."""
    config, _ = read_here(source, change.new, running.port_numbers)
    before = {port.name: port for port in running.port_configs}
    here = {port.name for port in config.ports}
    gone = tuple(port for name, port in before.items() if name not in here)
    whole = source.span(0, 0)
    found = [] if config.mode == running.mode else [_other_mode(whole, running.mode, config.mode)]
    for port in config.ports:
        was = before.get(port.name)
        if was is not None and port != replace(was, role=change.roles.get(was.role, -1)):
            span = config.spans.get(port.number, whole)
            found.append(_other_port(span, _said(was, change.old.roles), port.name))
    for port in gone:
        if using := list(_using(running, change, port.number)):
            found.append(_in_use(whole, port.name, using))
    if found:
        raise Refused(found)
    come = tuple(port for port in config.ports if port.name not in before)
    rows = (*_rows(running.about, config), *_port_rows(change, come, gone))
    return NewConfig(config, come, gone, rows)


def _using(running: Pinned, change: SchemaChange, port: int) -> Iterator[Rule]:
    for name, kind in running.book.kinds.items():
        if change.kinds[name].new is not None and _refers_to_ports(kind):
            for rule in running.book.rules(name):
                to = (*(to for _, to in rule.references), rule.target)
                if any(each is not None and each == ("port", port) for each in to):
                    yield rule


def _refers_to_ports(kind: Kind) -> bool:
    fields = kind.fields.values()
    return any("port" in (*f.references, *f.codec.element.references) for f in fields)


# ---- as a table -----------------------------------------------------------------------------


def _rows(about: Mapping[str, Any], config: Config) -> Iterator[Row]:
    new = settings_of(config)
    for name in ("default", "control", *(section.key for section in SECTIONS)):
        was, now = _value(about.get(name)), _value(new[name])
        if was != now:
            yield f"`{name}`", was, now, ""


def _value(setting: Any) -> str:
    """Without what is not set."""
    if not setting:
        return _UNSET
    if isinstance(setting, Mapping):
        given = ((key, _value(value)) for key, value in setting.items())
        return ", ".join(f"{key} {text}" for key, text in given if text != _UNSET)
    if isinstance(setting, (list, tuple)):
        return ", ".join(map(str, setting))
    return str(setting)


def _port_rows(
    change: SchemaChange, come: tuple[PortConfig, ...], gone: tuple[PortConfig, ...]
) -> Iterator[Row]:
    for port in gone:
        yield port.name, _said(port, change.old.roles), _UNSET, ""
    for port in come:
        yield port.name, _UNSET, _said(port, change.new.roles), ""


def _said(port: PortConfig, roles: tuple[str, ...]) -> str:
    tag = f", VLAN {port.vlan}" if port.vlan else ""
    return f"{roles[port.role]} on {port.interface} at {port.at}{tag}, number {port.number}"


# ---- errors ---------------------------------------------------------------------------------


def _other_mode(span: Span, was: str, now: str) -> Diagnostic:
    title = f"the ports are attached in mode `{was}`, and the file has `{now}`"
    help_ = "unload the pipeline, and load it with this file; nothing was changed"
    return Diagnostic("H0882", title, (Label(span),), help_)


def _other_port(span: Span, was: str, name: str) -> Diagnostic:
    title = f"the port `{name}` runs as {was}"
    help_ = (
        "an upgrade changes no port: under another name this is a new one, and rules are moved "
        "there before the old one goes; nothing was changed"
    )
    return Diagnostic("H0882", title, (Label(span, "here it is another one"),), help_)


def _in_use(span: Span, name: str, using: list[Rule]) -> Diagnostic:
    named = [f"{rule.kind} {rule.name or rule.id}" for rule in using[:_MOST_NAMED]]
    more = f" and {len(using) - _MOST_NAMED:,} more" if len(using) > _MOST_NAMED else ""
    title = f"the file has no port `{name}`, and rules send packets there"
    help_ = f"delete or update {', '.join(named)}{more} first; nothing was changed"
    return Diagnostic("H0883", title, (Label(span),), help_)
