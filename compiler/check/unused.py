"""What is declared or imported and never used."""

from __future__ import annotations

from ...lang import tree
from ...lang.text.diagnostics import Diagnostic, Diagnostics, error
from .flow import Scope
from .mentions import names_in
from .resolve import Known
from .stage_program import Program
from .statements import block


def unused_imports(
    pipeline: tree.Pipeline, known: dict[str, Known], program: tree.Program, found: Diagnostics
) -> None:
    """Files of which no header is a node; said where nothing else is wrong."""
    parsers = (p for p in pipeline.declarations if isinstance(p, tree.Parser))
    named = {name for parser in parsers for name in _in_graph(parser)}
    used = {id(known[n].imported) for n in named if n in known}
    declaring = {id(k.imported) for k in known.values() if not k.constants}
    for imported in program.imports:
        if id(imported) in declaring and id(imported) not in used and not found.errors:
            found.add(_unused_import(imported.path))


def unused_declarations(program: tree.Program, found: Diagnostics) -> None:
    """Headers, elements, rule kinds, states and events of which nothing makes use; said where
    nothing else is wrong."""
    if found.errors:
        return
    (pipeline, *_) = program.pipelines
    nodes, asked, named, elements = set[str](), set[str](), set[str](), set[str]()
    for each in pipeline.declarations:
        match each:
            case tree.Parser():
                nodes |= _in_graph(each)
            case tree.Stage() | tree.Action():
                asked |= names_in(each.body)
            case tree.Rule():
                named |= names_in(each) - {each.name.text}
                elements |= _of_rule(each)
            case tree.InformationElement():
                named |= {name.text for name in each.types}
    for header in program.headers:
        if header.name.text not in {name.partition("[")[0] for name in nodes}:
            found.add(_never_used(header.name, "the header", "lead to it in the parse graph"))
    for each in pipeline.declarations:
        match each:
            case tree.InformationElement() if each.name.text not in elements:
                help = "let a rule kind match or give it"
                found.add(_never_used(each.name, "the information element", help))
            case tree.Rule() if each.name.text not in named | asked:
                help = f"look it up in a stage: `find {each.name.text} else {{…}}`"
                found.add(_never_used(each.name, "the rule kind", help))
            case tree.State() if each.name.text not in asked:
                help = f"`remember {each.name.text}(…)` and `recall` it in a stage"
                found.add(_never_used(each.name, "the state", help))
            case tree.Registers() if each.name.text not in asked:
                help = f"count in it in a stage: `{each.name.text}[…] += 1`"
                found.add(_never_used(each.name, "the array of registers", help))
            case tree.Event() if each.name.text not in named | asked:
                help = f"emit it in a stage or by a rule kind: `emit {each.name.text} {{ … }}`"
                found.add(_never_used(each.name, "the event", help))


def _of_rule(rule: tree.Rule) -> set[str]:
    """The elements that rules of a kind have."""
    names: list[tree.Name] = []
    for clause in rule.clauses:
        match clause:
            case tree.Match():
                names.append(clause.element)
            case tree.GivesList():
                names += clause.names
            case tree.Meters():
                names += clause.elements
            case tree.Spread(weight=tree.Name() as weight):
                names.append(weight)
            case tree.Priority():
                names.append(clause.element)
    return {name.text for name in names}


def _in_graph(parser: tree.Parser) -> set[str]:
    """Nodes and headers that a parse graph names."""
    ends = {name.text for e in parser.edges for name in (e.source, e.target)}
    return ends | {m.target.text for chain in parser.chains for m in chain.members}


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
