"""Loading: all or nothing; opened again; unloaded without a trace."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from functools import partial
from itertools import count
from pathlib import Path

import pytest
from click.testing import CliRunner
from helioc.commands.helioctl import cli
from helioc.lang.contract.request.request import Request
from helioc.lang.contract.request.request_parser import parse_request
from helioc.lang.text.diagnostics import Diagnostic, Refused
from helioc.lang.text.source import Source
from helioc.runtime.base import errors as faults
from helioc.runtime.base import paths
from helioc.runtime.edge.config import Config
from helioc.runtime.kernel.handles import BpfError, Link, Object, Program, XdpMode
from helioc.runtime.kernel.libbpf import possible_cpus
from helioc.runtime.kernel.netlink import Netlink
from helioc.runtime.loading import attach, install, loader, releases, table_memory
from helioc.runtime.loading.attach import DISPATCHER, another_program
from helioc.runtime.loading.bundle import read_bundle
from helioc.runtime.loading.host_state import Refreshed
from helioc.runtime.loading.loader import Loaded, unload
from helioc.runtime.loading.reader import Reader
from helioc.runtime.loading.releases import (
    FIRST,
    ROOT,
    incomplete_names,
    loaded_names,
    pick_to_remove,
    read_about,
    release_of,
    remove_pinned,
    write_about,
)
from helioc.runtime.loading.upgrade import upgrade
from helioc.runtime.loading.upgrade_plan import plan_upgrade
from helioc.runtime.ports.ports import PortConfig
from lab import Lab, Namespace
from linx_maps import bundle, write
from relay import layout1
from tinybpf import SMALL, build

pytestmark = pytest.mark.usefixtures("kernel")

_numbers = count(1)
PORTS = (PortConfig(1, "LAN", 0, "lan0", 0), PortConfig(2, "WAN1", 1, "wan0", 0))


@pytest.fixture
def name() -> Iterator[str]:
    """A pipeline's name of this test's own, of which nothing may be left."""
    chosen = f"ht{os.getpid()}-{next(_numbers)}"
    yield chosen
    left = [str(path) for path in (ROOT / chosen, paths.RUN / f"{chosen}.lock") if path.exists()]
    if left:
        remove_pinned(chosen)
        for posted in paths.RUN.glob(f"{chosen}.*"):
            posted.unlink()
        pytest.fail(f"left behind: {', '.join(left)}", pytrace=False)


@pytest.fixture
def edge(lab: Lab) -> Namespace:
    lan, made, wan = (lab.namespace(n) for n in ("lan", "edge", "wan"))
    lab.wire(lan, "eth0", made, "lan0")
    lab.wire(wan, "eth0", made, "wan0")
    made.address("lan0", "10.1.0.1/16")
    made.address("wan0", "192.0.2.1/24")
    made.neighbour("wan0", "192.0.2.2", "02:00:00:00:00:99")
    return made


def request(text: str) -> Request:
    return parse_request(Source("<test>", text))


def config(*texts: str, mode: str = "native") -> Config:
    return Config(PORTS, None, mode, tuple(map(request, texts)))  # type: ignore[arg-type]


OVERLAY = ("create OVERLAY GRE1 [(local_ip, u32, 192.0.2.1), (remote_ip, u32, 192.0.2.2), "
           "(interface, u32, WAN1)]")  # fmt: skip


def attached(edge: Namespace) -> list[int]:
    """XDP program ids of lan0 and wan0, 0 without."""

    def ask() -> list[int]:
        with Netlink() as netlink:
            by_name = {link.name: link.program for link in netlink.links()}
        return [by_name["lan0"], by_name["wan0"]]

    return edge.inside_thread(ask)


def refused(action: Callable[[], object]) -> list[Diagnostic]:
    with pytest.raises(Refused) as error:
        action()
    return error.value.diagnostics


def test_a_pipeline_outlives_its_loader_and_is_opened_again(edge: Namespace, name: str) -> None:
    def go() -> None:
        with Loaded.load(bundle(), config(OVERLAY), name) as loaded:
            loaded.apply(request("create FAR 5 [(action, u8, REDIRECT), (interface, u32, GRE1)]"))
            saved = loaded.book.save()
        assert name in loaded_names()
        with Loaded.open(name) as again:
            assert again.book.save() == saved
            assert [port.name for port in again.ports] == ["LAN", "WAN1"]
            again.apply(request("update FAR 5 [(action, u8, DROP)]"))
        loader.unload(name)

    edge.inside_thread(go)
    assert name not in loaded_names() and attached(edge) == [0, 0]


def test_no_rule_has_the_sequence_of_one_that_is_gone(edge: Namespace, name: str) -> None:
    """Entries of states, and events, may still say it."""
    create, delete = request("create FAR 9 [(action, u8, DROP)]"), request("delete FAR 9")
    seen = set[int]()

    def go() -> None:
        with Loaded.load(bundle(), config(), name) as loaded:
            loaded.apply(create)
            seen.add(youngest(loaded))
            loaded.apply(delete)
        for _ in range(2):
            with Loaded.open(name) as again:
                again.apply(create)
                assert youngest(again) not in seen
                seen.add(youngest(again))
                again.apply(delete)
                done = upgrade(again, plan_upgrade(again, bundle()))
                done.apply(create)
                assert youngest(done) not in seen
                seen.add(youngest(done))
                done.apply(delete)
                done.close()
        loader.unload(name)

    def youngest(loaded: Loaded) -> int:
        return max(rule.sequence for rule in loaded.book.save())

    edge.inside_thread(go)


@pytest.mark.parametrize("mode", ["native", "generic"])
def test_both_ports_are_attached_until_unloaded(edge: Namespace, name: str, mode: str) -> None:
    loaded = edge.inside_thread(lambda: Loaded.load(bundle(), config(mode=mode), name))
    assert all(attached(edge))
    loaded.unload()
    assert attached(edge) == [0, 0]


def test_an_interface_that_comes_back_is_attached_again(edge: Namespace, name: str) -> None:
    loaded = edge.inside_thread(lambda: Loaded.load(bundle(), config(), name))
    try:
        edge.ip("link", "delete", "lan0")
        assert edge.inside_thread(loaded.refresh).gone == ("LAN",)
        edge.ip("link", "add", "lan0", "type", "veth", "peer", "name", "lan9")
        for end in ("lan9", "lan0"):
            edge.offload(end, gro="on")
            edge.ip("link", "set", end, "up")
        assert edge.inside_thread(loaded.refresh).attached == ("LAN",)
        assert all(attached(edge))
        assert edge.inside_thread(loaded.refresh) == Refreshed(0, (), ())
    finally:
        loaded.unload()


def test_a_next_hop_is_resolved_into_the_rule_and_refreshed(edge: Namespace, name: str) -> None:
    loaded = edge.inside_thread(lambda: Loaded.load(bundle(), config(OVERLAY), name))
    try:
        table = loaded.writer.tables["OVERLAY"]
        member = next(m for m in table.kind.record if m.kind == "next_hop")

        def hop() -> bytes:
            cell = table.ids[1]
            at = table.record_at(cell, table.live_slot(cell)) + member.offset
            return bytes(table.records[at : at + member.size])

        assert hop()[8:14].hex() == "020000000099" and hop()[20] == 1
        assert hop()[14:20].hex(":") == edge.mac("wan0")
        assert loaded.refresh().rules == 0
        edge.neighbour("wan0", "192.0.2.2", "02:00:00:00:00:77")
        assert loaded.refresh().rules == 1
        assert hop()[8:14].hex() == "020000000077"
        key = (2).to_bytes(4, "little") + bytes((192, 0, 2, 2))
        assert (loaded.maps["neighbours"].lookup(key) or b"")[8:14].hex() == "020000000077"
        for address in ("10.1.0.1", "10.1.255.255", "192.0.2.255"):
            assert loaded.maps["local"].lookup(bytes(map(int, address.split("."))))
    finally:
        loaded.unload()


def test_one_writer_at_a_time(edge: Namespace, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("helioc.runtime.base.file_lock.PATIENCE", 0.1)
    loaded = edge.inside_thread(lambda: Loaded.load(bundle(), config(), name))
    try:
        found = edge.inside_thread(lambda: refused(lambda: Loaded.open(name)))
        assert [d.code for d in found] == ["H0709"] and str(os.getpid()) in found[0].title
        assert [d.code for d in refused(lambda: loader.unload(name))] == ["H0709"]
    finally:
        loaded.unload()


def test_a_pipeline_belongs_to_its_network_namespace(edge: Namespace, name: str) -> None:
    edge.inside_thread(lambda: Loaded.load(bundle(), config(), name)).close()
    try:
        assert [d.code for d in refused(lambda: Loaded.open(name))] == ["H0711"]
    finally:
        loader.unload(name)


# ---- what goes wrong, leaving nothing -------------------------------------------------------


def _load(edge: Namespace, name: str, config: Config) -> list[Diagnostic]:
    found = edge.inside_thread(lambda: refused(lambda: Loaded.load(bundle(), config, name)))
    assert attached(edge) == [0, 0]
    return found


def test_a_request_that_is_refused(edge: Namespace, name: str) -> None:
    found = _load(edge, name, config(OVERLAY, "create FAR 1 [(action, u8, NONSENSE)]"))
    assert found[0].code.startswith("H04")


def test_all_requests_that_are_wrong_are_told_of(edge: Namespace, name: str) -> None:
    wrong = "create OVERLAY GRE1 [(local_ip, u32, here)]"
    far = "create FAR 1 [(action, u8, NONSENSE)], FAR 2 [(action, u8, 2), (interface, u32, GRE1)]"
    found = _load(edge, name, config(wrong, far))
    assert [d.code for d in found] == ["H0415", "H0417"]  # not that GRE1 is not there


def test_another_program_on_one_of_the_interfaces(edge: Namespace, name: str) -> None:
    with Object.open(build(SMALL), name="small") as small:
        small.load()

        def inside() -> list[Diagnostic]:
            with Netlink() as netlink:
                number = next(x.index for x in netlink.links() if x.name == "wan0")
            with Link.attach_xdp(small.programs()["dropper"], number):
                return refused(lambda: Loaded.load(bundle(), config(), name))

        found = edge.inside_thread(inside)
    assert [d.code for d in found] == ["H0724"] and "wan0" in found[0].title
    assert "`dropper`, id " in found[0].title and "ip link set dev wan0 xdp off" in found[0].help
    assert attached(edge) == [0, 0]


def test_no_pipeline_where_there_is_no_memory(
    edge: Namespace, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(table_memory, "available", lambda: 1 << 20)
    found = _load(edge, name, config())
    assert [d.code for d in found] == ["H0330"] and "1.0 MiB are available" in found[0].title
    assert not (ROOT / name).exists()


@pytest.mark.usefixtures("kernel")
def test_tables_that_may_not_get_full_are_warned_of(monkeypatch: pytest.MonkeyPatch) -> None:
    """In layout 1 keys of rules take memory when these come."""
    built = layout1()
    with Object.open(built.object) as opened:
        maps = opened.new_maps()
        tables = table_memory.memory_of_tables(built.manifest, maps, possible_cpus())
    full = sum(table.full for table in tables)
    for free, warned in (full, False), (full - 1, True):
        monkeypatch.setattr(table_memory, "available", lambda free=free: free)
        with Object.open(built.object) as opened:
            found = table_memory.load_object(built.manifest, opened)
        assert [each.code for each in found] == ["H0330"] * warned
    assert found[0].severity == "warning" and "when they are full" in found[0].title
    assert found[0].help.startswith("ROUTE [64]")


def test_more_counters_than_a_map_can_have(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(install, "cpu_numbers", lambda: 1 << 20)
    with Object.open(bundle().object) as opened, pytest.raises(Refused, match="counters on this"):
        install.prepare_object(bundle().manifest, opened)


def test_libxdps_dispatcher_has_commands_of_its_own() -> None:
    said = another_program("eth1", 7, None, called=DISPATCHER)
    assert "`xdp_dispatcher`, id 7" in said.title and "xdp-loader unload eth1 --all" in said.help


def test_a_kernel_that_is_too_old() -> None:
    """EINVAL is what the kernel says to what it does not know."""
    found = faults.of_kernel(BpfError("create the map `pdr_cells`", 22), "load the pipeline `p`")
    assert found.code == "H0722" and "create the map `pdr_cells`" in found.title
    assert f"Linux 5.10 or newer with BPF and XDP; this one is {os.uname().release}" in found.help


def test_an_interface_that_loses_redirected_frames(edge: Namespace, lab: Lab, name: str) -> None:
    other = lab.namespace("other")
    edge.ip("link", "add", "bad0", "type", "veth", "peer", "name", "eth0", "netns", other.name)
    edge.ip("link", "set", "bad0", "up")
    config = Config((*PORTS, PortConfig(3, "BAD", 1, "bad0", 0)))
    found = _load(edge, name, config)
    assert [d.code for d in found] == ["H0726"] and "gro on" in found[0].help


@pytest.mark.parametrize("failing", [1, 2])
def test_an_attachment_that_fails_half_way(
    edge: Namespace, name: str, failing: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, calls = Link.attach_xdp, count(1)

    def fails(program: Program, ifindex: int, mode: XdpMode = XdpMode.NATIVE) -> Link:
        if next(calls) == failing:
            raise BpfError("attach", 34, fix="its MTU is too large for XDP")
        return real(program, ifindex, mode)

    monkeypatch.setattr(Link, "attach_xdp", fails)
    assert [d.code for d in _load(edge, name, config())] == ["H0727"]


def test_a_program_that_the_verifier_refuses(
    edge: Namespace, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = (
        "; push outer @ linx.hp:64\n12: (61) r1 = *(u32 *)(r2 +0)\n"
        "R2 invalid mem access 'scalar'\nprocessed 13 insns (limit 1000000)\n"
    )

    def load(self: Object) -> None:
        raise BpfError("load program `linx_lan_forwarder`", 13, log, program="linx_lan_forwarder")

    monkeypatch.setattr(Object, "load", load)
    (found,) = _load(edge, name, config())
    assert found.code == "H0723"
    assert "linx.hp:64" in found.title and "invalid mem access" in found.title
    assert "libbpf" not in found.title + found.help


def test_a_load_that_was_killed_is_cleared_by_the_next(edge: Namespace, name: str) -> None:
    def begun() -> None:
        pid = os.fork()
        if not pid:
            try:
                attach.attach = lambda *_: os._exit(0)
                Loaded.load(bundle(), config(OVERLAY), name)
            finally:
                os._exit(1)
        assert os.waitpid(pid, 0)[1] == 0
        assert (release_of(name, FIRST) / "maps").is_dir()

    edge.inside_thread(begun)
    assert name not in loaded_names() and name in incomplete_names()
    edge.inside_thread(lambda: Loaded.load(bundle(), config(OVERLAY), name)).unload()
    edge.inside_thread(begun)
    said = edge.inside_thread(lambda: CliRunner().invoke(cli, ["list"], obj="").output)
    assert f"{name} (not whole" in said and f"`helioctl --name {name} unload`" in said
    said = edge.inside_thread(lambda: CliRunner().invoke(cli, ["list", "--json"], obj="").output)
    assert {"name": name, "whole": False, "health": None} in json.loads(said)
    assert pick_to_remove(name) == name
    unload(name)
    assert name not in incomplete_names()


def test_what_is_not_whole_is_removed_by_name_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another process may be loading it, for another network namespace."""
    monkeypatch.setattr(releases, "ROOT", tmp_path)
    (tmp_path / "left" / "maps").mkdir(parents=True)
    with pytest.raises(Refused) as refused:
        pick_to_remove("")
    (found,) = refused.value.diagnostics
    assert (found.code, "left" in found.help) == ("H0706", True)
    assert pick_to_remove("left") == "left"


