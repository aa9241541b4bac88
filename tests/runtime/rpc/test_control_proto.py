"""control.proto: what is generated of it, and that the agent serves all of it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import helioc
import pytest
from helioc.runtime.rpc import control_pb2 as pb
from helioc.runtime.rpc.failures import status_code, status_codes
from helioc.runtime.rpc.methods import METHODS
from helioc.runtime.rpc.service import Service

RPC = Path(helioc.__file__).parent / "runtime" / "rpc"


def test_generated_files_are_fresh(tmp_path: Path) -> None:
    run = subprocess.run(
        [RPC / "generate.sh", tmp_path], capture_output=True, text=True, timeout=300,
        env={**os.environ, "PYTHON": sys.executable},
    )  # fmt: skip
    assert run.returncode == 0, run.stdout + run.stderr
    for name in ("control_pb2.py", "control_pb2.pyi"):
        fresh = (tmp_path / name).read_text() == (RPC / name).read_text()
        assert fresh, f"{name} is stale: run runtime/rpc/generate.sh"


def test_every_method_is_served() -> None:
    assert {name for name in METHODS if not hasattr(Service, name)} == set()


def test_every_field_is_described_by_a_version() -> None:
    assert pb.DESCRIPTOR.package == "helio.control.v1"
    assert pb.DESCRIPTOR.name == "helio/control/v1/control.proto"


def test_a_refusal_reads_no_file(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not even where there are no descriptors left, which it may be about."""
    status_codes()
    monkeypatch.setattr(Path, "read_text", None)
    monkeypatch.setattr(Path, "glob", None)
    assert status_code("H0340").name == "INVALID_ARGUMENT"
    assert status_code("H0000").name == "INVALID_ARGUMENT"


def test_codes_have_their_kind_of_error() -> None:
    codes = "H0402 H0452 H0458 H0706 H0760 H0730 H9999 H0743 H0726".split()
    known = {code: status_code(code).name for code in codes}
    assert known == {
        "H0402": "INVALID_ARGUMENT", "H0452": "FAILED_PRECONDITION", "H0458": "INVALID_ARGUMENT",
        "H0706": "NOT_FOUND", "H0760": "ABORTED", "H0730": "FAILED_PRECONDITION",
        "H9999": "INTERNAL", "H0743": "NOT_FOUND", "H0726": "FAILED_PRECONDITION",
    }  # fmt: skip
