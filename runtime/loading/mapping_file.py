"""Reads a mapping file, the YAML that tells an upgrade what the manifests do not.

ports:    {lan: inside}              # roles that have another name
kinds:    {PDR: FLOW, LBR: ~}        # rule kinds and states; ~: given up, with its rules
elements: {tos: dscp, FAR.ifindex: ~}  # of all kinds, or of one
defaults: {FLOW.tenant: 7}           # in the new build's words: what rules get that lack it
pipeline: edge2                      # the new build's name, where that is another
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from ...lang.contract.manifest.manifest import Manifest
from ...lang.contract.rules.ie_values import Fault
from ...lang.contract.rules.rulekinds import Kind
from ...lang.text.diagnostics import FEW, Diagnostic, Diagnostics, Label, did_you_mean
from ...lang.text.source import Source, Span
from ...lang.text.yaml_reader import Entry
from ..edge.yaml_nodes import Nodes
from .convert_rules import default_of
from .map_reuse import elements_of
from .schema_change import Answers

_KEYS = ("pipeline", "ports", "kinds", "elements", "defaults")


def read_mapping(source: Source, old: Manifest, new: Manifest, ports: Mapping[str, int]) -> Answers:
    """For an upgrade from `old` to `new`; `ports`: their numbers by name. Raises `Refused` with
    everything that is wrong."""
    found = Diagnostics(most=FEW)
    answers = _Reader(source, found, old, new).answers(ports)
    found.stop_if_errors()
    return answers


class _Reader:
    def __init__(self, source: Source, found: Diagnostics, old: Manifest, new: Manifest) -> None:
        self.nodes, self.found = Nodes(source, found), found
        self.old, self.new = old, new

    def answers(self, ports: Mapping[str, int]) -> Answers:
        nodes, old, new = self.nodes, self.old, self.new
        root = nodes.mapping(nodes.root(), "a mapping", _KEYS)
        own = [f"{kind.name}.{name}" for kind in old.rules for name in elements_of(kind)]
        elements = [e.name for e in old.elements] + own, [e.name for e in new.elements]
        roles = self._renamed(root.get("ports"), "role", old.roles, new.roles)
        kinds = self._renamed(root.get("kinds"), "rule kind", _kinds(old), _kinds(new))
        pipeline = nodes.text(root["pipeline"].value) if "pipeline" in root else ""
        if pipeline and pipeline != new.pipeline:
            where = nodes.span(root["pipeline"].value)
            self.found.add(_unknown(where, pipeline, "name", "new", [new.pipeline]))
        return Answers(
            pipeline or "", {name: to for name, to in roles.items() if to}, kinds,
            self._renamed(root.get("elements"), "element", *elements, once=False),
            self._defaults(root.get("defaults"), ports),
        )  # fmt: skip

    def _renamed(
        self, entry: Entry | None, what: str, old: Collection[str], new: Collection[str],
        once: bool = True,
    ) -> dict[str, str | None]:  # fmt: skip
        """Names of the running build to those of the new one; `once`: to each from one only. A role
        is not given up: its ports are there."""
        nodes, found = self.nodes, dict[str, str | None]()
        by: dict[str, Entry] = {}
        for name, each in nodes.mapping(entry and entry.value, f"`{what}s`", None).items():
            if name not in old:
                self.found.add(_unknown(nodes.span(each.key), name, what, "running", old))
            if what != "role" and str(each.value.tag).endswith(":null"):
                found[name] = None
                continue
            to = nodes.text(each.value)
            if to is None:
                continue
            if to not in new:
                self.found.add(_unknown(nodes.span(each.value), to, what, "new", new))
            elif once and to in by:
                first, second = nodes.span(by[to].key), nodes.span(each.key)
                self.found.add(_same_twice(first, second, to))
            by.setdefault(to, each)
            found[name] = to
        return found

    def _defaults(self, entry: Entry | None, ports: Mapping[str, int]) -> dict[str, str]:
        nodes, found = self.nodes, dict[str, str]()
        kinds = {kind.name: kind for kind in self.new.rules}
        known = [f"{kind.name}.{name}" for kind in kinds.values() for name in elements_of(kind)]
        for place, each in nodes.mapping(entry and entry.value, "`defaults`", None).items():
            text = nodes.text(each.value)
            if place not in known:
                where = nodes.span(each.key)
                self.found.add(_unknown(where, place, "element", "new", known))
            elif text is not None:
                kind, _, name = place.partition(".")
                try:
                    default_of(Kind(self.new, kinds[kind], ports), name, text, ports)
                except Fault as fault:
                    self.found.add(_bad_default(nodes.span(each.value), fault))
                found[place] = text
        return found


def _kinds(manifest: Manifest) -> list[str]:
    rules, states = manifest.rules, manifest.states
    return [*(kind.name for kind in rules), *(state.name for state in states)]


# ---- errors ---------------------------------------------------------------------------------


def _unknown(where: Span, name: str, what: str, build: str, have: Iterable[str]) -> Diagnostic:
    have = list(have)
    help_ = did_you_mean(name, have) or (f"it has {', '.join(have)}" if have else "it has none")
    title = f"the {build} build has no {what} `{name}`"
    return Diagnostic("H0793", title, (Label(where, f"no {what}"),), help_)


def _same_twice(first: Span, second: Span, name: str) -> Diagnostic:
    labels = (Label(second, "also this"), Label(first, "this"))
    return Diagnostic("H0794", f"two of the running build would become `{name}`", labels,
                      "what was two kinds cannot become one: give one of them up with `~`"
                      )  # fmt: skip


def _bad_default(where: Span, fault: Fault) -> Diagnostic:
    return Diagnostic(fault.code, fault.args[0], (Label(where, fault.text),), fault.help)
