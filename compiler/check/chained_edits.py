"""What packets may not do to a header of a chain: others stand in front of it and behind it."""

from __future__ import annotations

from collections.abc import Sequence

from ...lang import tree
from ...lang.text.diagnostics import Diagnostic, error
from ...lang.text.source import Span
from .. import model
from .stage_program import Program


def not_of_a_chain(program: Program, name: tree.Name, node: model.Node, what: str) -> bool:
    """Whether a statement may depend on what stands in front of a header or behind it, by the name
    that says so. `what` it would do."""
    chain = program.checked.graph.chain(node.name)
    if chain is not None:
        program.report(_anywhere(name.span, node.name, chain, what))
    return chain is None


def within_bound(
    program: Program, said: Sequence[tree.PushElement], path: Sequence[model.Node]
) -> bool:
    """Whether of each chain no more is pushed than is walked."""
    for chain in program.checked.graph.chains:
        own = [e for e, n in zip(said, path, strict=True) if n.name in chain.members]
        if len(own) > chain.most:
            program.report(_too_many(own[chain.most].node.span, chain, len(own)))
            return False
    return True


# ---- errors ---------------------------------------------------------------------------------


def _anywhere(span: Span, node: str, chain: model.Chain, what: str) -> Diagnostic:
    fronts = " or ".join(f"`{front}`" for front in chain.fronts)
    return error(
        "H0388",
        f"{what} `{node}` would divide the chain `{chain.name}`",
        (span, "others of the chain may stand in front of it, and behind it"),
        (chain.span, "in any order"),
        help=f"name {fronts}, in front of the chain, or a header behind it",
    )


def _too_many(span: Span, chain: model.Chain, count: int) -> Diagnostic:
    return error(
        "H0389",
        f"of {count} headers of the chain `{chain.name}` the parser would read {chain.most}",
        (span, "not read back"),
        (chain.span, f"walked up to {chain.most} headers"),
        help=f"write `max {count}`, or push fewer",
    )
