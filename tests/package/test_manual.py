"""Manual pages, completions and the configuration file: all that the commands take is in them."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator

import click
import pytest
from helioc.commands.settings import keys_of, read_settings
from helioc.lang.text.source import Source
from manual import PAGES, completion, configuration, manual


def everything(command: click.Command, context: click.Context) -> Iterator[tuple[str, list[str]]]:
    """Each command by its words, with its options."""
    if not isinstance(command, click.Group) or context.parent is None:
        options = [name for p in command.get_params(context) if isinstance(p, click.Option)
                   for name in (*p.opts, *p.secondary_opts)]  # fmt: skip
        yield context.command_path, options
    if isinstance(command, click.Group):
        for name, each in command.commands.items():
            with click.Context(each, parent=context, info_name=name) as inner:
                yield from everything(each, inner)


def rendered(page: str) -> str:
    """As `man` shows it, in one line. Fails where groff has a complaint."""
    done = subprocess.run(
        ["man", "--warnings=w", "-E", "UTF-8", "-l", "-"], input=page, capture_output=True,
        text=True, check=True, env={"PATH": "/usr/bin:/bin", "MANWIDTH": "500", "LC_ALL": "C.UTF-8",
                                    "MANPAGER": "cat"},
    )  # fmt: skip
    assert not done.stderr
    return done.stdout


@pytest.mark.parametrize("name", PAGES)
def test_a_page_has_every_command_and_option(name: str) -> None:
    command = PAGES[name].command
    text = rendered(manual(name, "1.2.3"))
    assert ("SIGHUP" in text) == (name == "heliod")
    sections = re.split(r"^(?:COMMANDS|   (?=\w))", text, flags=re.M)
    with click.Context(command, info_name=name, **command.context_settings) as context:
        found = dict(everything(command, context))
    assert len(found) > 5 or not isinstance(command, click.Group)
    for path, options in found.items():
        words = path.partition(" ")[2]
        (section,) = [s for s in sections if re.match(rf"{words} [\[A-Z]", s)] if words else [
            sections[0]]  # fmt: skip
        for option in options:
            assert re.search(rf"(?<![\w-]){option}(?![\w-])", section), f"{path} {option}"


@pytest.mark.parametrize("name", PAGES)
def test_shells_take_the_completions(name: str) -> None:
    script = completion(name, "bash")
    subprocess.run(["bash", "-n"], input=script, text=True, check=True)
    function = "_" + name.replace("-", "_") + "_completion"
    assert f"complete -o nosort -F {function} {name}" in script
    assert completion(name, "zsh").startswith(f"#compdef {name}\n")


def test_the_file_has_every_option_and_can_be_read() -> None:
    text = configuration()
    heliod = PAGES["heliod"].command
    keys = re.findall(r"^#?([a-z-]+): ", text, re.M)
    assert keys == list(keys_of(heliod))
    with click.Context(heliod, info_name="heliod") as context:
        assert read_settings(Source("heliod.yaml", text), context) == {"mode": "0660"}
        uncommented = re.sub(r"^#(?=[a-z-]+: )", "", text, flags=re.M)
        assert len(read_settings(Source("heliod.yaml", uncommented), context)) == len(keys)
