"""`make image`: the agent as a container image (OCI), for docker, podman and Kubernetes.

`package/image.py DIRECTORY`: of the Debian package there, and of a Debian 12 with what that needs,
by mmdebstrap from the mirror that apt has here. The image is a tar of an OCI layout.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

from deb import said

NAME = "helio"
#: What a container runs, and how it is looked after; the rest is its runtime's.
_CONFIGURATION = (
    "--config.entrypoint=/usr/bin/heliod",
    "--config.volume=/var/lib/helio",
    "--config.stopsignal=SIGTERM",
    "--config.workingdir=/",
    "--config.label=org.opencontainers.image.title=heliod",
)
_LEFT_OUT = ("/usr/share/doc/*", "/usr/share/man/*", "/usr/share/locale/*")


def make_image(package: Path, to: Path) -> None:
    """`to`: a tar."""
    with tempfile.TemporaryDirectory(prefix="helio-") as scratch:
        files = Path(scratch) / "files.tar"
        make_files(package, files)
        pack(files, to, said("dpkg-deb", "--field", str(package), "Version"))


def make_files(package: Path, to: Path) -> None:
    """A Debian with the package and what it depends on, as a tar."""
    depends = said("dpkg-deb", "--field", str(package), "Depends")
    names = [each.split()[0] for each in depends.split(", ")]
    inside = f"/tmp/{package.name}"
    _run(
        "mmdebstrap", "--quiet", "--variant=minbase", f"--include={','.join(names)}",
        *(f"--dpkgopt=path-exclude={each}" for each in _LEFT_OUT),
        f"--customize-hook=upload {package} {inside}",
        f"--customize-hook=chroot $1 dpkg -i {inside}", f"--customize-hook=rm $1{inside}",
        "bookworm", str(to),
    )  # fmt: skip


def pack(files: Path, to: Path, version: str) -> None:
    """A tar of files as an image of one layer."""
    with tempfile.TemporaryDirectory(prefix="helio-") as scratch:
        layout = Path(scratch) / "layout"
        image = f"{layout}:{version}"
        _run("umoci", "init", "--layout", str(layout))
        _run("umoci", "new", "--image", image)
        _run("umoci", "raw", "add-layer", "--image", image, str(files))
        _run("umoci", "config", "--image", image, *_CONFIGURATION)
        _run("umoci", "gc", "--layout", str(layout))
        _run("tar", "--create", "--file", str(to), "--directory", str(layout), ".")


def _run(*words: str) -> None:
    subprocess.run(words, check=True)


def main() -> None:
    directory = Path(sys.argv[1])
    (package,) = directory.glob("helio_*.deb")
    made = package.with_suffix(".oci.tar")
    make_image(package, made)
    sys.stdout.write(f"{made}\n")


if __name__ == "__main__":
    main()
