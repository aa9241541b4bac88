"""YAML nodes that readers refuse: those that contain themselves or are nested too deep."""

from __future__ import annotations

from collections.abc import Iterator

import yaml


def children(node: yaml.Node) -> Iterator[yaml.Node]:
    """What stands directly in a node, keys and values."""
    if isinstance(node, yaml.MappingNode):
        for pair in node.value:
            yield from pair
    elif isinstance(node, yaml.SequenceNode):
        yield from node.value


def misshapen(root: yaml.Node, deepest: int) -> tuple[yaml.Node, str] | None:
    """A node that stands within itself, or deeper than `deepest`, and what to say of the YAML."""
    found = _within_itself(root)
    if found is not None:
        return found, "contains itself, by an alias"
    found = _below(root, deepest)
    return None if found is None else (found, f"is nested more than {deepest} deep")


def too_deep(text: str, deepest: int) -> tuple[int, str] | None:
    """Where a text that cannot be composed becomes too deep, and what to say; None where it is
    otherwise wrong."""
    depth = 0
    try:
        for event in yaml.parse(text, Loader=yaml.SafeLoader):
            depth += isinstance(event, yaml.CollectionStartEvent)
            depth -= isinstance(event, yaml.CollectionEndEvent)
            if depth > deepest and event.start_mark is not None:
                return event.start_mark.index, f"is nested more than {deepest} deep"
    except yaml.YAMLError:
        pass
    return None


def _within_itself(root: yaml.Node) -> yaml.Node | None:
    on_the_way: set[int] = set()
    done: set[int] = set()
    todo = [(root, False)]
    while todo:
        node, left = todo.pop()
        if left:
            on_the_way.remove(id(node))
            done.add(id(node))
        elif id(node) in on_the_way:
            return node
        elif id(node) not in done and not isinstance(node, yaml.ScalarNode):
            on_the_way.add(id(node))
            todo.append((node, True))
            todo += [(child, False) for child in children(node)]
    return None


def _below(root: yaml.Node, deepest: int) -> yaml.Node | None:
    level = {id(root): root}
    for _ in range(deepest + 1):
        level = {id(child): child for node in level.values() for child in children(node)}
    return next(iter(level.values()), None)
