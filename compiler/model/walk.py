"""Every node of the model below another one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from ...lang.text.frozen import Frozen
from .statements import Said
from .values import Expr, Local


def walk(part: Any) -> Iterator[Any]:
    """Every model node below `part`, itself first."""
    left = _nodes((part,))[::-1]
    while left:
        part = left.pop()
        yield part
        left += reversed(parts(part))


def parts(of: Frozen) -> list[Frozen]:
    """The nodes that one is made of, directly."""
    return _nodes(getattr(of, name) for name in of.__match_args__ if name != "span")


def _nodes(values: Iterable[object]) -> list[Frozen]:
    found: list[Frozen] = []
    for each in values:
        if isinstance(each, Frozen):
            found.append(each)
        elif isinstance(each, tuple):
            found += _nodes(each)
    return found


def walk_named(values: Iterable[Said], named: Mapping[Local, Expr]) -> Iterator[Any]:
    """All that goes into values, also by the names that `let` gave."""
    left, seen = list[Said](values), set[Local]()
    while left:
        for part in walk(left.pop()):
            yield part
            if isinstance(part, Local) and part in named and part not in seen:
                seen.add(part)
                left.append(named[part])
