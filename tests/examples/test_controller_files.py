"""What the controller reads, and the table that it prints."""

from __future__ import annotations

from pathlib import Path

import pytest
from controller import board
from controller.board import State
from controller.desired_state import read_file
from helioc.lang.text.diagnostics import Refused


@pytest.mark.parametrize(
    ("text", "code", "line"),
    [
        ("edges: {one: {pipelines: [}}", "H0601", 1),
        ("edges:\n  one: {adress: x}", "H0604", 2),
        ("edges:\n  one:\n    pipelines: {p: {rules: [[FAR 1]]}}", "H0602", 3),
        ("edge: {}", "H0604", 1),
    ],
)
def test_a_file_that_is_wrong(tmp_path: Path, text: str, code: str, line: int) -> None:
    path = tmp_path / "wanted.yaml"
    path.write_text(text)
    with pytest.raises(Refused) as error:
        read_file(path)
    found = error.value.diagnostics[0]
    assert found.code == code and found.span is not None and found.span.line == line


def test_a_file_that_is_right(tmp_path: Path) -> None:
    path = tmp_path / "wanted.yaml"
    path.write_text("""\
edges:
  one:
    address: 192.0.2.1:50051
    pipelines:
      guard:
        - FAR 1 [(action, u8, DROP)]
        - FAR 2 [(action, u8, DROP)]
      linx: {kinds: [FAR], rules: "create FAR 1 [(action, u8, DROP)]"}
      empty:
""")
    found = read_file(path)["one"]
    assert found.address == "192.0.2.1:50051"
    assert [p.origin.rpartition(":")[2] for p in found.pipelines["guard"].pieces] == ["6", "7"]
    assert len(found.pipelines["guard"].request.changes) == 2
    assert found.pipelines["linx"].kinds == ("FAR",)
    assert found.pipelines["empty"].request.changes == ()


def test_the_table() -> None:
    states = [
        State("one", "linx", "", "in step", 100.0, 17, repaired=2),
        State("two", "linx", "", "unreachable", 0.0, notes=("no agent answers",)),
    ]
    assert (
        board.table(states, 160)
        == """\
edge  pipeline  revision  state        since  repaired
one   linx      17        in step      1 min  2
two   linx      -         unreachable  3 min  -
    no agent answers"""
    )
    assert board.table([], 0) == "the desired state has no pipelines"
