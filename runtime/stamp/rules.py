"""The rules of a pipeline that a session needs: an ENDPOINT for its port, a COLLECTOR for its
answers; and the REFLECTOR of the other end."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from ipaddress import ip_address
from operator import itemgetter
from typing import Any

from ...lang.contract.manifest.manifest import EventKind, Manifest
from ...lang.contract.request.request import IE, Change, Request, RuleItem, item_text, quoted
from ...lang.contract.rules.rules import Reference, Rule
from ...lang.contract.world.emitted import split_identity
from ..base.errors import refused
from ..owner.owner import Owner
from .errors import no_collector
from .parameters import Parameters
from .session import Answer
from .times import Clock, format_of

ENDPOINT, COLLECTOR, REFLECTOR, RECORD = "ENDPOINT", "COLLECTOR", "REFLECTOR", "RECORD"
_KINDS = {
    ENDPOINT: ("udp_port", "interface"),
    COLLECTOR: ("ssid", "peer4", "peer6", "clock"),
}
#: Which rule, as sequence and id, the answer, the format of the reflector's times (None: unknown).
RecordReader = Callable[[tuple[int, ...]], tuple[tuple[int, int], Answer, Clock | None]]
_FIELDS, _ESTIMATE = ("sequence", "reflected", "ttl", "t1", "t2", "t3", "t4"), "estimate"


def need_collector(owner: Owner) -> None:
    """Raises `Refused` where the pipeline does not collect answers."""
    manifest = owner.loaded.manifest
    for lacks in _lacking(manifest):
        raise refused(no_collector(owner.name, lacks))


def _lacking(manifest: Manifest) -> Iterator[str]:
    kinds = {kind.name: {*(m.element for m in kind.match), *kind.gives} for kind in manifest.rules}
    for name, elements in _KINDS.items():
        if name not in kinds:
            yield f"rules `{name}`"
        elif missing := sorted(set(elements) - kinds[name]):
            yield f"`{missing[0]}` in `{name}`"
    events = manifest.events.kinds if manifest.events is not None else ()
    found = next((each for each in events if each.name == RECORD), None)
    if found is None or not is_record(found):
        yield f"event `{RECORD}` with a session and four times"


def is_record(kind: EventKind) -> bool:
    names = {field.name: field for field in kind.fields}
    whose = names.get("session")
    return (kind.name == RECORD and whose is not None and whose.rule == COLLECTOR
            and names.keys() >= {*_FIELDS})  # fmt: skip


def reader_of(kind: EventKind) -> RecordReader | None:
    """What reads a record's values. None where the event is another one of that name."""
    if not is_record(kind):
        return None
    at = [field.name for field in kind.fields]
    whose, get = at.index("session"), itemgetter(*map(at.index, _FIELDS))

    estimate = at.index(_ESTIMATE) if _ESTIMATE in at else None  # pipelines of before lack it

    def read(values: tuple[int, ...]) -> tuple[tuple[int, int], Answer, Clock | None]:
        clock = None if estimate is None else format_of(values[estimate])
        return split_identity(values[whose]), Answer(*get(values)), clock

    return read


# ---- requests -------------------------------------------------------------------------------


def collecting(about: Parameters) -> Request:
    """A session's answers are recorded."""
    rule = _rule(COLLECTOR, about.name, ssid=about.ssid, **_peer(about.reflector),
                 clock=about.clock)  # fmt: skip
    return Request((Change("create", (rule,)),))


def opening(port: int, interface: str) -> Request:
    """Test packets to a UDP port are looked at: by an interface, or by all where it is empty."""
    where = {"interface": quoted(interface)} if interface else {}
    return Request((Change("create", (_rule(ENDPOINT, None, udp_port=port, **where),)),))


def deletion(gone: Iterable[Reference]) -> Request:
    items = tuple(RuleItem(kind, id_, None, (), False) for kind, id_ in gone)
    return Request((Change("delete", items),))


def reflector(about: Parameters) -> str:
    """A request for the pipeline `stamp` at the other end."""
    outer = about.outer_back or about.reflector
    source = {"source": outer} if about.way_back in ("H_ENCAPS", "H_ENCAPS_RED") else {}
    segments = {"sids": ",".join(about.sids_back)} if about.sids_back else {}
    rule = _rule(REFLECTOR, about.name, ssid=about.ssid, **_peer(about.source), clock=about.clock,
                 mode=about.mode, way_back=about.way_back, **source, **segments)  # fmt: skip
    return f"create {item_text(rule)}"


def _peer(address: str) -> dict[str, str]:
    return {f"peer{ip_address(address).version}": address}


def _rule(kind: str, name: str | None, **elements: Any) -> RuleItem:
    ies = tuple(IE(element, "", "value", str(value)) for element, value in elements.items())
    return RuleItem(kind, None, name, ies)


# ---- rules that are there -------------------------------------------------------------------


def value_of(rule: Rule, element: str) -> int | None:
    """What it matches exactly; None for any."""
    found = dict(rule.match).get(element)
    return found.value if found is not None else None


def endpoint_there(owner: Owner, port: int, interface: str, but: Collection[int] = ()) -> bool:
    """Whether test packets to a port are looked at by that interface, or by all: by an ENDPOINT of
    another id than these."""
    with owner.still() as loaded:
        by = None, loaded.port_numbers.get(interface)
        return any(value_of(rule, "udp_port") == port and value_of(rule, "interface") in by
                   for rule in loaded.book.rules(ENDPOINT) if rule.id not in but)  # fmt: skip


def opens(owner: Owner, id_: int, port: int) -> bool:
    """Whether that ENDPOINT is still the one of the port."""
    at = Reference(ENDPOINT, id_)
    rule = owner.find([at]).get(at)
    return rule is not None and value_of(rule, "udp_port") == port


def reference(rule: Rule) -> Reference:
    return Reference(rule.kind, rule.id)


def own_collector(owner: Owner, about: Parameters, known: Rule | None) -> Rule | None:
    """A session's, which has its name. `known`: what that was; where it is not known, one that does
    the same is it."""
    with owner.still() as loaded:
        book = loaded.book  # of an upgraded pipeline, perhaps without the kind
        rule = book.by_name(COLLECTOR, about.name) if COLLECTOR in book.kinds else None
        elements = loaded.manifest.elements
    if rule is None or value_of(rule, "ssid") != about.ssid:
        return None
    if known is not None:
        return rule if known.sequence == rule.sequence else None
    peer = ip_address(about.reflector)
    clock = next((e.symbols.get(about.clock) for e in elements if e.name == "clock"), None)
    same = value_of(rule, f"peer{peer.version}") == int(peer)
    return rule if same and ("clock", clock) in rule.values else None


def collector_of(owner: Owner, about: Parameters) -> Rule | None:
    """The rule for this session, also one that somebody else made."""
    peer = int(ip_address(about.reflector))
    element = f"peer{ip_address(about.reflector).version}"
    with owner.still() as loaded:
        for rule in loaded.book.rules(COLLECTOR):
            if value_of(rule, "ssid") == about.ssid and value_of(rule, element) in (peer, None):
                return rule
    return None
