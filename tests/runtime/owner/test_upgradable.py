"""Who deletes entries of states, and who puts another build in place: one after the other."""

from __future__ import annotations

import time
from contextlib import ExitStack

import pytest
from agent_world import World
from helioc.lang.text.diagnostics import Refused
from helioc.runtime.loading.bundle import read_bundle
from large_world import asked, inside, load, opened

pytestmark = pytest.mark.usefixtures("kernel")


def test_no_build_comes_while_entries_are_deleted(here: World) -> None:
    """And rules are changed meanwhile; nor are entries deleted while a build comes."""

    def work() -> None:
        with opened(here) as agent:
            owner, bundle = load(here, agent), read_bundle(here.directory / "bundle")

            def held(until: float) -> None:
                with ExitStack() as owned:
                    owned.enter_context(owner.same_build(until))

            with owner.same_build(None) as loaded:
                with pytest.raises(Refused, match="H0766"):
                    owner.upgrade(bundle, until=time.monotonic() + 0.1)
                with pytest.raises(Refused, match="H0766"):
                    held(time.monotonic() + 0.1)
                asked(owner, "create FAR 1 [(action, u8, DROP)]")
                assert loaded is owner.loaded
            owner.upgrade(bundle)
            assert owner.loaded is not loaded
            agent.unload(here.name)
            with pytest.raises(Refused, match="H0706"):
                held(time.monotonic() + 10)

    inside(here, work)
