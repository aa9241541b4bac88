"""The container image, run by runc with the capabilities that docs/install.md names.

Making it takes a mirror and minutes: `make nightly` does, and names it in HELIO_IMAGE.
"""

from __future__ import annotations

import json
import os
import subprocess
import tarfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from agent_world import EDGE, make_edge
from helioc.runtime.client import Client
from helioc.runtime.kernel.privileges import AGENT
from helioc.runtime.loading.bundle import read_bundle
from image import pack
from lab import Background, Lab, Namespace, command
from linx_maps import write

pytestmark = pytest.mark.usefixtures("kernel")


def read_json(layout: Path, digest: str) -> Any:
    return json.loads((layout / "blobs" / digest.replace(":", "/")).read_text())


def test_an_image_is_an_oci_layout(tmp_path: Path) -> None:
    (tmp_path / "hello").write_text("hello\n")
    with tarfile.open(tmp_path / "files.tar", "w") as files:
        files.add(tmp_path / "hello", "etc/hello")
    pack(tmp_path / "files.tar", tmp_path / "image.tar", "1.2.3")
    layout = tmp_path / "layout"
    layout.mkdir()
    command("tar", "-xf", str(tmp_path / "image.tar"), "-C", str(layout))
    (entry,) = json.loads((layout / "index.json").read_text())["manifests"]
    assert entry["annotations"]["org.opencontainers.image.ref.name"] == "1.2.3"
    manifest = read_json(layout, entry["digest"])
    assert len(manifest["layers"]) == 1
    about = read_json(layout, manifest["config"]["digest"])["config"]
    assert about["Entrypoint"] == ["/usr/bin/heliod"] and "/var/lib/helio" in about["Volumes"]


def unpack(image: Path, directory: Path) -> Path:
    """A bundle for runc."""
    layout, bundle = directory / "layout", directory / "bundle"
    layout.mkdir()
    command("tar", "-xf", str(image), "-C", str(layout))
    (entry,) = json.loads((layout / "index.json").read_text())["manifests"]
    tag = entry["annotations"]["org.opencontainers.image.ref.name"]
    command("umoci", "unpack", "--image", f"{layout}:{tag}", str(bundle), timeout=300)
    return bundle


def configure(bundle: Path, mounts: dict[str, Path]) -> None:
    """As `docker run --network host --cap-drop ALL --cap-add …` does."""
    file = bundle / "config.json"
    about = json.loads(file.read_text())
    kinds = ("bounding", "effective", "permitted")
    about["process"] |= {"terminal": False, "capabilities": {kind: [*AGENT] for kind in kinds}}
    about["process"]["rlimits"] = [{"type": "RLIMIT_NOFILE", "hard": 16384, "soft": 16384}]
    spaces = about["linux"]["namespaces"]
    about["linux"]["namespaces"] = [each for each in spaces if each["type"] != "network"]
    about["mounts"] = [m for m in about["mounts"] if m["destination"] not in mounts] + [
        {"destination": to, "source": str(from_), "type": "bind", "options": ["bind", "rw"]}
        for to, from_ in mounts.items()
    ]
    file.write_text(json.dumps(about))


@contextmanager
def bpffs(directory: Path) -> Iterator[Path]:
    directory.mkdir()
    command("mount", "-t", "bpf", "none", str(directory))
    try:
        yield directory
    finally:
        command("umount", str(directory))


@contextmanager
def running(edge: Namespace, bundle: Path) -> Iterator[Background]:
    name = f"helio-test-{os.getpid()}"
    words = edge.inside("runc", "run", "--bundle", str(bundle), name)
    process = Background(tuple(words))
    try:
        process.expect("ready at", 60)
        yield process
    finally:
        subprocess.run(["runc", "kill", name, "TERM"], capture_output=True, timeout=30)
        process.stop()
        subprocess.run(["runc", "delete", "--force", name], capture_output=True, timeout=30)


@pytest.mark.skipif("HELIO_IMAGE" not in os.environ, reason="HELIO_IMAGE names no image")
def test_the_image_works(lab: Lab, tmp_path: Path) -> None:
    edge = make_edge(lab)
    bundle = unpack(Path(os.environ["HELIO_IMAGE"]), tmp_path)
    (run := tmp_path / "run").mkdir(mode=0o750)
    (state := tmp_path / "state").mkdir(mode=0o700)
    write(tmp_path / "pipeline")
    with bpffs(tmp_path / "bpf") as pins:
        configure(bundle, {"/sys/fs/bpf": pins, "/run/helio": run, "/var/lib/helio": state})
        for restarted in (False, True):
            with (
                running(edge, bundle),
                Client(f"unix:{run}/heliod.sock", "contained") as client,
            ):
                if not restarted:
                    client.load(read_bundle(tmp_path / "pipeline"), EDGE)
                    client.apply("create FAR 1 [(action, u8, DROP)]")
                assert len(list(client.rules())) == 2
                if restarted:
                    client.unload()
