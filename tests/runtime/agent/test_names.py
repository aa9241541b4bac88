"""Rules about domain names: asked for, shown, kept over a restart, a reboot and upgrades."""

from __future__ import annotations

from pathlib import Path

import pytest
from agent_world import World
from helioc.compiler.bundle import compile_pipeline, write_bundle
from helioc.compiler.check.program import check
from helioc.lang.syntax.parser import parse
from helioc.lang.text.source import Source
from helioc.runtime.loading.releases import remove_pinned

pytestmark = pytest.mark.usefixtures("kernel")

TEXT = (Path(__file__).parents[2] / "oracles" / "names.hp").read_text()
EDGE = """\
ports:
  IN:  {role: inside, interface: lan0}
  OUT: {role: outside, interface: wan0}
"""
RULES = {
    'BLOCK 1 [(qname, "ads.example.org")]',
    'BLOCK 2 [(qname, "*.tracker.example"), (qtype, u16, AAAA)]',
    'BLOCK 3 [(qname, "xn--bcher-kva.example")]',
    'BLOCK 4 [(qname, ".")]',
}


def bundle(text: str, to: Path) -> str:
    made = compile_pipeline(check(parse(Source("names.hp", text))), traced=True)
    write_bundle(made, to)
    return str(to)


def shown(here: World) -> set[str]:
    with here.client() as client:
        return {rule.text for rule in client.rules()}


def test_names_are_kept(here: World) -> None:
    (here.directory / "names.yaml").write_text(EDGE)
    (here.directory / "rules.yaml").write_text(
        "create: {BLOCK: [{id: 3, qname: XN--Bcher-kva.example}, {id: 4, qname: .}]}\n"
    )
    (here.directory / "rules.csv").write_text("qname\nads.example.org\n")
    with here.agent():
        here.ctl("load", bundle(TEXT, here.directory / "names"), "--config", "names.yaml")
        here.ctl("create", 'BLOCK 1 [(qname, "Ads.Example.org.")]')
        here.ctl("create", "BLOCK 2 [(qname, *.tracker.example), (qtype, AAAA)]", status=1)
        here.ctl("create", 'BLOCK 2 [(qname, "*.tracker.example"), (qtype, AAAA)]')
        here.ctl("push", "rules.yaml")
        assert "H0468" in here.ctl("create", 'BLOCK [(qname, "a..b")]', status=1)
        assert "H0469" in here.ctl("create", f'BLOCK [(qname, "{"a." * 40}b")]', status=1)
        same = here.ctl("create", "BLOCK [(qname, ADS.example.org)]", status=1)
        assert "H0452" in same and "BLOCK 1" in same
        assert "H0470" in here.ctl("push", "rules.csv", "--kind", "BLOCK", status=1)
        assert shown(here) == RULES
        listed = here.ctl("show", "BLOCK")
        assert '(qname, "*.tracker.example")' in listed
    with here.agent():
        assert shown(here) == RULES
    remove_pinned(here.name)  # which is what a reboot takes
    with here.agent():
        assert shown(here) == RULES
        here.ctl("create", 'BLOCK 9 [(qname, "*.example.net")]')
        here.ctl("delete", 'BLOCK [(qname, "*.Example.NET")]')
        longer = bundle(TEXT.replace("name[64]", "name[32]"), here.directory / "longer")
        here.ctl("upgrade", longer)
        assert shown(here) == RULES
        shorter = bundle(TEXT.replace("name[64]", "name[16]"), here.directory / "shorter")
        refused = here.ctl("upgrade", shorter, status=1)
        assert "is too long for `qname`" in refused
        assert shown(here) == RULES
