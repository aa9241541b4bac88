"""Traces for people: a line a step, coloured as diagnostics are; and as JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from ...text.render import BLUE, BOLD, ERROR, WARNING, paint
from .steps import Bound, Step, Trace, TracedValue, plain

#: Groups of events by which a packet is lost, or a sign that something is.
_GRAVE = ("drop", "malformed")


class TraceText:
    """`ports`: names by number."""

    def __init__(self, ports: Mapping[int, str], colour: bool = False) -> None:
        self._ports, self._colour = ports, colour

    def text(self, trace: Trace, title: str) -> str:
        """Several lines: `title` says which packet it is."""
        lines = [f"{self._bold(title)} on {self.port(trace.port)}, {trace.length} bytes"]
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
        values = self._values(step.values)
        match step.what:
            case "stage":
                return f"{self._blue('stage')} {self._bold(step.name)}"
            case "look":
                return f"find {step.name}: {values}" if values else f"find {step.name}"
            case "rule":
                assert step.rule is not None
                bound = "" if step.name == step.rule.kind else f"{step.name} is "
                return f"→ {bound}{self._rule(step.rule)}"
            case "meter":
                return f"meter {step.name}: {self._value(step.values[0])}"
            case "queue":
                return f"queue {values.partition(' ')[2]}"
            case "slot":
                return f"slot {step.values[0].value} of {step.name}"
            case "pop":
                where = f" in front of {step.name}" if step.name else ""
                return f"pop {' / '.join(step.nodes) or 'nothing'}{where}"
            case "push" | "append":
                word = "before" if step.what == "push" else "behind"
                where = f" {word} {step.name}" if step.name else ""
                given = f": {values}" if values else ""
                return f"{step.what} {' / '.join(step.nodes)}{where}{given}"
            case "set":
                before, after = (self._value(t) for t in step.values)
                return f"{self._bold(step.name)}: {before} → {after}"
            case "event":
                hue = ERROR if step.name in _GRAVE else WARNING
                return paint(f"{step.name}: {step.reason}", hue, self._colour)
            case "leave":
                return f"link header of {self._leave(step.values)}"
        return f"{step.what} {step.name}: {values}"

    def port(self, number: int) -> str:
        """A port's name."""
        return self._ports.get(number, f"port {number}")

    def _rule(self, rule: Bound) -> str:
        name = f' "{rule.name}"' if rule.name else ""
        priority = f", priority {rule.priority}" if rule.priority is not None else ""
        return self._bold(f"{rule.kind} {rule.id}{name}") + priority

    def _values(self, values: Sequence[TracedValue]) -> str:
        return ", ".join(f"{t.name} {self._value(t)}" for t in values)

    def _leave(self, values: Sequence[TracedValue]) -> str:
        by_name = {t.name: self._value(t) for t in values}
        tag = f", tag {by_name['tag']}" if by_name["tag"] != "0" else ""
        return f"{by_name['port']}: {by_name['own']} → {by_name['to']}{tag}"

    def _value(self, values: TracedValue) -> str:
        if values.value is None:
            return "absent"
        if values.kind == "port":
            return self.port(values.value)
        if values.kind == "count":
            return f"of {values.value} element{'s' * (values.value != 1)}"
        return str(plain(values))

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
            "steps": [self._named(step.to_json(), step.values) for step in trace.steps],
            "verdict": trace.verdict,
            "egress": self.port(trace.egress) if trace.egress is not None else None,
        }
        return json.dumps(out | {"cut": True} if trace.cut else out)

    def _named(self, step: dict[str, Any], values: Sequence[TracedValue]) -> dict[str, Any]:
        for t in values:
            if t.kind == "port" and t.value is not None:
                step["values"][t.name] = self.port(t.value)
        return step
