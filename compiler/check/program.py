"""From a syntax tree to a checked pipeline, or everything that is wrong with it."""

from __future__ import annotations

from typing import Literal, TypeVar

from ...lang import tree
from ...lang.text.diagnostics import Diagnostics
from ...lang.text.source import Span
from .. import model
from ..model.sums import NETWORK
from . import faults_files, faults_stages, faults_states
from .edges import CheckedGraph, check_graph
from .elements import Elements
from .flow import Scope, State, at_arrival, unbind
from .headers import CheckedHeader, check_header
from .kinds import Rules, collect_kinds
from .requirements import finish_rules
from .resolve import Known, Load, load_file, visible_headers
from .stage_names import Program
from .statements import block
from .states import collect_states, updates

HOOKS: dict[model.Event, model.Hook] = {
    "malformed": "drop",
    "tiny_fragment": "drop",
    "too_big": "drop",
    "ttl_expired": "drop",
    "no_headroom": "drop",
    "unresolved": "pass",
}
#: What a hook may say of its event; of the others, pass or drop. A tiny fragment never passes: what
#: filters look for is not in it.
_ALLOWED: dict[model.Event, tuple[model.Hook, ...]] = {
    "malformed": ("pass", "drop", "continue"),
    "tiny_fragment": ("drop", "continue"),
    "too_big": ("pass", "drop", "reply icmp"),
    "ttl_expired": ("pass", "drop", "reply icmp"),
}
D = TypeVar("D", bound=tree.Declaration)


def check(
    program: tree.Program, load: Load = load_file, found: Diagnostics | None = None
) -> model.Pipeline:
    """The pipeline of the file. `load` reads imported files; warnings are left in `found`. Raises
    `Refused` with everything that is wrong, in source order."""
    found = Diagnostics() if found is None else found
    known, complete = visible_headers(program, load, found)
    headers = {name: check_header(k, found) for name, k in known.items()}
    for again in program.pipelines[1:]:
        found.add(
            faults_files.twice_in_pipeline(
                "`pipeline`", again.name.span, program.pipelines[0].name.span
            )
        )
    if not program.pipelines:
        found.add(
            faults_files.missing(
                Span(program.source, 0, min(1, len(program.source.text))),
                "the pipeline",
                "add `pipeline NAME {…}`",
            )
        )
        raise_sorted(found)
    pipeline = program.pipelines[0]
    made = _PipelineChecker(pipeline, headers, complete, found).check()
    _unused_imports(pipeline, known, program, found)
    raise_sorted(found)
    assert made is not None
    return made


def check_headers(
    program: tree.Program, load: Load = load_file, found: Diagnostics | None = None
) -> tuple[model.Header, ...]:
    """The headers of a file that has no pipeline. Raises `Refused`."""
    found = Diagnostics() if found is None else found
    known, _ = visible_headers(program, load, found)
    headers = [check_header(k, found).header for k in known.values() if k.imported is None]
    raise_sorted(found)
    return tuple(headers)


def raise_sorted(found: Diagnostics) -> None:
    """Bring what was found into source order; raise it if any of it is an error."""
    found.found.sort(key=lambda d: (d.span.source.name, d.span.start) if d.span else ("", 0))
    found.stop_if_errors()


def _unused_imports(
    pipeline: tree.Pipeline, known: dict[str, Known], program: tree.Program, found: Diagnostics
) -> None:
    named = {
        n.text
        for p in pipeline.declarations
        if isinstance(p, tree.Parser)
        for e in p.edges
        for n in (e.source, e.target)
    }
    used = {id(known[n].imported) for n in named if n in known}
    declaring = {id(k.imported) for k in known.values()}
    for imported in program.imports:
        if id(imported) in declaring and id(imported) not in used and not found.errors:
            found.add(faults_files.unused_import(imported.path))


