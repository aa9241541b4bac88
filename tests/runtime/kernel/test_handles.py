"""Objects against the real kernel, and how the library's words are kept from the terminal."""

from __future__ import annotations

import ctypes
import os
from errno import EACCES
from pathlib import Path

import pytest
from helioc.runtime.kernel import libbpf
from helioc.runtime.kernel.handles import (
    BpfError,
    LibbpfMissing,
    Map,
    MapSpec,
    MapType,
    Object,
    VerifierStats,
)
from tinybpf import PACKET, PASS, SMALL, build

pytestmark = pytest.mark.usefixtures("kernel")

REFUSED = """
SEC("xdp") int good(struct xdp_md *ctx) { return XDP_PASS; }
SEC("xdp") int greedy(struct xdp_md *ctx) { return *(char *)(long)ctx->data; }
"""


def test_an_object_gives_its_programs_and_maps_by_their_full_names(small: Object) -> None:
    assert set(small.maps()) == {"cells", "rules", "counters", "stages", "ports"}
    assert "a_name_longer_than_the_kernel_keeps" in small.programs()
    rules = small.maps()["rules"]
    assert rules.spec == MapSpec(MapType.HASH, 4, 4, 16, 0, "rules")
    program = small.programs()["entry"]
    used = {small.maps()[name].id for name in ("cells", "counters", "stages")}
    assert set(program.info.map_ids) == used
    assert len(program.tag) == 16 and program.info.insns > 10 and program.info.verified_insns > 10


def test_sizes_are_set_before_loading_and_not_after() -> None:
    with Object.open(build(SMALL), name="small") as opened:
        opened.set_max_entries("rules", 99)
        assert opened.map_specs()["rules"].max_entries == 99
        opened.load()
        assert opened.maps()["rules"].spec.max_entries == 99
        with pytest.raises(ValueError, match="loaded or closed"):
            opened.set_max_entries("rules", 5)
        with pytest.raises(ValueError, match="loaded or closed"):
            opened.load()


def test_an_unknown_map_is_named_with_those_there_are() -> None:
    with (
        Object.open(build(SMALL), name="small") as opened,
        pytest.raises(BpfError, match="find map `rool` in object `small`.*it has cells, counters"),
    ):
        opened.set_max_entries("rool", 5)


def test_a_skipped_program_is_not_loaded() -> None:
    with Object.open(build(REFUSED), name="refused") as opened:
        opened.skip("greedy")
        opened.load()
        assert list(opened.programs()) == ["good"]


def test_verifier_statistics_are_there_when_asked_for() -> None:
    with Object.open(build(SMALL), name="small", log_level=libbpf.LOG_STATS) as opened:
        opened.load()
        stats = opened.programs()["deep"].stats
        assert stats is not None and stats.processed > 3
        assert stats.stack == (160,)
        assert stats.processed == opened.programs()["deep"].info.verified_insns


def test_the_log_of_functions_gives_the_stack_of_each() -> None:
    log = (
        "verification time 10 usec\nstack depth 16+0+8\nprocessed 35 insns (limit 1000000) "
        "max_states_per_insn 1 total_states 3 peak_states 2 mark_read 1\n"
    )
    assert VerifierStats.parse(log) == VerifierStats(35, 3, 2, (16, 0, 8))
    assert VerifierStats.parse("") is None


@pytest.mark.parametrize("level", [libbpf.LOG_ON_FAILURE, libbpf.LOG_TRACE | libbpf.LOG_STATS])
def test_a_refused_program_is_named_with_the_verifiers_words(
    level: int, capfd: pytest.CaptureFixture[str]
) -> None:
    opened = Object.open(build(REFUSED), name="refused", log_level=level)
    with pytest.raises(BpfError) as refusal:
        opened.load()
    assert refusal.value.program == "greedy" and refusal.value.errno == EACCES
    assert "R1 invalid mem access" in refusal.value.log or "invalid" in refusal.value.log
    assert str(refusal.value) == "load program `greedy`: Permission denied"
    assert capfd.readouterr() == ("", "")
    assert opened.programs() == {}


def test_no_raw_text_of_the_library_reaches_the_terminal(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(BpfError, match="read object `noise`"):
        Object.open(b"not an ELF file", name="noise")
    with pytest.raises(BpfError, match="read object `cut`"):
        Object.open(build(SMALL)[:700], name="cut")
    with pytest.raises(BpfError, match=r"read `.*absent\.o`: No such file"):
        Object.open(tmp_path / "absent.o")
    assert capfd.readouterr() == ("", "")


def test_mutilated_objects_are_errors_and_never_more() -> None:
    elf = build(REFUSED)
    for at in range(0, len(elf), 97):
        mutant = elf[:at] + bytes([elf[at] ^ 0xFF]) + elf[at + 1 :]
        try:
            with Object.open(mutant, name="mutant") as opened:
                opened.load()
        except BpfError:
            pass


def test_an_object_opens_from_a_path_and_takes_its_name(tmp_path: Path) -> None:
    path = tmp_path / "tiny.bpf.o"
    path.write_bytes(build(SMALL))
    with Object.open(path) as opened:
        assert opened.name == "tiny"
        assert opened.program_names()[0] == "entry"


def test_closing_twice_is_fine_and_closes_what_was_handed_out(small: Object) -> None:
    program, cells = small.programs()["entry"], small.maps()["cells"]
    mine = program.duplicate()
    small.close()
    small.close()
    assert program.closed and cells.closed
    with pytest.raises(ValueError, match="closed"):
        program.test_run(PACKET)
    with mine:
        assert mine.test_run(PACKET).retval == PASS


def test_a_forgotten_handle_warns_and_closes_itself() -> None:
    made = Map.create(MapSpec(MapType.ARRAY, 4, 4, 1, name="forgotten"))
    fd = made.fileno()
    with pytest.warns(ResourceWarning, match="unclosed <Map forgotten"):
        del made
    with pytest.raises(OSError):
        os.fstat(fd)


# The library


def test_a_missing_library_is_said_with_its_mend(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str, **_: object) -> ctypes.CDLL:
        raise OSError(f"{name}: cannot open shared object file")

    libbpf.lib.cache_clear()
    monkeypatch.setattr(ctypes, "CDLL", missing)
    with pytest.raises(LibbpfMissing, match=r"load libbpf\.so\.1: .*cannot open.*install libbpf1"):
        libbpf.possible_cpus()
    monkeypatch.undo()
    assert libbpf.possible_cpus() > 0


def test_what_the_library_says_stays_in_its_thread(capfd: pytest.CaptureFixture[str]) -> None:
    with libbpf.captured() as said:
        with pytest.raises(BpfError) as error:
            Object.open(b"\x7fELF" + bytes(200), name="noise")
        assert said == []
    assert error.value.log
    assert capfd.readouterr() == ("", "")
