"""Rule kinds: what they match, give, spread and count."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, get_args

from ...lang import tree
from ...lang.contract.manifest.manifest_check import MOST_MEMBERS
from ...lang.text.diagnostics import Diagnostics
from ...lang.text.source import Span
from .. import model
from . import errors, kinds_errors
from .edges import CheckedGraph
from .elements import Elements
from .header_fields import scalar
from .names import RESERVED
from .packets import PacketNames
from .values import WIDEST, Expressions

Kind = Literal["exact", "lpm", "optional", "ternary", "range"]
MATCH_KINDS: tuple[Kind, ...] = get_args(Kind)
MOST_RULES = 4 << 20


class Rules:
    """The pipeline's rule kinds, as far as they can be told without the stages."""

    def __init__(
        self,
        kinds: dict[str, tree.Rule],
        elements: Elements,
        checked: CheckedGraph,
        found: Diagnostics,
    ) -> None:
        self.kinds = kinds
        self.elements = elements
        self.checked = checked
        self.found = found
        self.known = {name: self.kind(rule) for name, rule in kinds.items()}
        self.check_cycles()

    def kind(self, rule: tree.Rule) -> model.RuleKind:
        used: dict[str, Span] = {}
        clauses = rule.clauses
        match = self.matches(rule, used)
        gives, alternatives = self.gives(rule, used)
        spreads = [c for c in clauses if isinstance(c, tree.Spread)]
        for again in spreads[1:]:
            self.found.add(errors.twice_in_pipeline("`spread`", again.span, spreads[0].span))
        if not 1 <= rule.capacity.value <= MOST_RULES:
            self.found.add(
                errors.number_out_of_range(rule.capacity.span, "the capacity", 1, MOST_RULES, "4M")
            )
        return model.RuleKind(
            name=rule.name.text,
            capacity=rule.capacity.value,
            named=rule.named,
            match=match,
            gives=gives,
            alternatives=alternatives,
            spread=self.spread(spreads[0]) if spreads else None,
            counts=self.counts(rule),
            priority=self.priority(rule, used),
            doc=rule.doc,
            span=rule.name.span,
            hashed=self.hashed(rule, match),
        )

    def hashed(self, rule: tree.Rule, match: tuple[model.Match, ...]) -> bool:
        """Whether the kind is said to be found `by hash`, which takes all that a rule matches."""
        if rule.by is None:
            return False
        if rule.by.text != "hash":
            self.found.add(errors.unknown("way to find rules", rule.by, ("hash",), "`by hash`"))
        vague = next((m for m in match if m.kind != "exact"), None)
        if vague is not None:
            self.found.add(kinds_errors.not_hashed(vague.span, vague.element.name, rule.by.span))
        elif not any(isinstance(c, tree.Match) for c in rule.clauses):
            self.found.add(kinds_errors.nothing_hashed(rule.by.span))
        return True

    def use(self, name: tree.Name, rule: tree.Rule, used: dict[str, Span]) -> model.Element | None:
        """An element that the rule has; each at most once."""
        first = used.setdefault(name.text, name.span)
        if first is not name.span:
            self.found.add(kinds_errors.element_twice(name, first, rule.name.text))
            return None
        return self.elements.find(name)

    def has_clause(self, kind: str, clause: type[tree.RuleClause]) -> bool:
        """Whether the kind says such a clause, be it right or wrong."""
        return any(isinstance(c, clause) for c in self.kinds[kind].clauses)

    # ---- match -------------------------------------------------------------------------------

    def matches(self, rule: tree.Rule, used: dict[str, Span]) -> tuple[model.Match, ...]:
        made = (self.match(c, rule, used) for c in rule.clauses if isinstance(c, tree.Match))
        return tuple(m for m in made if m is not None)

    def match(
        self, clause: tree.Match, rule: tree.Rule, used: dict[str, Span]
    ) -> model.Match | None:
        element = self.use(clause.element, rule, used)
        kind = next((k for k in MATCH_KINDS if k == clause.kind.text), None)
        if kind is None:
            self.found.add(kinds_errors.no_such_match(clause.kind, MATCH_KINDS))
        expr = self.operand(clause, element)
        if element is None or expr is None or kind is None:
            return None
        where = self.type_span(element)
        allowed = _allowed(element)
        if kind not in allowed:
            self.found.add(kinds_errors.match_kind_of(clause.kind, element.type, where, allowed))
            return None
        return model.Match(element, kind, expr, True, clause.span)

    def operand(
        self, clause: tree.Match, element: model.Element | None
    ) -> model.Packet | model.Layer4 | model.Arrival | model.Given | None:
        """What of a packet is matched; of the element's type."""
        word = clause.operand.text
        if element is not None and element.most:
            self.differs(clause, element, "a value", "a single value")
            return None
        if word in ("port", "given"):
            if element is None:
                return None
            by_port = element.references == ("port",)
            if by_port if word == "port" else by_port or not element.references:
                return model.Arrival() if word == "port" else model.Given(element.width)
            self.differs(clause, element, "a port" if word == "port" else "a value", "port")
            return None
        value = PacketNames(self.checked, self.found).field(clause.operand, groups=True)
        if value is None or element is None:
            return None
        if element.references:
            self.differs(clause, element, "a value", "a value")
            return None
        expr = value.expr
        assert isinstance(expr, model.Packet | model.Layer4)
        field_kind = expr.kind if isinstance(expr, model.Packet) else "uint"
        if (element.kind, element.width) != (field_kind, expr.width):
            type_ = f"u{expr.width}" if field_kind == "uint" else field_kind
            self.differs(clause, element, type_, type_)
            return None
        return expr

    def differs(self, clause: tree.Match, element: model.Element, is_: str, wanted: str) -> None:
        self.found.add(
            kinds_errors.match_differs(
                clause.element,
                "a reference" if element.references else element.type,
                self.type_span(element),
                clause.operand.span,
                is_,
                f"declare `{element.name}` as {wanted}",
            )
        )

    def type_span(self, element: model.Element) -> Span:
        written = self.elements.written[element.name]
        return written.types[0].span.to(written.types[-1].span)

    # ---- gives -------------------------------------------------------------------------------

    def gives(
        self, rule: tree.Rule, used: dict[str, Span]
    ) -> tuple[tuple[model.Element, ...], tuple[str, ...]]:
        elements: list[model.Element] = []
        kinds: list[tree.Name] = []
        for clause in rule.clauses:
            if not isinstance(clause, tree.GivesList):
                continue
            rules = [n for n in clause.names if n.text in self.kinds]
            others = [n for n in clause.names if n.text not in self.kinds]
            if rules and others:
                self.found.add(
                    kinds_errors.gives_mixed(
                        clause.span, [n.text for n in others], [n.text for n in rules]
                    )
                )
                continue
            if len(clause.names) > 1 and clause.alternatives != bool(rules):
                self.found.add(kinds_errors.gives_separator(clause.span, bool(rules)))
            if rules and kinds:
                self.found.add(
                    errors.twice_in_pipeline("what rule it gives", clause.span, kinds[0].span)
                )
            kinds += rules
            elements += [e for n in others if (e := self.given(n, rule, used))]
        for i, name in enumerate(kinds):
            if name.text in [k.text for k in kinds[:i]]:
                self.found.add(kinds_errors.element_twice(name, kinds[0].span, rule.name.text))
        return tuple(elements), tuple(dict.fromkeys(k.text for k in kinds))

    def given(
        self, name: tree.Name, rule: tree.Rule, used: dict[str, Span]
    ) -> model.Element | None:
        if name.text in self.elements.known or name.text in self.elements.broken:
            return self.use(name, rule, used)
        self.found.add(
            errors.unknown(
                "information element or rule kind",
                name,
                [*self.elements.known, *self.kinds],
                "declare it: `ie NAME = NUMBER, TYPE`",
            )
        )
        return None

    # ---- the rest ----------------------------------------------------------------------------

    def spread(self, clause: tree.Spread) -> model.Spread | None:
        least, most = clause.least, clause.most
        if not 1 <= most.value <= MOST_MEMBERS:
            self.found.add(
                errors.number_out_of_range(most.span, "the number of members", 1, MOST_MEMBERS)
            )
        elif not 1 <= least.value <= most.value:
            self.found.add(
                errors.number_out_of_range(least.span, "the least number of members", 1, most.value)
            )
        weight = self.elements.find(clause.weight) if clause.weight else None
        if clause.weight and weight:
            self.plain_number(clause.weight, weight)
        hash_ = self.hash(clause.over)
        if clause.kind.text not in self.kinds:
            self.found.add(
                errors.unknown(
                    "rule kind", clause.kind, self.kinds, "declare it: `rule NAME [CAPACITY] {…}`"
                )
            )
            return None
        if hash_ is None:
            return None
        return model.Spread(
            clause.kind.text, least.value, most.value, weight.name if weight else None, hash_
        )

    def hash(self, call: tree.Call) -> model.Hash | None:
        names = PacketNames(self.checked, self.found)
        expressions = Expressions(names.field, names.call, self.found)
        made = expressions.value(call)
        if made is None:
            return None
        assert isinstance(made.expr, model.Hash)
        return made.expr

    def plain_number(self, name: tree.Name, element: model.Element) -> None:
        if element.references or element.most or element.kind != "uint" or element.width > 32:
            written = self.elements.written[element.name]
            self.found.add(kinds_errors.bad_weight(name, element.type, written.types[0].span))

    def counts(self, rule: tree.Rule) -> tuple[str, ...]:
        words: dict[str, Span] = {}
        for clause in rule.clauses:
            for word in clause.what if isinstance(clause, tree.Counts) else ():
                if word.text not in ("packets", "bytes", "sizes"):
                    self.found.add(kinds_errors.counts_nothing(word))
                elif word.text in words:
                    self.found.add(
                        kinds_errors.element_twice(word, words[word.text], rule.name.text)
                    )
                else:
                    words[word.text] = word.span
        return tuple(words)

    def priority(
        self, rule: tree.Rule, used: dict[str, Span]
    ) -> tuple[Literal["priority", "precedence"], model.Element] | None:
        clauses = [c for c in rule.clauses if isinstance(c, tree.Priority)]
        for again in clauses[1:]:
            self.found.add(errors.twice_in_pipeline("the priority", again.span, clauses[0].span))
        if not clauses:
            return None
        element = self.use(clauses[0].element, rule, used)
        if element is None:
            return None
        self.plain_number(clauses[0].element, element)
        return clauses[0].kind, element

    def check_cycles(self) -> None:
        """Rules that contain each other: by alternatives and by members."""
        leads = {
            name: [*kind.alternatives, *([kind.spread.kind] if kind.spread else [])]
            for name, kind in self.known.items()
        }
        done: set[str] = set()

        def visit(name: str, chain: tuple[str, ...]) -> None:
            if name in chain:
                circle = chain[chain.index(name) :]
                after = (*circle[1:], name)
                if not done.intersection(circle):
                    self.found.add(
                        kinds_errors.reference_cycle(
                            [
                                (self.kinds[k].name.span, f"refers to {n}")
                                for k, n in zip(circle, after, strict=True)
                            ]
                        )
                    )
                done.update(circle)
                return
            if name in done:
                return
            for other in leads[name]:
                visit(other, (*chain, name))
            done.add(name)

        for name in leads:
            visit(name, ())


