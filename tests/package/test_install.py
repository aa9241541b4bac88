"""A built wheel holds all of the package that the tree has, and nothing else."""

from __future__ import annotations

import shutil
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
CODE = ("lang", "compiler", "runtime", "commands")
DATA = ("errors", "templates", "pipelines")


def belongs(path: Path) -> bool:
    """Whether a file below one of the package's folders is part of what gets installed."""
    return "__pycache__" not in path.parts and (
        path.parts[0] in DATA or path.suffix in (".py", ".g4", ".proto", ".pyi", ".service")
    )


def in_tree() -> Iterator[str]:
    yield from ("helioc/__init__.py", "helioc/py.typed")
    for room in CODE + DATA:
        for path in (ROOT / room).rglob("*"):
            if path.is_file() and belongs(path.relative_to(ROOT)):
                yield f"helioc/{path.relative_to(ROOT)}"


def test_a_wheel_is_the_tree(tmp_path: Path) -> None:
    # Built from a copy, since setuptools leaves build folders in the tree.
    copy = tmp_path / "tree"
    copy.mkdir()
    for room in CODE + DATA:
        shutil.copytree(ROOT / room, copy / room, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("setup.cfg", "pyproject.toml", "README.md", "__init__.py", "py.typed"):
        shutil.copy(ROOT / name, copy)
    # Without isolation: the test environment has the build backend, and needs no network then.
    subprocess.run(
        [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation",
         "--disable-pip-version-check", "--wheel-dir", str(tmp_path), str(copy)],
        check=True, capture_output=True, text=True,
    )  # fmt: skip
    (wheel,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as built:
        names = {name for name in built.namelist() if ".dist-info/" not in name}
        described = built.read(f"helioc-{wheel.name.split('-')[1]}.dist-info/entry_points.txt")
    assert names == set(in_tree())
    assert b"helioc = helioc.commands.helioc:main" in described
    assert b"helioctl = helioc.commands.helioctl:main" in described
