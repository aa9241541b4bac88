"""Reads requests from YAML; all that a request can say as text it can say so.

    - create:
        - OVERLAY: {name: GRE-WAN1, local_ip: 192.0.2.1, remote_ip: 198.51.100.1, interface: wan1}
        - PDR:
            src_ip: 10.1.0.0/16
            protocol: UDP
            dscp: 46
            FAR: {action: REDIRECT, interface: GRE-WAN1}      # nested: that PDR's
    - create:
        LBR: {id: 7, tos: 184 & 0xfc, FAR: [{id: 17, weight: 3}, {id: 18}]}
    - update: {FAR: {id: 17, interface: GRE-WAN2}}
    - delete: {FAR: 18}                                       # a number is an id, a word a name
    - replace: {PDR: []}                                      # none at all
    - create: {dst_ip: 10.3.0.0/16, FAR: 17}                  # a PDR: no other kind has these

The document is one change or a list of changes; a change is an operation with one rule or a list of
rules; a rule is a kind with `id`, `name`, elements (lengths are the manifest's; values as in text
requests) and nested rules, one or a list; or elements and nested rules alone, of the only kind that
has them. Errors stand at their place, as in text.
"""

from __future__ import annotations

import re

import yaml

from ...text.diagnostics import FEW, Diagnostic, Diagnostics, Label, did_you_mean
from ...text.source import Source
from ..manifest.manifest import Manifest
from ..request.request import IE, Change, Form, Operation, Request, RuleItem, unquoted
from ..request.request_parser import number
from ..request.request_tokens import is_word
from .fault_places import wrong_elements
from .ie_values import fold
from .rulekinds import Kind
from .yaml_text import Yaml

_OPERATIONS: dict[str, Operation] = {
    "create": "create", "update": "update", "delete": "delete", "replace": "replace",
}  # fmt: skip
_PAIR = re.compile(r"\s*([^\s/&\"]+?)\s*(\.\.|/|&)\s*([^\s/&]+)\s*")
_FORMS: dict[str, Form] = {"/": "prefix", "&": "mask", "..": "range"}
#: Elements as Schema 1 of the paper names them.
_PAPER = {"ipaddress", "macaddress", "interfaceindex"}
#: Nodes of a document, each alias counted each time: more is a bomb.
_MOST_NODES = 5_000_000


def read_yaml(source: Source, manifest: Manifest) -> Request:
    """A request from YAML. Raises `Refused`: where some of it is no request, also for what is wrong
    with the elements of the rest."""
    found = Diagnostics(most=FEW)
    reader = _Reader(Yaml(source, found), manifest)
    root = reader.yaml.compose()
    changes = [] if root is None else reader.changes(root)
    if not changes and not found.errors:
        reader.fault(root, "H0404", "the request is empty", "for example: create: {FAR: {…}}")
    if found.errors:
        kinds = {fold(rule.name): Kind(manifest, rule) for rule in manifest.rules}
        read = Request(tuple(change for change in changes if change.items), source)
        found.extend(wrong_elements(read, kinds))
        found.found.sort(key=lambda each: each.labels[0].span.start)
    found.stop_if_errors()
    return Request(tuple(changes), source)


