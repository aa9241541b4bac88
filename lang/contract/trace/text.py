"""Traces for people: a line a step, coloured as diagnostics are; and as JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from ...text.render import BLUE, BOLD, ERROR, WARNING, paint
from .steps import Bound, Step, Told, Trace, plain

#: Groups of events by which a packet is lost, or a sign that something is.
_GRAVE = ("drop", "malformed")


class TraceText:
    """`ports`: names by number."""

    def __init__(self, ports: Mapping[int, str], colour: bool = False) -> None:
        self._ports, self._colour = ports, colour

    def text(self, trace: Trace, title: str) -> str:
        """Several lines: `title` says which packet it is."""
        lines = [f"{self._bold(title)} on {self.port(trace.port)}, {trace.length} octets"]
        path = " → ".join(f"{node} at {offset}" for node, offset in trace.path)
        lines.append(f"  {self._blue('parsed')} {path or 'nothing'}")
        for step in trace.steps:
            indent = "  " if step.what == "stage" else "    "
            lines.append(f"{indent}{self.line(step)}")
        if trace.cut:
            lines.append("    … further steps have no room in a trace")
        by = f" by {self.port(trace.egress)}" if trace.egress is not None else ""
        hue = ERROR if trace.verdict in ("drop", "aborted") else BOLD
        lines.append(f"  {paint(trace.verdict, hue, self._colour)}{by}")
        return "\n".join(lines)

    def line(self, step: Step) -> str:
        """A step in a line."""
        told = self._told(step.told)
        match step.what:
            case "stage":
                return f"{self._blue('stage')} {self._bold(step.name)}"
            case "look":
                return f"find {step.name}: {told}" if told else f"find {step.name}"
            case "rule":
                assert step.rule is not None
                bound = "" if step.name == step.rule.kind else f"{step.name} is "
                return f"→ {bound}{self._rule(step.rule)}"
            case "queue":
                return f"queue {told.partition(' ')[2]}"
            case "slot":
                return f"slot {step.told[0].value} of {step.name}"
            case "pop":
                where = f" in front of {step.name}" if step.name else ""
                return f"pop {' / '.join(step.nodes) or 'nothing'}{where}"
            case "push" | "append":
                word = "before" if step.what == "push" else "behind"
                where = f" {word} {step.name}" if step.name else ""
                given = f": {told}" if told else ""
                return f"{step.what} {' / '.join(step.nodes)}{where}{given}"
            case "set":
                before, after = (self._value(t) for t in step.told)
                return f"{self._bold(step.name)}: {before} → {after}"
            case "event":
                hue = ERROR if step.name in _GRAVE else WARNING
                return paint(f"{step.name}: {step.reason}", hue, self._colour)
            case "leave":
                return f"link header of {self._leave(step.told)}"
        return f"{step.what} {step.name}: {told}"

    def port(self, number: int) -> str:
        """A port's name."""
        return self._ports.get(number, f"port {number}")

    def _rule(self, rule: Bound) -> str:
        name = f' "{rule.name}"' if rule.name else ""
        priority = f", priority {rule.priority}" if rule.priority is not None else ""
        return self._bold(f"{rule.kind} {rule.id}{name}") + priority

    def _told(self, told: Sequence[Told]) -> str:
        return ", ".join(f"{t.name} {self._value(t)}" for t in told)

    def _leave(self, told: Sequence[Told]) -> str:
        by_name = {t.name: self._value(t) for t in told}
        tag = f", tag {by_name['tag']}" if by_name["tag"] != "0" else ""
        return f"{by_name['port']}: {by_name['own']} → {by_name['to']}{tag}"

    def _value(self, told: Told) -> str:
        if told.value is None:
            return "absent"
        if told.kind == "port":
            return self.port(told.value)
        if told.kind == "count":
            return f"of {told.value} element{'s' * (told.value != 1)}"
        return str(plain(told))

    def _bold(self, text: str) -> str:
        return paint(text, BOLD, self._colour)

    def _blue(self, text: str) -> str:
        return paint(text, BLUE, self._colour)

    # ---- JSON -------------------------------------------------------------------------------

    def to_json(self, trace: Trace, **more: Any) -> str:
        """On one line. Ports by their names."""
        out = more | {
            "port": self.port(trace.port),
            "length": trace.length,
            "path": [{"node": node, "offset": offset} for node, offset in trace.path],
            "steps": [self._named(step.to_json(), step.told) for step in trace.steps],
            "verdict": trace.verdict,
            "egress": self.port(trace.egress) if trace.egress is not None else None,
        }
        return json.dumps(out | {"cut": True} if trace.cut else out)

    def _named(self, step: dict[str, Any], told: Sequence[Told]) -> dict[str, Any]:
        for t in told:
            if t.kind == "port" and t.value is not None:
                step["values"][t.name] = self.port(t.value)
        return step


def step_line(step: Step) -> str:
    """A step in a line, ports by their numbers."""
    return TraceText({}).line(step)