def collect_kinds(
    declared: Sequence[tree.Rule], nodes: CheckedGraph, found: Diagnostics
) -> dict[str, tree.Rule]:
    """Rule kinds by name; their names differ from each other whatever the case, and from nodes'."""
    kinds: dict[str, tree.Rule] = {}
    folded: dict[str, tree.Rule] = {}
    for rule in declared:
        name = rule.name
        first = folded.setdefault(name.text.lower(), rule)
        if first is not rule:
            help = (
                ""
                if first.name.text == name.text
                else "requests ignore case: the names must differ otherwise"
            )
            found.add(errors.declared_twice("rule kind", name, first.name.span, help))
            continue
        node = next((n for n in nodes.graph.nodes if n.name == name.text), None)
        if node is not None:
            found.add(errors.name_taken(name, "a node of the parse graph", node.span))
        elif name.text in RESERVED or scalar(name.text) or name.text == "bytes":
            found.add(errors.name_taken(name, RESERVED.get(name.text, "a type")))
        kinds[name.text] = rule
    return kinds


def _allowed(element: model.Element) -> tuple[Kind, ...]:
    """The match kinds that go with the element's type."""
    if element.references:
        return ("exact", "optional")
    if element.kind == "mac":
        return ("exact", "optional", "ternary")
    if element.width > WIDEST:
        return ("exact", "optional", "lpm", "ternary")
    return MATCH_KINDS
