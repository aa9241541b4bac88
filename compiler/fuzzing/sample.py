"""What a rule has to match so that a drawn packet meets it."""

from __future__ import annotations

from collections.abc import Mapping

from ...lang.contract.base.domain_names import compared_as
from ...lang.contract.world.bare_packets import framed
from ..interpret.parse_packet import PacketParser
from ..model import Layer4, Match, Packet, Pipeline
from ..model.checksums import LAYER4
from .packets import Drawn
from .world import World

#: What a look-up of a packet asked for, by rule kind and element.
Asked = Mapping[tuple[str, str], int]


class Sample:
    """What a packet has to match, field by field. `asked` goes before: what a `find` asked for."""

    def __init__(
        self, pipeline: Pipeline, world: World, drawn: Drawn, asked: Asked | None = None
    ) -> None:
        port = world.environment.port(drawn.port)
        assert port is not None
        self.packet, self._port, self._asked = drawn, drawn.port, asked or {}
        frame = drawn.arriving(world)
        if drawn.port in world.bare:
            frame = framed(frame)
        parsed = PacketParser(pipeline.graph).parse(port.role, frame)
        self._views = {layer.name: layer.view for layer in parsed.layers}
        self._layer4 = [x for x in parsed.layers if x.header.protocol in LAYER4]

    def value(self, rule: str, match: Match) -> int | None:
        """What the packet has where the rule kind looks; None if nothing."""
        operand, asked = match.operand, self._asked.get((rule, match.element.name))
        if asked is not None:
            return asked
        if isinstance(operand, Packet):
            view = self._views.get(operand.node)
            found = view.get(operand.field) if view else None
            if match.element.kind == "name" and isinstance(found, tuple):
                return compared_as(operand.kind, bytes(found), match.element.width // 8)
            return found if isinstance(found, int) else None
        if isinstance(operand, Layer4):
            return self._layer4[-1].view.number(operand.which) if self._layer4 else 0
        return self._port if match.element.references == ("port",) else None
