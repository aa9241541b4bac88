"""What an edge says of itself to its controller: where its agent is, and what it runs.

    {"address": "192.0.2.10:50051", "version": "0.1.0", "pipelines": [
        {"name": "guard", "program": "guard", "digest": SHA-256 of the schema's object, "ports": [
            {"name": "UPLINK", "role": "outside", "number": 1, "interface": "eth0",
             "present": true}]}]}

By the digest a controller knows whether it has the schema; GetSchema tells it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from ..base.errors import refused
from . import errors

if TYPE_CHECKING:
    from ..agent.status import PipelineStatus


def announcement(address: str, pipelines: Iterable[PipelineStatus]) -> dict[str, Any]:
    return {
        "address": address,
        "version": version("helioc"),
        "pipelines": [_pipeline(each) for each in pipelines if each.manifest is not None],
    }


def _pipeline(status: PipelineStatus) -> dict[str, Any]:
    manifest = status.manifest
    assert manifest is not None
    ports = [
        {"name": p.name, "role": manifest.roles[p.role], "number": p.number,
         "interface": p.interface, "present": p.ifindex != 0}
        for p in status.ports
    ]  # fmt: skip
    return {"name": status.name, "program": manifest.pipeline, "digest": manifest.digest,
            "ports": ports}  # fmt: skip


def read_announcement(content: bytes) -> dict[str, Any]:
    """What is known of it, and of the shape that it must have. Raises `Refused`."""
    try:
        data = json.loads(content)
        return {
            "address": _text(data["address"]),
            "version": _text(data["version"]),
            "pipelines": [_read_pipeline(each) for each in data["pipelines"]],
        }
    except (ValueError, TypeError, KeyError, RecursionError):
        why = "the announcement has another shape"
        raise refused(errors.bad_request(why, "`announcement.py` shows it")) from None


def _read_pipeline(data: Any) -> dict[str, Any]:
    ports = [
        {"name": _text(p["name"]), "role": _text(p["role"]), "number": int(p["number"]),
         "interface": _text(p["interface"]), "present": p["present"] is True}
        for p in data["ports"]
    ]  # fmt: skip
    found = {name: _text(data[name]) for name in ("name", "program", "digest")}
    return found | {"ports": ports}


def _text(data: Any) -> str:
    """Of what may be shown in a terminal."""
    if not isinstance(data, str) or len(data) > 256 or not (data.isprintable()):
        raise ValueError
    return data
