"""Errors of state tables: H0310 to H0319."""

from __future__ import annotations

from collections.abc import Sequence

from ...lang import tree
from ...lang.text.diagnostics import Diagnostic, did_you_mean, listed
from ...lang.text.source import Span
from .. import model
from .faults_files import either, error


def nothing_kept(name: tree.Name, match: bool, gives: bool) -> Diagnostic:
    lacking = [word for word, said in (("match", match), ("gives", gives)) if not said]
    return error(
        "H0310",
        f"the state `{name.text}` has no {listed([f'`{word}`' for word in lacking], 'and no')}",
        (name.span, "keeps nothing"),
        help="say what an entry is found by and what it holds: `match a : TYPE`, `gives b : TYPE`",
    )


def no_such_slot(target: tree.Path, state: model.State, slots: Sequence[str]) -> Diagnostic:
    return error(
        "H0311",
        f"`{target.text}` is no slot of `{state.name}` that is given here",
        (target.span, "not one of them"),
        (state.span, f"takes {listed(slots)}"),
        help=either(did_you_mean(target.text, slots), f"give {listed(slots)}"),
    )


def slot_missing(span: Span, state: model.State, slots: Sequence[str]) -> Diagnostic:
    told = listed([f"`{s}`" for s in slots])
    return error(
        "H0312",
        f"{told} of `{state.name}` {'is' if len(slots) == 1 else 'are'} not given",
        (span, "without it"),
        (state.span, "declared here"),
        help=f"write `{state.name}({', '.join(f'{s} = …' for s in slots)})`",
    )


def not_of_port(span: Span, slot: str, port: bool, where: Span) -> Diagnostic:
    holds, found = ("a port", "none") if port else ("a value", "a port")
    return error(
        "H0313",
        f"`{slot}` holds {holds}, and this is {found}",
        (span, "of another sort"),
        (where, "declared here"),
        help="give it `port`, the port of arrival" if port else f"declare `{slot} : port`",
    )


def lost_update(written: Span, state: str) -> Diagnostic:
    return error(
        "H0316",
        f"of two packets at once, one may lose its update of `{state}`",
        (written, "another CPU may have remembered something since the `recall`"),
        help="remember values that do not depend on the one before; count by `counts` of a rule",
        severity="warning",
    )


def not_recalled(span: Span, state: str, ever: Span | None) -> Diagnostic:
    labels = [(span, "nothing was recalled on some way that leads here")]
    if ever is not None:
        labels.append((ever, "recalled here: known in this stage, where it was no miss"))
    return error(
        "H0314",
        f"`{state}` may hold nothing here",
        *labels,
        help=f"recall it in this stage: `recall {state}(…) else {{ … }}`",
    )
