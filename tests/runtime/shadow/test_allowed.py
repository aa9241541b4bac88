"""Which differences `--allow` lets pass."""

from __future__ import annotations

import pytest
from helioc.lang.text.diagnostics import Refused
from helioc.runtime.shadow.allowed import read_allowed
from linx_manifest import linx

MANIFEST = linx()
PDR = ("PDR", 7)


@pytest.mark.parametrize(
    ("said", "differences", "way", "allowed"),
    [
        (["redirect -> drop"], ["redirect -> drop", "PDR 7 -> PDR 9"], True, True),
        (["  redirect   ->drop "], ["redirect -> drop"], True, True),
        (["drop -> redirect"], ["redirect -> drop"], True, False),
        (["frame ipv4.tos"], ["redirect -> drop", "frame ipv4.tos"], True, False),
        (["PDR 7 -> PDR 9"], ["redirect -> drop", "PDR 7 -> PDR 9"], True, False),
        (["WAN1 -> WAN2"], ["WAN1 -> WAN2", "frame outer.src"], True, True),
        (["frame ipv4.tos"], ["frame ipv4.tos"], False, True),
        (["frame ipv4.tos"], ["frame ipv4.tos", "frame ipv4.ttl"], False, False),
        (["frame ipv4.tos", "frame ipv4.ttl"], ["frame ipv4.tos", "frame ipv4.ttl"], False, True),
        (["PDR 7"], ["redirect -> drop"], True, True),
        (["PDR"], ["redirect -> drop"], True, True),
        (["PDR 8"], ["redirect -> drop"], True, False),
        (["FAR", "no packets"], ["redirect -> drop"], True, False),
        ([], ["frame ipv4.tos"], False, False),
    ],
)
def test_what_is_named(said: list[str], differences: list[str], way: bool, allowed: bool) -> None:
    assert read_allowed(said, [MANIFEST]).allows(differences, [PDR], way) == allowed


@pytest.mark.parametrize(
    ("said", "help_"),
    [
        ("PDT 7", "did you mean `PDR`?"), ("drop to redirect", "as the report writes them"),
        ("-> drop", "something on both sides"), ("a -> b -> c", "one `->`"), ("PDR x", "PDR"),
    ],
)  # fmt: skip
def test_what_names_nothing(said: str, help_: str) -> None:
    with pytest.raises(Refused, match="H0749") as caught:
        read_allowed([said], [MANIFEST])
    assert help_ in (caught.value.diagnostics[0].help or "")
