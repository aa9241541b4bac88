"""`make package`: a wheel and a Debian package in dist/.

`package/build.py [--quick] DIRECTORY`; --quick: compressed less. Takes Debian 12 and the
environment that tests/setup.sh makes; nothing is downloaded.
"""

from __future__ import annotations

import sys
import tempfile
from importlib.metadata import version
from pathlib import Path

from deb import make_deb
from tree import install, make_wheel


def main() -> None:
    *options, where = sys.argv[1:]
    directory, level = Path(where), 1 if "--quick" in options else 19
    directory.mkdir(parents=True, exist_ok=True)
    for left in [*directory.glob("helioc-*.whl"), *directory.glob("helio_*.deb")]:
        left.unlink()
    with tempfile.TemporaryDirectory(prefix="helio-") as scratch:
        number, root = version("helioc"), Path(scratch) / "root"
        wheel = make_wheel(directory, Path(scratch))
        install(root, wheel, number)
        for made in (wheel, make_deb(directory, root, number, level)):
            sys.stdout.write(f"{made}\n")


if __name__ == "__main__":
    main()
