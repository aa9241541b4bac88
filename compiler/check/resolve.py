"""Imports: which headers a file sees, and where they are declared."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

from ...lang import tree
from ...lang.text.diagnostics import Diagnostic, Diagnostics, Refused, did_you_mean, error, listed
from ...lang.text.field_names import HEADERS
from ...lang.text.frozen import Frozen
from ...lang.text.source import Source
from . import errors
from .constants import constants_of, with_constants

#: Reads and parses the file at a path; raises `Refused`.
Load = Callable[[Path], tree.Program]

PIPELINES = Path(__file__).resolve().parents[2] / "pipelines"
STANDARD = PIPELINES / "std"

#: What imports the standard headers that an unknown header name may have meant.
HOMES = {
    "ethernet": "std.ethernet",
    "vlan": "std.ethernet",
    "arp": "std.ethernet",
    "dhcp": "std.dhcp",
    "tls_record": "std.tls",
    "tls_handshake": "std.tls",
    "tls_client_hello": "std.tls",
    "tls_cipher_suites": "std.tls",
    "tls_compression": "std.tls",
    "tls_extensions": "std.tls",
    "ipv4": "std.ip",
    "tcp": "std.ip",
    "udp": "std.ip",
    "icmp": "std.ip",
    "ipv6": "std.ipv6",
    "icmpv6": "std.ipv6",
    "ipv6_hop_by_hop": "std.ipv6",
    "ipv6_destination": "std.ipv6",
    "ipv6_routing": "std.ipv6",
    "ipv6_fragment": "std.ipv6",
    "ipv6_authentication": "std.ipv6",
    "stamp": "std.stamp",
    "srh": "std.srv6",
    "gre": "std.gre",
    "vxlan": "std.vxlan",
    "geneve": "std.geneve",
    "gtpu": "std.gtpu",
    "gtpu_recovery": "std.gtpu",
    "gtpu_teid_data": "std.gtpu",
    "gtpu_peer_address": "std.gtpu",
    "gtpu_extension": "std.gtpu",
    "pdu_session": "std.gtpu",
    "mpls": "std.mpls",
    "dns": "std.dns",
    "dns_question": "std.dns",
    "dns_type": "std.dns",
}


class Known(Frozen):
    """A header a file sees. `standard`: it is one of helioc's own; `constants`: its file has some,
    too."""

    header: tree.Header
    standard: bool
    imported: tree.Import | None
    constants: bool = False


def load_file(path: Path) -> tree.Program:
    """Read and parse; what is helioc's own, once for all. Raises `Refused`."""
    from ...lang.syntax.parser import parse, read

    if path.parent == STANDARD:
        return _standard_file(path)
    name = str(path.relative_to(Path.cwd())) if path.is_relative_to(Path.cwd()) else str(path)
    return parse(read(path, name))


@cache
def _standard_file(path: Path) -> tree.Program:
    from ...lang.syntax.parser import parse, read

    return parse(read(path, f"std/{path.name}"))


class Visible(NamedTuple):
    """The file with values in place of constants; headers by name; `complete` is False if an import
    failed; constants of what it imports."""

    program: tree.Program
    known: dict[str, Known]
    complete: bool
    constants: tuple[tree.Constant, ...]


def visible_headers(program: tree.Program, load: Load, found: Diagnostics) -> Visible:
    """The headers of the file and of the files it imports (not of those that these import)."""
    files = _Files(load, found)
    here = program.source.path
    program = files.follow(program, (here.resolve(),) if here else ())
    known: dict[str, Known] = {}
    for header in program.headers:
        _declare(known, Known(header, _is_standard(program.source), None), found)
    for imported in program.imports:
        other = files.imported.get(id(imported))
        for header in other.headers if other else ():
            standard = other is not None and _is_standard(other.source)
            constants = other is not None and bool(other.constants)
            _declare(known, Known(header, standard, imported, constants), found)
    others = [files.imported[id(i)] for i in program.imports if id(i) in files.imported]
    named = tuple(c for other in others for c in other.constants)
    return Visible(program, known, len(others) == len(program.imports), named)


