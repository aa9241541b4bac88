"""Imports: other files, cycles, files that are wrong; and errors that no fragment shows."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from check_frame import checked, framed, headers_of
from helioc.compiler.check.resolve import HOMES, STANDARD, load_file
from helioc.lang.text.diagnostics import Diagnostic, Refused

PIPELINE = """import std.ethernet, std.ip
import {name}
pipeline example {{
  ports lan
  parser {{
    ethernet -> ipv4 when type = 0x0800
    ipv4 -> mark when protocol = 253
  }}
  stage main {{ pass }}
  run parser -> main
}}
"""
Check = Callable[..., list[Diagnostic]]


@pytest.fixture
def check_files(tmp_path: Path) -> Check:
    def run(name: str = "marks", **files: str) -> list[Diagnostic]:
        for each, text in files.items():
            (tmp_path / f"{each}.hp").write_text(text)
        main = tmp_path / "main.hp"
        main.write_text(PIPELINE.format(name=name))
        return checked(main.read_text(), main)[1]

    return run


def test_every_standard_header_has_its_home() -> None:
    files = sorted(STANDARD.glob("*.hp"))
    homes = {h.name.text: f"std.{path.stem}" for path in files for h in load_file(path).headers}
    assert homes == HOMES


def codes(found: list[Diagnostic]) -> list[str]:
    return [d.code for d in found]


def test_a_file_beside_the_importing_one(check_files: Check) -> None:
    assert check_files(marks="header mark { colour : u8 }") == []


def test_constants_of_other_files(check_files: Check, tmp_path: Path) -> None:
    """Of the files that a file imports, and made of those of others."""
    (tmp_path / "more.hp").write_text("const A = 5\nconst NETS = { 10.0.0.0/8, 11.0.0.0/8 }\n")
    marks = "import more\nconst B = A * 2\nconst ALL = { NETS, 12.0.0.1 }\nheader mark { c : u8 }\n"
    assert check_files(marks=marks) == []
    main = tmp_path / "main.hp"
    text = main.read_text()
    inside = "if ipv4 { if ipv4.src in ALL and ipv4.ttl = B { drop } }  pass"
    used = text.replace("stage main { pass }", f"stage main {{ {inside} }}")
    assert used != text and codes(checked(used, main)[1]) == []
    passed_on = used.replace("= B", "= A")  # what that file imports is not seen
    assert codes(checked(passed_on, main)[1]) == ["H0203"]
    twice = used.replace("pipeline ", "const B = 3\npipeline ", 1)
    assert codes(checked(twice, main)[1]) == ["H0205"]


def test_a_missing_file_is_the_only_error(check_files: Check) -> None:
    found = check_files(name="markz", marks="header mark { colour : u8 }")
    assert codes(found) == ["H0201"]
    assert "did you mean `marks`" in found[0].help


def test_a_cycle_is_shown(check_files: Check) -> None:
    found = check_files(marks="import others\nheader mark { colour : u8 }", others="import marks")
    assert codes(found) == ["H0202"]
    assert found[0].labels[0].text == "marks -> others -> marks"


def test_a_file_that_imports_itself(check_files: Check) -> None:
    assert codes(check_files(marks="import marks\nheader mark { colour : u8 }")) == ["H0202"]


def test_errors_of_an_imported_file_are_shown_there(check_files: Check) -> None:
    found = check_files(marks="header mark {\n  colour : u9\n}")
    assert codes(found) == ["H0232"]
    assert found[0].span and found[0].span.source.name.endswith("marks.hp")


def test_a_syntax_error_of_an_imported_file(check_files: Check) -> None:
    found = check_files(marks="header mark {\n  colour u8\n}")
    assert codes(found) == ["H0101"]


def test_imports_are_not_handed_on(check_files: Check) -> None:
    found = check_files(marks="import others", others="header mark { colour : u8 }")
    assert codes(found) == ["H0203"]


def test_one_header_from_two_files(check_files: Check) -> None:
    found = check_files(
        name="marks, others", marks="header mark { c : u8 }", others="header mark { c : u8 }"
    )
    assert codes(found) == ["H0204"]


def test_the_same_import_twice(check_files: Check) -> None:
    found = check_files(name="marks, marks", marks="header mark { c : u8 }")
    assert codes(found) == ["H0207"]


def test_an_import_that_is_not_used_is_a_warning(check_files: Check) -> None:
    found = check_files(name="marks, std.gre", marks="header mark { c : u8 }")
    assert [(d.code, d.severity) for d in found] == [("H0208", "warning")]


def test_only_the_files_of_helioc_are_known_protocols(check_files: Check, tmp_path: Path) -> None:
    (tmp_path / "mine.hp").write_text("header ipv4 { version : u8 }")
    (header,) = headers_of(tmp_path / "mine.hp")
    assert header.protocol == ""


def test_no_pipeline_and_two() -> None:
    assert codes(checked("header mark { c : u8 }")[1]) == ["H0206"]
    assert codes(checked("")[1]) == ["H0206"]
    two = framed("default pass") + framed("default pass").replace(
        "import std.ethernet\nimport std.ip\nimport std.gre\n", ""
    )
    assert codes(checked(two)[1]) == ["H0207"]


def test_too_many_nodes_and_ways() -> None:
    chain = "".join(f"  n{i} -> mark as n{i + 1} when c = {i}\n" for i in range(40))
    found = checked(framed(_marked("ethernet -> mark as n0 when type = 5\n" + chain)))[1]
    assert codes(found) == ["H0218"] and "nodes" in found[0].title
    ladder = "".join(
        f"  n{i} -> mark as a{i} when c = 1\n  n{i} -> mark as n{i + 1} when c = 2\n"
        f"  a{i} -> n{i + 1} when c = 3\n"
        for i in range(14)
    )
    found = checked(framed(_marked("ethernet -> mark as n0 when type = 5\n" + ladder)))[1]
    assert codes(found) == ["H0218"] and "ways" in found[0].title


def test_too_deep() -> None:
    chain = "".join(f"  n{i} -> mark as n{i + 1} when c = {i}\n" for i in range(20))
    wide = "ethernet -> mark as n0 when type = 5\n" + chain
    found = checked(framed(_marked(wide, "  t : bytes[rest]\n  size c * 8\n")))[1]
    assert codes(found) == ["H0217"]


def _marked(edges: str, more: str = "") -> str:
    return f"header mark {{\n  c : u8\n{more}}}\nparser {{\n  {edges}}}\n"


def test_actions_that_double() -> None:
    actions = "".join(
        f"action a{i}(FAR) {{\n  if l4.src = {i} {{ a{i + 1}(FAR) }}\n  a{i + 1}(FAR)\n}}\n"
        for i in range(20)
    )
    found = checked(framed(actions + "action a20(FAR) { clamp mss }\n" + _APPLIED))[1]
    assert codes(found) == ["H0218"]


_APPLIED = """stage main {
  if not user { pass }
  find PDR else { pass }
  if PDR gives FAR { a0(FAR) }
  pass
}
"""


def test_refused_keeps_the_order_of_the_source() -> None:
    with pytest.raises(Refused) as refused:
        load = framed("stage main {\n  find PRD\n  pass\n}\nie colour = 1, u8\nie shade = 1, u8")
        raise Refused(checked(load)[1])
    starts = [d.span.start for d in refused.value.diagnostics if d.span]
    assert starts == sorted(starts) and len(starts) > 1


def test_starts_at_a_header_that_nobody_imports() -> None:
    starts = "    start -> ethernet as a on lan\n    start -> ethernet as b on wan\n"
    head, tail = "pipeline p {\n  ports lan, wan\n", "  stage s { pass }\n  run parser -> s\n}\n"
    assert codes(checked(f"{head}  parser {{\n{starts}  }}\n{tail}")[1]) == ["H0203", "H0203"]
