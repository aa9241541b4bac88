"""A card's programs against the kernel's own driver for it: nfpsim is a device around the
unmodified NFP verifier and translator (modules/nfpsim.c), in a virtual machine. What our checker
takes, the driver takes, and comes to as many instructions or a few less; what is wrong, one of them
refuses."""

from __future__ import annotations

import os
import shlex
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest
from helioc.compiler.bundle import compile_for_card, write_bundle
from helioc.compiler.driver import check_file
from helioc.compiler.nfp.conform import Report, check_program
from helioc.compiler.nfp.object_file import read_object
from nfp_probes import EXPECTED, ONLY_OURS, TOO_MUCH, build
from virtual import ROOT, booted, why_not

INSIDE = Path(__file__).parent / "inside"
OFFLOAD, CARD = INSIDE / "offload.sh", INSIDE / "card.py"
STEERING = ROOT / "tests" / "runtime" / "loading" / "steering.hp"
PIPELINES = [
    ROOT / "pipelines" / "slice_offload.hp",
    ROOT / "pipelines" / "linx_offload.hp",
    ROOT / "tests" / "runtime" / "loading" / "tunnels.hp",
]
#: Each object takes a second, so that some stand for all; `make nightly` tries all.
SOME = {
    "6.12": ["div_const", "loop", "subprog", "xadd64", "mod_const", "mul_swapped"],
    "6.1": ["mod_const", "stack_var"],
}
PIPELINES_ON = {"6.12": PIPELINES, "6.1": PIPELINES[:1]}
MERGED = {"adjust_head", "memcpy_map_to_pkt"}  # which the driver makes shorter than we count
LIFE = "6.12"  # where a whole life is led
END = "end of objects"
MOST = 1.06  # times what the driver comes to, in pipelines


@dataclass(frozen=True)
class Ran:
    """`reports`: of each object's programs, ours. `loaded`: NFP instructions by object and program,
    as the driver made them; none of what it refused. `lived`: how a whole life went."""

    reports: dict[str, tuple[Report, ...]]
    loaded: dict[str, dict[str, int]]
    lived: str


@pytest.fixture(scope="module", params=SOME)
def ran(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Ran:
    """What a kernel's driver says of the objects and of a whole life, in one boot. Where the kernel
    cannot be had, fail in CI and say so elsewhere."""
    series: str = request.param
    if why := why_not(series, devices=True):
        (pytest.fail if os.environ.get("CI") == "true" else pytest.skip)(why)
    objects, life = (tmp_path_factory.mktemp(name) for name in ("objects", "life"))
    reports = compiled(series, objects)
    write_bundle(compile_for_card(check_file(STEERING)), life)
    script = f"{joined(OFFLOAD, *sorted(objects.glob('*.o')))} && echo {END}"
    modules = ["nfpsim"]
    if series == LIFE:
        script += f" && {{ {joined(sys.executable, CARD, life)} 2>&1; echo status $?; }}"
        modules += ["psample", "netdevsim"]
    done = booted(series, "bash", "-c", script, modules=tuple(modules), seconds=400)
    said, _, lived = done.stdout.partition(f"{END}\n")
    assert done.returncode == 0, f"{done.stdout[-2000:]}\n{done.stderr[-2000:]}"
    return Ran(reports, counts(said, objects), lived)


def joined(*words: object) -> str:
    """As a shell reads them."""
    return shlex.join(map(str, words))


def compiled(series: str, out: Path) -> dict[str, tuple[Report, ...]]:
    """Probes and pipelines, each an object in `out`."""
    reports: dict[str, tuple[Report, ...]] = {}
    for case in EXPECTED if os.environ.get("HELIO_PROBES") == "all" else SOME[series]:
        data = build(case, out / f"{case}.o")
        read = read_object(data)
        reports[case] = tuple(check_program(read, name) for name in read.programs)
    for path in PIPELINES_ON[series]:
        bundle = compile_for_card(check_file(path))
        (out / f"{path.stem}.o").write_bytes(bundle.object)
        reports[path.stem] = bundle.reports
    return reports


def counts(said: str, objects: Path) -> dict[str, dict[str, int]]:
    """Of what offload.sh prints."""
    found: dict[str, dict[str, int]] = {path.stem: {} for path in objects.glob("*.o")}
    for line in said.splitlines():
        name, program, rest = (*line.split(maxsplit=2), "")[:3]
        if name in found and program != "refused":
            found[name][program] = int(rest)
    return found


def test_the_driver_says_the_same(ran: Ran) -> None:
    for name, reports in ran.reports.items():
        real = ran.loaded[name]
        if EXPECTED.get(name) or name in TOO_MUCH:  # we refuse it
            assert not real or name in ONLY_OURS, f"{name} is taken"
            continue
        for report in reports:
            counted = real.get(report.program)
            assert counted is not None, f"{name}: {report.program} is refused by the driver"
            if name in EXPECTED and name not in MERGED:
                assert report.instructions == counted, name
            assert counted <= report.instructions <= counted * MOST or name in MERGED, (
                name,
                report.instructions,
                counted,
            )


@pytest.mark.parametrize("ran", [LIFE], indirect=True)
def test_a_whole_life(ran: Ran) -> None:
    """On netdevsim, whose maps have two entries, and on what is no card it says why not."""
    assert ran.lived.endswith("status 0\n"), ran.lived[-2000:]
