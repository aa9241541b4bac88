"""Manual pages, completions and the agent's configuration file, made from the commands' parsers."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from typing import NamedTuple

import click
from click.shell_completion import get_completion_class
from helioc.commands.helioc import cli as helioc
from helioc.commands.helioctl import cli as helioctl
from helioc.commands.heliod import serve as heliod
from helioc.commands.services import serve as services
from helioc.commands.settings import keys_of


class Page(NamedTuple):
    command: click.Command
    section: int
    others: tuple[str, ...]


PAGES = {
    "helioc": Page(helioc, 1, ("helioctl(1)", "heliod(8)")),
    "helioctl": Page(helioctl, 1, ("helioc(1)", "heliod(8)")),
    "heliod": Page(heliod, 8, ("helioctl(1)", "helioc(1)", "systemd.service(5)")),
    "helio-services": Page(services, 8, ("heliod(8)", "helioctl(1)", "kubectl(1)")),
}
#: Beside what the parsers say.
FILES = {
    "heliod": {
        "/etc/helio/heliod.yaml": "What the unit reads by --config.",
        "/var/lib/helio": "The journal.",
        "/run/helio/heliod.sock": "The socket of local tools.",
    },
    "helio-services": {"/etc/helio/services.yaml": "What its unit reads by --config."},
    "helioctl": {"/run/helio/heliod.sock": "The local agent's socket."},
}
#: What a program does at a signal.
SIGNALS = {
    "heliod": {
        "SIGTERM, SIGINT": "It ends; pipelines go on working without it.",
        "SIGHUP": "A line in the log, and nothing else. Files of certificates, and `revoked` "
        "beside them, are read again by themselves when they change; other settings are read at "
        "the start.",
    },
    "helio-services": {
        "SIGTERM, SIGINT": "It ends; rules stay as they are, and packets go on.",
    },
}  # fmt: skip


# ---- manual pages ---------------------------------------------------------------------------


def manual(name: str, version: str) -> str:
    """The page of a program, as man(7) has it."""
    page = PAGES[name]
    settings = page.command.context_settings
    with click.Context(page.command, info_name=name, **settings) as context:
        said = page.command.get_short_help_str(limit=200).rstrip(".")
        lines = [
            f'.TH {name.upper()} {page.section} "" "helioc {version}" "Helio"', ".SH NAME",
            _roff(f"{name} - {said}"), ".SH SYNOPSIS", f".B {name}", _roff(_usage(context)),
            ".SH DESCRIPTION", *_description(context), ".SH OPTIONS", *_options(context),
        ]  # fmt: skip
        commands = list(_commands(context))
        lines += [".SH COMMANDS"] * bool(commands)
        for each in commands:
            words = each.command_path.split(" ", 1)[1]
            lines += [f".SS {_roff(words)} {_roff(_usage(each))}", *_description(each)]
            lines += _options(each)
    if name in SIGNALS:
        lines.append(".SH SIGNALS")
        for number, what in SIGNALS[name].items():
            lines += [".TP", f".B {_roff(number)}", _roff(what)]
    if name in FILES:
        lines.append(".SH FILES")
        for path, what in FILES[name].items():
            lines += [".TP", f".I {_roff(path)}", _roff(what)]
    lines += [".SH SEE ALSO", _roff(", ".join(page.others))]
    return "\n".join(lines) + "\n"


def _commands(context: click.Context) -> Iterator[click.Context]:
    """Of each subcommand that does something."""
    group = context.command
    if not isinstance(group, click.Group):
        return
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        if command is None or command.hidden:
            continue
        with click.Context(command, parent=context, info_name=name) as inner:
            if not isinstance(command, click.Group):
                yield inner
            yield from _commands(inner)


def _usage(context: click.Context) -> str:
    return " ".join(context.command.collect_usage_pieces(context))


def _description(context: click.Context) -> Iterator[str]:
    paragraphs = (context.command.help or "").split("\n\n")
    for number, paragraph in enumerate(paragraphs):
        if number:
            yield ".PP"
        if paragraph.startswith("\b\n"):
            yield from (".nf", *map(_roff, paragraph.splitlines()[1:]), ".fi")
        else:
            yield _roff(" ".join(paragraph.split()))


def _options(context: click.Context) -> Iterator[str]:
    for parameter in context.command.get_params(context):
        record = parameter.get_help_record(context)
        if record is not None:
            names, said = record
            yield from (".TP", f".B {_roff(names)}", _roff(" ".join(said.split())) or r"\&")


def _roff(text: str) -> str:
    escaped = text.replace("\\", r"\e").replace("-", r"\-").replace("'", r"\(aq")
    return rf"\&{escaped}" if escaped.startswith(".") else escaped


# ---- completions ----------------------------------------------------------------------------


def completion(name: str, shell: str) -> str:
    """What `shell` (bash or zsh) reads to complete the program's words."""
    make = get_completion_class(shell)
    assert make is not None
    variable = f"_{name.upper().replace('-', '_')}_COMPLETE"
    return make(PAGES[name].command, {}, name, variable).source()


# ---- the configuration file -----------------------------------------------------------------

_HEAD = """\
# Options of heliod, read when it starts: `systemctl restart heliod` after a change. Pipelines
# and packets go on meanwhile. A key for each option, with the value that the option takes on the
# command line, which wins over this file. docs/install.md and heliod(8) say more.
"""
#: What the package sets; and examples where there is no default.
_SET = {"socket-mode": '"0660"'}
_EXAMPLES = {
    "tcp": "0.0.0.0:50051", "identity": "/etc/helio/certs/agent", "insecure-tcp": "127.0.0.1:50052",
    "metrics": "127.0.0.1:9464", "health": "127.0.0.1:9465", "cpu": "1",
}  # fmt: skip


def configuration() -> str:
    """/etc/helio/heliod.yaml."""
    parts = [_HEAD]
    with click.Context(heliod, info_name="heliod") as context:
        for key, option in keys_of(heliod).items():
            record = option.get_help_record(context)
            assert record is not None
            said = textwrap.fill(" ".join(record[1].split()), 96, initial_indent="# ",
                                 subsequent_indent="# ")  # fmt: skip
            value = _SET.get(key) or _EXAMPLES.get(key) or _default(option)
            parts.append(f"{said}\n{'' if key in _SET else '#'}{key}: {value}\n")
    return "\n".join(parts)


def _default(option: click.Option) -> str:
    if option.is_flag:
        return "true"
    value = option.default
    return f"{value:g}" if isinstance(value, float) else str(value)
