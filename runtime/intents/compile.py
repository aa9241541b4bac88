"""Compiles an intent to rules of a pipeline, by its manifest."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from ...lang.contract.manifest.manifest import Manifest, Match, RuleKind
from ...lang.contract.manifest.parse_graph import ParseGraph, Reading
from ...lang.contract.request.request import IE, Change, Request, RuleItem
from ...lang.contract.rules.rulebook import RuleBook
from ...lang.contract.rules.rules import Rule
from ...lang.text.diagnostics import Diagnostic, Label, did_you_mean, ticked
from ...lang.text.source import Span
from ...lang.text.yaml_reader import Entry
from ..base.errors import refused
from ..edge.yaml_nodes import spelled
from .document import Document, LayerSpec
from .flows import Flow, Follower, taken

if TYPE_CHECKING:
    from ..loading.any_loaded import AnyLoaded


class PipelineContext(NamedTuple):
    """What an intent may refer to: interfaces of the ports, the mode, port numbers by name."""

    interfaces: tuple[str, ...]
    mode: str
    ports: Mapping[str, int]

    @classmethod
    def of(cls, loaded: AnyLoaded) -> PipelineContext:
        interfaces = tuple(port.interface for port in loaded.port_configs)
        return cls(interfaces, loaded.mode, loaded.port_numbers)


class CompiledIntent(NamedTuple):
    """The request that makes an intent's rules, with the intent's places, and the rules of it that
    are found by the flows."""

    request: Request
    rules: tuple[Rule, ...]


def compile_intent(
    document: Document, manifest: Manifest, context: PipelineContext
) -> CompiledIntent:
    """Raises `Refused` with all that is wrong."""
    if manifest.anatomy is None:
        raise refused(_no_anatomy(manifest.pipeline))
    _parameters(document, context)
    request = _Compiler(document, manifest, manifest.anatomy).request()
    document.nodes.found.stop_if_errors()
    plan = RuleBook(manifest, context.ports).plan(request)
    kinds = {item.kind for change in request.changes for item in change.items
             if isinstance(item, RuleItem)}  # fmt: skip
    return CompiledIntent(request, tuple(rule for rule in plan.created if rule.kind in kinds))


def _parameters(document: Document, context: PipelineContext) -> None:
    nodes = document.nodes
    for entry, have in ((document.interface, context.interfaces), (document.mode, (context.mode,))):
        text = nodes.text(entry.value) if entry is not None else None
        if entry is None or text is None or text in have:
            continue
        where = nodes.span(entry.value)
        if entry is document.interface:
            nodes.found.add(_not_a_port(where, text, have))
        else:
            nodes.found.add(_other_mode(where, text, context.mode))


class _Compiler:
    def __init__(self, document: Document, manifest: Manifest, anatomy: ParseGraph) -> None:
        self.document, self.manifest, self.anatomy = document, manifest, anatomy
        self.nodes, self.found = document.nodes, document.nodes.found
        self.follower = Follower(document.nodes, manifest, anatomy)
        self.readings = {(r.rule, r.element): r for r in anatomy.readings}

    def request(self) -> Request:
        document = self.document
        kind = self._kind()
        followed = [(spec, self.follower.follow(spec)) for spec in document.flows if spec]
        items = [
            self._rule(kind, spec, flow, number if len(followed) > 1 else 0)
            for number, (spec, flow) in enumerate(followed, 1) if kind is not None and flow
        ]  # fmt: skip
        at = document.action_at.start, document.action_at.end
        return Request((Change("create", tuple(items), at),), self.nodes.source)

    # ---- which kind of rule -----------------------------------------------------------------

    def _kind(self) -> RuleKind | None:
        """That whose rules say all of the action."""
        where, spec = self.document.action_at, list(self.document.action)
        fitting = [kind for kind in self.manifest.rules if self._finds(kind)]
        if self.document.rule is not None:
            name = self.nodes.word(
                self.document.rule.value, "rule kind that flows find", [k.name for k in fitting]
            )
            fitting = [kind for kind in fitting if kind.name == name]
            if not fitting:
                return None
        known = {e: None for kind in fitting for e in self._says(kind)}
        unknown = [name for name in spec if name not in known]
        for name in unknown:
            span = self.nodes.span(self.document.action[name].key)
            self.found.add(_unknown_action(span, name, list(known)))
        if unknown:
            return None
        able = [kind for kind in fitting if set(spec) <= set(self._says(kind))]
        if self.document.rule is None:
            able = [kind for kind in able if spec]
        if len(able) != 1:
            self.found.add(_no_kind(where, [kind.name for kind in able or fitting]))
            return None
        return able[0]

    def _finds(self, kind: RuleKind) -> bool:
        """Whether headers find the kind's rules."""
        exact = [match for match in kind.match if match.kind == "exact"]
        return bool(kind.match) and not kind.grouped and all(
            (kind.name, match.element) in self.readings for match in exact
        ) and any((kind.name, match.element) in self.readings for match in kind.match)  # fmt: skip

    def _says(self, kind: RuleKind) -> list[str]:
        """What an action may say: what the kind's rules give, or a rule of their own."""
        return [*kind.gives, *(e for other in self._held(kind) for e in other.gives)]

    def _held(self, kind: RuleKind) -> list[RuleKind]:
        """Kinds of rules that one of this kind may have for itself."""
        others = (self.manifest.rule(name) for name in kind.alternatives)
        return [o for o in others if not (o.grouped or o.spread or o.alternatives or o.match)]

    # ---- a rule -----------------------------------------------------------------------------

    def _rule(
        self, kind: RuleKind, spec: tuple[LayerSpec, ...], flow: Flow, number: int
    ) -> RuleItem:
        head = spec[0].span
        at = (head.start, head.end, max(each.span.end for each in spec))
        found = (self._match(kind, match, spec[-1].span, flow) for match in kind.match)
        ies = [ie for ie in found if ie is not None]
        for place, name, entry in flow.unused():
            where = self.nodes.span(entry.key)
            self.found.add(_not_looked_at(where, kind.name, place.spec.name, name))
        action = self.document.action
        items: list[IE | RuleItem] = [*ies, *self._given(kind, at)]
        rest = {name: entry for name, entry in action.items() if name not in kind.gives}
        if rest:
            holder = next((o for o in self._held(kind) if set(rest) <= set(o.gives)), None)
            if holder is None:
                self.found.add(_no_kind(self.document.action_at, []))
            else:
                own = tuple(self._given(holder, at))
                items.append(RuleItem(holder.name, None, None, own, True, at))
        name = f"{self.document.id}-{number}" if number else self.document.id
        return RuleItem(kind.name, None, name if kind.named else None, tuple(items), True, at)

    def _given(self, kind: RuleKind, at: tuple[int, ...]) -> Iterator[IE]:
        """What the action says; what must be said and is not is 0, where that has a name."""
        needed = {r.element for r in kind.requires if not r.when and not r.references}
        for element in kind.gives:
            entry = self.document.action.get(element)
            if entry is not None:
                if self.nodes.text(entry.value) is not None:
                    yield self._ie(element, entry)
            elif element in needed and 0 in self.manifest.element(element).symbols.values():
                yield _plain(element, 0, at)

    def _match(self, kind: RuleKind, match: Match, where: Span, flow: Flow) -> IE | None:
        reading = self.readings.get((kind.name, match.element))
        if reading is None:
            return None
        for node, name in reading.fields:
            place = flow.at(node)
            if place is None:
                continue
            entry, at = flow.entry(node, name), (place.spec.span.start, place.spec.span.end)
            if entry is not None:
                return self._ie(match.element, entry)
            implied = flow.implied(place.layer.name, name)
            if implied is not None:
                return _plain(match.element, implied, at)
            if match.kind == "exact":
                help_ = f"say `{name}` of `{place.spec.name}`"
                self.found.add(_missing(place.spec.span, kind.name, match.element, help_))
            return None
        if match.kind != "exact":
            return None
        lacking = self._lacking(reading, flow)
        if lacking:
            self.found.add(_missing(where, kind.name, match.element, lacking))
            return None
        return _plain(match.element, 0, (where.start, where.end))

    def _lacking(self, reading: Reading, flow: Flow) -> str:
        """What a flow must say further, so that it surely lacks a field; empty: it does."""
        nodes, begins = {node for node, _ in reading.fields}, flow.places[0].layer.name
        if begins not in self.anatomy.entries and not nodes & {"l4", *self.follower.beyond(flow)}:
            return "describe the flow from its first header on"
        fields = list(dict.fromkeys(f"`{name}` of `{node}`" for node, name in reading.fields))
        if len(reading.fields) == 1 and reading.fields[0][0] != "l4":
            return f"it is {fields[0]}: describe the flow as far as that"
        last = flow.places[-1].layer.name
        for step in self.anatomy.steps:
            if step.source != last or (verdict := taken(step, flow)) is False:
                continue
            follows = self.follower.layers[step.target].header
            if verdict or not step.when:
                return f"`{follows}` follows here: add it"
            names = ", ".join(f"`{name}`" for name, _ in step.when)
            return f"add the header that follows, or say {names} so that none does"
        return ""

    def _ie(self, element: str, entry: Entry) -> IE:
        form, value, other = spelled(str(entry.value.value))
        key, whole = self.nodes.span(entry.key), self.nodes.span(entry.value)
        inner = (whole.start, whole.end)
        return IE(element, "", form, value, other,
                  (key.start, key.end, *inner, *inner, *inner, key.start, whole.end))  # fmt: skip


