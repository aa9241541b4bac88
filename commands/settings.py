"""Reads a command's options from a YAML file, `tcp` for `--tcp`; the command line goes first."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from ..lang.text.diagnostics import Diagnostic, Diagnostics, Label, Refused
from ..lang.text.source import Source, Span
from ..runtime.base.files import read_source
from ..runtime.base.listening import need_address, need_local_address
from ..runtime.edge.yaml_nodes import Nodes

GUIDE = "docs/install.md"
#: How the value of an option is checked, by its metavar, beyond its type. Raises `Refused`.
_CHECKS: dict[str | None, Callable[[str], object]] = {
    "HOST:PORT": need_address, "ADDRESS": need_local_address,
}  # fmt: skip
#: Of a context: places in the file and texts by the names of parameters.
_PLACES = "helioc.settings"


def from_file(context: click.Context, _: click.Parameter, path: Path | None) -> None:
    """The callback of an option that names the file. Raises `Refused`."""
    if path is not None:
        context.default_map = read_settings(read_source(path), context)


def misfit(name: str, why: str) -> Exception:
    """To be raised where the value of this parameter does not go with the others: with its place
    where it is the file's."""
    context = click.get_current_context()
    key, option = next((k, o) for k, o in keys_of(context.command).items() if o.name == name)
    if context.get_parameter_source(name) is ParameterSource.DEFAULT_MAP:
        span, text = context.meta[_PLACES][name]
        return Refused([_bad_setting(span, key, text, why, option.help)])
    return click.UsageError(f"--{key}: {why}")


def keys_of(command: click.Command) -> dict[str, click.Option]:
    """The options that a file may have, by key."""
    return {
        max(option.opts, key=len).removeprefix("--"): option
        for option in command.params if isinstance(option, click.Option) and option.expose_value
    }  # fmt: skip


def read_settings(source: Source, context: click.Context) -> dict[str, Any]:
    """Values by the names of parameters. Raises `Refused`."""
    lines = (line.strip() for line in source.text.splitlines())
    if all(not line or line.startswith("#") for line in lines):
        return {}
    found = Diagnostics()
    nodes, options = Nodes(source, found, GUIDE), keys_of(context.command)
    settings: dict[str, Any] = {}
    places = context.meta.setdefault(_PLACES, {})
    for key, entry in nodes.mapping(nodes.root(), f"{context.info_name}'s file", options).items():
        text = nodes.text(entry.value)
        if text is None:
            continue
        option = options[key]
        try:
            settings[str(option.name)] = _value(option, text, context)
            places[str(option.name)] = nodes.span(entry.value), text
        except click.BadParameter as error:
            found.add(_bad_setting(nodes.span(entry.value), key, text, error.message, option.help))
        except Refused as error:
            label = Label(nodes.span(entry.value))
            found.extend(replace(each, labels=(label,)) for each in error.diagnostics)
    found.stop_if_errors()
    return settings


def _value(option: click.Option, text: str, context: click.Context) -> Any:
    if option.is_flag and text not in ("true", "false"):
        raise click.BadParameter("true or false is expected")
    value = option.type.convert(text, option, context)
    if text and option.metavar in _CHECKS:
        _CHECKS[option.metavar](text)
    return value


# ---- errors ---------------------------------------------------------------------------------


def _bad_setting(where: Span, key: str, text: str, why: str, what: str | None) -> Diagnostic:
    shown = text if len(text) <= 60 else f"{text[:60]}…"
    label = (why[:1].lower() + why[1:]).rstrip(".")
    return Diagnostic("H0622", f"`{key}` cannot be `{shown}`", (Label(where, label),),
                      f"{key}: {(what or '').rstrip('.')}")  # fmt: skip
