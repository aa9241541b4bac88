"""Rule kinds: what they match, give, spread and count."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from ...lang import tree
from ...lang.contract.manifest.manifest_check import MOST_MEMBERS
from ...lang.syntax.planned import planned
from ...lang.text.diagnostics import Diagnostic, Diagnostics, error, listed
from ...lang.text.source import Span
from .. import model
from . import errors
from .edges import CheckedGraph
from .elements import Elements
from .expressions import Expressions
from .header_fields import scalar
from .kind_gives import Gives, element_twice
from .kind_matches import Matches
from .kind_meters import rule_meters
from .names import RESERVED
from .packets import PacketNames

MOST_RULES = 4 << 20
_COUNTED = ("packets", "bytes", "sizes")


#: Members of a list: a program makes a copy for each, and the verifier follows them one by one.
MOST_IN_LIST = 64


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
        matches = Matches(self.elements, self.checked, self.found)
        match = matches.of(rule, lambda name: self.use(name, rule, used))
        given = Gives(self.kinds, self.elements, self.found)
        gives, alternatives = given.of(rule, lambda name: self.use(name, rule, used))
        metered, in_packets = rule_meters(rule, lambda n: self.use(n, rule, used), self.found)
        spreads = [c for c in clauses if isinstance(c, tree.Spread | tree.Lists)]
        for again in spreads[1:]:
            what = "`spread` or `lists`"
            self.found.add(errors.twice_in_pipeline(what, again.span, spreads[0].span))
        if not 1 <= rule.capacity.value <= MOST_RULES:
            self.found.add(
                errors.number_out_of_range(rule.capacity.span, "the capacity", 1, MOST_RULES, "4M")
            )
        return model.RuleKind(
            name=rule.name.text,
            capacity=rule.capacity.value,
            named=rule.named,
            match=match,
            gives=(*gives, *metered),
            alternatives=alternatives,
            spread=self.spread(spreads[0]) if spreads else None,
            counts=self.counts(rule),
            priority=self.priority(rule, used),
            doc=rule.doc,
            span=rule.name.span,
            hashed=self.hashed(rule, match),
            meters=metered,
            packet_meter=in_packets,
        )

    def hashed(self, rule: tree.Rule, match: tuple[model.Match, ...]) -> bool:
        """Whether the kind is said to be found `by hash`, which takes all that a rule matches."""
        if rule.by is None:
            return False
        if rule.by.text != "hash":
            self.found.add(errors.unknown("way to find rules", rule.by, ("hash",), "`by hash`"))
        vague = next((m for m in match if m.kind != "exact"), None)
        if vague is not None:
            self.found.add(_not_hashed(vague.span, vague.element.name, rule.by.span))
        elif not any(isinstance(c, tree.Match) for c in rule.clauses):
            self.found.add(_nothing_hashed(rule.by.span))
        return True

    def use(self, name: tree.Name, rule: tree.Rule, used: dict[str, Span]) -> model.Element | None:
        """An element that the rule has; each at most once."""
        first = used.setdefault(name.text, name.span)
        if first is not name.span:
            self.found.add(element_twice(name, first, rule.name.text))
            return None
        return self.elements.find(name)

    def has_clause(self, kind: str, clause: type[tree.RuleClause]) -> bool:
        """Whether the kind says such a clause, be it right or wrong."""
        return any(isinstance(c, clause) for c in self.kinds[kind].clauses)

    def spread(self, clause: tree.Spread | tree.Lists) -> model.Spread | None:
        """The members, and by what packets are spread over them; by nothing, of a list."""
        least, most = clause.least, clause.most
        limit = MOST_MEMBERS if isinstance(clause, tree.Spread) else MOST_IN_LIST
        if not 1 <= most.value <= limit:
            self.found.add(errors.number_out_of_range(most.span, "the number of members", 1, limit))
        elif not 1 <= least.value <= most.value:
            self.found.add(
                errors.number_out_of_range(least.span, "the least number of members", 1, most.value)
            )
        weight, hash_ = None, None
        if isinstance(clause, tree.Spread):
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
        if hash_ is None and isinstance(clause, tree.Spread):
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
            self.found.add(_bad_weight(name, element.type, written.types[0].span))

    def counts(self, rule: tree.Rule) -> tuple[str, ...]:
        words: dict[str, Span] = {}
        for clause in rule.clauses:
            for word in clause.what if isinstance(clause, tree.Counts) else ():
                if word.text not in _COUNTED:
                    self.found.add(counts_nothing(word, "a rule", _COUNTED))
                elif word.text in words:
                    self.found.add(element_twice(word, words[word.text], rule.name.text))
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
                        _reference_cycle(
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


# ---- errors ---------------------------------------------------------------------------------


def _reference_cycle(steps: Sequence[tuple[Span, str]]) -> Diagnostic:
    return error(
        "H0259",
        "these rule kinds refer to each other",
        *steps,
        help="references between rules lead one way: take one of them out",
    )


def _bad_weight(weight: tree.Name, type_: str, where: Span) -> Diagnostic:
    return error(
        "H0262",
        f"`{weight.text}` cannot order or weigh rules",
        (weight.span, "not a number of up to 32 bits"),
        (where, f"declared as {type_}"),
        help="declare an element for it: `ie weight = …, u16`",
    )


def counts_nothing(word: tree.Name, who: str, known: Sequence[str]) -> Diagnostic:
    return planned(word.span) or error(
        "H0265",
        f"{who} cannot count `{word.text}`",
        (word.span, "not something to count"),
        help="did you mean `bytes`?"
        if word.text == "octets"
        else f"count {listed(known)}, or some of these",
    )


def _not_hashed(match: Span, element: str, by: Span) -> Diagnostic:
    return error(
        "H0328",
        f"rules found by a hash match exactly, and `{element}` does not",
        (match, "many values fit this"),
        (by, "asked for here"),
        help="match it `exact`, or leave `by hash` out",
    )


def _nothing_hashed(by: Span) -> Diagnostic:
    return error(
        "H0329",
        "rules that match nothing have nothing to hash",
        (by, "found by what they match"),
        help="add a `match`, or leave `by hash` out",
    )
