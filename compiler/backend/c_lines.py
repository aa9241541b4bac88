"""What of a body stands on lines of its own, before it is C: which statements of the `.hp` file are
quoted, which blocks need braces, which verdicts are said with their reason."""

from __future__ import annotations

from dataclasses import replace
from textwrap import wrap

from ...lang.text.source import Span
from ..ir import nodes as n
from ..ir.expr import Expr

#: Columns of a line that people read, with tabs of eight.
WIDTH = 100
#: Verdicts that have a reason.
AS = ("pass", "drop")


def said_once(body: n.Body, depth: int, said: Span | None = None) -> n.Body:
    """Without the starts of statements that stand whole in the comment in front of them: of `said`,
    or of one that ends the way behind one that is counted."""
    made: list[n.Statement] = []
    for s in _joined(body):
        match s:
            case n.StatementStart(Span() as span):
                if said is not None and _says(said, span):
                    continue
                said = span if _is_whole(span, depth) else None
            case n.If(_, then, otherwise):
                then = said_once(then, depth + 1, said)
                s = replace(s, then=then, otherwise=said_once(otherwise, depth + 1, said))
            case n.Repeat(_, _, _, inner):
                s = replace(s, body=said_once(inner, depth + 1, said))
            case n.Block(inner, name) if not name:
                deeper = depth + declares(inner)
                s = replace(s, body=said_once(inner, deeper, said))
        made.append(s)
    return tuple(made)


def _joined(body: n.Body) -> n.Body:
    """`count` and the verdict behind it as one statement of the `.hp` file."""
    made: list[n.Statement] = []
    for s in body:
        match made[-3:]:
            case [n.StatementStart(Span() as first), n.Count(), n.StatementStart(Span() as last)]:
                if isinstance(s, n.Verdict) and s.action in AS and first.source is last.source:
                    made[-3:] = [n.StatementStart(first.to(last)), made[-2]]
        made.append(s)
    return tuple(made)


def _says(said: Span, span: Span) -> bool:
    return said.source is span.source and said.start < span.start and span.end <= said.end


def _is_whole(span: Span, depth: int) -> bool:
    """Whether a comment shows all of a statement."""
    return statement_comment(span, depth) == statement_comment(span, depth, whole=True)


def statement_comment(span: Span, depth: int, whole: bool = False) -> str:
    """A statement of the `.hp` file, as much of it as fits, unless it is to be the `whole`."""
    begin, end = f"/* {span.source.file}:{span.line}: ", " */"
    room = WIDTH - 8 * (depth + 1) - len(begin) - len(end)
    said = " ".join(span.text.split()).replace("*/", "* /")
    if not whole and (len(said) > room or "//" in said):
        said = " ".join(span.text.split("\n")[0].split()).removesuffix(" {").replace("*/", "* /")
        said = said if len(said) <= room else f"{said[: room - 3]}..."
    return f"{begin}{said}{end}"


class EndsAs(n.Statement):
    """A verdict, and why: an event that is counted."""

    event: Expr
    action: n.Action
    span: Span | None = None


def flat(body: n.Body) -> n.Body:
    """Without blocks that declare nothing; a verdict with the event that is counted before it."""
    found: list[n.Statement] = []
    for s in body:
        before = found[-1] if found else None
        if isinstance(s, n.Block) and not s.name and not declares(s.body):
            found += flat(s.body)
        elif isinstance(s, n.Verdict) and isinstance(before, n.Count) and s.action in AS:
            found[-1] = EndsAs(before.event, s.action, s.span)
        else:
            found.append(s)
    return tuple(found)


def declares(body: n.Body) -> bool:
    return any(isinstance(s, n.Let | n.LetArray | n.LetStruct) for s in flat(body))


def comment(text: str) -> list[str]:
    """A comment of lines that people read."""
    first, *others = wrap(text, WIDTH - 6)
    if not others:
        return [f"/* {first} */"]
    return [f"/* {first}", *(f" * {line}" for line in others[:-1]), f" * {others[-1]} */"]
