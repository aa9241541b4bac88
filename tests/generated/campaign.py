"""One seed through everything, and what many of them came to."""

from __future__ import annotations

from itertools import count

from chance import Chance
from compare import Both, Tally, checked, loaded, world
from helioc.compiler.lower import Join
from helioc.compiler.model import Pipeline
from helioc.compiler.phases import lower_pipeline
from helioc.lang.diagnostics import Refused
from random_packets import PacketMaker
from random_pipeline import pipeline_text
from random_requests import RequestMaker
from random_tunnels import tunnels_text

JOINS: tuple[Join, ...] = ("staged", "fused")


def try_text(text: str, seed: int | str, tally: Tally, packets: int = 80) -> Pipeline:
    """Check, compile, load; rules and packets of that seed. Raises `Disagreement`."""
    chance = Chance(f"run {seed}")
    pipeline = checked(text)
    environment = world(chance, pipeline)
    join = chance.one(JOINS)
    traced = Chance(f"traced {seed}").maybe(0.4)
    with loaded(pipeline, join, traced) as run:
        both = Both(pipeline, environment, run)
        rules = RequestMaker(chance, pipeline, environment)
        maker = PacketMaker(chance, pipeline, environment, rules.liked)
        both.run_all(maker.frames(packets // 8), tally)
        _request(both, rules.requests(), tally)
        both.run_all(maker.frames(packets), tally)
        _request(both, rules.changes(4), tally)
        both.run_all(maker.frames(packets // 4), tally)
    return pipeline


def _request(both: Both, texts: object, tally: Tally) -> None:
    for text in texts:  # type: ignore[attr-defined]
        tally.requests += 1
        tally.refused += not both.request(text)


def try_seed(seed: int | str, tally: Tally) -> Pipeline:
    return try_text(pipeline_text(seed), seed, tally)


def try_tunnels(seed: int, tally: Tally) -> Pipeline:
    """The first that is not too long for a program: where answers have many ways back, some are."""
    for attempt in count():
        text = tunnels_text(f"{seed}.{attempt}")
        pipeline = checked(text)
        try:
            for join in JOINS:
                lower_pipeline(pipeline, join)
        except Refused as refused:
            if {d.code for d in refused.diagnostics} != {"H0335"}:
                raise
            continue
        return try_text(text, f"tunnels {seed}", tally)
    raise AssertionError
