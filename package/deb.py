"""A Debian package of an installation's files."""

from __future__ import annotations

import gzip
import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

_DEBIAN = Path(__file__).parent / "debian"
_SCRIPTS = ("postinst", "prerm", "postrm")
#: Files have this time at most, in seconds of the Unix epoch: the same from the same tree.
_MADE = "1700000000"
#: Files that belong to who administers the host from then on.
_CONFIGURATION = ("/etc/helio/heliod.yaml",)


def make_deb(directory: Path, root: Path, version: str, level: int) -> Path:
    """`helio_VERSION_ARCHITECTURE.deb` in `directory`. Adds to `root`."""
    document = root / "usr/share/doc/helio"
    document.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(_DEBIAN / "copyright", document / "copyright")
    changes = f"helio ({version}) stable; urgency=medium\n\n  * See docs/.\n"
    (document / "changelog.Debian.gz").write_bytes(gzip.compress(changes.encode(), mtime=0))
    files = sorted(path for path in root.rglob("*") if path.is_file() and not path.is_symlink())
    control = root / "DEBIAN"
    control.mkdir()
    architecture = said("dpkg", "--print-architecture")
    (control / "control").write_text(
        (_DEBIAN / "control").read_text().format(
            version=version, architecture=architecture,
            size=sum(path.stat().st_size for path in files) // 1024,
            python=f"3.{sys.version_info.minor}", minor=sys.version_info.minor,
        )
    )  # fmt: skip
    (control / "conffiles").write_text("".join(f"{path}\n" for path in _CONFIGURATION))
    (control / "md5sums").write_text(
        "".join(f"{_md5(path)}  {path.relative_to(root)}\n" for path in files)
    )
    for name in _SCRIPTS:
        shutil.copyfile(_DEBIAN / name, control / name)
        (control / name).chmod(0o755)
    for path in [root, *root.rglob("*")]:
        if path.is_dir():
            path.chmod(0o755)
    made = directory / f"helio_{version}_{architecture}.deb"
    when = {"SOURCE_DATE_EPOCH": _MADE, **os.environ}
    words = ["dpkg-deb", "--root-owner-group", "-Zzstd", f"-z{level}", "--build"]
    subprocess.run([*words, root, made], check=True, stdout=subprocess.DEVNULL, env=when)
    return made


def said(*words: str) -> str:
    return subprocess.run(words, check=True, capture_output=True, text=True).stdout.strip()


def _md5(path: Path) -> str:
    return hashlib.md5(path.read_bytes(), usedforsecurity=False).hexdigest()
