"""A rule that matches a port of arrival is warned of where the stages look its kind up only for
packets that come by ports of other roles."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest
from helioc.compiler.driver import check_file, lower_pipeline
from helioc.compiler.manifest import manifest_of
from helioc.lang.contract.manifest.manifest import Manifest
from helioc.lang.contract.manifest.read_manifest import from_json
from helioc.lang.contract.request.request_parser import parse_request
from helioc.lang.contract.rules.csv_columns import read_csv
from helioc.lang.contract.rules.rulebook import RuleBook
from helioc.lang.text.diagnostics import Diagnostic
from helioc.lang.text.source import Source

PIPELINES = Path(__file__).parents[4] / "pipelines"
NUMBERS = {"ACC1": 1, "UNDER": 2, "ACC2": 3}
ROLES = {1: "access", 2: "underlay", 3: "access"}
TITLE = (
    "no packet finds this SEGMENT: `UNDER` is a port of role underlay, and SEGMENT is for packets "
    "of role access"
)


@cache
def manifest(path: Path) -> Manifest:
    pipeline = check_file(path)
    return from_json(manifest_of(pipeline, lower_pipeline(pipeline)).to_json())


def book() -> RuleBook:
    return RuleBook(manifest(PIPELINES / "vxlan_gateway.hp"), NUMBERS, {}, ROLES)


def warned(port: str) -> list[Diagnostic]:
    text = f"create SEGMENT 1 [(port, u32, {port}), (vni, u32, 7), (local_ip, u32, 192.0.2.1)]"
    return list(book().plan(parse_request(Source("request", text))).warnings)


@pytest.mark.parametrize("port", ["UNDER", "2"])
def test_a_port_of_another_role(port: str) -> None:
    (found,) = warned(port)
    assert (found.code, found.severity, found.title) == ("H0466", "warning", TITLE)
    assert found.help == "ports of role access: ACC1, ACC2"


@pytest.mark.parametrize("port", ["ACC1", "ACC2", "3"])
def test_a_port_of_the_role(port: str) -> None:
    assert not warned(port)


def test_rows_of_a_file() -> None:
    made = book()
    rows = "port,vni,local_ip\nACC1,7,192.0.2.1\nUNDER,8,192.0.2.1\n"
    columns = read_csv(Source("segment.csv", rows), made.kinds["SEGMENT"])
    (found,) = made.plan_columns(columns).warnings
    assert (found.code, found.title, str(found.span)) == ("H0466", TITLE, "segment.csv:3:1")


@pytest.mark.parametrize(
    ("body", "roles"),
    [
        ("if port is inside { find R else { pass } drop }", ("inside",)),
        ("if port is outside { pass } if not port is inside { pass } find R else { pass }",
         ("inside",)),
        ("find R else { pass }", ()),
        ("if port is inside { find R else { pass } } if port is far { find R else { pass } }",
         ("inside", "far")),
        ("if port is inside { find R(port = 3) else { pass } }", ()),
        ("", ()),
    ],
)  # fmt: skip
def test_which_roles(tmp_path: Path, body: str, roles: tuple[str, ...]) -> None:
    path = tmp_path / "p.hp"
    path.write_text(
        "import std.ethernet\npipeline p {\n  ports inside, outside, far\n"
        "  parser { start -> ethernet on inside, outside, far }\n  ie port = 1, port\n"
        "  ie to = 2, u8\n  rule R [16] {\n    match port exact port\n    gives to\n  }\n"
        f"  default pass\n  stage s {{ {body} pass }}\n  run parser -> s\n}}\n"
    )
    assert manifest(path).rule("R").match[0].roles == roles
