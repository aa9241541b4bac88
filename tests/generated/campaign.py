"""One seed through everything, and what many of them came to."""

from __future__ import annotations

from itertools import count

from chance import Chance
from compare import Disagreement, Tally, Three, checked, compiled, loaded, world
from helioc.compiler.driver import lower_pipeline
from helioc.compiler.lower.reads import steers
from helioc.compiler.lower.unit import Join
from helioc.compiler.model import Pipeline
from helioc.lang.contract.world.environment import Environment
from helioc.lang.text.diagnostics import Refused
from helioc.runtime.loading.bundle import Bundle
from random_packets import PacketMaker
from random_pipeline import pipeline_text
from random_requests import RequestMaker
from random_tunnels import tunnels_text

JOINS: tuple[Join, ...] = ("staged", "fused")


def try_text(text: str, seed: int | str, tally: Tally, packets: int = 80) -> Pipeline:
    """Check, compile, load; rules and packets of that seed. Raises `Disagreement`, which names the
    pass that is wrong: then all of it runs once more, with what each pass made."""
    pipeline = checked(text)
    try:
        _try(pipeline, seed, tally, packets, every=False)
    except Disagreement:
        _try(pipeline, seed, tally, packets, every=True)
        raise
    return pipeline


def _try(pipeline: Pipeline, seed: int | str, tally: Tally, packets: int, every: bool) -> None:
    chance = Chance(f"run {seed}")
    environment = world(chance, pipeline)
    bundle = compiled(pipeline, chance.one(JOINS), Chance(f"traced {seed}").maybe(0.4))
    _run(pipeline, environment, bundle, bool(bundle.traced), chance, tally, packets, every)


def try_forms(text: str, seed: int | str, tally: Tally, packets: int = 240) -> Pipeline:
    """The same in every form: staged, fused, and one of these traced as well. With more packets:
    clang takes most of the time."""
    pipeline = checked(text)
    joined = Chance(f"traced {seed}").one(JOINS)
    for join in JOINS:
        bundle = compiled(pipeline, join, join == joined)
        for traced in (False, True)[: 1 + bool(bundle.traced)]:  # it may be too long
            chance = Chance(f"run {seed}")
            environment = world(chance, pipeline)
            try:
                _run(pipeline, environment, bundle, traced, chance, tally, packets)
            except Disagreement as wrong:
                form = f"{join}{' traced' * traced}"
                raise Disagreement(f"{form}: {wrong}") from wrong
    return pipeline


def try_at_tc(seed: int | str, tally: Tally, packets: int = 80) -> None:
    """As SCHED_CLS programs, but for pipelines that say `queue`."""
    pipeline = checked(pipeline_text(seed))
    if steers(pipeline):
        return
    chance = Chance(f"run {seed}")
    environment = world(chance, pipeline)
    bundle = compiled(pipeline, chance.one(JOINS), at_tc=True)
    _run(pipeline, environment, bundle, False, chance, tally, packets, every=False)


def _run(
    pipeline: Pipeline,
    environment: Environment,
    bundle: Bundle,
    traced: bool,
    chance: Chance,
    tally: Tally,
    packets: int,
    every: bool = True,
) -> None:
    with loaded(bundle, traced) as run:
        three = Three(pipeline, environment, run, every)
        rules = RequestMaker(chance, pipeline, environment)
        maker = PacketMaker(chance, pipeline, environment, rules.liked)
        three.run_all(maker.frames(packets // 8), tally)
        _request(three, rules.requests(), tally)
        three.run_all(maker.frames(packets), tally)
        _request(three, rules.changes(4), tally)
        three.run_all(maker.frames(packets // 4), tally)


def _request(three: Three, texts: object, tally: Tally) -> None:
    for text in texts:  # type: ignore[attr-defined]
        tally.requests += 1
        tally.refused += not three.request(text)


def try_seed(seed: int | str, tally: Tally) -> Pipeline:
    return try_text(pipeline_text(seed), seed, tally)


def try_tunnels(seed: int, tally: Tally) -> Pipeline:
    return try_text(short_tunnels(seed), f"tunnels {seed}", tally)


def short_tunnels(seed: int) -> str:
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
        return text
    raise AssertionError
