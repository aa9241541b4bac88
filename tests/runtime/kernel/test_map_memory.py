"""The memory of tables: computed as the kernel does, asked for before it is taken."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from errno import ENOMEM
from pathlib import Path

import pytest
from click.testing import CliRunner
from helioc.commands.helioc import cli
from helioc.lang.contract.manifest.manifest import FLOWS
from helioc.lang.text.diagnostics import Refused
from helioc.runtime.base import errors as faults
from helioc.runtime.kernel.handles import BpfError, Map, MapSpec, MapType, Object
from helioc.runtime.kernel.libbpf import possible_cpus
from helioc.runtime.kernel.map_memory import available, map_memory
from helioc.runtime.kernel.map_spec import BPF_F_NO_PREALLOC
from helioc.runtime.kernel.program_stats import measure_object
from helioc.runtime.loading import table_memory
from helioc.runtime.rules.errors import of_tables
from helioc.runtime.testrun.private_run import PrivateRun
from linx_maps import bare_maps, bundle, compiled
from packet_cases import memlock, memory_is_as_computed

MIB = 1 << 20


# ---- what maps take -------------------------------------------------------------------------


@pytest.mark.usefixtures("kernel")
def test_the_kernel_accounts_the_same() -> None:
    """The packet tests that ship hold the other pipelines against it."""
    with PrivateRun(bundle()) as run:
        memory_is_as_computed(run.maps)


@pytest.mark.usefixtures("kernel")
def test_keys_take_memory_as_they_come() -> None:
    """The kernel accounts an element and a pointer; its allocator gives the next larger size."""
    spec = MapSpec(MapType.HASH, 16, 16, 4096, BPF_F_NO_PREALLOC, "keys")
    with Map.create(spec) as table:
        empty = memlock(table)
        for number in range(512):
            table.update(number.to_bytes(16, "little"), bytes(16))
        each = (memlock(table) - empty) / 512
    assert each == 88 and map_memory(spec, possible_cpus()).per_key == 96 + 8


def test_values_of_cpus_take_more_than_is_accounted() -> None:
    """Twice a CPU's share again, for who pays, and a sixteenth for what is free."""
    found = map_memory(MapSpec(MapType.PERCPU_ARRAY, 4, 16, 1000, 0), 64)
    assert found.accounted == pytest.approx(1000 * (8 + 64 * 16), abs=512)
    assert found.at_load - found.accounted == 1000 * 33


# ---- what there is --------------------------------------------------------------------------


def machine(at: Path, groups: dict[str, str], free: int, cgroup: str) -> int:
    """Available bytes of a machine with `free` MiB and these files of control groups."""
    (at / "proc" / "self").mkdir(parents=True)
    (at / "proc" / "meminfo").write_text(f"MemTotal:  9999 kB\nMemAvailable:   {free << 10} kB\n")
    (at / "proc" / "self" / "cgroup").write_text(cgroup)
    for name, content in groups.items():
        (at / "groups" / name).parent.mkdir(parents=True, exist_ok=True)
        (at / "groups" / name).write_text(content)
    return available(at / "proc", at / "groups") * 16 // 15 // MIB


def limited(folder: str, most: str, used: int, reclaimable: int, version: int) -> dict[str, str]:
    limit, usage, stat = {
        1: ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"),
        2: ("memory.max", "memory.current", "inactive_file"),
    }[version]
    return {
        f"{folder}/{limit}": most,
        f"{folder}/{usage}": f"{used * MIB}\n",
        f"{folder}/memory.stat": f"anon 1\n{stat} {reclaimable * MIB}\n",
    }


def test_the_machine_may_have_the_least(tmp_path: Path) -> None:
    assert machine(tmp_path, {}, 160, "0::/a\n") == 160


@pytest.mark.parametrize("outer", ["max\n", f"{200 * MIB}\n"])
def test_a_control_group_has_a_limit(tmp_path: Path, outer: str) -> None:
    """Of version 2; what is cached of files can be taken back."""
    groups = limited("a/b", f"{100 * MIB}\n", 80, 12, 2) | limited("a", outer, 90, 0, 2)
    assert machine(tmp_path, groups, 1600, "0::/a/b\n") == 32


def test_so_has_the_one_around_it(tmp_path: Path) -> None:
    groups = limited("a/b", "max\n", 80, 12, 2) | limited("a", f"{96 * MIB}\n", 80, 0, 2)
    assert machine(tmp_path, groups, 1600, "0::/a/b\n") == 16


def test_and_one_of_version_1(tmp_path: Path) -> None:
    groups = limited("memory/a", f"{100 * MIB}\n", 84, 16, 1)
    assert machine(tmp_path, groups, 1600, "4:cpu:/z\n3:memory:/a\n0::/\n") == 32


def test_what_cannot_be_read_limits_nothing(tmp_path: Path) -> None:
    assert available(tmp_path, tmp_path) > 1 << 60


# ---- who asks -------------------------------------------------------------------------------


@pytest.fixture
def created(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[int]]:
    """Bytes of the maps of each object that is loaded."""
    sizes: list[int] = []
    load = Object.load

    def spied(self: Object) -> None:
        needed = sum(map_memory(s, possible_cpus()).at_load for s in self.new_maps().values())
        assert needed < 200 * MIB, "more than a test may take"
        sizes.append(needed)
        load(self)

    monkeypatch.setattr(Object, "load", spied)
    yield sizes


