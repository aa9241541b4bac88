"""What packets raise, as messages of `Watch`."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterator
from contextlib import suppress
from dataclasses import dataclass

from ...lang.contract.manifest.manifest import EventField
from ...lang.contract.request.request import quoted
from ...lang.contract.rules.rules import Rule
from ...lang.contract.world.emitted import Namer, shown, split_identity
from ...lang.text.diagnostics import Diagnostic, Refused, did_you_mean, listed
from ..agent.agent import Agent
from ..base.errors import refused
from ..emitted.source import SLICE, Raised
from ..owner.owner import Owner
from . import control_pb2 as pb
from .guard import Context

#: Unknown events that a refusal names.
MOST_NAMED = 20


def watch_emitted(agent: Agent, request: pb.WatchRequest, context: Context) -> Iterator[pb.Event]:
    """Raises `Refused`."""
    asked = request.emitted
    owner = agent.owner(request.pipeline) if request.pipeline else None
    _need_known(asked.events, [owner] if owner else agent.owners())
    kept = asked.kept or asked.only_kept
    with agent.raised.watch(owner.name if owner else "", asked.events, kept) as watcher:
        if asked.only_kept:
            watcher.close()
        if not context.add_callback(watcher.close):
            return  # it has ended already: nobody would call that
        context.begin_answer()  # from here on nothing is missed
        worked = time.thread_time()
        for number, found in enumerate(watcher, 1):
            if isinstance(found, Raised):
                yield _event(agent, found)
            else:
                yield pb.Event(pipeline=owner.name if owner else "", missed=found)
            if number % SLICE == 0:  # requests go on beside who watches a storm
                time.sleep(time.thread_time() - worked)
                worked = time.thread_time()


def _need_known(events: Collection[str], owners: list[Owner]) -> None:
    """Raises `Refused` for an event that no pipeline declares."""
    rings = (owner.loaded.manifest.events for owner in owners)
    known = sorted({kind.name for ring in rings if ring is not None for kind in ring.kinds})
    unknown = sorted(set(events) - set(known))[:MOST_NAMED]
    if unknown:
        raise refused(*(_no_such_event(name, known) for name in unknown))


@dataclass(frozen=True)
class _Names(Namer):
    """As the pipeline has them now."""

    owner: Owner

    def rule(self, kind: str, sequence: int, id_: int) -> str:
        there = self.there(kind, sequence, id_)
        return f"{kind} {quoted(there.name) if there is not None and there.name else id_}"

    def there(self, kind: str, sequence: int, id_: int) -> Rule | None:
        """None where the rule is gone, and perhaps another one has its id."""
        book = self.owner.loaded.book
        with suppress(KeyError, RuntimeError):  # a build without that kind; rules change meanwhile
            found = book.group(kind, id_) if book.kinds[kind].grouped else [book.get(kind, id_)]
            return next((rule for rule in found if rule and rule.sequence == sequence), None)
        return None

    def port(self, number: int) -> str:
        ports = self.owner.loaded.port_configs
        return next((port.name for port in ports if port.number == number), str(number))


def _event(agent: Agent, raised: Raised) -> pb.Event:
    names = Namer()
    with suppress(Refused):  # unloaded by now
        owner = agent.owner(raised.pipeline)
        if (
            owner.loaded.about["incarnation"] == raised.incarnation
        ):  # else rules are numbered from 1 again
            names = _Names(owner)
    record = raised.record
    fields = zip(record.kind.fields, record.values, strict=True)
    emitted = pb.EmittedEvent(
        event=record.kind.name, time=raised.time,
        fields=[_field(field, value, names) for field, value in fields],
    )  # fmt: skip
    return pb.Event(pipeline=raised.pipeline, emitted=emitted)


def _field(field: EventField, value: int, names: Namer) -> pb.EmittedField:
    made = pb.EmittedField(name=field.name, text=shown(field, value, names))
    if field.type == "rule":
        sequence, id_ = split_identity(value)
        made.rule.kind, made.rule.id, made.rule.sequence = field.rule, id_, sequence
        there = names.there(field.rule, sequence, id_) if isinstance(names, _Names) else None
        made.rule.there = there is not None
        made.rule.name = there.name if there is not None else ""
    elif field.type in ("ip4", "ip6", "mac"):
        made.address = value.to_bytes(field.size, "big")
    else:
        made.number = value
    return made


# ---- errors ---------------------------------------------------------------------------------


def _no_such_event(name: str, known: list[str]) -> Diagnostic:
    help_ = f"there are {listed(known)}" if known else "no pipeline here declares events"
    return Diagnostic(
        "H0757", f"there is no event `{name}`", (), did_you_mean(name, known) or help_
    )
