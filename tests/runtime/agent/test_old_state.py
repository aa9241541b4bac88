"""A state directory that `heliod` of 0924e90 left, taken over by today's.

`state-0924e90.tar.xz` was written by that release's own agent, with a bundle of its own compiler
(pipelines/linx.hp): 50 FARs, each by a request with a key, and a PDR that leads into a tunnel. See
test_old_release.py for the same with that release at hand.
"""

from __future__ import annotations

import sqlite3
import tarfile
from contextlib import closing
from pathlib import Path

import pytest
from agent_world import World, crosses
from lab import Wire

pytestmark = pytest.mark.usefixtures("kernel")


def test_it_is_taken_over(here: World, wires: tuple[Wire, Wire]) -> None:
    with tarfile.open(Path(__file__).with_name("state-0924e90.tar.xz")) as recorded:
        recorded.extractall(here.state)
    with closing(sqlite3.connect(here.state / "journal.db")) as db:
        db.execute("UPDATE pipelines SET name = ?", (here.name,))
        ((revision,),) = db.execute("SELECT revision FROM pipelines").fetchall()
        db.commit()
    with here.agent() as process, here.client() as client:
        rules = list(client.rules())
        assert sum(rule.kind == "FAR" for rule in rules) == 51
        assert sum(rule.kind == "PDR" for rule in rules) == 1
        assert client.status().pipelines[0].revision in (revision, revision + 1)
        assert client.apply("create FAR 7 [(action, u8, DROP)]", key="key-7").repeated
        assert "H9999" not in process.output
        crosses(here, wires)
        client.apply("delete FAR 7")
        said = here.ctl("backup", "--for", "0924e90", "older")
        assert "backed up" in said
    with closing(sqlite3.connect(here.directory / "older" / "journal.db")) as db:
        assert db.execute("SELECT count(*) FROM answers").fetchone() == (50,)