def large(kinds: int) -> str:
    """A pipeline of that many kinds of rules, five a stage, with the largest capacity there is."""
    numbers, stages = range(kinds), range(0, kinds, 5)
    finds = [[f"find R{i} else {{ drop }}" for i in range(at, at + 5)] for at in stages]
    return "\n".join(
        [
            "import std.ethernet, std.ip",
            "pipeline large {",
            "  ports lan",
            "  parser { ethernet -> ipv4 when type = 0x800 }",
            *(f"  ie a{i} = {i + 10}, ip4" for i in numbers),
            *(f"  rule R{i} [4M] {{ match a{i} exact ipv4.src counts packets }}" for i in numbers),
            *(f"  stage s{n} {{ if ipv4 {{ {' '.join(f)} }} }}" for n, f in enumerate(finds)),
            "  stage last { pass }",
            f"  run parser -> {' -> '.join(f's{n}' for n in range(len(stages)))} -> last",
            "}",
        ]
    )


@pytest.mark.usefixtures("kernel")
def test_compile_takes_tables_of_one_entry(tmp_path: Path, created: list[int]) -> None:
    """Twenty tables of four million rules, 24 GiB: the verifier's answer, and what they would
    take."""
    (tmp_path / "large.hp").write_text(large(20))
    words = ["compile", str(tmp_path / "large.hp"), "-o", str(tmp_path / "out"), "--no-trace"]
    done = CliRunner().invoke(cli, words)
    assert done.exit_code == 0, done.output
    (size,) = created
    assert size < 100 * MIB  # 4 MiB a kind are a filter: one value, whose size the verifier asks
    assert re.search(r"^s0 +lan +[\d,]+ +[\d,]+ +\d+ +\d+$", done.stdout, re.MULTILINE)
    line = r"^R19 +rule kind +4,194,304 +1,\d{3}\.\d MiB +1,\d{3}\.\d MiB +\d{3}$"
    assert re.search(line, done.stdout, re.MULTILINE), done.stdout


@pytest.mark.usefixtures("kernel")
def test_the_verifier_walks_the_same(created: list[int]) -> None:
    measured = measure_object(bundle().object)
    with Object.open(bundle().object) as whole:
        whole.load()
        walked = {name: p.info.verified_insns for name, p in whole.programs().items()}
    assert created[0] < 4 * MIB < created[1]  # a MiB of it is of the flow cache
    assert {name: found.verified for name, found in measured.programs.items()} == walked


@pytest.mark.usefixtures("kernel")
def test_maps_that_are_there_take_no_more() -> None:
    with bare_maps() as maps, Object.open(bundle().object) as opened:
        opened.reuse("pdr_cells", maps["pdr_cells"])
        assert opened.map_specs().keys() - opened.new_maps().keys() == {"pdr_cells"}


@pytest.mark.usefixtures("kernel")
def test_nothing_is_created_where_there_is_no_room(
    monkeypatch: pytest.MonkeyPatch, created: list[int]
) -> None:
    monkeypatch.setattr(table_memory, "available", lambda: 3 * MIB)
    with pytest.raises(Refused) as error:
        PrivateRun(bundle())
    (found,) = error.value.diagnostics
    assert found.code == "H0330" and created == []
    assert re.fullmatch(
        r"the tables of `linx` take \d+\.\d MiB of memory, 3\.0 MiB are available", found.title
    )
    assert found.help.startswith("PDR6 [") and "declare fewer rules" in found.help


KINDS = ("OVERLAY", "OVERLAY6", "PDR", "PDR6", "FAR", "LBR")


def test_each_table_is_told() -> None:
    specs = measure_object(bundle().object).maps
    tables = table_memory.memory_of_tables(compiled().manifest, specs, 2)
    assert [t.name for t in tables] == [*KINDS, "other maps"]
    manifest, counts = compiled().manifest, specs.pop("counts")
    counting = [kind for kind in manifest.rules if kind.counts]
    counted = sum(16 * kind.cells * 3 for kind in counting)  # two CPUs, and what was before
    assert 0 <= 16 * 3 * counts.max_entries - counted < 3 * 4096
    specs["flows"] = replace(specs["flows"], max_entries=2 * FLOWS)
    others = sum(map_memory(spec, 2).at_load for spec in specs.values())
    assert sum(table.at_load for table in tables) == others + counted
    assert all(t.at_load <= t.full for t in tables) and all(t.each for t in tables[:-1])


def test_sizes_take_no_privilege(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.geteuid", lambda: 1)
    measured = measure_object(bundle().object)
    assert measured.why_not == "that needs root" and measured.maps["pdr_cells"].max_entries > 1


def test_a_program_is_not_refused_for_want_of_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """H0304 asks for a report."""

    def load(self: Object) -> None:
        raise BpfError("create map `pdr_filter`", ENOMEM)

    monkeypatch.setattr(Object, "load", load)
    monkeypatch.setattr("os.geteuid", lambda: 0)
    measured = measure_object(bundle().object)
    assert not measured.refused and "Cannot allocate memory" in measured.why_not


def test_a_kernel_without_memory_is_not_at_fault() -> None:
    """Neither an unfit kernel, nor a full table."""
    error = BpfError("create map `pdr_entries`", ENOMEM)
    kinds = {kind.name: kind for kind in compiled().manifest.rules}
    for found in faults.of_kernel(error, "load `linx`"), of_tables(error, kinds):
        assert found.code == "H0330"
