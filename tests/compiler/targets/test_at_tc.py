"""Pipelines with roles at tc: what is built, and what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest
from check_frame import checked, framed
from click.testing import CliRunner
from helioc.commands.helioc import cli
from helioc.compiler.bundle import building, compile_for_tc, compile_pipeline, write_bundle
from helioc.compiler.driver import check_file
from helioc.lang.contract.manifest.manifest import Manifest, ManifestError
from helioc.lang.contract.manifest.read_manifest import from_json
from helioc.lang.text.diagnostics import Refused
from helioc.runtime.kernel.program_stats import measure_object
from helioc.runtime.loading.bundle import read_bundle
from hop import HOP, text

PASSES = ("forward ROUTE.interface via ipv4.dst", "pass")


def _file(folder: Path, source: str) -> Path:
    file = folder / "hop.hp"
    file.write_text(source)
    return file


def _refused(folder: Path, source: str) -> set[str]:
    with pytest.raises(Refused) as refused:
        check_file(_file(folder, source))
    return {found.code for found in refused.value.diagnostics}


def test_roles_are_at_xdp_without_a_word() -> None:
    assert [checked(framed(f"ports {said}"))[0].at for said in (  # type: ignore[union-attr]
        "lan, wan", "lan at xdp, wan", "lan at tc.ingress, wan", "lan at xdp, wan at tc.egress",
    )] == [(), (), ("tc.ingress", "xdp"), ("xdp", "tc.egress")]  # fmt: skip


def test_at_is_no_reserved_word(tmp_path: Path) -> None:
    found = HOP.replace("inside, outside", "at at xdp, outside").replace("interface", "at")
    assert check_file(_file(tmp_path, found)).roles == ("at", "outside")


def test_a_bundle_has_an_object_for_tc(tmp_path: Path) -> None:
    """Only where a role is there; and then no manifest of releases before can be misread."""
    plain = compile_pipeline(check_file(_file(tmp_path, HOP)))
    both = compile_pipeline(check_file(_file(tmp_path, text("xdp", "tc.ingress"))))
    assert not plain.tc and '"at"' not in plain.manifest.to_json()
    assert both.manifest.at == ("xdp", "tc.ingress")
    assert from_json(both.manifest.to_json()) == both.manifest
    write_bundle(both, tmp_path / "hop")
    assert read_bundle(tmp_path / "hop").tc == both.tc
    assert "#define HELIO_TC" in (tmp_path / "hop" / "hop.tc.bpf.c").read_text()
    assert "HELIO_TC" not in (tmp_path / "hop" / "hop.bpf.c").read_text()
    (tmp_path / "hop" / "hop.tc.bpf.o").write_bytes(b"another")
    with pytest.raises(Refused, match="H0703"):
        read_bundle(tmp_path / "hop")
    write_bundle(plain, tmp_path / "hop")
    assert not [path.name for path in (tmp_path / "hop").iterdir() if ".tc." in path.name]
    assert read_bundle(tmp_path / "hop").tc == b""


def test_all_at_tc_is_for_tc_alone(tmp_path: Path) -> None:
    """Unless both are asked for."""
    pipeline = check_file(_file(tmp_path, text("tc.ingress", "tc.egress", PASSES)))
    alone = compile_pipeline(pipeline).manifest
    with building(pipeline, target="host") as build:
        both = build.bundle().manifest
    assert (alone.hook, alone.tc, alone.at) == ("tc", "", ("tc.ingress", "tc.egress"))
    assert both.hook == "xdp" and both.tc and both.at == alone.at
    assert not alone.has_programs("xdp") and both.has_programs("xdp")


def test_a_manifest_agrees_with_itself(tmp_path: Path) -> None:
    made = compile_pipeline(check_file(_file(tmp_path, text("xdp", "tc.ingress")))).manifest

    def read(**others: object) -> Manifest:
        return from_json(Manifest(**{**vars_of(made), **others}).to_json())  # type: ignore[arg-type]

    for wrong in (
        {"at": ("xdp",)},
        {"tc": ""},
        {"at": ("xdp", "egress")},
        {"hook": "tc"},
    ):
        with pytest.raises(ManifestError):
            read(**wrong)


def test_a_bundle_for_tc_alone(tmp_path: Path) -> None:
    """Its roles are at tc.ingress, if they do not say more."""
    plain = compile_for_tc(check_file(_file(tmp_path, HOP))).manifest
    egress = compile_for_tc(check_file(_file(tmp_path, text("xdp", "tc.egress", PASSES)))).manifest
    for manifest, expected in ((plain, "tc.ingress"), (egress, "tc.egress")):
        assert manifest.hook == "tc" and from_json(manifest.to_json()) == manifest
        assert [manifest.attach_point(role) for role in (0, 1)] == ["tc.ingress", expected]
        assert not manifest.has_programs("xdp") and manifest.has_programs("tc.egress")


def vars_of(manifest: Manifest) -> dict[str, object]:
    return {name: getattr(manifest, name) for name in manifest.__dataclass_fields__}


def test_what_programs_cost_where_their_role_is(tmp_path: Path, kernel: None) -> None:
    """Those of the second object at tc; and again of what was built before."""
    file = _file(tmp_path, text("xdp", "tc.ingress"))
    both = compile_pipeline(check_file(file))
    sizes = [measure_object(each).programs for each in (both.object, both.tc)]
    expected = [
        (p.stage, p.role, at, f"{size[p.name].instructions:,}")
        for p in both.manifest.programs
        for at, size in [("xdp", sizes[0]) if p.role == "inside" else ("tc.ingress", sizes[1])]
    ]
    for words in ((), ("--no-cache",)):
        out = CliRunner().invoke(cli, ["compile", str(file), "-o", str(tmp_path / "b"), *words])
        rows = [tuple(line.split()[:4]) for line in out.output.splitlines()]
        assert rows[: len(expected) + 1] == [("stage", "role", "at", "instructions"), *expected]


def test_nothing_is_sent_back_at_egress(tmp_path: Path) -> None:
    forwards = "forward ROUTE.interface via ipv4.dst"
    back = text("tc.egress", "xdp", (forwards, "send back"))
    assert _refused(tmp_path, back) == {"H0561"}
    outside = text("tc.egress", "xdp", (forwards, "if port is outside { send back }\n    pass"))
    assert check_file(_file(tmp_path, outside)).at == ("tc.egress", "xdp")


def test_what_tc_does_not_have_is_named(tmp_path: Path) -> None:
    queue = text("tc.ingress", "xdp", ("    find ROUTE", "    queue 1\n    find ROUTE"))
    assert _refused(tmp_path, queue) == {"H0540"}