class _PipelineChecker:
    def __init__(
        self,
        pipeline: tree.Pipeline,
        headers: dict[str, CheckedHeader],
        complete: bool,
        found: Diagnostics,
    ) -> None:
        self.complete = complete
        self.pipeline = pipeline
        self.headers = headers
        self.found = found
        self.errors_at_first = len(found.errors)

    def check(self) -> model.Pipeline | None:
        roles = self.roles()
        checked = self.graph(roles)
        kinds = collect_kinds(self.all(tree.Rule), checked, self.found)
        elements = Elements(self.all(tree.InformationElement), kinds, self.found)
        rules = Rules(kinds, elements, checked, self.found)
        states = collect_states(self.all(tree.State), kinds, checked, self.found)
        hooks = self.hooks(checked)
        default = self.default()
        program = Program(
            checked=checked,
            elements=elements,
            rules=rules,
            states=states,
            actions=self.actions(rules),
            roles=roles,
            hooks=hooks,
            found=self.found,
            unsure=not checked.sound or bool(self.errors_before_stages()),
        )
        stages = self.stages(program)
        if not checked.graph.nodes:
            return None
        said = {e: h.verdict for e, h in hooks.items() if h is not None}
        return model.Pipeline(
            name=self.pipeline.name.text,
            roles=roles,
            graph=checked.graph,
            elements=tuple(elements.known.values()),
            rules=finish_rules(program),
            states=tuple(states.values()),
            stages=stages,
            default=default,
            hooks={**HOOKS, **said},  # type: ignore[dict-item]
            doc=self.pipeline.doc,
            span=self.pipeline.name.span,
        )

    def errors_before_stages(self) -> int:
        return len(self.found.errors) - self.errors_at_first

    # ---- the frame ---------------------------------------------------------------------------

    def all(self, sort: type[D]) -> list[D]:
        return [d for d in self.pipeline.declarations if isinstance(d, sort)]

    def only(self, sort: type[D], what: str, help: str) -> D | None:
        """The declaration of which there is one; `help` says how to write it where it is needed."""
        said = self.all(sort)
        for again in said[1:]:
            self.found.add(faults_files.twice_in_pipeline(what, again.span, said[0].span))
        if not said and help:
            self.found.add(faults_files.missing(self.pipeline.name.span, what, help))
        return said[0] if said else None

    def roles(self) -> tuple[str, ...]:
        ports = self.only(
            tree.Ports, "`ports`", "name the roles that ports may have: `ports lan, wan`"
        )
        first: dict[str, Span] = {}
        for role in ports.roles if ports else ():
            if first.setdefault(role.text, role.span) is not role.span:
                self.found.add(faults_files.declared_twice("port role", role, first[role.text]))
        return tuple(first)

    def graph(self, roles: tuple[str, ...]) -> CheckedGraph:
        parser = self.only(
            tree.Parser, "`parser`", "say what follows what: `parser { ethernet -> … }`"
        )
        if parser is None or not roles:
            return CheckedGraph(model.Graph((), ()), {}, sound=False)
        return check_graph(parser, self.headers, roles, self.found, not self.complete)

    def default(self) -> Literal["pass", "drop"]:
        said = self.only(tree.Default, "`default`", "")
        verdict = said.verdict.verdict if said else "pass"
        if verdict == "pass" or verdict == "drop":
            return verdict
        assert said
        self.found.add(
            faults_stages.verdict_misplaced(said.verdict.span, "as the default", ("pass", "drop"))
        )
        return "pass"

    def hooks(self, checked: CheckedGraph) -> dict[model.Event, model.Verdict | None]:
        first: dict[str, Span] = {}
        hooks: dict[model.Event, model.Verdict | None] = dict.fromkeys(HOOKS)
        for hook in self.all(tree.Hook):
            event = next((e for e in HOOKS if e == hook.event.text), None)
            if event is None:
                self.found.add(
                    faults_files.unknown(
                        "event", hook.event, HOOKS, f"events are {', '.join(HOOKS)}"
                    )
                )
                continue
            if first.setdefault(event, hook.event.span) is not hook.event.span:
                self.found.add(
                    faults_files.twice_in_pipeline(f"`on {event}`", hook.event.span, first[event])
                )
            allowed = _ALLOWED.get(event, ("pass", "drop"))
            verdict = hook.verdict
            if verdict.verdict not in allowed:
                self.found.add(
                    faults_stages.verdict_misplaced(verdict.span, f"on {event}", allowed)
                )
                continue
            if (
                verdict.verdict == "reply icmp"
                and checked.sound
                and not any(n.header.protocol in NETWORK for n in checked.graph.nodes)
            ):
                self.found.add(
                    faults_files.missing(
                        verdict.span,
                        "an `ipv4` or `ipv6` node to answer",
                        "lead an edge to `ipv4`, or say `drop`",
                    )
                )
            hooks[event] = model.Verdict(verdict.verdict, verdict.span)
        return hooks

    # ---- actions and stages ------------------------------------------------------------------

    def actions(self, rules: Rules) -> dict[str, tree.Action]:
        actions: dict[str, tree.Action] = {}
        for action in self.all(tree.Action):
            first = actions.setdefault(action.name.text, action)
            if first is not action:
                self.found.add(faults_files.declared_twice("action", action.name, first.name.span))
            if action.parameter.text not in rules.known:
                self.found.add(
                    faults_files.unknown(
                        "rule kind",
                        action.parameter,
                        rules.known,
                        "an action takes a rule: `action NAME(KIND) {…}`",
                    )
                )
        return actions

    def stages(self, program: Program) -> tuple[model.Stage, ...]:
        declared: dict[str, tree.Stage] = {}
        for stage in self.all(tree.Stage):
            first = declared.setdefault(stage.name.text, stage)
            if first is not stage:
                self.found.add(faults_files.declared_twice("stage", stage.name, first.name.span))
            if stage.name.text == "parser":
                self.found.add(faults_files.name_taken(stage.name, "the parser"))
        order = self.order(declared)
        state = (
            at_arrival(program.checked.graph, program.roles)
            if program.checked.graph.nodes
            else frozenset()
        )
        made = []
        for i, stage in enumerate(order):
            body, state = block(
                program, stage.body, state, Scope(taken=frozenset(program.rules.known))
            )
            for name in program.states:  # what was recalled is not carried on to the next stage
                state = unbind(state, name)
            made.append(model.Stage(stage.name.text, body, stage.doc, stage.span))
            if i == len(order) - 1 and not body.ends:
                self.end(program, stage, state)
        self.unused(program, declared, order)
        for _, written in updates(made):
            self.found.add(faults_states.lost_update(written.span, written.state))
        return tuple(made)

    def order(self, declared: dict[str, tree.Stage]) -> list[tree.Stage]:
        run = self.only(tree.Run, "`run`", "say in which order the stages run: `run parser -> …`")
        order: list[tree.Stage] = []
        first: dict[str, Span] = {}
        for i, name in enumerate(run.stages if run else ()):
            if name.text == "parser":
                if i and "parser" not in first:
                    self.found.add(faults_stages.parser_first(name.span))
                continue
            if not i:
                self.found.add(faults_stages.parser_first(name.span))
                first["parser"] = name.span
            if name.text not in declared:
                self.found.add(
                    faults_files.unknown(
                        "stage", name, declared, f"declare it: `stage {name.text} {{…}}`"
                    )
                )
            elif first.setdefault(name.text, name.span) is not name.span:
                self.found.add(faults_stages.run_twice(name, first[name.text]))
            else:
                order.append(declared[name.text])
        if run and not order and len(run.stages) < 2:
            self.found.add(
                faults_files.missing(run.span, "a stage to run", "write `run parser -> STAGE`")
            )
        return order

    def end(self, program: Program, stage: tree.Stage, state: State) -> None:
        if not state or program.unsure or self.errors_before_stages():
            return
        end = Span(stage.span.source, stage.span.end - 1, stage.span.end)
        self.found.add(faults_stages.no_verdict(stage.name, end, _described(program, state)))

    def unused(
        self, program: Program, declared: dict[str, tree.Stage], order: list[tree.Stage]
    ) -> None:
        for stage in declared.values():
            if stage not in order and order:
                self.found.add(
                    faults_stages.never_used(
                        stage.name,
                        "the stage",
                        f"add it to the `run` line: `… -> {stage.name.text}`",
                    )
                )
                block(program, stage.body, frozenset(), Scope(taken=frozenset(program.rules.known)))
        for action in program.actions.values():
            if (
                action.name.text not in program.applied
                and action.parameter.text in program.rules.known
            ):
                self.found.add(
                    faults_stages.never_used(
                        action.name,
                        "the action",
                        f"apply it in a stage: `{action.name.text}({action.parameter.text})`",
                    )
                )
                scope = Scope(taken=frozenset(program.rules.known), applied=(action,))
                block(program, action.body, frozenset(), scope)


def _described(program: Program, state: State) -> str:
    """One sort of packet of the state, in words."""
    world = min(state, key=lambda w: (w.role, w.present))
    names = [n.name for n in program.order(world) if not world.pushed & program.bit(n.name)]
    return f"{' / '.join(names)} on {world.role}"
