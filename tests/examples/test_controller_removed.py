"""An edge that is removed while the controller speaks to it."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest
from controller.board import Board
from controller.desired_state import Edge, Rules
from controller.fleet import Fleet
from fleet_world import QUICK, edges, plain, put_away
from helioc.lang.text.diagnostics import Refused
from helioc.runtime.base.errors import refused
from helioc.runtime.client import Client
from helioc.runtime.enrolment import errors as faults
from lab import until


@pytest.mark.usefixtures("kernel")
def test_it_is_let_go_of_and_one_that_is_known_otherwise_connected_to_anew(tmp_path: Path) -> None:
    known: list[bytes] = [b"a certificate"]
    trusting: list[bytes] = []  # of each connection, on a slow machine perhaps several by one

    def trusted(edge: str) -> bytes:
        if not known:
            raise refused(faults.removed(edge))
        return known[-1]

    def connect(edge: str, address: str, pipeline: str) -> Client:
        if not known:
            raise Refused([faults.removed(edge)])
        trusting.append(known[-1])
        return plain(edge, address, pipeline)

    with (
        put_away(),
        edges(tmp_path, "e") as one,
        closing(Board(tmp_path / "status.json")) as board,
        closing(Fleet(board, connect, QUICK, trusted)) as fleet,
    ):
        expected = {one.pipeline("e"): Rules()}
        fleet.set_desired({"e": Edge(one.worlds["e"].address, expected)})
        until(lambda: [s.fares for s in board.states()] == ["in step"], "in step")
        assert set(trusting) == {b"a certificate"}
        known.append(b"another")
        until(lambda: trusting[-1] == b"another", "connected to anew")
        until(lambda: [s.fares for s in board.states()] == ["in step"], "in step")
        known.clear()
        until(lambda: any("H0880" in "".join(s.notes) for s in board.states()), "let go of")
        assert set(trusting) == {b"a certificate", b"another"}
