"""`helioc doc`: the pages that are kept are those of today's pipelines."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from click.testing import CliRunner
from helioc.commands import files
from helioc.commands.helioc import cli
from helioc.compiler.driver import check_file
from helioc.lang.text.diagnostics import Refused

ROOT = Path(__file__).parents[2]
PIPELINES = sorted((ROOT / "pipelines").glob("*.hp"))
PAGES = ROOT / "docs" / "pipelines"


def titles(svg: str) -> list[str]:
    """What a picture shows, wherever graphviz puts it."""
    return sorted(re.findall(r"<title>(.*?)</title>", svg))


@pytest.mark.parametrize("pipeline", PIPELINES, ids=lambda path: path.stem)
def test_a_page_is_kept_fresh(
    pipeline: Path, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    update = request.config.getoption("--update-golden")
    out = (PAGES if update else tmp_path) / f"{pipeline.stem}.md"
    text, written = files.write_page(check_file(pipeline), out)
    again = f"write it with: helioc doc {pipeline.name} -o docs/pipelines/{out.name}"
    kept = PAGES / out.name
    assert kept.exists() and kept.read_text() == text, again
    assert [path.name for path in written] == [out.name, f"{pipeline.stem}.svg"]
    picture = kept.with_suffix(".svg").read_text()
    assert titles(picture) == titles(out.with_suffix(".svg").read_text()), again


def run(*arguments: str) -> str:
    result = CliRunner().invoke(cli, ["doc", *arguments], catch_exceptions=False)
    assert result.exit_code == 0
    return result.output


GUARD = str(ROOT / "examples" / "tour" / "guard.hp")


def test_what_is_printed_has_its_picture_as_text() -> None:
    text = run(GUARD)
    assert text.startswith("# guard\n\nDrops what a controller names")
    assert '```dot\ndigraph "guard"' in text
    assert "| dst_port | range | udp.dst | yes |" in text


def test_html_has_its_picture_within(tmp_path: Path) -> None:
    assert run(GUARD, "-o", str(tmp_path / "a.html")) == f"wrote {tmp_path / 'a.html'}\n"
    text = (tmp_path / "a.html").read_text()
    assert "<svg" in text and "<h3>BLOCK</h3>" in text and "<td>udp.dst</td>" in text


def test_without_graphviz_the_graph_is_text(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "_found", lambda name: None)
    run(GUARD, "-o", str(tmp_path / "a.html"))
    run(GUARD, "-o", str(tmp_path / "a.md"))
    assert "<pre>digraph &quot;guard&quot;" in (tmp_path / "a.html").read_text()
    assert '```dot\ndigraph "guard"' in (tmp_path / "a.md").read_text()
    assert not (tmp_path / "a.svg").exists()


def test_a_page_says_which_updates_may_be_lost(tmp_path: Path) -> None:
    text = (ROOT / "examples" / "tour" / "guard.hp").read_text()
    body = text.index("  stage ")
    (tmp_path / "counting.hp").write_text(
        f"{text[:body]}  state SEEN [16] {{ match protocol : u8 gives packets : u32 }}\n"
        f"{text[body:]}".replace("run parser ->", "run parser -> counting ->").replace(
            "  stage ",
            "  stage counting { if ipv4 { recall SEEN(protocol = ipv4.protocol) else { pass }"
            " remember SEEN(protocol = ipv4.protocol, packets = SEEN.packets >> 1) } }\n  stage ",
            1,
        )
    )
    assert "`counting` writes into `SEEN` what follows from the value before" in run(
        str(tmp_path / "counting.hp")
    )
    assert "what follows from the value before" not in run(GUARD)


def test_a_tool_is_missing_and_one_fails(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(files, "_found", lambda _: None)
    with pytest.raises(Refused, match="`dot` is not to be found") as refused:
        files.to_svg("digraph {}")
    assert [d.code for d in refused.value.diagnostics] == ["H0305"]
    fails = tmp_path / "dot"
    fails.write_text("#!/bin/sh\ncat >/dev/null\necho no such shape >&2\nexit 1\n")
    fails.chmod(0o755)
    monkeypatch.setattr(files, "_found", lambda _: str(fails))
    with pytest.raises(Refused, match="`dot` failed: no such shape") as refused:
        files.to_svg("digraph {}")
    assert [d.code for d in refused.value.diagnostics] == ["H0306"]
