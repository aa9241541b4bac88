"""Errors of files, names and the pipeline's frame: H0201 to H0209."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ...lang import tree
from ...lang.syntax import habits
from ...lang.syntax.planned import planned
from ...lang.text.diagnostics import Diagnostic, Label, Severity, did_you_mean
from ...lang.text.source import Span


def error(
    code: str, title: str, *labels: tuple[Span, str], help: str = "", severity: Severity = "error"
) -> Diagnostic:
    """A diagnostic of these labels, the culprit first."""
    return Diagnostic(code, title, tuple(Label(s, t) for s, t in labels), help, severity)


def either(suggestion: str, otherwise: str) -> str:
    """The `did you mean` if there is one, else what to do without it."""
    return suggestion or otherwise


def no_such_file(path: tree.Path, looked: str, candidates: Iterable[str]) -> Diagnostic:
    return error(
        "H0201",
        f"there is no file to import as `{path.text}`",
        (path.span, f"looked for {looked}"),
        help=either(
            did_you_mean(path.text, candidates),
            "`import std.NAME` takes a header file of helioc, `import NAME` one beside this file",
        ),
    )


def import_cycle(path: tree.Path, chain: Sequence[str]) -> Diagnostic:
    return error(
        "H0202",
        "these files import each other",
        (path.span, " -> ".join(chain)),
        help="move the headers that both need into a file of their own",
    )


def unknown(what: str, name: tree.Name, candidates: Iterable[str], otherwise: str) -> Diagnostic:
    """`what` in the user's terms: "header", "node", "field of `user`" …"""
    near = did_you_mean(name.text, candidates)
    if not near and (later := planned(name.span)):
        return later
    sort, _, owner = what.partition(" of ")
    return error(
        "H0203",
        f"there is no {sort} `{name.text}`" + (f" of {owner}" if owner else ""),
        (name.span, "not declared"),
        help=either(near, habits.WORDS.get(name.text, otherwise)),
    )


def declared_twice(what: str, again: tree.Name, first: Span, help: str = "") -> Diagnostic:
    return error(
        "H0204",
        f"{what} `{again.text}` is declared twice",
        (again.span, "declared again"),
        (first, "first declared here"),
        help=help or "remove one of the two, or give it another name",
    )


def name_taken(name: tree.Name, means: str, where: Span | None = None) -> Diagnostic:
    labels = [(name.span, "cannot have this name")]
    if where is not None:
        labels.append((where, f"{name.text} is {means}"))
    return error(
        "H0205",
        f"`{name.text}` already means {means}",
        *labels,
        help="choose another name",
    )


def missing(span: Span, what: str, help: str) -> Diagnostic:
    """The pipeline or the file lacks `what`."""
    return error("H0206", f"{what} is missing", (span, "not in here"), help=help)


def twice_in_pipeline(what: str, again: Span, first: Span) -> Diagnostic:
    return error(
        "H0207",
        f"{what} is said twice",
        (again, "said again"),
        (first, "first said here"),
        help="it can be said once: join the two, or remove one",
    )


def unused_import(path: tree.Path) -> Diagnostic:
    return error(
        "H0208",
        f"nothing of `{path.text}` is used",
        (path.span, "imported here"),
        help="remove the import, or use its headers in the parse graph",
        severity="warning",
    )


def unsupported(span: Span, what: str, help: str = "") -> Diagnostic:
    """The language means it, this release does not compile it."""
    return error(
        "H0209",
        f"{what}: not supported yet by this release",
        (span, "cannot be compiled yet"),
        help=help or "say it another way for now",
    )