# ---- bundles --------------------------------------------------------------------------------


def _damaged(directory: Path, what: str) -> None:
    manifest, binary = directory / "manifest.json", directory / "linx.bpf.o"
    if what == "no manifest":
        manifest.unlink()
    elif what == "no object":
        binary.unlink()
    elif what == "another object":
        binary.write_bytes(binary.read_bytes()[:-1] + b"?")
    elif what == "not JSON":
        manifest.write_text("{")
    elif what == "another format":
        manifest.write_text(json.dumps({**json.loads(manifest.read_text()), "format": 99}))
    elif what == "half a manifest":
        found = json.loads(manifest.read_text())
        del found["rules"]
        manifest.write_text(json.dumps(found))
    elif what == "not UTF-8":
        manifest.write_bytes(b"\xff\xfe")
    elif what == "a path for a name":
        found = {**json.loads(manifest.read_text()), "pipeline": "../../etc/passwd"}
        manifest.write_text(json.dumps(found))


@pytest.mark.parametrize(
    ("what", "code"),
    [
        ("no manifest", "H0701"), ("no object", "H0701"), ("another object", "H0703"),
        ("not JSON", "H0702"), ("another format", "H0702"), ("half a manifest", "H0702"),
        ("not UTF-8", "H0702"), ("a path for a name", "H0702"),
    ],
)  # fmt: skip
def test_a_damaged_bundle(tmp_path: Path, what: str, code: str) -> None:
    _damaged(write(tmp_path), what)
    assert [d.code for d in refused(lambda: read_bundle(tmp_path))] == [code]


