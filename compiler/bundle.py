"""From a checked pipeline to a bundle: clang for each object, side by side."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from ..lang.contract.manifest import manifest as m
from ..lang.contract.trace.schema import FORMAT, Schema, TracedBuild
from ..lang.text.atomic_write import write_files
from ..lang.text.diagnostics import Diagnostic, Refused
from .backend.kernel_limits import untraced
from .driver import edited, in_programs, lower_pipeline, lowered, placed, run
from .ir.unit import Traced, Unit
from .lower.reads import copies
from .lower.unit import Join, Target
from .manifest import manifest_of
from .model import Pipeline
from .tc_limits import at_xdp, differences, refusals

if TYPE_CHECKING:
    from concurrent.futures import Executor, Future

    from .nfp.conform import Report


#: For test runs, which show no metadata of a packet, nor copies: see templates/tc.bpf.h.
_IN_FRAME = ("-DHELIO_TAGS_IN_FRAME",)


@dataclass(frozen=True)
class Bundle:
    """What a compilation gives: `c` is for people, `object` was built from it with `#line`s. Of a
    card's programs `reports` says how they fare there. `warnings`: why it is not traced, where only
    the traced build is more than the kernel takes. `tc`: the object of roles at tc, and `tc_c`
    its C; empty where there are none."""

    manifest: m.Manifest
    c: str
    object: bytes
    traced: TracedBuild | None = None
    reports: tuple[Report, ...] = ()
    warnings: tuple[Diagnostic, ...] = ()
    tc: bytes = b""
    tc_c: str = ""


def compile_pipeline(pipeline: Pipeline, join: Join = "staged", traced: bool = False) -> Bundle:
    """Lower, emit, build; with `traced`, a traced build as well, at the same time, unless it is
    more than the kernel takes. Raises `Refused`."""
    with building(pipeline, join, traced) as build:
        return build.bundle()


class Build:
    """A compilation under way: a clang for each object, side by side. `unit`: what the object was
    built of, once there is a `bundle`."""

    unit: Unit
    _plain: _Started

    def __init__(
        self,
        pipeline: Pipeline,
        without: frozenset[str],
        target: Target = "host",
        flags: tuple[str, ...] = (),
    ) -> None:
        self._pipeline, self._without = pipeline, without
        self._target, self._flags = target, flags
        at_tc = target == "tc" or pipeline.at
        self._warnings = tuple(differences(pipeline)) if at_tc else ()
        self._traced: _Started | None = None
        self._tc: _Started | None = None
        self._tc_traced: _Started | None = None

    def start(self, pool: Executor, join: Join, traced: bool) -> None:
        """Begin, with what takes clang longest. Where there are four objects, two wait to see
        whether one of the others needs too much stack: then they do, too. Raises `Refused`."""
        if self._target == "host" and self._pipeline.at:
            self._plain = plain = self._started(pool, join, "host")
            self._tc = tc = self._started(pool, join, "tc", plain.largest_is_too_deep)
            if traced:
                with self._unless_refused():
                    self._traced = self._started(pool, join, "host", plain.is_spilled, traced)
                    self._tc_traced = self._started(pool, join, "tc", tc.is_spilled, traced)
            return
        if traced:
            with self._unless_refused():
                self._traced = self._started(pool, join, self._target, traced=True)
        self._plain = self._started(pool, join, self._target)

    @contextmanager
    def _unless_refused(self) -> Iterator[None]:
        try:
            yield
        except Refused as error:
            self._warnings += tuple(map(untraced, error.diagnostics))

    def _started(
        self,
        pool: Executor,
        join: Join,
        target: Target,
        foretold: Callable[[Unit], bool] = lambda _: False,
        traced: bool = False,
    ) -> _Started:
        from .backend.building import built

        pipeline, without = in_programs(self._pipeline, join, target), self._without
        unit = edited(lowered(pipeline, join, traced, target), without)
        made = placed(pipeline, unit, without)
        spilled = partial(run, pipeline, unit, spilled=True, without=without)
        future = pool.submit(built, pipeline, made, spilled, self._flags, foretold)
        return _Started(pipeline, made, self._flags, future)

    def object(self) -> bytes:
        """As soon as it is there, while clang may still be at the traced one. Raises `Refused`."""
        return self._plain.result()[1]

    def bundle(self) -> Bundle:
        """All of it. Raises `Refused`."""
        from .backend.emit import emit

        unit, plain = self._plain.result()
        self.unit = unit
        c = emit(unit, False, plain)  # clang is still at the traced one
        manifest, tc, tc_c = manifest_of(self._pipeline, unit, _digest(plain)), b"", ""
        if self._tc is not None:
            other, tc = self._tc.result()
            tc_c = emit(other, False, tc)
            same = replace(manifest_of(self._pipeline, other), at=manifest.at, hook="xdp")
            assert replace(same, digest=manifest.digest) == manifest, "one manifest for both"
            manifest = replace(manifest, tc=_digest(tc))
        tracing = None
        if self._traced is not None:
            traced, data = self._traced.result()
            trace = traced.traced
            assert trace is not None
            second = self._traced_at_tc(trace)
            of = Schema(
                FORMAT, unit.name, _digest(data), manifest.digest, trace.nodes, trace.points,
                _digest(second) if second else "", len(second),
            )  # fmt: skip
            tracing = TracedBuild(data, of, second)
        return Bundle(manifest, c, plain, tracing, warnings=self._warnings, tc=tc, tc_c=tc_c)

    def _traced_at_tc(self, as_at_xdp: Traced) -> bytes:
        """The traced object for ports at tc, if it writes down what that for XDP does; else
        nothing."""
        if self._tc_traced is None:
            return b""
        unit, data = self._tc_traced.result()
        return data if unit.traced == as_at_xdp else b""


@dataclass(frozen=True)
class _Started:
    """An object under way, and the unit that clang is given first."""

    pipeline: Pipeline
    unit: Unit
    flags: tuple[str, ...]
    future: Future[tuple[Unit, bytes]]

    def result(self) -> tuple[Unit, bytes]:
        """What a thread built, and of what. A signal that comes just before a lock is waited for
        does not end that wait, so it is none without an end."""
        from concurrent.futures import wait

        while not wait([self.future], 0.1).done:
            pass
        return self.future.result()

    def is_spilled(self, _: Unit) -> bool:
        """Whether it took more stack than there is: it traced takes no less."""
        return self.result()[0] is not self.unit

    def largest_is_too_deep(self, other: Unit) -> bool:
        """Whether it did, and so does the largest program of `other`, for another target."""
        from .backend.building import largest_is_too_deep

        return self.is_spilled(other) and largest_is_too_deep(self.pipeline, other, self.flags)


@contextmanager
def building(
    pipeline: Pipeline,
    join: Join = "staged",
    traced: bool = False,
    without: frozenset[str] = frozenset(),
    target: Target | None = None,
    flags: tuple[str, ...] = (),
) -> Iterator[Build]:
    """Begin to compile for XDP ("host") or tc (None: as roles say), without some optional passes,
    with more of clang's flags. Raises `Refused`."""
    from concurrent.futures import ThreadPoolExecutor

    from .backend.clang import stop, stoppable

    target = target or usual_target(pipeline)
    if target == "host" and (found := at_xdp(pipeline)):
        raise Refused(found)
    if (target == "tc" or pipeline.at) and (found := refusals(pipeline)):
        raise Refused(found)
    with stoppable(), ThreadPoolExecutor() as pool:  # its threads wait for clang
        build = Build(pipeline, without, target, flags)
        try:
            build.start(pool, join, traced)
            yield build
        except BaseException:  # an interrupt within an import may come as another
            stop()
            raise


