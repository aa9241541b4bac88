"""Files that `helioc` reads and writes: pipelines, skeletons, pictures, pages."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

from ..compiler.bundle import Bundle
from ..compiler.model import Pipeline
from ..lang.text.atomic_write import write_files
from ..lang.text.diagnostics import Diagnostic, Refused
from ..lang.text.exit_status import cannot_write

if TYPE_CHECKING:
    from .language_server import Helio


def language_server() -> Helio:
    """What answers editors. Raises `Refused` (H0812) where pygls is missing."""
    try:
        from .language_server import server
    except ModuleNotFoundError:
        help_ = "pip install 'helioc[lsp]'"
        title = "`helioc lsp` needs the Python package pygls"
        raise Refused([Diagnostic("H0812", title, (), help_)]) from None
    return server()


def write(path: Path, text: str) -> None:
    """Write a file. Raises `Refused` (H0309)."""
    write_files({path: text.encode()})


def make_directory(path: Path) -> None:
    """A bundle's directory, if it is not there. Raises `Refused` (H0309)."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        why = (error.strerror or str(error)).lower()
        if path.exists():
            why = "it is there, and is no directory"
        help_ = "a bundle is a directory of several files: name one, or where to make one"
        raise Refused([cannot_write(str(path), why, help_)]) from None


def write_skeleton(bundle: Bundle, directory: Path) -> Path:
    """`NAME.skel.h` by bpftool: the object embedded in C, with typed access to programs and
    maps."""
    name = bundle.manifest.pipeline
    out = directory / f"{name}.skel.h"
    object_file = directory / f"{name}.bpf.o"
    skeleton = _tool("bpftool", "gen", "skeleton", str(object_file), "name", name)
    write_files({out: skeleton})
    return out


def to_svg(dot: str) -> str:
    return _tool("dot", "-Tsvg", stdin=dot.encode()).decode()


PACKAGES = {"bpftool": "bpftool", "dot": "graphviz"}


def _found(name: str) -> str | None:
    return shutil.which(name) or shutil.which(name, path="/usr/sbin:/sbin")


def _tool(name: str, *arguments: str, stdin: bytes = b"") -> bytes:
    path = _found(name)
    if path is None:
        help_ = f"apt-get install {PACKAGES[name]}"
        raise Refused([Diagnostic("H0305", f"`{name}` is not to be found", (), help_)])
    done = subprocess.run([path, *arguments], input=stdin, capture_output=True, timeout=60)
    if done.returncode:
        words = done.stderr.decode(errors="replace").strip().splitlines()
        title = f"`{name}` failed: {words[-1] if words else done.returncode}"
        raise Refused([Diagnostic("H0306", title, ())])
    return done.stdout


def write_page(pipeline: Pipeline, out: Path | None) -> tuple[str, list[Path]]:
    """The page about a pipeline, and the files that were written: to `out`, and a picture."""
    from ..compiler.driver import lower_pipeline
    from ..compiler.model.parse_graph import to_dot
    from .document import page, to_html, to_markdown

    pieces = page(pipeline, lower_pipeline(pipeline))
    drawn = to_svg(to_dot(pipeline)) if out is not None and _found("dot") else ""
    if out is None:
        return to_markdown(pieces), []
    if out.suffix in (".html", ".htm"):
        text, files = to_html(pieces, drawn), dict[Path, str]()
    else:
        picture = out.with_suffix(".svg")
        text = to_markdown(pieces, picture.name if drawn else "")
        files = {picture: drawn} if drawn else {}
    files = {out: text, **files}
    write_files({path: content.encode() for path, content in files.items()})
    return text, list(files)
