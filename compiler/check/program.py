"""From a syntax tree to a checked pipeline, or everything that is wrong with it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Literal, TypeVar

from ...lang import tree
from ...lang.contract.manifest.manifest import AttachPoint
from ...lang.text.diagnostics import Diagnostic, Diagnostics, error
from ...lang.text.source import Span
from .. import model
from . import errors
from .attach_points import attach_points, bare_roles
from .conditions import narrow
from .edges import CheckedGraph, check_graph
from .edit_limits import limits
from .elements import Elements
from .events import collect_events
from .flow import Scope, State, at_arrival, unbind
from .header_layout import CheckedHeader
from .header_options import with_options_asked
from .headers import check_header
from .hooks import HOOKS, check_hooks
from .kind_events import with_events
from .kinds import Rules, collect_kinds
from .lets import known_behind
from .mentions import mentions
from .meters import unasked
from .registers import collect_registers, lost_changes
from .requirements import finish_rules
from .resolve import Load, load_file, visible_headers
from .stage_program import Program
from .state_statements import Lost, updates
from .statements import block
from .states import collect_states, in_place
from .unused import unused, unused_declarations, unused_imports

D = TypeVar("D", bound=tree.Declaration)


def check(
    program: tree.Program, load: Load = load_file, found: Diagnostics | None = None
) -> model.Pipeline:
    """The pipeline of the file. `load` reads imported files; warnings are left in `found`. Raises
    `Refused` with everything that is wrong, in source order."""
    found = Diagnostics() if found is None else found
    program, known, complete, _ = visible_headers(program, load, found)
    headers = {name: check_header(k, found) for name, k in known.items()}
    for again in program.pipelines[1:]:
        found.add(
            errors.twice_in_pipeline("`pipeline`", again.name.span, program.pipelines[0].name.span)
        )
    if not program.pipelines:
        found.add(
            errors.missing(
                Span(program.source, 0, min(1, len(program.source.text))),
                "the pipeline",
                "add `pipeline NAME {…}`",
            )
        )
        raise_sorted(found)
    pipeline = program.pipelines[0]
    made = _PipelineChecker(pipeline, headers, complete, found).check()
    unused_imports(pipeline, known, program, found)
    unused_declarations(program, found)
    if made is not None and not found.errors:
        found.extend(limits(made))
    raise_sorted(found)
    assert made is not None
    return made


def raise_sorted(found: Diagnostics) -> None:
    """Bring what was found into source order; raise it if any of it is an error."""
    found.found.sort(key=lambda d: (d.span.source.name, d.span.start) if d.span else ("", 0))
    found.stop_if_errors()


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
        taken = {name: kind.name.span for name, kind in kinds.items()}
        taken |= {name: state.span for name, state in states.items()}
        registers = collect_registers(self.all(tree.Registers), taken, checked, self.found)
        events = collect_events(self.all(tree.Event), kinds, self.found)
        with_events(rules, events, self.found)
        at = self.attach_points()
        hooks = check_hooks(self.all(tree.Hook), checked, self.found)
        default = self.default()
        program = Program(
            checked=checked,
            elements=elements,
            rules=rules,
            states=states,
            registers=registers,
            events=events,
            actions=self.actions(rules),
            roles=roles,
            hooks=hooks,
            found=self.found,
            narrow=narrow,
            broken=frozenset(self.broken()),
            unsure=not checked.sound or bool(self.errors_before_stages()),
        )
        stages = self.stages(program)
        if not self.found.errors:
            self.found.extend(unasked(program))
        if not checked.graph.nodes:
            return None
        said = {e: h.verdict for e, h in hooks.items() if h is not None}
        made = model.Pipeline(
            name=self.pipeline.name.text,
            roles=roles,
            graph=checked.graph,
            elements=tuple(elements.known.values()),
            rules=finish_rules(program),
            states=in_place(states.values(), stages),
            registers=tuple(registers.values()),
            emits=tuple(events.values()),
            stages=stages,
            default=default,
            hooks={**HOOKS, **said},  # type: ignore[dict-item]
            doc=self.pipeline.doc,
            span=self.pipeline.name.span,
            at=at,
            bare=self.bare(),
        )
        return with_options_asked(made)

    def errors_before_stages(self) -> int:
        return len(self.found.errors) - self.errors_at_first

    # ---- the frame ---------------------------------------------------------------------------

    def all(self, sort: type[D]) -> list[D]:
        return [d for d in self.pipeline.declarations if isinstance(d, sort)]

    def only(self, sort: type[D], what: str, help: str) -> D | None:
        """The declaration of which there is one; `help` says how to write it where it is needed."""
        said = self.all(sort)
        for again in said[1:]:
            self.found.add(errors.twice_in_pipeline(what, again.span, said[0].span))
        if not said and help:
            self.found.add(errors.missing(self.pipeline.name.span, what, help))
        return said[0] if said else None

    def roles(self) -> tuple[str, ...]:
        ports = self.only(
            tree.Ports, "`ports`", "name the roles that ports may have: `ports lan, wan`"
        )
        first: dict[str, Span] = {}
        for role in (role.name for role in ports.roles) if ports else ():
            if first.setdefault(role.text, role.span) is not role.span:
                self.found.add(errors.declared_twice("port role", role, first[role.text]))
        return tuple(first)

    def attach_points(self) -> tuple[AttachPoint, ...]:
        """Of each role."""
        said = self.all(tree.Ports)[:1]
        return attach_points(said[0].roles, self.found) if said else ()

    def bare(self) -> tuple[str, ...]:
        """Roles whose packets have no link header."""
        said = self.all(tree.Ports)[:1]
        return bare_roles(said[0].roles, self.found) if said else ()

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
            errors.verdict_misplaced(said.verdict.span, "as the default", ("pass", "drop"))
        )
        return "pass"

    # ---- actions and stages ------------------------------------------------------------------

    def actions(self, rules: Rules) -> dict[str, tree.Action]:
        actions: dict[str, tree.Action] = {}
        for action in self.all(tree.Action):
            first = actions.setdefault(action.name.text, action)
            if first is not action:
                self.found.add(errors.declared_twice("action", action.name, first.name.span))
            if action.parameter.text not in rules.known:
                self.found.add(
                    errors.unknown(
                        "rule kind",
                        action.parameter,
                        rules.known,
                        "an action takes a rule: `action NAME(KIND) {…}`",
                    )
                )
        return actions

    def broken(self) -> Iterator[str]:
        """Rule kinds, states and events in whose declaration something is wrong, and `S.slot` and
        `E.field` of which something is."""
        wrong = [e.span for e in self.found.errors if e.span]
        parts: list[tuple[str, tree.Node]] = [(r.name.text, r) for r in self.all(tree.Rule)]
        for state in self.all(tree.State):
            lists = [c.slots for c in state.clauses if isinstance(c, tree.Slots)]
            parts.append((state.name.text, state))
            parts += [(f"{state.name.text}.{s.name.text}", s) for slots in lists for s in slots]
        for event in self.all(tree.Event):
            parts += [(f"{event.name.text}.{f.name.text}", f) for f in event.fields]
        for name, part in parts:
            within = (w for w in wrong if w.source is part.span.source)
            if any(part.span.start <= w.start < part.span.end for w in within):
                yield name

    def stages(self, program: Program) -> tuple[model.Stage, ...]:
        declared: dict[str, tree.Stage] = {}
        for stage in self.all(tree.Stage):
            first = declared.setdefault(stage.name.text, stage)
            if first is not stage:
                self.found.add(errors.declared_twice("stage", stage.name, first.name.span))
            if stage.name.text == "parser":
                self.found.add(errors.name_taken(stage.name, "the parser"))
        order = self.order(declared)
        state = (
            at_arrival(program.checked.graph, program.roles)
            if program.checked.graph.nodes
            else frozenset()
        )
        made = []
        scope = Scope(taken=frozenset(program.rules.known))
        for i, stage in enumerate(order):
            later = (mentions(s.body, program.actions) for s in order[i + 1 :])
            scope = replace(scope, asked=frozenset().union(*later))
            body, state = block(program, stage.body, state, scope)
            for statement in stage.body.statements:
                scope = known_behind(program, statement, scope)
            for name in program.states:  # what was recalled is not carried on to the next stage
                state = unbind(state, name)
            made.append(model.Stage(stage.name.text, body, stage.doc, stage.span))
            if i == len(order) - 1 and not body.ends:
                self.end(program, stage, state)
        unused(program, declared, order, self.found)
        for lost in updates(made):
            self.found.add(_lost_update(lost))
        self.found.extend(lost_changes(made))
        return tuple(made)

    def order(self, declared: dict[str, tree.Stage]) -> list[tree.Stage]:
        run = self.only(tree.Run, "`run`", "say in which order the stages run: `run parser -> …`")
        order: list[tree.Stage] = []
        first: dict[str, Span] = {}
        for i, name in enumerate(run.stages if run else ()):
            if name.text == "parser":
                if i and "parser" not in first:
                    self.found.add(_parser_first(name.span))
                continue
            if not i:
                self.found.add(_parser_first(name.span))
                first["parser"] = name.span
            if name.text not in declared:
                self.found.add(
                    errors.unknown(
                        "stage", name, declared, f"declare it: `stage {name.text} {{…}}`"
                    )
                )
            elif first.setdefault(name.text, name.span) is not name.span:
                self.found.add(_run_twice(name, first[name.text]))
            else:
                order.append(declared[name.text])
        if run and not order and len(run.stages) < 2:
            self.found.add(
                errors.missing(run.span, "a stage to run", "write `run parser -> STAGE`")
            )
        return order

    def end(self, program: Program, stage: tree.Stage, state: State) -> None:
        if not state or program.unsure or self.errors_before_stages():
            return
        end = Span(stage.span.source, stage.span.end - 1, stage.span.end)
        self.found.add(_no_verdict(stage.name, end, _described(program, state)))


def _described(program: Program, state: State) -> str:
    """One packet class of the state, in words."""
    world = min(state, key=lambda w: (w.role, w.present))
    names = [n.name for n in program.order(world) if not world.pushed & program.bit(n.name)]
    return f"{' / '.join(names)} on {world.role}"


# ---- errors ---------------------------------------------------------------------------------


def _no_verdict(stage: tree.Name, end: Span, worlds: str) -> Diagnostic:
    return error(
        "H0281",
        f"the last stage `{stage.text}` may end without a verdict",
        (end, f"reached by {worlds}"),
        (stage.span, "no stage follows this one"),
        help="end it with `pass`, `drop`, `default` or `forward …`",
    )


def _run_twice(again: tree.Name, first: Span) -> Diagnostic:
    return error(
        "H0296",
        f"the stage `{again.text}` runs twice",
        (again.span, "again"),
        (first, "first here"),
        help="a packet goes through each stage once: write an action for what is done twice",
    )


def _parser_first(span: Span) -> Diagnostic:
    return error(
        "H0297",
        "a packet is parsed before the first stage, and only there",
        (span, "`parser` comes first"),
        help="write `run parser -> …`",
    )


def _lost_update(lost: Lost) -> Diagnostic:
    slot = f"{lost.state}.{lost.slot or 'SLOT'}"
    return error(
        "H0316",
        f"of two packets at once, one may lose its update of `{lost.state}`",
        (lost.span, "another CPU may have changed the entry since this packet read it"),
        help=f"change the slot in place, in one step: `{slot} += 1`; or compare and set, `exchange "
        f"{slot} from A to B`",
        severity="warning",
    )
