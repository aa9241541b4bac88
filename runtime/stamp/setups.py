"""What sessions of a pipeline share: what they have that they do not say, and the rules of their
ports."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection
from dataclasses import replace

from ...lang.contract.rules.rules import Reference
from ...lang.text.diagnostics import Refused
from ..owner.owner import Owner
from ..owner.requests import request_of
from . import rules
from .addresses import need_own
from .answers import AnsweredSessions
from .parameters import Setup, checked_setup
from .store import SessionStore


class SetUpSessions(AnsweredSessions):
    """With set-ups, by pipeline."""

    def __init__(
        self, owner: Callable[[str], Owner], store: SessionStore,
        now: Callable[[], float] = time.monotonic,
    ) -> None:  # fmt: skip
        """`owner`: of the pipeline of a name."""
        super().__init__(now)
        self._owner, self._store = owner, store
        self._setups: dict[str, Setup] = {}

    def init(self, pipeline: str, asked: Setup) -> Setup:
        """What sessions of a pipeline have from now on that do not say it themselves."""
        with self._changing:
            owner = self._owner(pipeline)
            rules.need_collector(owner)
            asked = checked_setup(asked, [port.name for port in owner.loaded.port_configs])
            for address in filter(None, (asked.source4, asked.source6)):
                need_own(address)
            before = self._setup(owner.name)
            asked = replace(asked, pipeline=owner.name, asked=True, serial=before.serial)
            others = () if asked.interface == before.interface else before.endpoints
            kept = tuple(each for each in before.endpoints if each not in others)
            made = replace(asked, endpoints=kept)
            for port in sorted({made.port, *(port for port, _ in others)}):
                made = self._opened(made, owner, port, [id_ for _, id_ in others])
            # Those by other interfaces go when theirs are there, so that no answer is missed.
            self._delete(owner, *(Reference(rules.ENDPOINT, id_) for port, id_ in others
                                  if rules.opens(owner, id_, port)))  # fmt: skip
            self._close_ports(made, owner)
            self._need_durable()
            return self._setup(owner.name)

    def _setup(self, pipeline: str) -> Setup:
        return self._setups.get(pipeline) or Setup(pipeline)

    def _put_setup(self, setup: Setup) -> None:
        setup = setup if setup.serial else replace(setup, serial=self._store.number())
        self._store.put(setup)
        self._setups[setup.pipeline] = setup

    def _opened(
        self, setup: Setup, owner: Owner, port: int, but: Collection[int] = ()
    ) -> Setup:  # fmt: skip
        """Test packets to the port are looked at, by an ENDPOINT of another id than these."""
        if rules.endpoint_there(owner, port, setup.interface, but):
            return setup
        made = owner.apply(request_of(rules.opening(port, setup.interface), owner)).created
        return replace(setup, endpoints=(*setup.endpoints, (port, made[0].id)))

    def _close_ports(self, setup: Setup, owner: Owner) -> None:
        """Those that nobody needs any more."""
        used = {each.kept.about.source_port for each in self._entries.values()
                if each.kept.pipeline == setup.pipeline}  # fmt: skip
        if setup.asked:
            used.add(setup.port)
        left = [each for each in setup.endpoints if each[0] not in used]
        self._delete(owner, *(Reference(rules.ENDPOINT, id_) for port, id_ in left
                              if rules.opens(owner, id_, port)))  # fmt: skip
        made = replace(setup, endpoints=tuple(e for e in setup.endpoints if e[0] in used))
        if made.asked or made.endpoints:
            self._put_setup(made)
        else:
            self._setups.pop(setup.pipeline, None)
            self._store.remove(*[setup] if setup.serial else [])

    def _delete(self, owner: Owner, *gone: Reference) -> None:
        there = owner.find(gone)
        if there:
            owner.apply(request_of(rules.deletion(there), owner))

    def _need_durable(self) -> None:
        """Raises `Refused` where a reboot may undo a change that is in force."""
        if self._store.doubt:
            raise Refused(self._store.doubt)