def usual_target(pipeline: Pipeline) -> Target:
    """What a pipeline is compiled for where it is not said: for tc if all roles are there."""
    return "tc" if pipeline.at and "xdp" not in pipeline.at else "host"


def for_test_runs(
    pipeline: Pipeline, target: Target | None = None
) -> tuple[Target, tuple[str, ...]]:
    """What a pipeline is compiled for to be run on packets of tests, and flags of clang. Where it
    is not said: as `usual_target`, or for tc if it makes copies, which XDP cannot."""
    target = target or ("tc" if copies(pipeline) else usual_target(pipeline))
    return target, _IN_FRAME if target == "tc" else ()


def compile_for_test_runs(pipeline: Pipeline, join: Join = "staged") -> Bundle:
    """Raises `Refused`."""
    target, flags = for_test_runs(pipeline)
    with building(pipeline, join, target=target, flags=flags) as build:
        return build.bundle()


def compile_for_card(pipeline: Pipeline, on_host: bool = False) -> Bundle:
    """Programs for a Netronome NIC. What it cannot do is refused before anything is lowered; what
    was compiled is held against it again. `on_host`: the same for the host's kernel, to be tested
    there. Raises `Refused`."""
    from .backend.clang import TooDeep, compile_c
    from .backend.emit import emit
    from .backend.stack_usage import too_deep
    from .nfp.nfp import FLAGS, refusals, without_sizes
    from .nfp.refusals import check_card_programs

    if found := refusals(pipeline):
        raise Refused(found)
    pipeline = without_sizes(pipeline)
    unit = lower_pipeline(pipeline, target="nfp")
    flags = [*FLAGS, "-DON_HOST"] if on_host else FLAGS
    try:
        built = compile_c(emit(unit, lines=True), pipeline.name, pipeline.span, flags)
    except TooDeep:
        raise Refused(too_deep(pipeline, unit, {})) from None
    reports = () if on_host else check_card_programs(built, pipeline)
    manifest = manifest_of(pipeline, unit, _digest(built))
    return Bundle(manifest, emit(unit, False, built), built, reports=reports)


