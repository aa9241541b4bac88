"""What each pass of the compiler gains: the instructions that a packet takes with it and without
it, which no other load of the machine changes (simulator.py)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from functools import cache

from further import FURTHER
from helioc.commands.helioc import OPTIONAL
from helioc.compiler.bundle import Bundle, building
from helioc.compiler.driver import check_file
from helioc.compiler.lower.unit import Join
from measure import HERE
from sessions import ROWS, Row, run_of
from simulator import Code, Run

PIPELINES = HERE.parent / "pipelines"
JOINS: tuple[Join, ...] = ("fused", "staged")
_ARRAY_LOOK_UP = 1  # bpf_map_lookup_elem


def rows() -> Iterator[str]:
    yield f"instructions a packet: {'':22}{'':>8} look-ups  more without the pass"
    for row in (*FURTHER, *ROWS):
        for join in JOINS:
            yield _row(row, join)


def _row(row: Row, join: Join) -> str:
    run = _through(row, _built(row.pipeline, join, ""))
    gains = []
    for name in OPTIONAL:
        more = _through(row, _built(row.pipeline, join, name)).instructions - run.instructions
        gains += [f"{name} {more:+}"] if more else []
    what = f"{row.pipeline}: {row.direction}, {join}"
    looked = run.called[_ARRAY_LOOK_UP]
    return f"{what:45}{run.instructions:8} {looked:8}  {', '.join(gains)}".rstrip()


@cache
def _built(pipeline: str, join: Join, without: str) -> Bundle:
    checked = check_file(PIPELINES / f"{pipeline}.hp")
    with building(checked, join, without=frozenset({without} - {""})) as build:
        return build.bundle()


def _through(row: Row, bundle: Bundle) -> Run:
    with ExitStack() as owned:
        private = run_of(bundle, row.ports, row.rules(1), owned)
        entry = private.entry(row.arrival)
        programs = {each.info.id: each.name for each in private.programs}
        run = Run(Code(bundle.object), private.maps, programs, bytes(row.frame))
        found, verdict = run.through(entry.name), entry.test_run(bytes(row.frame)).retval
        assert found == verdict, f"{row.pipeline}: {found} in place of {verdict}"
        return run
