"""Diagnostics on the wire: with the rule and the element at fault, for programs and for people."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from functools import cache

from google.protobuf.message import DecodeError

from ...lang.contract.request.places import Printed
from ...lang.contract.request.request import IE, Item, Request, RuleItem
from ...lang.text.diagnostics import Diagnostic, Label, Refused, Severity
from ...lang.text.source import PACKED, REQUEST, Row, Source, Span
from ..http2.codes import Code
from . import control_pb2 as pb

_TRAILER = "grpc-status-details-bin"
#: Characters of a text that are sent whole, and where room is short on each side of what is meant.
_LONG, _AROUND = 16_384, 200
#: Bytes of what a text is called.
_CALLED = 200
#: Bytes of a trailer: gRPC's own clients take 8 KiB of metadata for sure.
_ROOM = 6_000


@cache
def status_codes() -> dict[str, Code]:
    """By a diagnostic's code, of those that have a status (`errors/`). Read from disk once: the
    agent does it before it serves, since a refusal may say that there are no descriptors left."""
    from ...lang.text import errors  # clients refuse nothing

    return {code: Code[status] for code, status in errors.statuses().items()}


def status_code(code: str) -> Code:
    """gRPC's kind of error for a diagnostic's code."""
    return status_codes().get(code, Code.INVALID_ARGUMENT)


# ---- to the wire ----------------------------------------------------------------------------


def failure(diagnostics: Iterable[Diagnostic], revision: int = 0) -> pb.Failure:
    found = list(diagnostics)
    first = next((d for d in found if d.severity == "error"), found[0])
    status = status_code(first.code)
    return pb.Failure(status=status, findings=findings(found), revision=revision)


def trailer(failed: pb.Failure, code: Code, said: str) -> tuple[tuple[str, bytes], ...]:
    """The trailing metadata of a call that failed so."""
    status = pb.Status(code=code, message=said)
    status.details.add().Pack(_fitting(failed))
    return ((_TRAILER, status.SerializeToString()),)


def _fitting(failed: pb.Failure) -> pb.Failure:
    """What a trailer has room for: of texts what is around the places; of many findings the first,
    and how many there are more."""
    if failed.ByteSize() <= _ROOM:
        return failed
    short = pb.Failure(status=failed.status, revision=failed.revision)
    for number, found in enumerate(failed.findings):
        made = short.findings.add()
        made.CopyFrom(found)
        for label in made.labels:
            _narrow(label)
        if short.ByteSize() > _ROOM and number:
            del short.findings[number:]
            left = len(failed.findings) - number
            title = f"{left} more finding{'s' * (left > 1)} of the same request"
            short.findings.add(code=found.code, title=title, warning=found.warning)
            break
    return short


def _narrow(label: pb.Label) -> None:
    """Of its text whole lines around what is meant, if those are not too long."""
    text, start, end = label.text, label.start, label.end
    line = text.rfind("\n", 0, start) + 1
    begin = max(line, start - _AROUND)
    if begin > 0:
        label.line = max(1, label.line) + text.count("\n", 0, begin)
    stop = text.find("\n", end)
    stop = min(len(text) if stop < 0 else stop, max(start, end) + _AROUND, begin + 3 * _AROUND)
    label.text, label.start, label.end = text[begin:stop], start - begin, min(end, stop) - begin


def findings(diagnostics: Iterable[Diagnostic]) -> list[pb.Finding]:
    return [finding(each) for each in diagnostics]


def finding(diagnostic: Diagnostic) -> pb.Finding:
    made = pb.Finding(
        code=diagnostic.code, title=sound(diagnostic.title), help=sound(diagnostic.help),
        warning=diagnostic.severity == "warning", labels=map(_label, diagnostic.labels),
    )  # fmt: skip
    if diagnostic.labels:
        _blame(diagnostic.labels[0].span, made)
    return made


def _label(label: Label) -> pb.Label:
    source, span = label.span.source, label.span
    first, column = source.position(span.start)
    # Of a long text only the lines that are meant.
    skipped = span.start - (column - 1) if len(source.text) > _LONG else 0
    text = source.text[skipped : max(span.end, _line_end(source, span.end))]
    return pb.Label(
        source=_ending(source.name), text=text[:_LONG], start=min(span.start - skipped, _LONG),
        end=min(span.end - skipped, _LONG), says=sound(label.text), line=first if skipped else 0,
    )  # fmt: skip


def _ending(name: str) -> str:
    """Of a name, as of a path, the last bytes."""
    data = name.encode(errors="replace")
    if len(data) <= _CALLED:
        return name
    return "..." + data[3 - _CALLED :].decode(errors="ignore")


def sound(text: str) -> str:
    """What YAML lets somebody write is not always what UTF-8 has: halves of surrogate pairs."""
    return text.encode(errors="replace").decode()


def _line_end(source: Source, offset: int) -> int:
    end = source.text.find("\n", offset)
    return len(source.text) if end < 0 else end


def _blame(span: Span, into: pb.Finding) -> None:
    """Which rule and element a place in a request is of."""
    if isinstance(at := span.source, Row):
        into.path.append(at.row)
        into.rule, into.element = at.kind, at.column
        return
    if not isinstance(at, Printed):  # an intent's, or a configuration's
        return
    for place, item in at.path_to(span.start):
        into.path.append(place)
        if isinstance(item, RuleItem):
            named = item.id if item.id is not None else item.name
            into.rule = item.kind if named is None else f"{item.kind} {named}"
        elif item is not None:
            into.element = item.type


def _at_place(span: Span) -> list[tuple[int, Item | None]]:
    """The change (None), rule … and element that stand at a place, with the number of each in its
    list; empty where the text is no request."""
    from ...lang.contract.request.request_parser import parse_request

    with suppress(Refused):
        for number, change in enumerate(parse_request(span.source).changes):
            if inner := _within(change.items, span.start):
                return [(number, None), *inner]
    return []


def _within(items: Iterable[Item], offset: int) -> list[tuple[int, Item | None]]:
    for number, item in enumerate(items):
        start, end = (item.at[8], item.at[9]) if isinstance(item, IE) else (item.at[0], item.at[-1])
        if start <= offset < max(end, start + 1):
            inner = _within(item.items, offset) if isinstance(item, RuleItem) else []
            return [(number, item), *inner]
    return []


# ---- from the wire --------------------------------------------------------------------------


def failure_of(details: bytes) -> pb.Failure | None:
    """What the agent said of a call that failed, in the trailer; None where it was not the agent
    that spoke."""
    status, failed = pb.Status(), pb.Failure()
    try:
        status.ParseFromString(details)
        found = bool(status.details) and status.details[0].Unpack(failed)
    except DecodeError:
        return None
    return failed if found else None


def diagnostics_of(failed: pb.Failure, request: Request | None = None) -> list[Diagnostic]:
    """As the agent found them; places are those in `request`'s own text where it has one."""
    return [diagnostic_of(f, request) for f in failed.findings]


