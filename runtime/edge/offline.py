"""Reads an edge's YAML on a machine without its interfaces, for replays."""

from __future__ import annotations

from collections.abc import Iterable
from ipaddress import IPv4Address

from ...lang.contract.manifest.manifest import Manifest
from ...lang.contract.world.environment import Port
from ...lang.text.diagnostics import FEW, Diagnostics
from ...lang.text.source import Source
from ..kernel.netlink import Address, Link
from .config import Config
from .read_config import Host, read_config
from .yaml_nodes import Nodes

MTU = 1500


def read_anywhere(source: Source, manifest: Manifest) -> Config:
    """The configuration; every interface that it names is taken to exist. Raises `Refused`."""
    named: dict[str, int] = {}
    nodes = Nodes(source, Diagnostics(most=FEW))
    root = nodes.mapping(nodes.root(), "the edge", None)
    ports = nodes.mapping(root["ports"].value, "`ports`", None) if "ports" in root else {}
    controls = [root["control"].value] if "control" in root else []
    addresses = []
    for node in [*(entry.value for entry in ports.values()), *controls]:
        given = nodes.mapping(node, "this", None)
        name = nodes.text(given["interface"].value) if "interface" in given else None
        index = named.setdefault(name, len(named) + 1) if name else 0
        text = nodes.text(given["address"].value) if "address" in given else None
        addresses += _address(index, text) if text else []
    config, _ = read_config(source, manifest, Host(tuple(_links(named.items())), tuple(addresses)))
    return config


def _address(index: int, text: str) -> list[Address]:
    try:
        return [Address(index, IPv4Address(text).packed)]
    except ValueError:
        return []  # said with its place when the configuration is read


def _links(named: Iterable[tuple[str, int]]) -> Iterable[Link]:
    for name, index in named:
        yield Link(index, name, "", MTU, bytes((2, 0, 0, 0, 0, index & 0xFF)), 0, 0, 0)


def ports_of(config: Config, manifest: Manifest) -> tuple[tuple[Port, ...], dict[str, Port]]:
    """The ports, with MAC addresses made up, and the same by interface."""
    made = {
        port.interface: Port(
            port.number, port.name, manifest.roles[port.role], port.number, MTU,
            bytes((2, 0, 0, 0, 0, port.number)), vlan=port.vlan,
        )
        for port in config.ports
    }  # fmt: skip
    return tuple(made.values()), made
