"""The agent's options in a file."""

from __future__ import annotations

from pathlib import Path

import click
import pytest
from explained import examples
from helioc.commands.heliod import serve
from helioc.commands.settings import keys_of, read_settings
from helioc.lang.text.diagnostics import Refused
from helioc.lang.text.source import Source


def read(text: str) -> dict[str, object]:
    with click.Context(serve, info_name="heliod") as context:
        return read_settings(Source("heliod.yaml", text), context)


def test_every_option_is_a_key() -> None:
    options = {name for p in serve.params for name in p.opts if isinstance(p, click.Option)}
    assert {f"--{key}" for key in keys_of(serve)} == options - {"--config", "--version"}


def test_what_a_file_says_is_what_the_options_say(tmp_path: Path) -> None:
    file = tmp_path / "heliod.yaml"
    file.write_text(
        "tcp: 192.0.2.1:50051\nidentity: /etc/helio/certs/agent\nsocket-mode: 0660\n"
        "rate: 500\ncards: true\nprogram-times: false\ncpu: 1\nacknowledge: before\n"
    )
    by_file = values("--config", str(file))
    assert by_file == values(
        "--tcp", "192.0.2.1:50051", "--identity", "/etc/helio/certs/agent", "--socket-mode", "0660",
        "--rate", "500", "--cards", "--cpu", "1", "--acknowledge", "before",
    )  # fmt: skip
    over = values("--rate", "7", "--config", str(file))
    assert over == {**by_file, "rate": 7.0}


def values(*words: str) -> dict[str, object]:
    with serve.make_context("heliod", [*words]) as context:
        return dict(context.params)


@pytest.mark.parametrize("text", ["", "\n", "# tcp: 0.0.0.0:1\n\n  # more\n"])
def test_a_file_may_say_nothing(text: str) -> None:
    assert read(text) == {}


@pytest.mark.parametrize(
    ("text", "code", "place", "help_"),
    [
        ("rate: 1\ntpc: 1.2.3.4:5\n", "H0604", (2, 1), "did you mean `tcp`?"),
        ("rate: fast\n", "H0622", (1, 7), "rate: Requests a second of one client"),
        ("rate: 0\n", "H0622", (1, 7), "rate: "),
        ("cards: 1\n", "H0622", (1, 8), "cards: Keep CAP_SYS_ADMIN"),
        ("acknowledge: later\n", "H0622", (1, 14), "acknowledge: Answer requests"),
        ("metrics: 127.0.0.1\n", "H0769", (1, 10), "unix:PATH, or HOST:PORT"),
        ('health: "unix:"\n', "H0769", (1, 9), "unix:PATH, or HOST:PORT"),
        ("rate: 1\ncpu: 99999\n", "H0622", (2, 6), "cpu: Run on this CPU alone"),
        ("state: [a]\n", "H0602", (1, 8), ""),
        ("rate: 1\nrate: 2\n", "H0603", (2, 1), "remove one of them"),
        ("rate: {\n", "H0601", (2, 1), "docs/install.md has an example"),
    ],
)
def test_what_is_wrong_has_a_place_and_a_fix(
    text: str, code: str, place: tuple[int, int], help_: str
) -> None:
    with pytest.raises(Refused) as error:
        read(text)
    (found,) = error.value.diagnostics
    assert found.code == code and found.span is not None
    assert (found.span.line, found.span.column) == place and help_ in found.help


@pytest.mark.parametrize(
    ("text", "place"),
    [("rate: 1\ntcp: 127.0.0.1:50051\n", (2, 6)), ("identity: /none/agent\n", (1, 11))],
)
def test_what_does_not_go_with_the_others_has_a_place(
    tmp_path: Path, text: str, place: tuple[int, int]
) -> None:
    file, state = tmp_path / "heliod.yaml", tmp_path / "state"
    file.write_text(text)
    with pytest.raises(Refused) as error:
        serve.main(["--config", str(file), "--state", str(state)], standalone_mode=False)
    (found,) = error.value.diagnostics
    assert found.code == "H0622" and found.span is not None and "it goes with" in str(found.labels)
    assert (found.span.line, found.span.column) == place
    by_hand = [f"--{text.splitlines()[-1].replace(': ', '=')}", "--state", str(state)]
    with pytest.raises(click.UsageError, match="it goes with"):
        serve.main(by_hand, standalone_mode=False)


@pytest.mark.parametrize(("code", "wrong", "right"), examples("agent"))
def test_examples_get_their_codes(code: str, wrong: str, right: str) -> None:
    with pytest.raises(Refused, match=code):
        read(wrong)
    read(right)
