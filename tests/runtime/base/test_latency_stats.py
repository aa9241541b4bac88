"""What is told of requests beside the agent, where there is no room for it."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path

import pytest
from agent_world import EDGE, World
from helioc.runtime.base import latency_stats
from helioc.runtime.base.latency_stats import LatencyStats, read_latency
from helioc.runtime.base.paths import RUN
from helioc.runtime.loading.bundle import read_bundle

pytestmark = pytest.mark.usefixtures("kernel")

#: The tally of the pipeline is one that an agent left which was killed as it first wrote into it.
FULL = f"""\
mkdir -p {RUN} && mount -t tmpfs -o size=64k,mode=700 none {RUN} || exit
[ "$0" = none ] || truncate -s {latency_stats._LAYOUT.size} {RUN}/$0.tally
cat /dev/zero > {RUN}/filler 2> /dev/null
exec "$@"
"""


@pytest.fixture
def small(kernel: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """What is /run/helio to the tally: 64 KiB."""
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "none", tmp_path], check=True)
    monkeypatch.setattr(latency_stats, "RUN", tmp_path)
    yield tmp_path
    subprocess.run(["umount", "--lazy", tmp_path], check=True)


def test_an_agent_goes_on_where_run_is_full(here: World) -> None:
    """It loads a pipeline, and the next one takes it over."""
    full = ("unshare", "--mount", "sh", "-c", FULL)
    with here.agent(by=(*full, "none")) as process, here.client() as client:
        client.load(read_bundle(here.directory / "bundle"), EDGE)
        client.apply("create FAR 1 [(action, u8, DROP)]")
        assert process.running
    with here.agent(by=(*full, here.name)) as process, here.client() as client:
        client.apply("create FAR 2 [(action, u8, DROP)]")
        assert len(list(client.rules(kinds=["FAR"]))) == 2 and process.running


def test_a_tally_goes_on_where_run_has_become_full(small: Path) -> None:
    with closing(LatencyStats("p")) as first:
        first.refused()
    with suppress(OSError):
        (small / "filler").write_bytes(bytes(1 << 16))
    with closing(LatencyStats("p")) as second:
        second.refused()
        found = read_latency("p")
        assert found is not None and (found.starts, found.refused) == (2, 2)
