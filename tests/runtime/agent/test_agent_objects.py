"""Objects that are damaged, though their digest is that of the manifest: told, and nothing else."""

from __future__ import annotations

import hashlib
import os
from dataclasses import replace

import pytest
from agent_world import EDGE, World
from broken_objects import mutated, pointing_nowhere
from helioc.runtime.client import Client, Rejected
from helioc.runtime.loading.bundle import Bundle, read_bundle

pytestmark = pytest.mark.usefixtures("kernel")

#: Damaged objects: `make nightly` has hundreds.
MANY = int(os.environ.get("HELIO_OBJECTS", "40")) // 10


def with_object(bundle: Bundle, data: bytes) -> Bundle:
    digest = hashlib.sha256(data).hexdigest()
    return Bundle(replace(bundle.manifest, digest=digest), data)


def test_a_damaged_object_does_not_end_the_agent(here: World) -> None:
    bundle = read_bundle(here.directory / "bundle")
    with here.agent() as process, here.client() as client:
        with pytest.raises(Rejected) as error:
            client.load(with_object(bundle, pointing_nowhere(bundle.object)), EDGE)
        (found,) = error.value.diagnostics
        assert found.code == "H0712" and "crashed on it (SIGSEGV)" in found.title
        client.load(bundle, EDGE)
        client.apply("create FAR 1 [(action, u8, DROP)]")
        with pytest.raises(Rejected, match="H0712"):
            client.upgrade(with_object(bundle, pointing_nowhere(bundle.object)))
        assert client.rule("FAR", 1)
        client.unload()
        codes = {tried(client, with_object(bundle, mutated(bundle.object, i))) for i in range(MANY)}
        assert "H9999" not in codes and process.running, codes
        assert "Traceback" not in process.output


def tried(client: Client, bundle: Bundle) -> str:
    """The code that it is refused with; nothing where it loads."""
    try:
        client.load(bundle, EDGE)
    except Rejected as error:
        return error.diagnostics[0].code
    client.unload()
    return ""