def _plain(element: str, value: int, at: tuple[int, ...]) -> IE:
    """An element that nobody has written; it is shown where it follows from."""
    span = at[:2]
    return IE(element, "", "value", value, "", (*span, *span, *span, *span, *span))


# ---- errors ---------------------------------------------------------------------------------


def _not_looked_at(where: Span, kind: str, layer: str, field: str) -> Diagnostic:
    return Diagnostic("H0827", f"{kind} does not look at `{field}` of `{layer}`",
                      (Label(where, "would not matter"),),
                      f"leave it out: {kind} finds flows without it")  # fmt: skip


def _missing(where: Span, kind: str, element: str, help_: str) -> Diagnostic:
    return Diagnostic("H0828", f"{kind} needs `{element}`, which this flow does not say",
                      (Label(where, "of this flow"),), help_)  # fmt: skip


def _unknown_action(where: Span, name: str, known: Sequence[str]) -> Diagnostic:
    help_ = did_you_mean(name, known) or f"an action may say {ticked(known)}"
    return Diagnostic("H0829", f"no rule of this pipeline says `{name}`",
                      (Label(where, "unknown"),), help_)  # fmt: skip


def _no_kind(where: Span, kinds: Sequence[str]) -> Diagnostic:
    if kinds:
        title, help_ = f"rules of {ticked(kinds)} could do this", f"add `rule: {kinds[0]}`"
    else:
        title = "no kind of rule does all this"
        help_ = "`helioctl intent apply` takes what one rule can say: see docs/intents.md"
    return Diagnostic("H0829", title, (Label(where, "which one?" if kinds else ""),), help_)


def _not_a_port(where: Span, name: str, have: Sequence[str]) -> Diagnostic:
    help_ = did_you_mean(name, have) or f"its ports are on {ticked(have)}"
    return Diagnostic("H0830", f"the pipeline has no port on `{name}`",
                      (Label(where, "no port of it"),), help_)  # fmt: skip


def _other_mode(where: Span, mode: str, runs: str) -> Diagnostic:
    return Diagnostic("H0830", f"the pipeline does not run in {mode} mode",
                      (Label(where, f"it runs in {runs} mode"),),
                      f"`mode: {runs}`, or load the pipeline otherwise")  # fmt: skip


def _no_anatomy(pipeline: str) -> Diagnostic:
    return Diagnostic("H0831", f"the build of `{pipeline}` does not tell its headers", (),
                      "compile it with this release and load it again")  # fmt: skip
