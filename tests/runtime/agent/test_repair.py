"""Kernel objects of a loaded pipeline that something removed, or put others in the place of."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from threading import Event, Thread

import pytest
from agent_world import EDGE, TO_TUNNEL, World, ask_health, crosses, texts
from helioc.runtime.client import Client, Rejected
from helioc.runtime.kernel.handles import BpfError, Map, MapSpec, MapType, Pin
from helioc.runtime.kernel.pins import Descriptor, identity, open_pin, remove_directory
from helioc.runtime.loading.bundle import read_bundle
from helioc.runtime.loading.releases import (
    ROOT,
    put_in_force,
    read_about,
    release_of,
    write_about,
)
from helioc.runtime.rpc import control_pb2 as pb
from lab import Wire, until
from linx_maps import udp

pytestmark = pytest.mark.usefixtures("kernel")

#: With `HELIO_EVERY_PIN` each pin is repaired alone, and not these only.
ALONE = "about", "entry_lan", "control"


def foreign(path: Path) -> None:
    """What is pinned there gives way to an object of another type."""
    kind = MapType.ARRAY if "stages" in path.name or "cells" in path.name else MapType.HASH
    with Map.create(MapSpec(kind, 4, 4, 1, name="foreign")) as table:
        Pin.create(table, path, replace=True)


#: What happens before an agent starts.
BEFORE = (("about", foreign), ("link_1", Path.unlink), ("release-*/about", Path.unlink),
          ("release-*/lan_stages", foreign), ("release-*/maps/control", foreign))  # fmt: skip


def load(here: World, client: Client) -> list[str]:
    client.load(read_bundle(here.directory / "bundle"), EDGE)
    client.apply(TO_TUNNEL)
    return texts(client)


def pins(here: World) -> list[Path]:
    """All that is pinned of it now."""
    return sorted(each for each in (ROOT / here.name).rglob("*") if not each.is_dir())


def findings(client: Client) -> list[pb.Finding]:
    (status,) = client.status().pipelines
    return [found for found in status.findings if found.code not in ("H0713", "H0715", "H0784")]


def damages(here: World, client: Client, path: Path, damage: Callable[[Path], None]) -> None:
    """The status names the pin; a port's link has another one by then."""
    damage(path)
    if path.name.startswith("link_"):
        until(lambda: path.exists() and identity(path).startswith("link"), "a new link")
        until(lambda: not findings(client), "a status without findings")
    else:
        (found,) = until(lambda: findings(client), f"a status that names {path}")
        assert found.code == "H0714" and path.name in found.title


@pytest.mark.parametrize("damage", [Path.unlink, foreign])
def test_every_pin_is_looked_after(
    here: World, wires: tuple[Wire, Wire], damage: Callable[[Path], None]
) -> None:
    with here.agent() as process, here.client() as client:
        before = load(here, client)
        assert len(pins(here)) > 30
        for path in pins(here):
            if path.name.startswith("link_"):
                damages(here, client, path, damage)
                continue
            known = identity(path)
            with Descriptor(open_pin(path)) as held:  # it stays as it is without its name, too
                damages(here, client, path, damage)
                path.unlink(missing_ok=True)
                Pin.create(held, path)
            assert identity(path) == known
            until(lambda: not findings(client), "a status without findings")
        every = [each.name for each in pins(here)]
        for name in every if os.environ.get("HELIO_EVERY_PIN") else ALONE:
            damage(next(each for each in pins(here) if each.name == name))
            client.repair()
            assert not findings(client)
            assert texts(client) == before
            crosses(here, wires)
        client.apply("create FAR 2 [(action, u8, DROP)]")
        assert "H9999" not in process.output and "Traceback" not in process.output
    with here.agent(), here.client() as client:
        assert len(texts(client)) == len(before) + 1
        assert not client.status().pipelines[0].findings


def all_gone(here: World) -> None:
    remove_directory(ROOT / here.name)


def all_foreign(here: World) -> None:
    for path in pins(here):
        foreign(path)


def port_gone(here: World) -> None:
    """What no link can be made without, neither."""
    for path in (ROOT / here.name / "link_1", release_of(here.name, 1) / "entry_lan"):
        path.unlink()


@pytest.mark.parametrize("damage", [all_gone, all_foreign, port_gone])
def test_ports_that_lose_their_program_get_it_back(
    here: World, wires: tuple[Wire, Wire], damage: Callable[[World], None]
) -> None:
    """Nobody asks for it, and packets are processed again."""
    with here.agent() as process, here.client() as client:
        before = load(here, client)
        damage(here)
        said = process.expect("were put back: ")
        assert "WARNING: H0715: " in said
        until(lambda: not findings(client), "a status without findings")
        assert texts(client) == before
        crosses(here, wires)
        assert "nothing is wrong" in here.ctl("repair")
        if damage is not port_gone:
            damage(here)
    with here.agent(), here.client() as client:
        assert texts(client) == before
        crosses(here, wires)
        assert not findings(client)


