"""Events that packets raise: their fields and limits, and the statement that emits one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from ...lang import tree
from ...lang.contract.base.lists import bytes_of
from ...lang.contract.manifest.manifest import EVENT_HEAD, EVENT_MOST, EVENT_RATE, IDENTITY
from ...lang.text.diagnostics import Diagnostic, Diagnostics, did_you_mean, error, listed
from ...lang.text.source import Span
from .. import model
from . import errors
from .changes import Changed
from .flow import Scope, State
from .header_fields import scalar
from .said import Misfit, given_by_name
from .stage_names import StageNames
from .stage_program import Program

MOST_RATE = 1_000_000
"""Records a second, of one event: more than a reader takes."""
_TYPES = ["u8", "u16", "u32", "u64", "mac", "ip4", "ip6", "port"]


def collect_events(
    declared: Sequence[tree.Event], kinds: Mapping[str, tree.Rule], found: Diagnostics
) -> dict[str, model.EventKind]:
    events: dict[str, model.EventKind] = {}
    for event in declared:
        if (first := events.get(event.name.text)) is not None:
            found.add(errors.declared_twice("event", event.name, first.span))
            continue
        fields = tuple(_fields(event, kinds, found))
        size = EVENT_HEAD + sum(_size(field) for field in fields)
        if size > EVENT_MOST:
            found.add(_too_large(event.name, size - EVENT_HEAD))
        limit = _limit(event, found)
        events[event.name.text] = model.EventKind(
            event.name.text, fields, *limit, event.doc, event.name.span
        )
    return events


def _fields(
    event: tree.Event, kinds: Mapping[str, tree.Rule], found: Diagnostics
) -> Iterator[model.EventField]:
    first: dict[str, tree.Name] = {}
    for field in event.fields:
        name, type_ = field.name, field.type.text
        if first.setdefault(name.text, name) is not name:
            found.add(errors.declared_twice("field", name, first[name.text].span))
        elif type_ in kinds:
            yield model.EventField(name.text, 32, "uint", rule=type_, span=name.span)
        elif type_ == "port":
            yield model.EventField(name.text, 32, "uint", port=True, span=name.span)
        elif (typed := scalar(type_)) is not None:
            yield model.EventField(name.text, typed[1], typed[0], span=name.span)
        else:
            allowed = "u1 … u64, mac, ip4, ip6, port, and kinds of rules"
            found.add(errors.no_such_type(field.type, allowed, [*_TYPES, *kinds]))


def _size(field: model.EventField) -> int:
    """Bytes that a field takes at most, with padding in front of it."""
    size = IDENTITY if field.rule else bytes_of(field.width)
    return max(8, size)


def _limit(event: tree.Event, found: Diagnostics) -> tuple[int, int, tuple[str, ...]]:
    """Records a second, those of each source, and the fields that tell sources apart."""
    limit = event.limit
    if limit is None:
        return EVENT_RATE, 0, ()
    if limit.per.text != "second":
        found.add(_not_per_second(limit.per, limit.most.text))
    for number in filter(None, (limit.most, limit.each)):
        if not 1 <= number.value <= MOST_RATE:
            found.add(errors.number_out_of_range(number.span, "the limit", 1, MOST_RATE))
    if limit.each and limit.each.value > limit.most.value:
        found.add(_more_than_all(limit.each, limit.most))
    names = [field.name.text for field in event.fields]
    by: dict[str, tree.Name] = {}
    for name in limit.by:
        if name.text not in names:
            help = f"its fields are {listed(names)}" if names else "it has no fields"
            of = f"field of `{event.name.text}`"
            found.add(errors.unknown(of, name, names, help))
        elif by.setdefault(name.text, name) is not name:
            found.add(errors.declared_twice("field", name, by[name.text].span))
    return limit.most.value, limit.each.value if limit.each else 0, tuple(by)


# ---- the statement --------------------------------------------------------------------------


def emit(program: Program, written: tree.Emit, state: State, scope: Scope) -> Changed:
    event = program.events.get(written.event.text)
    if event is None:
        help = f"declare it: `event {written.event.text} {{ … }}`"
        program.report(errors.unknown("event", written.event, program.events, help))
        return Changed(None, state)
    values = _values(program, written, event, StageNames(program, state, scope))
    if values is None:
        return Changed(None, state)
    return Changed(model.Emit(event.name, values, written.span), state)


def _values(
    program: Program, written: tree.Emit, event: model.EventKind, names: StageNames
) -> tuple[model.Said, ...] | None:
    """The value of each field, in order; None if one is missing or wrong."""
    known = {field.name: field for field in event.fields}
    given = given_by_name(
        event.name, written.fields, known, names,
        lambda each: no_such_field(each.target, event),
        _wrong,
    )  # fmt: skip
    missing = [name for name in known if name not in given.names]
    if missing and not given.unknown:
        program.report(field_missing(written.event.span, event, missing))
    return given.in_order(known)


def _wrong(span: Span, field: model.EventField, found: Misfit) -> Diagnostic:
    match found.what:
        case "no rule":
            return _no_rule(span, field)
        case "another rule":
            return _other_rule(span, field, found.kind)
        case "a rule":
            return _a_rule(span, field, found)
    return _not_of_port(span, field)


# ---- errors ---------------------------------------------------------------------------------


def no_such_field(target: tree.Path, event: model.EventKind) -> Diagnostic:
    names = [field.name for field in event.fields]
    has = f"has {listed(names)}" if names else "has no fields"
    return error(
        "H0371",
        f"`{target.text}` is no field of the event `{event.name}`",
        (target.span, "not one of them"),
        (event.span, has),
        help=did_you_mean(target.text, names) or f"`{event.name}` {has}",
    )


def field_missing(span: Span, event: model.EventKind, missing: Sequence[str]) -> Diagnostic:
    fields = ", ".join(f"{field.name} = …" for field in event.fields)
    return error(
        "H0372",
        f"{listed(missing)} of `{event.name}` {'is' if len(missing) == 1 else 'are'} not given",
        (span, "without it"),
        (event.span, "declared here"),
        help=f"write `emit {event.name} {{ {fields} }}`",
    )


def _not_per_second(per: tree.Name, most: str) -> Diagnostic:
    return error(
        "H0373",
        f"a limit is not said per `{per.text}`",
        (per.span, "not a second"),
        help=f"say how many there may be in a second: `limit {most} per second`",
    )


def _more_than_all(each: tree.Number, most: tree.Number) -> Diagnostic:
    return error(
        "H0374",
        "a source may not have more than all of them",
        (each.span, "of each source"),
        (most.span, "of all together"),
        help="write the limit of all first: `limit 1k per second, 10 by src`",
    )


def _too_large(name: tree.Name, size: int) -> Diagnostic:
    most = EVENT_MOST - EVENT_HEAD
    return error(
        "H0375",
        f"the fields of the event `{name.text}` take {size} bytes",
        (name.span, f"at most {most}, with 8 for a small one and 16 for an IPv6 address or a rule"),
        help="leave out what can be looked up by the others, or make two events of it",
    )


def _no_rule(span: Span, field: model.EventField) -> Diagnostic:
    return error(
        "H0376",
        f"`{field.name}` says which {field.rule} it is, and this names none",
        (span, "no rule"),
        (field.span, "declared here"),
        help=f"name the rule that was found: `{field.name} = {field.rule}`",
    )


def _other_rule(span: Span, field: model.EventField, kind: str) -> Diagnostic:
    return error(
        "H0376",
        f"`{field.name}` says which {field.rule} it is, and this is a {kind}",
        (span, f"a rule of the kind {kind}"),
        (field.span, "declared here"),
        help=f"declare `{field.name} : {kind}`, or name a {field.rule}",
    )


def _a_rule(span: Span, field: model.EventField, rule: Misfit) -> Diagnostic:
    return error(
        "H0376",
        f"`{field.name}` holds {'a port' if field.port else 'a value'}, and this is a whole rule",
        (span, "a rule"),
        (field.span, "declared here"),
        help=f"declare `{field.name} : {rule.kind}` to tell which one it is, "
        f"or name an element: `{rule.name}.ELEMENT`",
    )


def _not_of_port(span: Span, field: model.EventField) -> Diagnostic:
    holds, found = ("a port", "none") if field.port else ("a value", "a port")
    return error(
        "H0377",
        f"`{field.name}` holds {holds}, and this is {found}",
        (span, "of another sort"),
        (field.span, "declared here"),
        help="give it `port`, the port of arrival, or one that a rule leads to: `port p => …`"
        if field.port
        else f"declare `{field.name} : port`",
    )