def _declare(known: dict[str, Known], new: Known, found: Diagnostics) -> None:
    name = new.header.name
    first = known.setdefault(name.text, new)
    if first is new or first.header is new.header:
        return
    if first.imported and new.imported:
        both = (first.imported.path.text, new.imported.path.text)
        help = f"import only one of the files: {listed(both, 'or')}"
    else:
        help = "give the header another name, or leave the import out"
    found.add(errors.declared_twice("header", name, first.header.name.span, help))


def _is_standard(source: Source) -> bool:
    return source.path is not None and source.path.resolve().parent == STANDARD


class _Files:
    """Follows imports, each file once."""

    def __init__(self, load: Load, found: Diagnostics) -> None:
        self.load = load
        self.found = found
        self.programs: dict[Path, tree.Program | None] = {}
        self.imported: dict[int, tree.Program] = {}

    def follow(self, program: tree.Program, chain: tuple[Path, ...]) -> tree.Program:
        """The file with values in place of constants, its own and those that it imports."""
        seen: dict[Path, tree.Import] = {}
        for imported in program.imports:
            path = _locate(imported.path, program.source)
            if path in seen:
                self.found.add(
                    errors.twice_in_pipeline(
                        f"`import {imported.path.text}`", imported.span, seen[path].span
                    )
                )
                continue
            seen[path] = imported
            other = self.read(imported, path, program.source, chain)
            if other is not None:
                self.imported[id(imported)] = other
        others = (self.imported[id(i)] for i in program.imports if id(i) in self.imported)
        around = constants_of((c for o in others for c in o.constants), {}, self.found)
        return with_constants(program, around, self.found)

    def read(
        self, imported: tree.Import, path: Path, source: Source, chain: tuple[Path, ...]
    ) -> tree.Program | None:
        if path in chain:
            names = [p.stem for p in (*chain[chain.index(path) :], path)]
            self.found.add(_import_cycle(imported.path, names))
            return None
        if path in self.programs:
            return self.programs[path]
        self.programs[path] = None
        if not path.is_file():
            self.found.add(_no_such_file(imported.path, path.name, _importable(source)))
            return None
        try:
            program = self.load(path)
        except Refused as refused:
            self.found.extend(refused.diagnostics)
            return None
        program = self.follow(program, (*chain, path))
        self.programs[path] = program
        return program


def _locate(path: tree.Path, source: Source) -> Path:
    parts = [p.text for p in path.parts]
    if parts[0] == "std" and len(parts) > 1:
        base, parts = STANDARD, parts[1:]
    else:
        base = source.path.resolve().parent if source.path else Path.cwd()
    return base.joinpath(*parts[:-1], parts[-1] + ".hp")


def _importable(source: Source) -> list[str]:
    names = [f"std.{p.stem}" for p in sorted(STANDARD.glob("*.hp"))]
    if source.path:
        names += [p.stem for p in sorted(source.path.parent.glob("*.hp")) if p != source.path]
    return names


def _declaring(path: tree.Path) -> str:
    """The file of helioc's own that declares a header which was imported by its own name."""
    header = HEADERS.get(path.parts[-1].text, path.parts[-1].text)
    line = re.compile(rf"^(?:link )?header {re.escape(header)} ", re.MULTILINE)
    files = (p for p in sorted(STANDARD.glob("*.hp")) if line.search(p.read_text()))
    found = next(files, None)
    return f"`{header}` is in `std.{found.stem}`: `import std.{found.stem}`" if found else ""


# ---- errors ---------------------------------------------------------------------------------


def _no_such_file(path: tree.Path, looked: str, candidates: Iterable[str]) -> Diagnostic:
    return error(
        "H0201",
        f"there is no file to import as `{path.text}`",
        (path.span, f"looked for {looked}"),
        help=_declaring(path)
        or did_you_mean(path.text, candidates)
        or "`import std.NAME` takes a header file of helioc, `import NAME` one beside this file",
    )


def _import_cycle(path: tree.Path, chain: Sequence[str]) -> Diagnostic:
    return error(
        "H0202",
        "these files import each other",
        (path.span, " -> ".join(chain)),
        help="move the headers that both need into a file of their own",
    )
