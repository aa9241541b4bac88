"""Packet tests of a pipeline (`X.test.yaml`): what rules, which packet, what must become of it.

Reading a file checks all of it: names, values, packets, requests. `packet_runs` carries it out.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

import yaml

from ...lang.contract.manifest.manifest import Manifest
from ...lang.contract.request.request import Request
from ...lang.contract.request.request_parser import parse_request
from ...lang.contract.rules.rulebook import RuleBook
from ...lang.contract.rules.yaml_text import Yaml, missing_key, twice, unknown_name
from ...lang.contract.world.environment import Environment, Outcome, Port
from ...lang.contract.world.moment import Moment
from ...lang.text.diagnostics import Diagnostic, Diagnostics, Label, Refused, error
from ...lang.text.source import Source, Span
from ...lang.text.yaml_reader import Entry
from ..lower.events import VERDICTS, events_of
from ..model import Pipeline
from .emits import EventReader, ExpectedEvent, kinds_of
from .moments import CHANGES, begun, gone_on
from .moments import KEYS as MOMENT
from .notation import Notation, Written
from .ports import KEYS as SURROUNDINGS
from .ports import Surroundings

_TOP = ("define", *SURROUNDINGS, *MOMENT, "rules", "cases")
_CASE = ("name", *SURROUNDINGS, *MOMENT, "rules", "before", "port", "packet", "expect")
_SENT = ("port", "packet")
_BEFORE = ("rules", *CHANGES, *_SENT)
_NEEDED = ("name", "port", "packet", "expect")
#: Verdicts, as statements and other languages call them.
_MEANT = {
    "XDP_REDIRECT": "redirect",
    "XDP_TX": "tx",
    "accept": "pass",
    "bridge": "redirect",
    "deny": "drop",
    "forward": "redirect",
    "reject": "drop",
    "send back": "tx",
}
_EXPECT = ("verdict", "port", "queue", "out", "copies", "events", "counted", "emits")
_COPY = ("port", "out")


#: Of a copy: the port's number and the frame; None where the case does not say.
ExpectedCopy = tuple[int | None, Written | None]


@dataclass(frozen=True)
class Expected:
    """What must come out; None where the case does not say. `events` without the verdict's own;
    `counted`: (kind, id or name, or "" for any rule of the kind). `out_port`: a port's number.
    `queue`: the receive queue, None where there must be none. `emits`, `copies`: in this order."""

    verdict: str
    out_port: int | None
    out: Written | None
    events: tuple[tuple[str, str], ...] | None
    counted: tuple[tuple[str, str], ...] | None
    queue: int | None = None
    emits: tuple[ExpectedEvent, ...] | None = None
    copies: tuple[ExpectedCopy, ...] | None = None


#: A frame and the number of the port that it arrives by; a request; when what follows comes.
Before = tuple[bytes, int] | Request | Moment


@dataclass(frozen=True)
class Case:
    """One test. `before`: what comes first, in order: frames that leave something in the state
    tables, requests that change the rules, and time that passes. `requests` and `moment` are those
    in front of all that; `book` has been given all."""

    name: str
    span: Span
    environment: Environment
    requests: tuple[Request, ...]
    book: RuleBook
    moment: Moment
    before: tuple[Before, ...]
    port: int
    frame: bytes
    expected: Expected

    @property
    def packets_before(self) -> tuple[tuple[bytes, int], ...]:
        """The frames among `before`, each with its port."""
        return tuple(s for s in self.before if not isinstance(s, Request | Moment))

    def opening(self) -> RuleBook:
        """A rule book of `requests` alone."""
        book = RuleBook(self.book.manifest, self.book.ports, self.book.ifindexes)
        for request in self.requests:
            book.commit(book.plan(request))
        return book


def read_tests(pipeline: Pipeline, manifest: Manifest, source: Source) -> tuple[Case, ...]:
    """The cases of a packet test file. Raises `Refused` with everything that is wrong in it."""
    found = Diagnostics()
    cases = _Reader(pipeline, manifest, Yaml(source, found)).cases()
    found.stop_if_errors()
    return cases


def read_surroundings(
    pipeline: Pipeline, source: Source, ports: Iterable[Port] = ()
) -> tuple[Environment, frozenset[str]]:
    """The `ports`, `local`, `neighbours` and `default` at the top of a packet test file, which may
    end there, laid over `ports`; and which of these keys it has. Raises `Refused`."""
    text = Yaml(source, Diagnostics())
    top = text.mapping(text.compose(), "a packet test file", _TOP)
    environment = Surroundings(text, pipeline, ports).with_entries(top).environment()
    text.found.stop_if_errors()
    return environment, frozenset(top)


class _Reader:
    def __init__(self, pipeline: Pipeline, manifest: Manifest, text: Yaml) -> None:
        self._pipeline = pipeline
        self._manifest = manifest
        self._yaml = text
        self._notation = Notation(pipeline.graph, text)
        self._names: dict[str, Span] = {}
        self._requests: dict[int, Request | None] = {}
        self._refused = dict[int, RuleBook]()  # books of which some rules are refused

    def cases(self) -> tuple[Case, ...]:
        root = self._yaml.compose()
        if root is None:
            return ()
        top = self._yaml.mapping(root, "a packet test file", _TOP)
        surroundings = Surroundings(self._yaml, self._pipeline).with_entries(top)
        rules = [top["rules"]] if "rules" in top else []
        self._need(top, "cases", "a packet test file", root)
        nodes = self._yaml.sequence(top["cases"].value) if "cases" in top else []
        moment = begun(self._yaml, top, Moment())
        cases = [self._case(node, surroundings, moment, rules) for node in nodes]
        return tuple(c for c in cases if c is not None)

    def _case(
        self, node: yaml.Node, around: Surroundings, moment: Moment, rules: list[Entry]
    ) -> Case | None:
        entries = self._yaml.mapping(node, "a case", _CASE)
        needed = [self._need(entries, key, "a case", node) for key in _NEEDED]
        name = self._name(entries)
        environment = around.with_entries(entries).environment()
        asked = [*rules, *([entries["rules"]] if "rules" in entries else [])]
        book, requests = self._book(environment, asked)
        if not all(needed) or name is None:
            return None
        # Of rules that were refused, whatever is expected would seem not to be there.
        sound = len(requests) == len(asked)
        moment = begun(self._yaml, entries, moment)
        before = self._before(entries, environment, moment, book)
        port = self._port(entries["port"].value, environment)
        written = self._notation.packet(entries["packet"].value)
        frame = written.frame if written else b""
        known = book if sound and before is not None else None
        expected = self._expected(entries["expect"], environment, frame, known)
        if port is None or expected is None or before is None:
            return None
        return Case(name, self._yaml.span(entries["name"].value), environment, requests, book,
                    moment, before, port, frame, expected)  # fmt: skip

    def _before(
        self, case: dict[str, Entry], environment: Environment, moment: Moment, book: RuleBook
    ) -> tuple[Before, ...] | None:
        """`[{port: LAN, packet: […]}, {rules: …}, {wait: 10s}, …]`; the book is asked for these
        rules too. None if one of the requests is refused."""
        steps, sound = list[Before](), True
        for item in self._yaml.sequence(case["before"].value) if "before" in case else ():
            entries = self._yaml.mapping(item, "a packet before", _BEFORE)
            if "rules" in entries:
                request = self._ask(book, entries["rules"])
                steps += [request] if request is not None else []
                sound = sound and request is not None
            if entries.keys() & set(CHANGES):
                moment = gone_on(self._yaml, entries, moment)
                steps.append(moment)
            if entries and not entries.keys() & set(_SENT):
                continue
            if not all(self._need(entries, key, "a packet before", item) for key in _SENT):
                continue
            port = self._port(entries["port"].value, environment)
            written = self._notation.packet(entries["packet"].value)
            if port is not None and written is not None:
                steps.append((written.frame, port))
        return tuple(steps) if sound else None

    def _need(self, entries: dict[str, Entry], key: str, of: str, node: yaml.Node) -> bool:
        if key in entries or not isinstance(node, yaml.MappingNode):
            return key in entries
        if len(node.value) == len(entries):  # else a misspelt key has been reported: this one?
            self._yaml.found.add(missing_key(self._yaml.span(node), key, of))
        return False

    def _name(self, entries: dict[str, Entry]) -> str | None:
        node = entries["name"].value if "name" in entries else None
        name = self._yaml.text(node)
        if node is None or name is None:
            return None
        span = self._yaml.span(node)
        if name in self._names:
            self._yaml.found.add(twice(self._names[name], span, name, "the case"))
        self._names.setdefault(name, span)
        return name

    def _port(self, node: yaml.Node, environment: Environment) -> int | None:
        name = self._yaml.one_of(node, [p.name for p in environment.ports], "port")
        port = environment.named(name) if name is not None else None
        return port.number if port else None

    # ---- rules ------------------------------------------------------------------------------

    def _book(
        self, environment: Environment, asked: list[Entry]
    ) -> tuple[RuleBook, tuple[Request, ...]]:
        """A rule book that has been asked for these rules."""
        ports = {p.name: p.number for p in environment.ports}
        book = RuleBook(self._manifest, ports, {p.number: p.ifindex for p in environment.ports})
        requests = [self._ask(book, entry) for entry in asked]
        return book, tuple(r for r in requests if r is not None)

    def _ask(self, book: RuleBook, entry: Entry) -> Request | None:
        """Ask the book for what is written there; None if it is refused, which is reported."""
        try:
            request = self._request(entry.value)
            if request is None or id(book) in self._refused:
                self._refused[id(book)] = book  # what follows may ask for what was refused
                return None
            book.commit(book.plan(request))
            return request
        except Refused as refused:
            by, _ = _extent(self._yaml.source, entry.value)
            for diagnostic in refused.diagnostics:
                self._yaml.found.add(_moved(diagnostic, self._yaml.source, by))
            self._refused[id(book)] = book
            return None

    def _request(self, node: yaml.Node) -> Request | None:
        if id(node) not in self._requests:
            text = self._yaml.text(node)
            self._requests[id(node)] = None
            if text is not None:
                whole = self._yaml.source
                start, end = _extent(whole, node)
                source = Source(whole.name, whole.text[start:end], whole.path)
                self._requests[id(node)] = parse_request(source)
        return self._requests[id(node)]

    # ---- what is expected -------------------------------------------------------------------

    def _expected(
        self, entry: Entry, environment: Environment, sent: bytes, book: RuleBook | None
    ) -> Expected | None:
        entries = self._yaml.mapping(entry.value, "`expect`", _EXPECT)
        if not self._need(entries, "verdict", "`expect`", entry.value):
            return None
        verdict = self._yaml.one_of(entries["verdict"].value, VERDICTS, "verdict", _MEANT)
        port = self._port(entries["port"].value, environment) if "port" in entries else None
        out = self._out(entries["out"].value, sent) if "out" in entries else None
        if verdict == "pass" and "out" not in entries:
            out = Written(sent)  # what passes is the packet as it came, unless the case says else
        events = self._events(entries["events"].value) if "events" in entries else None
        counted = self._counted(entries["counted"].value, book) if "counted" in entries else None
        queue = self._yaml.number(entries["queue"].value, 255) if "queue" in entries else None
        if verdict is None:
            return None
        emits = None
        if "emits" in entries:
            reader = EventReader(self._yaml, kinds_of(self._pipeline), environment, book)
            emits = reader.read(entries["emits"].value)
        copies = None
        if "copies" in entries:
            copies = tuple(self._copies(entries["copies"].value, environment, sent))
        return Expected(verdict, port, out, events, counted, queue, emits, copies)

    def _copies(
        self, node: yaml.Node, environment: Environment, sent: bytes
    ) -> Iterator[ExpectedCopy]:
        """`[{port: TAP, out: same}, {port: WAN, out: […]}]`"""
        for item in self._yaml.sequence(node):
            entries = self._yaml.mapping(item, "a copy", _COPY)
            port = self._port(entries["port"].value, environment) if "port" in entries else None
            yield port, self._out(entries["out"].value, sent) if "out" in entries else None

    def _out(self, node: yaml.Node, sent: bytes) -> Written | None:
        if isinstance(node, yaml.ScalarNode):
            same = self._yaml.one_of(node, ["same"], "packet")
            return Written(sent) if same else None
        return self._notation.packet(node, sent)

    def _events(self, node: yaml.Node) -> tuple[tuple[str, str], ...]:
        """`[{miss: OVERLAY}, {hook: too_big}]`"""
        known: dict[str, list[str]] = {}
        for counter in events_of(self._pipeline).counters:
            if counter.group != "verdict":
                known.setdefault(counter.group, []).append(counter.reason)
        events = []
        for item in self._yaml.flat(node):
            for group, entry in self._yaml.mapping(item, "an event", known).items():
                reason = self._yaml.one_of(entry.value, known[group], f"`{group}` event")
                if reason is not None:
                    events.append((group, reason))
        return tuple(events)

    def _counted(self, node: yaml.Node, book: RuleBook | None) -> tuple[tuple[str, str], ...]:
        """`[PDR 1, FAR, OVERLAY GRE-WAN1]`"""
        kinds = {r.name: r for r in self._pipeline.rules}
        counted = []
        for item in self._yaml.flat(node):
            text = self._yaml.text(item)
            if text is None:
                continue
            kind, _, which = text.partition(" ")
            where = self._yaml.span(item)
            if kind not in kinds:
                self._yaml.found.add(unknown_name(where, kind, "rule kind", kinds))
                continue
            if not kinds[kind].counts:
                self._yaml.found.add(_counts_nothing(where, kind))
                continue
            rules = book.rules(kind) if book is not None else ()
            known = [n for r in rules for n in (str(r.id), r.name) if n]
            if which and which not in known and book is not None:
                self._yaml.found.add(unknown_name(where, which, kind, known))
                continue
            counted.append((kind, which))
        return tuple(counted)


def _counts_nothing(where: Span, kind: str) -> Diagnostic:
    return error(
        "H0520",
        f"`{kind}` counts nothing",
        (where, "no packet is counted by it"),
        help=f"have it count, `counts packets` in the pipeline's `rule {kind}`, or leave it out",
    )


# ---- request text inside YAML ---------------------------------------------------------------


def _extent(source: Source, node: yaml.Node) -> tuple[int, int]:
    """Where the text of a scalar stands in the file: without quotes, behind the `|`."""
    start, end = node.start_mark.index, node.end_mark.index
    style = node.style if isinstance(node, yaml.ScalarNode) else None
    if style in ("|", ">"):
        start = source.text.find("\n", start) + 1 or end
    elif style in ("'", '"'):
        start, end = start + 1, end - 1
    return start, max(start, end)


def _moved(diagnostic: Diagnostic, source: Source, by: int) -> Diagnostic:
    """The same, shown in the file where the request stands."""
    labels = tuple(
        Label(source.span(label.span.start + by, label.span.end + by), label.text)
        for label in diagnostic.labels
    )
    return replace(diagnostic, labels=labels)


__all__ = ["Case", "Expected", "Outcome", "read_tests"]
