"""Bundles out of messages."""

from __future__ import annotations

from ..loading.bundle import Bundle, make_bundle, sent, unpack_traced
from . import control_pb2 as pb


def bundle_of(asked: pb.Bundle) -> Bundle:
    """Raises `Refused` where it is damaged."""
    traced = unpack_traced(asked.traced)
    return make_bundle(asked.manifest, sent(asked.object, asked.tc), traced=traced)
