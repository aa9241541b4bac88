"""Reads requests from files: text, YAML, CSV, packed columns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from ...lang.contract.request.request import Request
from ...lang.text.atomic_write import write_files
from ...lang.text.diagnostics import Diagnostic, did_you_mean
from ...lang.text.source import Source
from . import errors
from .files import MIB, read_bytes, read_source

if TYPE_CHECKING:
    from ...lang.contract.manifest.manifest import Manifest
    from ...lang.contract.rules.columns import Columns
    from ...lang.contract.rules.rulekinds import Kind

#: What a file's ending says it holds.
FORMATS = {".req": "text", ".txt": "text", ".yaml": "yaml", ".yml": "yaml",
           ".csv": "csv", ".hpr": "hpr"}  # fmt: skip
#: Bytes that a file of each format may have.
LARGEST = {"text": 64 * MIB, "yaml": 64 * MIB, "csv": 1024 * MIB, "hpr": 1024 * MIB}


def read_request(
    path: Path, manifest: Manifest, kinds: Mapping[str, Kind], kind: str
) -> Request | Columns:
    """What a file asks for; `-` is text on standard input. `kind`: whose rules a CSV holds; where
    empty, its file name says it (`pdr.csv`). Raises `Refused`."""
    form = "text" if str(path) == "-" else FORMATS.get(path.suffix.lower(), "")
    if not form:
        help_ = f"its name must end with one of {', '.join(FORMATS)}"
        raise errors.refused(_unknown_file(str(path), help_))
    if form == "hpr":
        from ...lang.contract.rules.columns import load

        return load(read_bytes(path, LARGEST[form]), str(path))
    source = read_source(path, LARGEST[form])
    if form == "yaml":
        from ...lang.contract.rules.yaml_requests import read_yaml

        return read_yaml(source, manifest)
    if form == "csv":
        return _csv(path, source, kinds, kind)
    from ...lang.contract.request.request_parser import parse_request

    return parse_request(source)


def pack(path: Path, out: Path, manifest: Manifest, kind: str) -> Columns:
    """Write the rules of a CSV to the `.hpr` file `out`. Raises `Refused`."""
    from ...lang.contract.rules import identical
    from ...lang.contract.rules.columns import dump
    from ...lang.contract.rules.rulekinds import Kind

    if str(path) != "-" and path.suffix.lower() != ".csv":
        raise errors.refused(_unknown_file(str(path), "rules are packed from a .csv file"))
    if out.suffix.lower() != ".hpr":
        help_ = "packed rules are known by the ending .hpr: give such a name with -o"
        raise errors.refused(_unknown_file(str(out), help_))
    kinds = {r.name: Kind(manifest, r) for r in manifest.rules}
    columns = _csv(path, read_source(path, LARGEST["csv"]), kinds, kind)
    found = identical.check(columns, kinds[columns.kind])
    write_files({out: dump(columns)})
    return replace(columns, warnings=(*columns.warnings, *found))


def _csv(path: Path, source: Source, kinds: Mapping[str, Kind], kind: str) -> Columns:
    from ...lang.contract.rules.csv_columns import read_csv

    folded = (kind or path.stem).lower()
    found = next((k for name, k in kinds.items() if name.lower() == folded), None)
    if found is None:
        known = list(kinds)
        near = did_you_mean(folded, known)
        help_ = f"say it by `--kind`: {near or ', '.join(known)}"
        title = f"`{kind}` is no kind of rule" if kind else f"whose rules are in `{path}`?"
        raise errors.refused(errors.unknown_kind(title, help_))
    return read_csv(source, found)


# ---- errors ---------------------------------------------------------------------------------


def _unknown_file(path: str, help_: str) -> Diagnostic:
    return Diagnostic("H0741", f"what is in `{path}`?", (), help_)
