"""`helioctl load --offload`: onto the card; onto the host only where that was asked for."""

from __future__ import annotations

from pathlib import Path

from ..lang.text.diagnostics import Diagnostic, Refused
from ..runtime.base.errors import refused
from ..runtime.loading.bundle import read_bundle
from .control import LoadedNow, Target

TWIN = "host"  # the folder of the host's programs in a card's bundle
_NO_CARD = "H0754"


def load_onto_card(
    target: Target, directory: Path, config: Path, or_host: bool
) -> tuple[LoadedNow, str]:
    """What the load came to, and in words where it runs. Raises `Refused`."""
    bundle = read_bundle(directory)
    if bundle.manifest.target == "host":
        raise refused(_not_for_a_card(str(directory)))
    try:
        with target.open() as control:
            return control.load(bundle, config), " (in the card)"
    except Refused as failed:
        if not or_host or any(d.code != _NO_CARD for d in failed.diagnostics):
            raise
        why = failed.diagnostics[0].title
    twin = read_bundle(directory / TWIN)
    with target.open() as control:
        return control.load(twin, config), f" (on the host: {why})"


def replace_on_card(target: Target, directory: Path) -> str:
    """Put a bundle's programs in the place of those that run; the pipeline's name. Raises
    `Refused`."""
    bundle = read_bundle(directory)
    if bundle.manifest.target == "host":
        raise refused(_not_for_a_card(str(directory)))
    with target.open() as control:
        return control.upgrade(bundle, None, False).name


# ---- errors ---------------------------------------------------------------------------------


def _not_for_a_card(path: str) -> Diagnostic:
    return Diagnostic(
        "H0751", f"the bundle in `{path}` is not for a card", (),
        "compile it with `--target nfp`, or load it without `--offload`",
    )  # fmt: skip