def test_a_bundle_that_is_none(tmp_path: Path) -> None:
    assert refused(lambda: read_bundle(tmp_path / "x"))[0].code == "H0701"
    (tmp_path / "file").write_text("")
    assert refused(lambda: read_bundle(tmp_path / "file"))[0].code == "H0701"


@pytest.mark.parametrize(
    "wrong",
    [
        [],
        {"ports": None},
        {"ports": [{"number": 1}]},
        {"ports": [{"number": "1", "name": "LAN", "role": 0, "interface": "lan0", "vlan": 0}]},
        {"manifest": {}},
        {"manifest": "{}"},
        {"default": "maybe"},
        {"mode": 1},
        {"control": 5},
        {"congestion": 5},
        {"liveness": {"often": 1}},
        {"namespace": None},
        {"release": "1"},
    ],
    ids=str,
)
def test_damaged_pins_are_said_in_words(
    edge: Namespace, name: str, wrong: dict[str, object] | list[object]
) -> None:
    edge.inside_thread(lambda: Loaded.load(bundle(), config(), name)).close()
    about = read_about(name)
    (ROOT / name / "about").unlink()
    write_about(ROOT / name, {**about, **wrong} if isinstance(wrong, dict) else wrong)  # type: ignore[arg-type]
    for use in (partial(Loaded.open, name), partial(Reader, name)):
        (found,) = edge.inside_thread(partial(refused, use))
        assert found.code == "H0710"
        for python in ("'", "Error", "__init__", "NoneType", "argument"):
            assert python not in found.title
    loader.unload(name)


def test_names_that_are_none(name: str) -> None:
    for bad in ("../x", "a.b", "", "-x", "x" * 65, "a/b"):
        load = partial(Loaded.load, bundle(), config(), bad or ".")
        assert refused(load)[0].code == "H0707"
    assert refused(lambda: Loaded.open(name))[0].code == "H0706"
    assert refused(lambda: loader.unload(name))[0].code == "H0706"
