"""No program takes more of the stack than the kernel has: what would is built anew, sparing it, and
refused in the pipeline's terms where that needs too much as well."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import pytest
from helioc.compiler.backend import building, stack_usage
from helioc.compiler.backend.building import built
from helioc.compiler.backend.stack_usage import depths
from helioc.compiler.bundle import compile_for_tc, compile_pipeline
from helioc.compiler.driver import check_file, lower_pipeline
from helioc.compiler.ir.unit import Unit
from helioc.compiler.lower.unit import Join
from helioc.compiler.model import Pipeline
from helioc.lang.text.diagnostics import Diagnostic, Refused
from nfp_probes import build

ROOT = Path(__file__).parents[3]
HOSTILE = ROOT / "tests/generated/found/more_than_the_stack.hp"


@cache
def hostile() -> Pipeline:
    return check_file(HOSTILE)


def test_depths_are_those_of_the_deepest_calls(tmp_path: Path) -> None:
    """248 bytes and a function's 256, each a multiple of 32; a function alone."""
    assert depths(build("stack_subprog", tmp_path / "case.o")) == {"prog": 512}
    assert depths(build("stack_448", tmp_path / "case.o")) == {"prog": 448}
    assert depths(build("ret_99", tmp_path / "case.o")) == {"prog": 32}


def test_what_needs_more_is_built_sparing_it() -> None:
    bundle = compile_pipeline(hostile(), "fused", traced=True)
    assert bundle.traced is not None
    for data in (bundle.object, bundle.traced.object):
        assert max(depths(data).values()) <= 256
    assert "spill[" in bundle.c  # the C that is shown is what was built


def test_clang_is_not_asked_what_is_known(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of four objects: that at XDP is too deep, so it is not tried traced, and at tc one program
    is. What comes of it is what comes of each alone."""
    tried, units = building._tried, list[Unit]()

    def noted(
        pipeline: Pipeline, unit: Unit, flags: Sequence[str]
    ) -> tuple[bytes, list[Diagnostic]]:
        units.append(unit)
        return tried(pipeline, unit, flags)

    path = tmp_path / "both.hp"
    path.write_text(HOSTILE.read_text().replace("ports lan", "ports lan, pod at tc.ingress"))
    monkeypatch.setattr(building, "_tried", noted)
    pipeline = check_file(path)
    bundle = compile_pipeline(pipeline, "fused", traced=True)
    done = Counter((u.target, u.traced is not None, u.spill_words > 0) for u in units)
    assert done == {
        ("host", False, False): 1,
        ("tc", False, False): 1,
        **{(target, traced, True): 1 for target in ("host", "tc") for traced in (False, True)},
    }
    (one,) = (u for u in units if u.target == "tc" and not u.spill_words)
    assert len(one.programs) == 1 < len(lower_pipeline(pipeline, "fused", target="tc").programs)
    assert bundle.tc == compile_for_tc(pipeline, "fused").object
    assert bundle.traced is not None and bundle.traced.tc
    assert max(depths(bundle.traced.tc).values()) <= 256


def refused(join: Join) -> list[Diagnostic]:
    """Of a pipeline that is never built another way."""
    unit = lower_pipeline(hostile(), join)
    with pytest.raises(Refused) as caught:
        built(hostile(), unit, lambda: unit)
    return caught.value.diagnostics


def test_clang_does_not_say_how_much_it_is() -> None:
    """It refuses single functions, and points to them."""
    found = {d.labels[0].span.text: d for d in refused("staged")}["stage write"]
    title = "stage `write` needs more stack than the kernel has"
    assert (found.code, found.title) == ("H0336", title)
    assert found.labels[0].text == "more; there are 512"
    assert found.help == "divide it into stages, or what it says into shorter statements"


def test_fused_there_is_a_way_out() -> None:
    (found,) = refused("fused")
    assert found.title == "all stages in one program needs more stack than the kernel has"
    assert found.help == "leave out `--fuse`: each stage has a stack of its own then"


def test_a_chain_of_calls_that_is_too_deep(monkeypatch: pytest.MonkeyPatch) -> None:
    """Which no clang complains of."""
    monkeypatch.setattr(stack_usage, "MOST", 128)
    with pytest.raises(Refused) as caught:
        compile_pipeline(check_file(ROOT / "examples/tour/guard.hp"))
    (found,) = caught.value.diagnostics
    assert found.code == "H0336" and found.labels[0].text.endswith(" bytes; there are 128")