def diagnostic_of(found: pb.Finding, request: Request | None = None) -> Diagnostic:
    sources: dict[tuple[str, str], Source] = {}
    labels = list[Label]()
    for label in found.labels:
        # Lines that were left out are empty, so that the others have their numbers.
        before = "\n" * max(0, label.line - 1)
        source = sources.setdefault((label.source, label.text), _source(found, label, before))
        span = source.span(len(before) + label.start, len(before) + label.end)
        # Of a part of a text nobody knows what stood before it.
        own = _own(span, request) if not label.line else None
        if own is None and not labels:
            own = _item(found, request)
        labels.append(Label(own or span, label.says))
    severity: Severity = "warning" if found.warning else "error"
    return Diagnostic(found.code, found.title, tuple(labels), found.help, severity)


def _source(found: pb.Finding, label: pb.Label, before: str) -> Source:
    if label.source == PACKED and len(found.path) == 1:
        return Row.of(PACKED, found.rule, found.path[0], found.element)
    return Source(label.source, before + label.text)


def _own(span: Span, request: Request | None) -> Span | None:
    """The same place in the text that the caller wrote."""
    if request is None or request.source is None or span.source.name != REQUEST:
        return None
    found = _at_place(span)
    mine = _follow(request, [number for number, _ in found])
    theirs = found[-1][1] if found else None
    if mine is None or theirs is None or len(mine.at) != len(theirs.at):
        return None
    ends = dict(zip(theirs.at, mine.at, strict=True))
    start, end = ends.get(span.start), ends.get(span.end)
    if start is None or end is None:  # a part of a word: all of it is meant
        start, end = mine.at[0], mine.at[1]
        if isinstance(theirs, RuleItem) and span.end - span.start == len(theirs.kind):
            end = start + len(mine.kind) if isinstance(mine, RuleItem) else end
    return request.span(start, end)


def _item(found: pb.Finding, request: Request | None) -> Span | None:
    """The word that begins the item at fault, where the agent did not send the text whole."""
    if request is None or request.source is None:
        return None
    item = _follow(request, found.path)
    return request.span(item.at[0], item.at[1]) if item is not None else None


def _follow(request: Request, path: Iterable[int]) -> Item | None:
    steps: Iterator[int] = iter(path)
    items: tuple[Item, ...] = ()
    item: Item | None = None
    try:
        items = request.changes[next(steps)].items
        for step in steps:
            item = items[step]
            items = item.items if isinstance(item, RuleItem) else ()
    except (IndexError, StopIteration):
        return None
    return item
