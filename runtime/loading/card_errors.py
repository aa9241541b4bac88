"""Errors of loading a pipeline onto a network card."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...lang.text.diagnostics import Diagnostic

if TYPE_CHECKING:
    pass


def for_a_card(path: str) -> Diagnostic:
    return Diagnostic(
        "H0752", f"the bundle in `{path}` is for a card", (),
        f"add `--offload`, or load its host twin: `{path}/host`",
    )  # fmt: skip


def several_ports(role: str, names: list[str]) -> Diagnostic:
    return Diagnostic(
        "H0753", f"a card's program is loaded for one port, and {role} has {len(names)}", (),
        f"leave one of {', '.join(names)}; load the others by another --name",
    )  # fmt: skip


def no_card(interface: str, why: str) -> Diagnostic:
    return Diagnostic(
        "H0754", f"`{interface}` takes no program: {why}", (),
        "it must be a Netronome NFP with the CoreNIC firmware, without another program; "
        "`--or-host` loads the host twin instead",
    )  # fmt: skip


def config_of_card(name: str) -> Diagnostic:
    title = f"the pipeline `{name}` runs on a card, whose ports and settings no upgrade changes"
    return Diagnostic("H0884", title, (), "unload it, and load it with this file")


def other_rules(name: str) -> Diagnostic:
    return Diagnostic(
        "H0755", f"the rules of `{name}` are not kept as the new programs expect them", (),
        "unload it, and load the new bundle with its rules",
    )  # fmt: skip
