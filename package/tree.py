"""The files of an installation: wheel, virtual environment, launchers, unit, documentation.

What helioc depends on is copied from the environment that this runs in, file by file as its
distributions recorded them: what was tested is what is shipped, and nothing is downloaded.
"""

from __future__ import annotations

import compileall
import gzip
import py_compile
import shutil
import subprocess
import sys
import zipfile
from importlib.metadata import Distribution, distribution
from pathlib import Path

from manual import PAGES, completion, configuration, manual
from packaging.requirements import Requirement

ROOT = Path(__file__).parents[1]
HOME = "usr/lib/helio"
_SOURCES = ("lang", "compiler", "runtime", "commands", "errors", "templates", "pipelines")
_FILES = ("setup.cfg", "pyproject.toml", "README.md", "__init__.py", "py.typed")
_LAUNCHER = """\
#!/{home}/bin/python -I
from helioc.commands.{module} import main

main()
"""
#: Programs, and their modules.
_COMMANDS = {
    "helioc": "helioc", "helioctl": "helioctl", "heliod": "heliod", "helio-services": "services",
}  # fmt: skip
#: Extras that the package has.
_EXTRAS = {"services"}
#: The same whatever the umask.
_MODE, _PROGRAM = 0o644, 0o755


def make_wheel(directory: Path, scratch: Path) -> Path:
    """`helioc-….whl` in `directory`; from a copy, since setuptools leaves folders in the tree."""
    copy = scratch / "source"
    for room in _SOURCES:
        shutil.copytree(ROOT / room, copy / room, ignore=shutil.ignore_patterns("__pycache__"))
    for name in _FILES:
        shutil.copy(ROOT / name, copy)
    made = scratch / "wheel"
    subprocess.run(
        [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation",
         "--disable-pip-version-check", "--wheel-dir", str(made), str(copy)],
        check=True,
    )  # fmt: skip
    (wheel,) = made.glob("*.whl")
    return Path(shutil.copy(wheel, directory / wheel.name))


def needed(name: str = "helioc") -> dict[str, Distribution]:
    """The distributions that one needs here, and those that these need, without itself."""
    found: dict[str, Distribution] = {}
    open_: list[tuple[str, set[str]]] = [(name, _EXTRAS if name == "helioc" else set())]
    while open_:
        of, extras = open_.pop()
        for text in distribution(of).requires or ():
            needed = Requirement(text)
            applies = needed.marker is None or any(
                needed.marker.evaluate({"extra": extra}) for extra in extras or {""}
            )
            if applies and needed.name not in found:
                found[needed.name] = distribution(needed.name)
                open_.append((needed.name, set(needed.extras)))
    return found


def install(root: Path, wheel: Path, version: str) -> None:
    """Everything but what is Debian's own, below `root`."""
    _make_environment(root, wheel)
    for name, module in _COMMANDS.items():
        text = _LAUNCHER.format(home=HOME, module=module)
        _write(root / "usr/bin" / name, text, _PROGRAM)
        page = PAGES[name]
        _write_compressed(root / f"usr/share/man/man{page.section}/{name}.{page.section}.gz",
                          manual(name, version))  # fmt: skip
        _write(root / "usr/share/bash-completion/completions" / name, completion(name, "bash"))
        _write(root / "usr/share/zsh/vendor-completions" / f"_{name}", completion(name, "zsh"))
    _write(root / "etc/helio/heliod.yaml", configuration())
    for unit in (ROOT / "runtime").glob("*.service"):
        _write(root / "lib/systemd/system" / unit.name, unit.read_text())
    for path in sorted((ROOT / "docs").rglob("*.md")):
        _write(root / "usr/share/doc/helio" / path.relative_to(ROOT), path.read_text())
    _write(root / "usr/share/doc/helio/README.md", (ROOT / "README.md").read_text())


def _make_environment(root: Path, wheel: Path) -> None:
    """A virtual environment of the system's Python."""
    home = root / HOME
    packages = home / "lib" / f"python{_python()}" / "site-packages"
    packages.mkdir(parents=True)
    (home / "bin").mkdir()
    (home / "bin" / "python").symlink_to(f"/usr/bin/python{_python()}")
    _write(home / "pyvenv.cfg", f"home = /usr/bin\ninclude-system-site-packages = false\n"
                                f"version = {_python()}\n")  # fmt: skip
    for found in needed().values():
        _copy(found, packages)
    with zipfile.ZipFile(wheel) as built:
        built.extractall(packages)
    for path in packages.rglob("*"):
        path.chmod(_PROGRAM if path.is_dir() else _MODE)
    # Checked by nobody: files of a package change with the package.
    done = compileall.compile_dir(
        packages, stripdir=str(root), prependdir="/", quiet=2, workers=0,
        invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH,
    )  # fmt: skip
    if not done:
        raise SystemExit(f"not everything below {packages} compiles")


def _copy(found: Distribution, packages: Path) -> None:
    for file in found.files or ():
        # Commands and bytecode are made here; tests and C headers are of no use.
        if ".." in file.parts or {"__pycache__", "tests", "include"} & {*file.parts}:
            continue
        target = packages / file
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(str(found.locate_file(file)), target)


def _python() -> str:
    return f"{sys.version_info.major}.{sys.version_info.minor}"


def _write(path: Path, text: str, mode: int = _MODE) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(mode)


def _write_compressed(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gzip.compress(text.encode(), mtime=0))
    path.chmod(_MODE)
