"""YAML with places: a value knows where it stands, so that errors read like the language's."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Any, ClassVar, NamedTuple

import yaml

from .cancel import check_cancelled
from .diagnostics import Diagnostic, Diagnostics
from .source import Source, Span
from .yaml_tree import misshapen, too_deep


class Entry(NamedTuple):
    """A key of a mapping, and its value: nodes."""

    key: Any
    value: Any


class _Loader(yaml.SafeLoader):
    """Can be cancelled (`check_cancelled`): composing 200 KB takes a second."""

    def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node | None:
        check_cancelled()
        return super().compose_node(parent, index)


class YamlReader(ABC):
    """One YAML text. Errors go to `found`, in the words of the subclass."""

    DEEPEST: ClassVar[int]
    #: What to say of a second document.
    SECOND: ClassVar[str]

    def __init__(self, source: Source, found: Diagnostics) -> None:
        self.source, self.found = source, found

    @abstractmethod
    def _no_yaml(self, where: Span, problem: str) -> Diagnostic: ...
    @abstractmethod
    def _misshapen(self, where: Span, problem: str) -> Diagnostic: ...
    @abstractmethod
    def _wrong_shape(self, where: Span, expected: str, hint: str = "") -> Diagnostic: ...
    @abstractmethod
    def _twice(self, first: Span, second: Span, key: str) -> Diagnostic: ...
    @abstractmethod
    def _unknown_key(self, where: Span, key: str, of: str, known: list[str]) -> Diagnostic: ...

    def compose(self) -> yaml.Node | None:
        """The document's node; None (with a diagnostic) if there is none."""
        text, start = self.source.text, self.source.span(0, 0)
        try:
            node = yaml.compose(text, Loader=_Loader)
        except (yaml.MarkedYAMLError, RecursionError) as error:
            if (deep := too_deep(text, self.DEEPEST)) is not None:
                at, problem = deep
                self.found.add(self._misshapen(self.source.span(at, at + 1), problem))
                return None
            assert isinstance(error, yaml.MarkedYAMLError)  # RecursionError is of what is deep
            mark = error.problem_mark or error.context_mark
            at = min(mark.index, len(text)) if mark else 0
            problem = error.problem or "cannot be read"
            if problem == "but found another document":
                problem = self.SECOND
            self.found.add(self._no_yaml(self.source.span(at, at + 1), problem))
        except (yaml.YAMLError, ValueError) as error:
            self.found.add(self._no_yaml(start, str(error).splitlines()[0]))
        else:
            wrong = misshapen(node, self.DEEPEST) if node is not None else None
            if node is None:
                self.found.add(self._no_yaml(start, "the file is empty"))
            elif wrong is not None:
                self.found.add(self._misshapen(self.span(wrong[0]), wrong[1]))
            else:
                return node
        return None

    def span(self, node: yaml.Node) -> Span:
        """Where a node stands; of one that goes on over several lines, the first."""
        start, end = node.start_mark.index, node.end_mark.index
        line_end = self.source.text.find("\n", start)
        return self.source.span(start, line_end if 0 <= line_end < end else end)

    def mapping(
        self, node: yaml.Node | None, of: str, known: Iterable[str] | None = None
    ) -> dict[str, Entry]:
        """Entries by key; with `known`, no others. An absent (null) mapping is an empty one."""
        if node is None or is_null(node):
            return {}
        known = None if known is None else list(known)
        if not isinstance(node, yaml.MappingNode):
            self.found.add(
                self._wrong_shape(self.span(node), "a mapping", _as_mapping(node, known))
            )
            return {}
        entries: dict[str, Entry] = {}
        for key, value in node.value:
            if not isinstance(key, yaml.ScalarNode):
                self.found.add(self._wrong_shape(self.span(key), "a plain word"))
            elif key.value in entries:
                first = self.span(entries[key.value].key)
                self.found.add(self._twice(first, self.span(key), key.value))
            elif known is not None and key.value not in known:
                self.found.add(self._unknown_key(self.span(key), key.value, of, known))
            else:
                entries[key.value] = Entry(key, value)
        return entries

    def whole(self, node: yaml.Node, entries: dict[str, Entry]) -> bool:
        """Whether nothing was wrong with the keys of a mapping: what is missing may be one that
        was."""
        return is_null(node) or (
            isinstance(node, yaml.MappingNode) and len(node.value) == len(entries)
        )


def _as_mapping(node: yaml.Node, known: list[str] | None) -> str:
    """How it is written: `{tcp: {}}` for `tcp`, or with the first key that there is."""
    if not known:
        return "write a name and a colon: `{NAME: …}`"
    if isinstance(node, yaml.ScalarNode) and node.value in known:
        return f"write `{{{node.value}: {{}}}}`"
    return f"write a key and a colon: `{{{known[0]}: …}}`"


def as_text(node: yaml.Node) -> str:
    """How a list or a mapping is written where a text is expected."""
    if isinstance(node, yaml.CollectionNode) and node.flow_style:
        return "write one of them, without brackets"
    return "a text of several lines stands behind `|`, without dashes"


def is_null(node: yaml.Node) -> bool:
    return isinstance(node, yaml.ScalarNode) and node.tag == "tag:yaml.org,2002:null"
