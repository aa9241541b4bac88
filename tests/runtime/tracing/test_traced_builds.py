"""A bundle's traced build on its way: on disk, to the agent, over a reboot, and out of place."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from agent_world import EDGE, World
from helioc.compiler.bundle import compile_pipeline, write_bundle
from helioc.compiler.driver import check_file
from helioc.lang.contract.trace.schema import SchemaError, unpack
from helioc.lang.text.diagnostics import Refused
from helioc.runtime.kernel.handles import Link, Program
from helioc.runtime.kernel.pinned_bytes import write_bytes
from helioc.runtime.loading import releases
from helioc.runtime.loading.attach import link_of
from helioc.runtime.loading.bundle import read_bundle, unpack_traced
from helioc.runtime.loading.loader import Loaded
from helioc.runtime.loading.releases import ROOT, read_traced, release_of, remove_pinned
from helioc.runtime.loading.upgrade import upgrade
from helioc.runtime.loading.upgrade_plan import plan_upgrade
from helioc.runtime.tracing.stale_traces import stale_traces
from helioc.runtime.tracing.swap import restore_plain_builds, tracing
from linx_world import PIPELINES


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("linx")
    write_bundle(compile_pipeline(check_file(PIPELINES / "linx.hp"), traced=True), directory)
    return directory


def copied(bundle: Path, to: Path) -> Path:
    for file in bundle.iterdir():
        (to / file.name).write_bytes(file.read_bytes())
    return to


def test_on_disk(bundle: Path, tmp_path: Path) -> None:
    found = read_bundle(bundle)
    assert found.traced is not None and unpack(found.traced.pack()) == found.traced
    copied(bundle, tmp_path)
    write_bundle(compile_pipeline(check_file(PIPELINES / "linx.hp")), tmp_path)
    assert not list(tmp_path.glob("*trace*"))
    assert read_bundle(tmp_path).traced is None


def _other_object(directory: Path) -> None:
    (directory / "linx.trace.bpf.o").write_bytes(b"x")


def _no_object(directory: Path) -> None:
    (directory / "linx.trace.bpf.o").unlink()


def _change(**changes: object) -> Callable[[Path], None]:
    def make(directory: Path) -> None:
        path = directory / "trace.json"
        path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))

    return make


@pytest.mark.parametrize(
    ("damage", "code"),
    [
        (_other_object, "H0703"),
        (_no_object, "H0701"),
        (_change(plain="00"), "H0703"),
        (_change(format=2), "H0702"),
        (_change(points=[]), "H0702"),
        (_change(pipeline="../x"), "H0702"),
        (lambda d: (d / "trace.json").write_bytes(b"\xff"), "H0702"),
    ],
)
def test_what_is_damaged_is_refused(
    bundle: Path, tmp_path: Path, damage: Callable[[Path], None], code: str
) -> None:
    damage(copied(bundle, tmp_path))
    with pytest.raises(Refused) as refused:
        read_bundle(tmp_path)
    assert [d.code for d in refused.value.diagnostics] == [code]


def test_what_is_no_packed_build_is_refused() -> None:
    assert unpack_traced(b"") is None
    with pytest.raises(SchemaError):
        unpack(b"?")
    with pytest.raises(Refused, match="H0702"):
        unpack_traced(b"?")


@pytest.mark.usefixtures("kernel")
def test_by_the_agent_and_over_a_reboot(bundle: Path, here: World) -> None:
    found = read_bundle(bundle)
    assert found.traced is not None
    with here.agent(), here.client() as client:
        client.load(found, EDGE)
        assert unpack(read_traced(release_of(here.name, 1))) == found.traced
    remove_pinned(here.name)
    with here.agent():
        assert unpack(read_traced(release_of(here.name, 1))) == found.traced


# ---- out of place ---------------------------------------------------------------------------


@pytest.fixture
def loaded(bundle: Path, here: World) -> World:
    with here.agent(), here.client() as client:
        client.load(read_bundle(bundle), EDGE)
    return here


def in_place(here: World, folder: str) -> bool:
    with (
        Link.open_pinned(link_of(here.name, 1)) as link,
        Program.open_pinned(release_of(here.name, 1) / folder / "entry_lan") as entry,
    ):
        return link.info().program_id == entry.id


def swapped(here: World) -> None:
    with tracing(here.name):
        assert in_place(here, "trace")


@pytest.mark.usefixtures("kernel")
def test_in_and_out_of_place(loaded: World) -> None:
    for _ in range(3):
        loaded.edge.inside_thread(lambda: swapped(loaded))
        assert in_place(loaded, "") and not stale_traces()


@pytest.mark.usefixtures("kernel")
def test_what_was_killed_while_it_was_made_is_mended(loaded: World) -> None:
    """Nothing but the folder may be there, or a part of what belongs into it."""
    folder = release_of(loaded.name, 1) / "trace"
    folder.mkdir()
    assert restore_plain_builds() == [loaded.name] and not folder.exists()
    with Program.open_pinned(release_of(loaded.name, 1) / "entry_lan") as entry:
        folder.mkdir()
        entry.pin(folder / "entry_lan").keep()
        loaded.edge.inside_thread(lambda: swapped(loaded))
    assert in_place(loaded, "") and not stale_traces()


@pytest.mark.usefixtures("kernel")
def test_what_somebody_else_put_in_place_stays(loaded: World) -> None:
    """As an upgrade does, before or meanwhile."""
    release = release_of(loaded.name, 1)
    with (
        Link.open_pinned(link_of(loaded.name, 1)) as link,
        Program.open_pinned(release / "entry_wan") as other,
        Program.open_pinned(release / "entry_lan") as own,
    ):

        def upgraded() -> None:
            with tracing(loaded.name):
                link.update(other)

        loaded.edge.inside_thread(upgraded)
        assert link.info().program_id == other.id
        with pytest.raises(Refused, match="H0858"):
            loaded.edge.inside_thread(lambda: swapped(loaded))
        link.update(own)
    loaded.edge.inside_thread(lambda: swapped(loaded))


@pytest.mark.usefixtures("kernel")
def test_it_goes_on_where_an_upgrade_was_put_back(loaded: World) -> None:
    """As by an interface that is back the link leads to the plain build then."""
    with (
        Link.open_pinned(link_of(loaded.name, 1)) as link,
        Program.open_pinned(release_of(loaded.name, 1) / "entry_lan") as plain,
    ):

        def put_back() -> None:
            with tracing(loaded.name) as session:
                link.update(plain)
                session.renew()
                assert in_place(loaded, "trace")

        loaded.edge.inside_thread(put_back)
    assert in_place(loaded, "") and not stale_traces()


@pytest.mark.usefixtures("kernel")
def test_it_ends_with_an_upgrade(loaded: World, bundle: Path) -> None:
    """Also where that begins while a link is led to the traced build again."""

    def upgraded() -> None:
        with tracing(loaded.name) as session:
            with Loaded.open(loaded.name) as before:
                upgrade(before, plan_upgrade(before, read_bundle(bundle))).close()
            session.renew()
            assert session.ended

    loaded.edge.inside_thread(upgraded)
    assert not stale_traces() and releases.releases_of(loaded.name) == [2]
    with (
        Link.open_pinned(link_of(loaded.name, 1)) as link,
        Program.open_pinned(release_of(loaded.name, 2) / "entry_lan") as entry,
    ):
        assert link.info().program_id == entry.id
    loaded.edge.inside_thread(lambda: traced_once(loaded))


def traced_once(here: World) -> None:
    with tracing(here.name) as session:
        assert not session.ended


@pytest.mark.usefixtures("kernel")
def test_a_damaged_build_is_refused(loaded: World) -> None:
    (release_of(loaded.name, 1) / "traced").unlink()
    write_bytes(release_of(loaded.name, 1) / "traced", b"?")
    with pytest.raises(Refused, match="H0852"):
        loaded.edge.inside_thread(lambda: swapped(loaded))


@pytest.mark.usefixtures("kernel")
def test_it_ends_with_the_pipeline(loaded: World) -> None:
    def unloaded() -> None:
        with tracing(loaded.name) as session:
            assert not session.ended
            remove_pinned(loaded.name)
            assert session.ended

    loaded.edge.inside_thread(unloaded)
    assert not (ROOT / loaded.name).exists()
