"""A program: what packets left in states of both kinds of storage is deleted, beside what is not
meant, by a process that may not load programs. The argument is the bundle of `kept.hp`."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from helioc.lang.contract.world.environment import Environment
from helioc.lang.text.diagnostics import Refused
from helioc.runtime.kernel.privileges import READER, confine
from helioc.runtime.loading.bundle import read_bundle
from helioc.runtime.testrun.private_run import PrivateRun
from kept import FLOW, HEARD, LAN, WAN, Kept, frame

with PrivateRun(read_bundle(Path(sys.argv[1]))) as private:
    private.set_environment(Environment((LAN, WAN)))
    tables = Kept(private)
    flow, heard = tables.table("FLOW"), tables.table("HEARD")
    for number in range(40):
        tables.send(frame(FLOW, number=number), times=1 + number % 2)
        tables.send(frame(HEARD, number=number))
    where = [("mark", "0..29"), ("packets", "2"), ("out", "LAN"), ("hw", "02:00:00:00:00:aa")]
    program = flow.remover(where)
    assert program is not None
    confine(READER)
    try:
        flow.flush()
        raise AssertionError("a reader loads a program")
    except Refused as refused:
        assert refused.diagnostics[0].code == "H0720"
    assert flow.flush(where, program) == 15 and flow.count() == (25, 0)
    assert len(list(flow.entries([("packets", "2")]))) == 5
    assert dict(flow.entry([("src", "10.0.0.5"), ("mark", "31")]).values)["packets"] == "2"
    heard.delete([("vni", "7"), ("hw", "02:00:00:00:00:aa")])
    assert heard.flush([("vni", "0..9")]) == 9 and heard.flush() == 30 and not heard.flush()
    program.close()
    sys.stdout.write(f"deleted under {os.uname().release}\n")
