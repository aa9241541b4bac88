"""A card's programs against the kernel's own driver for it: nfpsim is a device around the
unmodified NFP verifier and translator (modules/nfpsim.c), in a virtual machine. What our checker
takes, the driver takes, and comes to as many instructions or a few less; what is wrong, one of them
refuses."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from helioc.compiler.driver import check_file, compile_for_card, write_bundle
from helioc.compiler.nfp.conform import Report, check_program
from helioc.compiler.nfp.object_file import read_object
from nfp_probes import EXPECTED, ONLY_OURS, TOO_MUCH, build

HERE = Path(__file__).parent
KERNEL = HERE / "kernel.sh"
ROOT = HERE.parents[1]
PIPELINES = [
    ROOT / "pipelines" / "slice.hp",
    ROOT / "pipelines" / "linx_offload.hp",
    ROOT / "tests" / "runtime" / "card" / "tunnels.hp",
]
#: Each boot takes 10 s and each object one, so that some stand for all; `make nightly` tries all.
SOME = {
    "6.12": ["div_const", "loop", "subprog", "xadd64", "mod_const", "mul_swapped"],
    "6.1": ["mod_const", "stack_var"],
}
PIPELINES_ON = {"6.12": PIPELINES, "6.1": PIPELINES[:1]}
MERGED = {"adjust_head", "memcpy_map_to_pkt"}  # which the driver makes shorter than we count
MOST = 1.06  # times what the driver comes to, in pipelines


@pytest.fixture(scope="module", params=SOME)
def series(request: pytest.FixtureRequest) -> str:
    """A kernel with its test devices in the cache. Where it cannot be had, fail in CI and say so
    elsewhere."""
    found: str = request.param
    cache = Path(os.environ.get("HELIO_KERNELS", Path.home() / ".cache/helio/kernels"))
    if not (cache / found / "modules" / "nfpsim.ko").exists():
        command = [str(KERNEL), "modules", found]
        done = subprocess.run(command, capture_output=True, text=True, timeout=900)
        if done.returncode:
            why = f"no test devices for {found}: {done.stderr[-500:]}"
            (pytest.fail if os.environ.get("CI") == "true" else pytest.skip)(why)
    return found


def booted(series: str, modules: tuple[str, ...], *command: str) -> str:
    """What a command prints in a virtual machine."""
    loads = [word for module in modules for word in ("-M", module)]
    run = [str(KERNEL), "run", "-k", series, "-t", "280", *loads, "--", *command]
    for _ in range(3):  # an emulated kernel sometimes dies as it starts
        done = subprocess.run(run, capture_output=True, text=True, timeout=300, cwd=ROOT)
        if done.returncode != 125:
            break
    assert done.returncode == 0, f"{done.stdout[-2000:]}\n{done.stderr[-2000:]}"
    return done.stdout


def loaded(series: str, objects: list[Path]) -> dict[str, dict[str, int]]:
    """NFP instructions by object and program, as the driver made them; none of what it refused."""
    script = str(HERE / "inside" / "offload.sh")
    out = booted(series, ("nfpsim",), script, *map(str, objects))
    found: dict[str, dict[str, int]] = {path.stem: {} for path in objects}
    for line in out.splitlines():
        name, program, rest = (*line.split(maxsplit=2), "")[:3]
        if name in found and program != "refused":
            found[name][program] = int(rest)
    return found


def test_the_driver_says_the_same(series: str, tmp_path: Path) -> None:
    reports: dict[str, tuple[Report, ...]] = {}
    for case in EXPECTED if os.environ.get("HELIO_PROBES") == "all" else SOME[series]:
        octets = build(case, tmp_path / f"{case}.o")
        read = read_object(octets)
        reports[case] = tuple(check_program(read, name) for name in read.programs)
    for path in PIPELINES_ON[series]:
        bundle = compile_for_card(check_file(path))
        (tmp_path / f"{path.stem}.o").write_bytes(bundle.object)
        reports[path.stem] = bundle.reports
    real = loaded(series, sorted(tmp_path.glob("*.o")))
    for name, told in reports.items():
        if EXPECTED.get(name) or name in TOO_MUCH:  # we refuse it
            assert not real[name] or name in ONLY_OURS, f"{name} is taken"
            continue
        for report in told:
            counted = real[name].get(report.program)
            assert counted is not None, f"{name}: {report.program} is refused by the driver"
            if name in EXPECTED and name not in MERGED:
                assert report.instructions == counted, name
            assert counted <= report.instructions <= counted * MOST or name in MERGED, (
                name,
                report.instructions,
                counted,
            )


@pytest.mark.parametrize("series", ["6.12"], indirect=True)
def test_a_whole_life(series: str, tmp_path: Path) -> None:
    """On netdevsim, whose maps have two entries, and on what is no card it says why not."""
    bundle = compile_for_card(check_file(ROOT / "tests" / "runtime" / "card" / "steering.hp"))
    write_bundle(bundle, tmp_path)
    modules = ("nfpsim", "psample", "netdevsim")
    booted(series, modules, sys.executable, str(HERE / "inside" / "card.py"), str(tmp_path))