class _Reader:
    def __init__(self, text: Yaml, manifest: Manifest) -> None:
        self.yaml, self.nodes = text, 0
        self.kinds = {fold(rule.name) for rule in manifest.rules}
        self.lists = {fold(e.name) for e in manifest.elements if e.most}
        names = {spelled for e in manifest.elements for spelled in (fold(e.name), str(e.number))}
        self.elements = (names | _PAPER) - self.kinds

    def fault(self, node: yaml.Node | None, code: str, title: str, help_: str) -> None:
        span = self.yaml.span(node) if node is not None else self.yaml.source.span(0, 0)
        self.yaml.found.add(Diagnostic(code, title, (Label(span),), help_))

    def at(self, node: yaml.Node) -> tuple[int, int]:
        span = self.yaml.span(node)
        return span.start, span.end

    def listed(self, node: yaml.Node) -> list[yaml.Node]:
        """The items of a list, or the one thing that stands instead of a list."""
        return list(node.value) if isinstance(node, yaml.SequenceNode) else [node]

    def changes(self, root: yaml.Node) -> list[Change]:
        made: list[Change] = []
        for node in self.listed(root):
            for key, value in self.pairs(node, "a change, for example create: {FAR: {…}}"):
                operation = _OPERATIONS.get(key.value.lower())
                if operation is None:
                    help_ = did_you_mean(key.value, _OPERATIONS) or (
                        "a request can create, update, delete and replace")  # fmt: skip
                    self.fault(key, "H0405", f"`{key.value}` is nothing a request can do", help_)
                    continue
                items: list[RuleItem | IE] = []
                for rule in self.listed(value):
                    items.extend(self.said(rule))
                if not items:
                    self.fault(value, "H0475", "this change names no rule", "for example FAR: 17")
                made.append(Change(operation, tuple(items), self.at(key)))
        return made

    def pairs(self, node: yaml.Node, what: str) -> list[tuple[yaml.ScalarNode, yaml.Node]]:
        self.nodes += 1
        if self.nodes > _MOST_NODES:
            return []
        if not isinstance(node, yaml.MappingNode):
            self.fault(node, "H0475", f"expected {what}", "each item is a mapping: KEY: value")
            return []
        good = []
        for key, value in node.value:
            if isinstance(key, yaml.ScalarNode):
                good.append((key, value))
            else:
                self.fault(key, "H0475", "a key must be one word", "")
        return good

    def said(self, node: yaml.Node) -> list[RuleItem]:
        """The rules of a mapping from kinds, or the one that its elements are of."""
        pairs = self.pairs(node, "a rule, for example FAR: {action: DROP}")
        if not any(fold(key.value) in self.elements for key, _ in pairs):
            return [rule for kind, body in pairs for rule in self.rules(kind, body)]
        start, end = self.at(node)
        id_, name, items = self.content(pairs)
        if id_ is not None or name is not None:
            help_ = "write it around the rule, for example FAR: {id: 17, action: DROP}"
            self.fault(node, "H0475", "a rule with an id or a name needs its kind", help_)
        return [RuleItem("", None, None, items, True, (start, end, end))]

    def rules(self, key: yaml.ScalarNode, body: yaml.Node) -> list[RuleItem]:
        """A kind's rules: one, or a list; none at all for `KIND: []`, as `replace` takes it."""
        if isinstance(body, yaml.SequenceNode) and body.value:
            return [self.rule(key, inner) for inner in body.value]
        return [self.rule(key, body)]

    def rule(self, key: yaml.ScalarNode, body: yaml.Node) -> RuleItem:
        start, end = self.at(key)
        at = (start, end, self.at(body)[1])
        if isinstance(body, yaml.ScalarNode):
            if body.tag == "tag:yaml.org,2002:null":
                return RuleItem(key.value, None, None, (), False, at)
            return self.referred(key.value, body, at)
        if isinstance(body, yaml.SequenceNode):
            return RuleItem(key.value, None, None, (), False, at)
        id_, name, items = self.content(self.pairs(body, "a rule's elements"))
        return RuleItem(key.value, id_, name, items, True, at)

    def content(
        self, pairs: list[tuple[yaml.ScalarNode, yaml.Node]]
    ) -> tuple[int | None, str | None, tuple[RuleItem | IE, ...]]:
        """A rule's id, name and items."""
        id_: int | None = None
        name: str | None = None
        items: list[RuleItem | IE] = []
        for inner, value in pairs:
            if inner.value == "id":
                id_ = self.id(value)
            elif inner.value == "name":
                name = self.yaml.text(value)
            elif fold(inner.value) in self.kinds:
                items.extend(self.rules(inner, value))
            else:
                items.extend(self.ies(inner, value))
        # Elements first: a bare `FAR: 17` before them would seem to be what they belong to.
        items.sort(key=lambda item: isinstance(item, RuleItem))
        return id_, name, tuple(items)

    def referred(self, kind: str, node: yaml.ScalarNode, at: tuple[int, ...]) -> RuleItem:
        if re.fullmatch(r"[0-9]+|0x[0-9a-fA-F]+", node.value):
            return RuleItem(kind, number(node.value), None, (), False, at)
        return RuleItem(kind, None, node.value, (), False, at)

    def id(self, node: yaml.Node) -> int | None:
        text = self.yaml.text(node)
        if text is None:
            return None
        if not re.fullmatch(r"[0-9]+|0x[0-9a-fA-F]+", text):
            self.fault(node, "H0458", f"`{text}` is no id", "ids are 1 to 4294967295")
            return None
        return number(text)

    def ies(self, key: yaml.ScalarNode, node: yaml.Node) -> list[IE]:
        """An element; a list of values (`IP address: [a, b]`) is the element several times."""
        made: list[IE] = []
        if isinstance(node, yaml.SequenceNode) and fold(key.value) in self.lists:
            return [self.several(key, node)]
        for value in self.listed(node):
            if not isinstance(value, yaml.ScalarNode):
                self.fault(
                    value, "H0475", f"`{key.value}` takes a value", "or is it a rule's kind?"
                )
                continue
            form, first, other = _value(value.value)
            start, end = self.at(value)
            place = (*self.at(key), *self.at(key), start, end, start, end, self.at(key)[0], end)
            made.append(IE(key.value, "", form, first, other, place))
        return made

    def several(self, key: yaml.ScalarNode, node: yaml.SequenceNode) -> IE:
        """All values of an element that holds several."""
        texts = [self.yaml.text(value) or "" for value in node.value]
        (start, end), place = self.at(node), self.at(key)
        at = (*place, *place, start, end, start, end, place[0], end)
        return IE(key.value, "", "value", ", ".join(texts), "", at)


def _value(text: str) -> tuple[Form, str, str]:
    pair = _PAIR.fullmatch(text)
    if pair is not None:
        return _FORMS[pair[2]], pair[1], pair[3]
    text = text.strip()
    is_quoted = unquoted(text) != text
    plain = is_quoted or is_word(text) or text[:1].isdigit() or ":" in text
    return "value", text if plain else f'"{text}"', ""
