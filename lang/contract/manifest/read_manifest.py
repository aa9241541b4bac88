"""Reads a manifest: its format, its types, and whether its parts agree."""

from __future__ import annotations

import json

from .manifest import FORMAT, LAYOUTS, Manifest, ManifestError
from .manifest_check import inconsistencies
from .typed_json import Misfit, build


def from_json(text: str) -> Manifest:
    """Read a manifest. Raises `ManifestError` for anything that `to_json` did not write."""
    try:
        data = json.loads(text)
    except (ValueError, RecursionError) as error:
        why = "a number or a nesting without end"
        if isinstance(error, json.JSONDecodeError):
            why = f"{error.msg} in line {error.lineno}"
        raise ManifestError(f"not JSON: {why}") from None
    found = data.get("format") if isinstance(data, dict) else None
    if type(found) is not int or found != FORMAT:
        said = found if isinstance(found, int) and 0 <= found < 1 << 32 else "that it says"
        raise ManifestError(f"the format {said} is not the {FORMAT} that this release reads")
    layout = data.get("layout", 1)
    if type(layout) is not int or layout not in LAYOUTS:
        known = " or ".join(map(str, LAYOUTS))
        raise ManifestError(f"the layout {layout!r:.40} is not {known}, which this release reads")
    try:
        manifest = build(Manifest, data)
    except Misfit as misfit:
        raise ManifestError(str(misfit)) from None
    for wrong in inconsistencies(manifest):
        raise ManifestError(wrong)
    return manifest
