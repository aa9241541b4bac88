"""A shadow run's report as JSON: docs/shadow.md says what it has."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from datetime import datetime
from difflib import SequenceMatcher
from typing import Any

from ...lang.contract.trace.steps import Trace
from ...lang.contract.trace.text import TraceText
from .report import Group, Report, Sample


def report_json(report: Report) -> dict[str, Any]:
    """Of values that JSON has."""
    samples = _Samples(report)
    return {
        "seconds": round(report.seconds, 3),
        "compared": report.compared,
        "differing": report.differing,
        "not_allowed": report.not_allowed,
        "unlike": report.unlike,
        "left_out": dict(report.left_out),
        "lost": report.lost,
        "ended": report.ended,
        "verdicts": [
            {"in_force": was, "shadow": now, "packets": count}
            for (was, now), count in report.verdicts.most_common()
        ],
        "rules": [
            {"kind": kind, "id": id_, "name": use.name, "in_force": use.in_force,
             "shadow": use.shadow}
            for (kind, id_), use in sorted(report.rules.items())
        ],
        "more_rules": report.more_rules,
        "differences": [samples.group(group) for group in report.groups.values()],
        "more": report.more.total(),
        "unlike_sample": samples.sample(report.unlike_sample),
    }  # fmt: skip


class _Samples:
    """Packets of a report, as it has them."""

    def __init__(self, report: Report) -> None:
        self._traces = TraceText(report.names.ports)
        # what a record's time, of CLOCK_MONOTONIC, is by the clock
        self._epoch = time.time() - time.clock_gettime(time.CLOCK_MONOTONIC)

    def group(self, group: Group) -> dict[str, Any]:
        return {
            "differences": list(group.differences),
            "packets": group.packets,
            "allowed": group.allowed,
            "sample": self.sample(group.sample),
        }

    def sample(self, sample: Sample | None) -> dict[str, Any] | None:
        if sample is None:
            return None
        left = [met.frame and met.frame.hex() for met in (sample.in_force, sample.shadow)]
        return {
            "number": sample.number,
            "time": round(self._epoch + sample.time / 1e9, 6),
            "frame": sample.frame.hex(),
            "in_force": self._trace(sample.in_force.trace),
            "shadow": self._trace(sample.shadow.trace),
            "frame_in_force": left[0],
            "frame_shadow": left[1],
            "text": list(self._beside(sample)),
        }

    def _trace(self, trace: Trace) -> Any:
        return json.loads(self._traces.to_json(trace))

    def _beside(self, sample: Sample) -> Iterator[str]:
        """Both traces for people, line by line: what is the same once."""
        clock = datetime.fromtimestamp(self._epoch + sample.time / 1e9).strftime("%H:%M:%S.%f")
        title = f"packet {sample.number} at {clock}"
        one, other = (
            self._traces.text(met.trace, title).splitlines()
            for met in (sample.in_force, sample.shadow)
        )
        for tag, a, b, c, d in SequenceMatcher(None, one, other, autojunk=False).get_opcodes():
            if tag == "equal":
                yield from (f"  {line}" for line in one[a:b])
                continue
            yield from (f"- {line}" for line in one[a:b])
            yield from (f"+ {line}" for line in other[c:d])
