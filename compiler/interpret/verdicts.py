"""How a packet leaves: forwarded, bridged, passed, dropped, answered; and the hooks on the way."""

from __future__ import annotations

from typing import NoReturn

from ...lang.contract.trace.steps import TracedValue
from ...lang.contract.world.emitted import identity
from ...lang.contract.world.environment import Port
from ..model import Bridge, Event, Forward, Identity, PortOf, Recalled, Said
from .icmp_reply import is_confined, reply
from .packet_fields import TIME_TO_LIVE
from .scope import Done, Lost, Scope

LINK_MOST = 18  # bytes that a frame may have in front of a port's MTU: Ethernet and a tag


class Verdicts(Scope):
    """Statements that end a packet's way: they raise `Done`."""

    def _forward(self, s: Forward) -> None:
        packet = self.packet
        number = self._port_number(s.port)
        carried, front = packet.carried, packet.front
        if not packet.carries_frame and packet.to_group:
            self._keep("link-layer group")
        if front is not None and is_confined(front):
            self._keep("link-local")
        if front is not None and front.view.number(TIME_TO_LIVE[front.header.protocol]) <= 1:
            self._hook("ttl_expired")
        port = self.environment.port(number)
        to = self.environment.neighbour(number, self.value(s.via), s.via.kind)
        if port is not None and port.role in self.pipeline.bare:
            to = bytes(6)
        if port is None or to is None:
            self._hook("unresolved")
        if carried is not None and carried.end - carried.offset + packet.pushed > port.mtu:
            self._hook("too_big", port.mtu - packet.pushed)
        self._leave(port, to)
        if front is not None:
            left = TIME_TO_LIVE[front.header.protocol]
            packet.assign(front.name, left, front.view.number(left) - 1)
        if self.clamp:
            packet.clamp_mss(port.mtu - packet.pushed)
        raise Done("redirect", packet.with_link_of(port, to), port.number)

    def _keep(self, reason: str) -> NoReturn:
        """For the host itself, if anybody: out of a tunnel it would look like a neighbour's."""
        if self.copying:
            raise Lost(reason)
        if self.packet.popped:
            self._dropped(reason)
        self.event("kept", reason)
        self.packet.unpushed()
        self._verdict("pass")

    def _bridge(self, s: Bridge) -> NoReturn:
        port = self.environment.port(self._port_number(s.port))
        if port is None or port.role in self.pipeline.bare:
            self._hook("unresolved", answer=False)
        frame = self.packet.with_own_link()
        if self.copying and self.shown:
            frame = frame[: self.shown]
        if len(frame) > port.mtu + LINK_MOST:
            self._hook("too_big", answer=False)
        raise Done("redirect", frame[:12] + port.tag + frame[12:], port.number)

    def _leave(self, port: Port, to: bytes) -> None:
        if self.copying:
            return
        macs = (int.from_bytes(mac, "big") for mac in (to, port.mac))
        traced = (
            TracedValue(name, mac, "mac") for name, mac in zip(("to", "own"), macs, strict=True)
        )
        self.step(
            "leave",
            "port",
            TracedValue("port", port.number, "port"),
            *traced,
            TracedValue("tag", port.vlan),
        )

    def _port_number(self, port: PortOf) -> int:
        if isinstance(port.source, str):
            return self.ports[port.source]
        if isinstance(port.source, Recalled) or port.matched:
            return self.value(port.source)
        reference = self.reference(port.source)
        if reference is None:
            self._dropped("absent reference")
        return reference.id

    def said(self, given: Said) -> int:
        """What a statement says of a slot or a field."""
        match given:
            case Identity(binding):
                rule = self.rule(binding)
                return identity(rule.sequence, rule.id)
            case PortOf():
                return self._port_number(given)
        return self.value(given)

    def _hook(self, event: Event, mtu: int = 0, answer: bool = True) -> NoReturn:
        if self.copying:
            raise Lost(event)
        self.event("hook", event)
        self.reached.hooks.add(event)
        tunnelled = self.packet.pushed > 0
        answer = answer and not self.packet.carries_frame
        self.packet.unpushed()
        what = self.pipeline.hooks[event]
        if what == "reply icmp":
            self._reply(event, mtu, answer)
        if what == "pass" and tunnelled:
            self._dropped("in the clear")
        self._verdict(what)

    def _answered(self, error: str) -> NoReturn:
        self.event("reply", error)
        answer = not self.packet.carries_frame
        self.packet.unpushed()
        self._reply(error, 0, answer)

    def _reply(self, event: str, mtu: int, answer: bool = True) -> NoReturn:
        frame = reply(self.packet, self.arrival, event, mtu, self.environment) if answer else None
        if frame is None:
            raise Done("drop")
        limit = self.environment.icmp
        if limit is not None and not self.states.may_answer(limit):
            self._dropped("icmp limit")
        raise Done("tx", frame, self.arrival.number)

    def _dropped(self, reason: str) -> NoReturn:
        self.event("drop", reason)
        raise Done("drop")

    def _verdict(self, verdict: str) -> NoReturn:
        if verdict == "default":
            verdict = self.environment.default or self.pipeline.default
        if verdict == "pass":
            raise Done("pass", self.packet.with_own_link())
        if verdict == "send back":
            raise Done("tx", self.packet.with_own_link(), self.arrival.number)
        raise Done("drop")
