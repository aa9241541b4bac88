"""A copy of the repository with one fault in it, and whether the hunt finds it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

from faults import FAULTS, Fault

ROOT = Path(__file__).resolve().parents[2]
COPIED = ("lang", "compiler", "runtime", "commands", "errors", "templates", "pipelines")


def copy_to(folder: Path) -> None:
    """What `helioc` is made of, importable from there by that name. With its bytecode, for what has
    no fault: a file that was written since is compiled each time."""
    for name in COPIED:
        shutil.copytree(ROOT / name, folder / name)
    shutil.copy(ROOT / "__init__.py", folder / "__init__.py")
    (folder / "typings").mkdir()
    (folder / "typings" / "helioc").symlink_to("..")
    for name in ("generated", "seeded"):
        (folder / "tests").mkdir(exist_ok=True)
        (folder / "tests" / name).symlink_to(ROOT / "tests" / name)


def found(fault: Fault | None, folder: Path, seeds: int = 24) -> str:
    """What the hunt says of a copy in `folder` with the fault; empty if it finds nothing."""
    before = None
    if fault is not None:
        path = folder / fault.file
        before = path.read_text()
        assert before.count(fault.text) >= 1, f"{fault.name}: {fault.file} has no {fault.text!r}"
        path.write_text(before.replace(fault.text, fault.instead))
    paths = [
        folder / "typings",
        *(ROOT / at for at in ("tests/support", "tests/generated", "tests/seeded")),
    ]
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(map(str, paths)),
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    command = [sys.executable, str(ROOT / "tests/seeded/hunt.py"), str(seeds)]
    try:
        done = subprocess.run(
            command, env=environment, cwd=folder, capture_output=True, text=True, timeout=400
        )
    finally:
        if fault is not None and before is not None:
            (folder / fault.file).write_text(before)
    if done.returncode == 0:
        return ""
    said = (done.stdout or done.stderr).strip().split("\n")
    return said[-1] or "the hunt failed"


def main() -> int:
    """All faults, a line each; the number of those that nothing finds."""
    import tempfile

    missed = 0
    with tempfile.TemporaryDirectory(prefix="helio-test-seeded-") as scratch:
        folder = Path(scratch)
        copy_to(folder)
        chosen = [f for f in FAULTS if not sys.argv[1:] or f.name in sys.argv[1:]]
        assert not found(None, folder, 4), "the compiler without a fault must pass"
        for fault in chosen:
            said = found(fault, folder)
            missed += not said
            sys.stdout.write(f"{'found ' if said else 'MISSED'} {fault.name}: {said[:110]}\n")
            sys.stdout.flush()
    sys.stdout.write(f"{len(chosen) - missed} of {len(chosen)} faults found\n")
    return min(missed, 125)


if __name__ == "__main__":
    sys.exit(main())
