"""A failing pipeline made small: anything that the file can do without is taken out of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass

from helioc.compiler.check.program import check
from helioc.lang import tree
from helioc.lang.syntax.parser import parse
from helioc.lang.text.diagnostics import Refused
from helioc.lang.text.source import Source

#: What is wrong with a text, in a word that stays the same while it shrinks; None if nothing.
Fails = Callable[[str], str | None]


def shrink(text: str, fails: Fails, most: int = 400) -> str:
    """The smallest text found that fails as `text` does. Asks `fails` at most `most` times, and
    only about texts that are checked without an error (unless that is what is wrong)."""
    expected = fails(text)
    assert expected is not None
    asked, smaller = 0, True
    while smaller:
        smaller = False
        for candidate in _candidates(text):
            if expected[:7] != "refused" and not _accepted(candidate):
                continue
            asked += 1
            if asked > most:
                return text
            if fails(candidate) == expected:
                text, smaller = candidate, True
                break
    return text


def _accepted(text: str) -> bool:
    try:
        check(parse(Source("random.hp", text)))
    except Refused:
        return False
    return True


def _candidates(text: str) -> Iterator[str]:
    """The text with one thing less, the largest first."""
    try:
        program = parse(Source("random.hp", text))
    except Refused:
        return
    cuts = sorted(set(_cuts(program, text)), key=lambda c: len(c[2]) - (c[1] - c[0]))
    for start, end, instead in cuts:
        yield text[:start] + instead + text[end:]


def _cuts(node: object, text: str) -> Iterator[tuple[int, int, str]]:
    """(start, end, what comes in its place)."""
    if isinstance(node, tuple):
        for each in node:
            if isinstance(each, tree.Node):
                yield from _without(each, text)
            yield from _cuts(each, text)
        return
    if not is_dataclass(node) or isinstance(node, Source) or not isinstance(node, tree.Node):
        return
    if isinstance(node, tree.If | tree.MatchOn | tree.Find | tree.Choose):
        for block in _blocks(node):
            inner = text[block.span.start : block.span.end].strip()
            yield node.span.start, node.span.end, inner.removeprefix("{").removesuffix("}")
    if isinstance(node, tree.Binary) and node.operator in ("and", "or", "+", "*", "&", "<<", ">>"):
        for side in (node.left, node.right):
            yield node.span.start, node.span.end, side.span.text
    for f in fields(node):
        if f.name == "span":
            continue
        child = getattr(node, f.name)
        if isinstance(node, tree.If | tree.Find | tree.Choose) and f.name == "otherwise" and child:
            yield from _otherwise(child, text)
        if isinstance(node, tree.Field) and f.name == "default" and child:
            yield from _behind(child, text, "=")
        yield from _cuts(child, text)


def _without(node: tree.Node, text: str) -> Iterator[tuple[int, int, str]]:
    start, end = node.span.start, node.span.end
    yield start, end, ""
    after = len(text) - len(text[end:].lstrip())
    if text[after : after + 1] in (",", "|"):
        yield start, after + 1, ""
    before = len(text[:start].rstrip())
    for word in (",", "|", "->", "and"):
        if text[:before].endswith(word):
            yield before - len(word), end, ""


def _otherwise(block: tree.Block, text: str) -> Iterator[tuple[int, int, str]]:
    yield from _behind(block, text, "else")


def _behind(node: tree.Node, text: str, word: str) -> Iterator[tuple[int, int, str]]:
    before = len(text[: node.span.start].rstrip())
    if text[:before].endswith(word):
        yield before - len(word), node.span.end, ""


def _blocks(node: object) -> list[tree.Block]:
    match node:
        case tree.If():
            found = [node.then, node.otherwise]
        case tree.MatchOn():
            found = [arm.body for arm in node.arms]
        case tree.Find() | tree.Choose():
            found = [node.otherwise]
        case _:
            found = []
    return [b for b in found if b is not None]
