"""Traced builds, packed: with an object for XDP, and with one for ports at tc besides."""

from __future__ import annotations

import json
from dataclasses import replace

from helioc.lang.contract.trace.schema import FIRST, FORMAT, Schema, TracedBuild, from_json, unpack

ONE = Schema(FORMAT, "hop", "11", "22", (), FIRST)
BOTH = replace(ONE, tc="33", tc_size=6)


def test_objects_come_back() -> None:
    for build in (TracedBuild(b"object", ONE), TracedBuild(b"object", BOTH, b"second")):
        assert unpack(build.pack()) == build


def test_of_one_object_the_json_is_as_before() -> None:
    """Releases before this one read it."""
    assert not {"tc", "tc_size"} & json.loads(ONE.to_json()).keys()
    for schema in (ONE, BOTH):
        assert from_json(schema.to_json()) == schema
