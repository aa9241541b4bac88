"""What is declared or imported and never used."""

from __future__ import annotations

from ...lang import tree
from ...lang.text.diagnostics import Diagnostic, Diagnostics, error
from .flow import Scope
from .resolve import Known
from .stage_program import Program
from .statements import block


def unused_imports(
    pipeline: tree.Pipeline, known: dict[str, Known], program: tree.Program, found: Diagnostics
) -> None:
    """Files of which no header is a node; said where nothing else is wrong."""
    named = {
        n.text
        for p in pipeline.declarations
        if isinstance(p, tree.Parser)
        for e in p.edges
        for n in (e.source, e.target)
    }
    used = {id(known[n].imported) for n in named if n in known}
    declaring = {id(k.imported) for k in known.values() if not k.constants}
    for imported in program.imports:
        if id(imported) in declaring and id(imported) not in used and not found.errors:
            found.add(_unused_import(imported.path))


def unused(
    program: Program, declared: dict[str, tree.Stage], order: list[tree.Stage], found: Diagnostics
) -> None:
    """Stages that do not run and actions that no stage applies; what is in them is checked, too."""
    for stage in declared.values():
        if stage not in order and order:
            found.add(
                _never_used(
                    stage.name,
                    "the stage",
                    f"add it to the `run` line: `… -> {stage.name.text}`",
                )
            )
            block(program, stage.body, frozenset(), Scope(taken=frozenset(program.rules.known)))
    for action in program.actions.values():
        if action.name.text not in program.applied and action.parameter.text in program.rules.known:
            found.add(
                _never_used(
                    action.name,
                    "the action",
                    f"apply it in a stage: `{action.name.text}({action.parameter.text})`",
                )
            )
            scope = Scope(taken=frozenset(program.rules.known), applied=(action,))
            block(program, action.body, frozenset(), scope)


# ---- errors ---------------------------------------------------------------------------------


def _unused_import(path: tree.Path) -> Diagnostic:
    return error(
        "H0208",
        f"nothing of `{path.text}` is used",
        (path.span, "imported here"),
        help="remove the import, or use its headers in the parse graph",
        severity="warning",
    )


def _never_used(name: tree.Name, what: str, help: str) -> Diagnostic:
    return error(
        "H0295",
        f"{what} `{name.text}` is never used",
        (name.span, "not used"),
        help=help,
        severity="warning",
    )