@pytest.mark.parametrize(("sort", "damage"), BEFORE)
def test_an_agent_that_starts(
    here: World, wires: tuple[Wire, Wire], sort: str, damage: Callable[[Path], None]
) -> None:
    with here.agent(), here.client() as client:
        before = load(here, client)
    (path,) = (ROOT / here.name).glob(sort)
    damage(path)
    with here.agent() as process, here.client() as client:
        assert texts(client) == before
        crosses(here, wires)
        codes = {each.code for each in client.status().pipelines[0].findings}
        assert codes <= {"H0713", "H0715"} and codes
        assert "H9999" not in process.output


def stage(here: World) -> tuple[Map, bytes]:
    table = Map.open_pinned(release_of(here.name, 1) / "lan_stages")
    return table, next(key for key, _ in table.items())


def test_a_stage_that_is_gone(here: World, wires: tuple[Wire, Wire]) -> None:
    with here.agent(), here.client() as client:
        load(here, client)
        table, key = stage(here)
        with table:
            table.delete(key)
        (found,) = until(lambda: findings(client), "a finding")
        assert found.code == "H0714" and "lan_stages: its program" in found.title
        assert "H0714" in here.ctl("status")
        assert next(iter(client.repair().restored)).startswith("lan_stages")
        crosses(here, wires)


def test_packets_go_on_while_it_is_repaired(here: World, wires: tuple[Wire, Wire]) -> None:
    """Each meets the pipeline, before, while and after it is loaded again beside itself."""
    with here.agent(), here.client() as client:
        load(here, client)
        crosses(here, wires)
        for path in pins(here):
            if not path.name.startswith("link_"):
                path.unlink()
        to, ended, sent = bytes.fromhex(here.edge.mac("lan0").replace(":", "")), Event(), [0]

        def send() -> None:
            while not ended.wait(0.004):
                wires[0].send(to + udp("10.1.0.10", "10.2.0.5", 1000, payload=b"x" * 18)[6:])
                sent[0] += 1

        thread = Thread(target=send)
        thread.start()
        try:
            assert client.repair().restored
        finally:
            ended.set()
            thread.join()
        arrived = sum(f[12:14] == b"\x08\x00" and f[23] == 47
                      for f in iter(lambda: wires[1].receive(0.3), None))  # fmt: skip
        assert arrived == sent[0] > 20


def test_one_that_an_older_release_loaded(here: World) -> None:
    with here.agent(), here.client() as client:
        load(here, client)
    folder = release_of(here.name, 1)
    about = {name: said for name, said in read_about(here.name).items() if name != "objects"}
    (folder / "about").unlink()
    write_about(folder, about)
    put_in_force(here.name, 1)
    with here.agent(), here.client() as client:
        assert not findings(client) and len(texts(client)) == 3
        (folder / "entry_wan").unlink()
        until(lambda: findings(client), "a status that names it")
        assert list(client.repair().restored) == ["entry_wan: it has no pin"]


def test_who_has_no_bundle_says_so(here: World) -> None:
    here.ctl("--local", "load", "bundle", "--config", "edge.yaml")
    with here.agent(), here.client() as client:
        (release_of(here.name, 1) / "entry_lan").unlink()
        with pytest.raises(Rejected, match="H0716"):
            client.repair()
        until(lambda: "H0714" in {each.code for each in findings(client)}, "a status with H0714")


def test_a_port_that_nobody_can_give_its_program_is_told(here: World) -> None:
    """Of a pipeline whose bundle the agent does not have, until it is handed that."""
    here.ctl("--local", "load", "bundle", "--config", "edge.yaml")
    at = here.directory / "health"
    with here.agent("--health", f"unix:{at}"), here.client() as client:
        until(lambda: ask_health(at, "/readyz")[0] == 200, "it is ready")
        port_gone(here)
        found = until(lambda: findings(client), "a status with findings")
        assert [each.code for each in found] == ["H0714", "H0716"]
        assert "packets of LAN go to the kernel unprocessed" in found[0].help
        assert [each.code for each in findings(client)] == ["H0714", "H0716"]
        assert ask_health(at, "/readyz") == (503, "H0714: a port has lost its program\n")
        client.upgrade(read_bundle(here.directory / "bundle"))
        until(lambda: not findings(client), "a status without findings")
        assert ask_health(at, "/readyz") == (200, "ok\n")


@pytest.mark.parametrize("damage", [Path.unlink, foreign])
def test_helioctl_without_an_agent_names_it(here: World, damage: Callable[[Path], None]) -> None:
    here.ctl("--local", "load", "bundle", "--config", "edge.yaml")
    for path in (ROOT / here.name / "about", release_of(here.name, 1) / "maps" / "control"):
        with Descriptor(open_pin(path)) as held:
            damage(path)
            for words in (("show",), ("create", "FAR 1 [(action, u8, DROP)]")):
                assert "error[H07" in here.ctl("--local", *words, status=1)
            path.unlink(missing_ok=True)
            Pin.create(held, path)
    here.ctl("--local", "create", "FAR 1 [(action, u8, DROP)]")


def test_what_is_pinned_by_its_kind_and_id(here: World) -> None:
    here.ctl("--local", "load", "bundle", "--config", "edge.yaml")
    folder = release_of(here.name, 1)
    kinds = [identity(path).split()[0] for path in (folder / "entry_lan", folder / "about",
             ROOT / here.name / "link_1")]  # fmt: skip
    assert kinds == ["prog", "map", "link"]
    with pytest.raises(BpfError):
        identity(folder / "none")
