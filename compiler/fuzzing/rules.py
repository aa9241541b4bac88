"""Rules for a pipeline: their matches taken from packets, so that some packets meet them; requests
that create, update, replace and delete them."""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy

from hypothesis import strategies as st

from ...lang.contract.base.lists import packed
from ...lang.contract.manifest.manifest import Manifest
from ...lang.contract.request.request import IE, RuleItem, unquoted
from ...lang.contract.rules.byte_values import NameCodec
from ...lang.contract.rules.ie_values import Codec, Fault
from ...lang.contract.rules.rulekinds import Kind
from ..lower.reads import reads
from ..model import Element, Given, Match, Pipeline, RuleKind
from .sample import Sample
from .world import FEW, NAMES, World

There = Mapping[str, list[int]]  # ids by kind


class RuleMaker:
    """Strategies for the rules of one pipeline. `holding`: of which some hold others."""

    holding = False

    def __init__(self, pipeline: Pipeline, manifest: Manifest, world: World) -> None:
        self.pipeline, self.manifest, self.world = pipeline, manifest, world
        self._kinds = {r.name: Kind(manifest, r) for r in manifest.rules}
        self._order = _by_need(pipeline)
        given = {element.name for rule in pipeline.rules for element in rule.gives}
        self._joins = {
            match.element.name
            for rule in pipeline.rules
            for match in rule.match
            if isinstance(match.operand, Given)
            and match.element.kind == "uint"
            and match.element.name in given
            and not match.element.symbols
        }
        self._next_hops = {(kind, address) for kind, _, address in reads(pipeline).next_hops}

    def with_held(self) -> RuleMaker:
        maker = copy(self)
        maker.holding = True
        return maker

    @property
    def kinds(self) -> tuple[RuleKind, ...]:
        """Those that others refer to in front of those."""
        return self._order

    def rule(
        self, draw: st.DrawFn, rule: RuleKind, number: int, sample: Sample, there: There
    ) -> RuleItem:
        kind = self._kinds[rule.name]
        items = self._matches(draw, rule, sample)
        if rule.priority:
            items.append(_ie(kind.codecs[rule.priority[1].name], draw(st.integers(0, 3))))
        items += self.changeable(draw, rule, there, sample)
        name = f"{rule.name}{number}" if rule.named else None
        return RuleItem(rule.name, number, name, tuple(items))

    def _matches(self, draw: st.DrawFn, rule: RuleKind, sample: Sample) -> list[RuleItem | IE]:
        codecs = self._kinds[rule.name].codecs
        drawn = (self._match(draw, rule, m, codecs[m.element.name], sample) for m in rule.match)
        return [ie for ie in drawn if ie]

    def changeable(
        self, draw: st.DrawFn, rule: RuleKind, there: There, sample: Sample
    ) -> list[RuleItem | IE]:
        """What an update may say as well: elements, what the rule gives, members."""
        items = self._gives(draw, rule, there)
        items += self._alternatives(draw, rule, there, sample)
        return items + (self._members(draw, rule, there) if rule.spread else [])

    def giving(self, rule: str, element: str, value: int) -> tuple[IE, ...]:
        """That rules of the kind give this value; none where they cannot."""
        known = next((e for e in self.pipeline.rule(rule).gives if e.name == element), None)
        if known is None or known.references or known.most:
            return ()
        codec = self._kinds[rule].codecs[element]
        if codec.values and value not in codec.values:
            return ()
        return (_ie(codec, value),)

    def _alternatives(
        self, draw: st.DrawFn, rule: RuleKind, there: There, sample: Sample
    ) -> list[RuleItem | IE]:
        """A rule of another kind that this one gives: one that is there, or one of its own; beside
        a spread of its own also a rule of the kind that it spreads over."""
        targets = [(k, i) for k in rule.alternatives for i in there.get(k, ())]
        if not self.holding or not rule.alternatives or draw(st.booleans()):
            there_is = [RuleItem(*draw(st.sampled_from(targets)), block=False)] if targets else []
            return [*there_is]
        other = self.pipeline.rule(draw(st.sampled_from(rule.alternatives)))
        held: list[RuleItem | IE] = [self._held(draw, other, there, sample)]
        spread = other.spread
        if spread and spread.kind in rule.alternatives and draw(st.booleans()):
            beside = self.pipeline.rule(spread.kind)
            held.insert(0, self._held(draw, beside, there, sample))
        return held

    def _held(self, draw: st.DrawFn, rule: RuleKind, there: There, sample: Sample) -> RuleItem:
        matches = self._matches(draw, rule, sample)
        return RuleItem(
            rule.name, None, None, (*matches, *self.changeable(draw, rule, there, sample))
        )

    def _members(self, draw: st.DrawFn, rule: RuleKind, there: There) -> list[RuleItem | IE]:
        spread = rule.spread
        assert spread is not None
        known = there.get(spread.kind, [])
        if not known:
            return []
        ids = draw(st.lists(st.sampled_from(known), min_size=1, max_size=3, unique=True))
        weight = self._kinds[rule.name].weight
        members: list[RuleItem | IE] = []
        for id_ in ids:
            says = (_ie(weight.codec, draw(st.integers(1, 9))),) if weight else ()
            members.append(RuleItem(spread.kind, id_, None, says, bool(says)))
        return members

    # ---- elements ---------------------------------------------------------------------------

    def _match(
        self, draw: st.DrawFn, rule: RuleKind, match: Match, codec: Codec, sample: Sample
    ) -> IE | None:
        """The element of a rule: about what the sample has, or about something else."""
        if match.kind != "exact" and not draw(st.integers(0, 2)):
            return None
        seen = sample.value(rule.name, match)
        if seen is None and match.kind != "exact" and draw(st.integers(0, 3)):
            return None
        if seen is None or not draw(st.integers(0, 7)):
            seen = draw(st.sampled_from(self._known(match.element)))
        if isinstance(codec, NameCodec):
            return _name(draw, codec, match, seen)
        full, width = codec.full, codec.width
        other: int = 0
        match match.kind:
            case "lpm" if draw(st.booleans()):
                length = draw(st.sampled_from(sorted({1, 8, width // 2, width - 1, width})))
                form, other = "prefix", length
                seen &= full ^ ((1 << width - length) - 1)
            case "ternary" if draw(st.booleans()):
                half = full >> width // 2
                mask = draw(st.sampled_from([full, half, full ^ half]) | st.integers(0, full))
                form, other, seen = "mask", mask, seen & mask
            case "range" if draw(st.booleans()):
                low = draw(st.sampled_from([0, max(seen - 1, 0), seen]))
                high = draw(st.sampled_from([seen, min(seen + 1, full), full]))
                form, seen, other = "range", low, high
            case _:
                form = "value"
                if match.kind == "ternary" and codec.implied_mask is not None:
                    form, other, seen = "mask", codec.implied_mask, seen & codec.implied_mask
        try:
            canonical = codec.matcher(match.kind, form, seen, other)  # type: ignore[arg-type]
        except Fault:  # an enumeration does not have the packet's value
            if not codec.values:
                return None
            return _ie(codec, draw(st.sampled_from(sorted(codec.values))))
        if canonical is None:
            return None
        return IE(codec.name, codec.lengths[0], *codec.spelled(match.kind, canonical))

    def _gives(self, draw: st.DrawFn, rule: RuleKind, there: There) -> list[RuleItem | IE]:
        """What the rule gives: all that its stages need, of the rest more often than not."""
        kind, given = self._kinds[rule.name], dict[str, int]()
        items: list[RuleItem | IE] = []
        companion = kind.ifindex[0] if kind.ifindex else None  # it would have to agree
        deciding = {name for r in rule.requires for name, _ in r.when}  # what else is needed
        for element in sorted(rule.gives, key=lambda each: each.name not in deciding):
            codec, references = kind.codecs[element.name], set(element.references)
            needed = False
            for r in rule.requires:
                if r.element == element.name and all(given.get(n) in v for n, v in r.when):
                    needed = True
                    references &= set(r.references) or references
            if element.name == companion or not (needed or draw(st.integers(0, 3))):
                continue
            if not element.references:
                given[element.name] = self._given(draw, rule, element)
                items.append(_ie(codec, given[element.name]))
                continue
            names = [f"{k}.{i}" for k in sorted(references) for i in there.get(k, ())]
            if "port" in references:
                names += [port.name for port in self.world.environment.ports]
            if names:
                items.append(
                    IE(codec.name, codec.lengths[0], "value", draw(st.sampled_from(names)))
                )
        return items

    def _given(self, draw: st.DrawFn, rule: RuleKind, element: Element) -> int:
        """A value, or several as one; of next hops most often one that is there."""
        if element in rule.meters:
            return draw(st.sampled_from([n for n in _METERED if not n >> element.width]))
        known = st.sampled_from(self._known(element))
        if element.most:
            values = draw(st.lists(known, min_size=1, max_size=element.most))
            return packed(values, element.width, element.most)
        if (rule.name, element.name) in self._next_hops and draw(st.integers(0, 3)):
            known = st.sampled_from(self.world.there(element.kind))
        near = self.world.of("", element) if not element.symbols else ()
        return draw(st.sampled_from(near) | known if near else known)

    def _known(self, element: Element) -> tuple[int, ...]:
        if element.name in self._joins:
            return FEW
        if element.symbols:
            return tuple(value for _, value in element.symbols)
        return self.world.values(element.kind, element.width)


#: Rates and bursts: by them packets that come at once, or after a wait, are of several colours.
_METERED = (0, 1, 64, 200, 3_000, 8_000, 1_000_000, 10**10, (1 << 32) - 1, (1 << 64) - 1)


def _ie(codec: Codec, value: int) -> IE:
    return IE(codec.name, codec.lengths[0], "value", codec.format(value))


def _name(draw: st.DrawFn, codec: NameCodec, match: Match, seen: int) -> IE:
    """A name, or all names below one."""
    text = unquoted(codec.format(seen)).removesuffix(".")
    if match.kind == "ternary" and draw(st.booleans()):
        text = draw(st.sampled_from(["*." + ".".join(text.split(".")[1:]), f"*.{text}"]))
    try:
        codec.matching(match.kind, "value")(f'"{text}"', "")
    except Fault:  # no rule can say what the packet has
        text = draw(st.sampled_from([t for t in NAMES if len(t) <= codec.size]))
    return IE(codec.name, codec.lengths[0], "value", f'"{text or "."}"')


def _by_need(pipeline: Pipeline) -> tuple[RuleKind, ...]:
    """Kinds that others refer to in front of those."""
    kinds = {rule.name: rule for rule in pipeline.rules}
    order: dict[str, RuleKind] = {}
    begun: set[str] = set()

    def visit(name: str) -> None:
        if name not in kinds or name in begun:
            return
        begun.add(name)
        rule = kinds[name]
        for need in (*rule.alternatives, *([rule.spread.kind] if rule.spread else [])):
            visit(need)
        for element in rule.gives:
            for need in element.references:
                visit(need)
        order[name] = rule

    for name in kinds:
        visit(name)
    return tuple(order.values())