def compile_for_tc(
    pipeline: Pipeline, join: Join = "staged", traced: bool = False, tags_in_frame: bool = False
) -> Bundle:
    """SCHED_CLS programs. What tc has nothing for is refused before anything is lowered.
    `tags_in_frame`: for test runs, which show no metadata: see templates/tc.bpf.h. Raises
    `Refused`."""
    flags = _IN_FRAME if tags_in_frame else ()
    with building(pipeline, join, traced, target="tc", flags=flags) as build:
        return build.bundle()


def _digest(built: bytes) -> str:
    from hashlib import sha256

    return sha256(built).hexdigest()


def write_bundle(bundle: Bundle, directory: Path) -> list[Path]:
    """Put a bundle into a directory (made if need be): C, the headers it includes, objects,
    manifest, and what a traced build adds. Raises `Refused` (H0309), with what was there as it
    was."""
    from .backend.emit import TEMPLATES

    directory.mkdir(parents=True, exist_ok=True)
    name = bundle.manifest.pipeline
    files = {
        f"{name}.bpf.c": bundle.c.encode(),
        "helio.bpf.h": (TEMPLATES / "helio.bpf.h").read_bytes(),
        f"{name}.bpf.o": bundle.object,
        "manifest.json": bundle.manifest.to_json().encode(),
    }
    if bundle.manifest.hook == "tc" or bundle.tc:
        files["tc.bpf.h"] = (TEMPLATES / "tc.bpf.h").read_bytes()
    for_tc = f"{name}.tc.bpf.o", f"{name}.tc.bpf.c"
    tracing, traced_at_tc = (f"{name}.trace.bpf.o", "trace.json"), f"{name}.trace.tc.bpf.o"
    if bundle.tc:
        files |= dict(zip(for_tc, (bundle.tc, bundle.tc_c.encode()), strict=True))
    if bundle.traced is not None:
        contents = bundle.traced.object, bundle.traced.schema.to_json().encode()
        files |= dict(zip(tracing, contents, strict=True))
    if bundle.traced is not None and bundle.traced.tc:
        files[traced_at_tc] = bundle.traced.tc
    write_files({directory / file: content for file, content in files.items()})
    perhaps = (*for_tc, *tracing, traced_at_tc)
    for stale in (directory / file for file in perhaps if file not in files):
        stale.unlink(missing_ok=True)
    return [directory / file for file in files]
